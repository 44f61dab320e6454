import {
  placesFor,
  type Endpoint,
  type Model,
  type RequestForm,
  type Route,
  type UpstreamConfig,
} from '../catalog/catalog.ts';
import type { Attempt } from '../ledger/port.ts';
import { Fault } from '../std/fault.ts';
import type { AccountId } from '../std/ids.ts';
import { requestLogFields, type RequestRecord } from '../std/request-record.ts';
import type { TraceContext } from '../std/trace.ts';
import type { AttemptSpan } from '../std/access-log.ts';
import {
  connectionFailure,
  isServerError,
  mayBeBilled,
  UpstreamFailure,
  type FailureKind,
  type Upstream,
  type UpstreamImageCall,
  type UpstreamPermit,
  type UpstreamPool,
  type UpstreamTarget,
} from '../upstream/port.ts';
import { asPossiblyBilled, type CostTerms } from './attempt-costs.ts';
import type { Admitted } from './admission.ts';
import type { Call, Quote, RelayParts } from './call.ts';
import { untilTomorrowMs } from './daily-costs.ts';

/** The backend that answered, and the attempts before it. */
export interface AnsweredAttempt<Answer> {
  readonly answer: Answer;
  readonly upstream: string;
  readonly attempts: readonly Attempt[];
  /** The price of the request, and what it may cost. */
  readonly quote?: CostTerms | undefined;
  /** From the first attempt until this answer began. */
  readonly firstByteMs: number;
}

/** No backend answered: the error for the client, and the attempts for the receipt. */
export class AllAttemptsFailed extends Error {
  readonly fault: Fault;
  readonly attempts: readonly Attempt[];

  constructor(fault: Fault, attempts: readonly Attempt[]) {
    super(fault.message, { cause: fault.cause });
    this.fault = fault;
    this.attempts = attempts;
  }
}

/** The deadline of each attempt, and whether the client is still waiting. */
export interface AttemptDeadline {
  /** Starts the deadline of an attempt. The signal aborts it: on timeout, when the client left, or at shutdown. */
  begin(timeouts: UpstreamConfig['timeouts']): AbortSignal;
  /** The attempt succeeded or failed: clears the deadline. */
  end(): void;
  /** The deadline of the attempt passed. */
  readonly timedOut: boolean;
  readonly isAbandoned: boolean;
}

type AttemptCall<Answer> = (upstream: Upstream, attempt: AttemptOptions) => Promise<Answer>;

export interface AttemptOptions {
  /** The model's name at this backend. */
  readonly model: string;
  readonly form: RequestForm | undefined;
  readonly signal: AbortSignal;
  /** The client's trace, which the backend gets too. */
  readonly trace: TraceContext | undefined;
  /** The attempts before this one. */
  readonly earlier: readonly Attempt[];
  /** For images: called with the backend's own jobs. */
  readonly onJob?: UpstreamImageCall['onJob'];
  /** For images: whether the backend's job is cancelled when this process stops. */
  readonly endsWithProcess?: boolean | undefined;
}

/** At most this many attempts are made for one request, however many backends the catalog lists; skipped ones do not count. */
const MAX_ATTEMPTS = 4;
const RETRY_PAUSE_MS = { min: 20, jitter: 80 };

/**
 * Tries an endpoint's backends in order until one answers. A request is retried only here, while nothing has reached
 * the client yet. `callUpstream` must not resolve before the answer has proved to be one (the first event of a stream).
 */
