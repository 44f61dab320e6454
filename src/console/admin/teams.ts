import { z } from 'zod';
import { accountById, accountNamed } from '../../activity/accounts.ts';
import { accountState } from '../../activity/audit.ts';
import { chooseTags, chosenTags } from '../../identity/accounts/account-limits.ts';
import type { Account } from '../../identity/accounts/accounts.ts';
import { TEAM_ROLES } from '../../identity/accounts/teams.ts';
import { Fault } from '../../std/fault.ts';
import { keyedTeamId, type AccountId } from '../../std/ids.ts';
import { readUsd, usd } from '../amounts.ts';
import { requireAccount } from '../overview.ts';
import type { RouteParts } from '../parts.ts';
import { emptyBody, route } from '../route.ts';
import { tagNames } from '../tags.ts';
import {
  budgetSchema,
  limitsSchema,
  readBudget,
  setRates,
  spendingOf,
  teamAccountView,
} from '../team-view.ts';

const NAME = z.string().trim().min(1).max(200);
/** An id or an email address. */
const person = z.string().min(1).max(320);

/** Teams, their members and apps, budgets and tokens: what `tollgate team` does, for programs. A team's id is also an account's: it is credited as one. */
export const adminTeamRoutes = [
  route('GET /api/console/admin/teams', {
    who: 'operator',
    may: 'see_customers',
    summary: 'List teams',
    compressed: true,
    handle: async ({ teams }) => ({ items: (await teams.list()).map(teamItem) }),
  }),
  route('POST /api/console/admin/teams', {
    who: 'operator',
    may: 'make_accounts',
    summary: 'Make a team',
    money: true,
    audit: 'team.create',
    body: z.strictObject({ name: NAME, owner: person, balanceUsd: z.string().max(30).optional() }),
    async handle(parts, { operator, body, once }) {
      const owner = await requirePerson(parts, body.owner);
      const balance = body.balanceUsd === undefined ? 0 : readUsd(body.balanceUsd, 'balanceUsd');
      // A process that died may have made it, and not have booked its balance.
      const id = keyedTeamId(once);
      const begun = await accountById(parts.store.db, id);
      const team = begun ?? (await parts.teams.create(body.name, owner, { actor: operator.id, id }));
      if (balance > 0)
        await parts.ledger.post({
          accountId: team.id as AccountId,
          kind: 'credit',
          amount: balance,
          cause: 'opening balance',
          actor: operator.id,
          once,
        });
      return await teamDetail(parts, team.id);
    },
  }),
  route('GET /api/console/admin/teams/{id}', {
    who: 'operator',
    may: 'see_customers',
    summary: 'Get a team with its members and apps',
    handle: (parts, { params }) => teamDetail(parts, params.id),
  }),
  /** What is left of what was paid goes to an owner's own balance; with a reason all of it is written off. */
  route('POST /api/console/admin/teams/{id}/close', {
    who: 'operator',
    may: 'adjust_money',
    summary: 'Close a team',
    money: true,
    audit: 'team.close',
    state: accountState,
    body: z.strictObject({ reason: z.string().trim().min(1).max(200).optional() }),
    async handle(parts, { params, operator, body }) {
      const team = await requireAccount(parts, params.id);
      if (team.kind !== 'team') throw noSuchTeam();
      const closed = await parts.teams.close(team, operator.id, { writeOff: body.reason });
      return { returnedUsd: usd(closed.returned), writtenOffUsd: usd(closed.writtenOff) };
    },
  }),
  /** Their token ends: a new one pays from the team. */
  route('POST /api/console/admin/teams/{id}/members', {
    who: 'operator',
    may: 'make_accounts',
    summary: 'Take a person into a team',
    audit: 'team.add',
    body: z.strictObject({
      person,
      role: z.enum(TEAM_ROLES).optional(),
      budget: budgetSchema.nullish(),
    }),
    async handle(parts, { params, body }) {
      const team = await requireTeam(parts, params.id);
      const added = await requirePerson(parts, body.person);
      const options = { role: body.role, budget: readBudget(body.budget) };
      return teamAccountView(await parts.teams.add(team.id, added, options), parts.clock.now());
    },
  }),
  route('PUT /api/console/admin/teams/{team}/members/{id}/role', {
    who: 'operator',
    may: 'make_accounts',
    summary: 'Change the role of a member',
    audit: 'team.role',
    state: accountState,
    body: z.strictObject({ role: z.enum(TEAM_ROLES) }),
    async handle(parts, { params, body }) {
      const member = await requireIn(parts, params, 'member');
      await parts.teams.setRole(member, body.role);
      return await accountView(parts, member.id);
    },
  }),
  route('POST /api/console/admin/teams/{team}/members/{id}/remove', {
    who: 'operator',
    may: 'make_accounts',
    summary: 'Remove a member from a team',
    audit: 'team.remove',
    state: accountState,
    body: emptyBody,
    async handle(parts, { params }) {
      await parts.teams.end(await requireIn(parts, params, 'member'));
      return {};
    },
  }),
  /** The only time the app's token is shown. */
  route('POST /api/console/admin/teams/{id}/apps', {
    who: 'operator',
    may: 'make_tokens',
    summary: 'Make an app with its token',
    secret: true,
    audit: 'team.app-create',
    body: limitsSchema.extend({ name: NAME }),
    async handle(parts, { params, body: { name, ...limits } }) {
      const team = await requireTeam(parts, params.id);
      const { app, token } = await parts.teams.makeApp(team.id, name, spendingOf(limits));
      await setRates(parts, app.id, limits);
      return { token, app: await accountView(parts, app.id) };
    },
  }),
  route('POST /api/console/admin/teams/{team}/apps/{id}/pause', {
    who: 'operator',
    may: 'change_accounts',
    summary: 'Pause an app',
    audit: 'team.app-pause',
    state: accountState,
    body: emptyBody,
    handle: (parts, { params }) => setPaused(parts, params, true),
  }),
  route('POST /api/console/admin/teams/{team}/apps/{id}/resume', {
    who: 'operator',
    may: 'change_accounts',
    summary: 'Resume an app',
    audit: 'team.app-resume',
    state: accountState,
    body: emptyBody,
    handle: (parts, { params }) => setPaused(parts, params, false),
  }),
  route('POST /api/console/admin/teams/{team}/apps/{id}/end', {
    who: 'operator',
    may: 'end_tokens',
    summary: 'End an app and its token',
    audit: 'team.app-end',
    state: accountState,
    body: emptyBody,
    async handle(parts, { params }) {
      await parts.teams.end(await requireIn(parts, params, 'app'));
      return {};
    },
  }),
  /** For a person's own account, a member or an app. Null removes a limit. */
  route('PATCH /api/console/admin/accounts/{id}/spending', {
    who: 'operator',
    may: 'change_accounts',
    summary: 'Set the budget of an account, and what its token may be used for',
    audit: 'account.limits',
    state: accountState,
    body: limitsSchema,
    async handle(parts, { params, body }) {
      await requireSpender(parts, params.id);
      await parts.teams.setLimits(params.id, spendingOf(body));
      await setRates(parts, params.id, body);
      return await accountView(parts, params.id);
    },
  }),
  /** For a person's own balance or a team: which tags its requests keep. The accounts of a team have no choice of their own. */
  route('PUT /api/console/admin/accounts/{id}/tags', {
    who: 'operator',
    may: 'change_accounts',
    summary: 'Choose which tags of requests are kept',
    audit: 'account.tags',
    state: accountState,
    body: z.strictObject({ names: tagNames }),
    async handle(parts, { params, body }) {
      const { id, wallet_id } = await requireAccount(parts, params.id);
      if (wallet_id !== null) throw new Fault('conflict', 'Its team decides which tags are kept.');
      await chooseTags(parts.store, id, body.names, parts.clock.now());
      return { names: await chosenTags(parts.store.db, id) };
    },
  }),
  /** The only time the token is shown; the one before it is refused from that moment on. */
  route('POST /api/console/admin/accounts/{id}/token', {
    who: 'operator',
    may: 'make_tokens',
    summary: 'Make the token of an account, or replace it',
    secret: true,
    audit: 'account.replace-token',
    state: accountState,
    body: emptyBody,
    async handle(parts, { params }) {
      const account = await requireSpender(parts, params.id);
      if (account.team_role === 'viewer')
        throw new Fault('conflict', 'A viewer of a team calls nothing, and has no token.');
      return { token: await parts.accounts.replaceToken(account.id as AccountId) };
    },
  }),
];

