import { z } from 'zod';
import { accountById, namesOf, monthSpent } from '../../activity/accounts.ts';
import { accountState, writeAudit } from '../../activity/audit.ts';
import { requestPage } from '../../activity/request-log.ts';
import { statementPage } from '../../activity/statement.ts';
import { usageDays } from '../../activity/usage-sums.ts';
import { spendOf } from '../../activity/usage.ts';
import { requireGroup } from '../../catalog/groups.ts';
import { removeAccount } from '../../identity/accounts/removal.ts';
import { removedEmail } from '../../ledger/decide.ts';
import { RESET_LIFE_MS } from '../../identity/sign-in/reset.ts';
import { operatorRoles } from '../../identity/accounts/operators.ts';
import { lockAdmins, requireAnAdmin } from '../../identity/sign-in/setup.ts';
import type { NewUser } from '../../identity/sign-in/users.ts';
import { DAY_MS, dayOf, monthOf } from '../../std/calendar.ts';
import { keyedAccountId, randomPart, type AccountId } from '../../std/ids.ts';
import type { AccountRow } from '../../store/schema.ts';
import type { OperatorRole } from '../../store/schema-services.ts';
import { readUsd, usd } from '../amounts.ts';
import { entryOf, type Entry } from '../billing.ts';
import type { SearchedPage, Usd, Millis } from '../contract.ts';
import { requireAccount } from '../overview.ts';
import type { RouteParts } from '../parts.ts';
import { requestItem, type RequestItem } from '../receipt.ts';
import { keyMissing } from '../operation.ts';
import { route, emptyBody } from '../route.ts';
import { findRows, orderSchema, searchedPage, tableFields } from '../table-query.ts';
import { revokeToken } from '../token.ts';
import { sql } from 'kysely';
import {
  anyContains,
  equals,
  numberColumn,
  textColumn,
  type ListedTable,
  type TableFilter,
} from '../../activity/table-page.ts';

const querySchema = z.strictObject({
  ...tableFields,
  sort: orderSchema(['time', 'account', 'balance', 'month']),
  status: z.enum(['active', 'disabled']).optional(),
  role: z.enum(['user', 'operator']).optional(),
});
const createSchema = z.strictObject({
  email: z.string().max(512),
  name: z.string().max(100).optional(),
  /** Absent: a password is made and shown once. */
  password: z.string().max(1_024).optional(),
  balanceUsd: z.string().max(30).optional(),
});
const perMinute = z.number().int().min(1).max(1_000_000).nullish();
const limitsSchema = z.strictObject({
  chatPerMinute: perMinute,
  imagesPerMinute: perMinute,
  concurrent: z.number().int().min(1).max(100_000).nullish(),
  monthlyUsd: z.string().max(30).nullish(),
});

/** Accounts: search, details, creation, limits. */
export const adminAccountRoutes = [
  route('GET /api/console/admin/accounts', {
    who: 'operator',
    may: 'see_customers',
    summary: 'List accounts',
    compressed: true,
    query: querySchema,
    async handle(parts, { query }): Promise<SearchedPage<AdminListedAccount>> {
      const now = parts.clock.now();
      const page = await findRows<AccountRow>(parts, accountTable(now), accountFilter(query), query);
      const ids = page.rows.map(({ id }) => id);
      const [names, roles] = await Promise.all([
        namesOf(parts.store.db, ids),
        operatorRoles(parts.store.db, ids),
      ]);
      return searchedPage(page, (row) => ({
        ...adminAccount(row, { now, role: roles.get(row.id) }),
        name: names.get(row.id) ?? null,
      }));
    },
  }),
  route('POST /api/console/admin/accounts', {
    who: 'operator',
    may: 'make_accounts',
    summary: 'Create an account',
    secret: true,
    confirmed: true,
    audit: 'account.create',
    body: createSchema,
    async handle(parts, { operator, body: { email, name, ...body }, once }) {
      const made = body.password === undefined ? randomPart(16) : undefined;
      const opening = body.balanceUsd === undefined ? 0 : readUsd(body.balanceUsd, 'balanceUsd');
      if (opening > 0 && once === '') throw keyMissing();
      const user = { email, name, password: body.password ?? made ?? '', role: 'user' } as const;
      const id = once === '' ? await parts.auth.users.create(user) : await createOnce(parts, user, once);
      const entry = { actor: operator.id, action: 'account.created', target: id, detail: {} };
      await writeAudit(parts.store, entry, parts.clock.now());
      if (opening > 0) await credit(parts, id, opening, operator.id);
      return {
        account: await adminAccountOf(parts, id),
        password: made ?? null,
      };
    },
  }),
  route('GET /api/console/admin/accounts/{id}', {
    who: 'operator',
    may: 'see_customers',
    summary: 'Get an account',
    handle: (parts, { params }) => detail(parts, params.id),
  }),
  route('PATCH /api/console/admin/accounts/{id}/limits', {
    who: 'operator',
    may: 'change_accounts',
    summary: 'Change the limits of an account or team',
    audit: 'account.limits',
    state: accountState,
    body: limitsSchema,
    async handle(parts, { params, body }) {
      const { monthlyUsd, ...rates } = body;
      await requireAccount(parts, params.id);
      await parts.accounts.setLimits(params.id as AccountId, {
        ...rates,
        monthlyLimit: typeof monthlyUsd === 'string' ? readUsd(monthlyUsd, 'monthlyUsd') : monthlyUsd,
      });
      await parts.store.durable();
      return await adminAccountOf(parts, params.id);
    },
  }),
  /** From its next request on it pays the prices of this group; null: the list prices. */
  route('PUT /api/console/admin/accounts/{id}/price-group', {
    who: 'operator',
    may: 'change_catalog',
    summary: 'Set the price group of an account or team',
    audit: 'account.price-group',
    state: accountState,
    body: z.strictObject({ group: z.string().max(64).nullable() }),
    async handle(parts, { params, body: { group } }) {
      await requireAccount(parts, params.id);
      if (group !== null) requireGroup(parts.catalog.current(), group);
      await parts.accounts.setPriceGroup(params.id as AccountId, group);
      return await adminAccountOf(parts, params.id);
    },
  }),
];

