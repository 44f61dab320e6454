import { z } from 'zod';
import { writeAudit } from '../activity/audit.ts';
import { endTeamInvite } from '../identity/accounts/team-invites.ts';
import { TEAM_ROLES } from '../identity/accounts/teams.ts';
import type { Visitor } from '../identity/sign-in/session.ts';
import { Fault } from '../std/fault.ts';
import type { AccountId } from '../std/ids.ts';
import { readUsd, usd } from './amounts.ts';
import { requireAccount } from './overview.ts';
import type { RouteParts } from './parts.ts';
import { emptyBody, route } from './route.ts';
import {
  budgetSchema,
  readBudget,
  closingOf,
  membershipOf,
  requireRight,
  requireTeamRight,
  teamView,
} from './team-view.ts';

const secretBody = z.strictObject({ secret: z.string().min(1).max(100) });

/** The team somebody is in: made, joined by invitation, left. */
export const teamRoutes = [
  route('GET /api/console/team', {
    who: 'user',
    handle: (parts, { user }) => ownTeam(parts, user),
  }),
  /** The maker's own token ends, and part of what they paid may move to the team. */
  route('POST /api/console/team', {
    who: 'user',
    confirmed: true,
    body: z.strictObject({ name: z.string().trim().max(200), moveUsd: z.string().max(30).optional() }),
    async handle(parts, { user, body }) {
      await refuseMembers(parts, user);
      parts.auth.throttle.act('team', user.accountId);
      const moved = body.moveUsd === undefined ? undefined : readUsd(body.moveUsd, 'moveUsd');
      const { id } = await parts.teams.create(body.name, personOf(user), { moved, actor: user.accountId });
      await noteTeam(parts, user, { action: 'team.create', teamId: id });
      return await ownTeam(parts, user);
    },
  }),
  route('POST /api/console/team/leave', {
    who: 'user',
    audit: 'team.leave',
    team: 'leave',
    body: emptyBody,
    async handle(parts, { user }) {
      const { account } = await requireTeamRight(parts, user, 'leave');
      await parts.teams.end(account);
      return {};
    },
  }),
  /** Ends all of its tokens. Nothing may be under way, so that no money is left behind. */
  route('POST /api/console/team/close', {
    who: 'user',
    audit: 'team.close',
    team: 'close',
    confirmed: true,
    body: emptyBody,
    async handle(parts, { user }) {
      const { teamId } = await requireTeamRight(parts, user, 'close');
      const team = await requireAccount(parts, teamId);
      const { blockedBy } = await closingOf(parts, team);
      if (blockedBy) throw new Fault('conflict', CLOSING_BLOCKED[blockedBy]);
      const { returned, writtenOff } = await parts.teams.close(team, user.accountId);
      // The primary key of an account is an account id.
      await parts.payments?.removeCard(teamId as AccountId);
      return { returnedUsd: usd(returned), writtenOffUsd: usd(writtenOff) };
    },
  }),
  /** The only time the secret of the invitation is shown. It works once, within a week. */
  route('POST /api/console/team/invites', {
    who: 'user',
    audit: 'team.invite',
    team: 'change_members',
    body: z.strictObject({ role: z.enum(TEAM_ROLES), budget: budgetSchema.nullish() }),
    async handle(parts, { user, body }) {
      const member = await requireTeamRight(parts, user, 'change_members');
      if (body.role === 'owner') requireRight(member, 'change_owners');
      const budget = readBudget(body.budget) ?? undefined;
      return await parts.teams.invite(member.account, { role: body.role, budget });
    },
  }),
  route('DELETE /api/console/team/invites/{id}', {
    who: 'user',
    audit: 'team.end-invite',
    team: 'change_members',
    async handle(parts, { user, params }) {
      const { teamId } = await requireTeamRight(parts, user, 'change_members');
      await endTeamInvite(parts.store.db, teamId, params.id);
      await parts.store.durable();
      return {};
    },
  }),
  /** What an invitation offers, before it is accepted. The secret is in no address, so that it is in no log. */
  route('POST /api/console/team/invited', {
    who: 'user',
    body: secretBody,
    async handle(parts, { user, body }) {
      parts.auth.throttle.act('team', user.accountId);
      const { team, invite } = await parts.teams.invited(body.secret);
      const { role, budget, expiresAt } = invite;
      return {
        team: team.name ?? '',
        role,
        budget: budget ? { amountUsd: usd(budget.amount), per: budget.per } : null,
        expiresAt,
      };
    },
  }),
  /** The own token ends. */
  route('POST /api/console/team/join', {
    who: 'user',
    confirmed: true,
    body: secretBody,
    async handle(parts, { user, body }) {
      await refuseMembers(parts, user);
      parts.auth.throttle.act('team', user.accountId);
      const { wallet_id } = await parts.teams.accept(body.secret, personOf(user));
      await noteTeam(parts, user, { action: 'team.add', teamId: wallet_id ?? '' });
      return await ownTeam(parts, user);
    },
  }),
];

const CLOSING_BLOCKED = {
  holds: 'Requests of the team are still running. Close it when they are over.',
  debt: 'The team owes money of a refund or dispute. Settle it first.',
};

async function ownTeam(parts: RouteParts, user: Visitor) {
  const member = await membershipOf(parts, user);
  return {
    team: member ? await teamView(parts, member) : null,
    /** The part of the user's own balance that can move to a new team. */
    movableUsd: member ? null : usd(await parts.teams.movable(user.accountId)),
  };
}

/** Which team it is about is known only afterwards. */
async function noteTeam(
  { store, clock }: RouteParts,
  user: Visitor,
  { action, teamId }: { readonly action: string; readonly teamId: string },
): Promise<void> {
  await writeAudit(store, { actor: user.accountId, action, target: teamId, detail: {} }, clock.now());
}

async function refuseMembers(parts: RouteParts, user: Visitor): Promise<void> {
  if (await membershipOf(parts, user))
    throw new Fault('conflict', 'You are in a team already. Leave it first: nobody is in two.');
}

function personOf({ accountId, email }: Visitor) {
  return { id: accountId, email };
}
