import type { RateState } from '../ledger/port.ts';
import { Refusal } from '../relay/admission.ts';
import type { Terms } from '../relay/call.ts';
import { asFault, type Fault } from '../std/fault.ts';
import type { Log } from '../std/log.ts';
import { formatUsd, type NanoUsd } from '../std/money.ts';
import { faultBody } from '../wire/faults.ts';

export type HeaderMap = Record<string, string>;

/** How a dialect words an error. The public one is the spec's. */
export type FaultShape = (fault: Fault, requestId: string) => unknown;

/** On every answer of the public routes. */
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

/** An answer whose headers are complete but for their type. */
export function jsonUnder(headers: HeaderMap, text: string): Response {
  headers['content-type'] = 'application/json';
  return new Response(text, { headers });
}

export function json(value: unknown, requestId: string, more: HeaderMap = {}, status = 200): Response {
  const headers = { ...baseHeaders(requestId), 'content-type': 'application/json', ...more };
  return new Response(typeof value === 'string' ? value : JSON.stringify(value), { status, headers });
}

/** The one place where a fault becomes a response. What is ours to mend is logged; a client's mistake is not news. */
export function faultResponse(
  thrown: unknown,
  requestId: string,
  log: Log,
  shape: FaultShape = faultBody,
): Response {
  const fault = asFault(thrown);
  if (fault.status >= 500) {
    log.error('request failed', {
      request: requestId,
      code: fault.code,
      detail: fault.detail,
      cause: fault.cause,
    });
  }
  const rate = fault instanceof Refusal && fault.rate ? rateHeaders(fault.rate) : {};
  const headers = { ...rate, ...retryHeaders(fault), ...(fault.code === 'request_too_large' ? HANG_UP : {}) };
  return json(shape(fault, requestId), requestId, headers, fault.status);
}

/** The rest of what is too large is not wanted: left open, the connection would take it to the last byte. */
const HANG_UP: HeaderMap = { connection: 'close' };

/**
 * `Retry-After` in whole seconds, never less than the truth; the finer header for the SDKs that read it. A 402 is told
 * apart from a 429 by what waiting would change: clients must not retry an empty balance.
 */
function retryHeaders(fault: Fault): HeaderMap {
  const { retryAfterMs } = fault;
  if (retryAfterMs === undefined) return fault.status === 402 ? { 'x-should-retry': 'false' } : {};
  const waitMs = Math.max(1, Math.ceil(retryAfterMs));
  return { 'retry-after': String(Math.ceil(waitMs / 1000)), 'retry-after-ms': String(waitMs) };
}

export function rateHeaders(rate: RateState): HeaderMap {
  const headers: HeaderMap = {};
  addRate(headers, rate);
  return headers;
}

/** OpenAI's names for its clients, the IETF draft's for everybody else. */
function addRate(headers: HeaderMap, { limit, remaining, resetMs }: RateState): void {
  headers['x-ratelimit-limit-requests'] = String(limit);
  headers['x-ratelimit-remaining-requests'] = String(remaining);
  headers['x-ratelimit-reset-requests'] = duration(resetMs);
  headers['ratelimit-policy'] = `"requests";q=${limit};w=60`;
  headers['ratelimit'] = `"requests";r=${remaining};t=${Math.ceil(resetMs / 1000)}`;
}

/** The headers of an answer that was admitted and may have cost something. */
export function termHeaders(terms: Terms, charged?: NanoUsd): HeaderMap {
  // Filled in place: merging four small objects was a good part of the cost of an answer.
  const headers = baseHeaders(terms.requestId);
  addRate(headers, terms.rate);
  headers['x-tollgate-endpoint'] = terms.endpoint;
  headers['x-tollgate-held'] = formatUsd(terms.held);
  if (charged !== undefined) headers['x-tollgate-cost'] = formatUsd(charged);
  if (terms.loweredCap !== undefined) headers['x-tollgate-max-tokens'] = String(terms.loweredCap);
  return headers;
}

/** OpenAI's durations: 12ms, 1.5s, 6m0s. */
function duration(ms: number): string {
  if (ms < 1000) return `${ms}ms`;
  if (ms < 60_000) return `${ms / 1000}s`;
  return `${Math.floor(ms / 60_000)}m${Math.round((ms % 60_000) / 1000)}s`;
}
