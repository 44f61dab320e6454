import { sql, type Kysely } from 'kysely';
import { DAY_MS, monthOf, periodEnd, periodStart, type Period } from '../std/calendar.ts';
import type { Clock } from '../std/clock.ts';
import { formatUsd, nanoUsd, toUsdNumber } from '../std/money.ts';
import type { AccountRow, Schema } from '../store/schema.ts';
import type { AnnouncedModel } from './events.ts';
import type { Notices } from './notices.ts';
import { countWaitingByKind } from './outbox.ts';

interface WatchParts {
  readonly db: Kysely<Schema>;
  readonly notices: Notices;
  readonly clock: Clock;
}

/** How many accounts are told in one run; the others follow in the next. */
const AT_ONCE = 200;
const LOW = 'balance.low';

/** Tells owners whose balance has fallen below their own threshold, once until it has been above it again. */
export async function watchBalances({ db, notices }: WatchParts): Promise<void> {
  const recovered = await db
    .selectFrom('notice')
    .innerJoin('account', 'account.id', 'notice.account_id')
    .select('account.id')
    .where('notice.topic', '=', LOW)
    .where((where) =>
      where.or([
        where('account.low_balance', 'is', null),
        where('account.balance', '>=', where.ref('account.low_balance')),
      ]),
    )
    .limit(AT_ONCE)
    .execute();
  for (const { id } of recovered) await notices.clear(db, { accountId: id, topic: LOW });
  const low = await db
    .selectFrom('account')
    .leftJoin('notice', (join) =>
      join.onRef('notice.account_id', '=', 'account.id').on('notice.topic', '=', LOW),
    )
    .select(['account.id', 'account.balance', 'account.low_balance'])
    .where('account.low_balance', 'is not', null)
    .whereRef('account.balance', '<', 'account.low_balance')
    .where('account.status', '=', 'active')
    .where('notice.topic', 'is', null)
    .limit(AT_ONCE)
    .execute();
  for (const account of low) await db.transaction().execute((tx) => tellLow(tx, notices, account));
}

async function tellLow(
  tx: Kysely<Schema>,
  notices: Notices,
  { id, balance, low_balance }: Pick<AccountRow, 'id' | 'balance' | 'low_balance'>,
): Promise<void> {
  if (!(await notices.raise(tx, { accountId: id, topic: LOW, mark: LOW }))) return;
  // An overdrawn account has nothing left.
  const left = nanoUsd(Math.max(0, balance));
  const threshold = nanoUsd(low_balance ?? 0);
  const data = { account: id, balance_usd: toUsdNumber(left), threshold_usd: toUsdNumber(threshold) };
  await notices.event(tx, { accountId: id, type: LOW, data });
  const texts = { balance: `$${formatUsd(left)}`, threshold: `$${formatUsd(threshold)}` };
  await notices.mail(tx, { accountId: id, template: LOW, data: texts });
}

const BUDGET_LOW = 'budget.low';
const BUDGET_REACHED = 'budget.reached';
type BudgetTopic = typeof BUDGET_LOW | typeof BUDGET_REACHED;
const BUDGET_COLUMNS = ['budget', 'budget_per', 'budget_from', 'budget_used'] as const;
type BudgetAccount = Pick<AccountRow, 'id' | 'name' | (typeof BUDGET_COLUMNS)[number]>;
const PERIODS = ['day', 'week', 'month', 'total'] as const satisfies readonly Period[];

/** In SQL what {@link budgetMark} is: of one period and amount, each threshold is told once. */
const BUDGET_MARK = sql<string>`COALESCE(account.budget_per, 'total') || ' ' || CAST(account.budget_from AS TEXT) || ' ' || CAST(account.budget AS TEXT)`;

