import type { RateState } from '../ledger/port.ts';
import { RefusedRequest } from '../relay/admission.ts';
import type { AdmissionSummary } from '../relay/call.ts';
import { asFault, Fault } from '../std/fault.ts';
import type { RequestId } from '../std/ids.ts';
import type { Log } from '../std/log.ts';
import { formatUsd, type NanoUsd } from '../std/money.ts';
import { requestLogFields, type RequestRecord } from '../std/request-record.ts';
import { ShedFault } from '../std/request-slots.ts';
import { faultBody } from '../wire/fault-body.ts';

type HeaderMap = Record<string, string>;

/** How the errors of some routes look. */
export interface ErrorFormat {
  body(fault: Fault, requestId: string): unknown;
  headers(requestId: string): HeaderMap;
  status(fault: Fault): number;
}

/** Errors of the public API, in the shape of a dialect. */
export function apiErrors(body: ErrorFormat['body']): ErrorFormat {
  return { body, headers: baseHeaders, status: ({ status }) => status };
}

/** The spec's, which are also OpenAI's. */
export const PLAIN_ERRORS = apiErrors(faultBody);

/** The headers of every answer of the public routes. */
export function baseHeaders(requestId: string): HeaderMap {
  return {
    'x-request-id': requestId,
    'request-id': requestId,
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'access-control-allow-origin': '*',
    'access-control-expose-headers': '*',
  };
}

export function json(value: unknown, requestId: string, more: HeaderMap = {}, status = 200): Response {
  const headers = { ...baseHeaders(requestId), 'content-type': 'application/json', ...more };
  return new Response(typeof value === 'string' ? value : JSON.stringify(value), { status, headers });
}

/** The path is there and does not take the method. */
export class MethodFault extends Fault {
  readonly allowed: readonly string[];

  constructor(allowed: readonly string[]) {
    const listed = allowed.filter((method) => method !== 'HEAD' && method !== 'OPTIONS');
    super('method_not_allowed', `This path takes ${listed.join(', ')}.`);
    this.allowed = allowed;
  }
}

/** The only place where a fault becomes a response. Our own errors are logged, a client's are not. */
export function faultResponse(
  thrown: unknown,
  requestRecord: RequestRecord | RequestId,
  log: Log,
  format: ErrorFormat = PLAIN_ERRORS,
): Response {
  const fault = asFault(thrown);
  const requestId = typeof requestRecord === 'string' ? requestRecord : requestRecord.requestId;
  // Thousands a second may be shed; their number is a metric.
  const isShed = fault instanceof ShedFault;
  if (fault.status >= 500 && !isShed) {
    log.error('request_failed', {
      ...(typeof requestRecord === 'string' ? { request: requestRecord } : requestLogFields(requestRecord)),
      code: fault.code,
      detail: fault.detail,
      cause: fault.cause,
    });
  }
  const headers = {
    ...format.headers(requestId),
    'content-type': 'application/json',
    ...(fault instanceof RefusedRequest && fault.rate ? rateHeaders(fault.rate) : {}),
    ...(fault instanceof MethodFault ? { allow: fault.allowed.join(', ') } : {}),
    ...retryHeaders(fault),
    ...(fault.code === 'request_too_large' || isShed ? CLOSE_CONNECTION : {}),
  };
  return new Response(JSON.stringify(format.body(fault, requestId)), {
    status: format.status(fault),
    headers,
  });
}

/** Otherwise the connection would receive the rest of a body that is too large, or keep a file of a full server. */
const CLOSE_CONNECTION: HeaderMap = { connection: 'close' };

/**
 * Some clients retry these unless they are told not to: the Claude Agent SDK retries a 401 for minutes. A 400, 404 or
 * 405 needs no header: the SDKs of OpenAI and Anthropic retry only 408, 409, 429 and 5xx.
 */
const NOT_RETRYABLE: ReadonlySet<number> = new Set([401, 402]);

/**
 * `Retry-After` in whole seconds, rounded up; a finer header for the SDKs that read it. A 402 has it only if waiting
 * helps: clients must not retry on an empty balance.
 */
function retryHeaders(fault: Fault): HeaderMap {
  const { retryAfterMs } = fault;
  if (retryAfterMs === undefined) return NOT_RETRYABLE.has(fault.status) ? { 'x-should-retry': 'false' } : {};
  const waitMs = Math.max(1, Math.ceil(retryAfterMs));
  return { 'retry-after': String(Math.ceil(waitMs / 1000)), 'retry-after-ms': String(waitMs) };
}

