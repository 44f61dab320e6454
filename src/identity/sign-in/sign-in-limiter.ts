import { createHmac } from 'node:crypto';
import { sql } from 'kysely';
import { networkOf } from '../../std/addresses.ts';
import type { Clock } from '../../std/clock.ts';
import type { Store } from '../../store/store.ts';
import { tooManyTries, type Throttle } from './throttle.ts';

/**
 * Slows down guessing of passwords and codes. Attempts are counted in the store, by all nodes and workers together. What
 * reaches the store is bounded by the throttle of each process, so that a flood of attempts is refused without a query.
 *
 * Guesses of one network at an account make only that network wait, not the owner elsewhere and not the owner's known
 * devices. Distributed guessing is bounded by a higher limit on each network and on each account.
 */
export interface SignInLimiter {
  /**
   * Counts one attempt before any work is done, or throws `rate_limit_exceeded`. Because it counts first, concurrent
   * attempts cannot bypass the limit.
   */
  guess(attempt: SignInAttempt): Promise<SignInGuess>;
  /** Removes what has expired, and what is nearest to it while there are too many rows; called periodically. */
  sweep(): Promise<void>;
}

export interface SignInAttempt {
  readonly kind: string;
  /** Whose secret is guessed: an email address or an account; `undefined`: only the network is known. */
  readonly subject: string | undefined;
  readonly address: string;
  /** The known device of this subject that the attempt comes from: it is counted on its own, and nothing else delays it. */
  readonly device?: string | undefined;
  /** When the secret was set: earlier failures of this client do not count. Asked only for an attempt that may be made. */
  readonly secretSetAt?: (() => Promise<number | undefined>) | undefined;
}

export interface SignInGuess {
  /** The attempt succeeded: it does not count, and earlier failures of this client are forgotten. */
  right(): Promise<void>;
}

/** Between two sweeps a process adds no more than its throttle for everybody allows. */
const MAX_ATTEMPT_ROWS = 100_000;
/** Deleted at once: more would keep a SQLite store's thread for too long. */
const SWEEP_BATCH = 1_000;
const MAX_SWEEP_BATCHES = 200;

interface Count {
  readonly key: string;
  readonly limit: AttemptLimit;
  /** Attempts up to this moment do not count. */
  readonly since?: number | undefined;
}

const NO_ATTEMPTS: CountedAttempts = { count: 0, at: 0 };

interface SignInLimiterParts {
  readonly store: Store;
  readonly secret: string;
  readonly clock: Clock;
  readonly throttle: Throttle;
}

export function makeSignInLimiter(
  { store, secret, clock, throttle }: SignInLimiterParts,
  maxRows = MAX_ATTEMPT_ROWS,
): SignInLimiter {
  const key = (...parts: readonly string[]): string =>
    createHmac('sha256', secret).update(JSON.stringify(parts)).digest('base64url').slice(0, 32);
  return {
    async guess(attempt) {
      // By the subject: whoever can sign in to an account can make any number of devices known to it.
      const known = attempt.device === undefined ? undefined : attempt.subject;
      const counted = throttle.act('sign_in', attempt.address, known);
      const since = await attempt.secretSetAt?.();
      // In the order of their keys, so that attempts that lock several rows never wait for each other in a circle.
      const counts = countsOf(attempt, key, since).toSorted((a, b) => (a.key < b.key ? -1 : 1));
      await countAttempt(store, counts, clock.now());
      return {
        async right() {
          counted.giveBack();
          await takeBack(store, counts);
        },
      };
    },
    sweep: () => sweep(store, clock.now(), maxRows),
  };
}

function countsOf(
  { kind, subject, address, device }: SignInAttempt,
  key: (...parts: readonly string[]) => string,
  since: number | undefined,
): Count[] {
  if (device !== undefined) return [{ key: key('device', kind, device), limit: ONE_CLIENT, since }];
  const network = networkOf(address);
  const counts = [
    { key: key('client', kind, subject ?? '', network), limit: ONE_CLIENT, since },
    { key: key('network', network), limit: ONE_NETWORK },
  ];
  return subject === undefined
    ? counts
    : [...counts, { key: key('subject', kind, subject), limit: ONE_SUBJECT }];
}

async function countAttempt({ db }: Store, counts: readonly Count[], now: number): Promise<void> {
  await db.transaction().execute(async (tx) => {
    // Locks every row, there or not, and returns it as it is.
    const rows = await tx
      .insertInto('sign_in_attempt')
      .values(counts.map(({ key }) => ({ key, ...NO_ATTEMPTS, expires_at: now })))
      .onConflict((conflict) =>
        conflict.column('key').doUpdateSet((update) => ({ key: update.ref('excluded.key') })),
      )
      .returning(['key', 'count', 'at'])
      .execute();
    const before = new Map(rows.map((row) => [row.key, row]));
    const of = ({ key, since = 0 }: Count): CountedAttempts => {
      const row = before.get(key);
      return row && row.at > since ? row : NO_ATTEMPTS;
    };
    const waitMs = Math.max(...counts.map((count) => waitBefore(count.limit, of(count), now)));
    if (waitMs > 0) throw tooManyTries(waitMs);
    await tx
      .insertInto('sign_in_attempt')
      .values(counts.map((count) => ({ key: count.key, ...withAttempt(count.limit, of(count), now) })))
      .onConflict((conflict) =>
        conflict.column('key').doUpdateSet((update) => ({
          count: update.ref('excluded.count'),
          at: update.ref('excluded.at'),
          expires_at: update.ref('excluded.expires_at'),
        })),
      )
      .execute();
  });
}