/** Tells of budgets that are used up in their period, or by 80 %. */
export async function watchBudgets({ db, notices, clock }: WatchParts): Promise<void> {
  const now = clock.now();
  const used = await db
    .selectFrom('account')
    .leftJoin('notice as low', (join) =>
      join.onRef('low.account_id', '=', 'account.id').on('low.topic', '=', BUDGET_LOW),
    )
    .leftJoin('notice as reached', (join) =>
      join.onRef('reached.account_id', '=', 'account.id').on('reached.topic', '=', BUDGET_REACHED),
    )
    .select(['account.id', 'account.name', ...BUDGET_COLUMNS])
    .where('budget', 'is not', null)
    .where('budget', '>', 0)
    .where('status', '=', 'active')
    .where('ended_at', 'is', null)
    .where((where) =>
      where.or(
        PERIODS.map((per) =>
          where.and([
            where(where.fn.coalesce('budget_per', where.val('total')), '=', per),
            where('budget_from', '>=', periodStart(per, now)),
          ]),
        ),
      ),
    )
    .where((where) =>
      where.or([
        where.and([
          where('budget_used', '>=', where.ref('budget')),
          where(sql<string>`COALESCE(reached.mark, '')`, '!=', BUDGET_MARK),
        ]),
        where.and([
          sql<boolean>`account.budget_used * 5 >= account.budget * 4`,
          where(sql<string>`COALESCE(low.mark, '')`, '!=', BUDGET_MARK),
        ]),
      ]),
    )
    .limit(AT_ONCE)
    .execute();
  for (const account of used) {
    const topic = account.budget_used >= (account.budget ?? 0) ? BUDGET_REACHED : BUDGET_LOW;
    await db.transaction().execute((tx) => tellBudget(tx, notices, { account, topic, now }));
  }
}

async function tellBudget(
  tx: Kysely<Schema>,
  notices: Notices,
  {
    account,
    topic,
    now,
  }: { readonly account: BudgetAccount; readonly topic: BudgetTopic; readonly now: number },
): Promise<void> {
  const { id: accountId, name } = account;
  const per = account.budget_per ?? 'total';
  const from = Math.max(account.budget_from, periodStart(per, now));
  const mark = budgetMark(per, from, account.budget ?? 0);
  // Who knows that nothing is left need not be told that little is.
  const isNew = await notices.raise(tx, { accountId, topic: BUDGET_LOW, mark });
  if (topic === BUDGET_REACHED ? !(await notices.raise(tx, { accountId, topic, mark })) : !isNew) return;
  const amount = nanoUsd(account.budget ?? 0);
  const used = nanoUsd(account.budget_from < from ? 0 : account.budget_used);
  const resetsAt = periodEnd(per, now);
  const data = {
    account: accountId,
    name,
    amount_usd: toUsdNumber(amount),
    per,
    used_usd: toUsdNumber(used),
    resets_at: resetsAt === undefined ? null : new Date(resetsAt).toISOString(),
  };
  await notices.event(tx, { accountId, type: topic, data });
  const texts = { amount: `$${formatUsd(amount)}`, per, used: `$${formatUsd(used)}`, resetsAt };
  await notices.mail(tx, { accountId, template: topic, data: texts });
}

function budgetMark(per: Period, from: number, amount: number): string {
  return `${per} ${from} ${amount}`;
}

const EXPIRING = 'token.expiring';
const EXPIRES_WITHIN_MS = 7 * DAY_MS;

/** Tells once, seven days before, that a token will no longer work. */
export async function watchTokens({ db, notices, clock }: WatchParts): Promise<void> {
  const now = clock.now();
  const expiring = await db
    .selectFrom('account')
    .leftJoin('notice', (join) =>
      join.onRef('notice.account_id', '=', 'account.id').on('notice.topic', '=', EXPIRING),
    )
    .select(['account.id', 'account.name', 'account.token_hint', 'account.token_expires_at'])
    .where('token_expires_at', '>', now)
    .where('token_expires_at', '<=', now + EXPIRES_WITHIN_MS)
    .where('token_hash', 'is not', null)
    .where('status', '=', 'active')
    .where(sql<string>`COALESCE(notice.mark, '')`, '!=', sql<string>`CAST(account.token_expires_at AS TEXT)`)
    .limit(AT_ONCE)
    .execute();
  for (const account of expiring) await db.transaction().execute((tx) => tellExpiring(tx, notices, account));
}

async function tellExpiring(
  tx: Kysely<Schema>,
  notices: Notices,
  { id, name, token_hint, token_expires_at }: ExpiringAccount,
): Promise<void> {
  const expiresAt = token_expires_at ?? 0;
  if (!(await notices.raise(tx, { accountId: id, topic: EXPIRING, mark: String(expiresAt) }))) return;
  const hint = token_hint ?? '';
  const data = { account: id, name, token_hint: hint, expires_at: new Date(expiresAt).toISOString() };
  await notices.event(tx, { accountId: id, type: EXPIRING, data });
  await notices.mail(tx, { accountId: id, template: EXPIRING, data: { hint, expiresAt } });
}