interface AdminListedAccount extends AdminAccount {
  /** The name of its user. */
  name: string | null;
}

/** So long after it was made, whoever sends its key again is told that there is such an account. */
const BEGUN_MS = 23 * 3_600_000;

/** A process that died may have made it and answered nobody: with its key it is gone on with, and a password of its own is a new one. */
async function createOnce(
  { auth, store, clock }: RouteParts,
  user: NewUser,
  once: string,
): Promise<AccountId> {
  const id = keyedAccountId(once);
  const begun = await accountById(store.db, id);
  if (!begun || begun.created_at < clock.now() - BEGUN_MS) return await auth.users.create({ ...user, id });
  await auth.users.setPassword(id, user.password);
  return id;
}

function credit({ ledger }: RouteParts, accountId: AccountId, amount: number, actor: string) {
  return ledger.post({
    accountId,
    kind: 'credit',
    amount,
    cause: 'opening balance',
    actor,
    once: `opening:${accountId}`,
  });
}

interface AdminAccountDetail extends AdminAccount {
  name: string | null;
  /** Can sign in to the console at all. */
  hasSignIn: boolean;
  twoFactor: boolean;
  sessions: number;
  spend: { todayUsd: Usd; days7Usd: Usd; days30Usd: Usd };
  latest: RequestItem[];
  entries: Entry[];
  defaults: { chatPerMinute: number; imagesPerMinute: number; concurrent: number };
  /** The price groups that there are. */
  priceGroups: string[];
}

const LATEST = 10;

async function detail(parts: RouteParts, id: string): Promise<AdminAccountDetail> {
  const now = parts.clock.now();
  const at = { db: parts.store.db, reader: parts.reader };
  const account = await requireAccount(parts, id);
  const [person, usage, latest, entries] = await Promise.all([
    signInOf(parts, id),
    usageDays(at, { accountId: id, from: dayOf(now - 29 * DAY_MS), to: dayOf(now) }),
    requestPage(at, { accountId: id }, { limit: LATEST }),
    statementPage(at, { accountId: id, kind: 'money' }, { after: undefined, limit: LATEST }),
  ]);
  const spend = spendOf(usage, now);
  const { limits, groups } = parts.catalog.current();
  return {
    ...adminAccount(account, { now, role: (await operatorRoles(parts.store.db, [id])).get(id) }),
    ...person,
    spend: { todayUsd: usd(spend.today), days7Usd: usd(spend.days7), days30Usd: usd(spend.days30) },
    latest: latest.rows.map((row) => requestItem(row)),
    entries: entries.rows.map((line) => entryOf(line)),
    priceGroups: [...(groups?.keys() ?? [])],
    defaults: {
      chatPerMinute: limits.chatPerMinute,
      imagesPerMinute: limits.imagesPerMinute,
      concurrent: limits.concurrent,
    },
  };
}

