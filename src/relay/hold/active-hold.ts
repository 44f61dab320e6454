import { CAP_BY, RETRY_OF } from '../../ledger/port.ts';
import type { Attempt, Ending, Ledger, Outcome, Progress, Settled } from '../../ledger/port.ts';
import { NO_USAGE, type Usage } from '../../ledger/price.ts';
import type { Clock } from '../../std/clock.ts';
import { Fault } from '../../std/fault.ts';
import type { RequestId } from '../../std/ids.ts';
import { stderrLog, type Log, type LogFields } from '../../std/log.ts';
import { recordEnd, requestLogFields, type RequestRecord } from '../../std/request-record.ts';
import { TransientMap } from '../../std/transient-map.ts';
import { AllAttemptsFailed, attemptTimeout } from '../attempts.ts';
import type { AnsweredAttempt, AttemptDeadline } from '../attempts.ts';
import { kindsWithoutPrice, tellCosts, withServedCost } from '../attempt-costs.ts';
import type {
  ActiveRequest,
  ActiveRequestSet,
  Call,
  HoldEnd,
  LoweredCap,
  RelayParts,
  RouteSelector,
} from '../call.ts';
import { withAskedSearches } from '../priced-options.ts';
import { outOfTouch } from '../stream/delivery.ts';
import type { MeteredUsage } from '../stream/reported-usage.ts';

/** The outcome of a request, for its receipt. */
export interface RequestResult extends Omit<AnsweredAttempt<unknown>, 'answer'> {
  readonly outcome: Outcome;
  readonly measured: MeteredUsage;
  /** The usage of the backend, where not all of it is charged. */
  readonly made?: MeteredUsage | undefined;
  readonly finishReason?: string | undefined;
  readonly fault?: Fault | undefined;
}

/** The hold of one running request, closed exactly once. A timer that all share checks the deadlines of its attempts. */
export class ActiveHold implements ActiveRequest, AttemptDeadline {
  readonly requestId: RequestId;
  readonly #parts: RelayParts;
  readonly #selector: RouteSelector;
  readonly #requestRecord: RequestRecord | undefined;
  readonly #connection: Call<unknown>['connection'];
  readonly #onClosed: Call<unknown>['onClosed'];
  readonly #retryOf: string | undefined;
  readonly #loweredCap: LoweredCap | undefined;
  readonly #streamed: boolean;
  #startedAt: number | undefined;
  #attempt: AbortController | undefined;
  #deadline = Number.POSITIVE_INFINITY;
  #cutBy: Fault | undefined;
  #isClosed = false;
  timedOut = false;

  constructor(call: Call<unknown>, parts: RelayParts, streamed = false, cap?: LoweredCap) {
    this.requestId = call.requestId;
    this.#parts = parts;
    this.#selector = call.selector;
    this.#requestRecord = call.requestRecord;
    if (call.requestRecord) call.requestRecord.isHeld = true;
    this.#connection = call.connection;
    this.#onClosed = call.onClosed;
    this.#retryOf = call.retryOf;
    this.#loweredCap = cap;
    this.#streamed = streamed;
  }

  /** Starts renewing the lease. */
  start(): void {
    this.#startedAt = this.#parts.clock.now();
    this.#parts.activeRequests.add(this, this.#requestRecord);
  }

  /** When a stream's client has left, no further backend is tried; a whole answer, already paid for, is awaited. */
  get isAbandoned(): boolean {
    return this.#cutBy !== undefined || (this.#streamed && this.#connection.hasLeft);
  }

  begin({ firstByteMs, totalMs }: Parameters<AttemptDeadline['begin']>[0]): AbortSignal {
    this.timedOut = false;
    // A whole answer has no first byte before it is finished.
    this.#deadline = this.#parts.clock.now() + (this.#streamed ? firstByteMs : totalMs);
    this.#attempt = new AbortController();
    if (this.isAbandoned) this.#attempt.abort();
    return this.#attempt.signal;
  }

  end(): void {
    this.#deadline = Number.POSITIVE_INFINITY;
  }

  tick(nowMs: number): void {
    if (nowMs < this.#deadline) return;
    this.timedOut = true;
    this.#attempt?.abort(attemptTimeout());
  }

  /** Ends the request because the process shuts down. */
  cut(fault: Fault): void {
    this.#cutBy = fault;
    this.#attempt?.abort(fault);
  }

  /** Leaves the hold open for another process, which goes on with the backend's job. */
  leave(fault: Fault): void {
    this.#isClosed = true;
    this.cut(fault);
    this.#quietly(() => this.#parts.activeRequests.remove(this.requestId));
  }

  delivered(): Usage {
    return NO_USAGE;
  }

  /** Runs `work` and releases the hold if it throws, unless the hold was settled already. */
  async voidOnFailure<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (thrown) {
      throw await this.releaseAfter(thrown);
    }
  }