type ExpiringAccount = Pick<AccountRow, 'id' | 'name' | 'token_hint' | 'token_expires_at'>;

/** The caller of a request, by the hash of its token or by its account. */
type LimitedCaller =
  | { readonly kind: 'token'; readonly hash: string }
  | { readonly kind: 'account'; readonly id: string };
/** What refused a request: the month of the wallet, or the account's own budget. */
type RefusingLimit = 'month' | `budget_${Period}`;

interface Refusal {
  readonly caller: LimitedCaller;
  readonly isBudget: boolean;
}

const MAX_NOTED = 1_000;
const REACHED = 'limit.reached';

/** Requests that a monthly limit or a budget refused: noted in memory, and told once for each period and amount. */
export class ReachedLimits {
  readonly #parts: WatchParts;
  readonly #noted = new Map<string, Refusal>();

  constructor(parts: WatchParts) {
    this.#parts = parts;
  }

  note(caller: LimitedCaller, limit: RefusingLimit): void {
    if (this.#noted.size >= MAX_NOTED) return;
    const isBudget = limit !== 'month';
    const key = caller.kind === 'token' ? caller.hash : caller.id;
    this.#noted.set(isBudget ? `budget ${key}` : key, { caller, isBudget });
  }

  async tell(): Promise<void> {
    const { db, notices, clock } = this.#parts;
    for (const [key, { caller, isBudget }] of this.#noted) {
      this.#noted.delete(key);
      await db.transaction().execute(async (tx) => {
        const account = await callerAccount(tx, caller);
        if (!account) return;
        const now = clock.now();
        if (!isBudget) await tellReached(tx, notices, { walletId: account.wallet_id ?? account.id, now });
        else if (account.budget !== null)
          await tellBudget(tx, notices, { account, topic: BUDGET_REACHED, now });
      });
    }
  }
}

async function callerAccount(tx: Kysely<Schema>, caller: LimitedCaller) {
  return await tx
    .selectFrom('account')
    .select(['id', 'name', 'wallet_id', ...BUDGET_COLUMNS])
    .where((where) =>
      caller.kind === 'token' ? where('token_hash', '=', caller.hash) : where('id', '=', caller.id),
    )
    .executeTakeFirst();
}

async function tellReached(
  tx: Kysely<Schema>,
  notices: Notices,
  { walletId, now }: { readonly walletId: string; readonly now: number },
): Promise<void> {
  const wallet = await tx
    .selectFrom('account')
    .select(['monthly_limit', 'month', 'month_spent'])
    .where('id', '=', walletId)
    .executeTakeFirst();
  if (!wallet || wallet.monthly_limit === null) return;
  const month = monthOf(now);
  const limit = nanoUsd(wallet.monthly_limit);
  if (!(await notices.raise(tx, { accountId: walletId, topic: REACHED, mark: `${month} ${limit}` }))) return;
  const spent = wallet.month === month ? wallet.month_spent : 0;
  const data = {
    account: walletId,
    month: `${Math.floor(month / 100)}-${String(month % 100).padStart(2, '0')}`,
    spent_usd: toUsdNumber(nanoUsd(spent)),
    limit_usd: toUsdNumber(limit),
  };
  await notices.event(tx, { accountId: walletId, type: REACHED, data });
  await notices.mail(tx, { accountId: walletId, template: REACHED, data: { limit: `$${formatUsd(limit)}` } });
}

/** Prices that change at a moment, or a change that is cancelled. */
export interface Announcement {
  /** Later ones have higher numbers. */
  readonly id: number;
  readonly from: number;
  /** Accounts that were created later have seen it already. */
  readonly madeAt: number;
  readonly isCancelled: boolean;
  /** What changes for a wallet of this price group. */
  changesFor(group: string | undefined): readonly AnnouncedModel[];
}

const PRICES = 'price.changes';
const MOST_MODELS = 30;
/** So many mails wait at most because of announcements: others are not held up, and the outbox is never full of them. */
const MOST_WAITING = 1_000;

/**
 * Tells each account once that its prices change, and those who were told when that is cancelled; the oldest announcement
 * first. A plan may wait for months: nobody is looked at again in the meantime.
 */
export class PriceWatch {
  readonly #parts: WatchParts;
  /** The last account that was looked at for each announcement; `done`: all were. */
  readonly #reached = new Map<string, string>();

