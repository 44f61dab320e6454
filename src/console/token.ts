import { Fault } from '../std/fault.ts';
import type { AccountId } from '../std/ids.ts';
import type { AccountRow, TeamRole } from '../store/schema.ts';
import { requireConfirmed, type Visitor } from '../identity/sign-in/session.ts';
import type { RouteParts } from './parts.ts';
import { emptyBody, route } from './route.ts';
import { ownLimitsSchema, spendingOf, rowOfAccount, membershipOf, teamAccountView } from './team-view.ts';

/** The account's API token: created, shown once, replaced, revoked. */
export const tokenRoutes = [
  route('GET /api/console/token', {
    who: 'user',
    async handle(parts, { user }) {
      const { id, team } = await spenderOf(parts, user);
      const { budget, limits } = teamAccountView(await rowOfAccount(parts, id), parts.clock.now());
      return { token: tokenInfo(await tokenRow(parts, id)), team, budget, limits };
    },
  }),
  /** The only time the token is shown. Replacing needs a confirmation, creating the first one does not. */
  route('POST /api/console/token', {
    who: 'user',
    body: emptyBody,
    async handle(parts, { user }) {
      const { id, team } = await spenderOf(parts, user);
      if (team?.role === 'viewer')
        throw new Fault('forbidden', 'A viewer of a team has no token. Ask for another role.');
      const before = await tokenRow(parts, id);
      if (before.token_hash !== null) requireConfirmed(user, parts.clock);
      parts.auth.throttle.act('token', user.accountId);
      const token = await parts.accounts.replaceToken(id);
      await parts.store.durable();
      const info = tokenInfo(await tokenRow(parts, id));
      if (!info) throw new Fault('conflict', 'The token was taken back at this very moment. Try again.');
      return { token, info };
    },
  }),
  /** What the owner of an account may spend and do with the token; in a team its owners and admins say that. */
  route('POST /api/console/token/limits', {
    who: 'user',
    confirmed: true,
    body: ownLimitsSchema,
    async handle(parts, { user, body }) {
      const { id, team } = await spenderOf(parts, user);
      if (team) throw new Fault('forbidden', "The owners and admins of your team set your token's limits.");
      await parts.teams.setLimits(id, spendingOf(body));
      return {};
    },
  }),
  route('DELETE /api/console/token', {
    who: 'user',
    confirmed: true,
    async handle(parts, { user }) {
      await revokeToken(parts, (await spenderOf(parts, user)).id);
      return {};
    },
  }),
];

/** A person has one token: of their own account, or of the one with which they spend a team's balance. */
export async function spenderOf(
  parts: RouteParts,
  user: Visitor,
): Promise<{ id: AccountId; team: { name: string; role: TeamRole } | null }> {
  const member = await membershipOf(parts, user);
  if (!member) return { id: user.accountId, team: null };
  const { name } = await parts.store.db
    .selectFrom('account')
    .select('name')
    .where('id', '=', member.teamId)
    .executeTakeFirstOrThrow();
  return { id: member.account.id as AccountId, team: { name: name ?? '', role: member.role } };
}

const TOKEN_COLUMNS = [
  'token_hash',
  'token_hint',
  'token_created_at',
  'token_used_at',
  'token_exposed_at',
] as const;

function tokenRow({ store }: RouteParts, accountId: string) {
  return store.db
    .selectFrom('account')
    .select(TOKEN_COLUMNS)
    .where('id', '=', accountId)
    .executeTakeFirstOrThrow();
}

/** Null: there is none. */
export async function ownToken(parts: RouteParts, user: Visitor) {
  return tokenInfo(await tokenRow(parts, (await spenderOf(parts, user)).id));
}

/** From this statement on no node admits the old token; of a person also that of their account in a team. */
export async function revokeToken({ store }: RouteParts, accountId: string): Promise<void> {
  await store.db
    .updateTable('account')
    .set({
      token_hash: null,
      token_hint: null,
      token_created_at: null,
      token_used_at: null,
      token_exposed_at: null,
    })
    .where((where) => where.or([where('id', '=', accountId), where('person_id', '=', accountId)]))
    .execute();
  await store.durable();
}

function tokenInfo(row: Pick<AccountRow, (typeof TOKEN_COLUMNS)[number]>) {
  if (row.token_hash === null) return null;
  return {
    /** `sk-…a1b2` */
    hint: row.token_hint ?? '',
    createdAt: row.token_created_at ?? 0,
    usedAt: row.token_used_at,
    /** It was seen over plain HTTP: replace it. */
    exposedAt: row.token_exposed_at,
  };
}
