import type { Clock } from '../../std/clock.ts';
import { networkOf } from '../../std/addresses.ts';
import { tooManyRequests, type Fault } from '../../std/fault.ts';

/**
 * Bounds what strangers can make this process do. Counters are in its memory and bounded in number; each process counts
 * separately. Attempts to guess a secret are counted in the store as well, see sign-in-limiter.ts.
 */
export interface Throttle {
  /**
   * Counts one action by its client's own limit and, if that has room, by the limit for everybody; or counts nothing and
   * throws `rate_limit_exceeded`. `key` is a network address or an account, as the action's limit says. `known` is whom
   * the client has proved to be: it is then counted on its own, and strangers cannot use up its room.
   */
  act(action: Action, key: string, known?: string): CountedAction;
}

interface CountedAction {
  /** Takes the action out of the count again. */
  giveBack(): void;
}

const MAX_KEYS = 50_000;

/** How many actions are allowed at once, and how long until another one is. */
interface Rate {
  readonly burst: number;
  readonly everyMs: number;
}

interface ActionLimit extends Rate {
  /** Whether the rate applies to a network or to an account. */
  readonly of: 'network' | 'account';
  /**
   * Everybody together may do as much as this many networks: the limit for all is a multiple of the limit of one, so that
   * a few networks cannot use it up.
   */
  readonly networks?: number;
}

type Action = keyof typeof LIMITS;

const LIMITS = {
  /** Attempts that may guess a secret; each writes to the store. Those that succeed are given back. */
  sign_in: { of: 'network', burst: 30, everyMs: 10_000, networks: 100 },
  /** Estimating how strong a password is takes some milliseconds of the thread that serves requests. */
  new_password: { of: 'network', burst: 20, everyMs: 5_000 },
  sign_up: { of: 'network', burst: 10, everyMs: 360_000, networks: 360 },
  setup: { of: 'network', burst: 20, everyMs: 10_000 },
  reset: { of: 'network', burst: 20, everyMs: 10_000 },
  /** Asking for a mail with a link for a new password, for whichever mailboxes. */
  reset_mail: { of: 'network', burst: 10, everyMs: 120_000, networks: 60 },
  /** Passkey challenges: every visit to the sign-in page takes one, and each is a row for five minutes. */
  challenge: { of: 'network', burst: 60, everyMs: 2_000, networks: 100 },
  /** Mails with a link for a new password to one mailbox, by its address. */
  reset_mailbox: { of: 'account', burst: 3, everyMs: 1_200_000 },
  redeem: { of: 'account', burst: 10, everyMs: 30_000 },
  /** New webhooks, and tests of one or of mail, by whoever asks for them. */
  webhook: { of: 'account', burst: 10, everyMs: 10_000 },
  /** New API tokens; each is an event for every webhook of the account. */
  token: { of: 'account', burst: 10, everyMs: 60_000 },
  /** New teams, apps and their tokens, invitations and looks at one. */
  team: { of: 'account', burst: 40, everyMs: 10_000 },
  /** Pages at the payment provider; each is a row. */
  payment: { of: 'account', burst: 10, everyMs: 30_000 },
  /** Making a PDF takes some milliseconds of the thread that serves requests. */
  statement: { of: 'account', burst: 40, everyMs: 5_000 },
  /** What operators do, by person or token: nearly each leaves a line in the audit log, which is never emptied. */
  operation: { of: 'account', burst: 600, everyMs: 20 },
  export: { of: 'account', burst: 3, everyMs: 600_000 },
  verification: { of: 'account', burst: 3, everyMs: 600_000 },
} as const satisfies Record<string, ActionLimit>;

/** A network or account whose actions are counted, and its rate. */
interface Counted {
  readonly name: string;
  readonly rate: Rate;
}

export function makeThrottle(clock: Clock): Throttle {
  const arrivals = new BoundedMap<number>(MAX_KEYS);
  /** GCRA: one timestamp per name says how far it is ahead of its rate. */
  const after = ({ name, rate }: Counted, now: number): number =>
    Math.max(arrivals.get(name) ?? 0, now) + rate.everyMs;
  return {
    act(action, key, known) {
      const now = clock.now();
      const all = countedFor(action, key, known);
      for (const one of all) {
        const waitMs = after(one, now) - now - one.rate.burst * one.rate.everyMs;
        if (waitMs > 0) throw tooManyTries(waitMs);
      }
      for (const one of all) arrivals.set(one.name, after(one, now));
      return {
        giveBack() {
          for (const { name, rate } of all) {
            const arrival = arrivals.get(name);
            if (arrival !== undefined) arrivals.set(name, arrival - rate.everyMs);
          }
        },
      };
    },
  };
}

/** Those of one IPv6 site together may do as much as this many networks: a site has 65,536 of them to itself. */
const NETWORKS_OF_SITE = 8;

/** The client itself, and last everybody. */
function countedFor(action: Action, key: string, known: string | undefined): Counted[] {
  const rate: ActionLimit = LIMITS[action];
  if (known !== undefined) return [{ name: `${action} known ${known}`, rate }];
  if (rate.of === 'account') return [{ name: `${action} ${key}`, rate }];
  const network = networkOf(key);
  const own = { name: `${action} ${network}`, rate };
  if (rate.networks === undefined) return [own];
  const everybody = { name: `${action} everybody`, rate: times(rate, rate.networks) };
  const site = siteOf(network);
  if (site === undefined) return [own, everybody];
  return [own, { name: `${action} site ${site}`, rate: times(rate, NETWORKS_OF_SITE) }, everybody];
}

function times({ burst, everyMs }: Rate, networks: number): Rate {
  return { burst: burst * networks, everyMs: everyMs / networks };
}

export function tooManyTries(retryAfterMs: number): Fault {
  return tooManyRequests(retryAfterMs, 'Too many attempts.');
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

/** The /48 of an IPv6 network: what a hoster gives one customer. */
function siteOf(network: string): string | undefined {
  return network.includes(':') ? network.split(':').slice(0, 3).join(':') : undefined;
}