async function signInOf({ store, clock }: RouteParts, id: string) {
  const user = await store.db
    .selectFrom('auth_user')
    .select(['name', 'twoFactorEnabled'])
    .where('id', '=', id)
    .executeTakeFirst();
  const { sessions } = await store.db
    .selectFrom('auth_session')
    .select((select) => select.fn.countAll<number>().as('sessions'))
    .where('userId', '=', id)
    .where('expiresAt', '>', new Date(clock.now()).toISOString())
    .executeTakeFirstOrThrow();
  return {
    name: user?.name ?? null,
    hasSignIn: user !== undefined,
    twoFactor: Boolean(user?.twoFactorEnabled),
    sessions,
  };
}

interface AdminAccount {
  id: string;
  email: string;
  /** The operator's role; null: a customer. */
  role: OperatorRole | null;
  status: 'active' | 'disabled';
  /** Why a disabled account is only paused: its owner may sign in and read it. */
  pausedBy: string | null;
  /** Its owner was removed: only its books are left. */
  /** Card payments are off since a dispute. */
  cardsOff: boolean;
  isRemoved: boolean;
  balanceUsd: Usd;
  heldUsd: Usd;
  openHolds: number;
  monthSpentUsd: Usd;
  /** The account's own limits; null: the catalog's default, or none. */
  /** Whose prices it pays; null: the list prices. */
  priceGroup: string | null;
  limits: {
    chatPerMinute: number | null;
    imagesPerMinute: number | null;
    concurrent: number | null;
    monthlyUsd: Usd | null;
  };
  tokenHint: string | null;
  tokenUsedAt: Millis | null;
  tokenExposedAt: Millis | null;
  createdAt: Millis;
}

async function adminAccountOf(parts: RouteParts, id: string): Promise<AdminAccount> {
  const role = (await operatorRoles(parts.store.db, [id])).get(id);
  return adminAccount(await requireAccount(parts, id), { now: parts.clock.now(), role });
}

/** An account as operators see it. */
function adminAccount(
  row: AccountRow,
  { now, role }: { readonly now: number; readonly role: OperatorRole | undefined },
): AdminAccount {
  return {
    id: row.id,
    email: row.email,
    role: role ?? null,
    status: row.status,
    pausedBy: row.paused_reason,
    cardsOff: row.cards_off_at !== null,
    isRemoved: row.email === removedEmail(row.id),
    balanceUsd: usd(row.balance),
    heldUsd: usd(row.held),
    openHolds: row.open_holds,
    monthSpentUsd: usd(monthSpent(row, now)),
    priceGroup: row.price_group,
    limits: {
      chatPerMinute: row.chat_per_minute,
      imagesPerMinute: row.images_per_minute,
      concurrent: row.concurrent,
      monthlyUsd: row.monthly_limit === null ? null : usd(row.monthly_limit),
    },
    tokenHint: row.token_hint,
    tokenUsedAt: row.token_used_at,
    tokenExposedAt: row.token_exposed_at,
    createdAt: row.created_at,
  };
}