  constructor(parts: WatchParts) {
    this.#parts = parts;
  }

  async tell(announcements: readonly Announcement[]): Promise<void> {
    const { db, notices } = this.#parts;
    const names = new Set(announcements.map(nameOf));
    for (const name of this.#reached.keys()) if (!names.has(name)) this.#reached.delete(name);
    for (const announcement of announcements) {
      const name = nameOf(announcement);
      const after = this.#reached.get(name) ?? '';
      if (after === DONE) continue;
      if ((await countWaitingByKind(db)).mail >= MOST_WAITING) return;
      const wallets = await walletsAfter(db, after, announcement);
      for (const wallet of wallets.filter((one) => isUntold(one, announcement)))
        await db.transaction().execute((tx) => tellPrices(tx, notices, { wallet, announcement }));
      const last = wallets.length === AT_ONCE ? wallets.at(-1) : undefined;
      this.#reached.set(name, last?.id ?? DONE);
      if (last) return;
    }
  }
}

const DONE = 'done';

function nameOf({ id, isCancelled }: Announcement): string {
  return `${id} ${isCancelled}`;
}

/** What was told last of prices: of which announcement, and whether there was something to tell. */
function priceMark({ id }: Announcement, outcome: '' | ' cancelled' | ' nothing' = ''): string {
  return `${String(id).padStart(12, '0')}${outcome}`;
}

function isUntold({ mark }: ToldWallet, announcement: Announcement): boolean {
  const told = mark ?? '';
  return announcement.isCancelled ? told === priceMark(announcement) : told < priceMark(announcement);
}

async function walletsAfter(
  db: Kysely<Schema>,
  after: string,
  { madeAt }: Announcement,
): Promise<ToldWallet[]> {
  return await db
    .selectFrom('account')
    .leftJoin('notice', (join) =>
      join.onRef('notice.account_id', '=', 'account.id').on('notice.topic', '=', PRICES),
    )
    .select(['account.id', 'account.kind', 'account.price_group', 'notice.mark'])
    .where('account.kind', 'in', ['person', 'team'])
    .where('account.role', '!=', 'system')
    .where('account.status', '=', 'active')
    .where('account.ended_at', 'is', null)
    .where('account.created_at', '<', madeAt)
    .where('account.id', '>', after)
    .orderBy('account.id')
    .limit(AT_ONCE)
    .execute();
}

type ToldWallet = Pick<AccountRow, 'id' | 'kind' | 'price_group'> & { readonly mark: string | null };

async function tellPrices(
  tx: Kysely<Schema>,
  notices: Notices,
  { wallet, announcement }: { readonly wallet: ToldWallet; readonly announcement: Announcement },
): Promise<void> {
  const { id: accountId, kind, price_group: group } = wallet;
  const { from, isCancelled } = announcement;
  const all = isCancelled ? [] : announcement.changesFor(group ?? undefined);
  const isNothing = !isCancelled && all.length === 0;
  const mark = priceMark(announcement, isCancelled ? ' cancelled' : isNothing ? ' nothing' : '');
  // A node that has not heard of a cancellation does not announce again what it took back.
  if (!(await notices.raise(tx, { accountId, topic: PRICES, mark, isOrdered: true })) || isNothing) return;
  const [models, more] = [all.slice(0, MOST_MODELS), Math.max(0, all.length - MOST_MODELS)];
  const status = isCancelled ? 'cancelled' : 'announced';
  const data = { account: accountId, status, from: new Date(from).toISOString(), models, more } as const;
  await notices.event(tx, { accountId, type: PRICES, data });
  // Whoever owns teams of the same prices reads of them once.
  const about = `${PRICES} ${mark} ${group ?? ''}`;
  const once = kind === 'team' ? about : `${about}:${accountId}`;
  const texts = { from, isCancelled, models, more };
  await notices.mail(tx, { accountId, template: PRICES, data: texts, once });
}
