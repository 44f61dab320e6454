import type { Clock } from '../../std/clock.ts';
import { AuthRefusal } from './refusal.ts';

/**
 * Slows down guessing without locking anyone out for long. Counters are in this process's memory and bounded in number;
 * each node counts separately.
 */
export interface Throttle {
  /**
   * Counts one attempt on `subject` (an e-mail address, an account) from `address` before any work is done, or throws
   * `rate_limit_exceeded`. Because it counts first, concurrent attempts cannot bypass the limit.
   */
  guess(kind: string, subject: string, address: string): SignInGuess;
  /** Whether the next attempt on `subject` would be refused because of earlier failures. */
  waits(kind: string, subject: string): boolean;
  /** The secret of `subject` was replaced at that time: earlier failures no longer count, later ones do. */
  forget(kind: string, subject: string, replacedAt: number): void;
  /** Counts one action (a sign-up, a redeemed code) against its own allowance, or throws. */
  act(kind: keyof typeof ALLOWANCES, key: string): void;
}

export interface SignInGuess {
  /** The attempt succeeded: the subject's failures are forgotten and the attempt is not counted against the address. */
  right(): void;
}

/** Five attempts without a wait; then 15 s, 30 s, 60 s … up to 15 minutes: ten attempts in a quarter of an hour. */
const FREE_ATTEMPTS = 5;
const FIRST_WAIT_MS = 15_000;
const MAX_WAIT_MS = 900_000;
/** Failures are forgotten after this time without attempts. */
const FORGET_MS = 3_600_000;
const MAX_SUBJECTS = 50_000;

/** How many at once, and after how long one more is allowed. */
const ALLOWANCES = {
  /** Attempts from one address (IPv6: one /64), on any account. */
  address: { burst: 30, everyMs: 10_000 },
  /** All attempts on this node. */
  everybody: { burst: 500, everyMs: 20 },
  /** Estimating how strong a password is takes some milliseconds of the thread that serves requests. */
  new_password: { burst: 20, everyMs: 5_000 },
  sign_up_address: { burst: 10, everyMs: 360_000 },
  sign_up_everybody: { burst: 100, everyMs: 1_000 },
  redeem: { burst: 10, everyMs: 30_000 },
  export: { burst: 3, everyMs: 600_000 },
  setup: { burst: 20, everyMs: 10_000 },
  reset: { burst: 20, everyMs: 10_000 },
  /** Passkey challenges: every visit to the sign-in page takes one, and each is a row for five minutes. */
  challenge_address: { burst: 60, everyMs: 2_000 },
  challenge_everybody: { burst: 1_000, everyMs: 20 },
} as const;

interface Failures {
  count: number;
  lastAt: number;
}

export function makeThrottle(clock: Clock): Throttle {
  const failures = new BoundedMap<Failures>(MAX_SUBJECTS);
  const arrivals = new BoundedMap<number>(MAX_SUBJECTS);

  /** GCRA: one timestamp per key says how far it is ahead of its allowance. */
  const take = (kind: keyof typeof ALLOWANCES, key: string): void => {
    const { burst, everyMs } = ALLOWANCES[kind];
    const name = `${kind} ${key}`;
    const now = clock.now();
    const next = Math.max(arrivals.get(name) ?? 0, now) + everyMs;
    const waitMs = next - now - burst * everyMs;
    if (waitMs > 0) throw tooMany(waitMs);
    arrivals.set(name, next);
  };

  const refund = (kind: keyof typeof ALLOWANCES, key: string): void => {
    const name = `${kind} ${key}`;
    const arrival = arrivals.get(name);
    if (arrival !== undefined) arrivals.set(name, arrival - ALLOWANCES[kind].everyMs);
  };

  const failuresOf = (key: string) => {
    const found = failures.get(key);
    const now = clock.now();
    const count = found && now - found.lastAt < FORGET_MS ? found.count : 0;
    const waitMs = found ? found.lastAt + waitAfter(count) - now : 0;
    return { count, waitMs };
  };

  return {
    guess(kind, subject, address) {
      const key = `${kind} ${subject}`;
      const { count, waitMs } = failuresOf(key);
      if (waitMs > 0) throw tooMany(waitMs);
      const addressGroup = addressKey(address);
      take('address', addressGroup);
      take('everybody', '');
      failures.set(key, { count: count + 1, lastAt: clock.now() });
      return {
        right() {
          failures.delete(key);
          refund('address', addressGroup);
        },
      };
    },
    waits: (kind, subject) => failuresOf(`${kind} ${subject}`).waitMs > 0,
    forget(kind, subject, replacedAt) {
      const key = `${kind} ${subject}`;
      if ((failures.get(key)?.lastAt ?? Infinity) <= replacedAt) failures.delete(key);
    },
    act(kind, key) {
      take(kind, kind === 'redeem' ? key : addressKey(key));
    },
  };
}

function waitAfter(count: number): number {
  if (count < FREE_ATTEMPTS) return 0;
  return Math.min(MAX_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(count - FREE_ATTEMPTS, 10));
}

function tooMany(retryAfterMs: number): AuthRefusal {
  return new AuthRefusal('rate_limit_exceeded', 'Too many tries. Wait a little and try again.', {
    retryAfterMs,
  });
}

/** One client has one IPv4 address or a whole /64 of IPv6 addresses. */
export function addressKey(address: string): string {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '').replace(/%.*$/, '');
  if (!plain.includes(':')) return plain;
  const [head = '', tail] = plain.split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros =
    tail === undefined ? [] : Array.from({ length: Math.max(0, 8 - left.length - right.length) }, () => '0');
  const groups = [...left, ...zeros, ...right].slice(0, 4);
  return groups.map((group) => group.toLowerCase().replace(/^0+(?=.)/, '')).join(':');
}

/**
 * Keeps at least the `max / 2` most recently set keys and never more than `max`. Two generations instead of an order of
 * use: deleting the oldest key of a large Map one by one makes each search for it skip all the deleted ones before.
 */
class BoundedMap<Value> {
  readonly #maxRecent: number;
  #recent = new Map<string, Value>();
  #old = new Map<string, Value>();

  constructor(max: number) {
    this.#maxRecent = Math.ceil(max / 2);
  }

  get(key: string): Value | undefined {
    return this.#recent.get(key) ?? this.#old.get(key);
  }

  set(key: string, value: Value): void {
    this.#recent.set(key, value);
    if (this.#recent.size < this.#maxRecent) return;
    this.#old = this.#recent;
    this.#recent = new Map();
  }

  delete(key: string): void {
    this.#recent.delete(key);
    this.#old.delete(key);
  }
}