/** One statement for each row: none of them holds a lock while it waits for another. */
async function takeBack({ db }: Store, counts: readonly Count[]): Promise<void> {
  for (const { key, limit } of counts) {
    if (limit.kind === 'backoff') await db.deleteFrom('sign_in_attempt').where('key', '=', key).execute();
    else
      await db
        .updateTable('sign_in_attempt')
        .set((row) => ({
          at: row('at', '-', limit.everyMs),
          expires_at: row('expires_at', '-', limit.everyMs),
        }))
        .where('key', '=', key)
        .execute();
  }
}

async function sweep(store: Store, now: number, maxRows: number): Promise<void> {
  const skipLocked = sql.raw(store.dialect.skipLocked);
  const remove = async (filter: ReturnType<typeof sql>, most: number): Promise<number> => {
    const { numAffectedRows } = await sql`DELETE FROM sign_in_attempt WHERE key IN (
      SELECT key FROM sign_in_attempt ${filter} ORDER BY expires_at LIMIT ${most} ${skipLocked})`.execute(
      store.db,
    );
    return Number(numAffectedRows ?? 0);
  };
  let batches = 0;
  const removeUpTo = async (filter: ReturnType<typeof sql>, rows: number): Promise<void> => {
    for (let left = rows; left > 0 && batches < MAX_SWEEP_BATCHES; batches++) {
      const removed = await remove(filter, Math.min(left, SWEEP_BATCH));
      if (removed === 0) return;
      left -= removed;
      // Waiting requests go first.
      await Bun.sleep(0);
    }
  };
  await removeUpTo(sql`WHERE expires_at < ${now}`, Number.POSITIVE_INFINITY);
  const { rows } = await store.db
    .selectFrom('sign_in_attempt')
    .select(({ fn }) => fn.countAll<number>().as('rows'))
    .executeTakeFirstOrThrow();
  await removeUpTo(sql``, rows - maxRows);
}

/** What is known of earlier attempts of one kind. */
interface CountedAttempts {
  readonly count: number;
  readonly at: number;
}

/**
 * `backoff`: so many attempts without a wait, then waits that double. `at` is the last attempt.
 * `allowance`: so many at once, and after a while one more (GCRA). `at` says how far ahead of the clock it is used up.
 */
type AttemptLimit =
  | {
      readonly kind: 'backoff';
      readonly free: number;
      readonly firstWaitMs: number;
      readonly maxWaitMs: number;
      readonly forgetMs: number;
    }
  | { readonly kind: 'allowance'; readonly burst: number; readonly everyMs: number };

/** Five attempts without a wait; then 15 s, 30 s, 60 s … up to 15 minutes: ten attempts in a quarter of an hour. */
const ONE_CLIENT: AttemptLimit = {
  kind: 'backoff',
  free: 5,
  firstWaitMs: 15_000,
  maxWaitMs: 900_000,
  forgetMs: 3_600_000,
};

/** Failures from one network, whichever accounts it tries. */
const ONE_NETWORK: AttemptLimit = { kind: 'allowance', burst: 30, everyMs: 10_000 };

/**
 * Failures on one account from all networks together. It is reached only by many networks that guess at once, because each
 * of them is slowed down after five; NIST SP 800-63B-4 allows at most a hundred in a row.
 */
const ONE_SUBJECT: AttemptLimit = { kind: 'allowance', burst: 100, everyMs: 60_000 };

/** How long the next attempt has to wait; not positive: it may be made now. */
function waitBefore(limit: AttemptLimit, before: CountedAttempts, now: number): number {
  if (limit.kind === 'allowance')
    return Math.max(before.at, now) + limit.everyMs - now - limit.burst * limit.everyMs;
  const beyond = remembered(limit, before, now) - limit.free;
  if (beyond < 0) return 0;
  return before.at + Math.min(limit.maxWaitMs, limit.firstWaitMs * 2 ** Math.min(beyond, 30)) - now;
}

function withAttempt(
  limit: AttemptLimit,
  before: CountedAttempts,
  now: number,
): CountedAttempts & { readonly expires_at: number } {
  if (limit.kind === 'allowance') {
    const at = Math.max(before.at, now) + limit.everyMs;
    return { count: 0, at, expires_at: at };
  }
  return { count: remembered(limit, before, now) + 1, at: now, expires_at: now + limit.forgetMs };
}

function remembered(
  limit: Extract<AttemptLimit, { kind: 'backoff' }>,
  { count, at }: CountedAttempts,
  now: number,
): number {
  return now - at < limit.forgetMs ? count : 0;
}
