import type { Kysely } from 'kysely';
import type { Clock } from '../std/clock.ts';
import { orAborted } from '../std/deadlines.ts';
import type { Log } from '../std/log.ts';
import type { Schema } from '../store/schema.ts';
import type { OutboxKind, OutboxRow } from '../store/schema-services.ts';
import { isWaiting, type Outbox } from './outbox.ts';

/** One way to send messages: makes one attempt for one message. */
export interface OutboxChannel {
  send(message: OutboxMessage, signal: AbortSignal): Promise<SendResult>;
}

export interface OutboxMessage {
  /** The same in every attempt. */
  readonly id: string;
  readonly topic: string;
  readonly accountId: string;
  readonly to: string;
  readonly payload: unknown;
}

export type SendResult =
  | { readonly kind: 'sent'; readonly status?: number | undefined }
  /** `isFinal`: another attempt cannot succeed. */
  | {
      readonly kind: 'failed';
      readonly reason: string;
      readonly status?: number | undefined;
      readonly isFinal?: boolean;
      /** The receiver asked to be left alone for so long. */
      readonly retryAfterMs?: number;
    };

interface SendAttempt {
  readonly at: number;
  readonly ms: number;
  /** The status of the answer, if there was one. */
  readonly status: number | null;
  /** Null: it arrived. */
  readonly error: string | null;
}

interface SenderParts {
  readonly db: Kysely<Schema>;
  readonly outbox: Outbox;
  /** A kind without a channel is not sent by this process. */
  readonly channels: Partial<Record<OutboxKind, OutboxChannel>>;
  readonly clock: Clock;
  readonly log: Log;
  /** From 0 to 1, for the jitter. */
  readonly random?: () => number;
}

/**
 * How many messages may be sent at once, and how many of them for one account. Receivers that fail or are slow have quotas
 * of their own, so that they delay no others.
 */
const SEND_QUOTAS = [
  { name: 'mail', kind: 'mail', atOnce: 4, perAccount: 2 },
  { name: 'prompt webhooks', kind: 'webhook', atOnce: 32, perAccount: 2 },
  { name: 'slow webhooks', kind: 'webhook', atOnce: 32, perAccount: 1 },
] as const;
type SendQuota = (typeof SEND_QUOTAS)[number];
const SLOW_QUOTA = SEND_QUOTAS[2];

/** An attempt that takes longer makes room for another, and its receiver counts as slow until it answers in time. */
const PROMPT_MS = 1_000;
/** Of all attempts under way; beyond them a slow one keeps its room. */
const MOST_SENDING = 256;
const MOST_SLOW = 1_000;
/** How many accounts are remembered that had their turn. */
const MOST_SERVED = 1_000;

/** Until when others leave a message alone that was taken; longer than an attempt may take. */
const LEASE_MS = 60_000;
export const SEND_TIMEOUT_MS = { mail: 30_000, webhook: 10_000 } as const;
/** A channel ends its attempt itself; one that does not is no longer waited for. */
const STUCK_MS = 5_000;
const LOOKED_AT = 100;
const MAX_ERROR = 300;

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
/** The pauses between attempts; there is one attempt more than there are pauses. */
const PAUSES_MS = {
  mail: [30 * SECOND, 2 * MINUTE, 10 * MINUTE, 30 * MINUTE, 2 * HOUR, 6 * HOUR, 12 * HOUR],
  webhook: [
    5 * SECOND,
    5 * MINUTE,
    30 * MINUTE,
    2 * HOUR,
    5 * HOUR,
    10 * HOUR,
    14 * HOUR,
    20 * HOUR,
    24 * HOUR,
  ],
} as const;
const JITTER = 0.2;

interface RunningAttempt {
  quota: SendQuota;
  readonly account: string;
  readonly done: Promise<void>;
}

/**
 * Sends what is due, the accounts in turns. Any number of processes may run one: the one that advances a message's `next_at` by
 * compare-and-set owns it until then, and if it dies, the others take over.
 */
export class OutboxSender {
  readonly #parts: SenderParts;
  /** Attempts under way, by destination: a receiver gets one message at a time. */
  readonly #running = new Map<string, RunningAttempt>();
  /** Destinations that have not answered in time, the longest known first. */
  readonly #slow = new Set<string>();
  /** For each quota, the accounts that had their turn, while others still wait for theirs. */
  readonly #served = new Map<SendQuota, Set<string>>();
  readonly #stopping = new AbortController();
  #passing: Promise<void> | undefined;
  #isPassWanted = false;

  constructor(parts: SenderParts) {
    this.#parts = parts;
  }

  /** Takes what is due, as far as the quotas allow, and does not wait until it is sent. */
  pass(): Promise<void> {
    this.#isPassWanted = true;
    this.#passing ??= this.#passWhileWanted();
    return this.#passing;
  }