export async function firstAnswer<One extends RoutedCall, Answer>(
  admitted: One,
  deadline: AttemptDeadline,
  backends: BackendCaller<One, Answer>,
): Promise<AnsweredAttempt<Answer>> {
  const { call, quote, admission, parts } = admitted;
  const { requestRecord } = call;
  const { route } = quote;
  const { accountId: account, output: outputCap } = admission;
  const startedAt = parts.clock.now();
  const log = new AttemptLog(quote, outputCap);
  let shortestWaitMs = Infinity;
  const names = candidates(route, account, parts.upstreams);
  for (let turn = 0; turn <= names.length; turn++) {
    const name = names[turn] ?? log.calledAlone();
    if (name === undefined || log.made === MAX_ATTEMPTS) break;
    const before = log.failedAt(name);
    if (before && !before.mayRepeat) continue;
    if (before) await Bun.sleep(before.pauseMs);
    const model = modelAt(route.model, name);
    const entry = entryOf({ upstream: name, model, account }, parts);
    if (entry.kind === 'skipped') {
      shortestWaitMs = Math.min(shortestWaitMs, entry.waitMs);
      log.skip(name, entry.reason);
      continue;
    }
    if (log.last && !(await mayTryAgain(parts.upstreams))) {
      // It may be a probe's permit: return it unused.
      entry.release();
      log.skip(name, 'retry_budget');
      break;
    }
    const { form, hidesReasoning, sizes } = route.model;
    if (requestRecord) requestRecord.upstream = name;
    const isSilent = hidesReasoning || sizes.length > 0;
    const span = requestRecord && parts.spans?.attempt(requestRecord, name, model);
    const begunAt = parts.clock.now();
    // The deadline of the attempt begins here.
    const signal = deadline.begin(timeoutsOf(entry, isSilent, parts));
    const trace = span ? span.trace : requestRecord?.trace;
    const options = { model, form, signal, trace, earlier: log.attempts };
    // As in `tryOne`; another asynchronous function here would cost every request several objects.
    let answer: Answer;
    try {
      answer = await backends.callUpstream(admitted, entry.upstream, options);
    } catch (thrown) {
      const called = { permit: entry, model, deadline, parts, requestRecord, span };
      const { record, failure } = failed(called, thrown, begunAt);
      if (before) await log.repeated(before);
      await log.addFailed(record, failure, entry);
      if (!failure.retryable || deadline.isAbandoned) break;
      continue;
    }
    const record = served(entry, deadline, parts, begunAt);
    if (before) await log.repeated(before);
    log.attempts.push(record);
    const firstByteMs = parts.clock.now() - startedAt;
    return { answer, upstream: name, attempts: log.attempts, quote, firstByteMs };
  }
  throw new AllAttemptsFailed(attemptFault(log.last, shortestWaitMs), log.attempts);
}

/** Whether a backend can be called now. */
function entryOf(
  target: UpstreamTarget,
  parts: RelayParts,
): UpstreamPermit | { readonly kind: 'skipped'; readonly reason: string; readonly waitMs: number } {
  if (hasSpentItsDay(target.upstream, parts))
    return { kind: 'skipped', reason: 'daily_cost_limit', waitMs: untilTomorrowMs(parts.clock.now()) };
  const permit = parts.upstreams.admit(target);
  return permit.kind === 'wait' ? { kind: 'skipped', reason: 'resting', waitMs: permit.waitMs } : permit;
}

/** A call that failed, and what that means for another one at the same backend. */
interface FailedCall {
  readonly mayRepeat: boolean;
  /** How long the backend wants to be left alone before that. */
  readonly pauseMs: number;
  readonly isServerError: boolean;
  /** Its index among the attempts. */
  readonly place: number;
}

/** The attempts of one request so far, with what those that failed may cost. */
class AttemptLog {
  readonly attempts: Attempt[] = [];
  /** The number of attempts that called a backend. */
  made = 0;
  last: UpstreamFailure | undefined;
  /** Made only when it is needed: most requests have no failed attempt. */
  #failed: Map<string, FailedCall> | undefined;
  readonly #quote: Quote;
  readonly #outputCap: number;

  constructor(quote: Quote, outputCap: number) {
    this.#quote = quote;
    this.#outputCap = outputCap;
  }

  failedAt(upstream: string): FailedCall | undefined {
    return this.#failed?.get(upstream);
  }

