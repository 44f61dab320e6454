import type { Kysely } from 'kysely';
import { monthOf } from '../std/calendar.ts';
import type { Clock } from '../std/clock.ts';
import { formatUsd, nanoUsd, toUsdNumber } from '../std/money.ts';
import type { AccountRow, Schema } from '../store/schema.ts';
import type { Notices } from './notices.ts';

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

/** The caller of a request, by the hash of its token or by its account. */
type LimitedCaller =
  | { readonly kind: 'token'; readonly hash: string }
  | { readonly kind: 'account'; readonly id: string };

const MAX_NOTED = 1_000;
const REACHED = 'limit.reached';

/** Accounts whose requests were refused by their monthly limit: noted in memory, and told once for each month and limit. */
export class ReachedLimits {
  readonly #parts: WatchParts;
  readonly #noted = new Map<string, LimitedCaller>();

  constructor(parts: WatchParts) {
    this.#parts = parts;
  }

  note(caller: LimitedCaller): void {
    if (this.#noted.size < MAX_NOTED)
      this.#noted.set(caller.kind === 'token' ? caller.hash : caller.id, caller);
  }

  async tell(): Promise<void> {
    const { db, notices, clock } = this.#parts;
    for (const [key, caller] of this.#noted) {
      this.#noted.delete(key);
      await db
        .transaction()
        .execute((tx) => tellReached(tx, notices, { caller, month: monthOf(clock.now()) }));
    }
  }
}

async function tellReached(
  tx: Kysely<Schema>,
  notices: Notices,
  { caller, month }: { readonly caller: LimitedCaller; readonly month: number },
): Promise<void> {
  const account = await tx
    .selectFrom('account')
    .select(['id', 'monthly_limit', 'month', 'month_spent'])
    .where((where) =>
      caller.kind === 'token' ? where('token_hash', '=', caller.hash) : where('id', '=', caller.id),
    )
    .executeTakeFirst();
  if (!account || account.monthly_limit === null) return;
  const { id, monthly_limit: limit } = account;
  if (!(await notices.raise(tx, { accountId: id, topic: REACHED, mark: `${month} ${limit}` }))) return;
  const spent = account.month === month ? account.month_spent : 0;
  const data = {
    account: id,
    month: `${Math.floor(month / 100)}-${String(month % 100).padStart(2, '0')}`,
    spent_usd: toUsdNumber(nanoUsd(spent)),
    limit_usd: toUsdNumber(nanoUsd(limit)),
  };
  await notices.event(tx, { accountId: id, type: REACHED, data });
}