  /**
   * Room may become free where the running pass has already looked: a pass that is asked for meanwhile follows it.
   */
  async #passWhileWanted(): Promise<void> {
    try {
      while (this.#isPassWanted && !this.#stopping.signal.aborted) {
        this.#isPassWanted = false;
        await this.#takeDue();
      }
    } finally {
      this.#passing = undefined;
    }
  }

  /** Resolves when nothing that is due is left that this process could send. */
  async idle(): Promise<void> {
    for (;;) {
      await this.pass();
      if (this.#running.size === 0) return;
      await Promise.all([...this.#running.values()].map(({ done }) => done));
    }
  }

  /** One attempt at once, whatever is due; `undefined`: somebody else has it, or it is finished. */
  async sendNow(id: string): Promise<SendAttempt | undefined> {
    const row = await this.#parts.db
      .selectFrom('outbox')
      .selectAll()
      .where('id', '=', id)
      .where(isWaiting)
      .executeTakeFirst();
    return row && (await this.#take(row)) ? await this.#attempt(row) : undefined;
  }

  /** Attempts under way are abandoned; their messages become due again. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#passing?.catch(() => undefined);
    await Promise.all([...this.#running.values()].map(({ done }) => done));
  }

  async #takeDue(): Promise<void> {
    for (const quota of SEND_QUOTAS) if (this.#parts.channels[quota.kind]) await this.#fillQuota(quota);
  }

  /**
   * What was looked at is left out of the next look: however many messages wait for one receiver or one account, those of
   * others are found behind them.
   */
  async #fillQuota(quota: SendQuota): Promise<void> {
    const served = this.#served.get(quota) ?? new Set<string>();
    this.#served.set(quota, served);
    const lookedAt = new Set<string>();
    while (this.#runningIn(quota).length < quota.atOnce && !this.#stopping.signal.aborted) {
      const rows = await this.#due(quota, { served, lookedAt });
      if (rows.length === 0 && served.size === 0) return;
      // Everybody who waits has had a turn: the next round begins.
      if (rows.length === 0 || served.size > MOST_SERVED) served.clear();
      for (const row of rows) {
        if (this.#runningIn(quota).length >= quota.atOnce) return;
        if (served.has(row.account_id) || this.#running.has(row.destination)) continue;
        lookedAt.add(row.destination);
        if (await this.#start(row, quota)) served.add(row.account_id);
      }
    }
  }

  #runningIn(quota: SendQuota): RunningAttempt[] {
    return [...this.#running.values()].filter((one) => one.quota === quota);
  }

  /** The accounts that use all that their quota allows. */
  #fullAccounts(quota: SendQuota): string[] {
    const running = Map.groupBy(this.#runningIn(quota), ({ account }) => account);
    return [...running].flatMap(([account, { length }]) => (length < quota.perAccount ? [] : [account]));
  }

  async #due(
    quota: SendQuota,
    { served, lookedAt }: { readonly served: Iterable<string>; readonly lookedAt: Iterable<string> },
  ): Promise<OutboxRow[]> {
    const { db, clock } = this.#parts;
    let query = db
      .selectFrom('outbox')
      .selectAll('outbox')
      .where('outbox.kind', '=', quota.kind)
      .where(isWaiting)
      .where('outbox.next_at', '<=', clock.now());
    const destinations = [...this.#running.keys(), ...lookedAt];
    if (destinations.length > 0) query = query.where('outbox.destination', 'not in', destinations);
    const accounts = [...this.#fullAccounts(quota), ...served];
    if (accounts.length > 0) query = query.where('outbox.account_id', 'not in', accounts);
    if (quota.kind === 'webhook') {
      const slow = [...this.#slow];
      query = query.leftJoin('webhook', 'webhook.id', 'outbox.destination').where((where) => {
        const isFailing = where('webhook.failing_since', 'is not', null);
        const isSlow =
          slow.length === 0 ? isFailing : where.or([isFailing, where('outbox.destination', 'in', slow)]);
        return quota === SLOW_QUOTA ? isSlow : where.not(isSlow);
      });
    }
    return await query.orderBy('outbox.next_at').limit(LOOKED_AT).execute();
  }

  /** False: another process has it. */
  async #start(row: OutboxRow, quota: SendQuota): Promise<boolean> {
    if (!(await this.#take(row))) return false;
    const { destination, account_id: account } = row;
    const startedAt = performance.now();
    const timer = setTimeout(() => this.#leaveQuota(destination), PROMPT_MS);
    const done = this.#attempt(row)
      .then(() => undefined)
      .catch((error: unknown) => this.#parts.log.error('outbox_attempt_failed', { message: row.id, error }))
      .finally(() => {
        clearTimeout(timer);
        this.#running.delete(destination);
        if (performance.now() - startedAt < PROMPT_MS) this.#slow.delete(destination);
        this.#passAgain();
      });
    this.#running.set(destination, { quota, account, done });
    return true;
  }

  /** A receiver that is slow now is expected to be slow the next time. */
  #leaveQuota(destination: string): void {
    const running = this.#running.get(destination);
    if (running?.quota.kind !== 'webhook') return;
    this.#slow.add(destination);
    const [longest] = this.#slow;
    if (this.#slow.size > MOST_SLOW && longest !== undefined) this.#slow.delete(longest);
    if (this.#running.size >= MOST_SENDING) return;
    running.quota = SLOW_QUOTA;
    this.#passAgain();
  }

  /** Free room may serve the next message; a failure is met again by the periodic pass. */
  #passAgain(): void {
    if (!this.#stopping.signal.aborted) void this.pass().catch(() => undefined);
  }

  async #take(row: OutboxRow): Promise<boolean> {
    const { db, clock } = this.#parts;
    const { numUpdatedRows } = await db
      .updateTable('outbox')
      .set({ attempts: row.attempts + 1, next_at: clock.now() + LEASE_MS })
      .where('id', '=', row.id)
      .where(isWaiting)
      .where('attempts', '=', row.attempts)
      .where('next_at', '=', row.next_at)
      .executeTakeFirstOrThrow();
    return numUpdatedRows === 1n;
  }

  async #attempt(row: OutboxRow): Promise<SendAttempt> {
    const { clock } = this.#parts;
    const at = clock.now();
    const startedAt = performance.now();
    const result = await this.#send(row, at);
    const attempt = {
      at,
      ms: Math.round(performance.now() - startedAt),
      status: result.status ?? null,
      error: result.kind === 'sent' ? null : result.reason.slice(0, MAX_ERROR),
    };
    await this.#finish(row, result, attempt);
    return attempt;
  }

  async #send(row: OutboxRow, now: number): Promise<SendResult> {
    const { outbox, channels } = this.#parts;
    const channel = channels[row.kind];
    const gone = (reason: string): SendResult => ({ kind: 'failed', reason, isFinal: true });
    if (!channel) return { kind: 'failed', reason: `${row.kind} is not configured` };
    if (row.attempts > PAUSES_MS[row.kind].length) return gone('the process stopped during the last attempt');
    if (row.attempts > 0 && row.expires_at <= now) return gone('too old');
    const payload = outbox.read(row);
    if (payload === undefined) return gone('the message was encrypted with another secret');
    const { id, topic, account_id: accountId, destination: to } = row;
    const stopping = this.#stopping.signal;
    const withinMs = SEND_TIMEOUT_MS[row.kind];
    const signal = AbortSignal.any([stopping, AbortSignal.timeout(withinMs)]);
    const limit = AbortSignal.any([stopping, AbortSignal.timeout(withinMs + STUCK_MS)]);
    try {
      const sending = channel.send({ id, topic, accountId, to, payload }, signal);
      return await orAborted(sending, limit);
    } catch (error) {
      if (signal.aborted) return { kind: 'failed', reason: abandonedReason(signal) };
      return { kind: 'failed', reason: error instanceof Error ? error.message : String(error) };
    }
  }

  /** What this process took is its own until the lease ends; a later attempt of another one is left alone. */
  async #finish(row: OutboxRow, result: SendResult, attempt: SendAttempt): Promise<void> {
    const { db, clock, log } = this.#parts;
    const now = clock.now();
    const history = JSON.stringify([...readAttempts(row), attempt]);
    const pauseMs = this.#pauseAfter(row, result);
    const askedMs = result.kind === 'failed' ? (result.retryAfterMs ?? 0) : 0;
    if (askedMs > 0) await this.#leaveAlone(row, now + askedMs);
    const isOver =
      result.kind === 'sent' ||
      result.isFinal === true ||
      pauseMs === undefined ||
      now + pauseMs > row.expires_at;
    const state = result.kind === 'sent' ? ('sent' as const) : ('failed' as const);
    await db
      .updateTable('outbox')
      .set(
        isOver
          ? { state, payload: null, finished_at: now, history }
          : { next_at: now + (pauseMs ?? 0), history },
      )
      .where('id', '=', row.id)
      .where(isWaiting)
      .where('attempts', '=', row.attempts + 1)
      .execute();
    if (isOver && state === 'failed')
      log.warn('outbox_message_given_up', { message: row.id, kind: row.kind, topic: row.topic });
  }

  /** It asks for all that waits for it: what is sent meanwhile would be refused too, and each has only so many attempts. */
  async #leaveAlone({ destination, id }: OutboxRow, until: number): Promise<void> {
    await this.#parts.db
      .updateTable('outbox')
      .set({ next_at: until })
      .where('destination', '=', destination)
      .where('id', '!=', id)
      .where(isWaiting)
      .where('next_at', '<', until)
      .execute();
  }

  #pauseAfter({ kind, attempts }: OutboxRow, result: SendResult): number | undefined {
    const pauseMs = PAUSES_MS[kind][attempts];
    if (pauseMs === undefined) return undefined;
    const { random = Math.random } = this.#parts;
    const asked = result.kind === 'failed' ? (result.retryAfterMs ?? 0) : 0;
    return Math.max(asked, Math.round(pauseMs * (1 - JITTER + 2 * JITTER * random())));
  }
}

export function readAttempts({ history }: Pick<OutboxRow, 'history'>): SendAttempt[] {
  return JSON.parse(history) as SendAttempt[];
}

/** Why an attempt was abandoned. */
export function abandonedReason(signal: AbortSignal): string {
  return hasTimedOut(signal) ? 'no answer in time' : 'the server stopped during the attempt';
}

export function hasTimedOut({ aborted, reason }: AbortSignal): boolean {
  return aborted && reason instanceof Error && reason.name === 'TimeoutError';
}