/** OpenAI's names for its clients, the IETF draft's for all others. */
export function rateHeaders(rate: RateState): HeaderMap {
  return {
    'x-ratelimit-limit-requests': String(rate.limit),
    'x-ratelimit-remaining-requests': String(rate.remaining),
    'x-ratelimit-reset-requests': duration(rate.resetMs),
    'ratelimit-policy': limitTexts(rate.limit).policy,
    ratelimit: rateText(rate),
  };
}

/** A JSON answer to an admitted request, with its cost. A string is taken as JSON already. */
export function paidAnswer(value: unknown, summary: AdmissionSummary, charged?: NanoUsd): Response {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return admittedResponse(text, JSON_ANSWER, summary, charged);
}

/** An answer to an admitted request as server-sent events. No proxy may buffer or compress it. */
export function eventStreamAnswer(body: ReadableStream<Uint8Array>, summary: AdmissionSummary): Response {
  return admittedResponse(body, EVENT_STREAM, summary);
}

/** The same, before it is known whether the request is admitted. */
export function earlyEventStream(body: ReadableStream<Uint8Array>, requestId: string): Response {
  const response = new Response(body, EVENT_STREAM);
  setRequestId(response.headers, requestId);
  return response;
}

/** The headers that all such answers share. The runtime copies a finished set, which costs a tenth of making one. */
const JSON_ANSWER = { headers: new Headers({ ...baseHeaders(''), 'content-type': 'application/json' }) };
const EVENT_STREAM = {
  headers: new Headers({
    ...baseHeaders(''),
    'content-type': 'text/event-stream; charset=utf-8',
    'x-accel-buffering': 'no',
  }),
};

/** Set on the finished answer: a constructor that gets headers copies all of them. */
function admittedResponse(
  body: string | ReadableStream<Uint8Array>,
  common: ResponseInit,
  summary: AdmissionSummary,
  charged?: NanoUsd,
): Response {
  const response = new Response(body, common);
  const { headers } = response;
  const { rate } = summary;
  const limit = limitTexts(rate.limit);
  setRequestId(headers, summary.requestId);
  headers.set('x-ratelimit-limit-requests', limit.requests);
  headers.set('x-ratelimit-remaining-requests', String(rate.remaining));
  headers.set('x-ratelimit-reset-requests', duration(rate.resetMs));
  headers.set('ratelimit-policy', limit.policy);
  headers.set('ratelimit', rateText(rate));
  headers.set('x-tollgate-endpoint', summary.endpoint);
  headers.set('x-tollgate-held', formatUsd(summary.held));
  if (charged !== undefined) headers.set('x-tollgate-cost', formatUsd(charged));
  if (summary.dropped !== undefined) headers.set('x-tollgate-dropped', summary.dropped);
  if (summary.budgetLeft !== undefined)
    headers.set('x-tollgate-budget-remaining-usd', formatUsd(summary.budgetLeft));
  if (summary.loweredCap !== undefined) {
    headers.set('x-tollgate-max-tokens', String(summary.loweredCap.output));
    headers.set('x-tollgate-cap-reason', summary.loweredCap.reason);
  }
  return response;
}

function setRequestId(headers: Headers, requestId: string): void {
  headers.set('x-request-id', requestId);
  headers.set('request-id', requestId);
}

let latestLimit = { limit: -1, requests: '', policy: '' };

/** Nearly all accounts have the same limit. */
function limitTexts(limit: number): typeof latestLimit {
  if (limit !== latestLimit.limit)
    latestLimit = { limit, requests: String(limit), policy: `"requests";q=${limit};w=60` };
  return latestLimit;
}

function rateText({ remaining, resetMs }: RateState): string {
  return `"requests";r=${remaining};t=${Math.ceil(resetMs / 1000)}`;
}

/** OpenAI's durations: 12ms, 1.5s, 6m0s. */
function duration(ms: number): string {
  if (ms < 1000) return `${ms}ms`;
  if (ms < 60_000) return `${ms / 1000}s`;
  return `${Math.floor(ms / 60_000)}m${Math.round((ms % 60_000) / 1000)}s`;
}

/** Something that is stored and sent as it is. */
interface StoredFile {
  /** In bytes. */
  readonly size: number;
  /** `undefined`: it is gone. */
  body(): Promise<Blob | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | undefined>;
}

/**
 * Answers with what is stored, at the reader's pace; `undefined` if it is gone. The length is told where Bun can: with a
 * stream as its body an answer is sent in chunks, except to HEAD.
 */
export async function storedFileAnswer(
  file: StoredFile,
  { method }: Request,
  headers: Readonly<Record<string, string>>,
): Promise<Response | undefined> {
  const body = await file.body();
  return (
    body &&
    new Response(method === 'HEAD' ? null : body, {
      headers: { ...headers, 'content-length': String(file.size) },
    })
  );
}