  /** Charges what was used. `undefined`: the store is unavailable, and the charge follows later. */
  settle(ended: RequestResult): Promise<Settled | undefined> {
    const least = ended.quote?.leastWebSearches;
    const finish =
      least === undefined ? ended : { ...ended, measured: withAskedSearches(ended.measured, least) };
    const { outcome, measured, upstream, firstByteMs, finishReason, fault } = finish;
    const settlement = {
      outcome,
      upstream,
      attempts: this.#withNotes(this.#costedAttempts(finish), upstream),
      firstByteMs,
      finishReason,
      errorCode: fault?.code,
      durationMs: this.#age(),
      usage: measured.usage,
      source: measured.source,
    };
    return this.#close({ kind: 'settle', requestId: this.requestId, settlement });
  }

  /** Most models have no cost in the catalog, and most backends report none. */
  #costedAttempts({ attempts, measured, made = measured, quote }: RequestResult): readonly Attempt[] {
    if (!quote) return attempts;
    if (measured.usage.extra !== undefined) this.#tellUnpriced(measured, quote);
    const isKnown = made.cost !== undefined || quote.route.model.costs.size > 0;
    return isKnown ? withServedCost(attempts, made, quote) : attempts;
  }

  #tellUnpriced(measured: MeteredUsage, quote: NonNullable<RequestResult['quote']>): void {
    this.#quietly(() => {
      const kinds = kindsWithoutPrice(measured, quote);
      if (kinds.length > 0) this.#parts.log.warn('usage_without_price', { ...this.#fields(), kinds });
    });
  }

  /** Releases the hold unless it was settled already. Returns the error that the client gets. */
  async releaseAfter(thrown: unknown): Promise<unknown> {
    const attempts = thrown instanceof AllAttemptsFailed ? thrown.attempts : [];
    const fault = this.#cutBy ?? (thrown instanceof AllAttemptsFailed ? thrown.fault : thrown);
    await this.#release(this.#connection.hasLeft ? 'client_left' : 'upstream_failed', attempts, fault);
    return fault;
  }

  async #release(outcome: Outcome, attempts: readonly Attempt[], thrown: unknown): Promise<void> {
    const upstream = attempts.findLast(({ result }) => result !== 'skipped')?.upstream;
    const ending = {
      outcome,
      attempts: this.#withNotes(attempts, upstream),
      upstream,
      errorCode: thrown instanceof Fault ? thrown.code : 'internal_error',
      durationMs: this.#age(),
    };
    await this.#close({ kind: 'void', requestId: this.requestId, ending });
  }

  #close(close: HoldEnd): Promise<Settled | undefined> {
    if (this.#isClosed) return Promise.resolve(undefined);
    this.#isClosed = true;
    try {
      return closeHold(this.#parts.ledger, close).then(
        (settled) => this.#closed(close, settled),
        (thrown: unknown) => this.#notClosed(close, thrown),
      );
    } catch (thrown) {
      return Promise.resolve(this.#notClosed(close, thrown));
    }
  }

  #notClosed(close: HoldEnd, thrown: unknown): undefined {
    this.#closeLater(close, thrown);
    this.#closed(close, undefined);
  }

  #closed(close: HoldEnd, settled: Settled | undefined): Settled | undefined {
    try {
      this.#parts.activeRequests.remove(this.requestId);
    } catch (error) {
      this.#notTold(error);
    }
    this.#tellEnd(close, settled);
    if (this.#onClosed) this.#tellClosed(this.#onClosed, close, settled);
    return settled;
  }

  #tellClosed(
    tell: NonNullable<Call<unknown>['onClosed']>,
    close: HoldEnd,
    settled: Settled | undefined,
  ): void {
    this.#quietly(() => tell(close, settled));
  }

  /** `isLate`: the end was reported before, without its charge. */
  #tellEnd(close: HoldEnd, settled: Settled | undefined, isLate = false): void {
    const { code: endpoint, model } = this.#selector;
    const ending = close.kind === 'void' ? close.ending : close.settlement;
    const usage = close.kind === 'void' ? undefined : close.settlement.usage;
    const end = { endpoint, model, ending, usage, charged: settled?.charged };
    try {
      this.#parts.metrics[isLate ? 'chargedLater' : 'request'](end);
    } catch (error) {
      this.#notTold(error);
    }
    try {
      if (!isLate && this.#requestRecord) recordEnd(this.#requestRecord, end);
    } catch (error) {
      this.#notTold(error);
    }
    if (settled && settled.overrun > 0) this.#tellOverrun(settled);
    if (settled && ending.attempts.some(hasCost)) this.#tellCosts(ending, settled);
  }

  #tellOverrun({ overrun }: Settled): void {
    this.#quietly(() => this.#parts.metrics.overrun(overrun));
  }

  #tellCosts(ending: Ending, settled: Settled): void {
    this.#quietly(() => tellCosts(ending, settled, this.#parts, this.#fields()));
  }

  #fields(): LogFields {
    return this.#requestRecord ? requestLogFields(this.#requestRecord) : { request: this.requestId };
  }

  #closeLater(close: HoldEnd, thrown: unknown): void {
    const onClosed = (settled: Settled): void => this.#tellEnd(close, settled, true);
    this.#quietly(() => this.#parts.settlements.retryLater(close, thrown, this.#fields(), onClosed));
  }

  #withNotes(attempts: readonly Attempt[], upstream = ''): readonly Attempt[] {
    if (this.#retryOf === undefined && this.#loweredCap === undefined) return attempts;
    return [
      ...(this.#retryOf === undefined ? [] : [noteOf(upstream, `${RETRY_OF}${this.#retryOf}`)]),
      ...(this.#loweredCap === undefined ? [] : [noteOf(upstream, `${CAP_BY}${this.#loweredCap.reason}`)]),
      ...attempts,
    ];
  }

  /**
   * For reports about a request: their failure must neither keep a hold open nor spoil an answer that was paid for. A
   * function that calls this does nothing else: the variables that an inner function captures are allocated even where
   * that function is never made.
   */
  #quietly(tell: () => void): void {
    try {
      tell();
    } catch (error) {
      this.#notTold(error);
    }
  }

  #notTold(error: unknown): void {
    stderrLog.error('request_end_not_told', { ...this.#fields(), error });
  }

  #age(): number {
    if (this.#startedAt === undefined) return 0;
    try {
      return this.#parts.clock.now() - this.#startedAt;
    } catch (error) {
      this.#notTold(error);
      return 0;
    }
  }
}

function noteOf(upstream: string, reason: string): Attempt {
  return { upstream, result: 'skipped', reason, durationMs: 0 };
}

function hasCost({ cost }: Attempt): boolean {
  return cost !== undefined;
}

/** Closes the hold; one that is already closed stays as it is. */
export function closeHold(ledger: Ledger, end: HoldEnd): Promise<Settled> {
  return end.kind === 'settle'
    ? ledger.settle(end.requestId, end.settlement)
    : ledger.void(end.requestId, end.ending);
}

const TICK_MS = 250;
/** A lease is renewed at least this often, and often enough that one or two renewals may fail. */
const RENEW_MS = 10_000;
const RENEWALS_PER_LEASE = 4;
const RENEW_BATCH = 500;
/** What a backend has accepted is written when its request is this old: most are over before that. */
const ACCEPTED_MS = 1_000;
/** A count of the input that takes longer than this comes with the next renewal. */
const COUNT_WAIT_MS = 1_000;

interface ActiveRequestsOptions {
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly log: Log;
  readonly leaseMs: number;
  /** How long a request may live by its deadlines. */
  readonly longestMs: () => number;
  readonly requestSlots?: { ended(requestId: RequestId): void } | undefined;
}

/** How much later than its deadlines allow a request is ended from here. */
const OUTLIVED_MARGIN_MS = 10_000;

interface RunningRequest {
  request: ActiveRequest;
  readonly since: number;
  readonly requestRecord: RequestRecord | undefined;
  /** Whether the store knows that its backend has accepted it. */
  isWritten: boolean;
  outlived: boolean;
}

/** All requests between admission and settlement on this node: renews leases, checks deadlines, and can be drained. */
export class ActiveRequests implements ActiveRequestSet {
  readonly #ledger: Ledger;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #requests = new TransientMap<RequestId, RunningRequest>();
  readonly #longestMs: () => number;
  readonly #timer: Timer;
  readonly #renewMs: number;
  readonly #requestSlots: ActiveRequestsOptions['requestSlots'];
  #renewedAt: number;
  #idle: (() => void)[] = [];

  constructor({ ledger, clock, log, leaseMs, longestMs, requestSlots }: ActiveRequestsOptions) {
    this.#longestMs = longestMs;
    this.#requestSlots = requestSlots;
    this.#ledger = ledger;
    this.#clock = clock;
    this.#log = log;
    this.#renewMs = Math.min(RENEW_MS, leaseMs / RENEWALS_PER_LEASE);
    this.#renewedAt = clock.now();
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
  }

  add(request: ActiveRequest, requestRecord?: RequestRecord): void {
    // The delivery of a stream replaces the entry of its request: it is the same request.
    const before = this.#requests.get(request.requestId);
    if (before) before.request = request;
    else
      this.#requests.set(request.requestId, {
        request,
        since: this.#clock.now(),
        requestRecord,
        isWritten: false,
        outlived: false,
      });
  }

  remove(requestId: RequestId): void {
    this.#requests.delete(requestId);
    this.#requestSlots?.ended(requestId);
    if (this.#requests.size === 0) for (const wake of this.#idle.splice(0)) wake();
  }

  has(requestId: RequestId): boolean {
    return this.#requests.has(requestId);
  }

  get size(): number {
    return this.#requests.size;
  }

  /** The number of holds that a backend serves now, or is asked to serve. */
  countAt(upstream: string): number {
    return [...this.#requests.values()].filter(({ requestRecord }) => requestRecord?.upstream === upstream)
      .length;
  }

  /** Resolves when nothing is running any more, or after `graceMs`. */
  async idle(graceMs: number): Promise<boolean> {
    if (this.#requests.size === 0) return true;
    const empty = new Promise<true>((resolve) => this.#idle.push(() => resolve(true)));
    return await Promise.race([empty, Bun.sleep(graceMs).then(() => false)]);
  }

  cutAll(fault: Fault): void {
    for (const { request } of this.#requests.values()) request.cut(fault);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #tick(): void {
    try {
      this.#checkAll();
    } catch (error) {
      // The next one comes soon; without it, no lease would be renewed any more.
      this.#log.error('active_requests_not_checked', { error });
    }
  }

  #checkAll(): void {
    const nowMs = this.#clock.now();
    const oldest = nowMs - this.#longestMs() - OUTLIVED_MARGIN_MS;
    for (const one of this.#requests.values()) {
      one.request.tick(nowMs);
      if (one.since < oldest) this.#end(one, one.since < oldest - OUTLIVED_MARGIN_MS);
    }
    if (nowMs - this.#renewedAt >= this.#renewMs) {
      this.#renewedAt = nowMs;
      void this.#renew([...this.#requests.values()]);
    } else void this.#writeAccepted(nowMs);
  }

  /** From then on a crash costs neither the input nor what was delivered. */
  async #writeAccepted(nowMs: number): Promise<void> {
    const accepted = [...this.#requests.values()].filter(
      ({ isWritten, since, request }) => !isWritten && request.countInput && nowMs - since >= ACCEPTED_MS,
    );
    if (accepted.length === 0) return;
    for (const one of accepted) one.isWritten = true;
    // A count that fails leaves the input out, as far as it is not known by then.
    const counts = accepted.map(async ({ request }) => await request.countInput?.().catch(() => undefined));
    await Promise.race([Promise.all(counts), Bun.sleep(COUNT_WAIT_MS)]);
    await this.#renew(accepted.filter(({ request }) => this.#requests.has(request.requestId)));
  }

  /**
   * Its own deadlines should have ended it. If it does not end now either, its lease is no longer renewed, so that what was
   * delivered is charged and the rest released when that runs out.
   */
  #end(one: RunningRequest, isStuck: boolean): void {
    const { requestId } = one.request;
    if (!one.outlived) {
      one.outlived = true;
      this.#log.error('request_outlived_deadlines', { request: requestId });
      one.request.cut(new Fault('upstream_timeout', 'The backend did not answer in time. Try again later.'));
    } else if (isStuck) {
      this.#log.error('request_abandoned', { request: requestId });
      this.remove(requestId);
    }
  }

  /** A meter that fails must not cost the leases of the others. */
  #progressOf(request: ActiveRequest): Progress {
    const { requestId } = request;
    try {
      return { requestId, delivered: request.delivered() };
    } catch (error) {
      this.#log.error('progress_unknown', { request: requestId, error });
      return { requestId, delivered: NO_USAGE };
    }
  }

  /** A failed renewal is not repeated: the next one comes long before the lease ends. */
  async #renew(running: readonly RunningRequest[]): Promise<void> {
    const progress = running.map(({ request }) => this.#progressOf(request));
    try {
      for (let start = 0; start < progress.length; start += RENEW_BATCH) {
        const closed = await this.#ledger.renew(progress.slice(start, start + RENEW_BATCH));
        for (const requestId of closed) this.#endClosed(requestId);
      }
    } catch (error) {
      this.#log.warn('leases_not_renewed', { running: progress.length, error });
    }
  }

  /** This node was out of touch for longer than a lease: nobody would pay for what it still delivers. */
  #endClosed(requestId: RequestId): void {
    const running = this.#requests.get(requestId);
    if (!running) return;
    this.#log.error('request_lost_its_lease', { request: requestId });
    running.request.cut(outOfTouch());
  }
}