function teamItem(team: Account) {
  return {
    id: team.id,
    name: team.name ?? '',
    balanceUsd: usd(team.balance),
    heldUsd: usd(team.held),
    createdAt: team.created_at,
  };
}

async function teamDetail(parts: RouteParts, id: string) {
  const team = await requireTeam(parts, id);
  const now = parts.clock.now();
  const accounts = await parts.teams.accounts(id);
  return { ...teamItem(team), accounts: accounts.map((account) => teamAccountView(account, now)) };
}

async function requireTeam(parts: RouteParts, id: string): Promise<Account> {
  const team = await requireAccount(parts, id);
  if (team.kind !== 'team' || team.ended_at !== null) throw noSuchTeam();
  return team;
}

function noSuchTeam(): Fault {
  return new Fault('not_found', 'There is no such team.');
}

async function requirePerson(parts: RouteParts, named: string): Promise<Account> {
  const account = await requireAccount(parts, await accountNamed(parts.store.db, named));
  if (account.kind !== 'person') throw new Fault('not_found', 'There is no such person.');
  return account;
}

async function requireIn(
  parts: RouteParts,
  { team, id }: { readonly team: string; readonly id: string },
  kind: 'app' | 'member',
): Promise<Account> {
  const account = (await parts.teams.accounts(team)).find((one) => one.id === id && one.kind === kind);
  if (!account) throw new Fault('not_found', `The team has no such ${kind}.`);
  return account;
}

/** Requires an account that has a token of its own; a team has none. */
async function requireSpender(parts: RouteParts, id: string): Promise<Account> {
  const account = await requireAccount(parts, id);
  if (account.kind === 'team' || account.ended_at !== null)
    throw new Fault('not_found', 'There is no such account with a token.');
  return account;
}

async function setPaused(
  parts: RouteParts,
  params: { readonly team: string; readonly id: string },
  isPaused: boolean,
) {
  const app = await requireIn(parts, params, 'app');
  await parts.teams.setPaused(app.id, isPaused);
  return await accountView(parts, app.id);
}

async function accountView(parts: RouteParts, id: string) {
  return teamAccountView(await requireAccount(parts, id), parts.clock.now());
}