/** What operators can do to an account besides money. */
export const accountActRoutes = [
  route('POST /api/console/admin/accounts/{id}/enable', {
    who: 'operator',
    may: 'change_accounts',
    summary: 'Enable an account',
    audit: 'account.enable',
    state: accountState,
    body: emptyBody,
    handle: (parts, { params }) => changeAccount(parts, params.id, { status: 'active', paused_reason: null }),
  }),
  /** Ends its sessions too; its token is refused from now on. */
  route('POST /api/console/admin/accounts/{id}/disable', {
    who: 'operator',
    may: 'change_accounts',
    summary: 'Disable an account',
    audit: 'account.disable',
    state: accountState,
    body: emptyBody,
    handle: (parts, { params }) =>
      changeAccount(parts, params.id, { status: 'disabled', paused_reason: null }),
  }),
  route('POST /api/console/admin/accounts/{id}/allow-cards', {
    who: 'operator',
    may: 'change_accounts',
    summary: 'Allow card payments again',
    audit: 'account.allow-cards',
    state: accountState,
    body: emptyBody,
    async handle(parts, { params }) {
      await requireAccount(parts, params.id);
      await parts.accounts.allowCards(params.id as AccountId);
      return await adminAccountOf(parts, params.id);
    },
  }),
  route('POST /api/console/admin/accounts/{id}/revoke-token', {
    who: 'operator',
    may: 'end_tokens',
    summary: 'End the token of an account',
    audit: 'account.revoke-token',
    state: accountState,
    body: emptyBody,
    async handle(parts, { params }) {
      await requireAccount(parts, params.id);
      await revokeToken(parts, params.id);
      return await adminAccountOf(parts, params.id);
    },
  }),
  /** Shown once, good for an hour and for one new password; it ends the one before it. */
  route('POST /api/console/admin/accounts/{id}/reset-link', {
    who: 'operator',
    may: 'make_tokens',
    summary: 'Make a link for a new password',
    secret: true,
    confirmed: true,
    audit: 'account.reset-link',
    body: emptyBody,
    handle: (parts, { params, operator }) =>
      parts.auth.resetLinks.make({
        accountId: params.id,
        createdBy: operator.id,
        lifeMs: RESET_LIFE_MS,
      }),
  }),
  /** Shown once. Every session ends and the second factor is off. */
  route('POST /api/console/admin/accounts/{id}/reset-password', {
    who: 'operator',
    may: 'make_tokens',
    summary: 'Set a new password',
    secret: true,
    confirmed: true,
    audit: 'account.reset-password',
    state: accountState,
    body: emptyBody,
    async handle(parts, { params }) {
      const password = randomPart(16);
      await parts.auth.users.setPassword(params.id, password);
      return { password };
    },
  }),
  /** Cannot be undone. Its books stay under its id; a balance that is left is written off with a reason. */
  route('POST /api/console/admin/accounts/{id}/remove', {
    who: 'operator',
    may: 'make_accounts',
    summary: 'Remove an account',
    money: true,
    confirmed: true,
    audit: 'account.remove',
    state: accountState,
    body: z.strictObject({ reason: z.string().trim().min(1).max(200).optional() }),
    async handle(parts, { params, operator, body }) {
      const { id, email } = await requireAccount(parts, params.id);
      // Whoever asks again is told how it is, since nothing is left to be done.
      if (email !== removedEmail(id))
        await removeAccount(parts, { accountId: id, reason: body.reason, actor: operator.id });
      return await adminAccountOf(parts, params.id);
    },
  }),
];

async function changeAccount(
  parts: RouteParts,
  id: string,
  changes: { readonly status: 'active' | 'disabled'; readonly paused_reason: null },
): Promise<AdminAccount> {
  const { store, clock } = parts;
  await requireAccount(parts, id);
  await store.db.transaction().execute(async (tx) => {
    await lockAdmins(tx, clock.now());
    await tx.updateTable('account').set(changes).where('id', '=', id).where('role', '!=', 'system').execute();
    // With the account that the person has in a team.
    await tx.updateTable('account').set(changes).where('person_id', '=', id).execute();
    await requireAnAdmin(tx);
    await tx.deleteFrom('auth_session').where('userId', '=', id).execute();
  });
  await store.durable();
  return await adminAccountOf(parts, id);
}

interface AccountFilter {
  /** Part of an id, an email address, a name or the hint of a token. */
  readonly search?: string | undefined;
  readonly status?: 'active' | 'disabled' | undefined;
  readonly role?: 'user' | 'operator' | undefined;
}

const NAME = sql`(SELECT u.name FROM auth_user u WHERE u.id = t.id)`;
/** Balances change with every request, so no index has them: all accounts are read, which are far fewer than requests. */
export function accountTable(now: number): ListedTable {
  return {
    from: sql`account AS t`,
    columns: sql`t.*`,
    time: sql`t.created_at`,
    mark: [numberColumn(sql`t.created_at`), textColumn(sql`t.id`)],
    indexed: { account: [textColumn(sql`t.email`)] },
    sorted: {
      balance: numberColumn(sql`t.balance`),
      month: numberColumn(sql`(CASE WHEN t.month = ${sql.lit(monthOf(now))} THEN t.month_spent ELSE 0 END)`),
    },
    bounded: true,
  };
}

const OPERATES = sql<boolean>`(t.role = 'admin' OR t.id IN (SELECT account_id FROM operator))`;

/** People: without the system's account that carries the operator's losses, teams and their accounts. */
export function accountFilter({ search, status, role }: AccountFilter): TableFilter {
  return {
    where: [
      sql<boolean>`t.role <> 'system' AND t.kind = 'person'`,
      ...equals('t.status', status),
      ...(role === undefined ? [] : [role === 'operator' ? OPERATES : sql<boolean>`NOT ${OPERATES}`]),
    ],
    checks:
      search === undefined ? [] : [anyContains(search, [sql`t.email`, sql`t.id`, sql`t.token_hint`, NAME])],
  };
}
