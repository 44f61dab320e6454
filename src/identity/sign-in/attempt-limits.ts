/** What is known of earlier attempts of one kind. */
export interface CountedAttempts {
  readonly count: number;
  readonly at: number;
}

/**
 * `backoff`: so many attempts without a wait, then waits that double. `at` is the last attempt.
 * `allowance`: so many at once, and after a while one more (GCRA). `at` says how far ahead of the clock it is used up.
 */
export type AttemptLimit =
  | {
      readonly kind: 'backoff';
      readonly free: number;
      readonly firstWaitMs: number;
      readonly maxWaitMs: number;
      readonly forgetMs: number;
    }
  | { readonly kind: 'allowance'; readonly burst: number; readonly everyMs: number };

/** Five attempts without a wait; then 15 s, 30 s, 60 s … up to 15 minutes: ten attempts in a quarter of an hour. */
export const ONE_CLIENT: AttemptLimit = {
  kind: 'backoff',
  free: 5,
  firstWaitMs: 15_000,
  maxWaitMs: 900_000,
  forgetMs: 3_600_000,
};

/** Failures from one network, whichever accounts it tries. */
export const ONE_NETWORK: AttemptLimit = { kind: 'allowance', burst: 30, everyMs: 10_000 };

/**
 * Failures on one account from all networks together. It is reached only by many networks that guess at once, because each
 * of them is slowed down after five; NIST SP 800-63B-4 allows at most a hundred in a row.
 */
export const ONE_SUBJECT: AttemptLimit = { kind: 'allowance', burst: 100, everyMs: 60_000 };

/** How long the next attempt has to wait; not positive: it may be made now. */
export function waitBefore(limit: AttemptLimit, before: CountedAttempts, now: number): number {
  if (limit.kind === 'allowance')
    return Math.max(before.at, now) + limit.everyMs - now - limit.burst * limit.everyMs;
  const beyond = remembered(limit, before, now) - limit.free;
  if (beyond < 0) return 0;
  return before.at + Math.min(limit.maxWaitMs, limit.firstWaitMs * 2 ** Math.min(beyond, 30)) - now;
}

/** With one attempt more, made now. */
export function withAttempt(
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
