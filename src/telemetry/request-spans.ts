import {
  createTraceState,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace as traceApi,
  TraceFlags,
  type Attributes,
  type Context,
  type Span,
  type Tracer,
} from '@opentelemetry/api';
import type { IdGenerator } from '@opentelemetry/sdk-trace';
import type { AnsweredRequest, AttemptSpan, RequestSpans } from '../std/access-log.ts';
import { requestTime } from '../std/ids.ts';
import type { Log } from '../std/log.ts';
import { whenOver, type RequestEnd, type RequestRecord } from '../std/request-record.ts';
import type { TraceContext } from '../std/trace.ts';

/** The names that OpenTelemetry has for what the catalog says. */
export interface CatalogNames {
  /** `gen_ai.operation.name`; `undefined` for an endpoint that is not there any more. */
  operationOf(endpoint: string): string | undefined;
  /** `gen_ai.provider.name`. */
  providerOf(upstream: string): string | undefined;
}

interface RequestSpansOptions extends CatalogNames {
  readonly tracer: Tracer;
  /** The ids of the tracer. */
  readonly ids: TraceIds;
  readonly isSampled: (traceId: string, isParentSampled: boolean | undefined) => boolean;
  readonly passesTrace: boolean;
  readonly now: () => number;
  readonly log: Log;
}

/** Gives the next trace the id that was chosen before it was decided whether there is one. */
export class TraceIds implements IdGenerator {
  readonly #random: IdGenerator;
  next: string | undefined;

  constructor(random: IdGenerator) {
    this.#random = random;
  }

  generateTraceId(): string {
    return this.next ?? this.#random.generateTraceId();
  }

  generateSpanId(): string {
    return this.#random.generateSpanId();
  }
}

/**
 * One span for each request and one for each attempt at a backend, by the semantic conventions for HTTP and generative
 * AI (https://opentelemetry.io/docs/specs/semconv/gen-ai/), without any content.
 *
 * Whether a request is sampled follows from its ids alone, so nothing is made or remembered for one that is not.
 */
export class SampledRequestSpans implements RequestSpans {
  readonly #options: RequestSpansOptions;
  /** A request that is never told to be over takes its spans with it. */
  readonly #open = new WeakMap<RequestRecord, OpenRequest>();

  constructor(options: RequestSpansOptions) {
    this.#options = options;
  }

  attempt(requestRecord: RequestRecord, upstream: string, model: string): AttemptSpan | undefined {
    return this.#quietly(() => this.#begin(requestRecord, upstream, model));
  }

  #begin(requestRecord: RequestRecord, upstream: string, model: string): AttemptSpan | undefined {
    const open = this.#openFor(requestRecord);
    if (!open) return undefined;
    const { tracer, passesTrace, now } = this.#options;
    const span = tracer.startSpan(
      model,
      { kind: SpanKind.CLIENT, startTime: now() },
      traceApi.setSpan(ROOT_CONTEXT, open.span),
    );
    const attempt: OpenAttempt = { span, upstream, model, failure: undefined };
    open.attempts.push(attempt);
    return {
      trace: passesTrace ? traceFor(span, open.tracestate) : undefined,
      failed: (kind, status) => {
        attempt.failure = { kind, status, atMs: now() };
      },
    };
  }

  answered(requestRecord: RequestRecord, answer: AnsweredRequest): void {
    whenOver(requestRecord, () => this.#quietly(() => this.#end(requestRecord, answer)));
  }

  detached(requestRecord: RequestRecord): void {
    requestRecord.onEnd = () => this.#quietly(() => this.#end(requestRecord, undefined));
  }

  /** A mistake in a library must not fail the request that it watches. */
  #quietly<T>(work: () => T): T | undefined {
    try {
      return work();
    } catch (error) {
      this.#options.log.warn('telemetry_problem', { error });
      return undefined;
    }
  }

  #openFor(requestRecord: RequestRecord): OpenRequest | undefined {
    const known = this.#open.get(requestRecord);
    if (known) return known;
    const { tracer, ids, isSampled } = this.#options;
    const { requestId, trace } = requestRecord;
    const parent = trace && parentOf(trace);
    const traceId = parent?.traceId ?? traceIdOf(requestId);
    if (!isSampled(traceId, parent?.isSampled)) return undefined;
    ids.next = traceId;
    const span = tracer.startSpan(
      'request',
      { kind: SpanKind.SERVER, startTime: requestTime(requestId) },
      parent?.context ?? ROOT_CONTEXT,
    );
    const open = { span, tracestate: trace?.tracestate, attempts: [] };
    this.#open.set(requestRecord, open);
    return open;
  }

  #end(requestRecord: RequestRecord, answer: AnsweredRequest | undefined): void {
    const open = this.#openFor(requestRecord);
    if (!open) return;
    this.#open.delete(requestRecord);
    const operation =
      requestRecord.endpoint === undefined ? undefined : this.#options.operationOf(requestRecord.endpoint);
    const called = requestRecord.end?.ending.attempts.filter(({ result }) => result !== 'skipped') ?? [];
    for (const [place, attempt] of open.attempts.entries())
      this.#endAttempt(attempt, { operation, end: requestRecord.end, told: called[place] });
    const served = open.attempts.findLast(({ failure }) => failure === undefined);
    const { span } = open;
    span.updateName(answer ? `${answer.method} ${answer.path}` : 'image job');
    span.setAttributes({
      ...requestAttributes(requestRecord, answer),
      ...(operation === undefined ? {} : { 'gen_ai.operation.name': operation }),
      ...(served && { 'gen_ai.response.model': served.model, ...this.#provider(served.upstream) }),
    });
    const errorType = errorOf(requestRecord.end, answer);
    if (errorType !== undefined) span.setAttribute('error.type', errorType);
    // What a client did wrong is no error of this server.
    const isOurs = answer ? answer.status >= 500 : errorType !== undefined;
    if (isOurs || requestRecord.end?.ending.outcome === 'upstream_failed')
      span.setStatus({ code: SpanStatusCode.ERROR });
    span.end(this.#options.now());
  }

  #endAttempt(
    { span, upstream, model, failure }: OpenAttempt,
    { operation, end, told }: EndedRequest & { readonly told: EndedAttempt | undefined },
  ): void {
    if (operation !== undefined) span.updateName(`${operation} ${model}`);
    span.setAttributes({
      ...(operation === undefined ? {} : { 'gen_ai.operation.name': operation }),
      ...this.#provider(upstream),
      'gen_ai.request.model': model,
      'tollgate.backend': upstream,
      ...(told?.cost && { 'tollgate.cost_usd': usd(told.cost.amount) }),
    });
    if (failure) {
      span.setAttribute('error.type', failure.kind);
      if (failure.status !== undefined) span.setAttribute('http.response.status_code', failure.status);
      span.setStatus({ code: SpanStatusCode.ERROR });
    } else span.setAttributes(usageAttributes(end));
    span.end(failure?.atMs ?? this.#options.now());
  }

  #provider(upstream: string): Attributes {
    const provider = this.#options.providerOf(upstream);
    return provider === undefined ? {} : { 'gen_ai.provider.name': provider };
  }
}

