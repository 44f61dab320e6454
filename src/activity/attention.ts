import { sql, type Kysely } from 'kysely';
import { DAY_MS } from '../std/calendar.ts';
import type { Schema } from '../store/schema.ts';
import type { Reader } from './reader.ts';

type Parts = { readonly db: Kysely<Schema>; readonly reader: Pick<Reader, 'all'> };

/** How long before its end something is told. */
const ENDS_WITHIN_MS = 7 * DAY_MS;
const SECRET_ENDS_WITHIN_MS = DAY_MS;
/** A hold is taken over within seconds after its lease; one that is older waits for a store or a node. */
const LEASE_SLACK_MS = 60_000;
const MOST_WEBHOOKS = 20;

/** Calls of the last 24 hours that were refused, by reason, the most frequent first. */
export function refusalsByReason({ db, reader }: Parts, now: number, most: number) {
  return reader.all(
    db
      .selectFrom('refused_call')
      .select(['reason', sql<number>`CAST(sum(calls) AS BIGINT)`.as('calls')])
      .where('last_at', '>=', now - DAY_MS)
      .groupBy('reason')
      .orderBy('calls', 'desc')
      .orderBy('reason')
      .limit(most),
  );
}

/** Messages that were given up within 24 hours. */
export function failedMessages({ db, reader }: Parts, now: number) {
  return reader.all(
    db
      .selectFrom('outbox')
      .select(['kind', sql<number>`count(*)`.as('messages')])
      .where('finished_at', 'is not', null)
      .where('finished_at', '>=', now - DAY_MS)
      .where('state', '=', 'failed')
      .groupBy('kind')
      .orderBy('kind'),
  );
}

/** The operator's webhooks that get nothing any more, or whose old secret ends soon. */
export async function troubledWebhooks({ db }: Parts, now: number) {
  const rows = await db
    .selectFrom('webhook')
    .select(['url', 'paused_at', 'old_until'])
    .where('account_id', '=', '')
    .orderBy('created_at')
    .limit(MOST_WEBHOOKS)
    .execute();
  const ends = (at: number | null): at is number =>
    at !== null && at > now && at <= now + SECRET_ENDS_WITHIN_MS;
  return {
    paused: rows.filter(({ paused_at }) => paused_at !== null).map(({ url }) => url),
    ending: rows.flatMap(({ url, old_until }) => (ends(old_until) ? [{ url, at: old_until }] : [])),
  };
}

/** Requests that are over or abandoned, as nobody renews their hold, and are not settled yet. */
export async function unsettledHolds({ db }: Parts, now: number): Promise<number> {
  const { holds } = await db
    .selectFrom('hold')
    .select(sql<number>`count(*)`.as('holds'))
    .where('lease_until', '<', now - LEASE_SLACK_MS)
    .executeTakeFirstOrThrow();
  return holds;
}

/** Payments by card of the last week that failed, and events of the provider that were refused. */
export async function failedPayments({ db }: Parts, now: number) {
  const since = now - 7 * DAY_MS;
  const { payments } = await db
    .selectFrom('payment')
    .select(sql<number>`count(*)`.as('payments'))
    .where('created_at', '>=', since)
    .where('state', '=', 'failed')
    .where('kind', '<>', 'card')
    .executeTakeFirstOrThrow();
  const { problems } = await db
    .selectFrom('payment_problem')
    .select(sql<number>`count(*)`.as('problems'))
    .where('created_at', '>=', since)
    .executeTakeFirstOrThrow();
  return { payments, problems };
}

/** Invites that nobody has used and that end within a week. */
export async function endingInvites({ db, reader }: Parts, now: number) {
  const [row] = await reader.all(
    db
      .selectFrom('invite')
      .select([sql<number>`count(*)`.as('count'), sql<number | null>`min(expires_at)`.as('at')])
      .where('used_at', 'is', null)
      .where('expires_at', '>', now)
      .where('expires_at', '<=', now + ENDS_WITHIN_MS),
  );
  return row;
}

/** Batches of codes that nobody has redeemed and that end within a week, the first to end first. */
export function endingCodes({ db, reader }: Parts, now: number, most: number) {
  return reader.all(
    db
      .selectFrom('redeem_code')
      .select(['batch', sql<number>`count(*)`.as('count'), sql<number>`min(expires_at)`.as('at')])
      .where('redeemed_at', 'is', null)
      .where('expires_at', '>', now)
      .where('expires_at', '<=', now + ENDS_WITHIN_MS)
      .groupBy('batch')
      .orderBy('at')
      .limit(most),
  );
}

/** The invariants that the last check of the books found broken; `undefined`: none. */
export async function brokenRules({ db }: Parts): Promise<string | undefined> {
  const row = await db
    .selectFrom('notice')
    .select('mark')
    .where('account_id', '=', '')
    .where('topic', '=', 'ledger')
    .executeTakeFirst();
  return row?.mark;
}

interface LossFilter {
  /** yyyymmdd */
  readonly since: number;
  /** Nano-USD; smaller losses are left out. */
  readonly least: number;
  readonly most: number;
}

/** Models or backends that brought in less than they cost, the greatest loss first; losses are positive nano-USD. */
export function lossesBy({ db, reader }: Parts, by: 'model' | 'backend', { since, least, most }: LossFilter) {
  const loss = sql<number>`CAST(sum(cost + possible_cost - costed) AS BIGINT)`;
  return reader.all(
    db
      .selectFrom('backend_day')
      .select([by === 'model' ? 'model as key' : 'backend as key', loss.as('loss')])
      .where('day', '>=', since)
      .groupBy(by)
      .having(sql<boolean>`sum(cost + possible_cost - costed) >= ${least}`)
      .orderBy('loss', 'desc')
      .limit(most),
  );
}
