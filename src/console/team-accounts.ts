import { z } from 'zod';
import type { Account } from '../identity/accounts/accounts.ts';
import type { TeamRight } from '../identity/accounts/roles.ts';
import { TEAM_ROLES } from '../identity/accounts/teams.ts';
import type { Visitor } from '../identity/sign-in/session.ts';
import { keyedAccountId, type AccountId } from '../std/ids.ts';
import type { RouteParts } from './parts.ts';
import { emptyBody, route } from './route.ts';
import {
  limitsSchema,
  setRates,
  spendingOf,
  rowOfAccount,
  requireRight,
  requireTeamAccount,
  requireTeamRight,
  teamAccountView,
} from './team-view.ts';

const NAME = z.string().trim().min(1).max(200);

/** The apps and members of a team, as its owners and admins change them. */
export const teamAccountRoutes = [
  /** The only time the app's token is shown. */
  route('POST /api/console/team/apps', {
    who: 'user',
    audit: 'team.app-create',
    team: 'change_apps',
    makesAccount: true,
    confirmed: true,
    body: limitsSchema.extend({ name: NAME }),
    async handle(parts, { user, body, meta }) {
      const { teamId } = await requireTeamRight(parts, user, 'change_apps');
      const { name, ...limits } = body;
      const id = keyedAccountId(meta.requestId);
      const { app, token } = await parts.teams.makeApp(teamId, name, spendingOf(limits), id);
      await setRates(parts, app.id, limits);
      return { token, app: await shown(parts, app.id) };
    },
  }),
  route('POST /api/console/team/apps/{id}/replace-token', {
    who: 'user',
    audit: 'team.app-token',
    team: 'change_apps',
    confirmed: true,
    body: emptyBody,
    async handle(parts, { user, params }) {
      const app = await requireApp(parts, user, params.id);
      const token = await parts.accounts.replaceToken(app.id as AccountId);
      return { token, app: await shown(parts, app.id) };
    },
  }),
  route('POST /api/console/team/apps/{id}/pause', {
    who: 'user',
    audit: 'team.app-pause',
    team: 'change_apps',
    body: emptyBody,
    handle: (parts, { user, params }) => setPaused(parts, user, { id: params.id, isPaused: true }),
  }),
  route('POST /api/console/team/apps/{id}/resume', {
    who: 'user',
    audit: 'team.app-resume',
    team: 'change_apps',
    body: emptyBody,
    handle: (parts, { user, params }) => setPaused(parts, user, { id: params.id, isPaused: false }),
  }),
  route('POST /api/console/team/apps/{id}/end', {
    who: 'user',
    audit: 'team.app-end',
    team: 'change_apps',
    body: emptyBody,
    async handle(parts, { user, params }) {
      await parts.teams.end(await requireApp(parts, user, params.id));
      return {};
    },
  }),
  route('POST /api/console/team/apps/{id}/limits', {
    who: 'user',
    audit: 'team.limits',
    team: 'change_apps',
    body: limitsSchema,
    async handle(parts, { user, params, body }) {
      return await setLimits(parts, await requireApp(parts, user, params.id), body);
    },
  }),
  route('POST /api/console/team/members/{id}/role', {
    who: 'user',
    audit: 'team.role',
    team: 'change_members',
    body: z.strictObject({ role: z.enum(TEAM_ROLES) }),
    async handle(parts, { user, params, body }) {
      const right = body.role === 'owner' ? 'change_owners' : 'change_members';
      const member = await requireChangeable(parts, user, { id: params.id, right });
      await parts.teams.setRole(member, body.role);
      return { account: await shown(parts, member.id) };
    },
  }),
  route('POST /api/console/team/members/{id}/remove', {
    who: 'user',
    audit: 'team.remove',
    team: 'change_members',
    body: emptyBody,
    async handle(parts, { user, params }) {
      await parts.teams.end(await requireChangeable(parts, user, { id: params.id, right: 'change_members' }));
      return {};
    },
  }),
  route('POST /api/console/team/members/{id}/limits', {
    who: 'user',
    audit: 'team.limits',
    team: 'change_members',
    body: limitsSchema,
    async handle(parts, { user, params, body }) {
      const member = await requireChangeable(parts, user, { id: params.id, right: 'change_members' });
      return await setLimits(parts, member, body);
    },
  }),
];

async function requireApp(parts: RouteParts, user: Visitor, id: string): Promise<Account> {
  const member = await requireTeamRight(parts, user, 'change_apps');
  return await requireTeamAccount(parts, member, { id, kind: 'app' });
}

/** Owners are changed by owners only. */
async function requireChangeable(
  parts: RouteParts,
  user: Visitor,
  { id, right }: { readonly id: string; readonly right: TeamRight },
): Promise<Account> {
  const member = await requireTeamRight(parts, user, right);
  const changed = await requireTeamAccount(parts, member, { id, kind: 'member' });
  if (changed.team_role === 'owner') requireRight(member, 'change_owners');
  return changed;
}

async function setPaused(
  parts: RouteParts,
  user: Visitor,
  { id, isPaused }: { readonly id: string; readonly isPaused: boolean },
) {
  const app = await requireApp(parts, user, id);
  await parts.teams.setPaused(app.id, isPaused);
  return { account: await shown(parts, app.id) };
}

async function setLimits(parts: RouteParts, { id }: Account, body: z.output<typeof limitsSchema>) {
  await parts.teams.setLimits(id, spendingOf(body));
  await setRates(parts, id, body);
  return { account: await shown(parts, id) };
}

async function shown(parts: RouteParts, id: string) {
  return teamAccountView(await rowOfAccount(parts, id), parts.clock.now());
}