interface OpenRequest {
  readonly span: Span;
  readonly tracestate: string | undefined;
  readonly attempts: OpenAttempt[];
}

interface OpenAttempt {
  readonly span: Span;
  readonly upstream: string;
  readonly model: string;
  failure: { readonly kind: string; readonly status: number | undefined; readonly atMs: number } | undefined;
}

type EndedAttempt = RequestEnd['ending']['attempts'][number];

interface EndedRequest {
  readonly operation: string | undefined;
  readonly end: RequestEnd | undefined;
}

function requestAttributes(record: RequestRecord, answer: AnsweredRequest | undefined): Attributes {
  const { requestId, clientRequestId, account, endpoint, model, end } = record;
  const costs = end?.ending.attempts.flatMap(({ cost }) => (cost ? [cost.amount] : [])) ?? [];
  return defined({
    'tollgate.request.id': requestId,
    'tollgate.request.client_id': clientRequestId,
    'tollgate.account.id': account,
    'tollgate.endpoint': endpoint,
    'tollgate.backend': end?.ending.upstream,
    'tollgate.outcome': end?.ending.outcome,
    'tollgate.first_byte_ms': end?.ending.firstByteMs,
    'tollgate.charged_usd': end?.charged === undefined ? undefined : usd(end.charged),
    'tollgate.cost_usd': costs.length === 0 ? undefined : usd(costs.reduce((sum, cost) => sum + cost, 0)),
    'gen_ai.request.model': model,
    'http.request.method': answer?.method,
    'http.route': answer?.path,
    'http.response.status_code': answer?.status,
    ...usageAttributes(end),
  });
}

function usageAttributes(end: RequestEnd | undefined): Attributes {
  if (!end?.usage) return {};
  return {
    'gen_ai.usage.input_tokens': end.usage.input,
    'gen_ai.usage.output_tokens': end.usage.output,
  };
}

function errorOf(end: RequestEnd | undefined, answer: AnsweredRequest | undefined): string | undefined {
  if (end?.ending.errorCode !== undefined) return end.ending.errorCode;
  return answer && answer.status >= 400 ? String(answer.status) : undefined;
}

function defined(attributes: Readonly<Record<string, Attributes[string]>>): Attributes {
  return Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined));
}

const NANO_PER_USD = 1_000_000_000;

function usd(nano: number): number {
  return nano / NANO_PER_USD;
}

/** A request without a trace has the same one wherever it is asked for: its id is as random as a trace's. */
function traceIdOf(requestId: string): string {
  const id = hex(Bun.hash.wyhash(requestId, 1n)) + hex(Bun.hash.wyhash(requestId, 2n));
  return /^0+$/.test(id) ? `${id.slice(1)}1` : id;
}

function hex(value: bigint): string {
  return value.toString(16).padStart(16, '0');
}

interface RemoteParent {
  readonly traceId: string;
  readonly isSampled: boolean;
  readonly context: Context;
}

/** The parts of a traceparent that was found valid. */
function parentOf({ traceparent, tracestate }: TraceContext): RemoteParent {
  const [, traceId = '', spanId = '', flags = '00'] = traceparent.split('-');
  const isSampled = (Number.parseInt(flags, 16) & TraceFlags.SAMPLED) !== 0;
  const context = traceApi.setSpanContext(ROOT_CONTEXT, {
    traceId,
    spanId,
    traceFlags: isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
    isRemote: true,
    ...(tracestate === undefined ? {} : { traceState: createTraceState(tracestate) }),
  });
  return { traceId, isSampled, context };
}

/** Spans are made for sampled requests only. */
function traceFor(span: Span, tracestate: string | undefined): TraceContext {
  const { traceId, spanId } = span.spanContext();
  return { traceparent: `00-${traceId}-${spanId}-01`, tracestate };
}
