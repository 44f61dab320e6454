import type { AccountId } from '../std/ids.ts';
import {
  CLOSED,
  cooledDown,
  failed,
  failuresIn,
  isResting,
  MIN_FAILURES,
  opened,
  releaseProbe,
  requestPermit,
  succeeded,
  WINDOW_MS,
  type BreakerState,
} from './breaker.ts';

export type HealthState = 'ok' | 'failing' | 'resting' | 'probing';

/** A time in which a model is not called, for one account or for all. */
export interface Rest {
  readonly until: number;
  /** The only account that met failures, so that others are still served; `undefined`: everybody. */
  readonly account: AccountId | undefined;
}

interface AccountHealth {
  readonly breaker: BreakerState;
  readonly lastAt: number;
  /** Successes since `servedSince`, which a breaker without failures does not keep. */
  readonly served: number;
  readonly servedSince: number;
}

/** The accounts that used a model last. Those dropped begin again without a history. */
const MAX_ACCOUNTS = 200;

/**
 * The health of one model of a backend with one of its keys. Failures rest it for the account that met them; only if
 * most of the accounts that use it, and at least two, meet failures is it rested for all. What makes a backend fail may
 * be in the requests, and one customer must not be able to close it for the others.
 */
export class TargetHealth {
  /** Least recently used first. */
  readonly #accounts = new Map<AccountId, AccountHealth>();
  #shared: BreakerState = CLOSED;

  /** Milliseconds until it may be called for the account; 0: now, and the permit may be a probe. */
  admit(account: AccountId, now: number): number {
    const shared = requestPermit(this.#shared, now);
    if (shared.waitMs > 0) return shared.waitMs;
    const known = this.#accounts.get(account);
    // A probe for everybody is not held back because its account has met failures.
    if (!known || shared.state.kind !== 'closed') {
      this.#shared = shared.state;
      return 0;
    }
    const own = requestPermit(known.breaker, now);
    this.#accounts.set(account, { ...known, breaker: own.state });
    return own.waitMs;
  }

  /** The permit was not used, or its result says nothing. */
  release(account: AccountId, now: number): void {
    this.#shared = releaseProbe(this.#shared, now);
    const known = this.#accounts.get(account);
    if (known) this.#accounts.set(account, { ...known, breaker: releaseProbe(known.breaker, now) });
  }

  succeeded(account: AccountId, now: number): void {
    if (this.#shared.kind !== 'closed') {
      this.#shared = CLOSED;
      this.#accounts.clear();
    }
    const before = this.#accounts.get(account) ?? unknownAt(now);
    const isCurrent = now - before.servedSince < WINDOW_MS;
    this.#remember(account, {
      breaker: succeeded(before.breaker, now),
      lastAt: now,
      served: isCurrent ? before.served + 1 : 1,
      servedSince: isCurrent ? before.servedSince : now,
    });
  }

  failed(account: AccountId, now: number, cooldownMs: number | undefined): void {
    const before = this.#accounts.get(account) ?? unknownAt(now);
    const breaker = failed(before.breaker, now, cooldownMs);
    this.#remember(account, { ...before, breaker, lastAt: now });
    if (this.#shared.kind === 'probing') this.#shared = failed(this.#shared, now, cooldownMs);
    else if (this.#mostAccountsFail(now, cooldownMs === undefined ? MIN_FAILURES : 1))
      this.#shared =
        cooldownMs === undefined ? opened(this.#shared, now) : cooledDown(this.#shared, now, cooldownMs);
  }

  state(now: number): HealthState {
    const shared = stateName(this.#shared, now);
    if (shared !== 'ok') return shared;
    const states = new Set(this.#active(now).map(({ breaker }) => stateName(breaker, now)));
    const [only = 'ok', another] = states;
    return another === undefined ? only : 'failing';
  }

  rests(now: number): Rest[] {
    if (isResting(this.#shared, now)) return [{ until: this.#shared.openUntil, account: undefined }];
    return [...this.#accounts]
      .filter(([, { breaker }]) => isResting(breaker, now))
      .map(([account, { breaker }]) => ({ until: breaker.openUntil, account }));
  }

  #remember(account: AccountId, health: AccountHealth): void {
    this.#accounts.delete(account);
    this.#accounts.set(account, health);
    if (this.#accounts.size <= MAX_ACCOUNTS) return;
    for (const oldest of this.#accounts.keys()) {
      this.#accounts.delete(oldest);
      return;
    }
  }

  /** An open breaker has used up its failures; it stands for as many as opened it. */
  #mostAccountsFail(now: number, minFailures: number): boolean {
    if (isResting(this.#shared, now)) return false;
    const active = this.#active(now);
    const failures = active.map((one) => failingCount(one, now)).filter((count) => count > 0);
    const total = failures.reduce((sum, count) => sum + count, 0);
    return failures.length > 1 && failures.length * 2 >= active.length && total >= minFailures;
  }

  #active(now: number): AccountHealth[] {
    return [...this.#accounts.values()].filter(
      ({ breaker, lastAt }) => now - lastAt < WINDOW_MS || isResting(breaker, now),
    );
  }
}

function unknownAt(now: number): AccountHealth {
  return { breaker: CLOSED, lastAt: now, served: 0, servedSince: now };
}

/** 0 if the account is served more often than not. */
function failingCount({ breaker, served, servedSince }: AccountHealth, now: number): number {
  if (breaker.kind !== 'closed') return MIN_FAILURES;
  const failures = failuresIn(breaker, now);
  return failures >= (now - servedSince < 2 * WINDOW_MS ? served : 0) ? failures : 0;
}

function stateName(breaker: BreakerState, now: number): HealthState {
  if (breaker.kind === 'probing') return 'probing';
  if (isResting(breaker, now)) return 'resting';
  return failuresIn(breaker, now) > 0 ? 'failing' : 'ok';
}