  /** Tried once more after all others. */
  calledAlone(): string | undefined {
    const [only, another] = this.attempts.filter(({ result }) => result !== 'skipped');
    return another ? undefined : only?.upstream;
  }

  skip(upstream: string, reason: string): void {
    this.attempts.push({ upstream, result: 'skipped', reason, durationMs: 0 });
  }

  async addFailed(record: Attempt, failure: UpstreamFailure, permit: UpstreamPermit): Promise<void> {
    this.made++;
    this.attempts.push(record);
    this.last = failure;
    const { upstream } = record;
    const place = this.attempts.length - 1;
    const isImage = this.#quote.ceiling.kind === 'images';
    const failed = (this.#failed ??= new Map());
    failed.set(upstream, {
      // No backend gets a request three times.
      mayRepeat: !failed.has(upstream) && mayRepeat(failure, { permit, isImage }),
      pauseMs: pauseAfter(failure, permit),
      isServerError: isServerError(failure.status),
      place,
    });
    if (mayBeBilled(failure)) await this.#book(place);
  }

  /** Counts a call that was made twice: the backend may have done the one that it answered with an error. */
  async repeated({ isServerError, place }: FailedCall): Promise<void> {
    if (isServerError) await this.#book(place);
  }

  async #book(place: number): Promise<void> {
    const record = this.attempts[place];
    if (record) this.attempts[place] = await asPossiblyBilled(record, this.#quote, this.#outputCap);
  }
}

function hasSpentItsDay(upstream: string, parts: RelayParts): boolean {
  const { dailyCosts, clock } = parts;
  const limit = dailyCosts && parts.catalog().upstreams.get(upstream)?.dailyCostLimit;
  return limit !== undefined && dailyCosts?.isSpent(upstream, limit, clock.now()) === true;
}

/** An admitted call: the route that it takes and what its attempts may cost are in its quote. */
interface RoutedCall {
  readonly call: Pick<Call<unknown>, 'requestRecord'>;
  readonly quote: Quote;
  /** The backend is told to stay within its output tokens of each choice. */
  readonly admission: Pick<Admitted, 'accountId' | 'output'>;
  readonly parts: RelayParts;
}

interface BackendCaller<One, Answer> {
  callUpstream(admitted: One, upstream: Upstream, attempt: AttemptOptions): Promise<Answer>;
}

/** An attempt that called its backend. */
interface CalledAttempt {
  readonly permit: UpstreamPermit;
  readonly model: string;
  readonly deadline: AttemptDeadline;
  readonly parts: RelayParts;
  readonly requestRecord?: RequestRecord | undefined;
  readonly span?: AttemptSpan | undefined;
}

interface PlannedAttempt extends CalledAttempt {
  readonly form: RequestForm | undefined;
  readonly isSilent: boolean;
  readonly earlier: readonly Attempt[];
}

interface FailedAttempt {
  readonly kind: 'failed';
  readonly failure: UpstreamFailure;
  readonly record: Attempt;
}

type AttemptOutcome<Answer> = { kind: 'served'; answer: Answer; record: Attempt } | FailedAttempt;

export async function tryOne<Answer>(
  planned: PlannedAttempt,
  attempt: AttemptCall<Answer>,
): Promise<AttemptOutcome<Answer>> {
  const { permit, model, form, isSilent, earlier, deadline, parts } = planned;
  const begunAt = parts.clock.now();
  const signal = deadline.begin(timeoutsOf(permit, isSilent, parts));
  try {
    const answer = await attempt(permit.upstream, { model, form, signal, trace: undefined, earlier });
    return { kind: 'served', answer, record: served(permit, deadline, parts, begunAt) };
  } catch (thrown) {
    return failed(planned, thrown, begunAt);
  }
}

function served(
  permit: UpstreamPermit,
  deadline: AttemptDeadline,
  parts: RelayParts,
  begunAt: number,
): Attempt {
  deadline.end();
  const durationMs = parts.clock.now() - begunAt;
  permit.report({ kind: 'ok', firstByteMs: durationMs });
  return { upstream: permit.upstream.name, result: 'served', durationMs };
}

function failed(called: CalledAttempt, thrown: unknown, begunAt: number): FailedAttempt {
  const { permit, deadline, parts, span } = called;
  deadline.end();
  const failure = deadline.timedOut ? attemptTimeout() : asFailure(thrown);
  report(called, failure);
  span?.failed(failure.kind, failure.status);
  const durationMs = parts.clock.now() - begunAt;
  const upstream = permit.upstream.name;
  return {
    kind: 'failed',
    failure,
    record: { upstream, result: 'failed', reason: failure.kind, durationMs },
  };
}

/** A model that reasons out of sight, or makes an image, may send nothing until it has finished that. */
function timeoutsOf(
  { upstream }: UpstreamPermit,
  isSilent: boolean,
  { upstreams }: RelayParts,
): UpstreamConfig['timeouts'] {
  const timeouts = upstreams.timeouts(upstream.name);
  return isSilent ? { ...timeouts, firstByteMs: timeouts.totalMs } : timeouts;
}

export function attemptTimeout(): UpstreamFailure {
  return new UpstreamFailure('timeout', 'no answer in time');
}

/** A client that left and an invalid request say nothing about the backend's health. */
function report(one: CalledAttempt, failure: UpstreamFailure): void {
  const { permit, model, deadline, parts, requestRecord } = one;
  const { kind, status, message, retryAfterMs, blameless } = failure;
  const detail = {
    ...(requestRecord && requestLogFields(requestRecord)),
    backend: permit.upstream.name,
    backend_model: model,
    kind,
    status,
    message,
  };
  const alarm = ALARM_EVENTS.get(kind);
  if (alarm !== undefined) parts.log.error(alarm.event, { ...detail, advice: alarm.advice });
  if (failure.isShortened) parts.log.info('backend_rejected_request', detail);
  if (deadline.isAbandoned || blameless) return permit.report({ kind: 'neutral' });
  permit.report({ kind: 'failed', reason: kind, cooldownMs: retryAfterMs });
  if (alarm === undefined) parts.log.warn('backend_attempt_failed', detail);
}

/** Failures that the operator must fix: other requests will fail the same way. */
const ALARM_EVENTS: ReadonlyMap<FailureKind, { readonly event: string; readonly advice?: string }> = new Map([
  ['unauthorized', { event: 'backend_key_rejected' }],
  [
    'out_of_credit',
    {
      event: 'backend_out_of_credit',
      advice: 'Your account at this provider has no credit left. Add funds there.',
    },
  ],
  ['forbidden', { event: 'backend_access_forbidden' }],
  ['not_found', { event: 'backend_model_not_found' }],
]);

/**
 * The same backend is tried twice only if it has not done the work: no connection, a refusal of the key where it has
 * others, or its own word that it could not. Otherwise it would bill both. An image may be made although its call failed.
 */
function mayRepeat(
  { kind, status, isOwnError, retryAfterMs = Infinity }: UpstreamFailure,
  { permit, isImage }: { readonly permit: UpstreamPermit; readonly isImage: boolean },
): boolean {
  if (kind === 'connect' || kind === 'overloaded') return true;
  if (permit.hasOtherKeys && REFUSED_KEYS.has(kind)) return true;
  if (isImage) return false;
  if (kind === 'rate_limited') return retryAfterMs < LONGEST_PAUSE_MS;
  return isOwnError && status !== undefined && PASSING_ERRORS.has(status);
}

const REFUSED_KEYS: ReadonlySet<FailureKind> = new Set(['rate_limited', 'unauthorized', 'out_of_credit']);
const PASSING_ERRORS: ReadonlySet<number> = new Set([500, 502, 503, 529]);
/** A client does not wait longer for a backend that is over its limit. */
const LONGEST_PAUSE_MS = 2_000;

function pauseAfter({ kind, retryAfterMs = 0 }: UpstreamFailure, { hasOtherKeys }: UpstreamPermit): number {
  return kind === 'rate_limited' && !hasOtherKeys ? retryAfterMs : 0;
}

async function mayTryAgain(pool: UpstreamPool): Promise<boolean> {
  if (!pool.mayRetry()) return false;
  await Bun.sleep(RETRY_PAUSE_MS.min + Math.random() * RETRY_PAUSE_MS.jitter);
  return true;
}

/** Places in order, weighted within a place. */
function candidates(route: Route, account: AccountId, pool: UpstreamPool): string[] {
  const sticky = route.endpoint.isSticky ? account : undefined;
  const found: string[] = [];
  for (const place of placesFor(route))
    for (const { upstream } of drawnByWeight(place, sticky)) if (pool.has(upstream)) found.push(upstream);
  return route.hasFallbacks === false ? found.slice(0, 1) : found;
}

type Place = Endpoint['places'][number];

function drawnByWeight(place: Place, sticky: AccountId | undefined): Place {
  return place.length === 1 ? place : shuffledByWeight(place, sticky);
}

function shuffledByWeight(place: Place, sticky: AccountId | undefined): Place {
  // Exponential keys: sorting by −ln(u)/weight draws without replacement in proportion to the weights.
  return place
    .map((one) => ({ one, key: -Math.log(1 - drawOf(one.upstream, sticky)) / one.weight }))
    .sort((a, b) => a.key - b.key)
    .map(({ one }) => one);
}

/** From 0 to below 1. By account it is the same on every node, and does not change with the other backends of the place. */
function drawOf(upstream: string, account: AccountId | undefined): number {
  return account === undefined ? Math.random() : Bun.hash.xxHash32(`${account} ${upstream}`) / 2 ** 32;
}

export function modelAt(model: Pick<Model, 'id' | 'upstreamModels'>, upstream: string): string {
  return model.upstreamModels.get(upstream) ?? model.id;
}

function asFailure(thrown: unknown): UpstreamFailure {
  if (thrown instanceof UpstreamFailure) return thrown;
  return connectionFailure(thrown);
}

const DEFAULT_RETRY_AFTER_MS = 2_000;

/** The error for the client. A backend's message is only logged, unless it rejected the client's own request. */
export function attemptFault(failure: UpstreamFailure | undefined, shortestWaitMs: number): Fault {
  if (!failure) {
    const retryAfterMs = Number.isFinite(shortestWaitMs) ? shortestWaitMs : DEFAULT_RETRY_AFTER_MS;
    return new Fault('upstream_error', 'No backend is available right now. Try again later.', {
      retryAfterMs,
    });
  }
  const options = { cause: failure, detail: failure.message };
  if (failure.kind === 'rejected') {
    const message = failure.publicMessage ?? 'The backend rejected the request.';
    // The whole text decides, although the customer may see less of it.
    const isLong = isTooLong(message) || isTooLong(failure.message);
    const code = isLong ? 'context_length_exceeded' : 'invalid_field';
    return new Fault(code, message, { ...options, param: failure.param });
  }
  const retryAfterMs = failure.retryAfterMs ?? DEFAULT_RETRY_AFTER_MS;
  if (failure.kind === 'overloaded') {
    const message = 'This server has too many connections open. Try again soon.';
    return new Fault('service_unavailable', message, { ...options, retryAfterMs });
  }
  if (failure.kind === 'timeout') {
    return new Fault('upstream_timeout', 'The backend did not answer in time. Try again later.', {
      ...options,
      retryAfterMs,
    });
  }
  return new Fault('upstream_error', 'The backend could not answer. Try again later.', {
    ...options,
    retryAfterMs,
  });
}

function isTooLong(message: string): boolean {
  return /context.?length|maximum context|too many tokens|prompt is too long/i.test(message);
}
