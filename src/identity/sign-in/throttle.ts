import type { Clock } from '../../std/clock.ts';
import { networkOf } from '../../std/addresses.ts';
import { Fault } from '../../std/fault.ts';

/**
 * Bounds what strangers can make this process do. Counters are in its memory and bounded in number; each process counts
 * separately. Attempts to guess a secret are counted in the store instead, see sign-in-limiter.ts.
 */
export interface Throttle {
  /** Counts one action (a sign-up, a redeemed code) against its own allowance, or throws. */
  act(kind: keyof typeof ALLOWANCES, key: string): void;
}

const MAX_KEYS = 50_000;

/** How many at once, and after how long one more is allowed. */
const ALLOWANCES = {
  /** All attempts to sign in on this process; each writes to the store. */
  sign_in_everybody: { burst: 500, everyMs: 20 },
  /** Estimating how strong a password is takes some milliseconds of the thread that serves requests. */
  new_password: { burst: 20, everyMs: 5_000 },
  sign_up_address: { burst: 10, everyMs: 360_000 },
  sign_up_everybody: { burst: 100, everyMs: 1_000 },
  redeem: { burst: 10, everyMs: 30_000 },
  /** New webhooks, and tests of one or of mail, by whoever asks for them. */
  webhook: { burst: 10, everyMs: 10_000 },
  /** Pages at the payment provider; each is a row. */
  payment: { burst: 10, everyMs: 30_000 },
  /** Making a PDF takes some milliseconds of the thread that serves requests. */
  statement: { burst: 40, everyMs: 5_000 },
  export: { burst: 3, everyMs: 600_000 },
  setup: { burst: 20, everyMs: 10_000 },
  reset: { burst: 20, everyMs: 10_000 },
  /** Mails with a link for a new password, to one address and to all. */
  reset_mail: { burst: 3, everyMs: 1_200_000 },
  reset_mail_everybody: { burst: 50, everyMs: 2_000 },
  verification: { burst: 3, everyMs: 600_000 },
  /** Passkey challenges: every visit to the sign-in page takes one, and each is a row for five minutes. */
  challenge_address: { burst: 60, everyMs: 2_000 },
  challenge_everybody: { burst: 1_000, everyMs: 20 },
} as const;

/** Counted by account or mail address; the others by network. */
const BY_ACCOUNT: ReadonlySet<string> = new Set([
  'redeem',
  'webhook',
  'payment',
  'statement',
  'reset_mail',
  'verification',
]);

export function makeThrottle(clock: Clock): Throttle {
  const arrivals = new BoundedMap<number>(MAX_KEYS);
  return {
    /** GCRA: one timestamp per key says how far it is ahead of its allowance. */
    act(kind, key) {
      const { burst, everyMs } = ALLOWANCES[kind];
      const name = `${kind} ${BY_ACCOUNT.has(kind) ? key : networkOf(key)}`;
      const now = clock.now();
      const next = Math.max(arrivals.get(name) ?? 0, now) + everyMs;
      const waitMs = next - now - burst * everyMs;
      if (waitMs > 0) throw tooManyTries(waitMs);
      arrivals.set(name, next);
    },
  };
}

export function tooManyTries(retryAfterMs: number): Fault {
  return new Fault('rate_limit_exceeded', 'Too many tries. Wait a little and try again.', {
    retryAfterMs,
  });
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
}
