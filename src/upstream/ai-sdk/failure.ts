import { APICallError, UnsupportedFunctionalityError } from '@ai-sdk/provider';
import { redact } from '../../std/log.ts';
import { type FailureKind, UpstreamFailure } from '../port.ts';
import {
  isOperatorProblem,
  isOutOfCredit,
  kindOf,
  paramOf,
  isOwnError,
  readError,
  rejected,
  retryAfter,
  type ToldError,
} from '../response.ts';
import { isObject, parseObject } from './json.ts';

/**
 * What went wrong in a call, as the relay understands it. Our own failures pass through however deep an AI SDK package
 * wrapped them; a status decides the kind; a backend's message reaches the client only for a request that the client
 * can correct.
 */
export function asFailure(thrown: unknown, secrets: readonly string[]): UpstreamFailure {
  const ours = findInCauses(thrown, (error) => error instanceof UpstreamFailure);
  if (ours instanceof UpstreamFailure) return ours;
  const unsupported = findInCauses(thrown, (error) => UnsupportedFunctionalityError.isInstance(error));
  if (unsupported instanceof Error)
    return rejected(redactSecrets(`This model cannot do that: ${unsupported.message}`, secrets));
  const call = findInCauses(thrown, (error) => statusOf(error) !== undefined);
  if (call instanceof Error) return fromStatus(call, secrets);
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return new UpstreamFailure('protocol', redactSecrets(message, secrets), { cause: thrown });
}

/** An error event in a stream is a plain object; its status decides like that of a response. */
export function asError(reported: unknown): Error {
  if (reported instanceof Error) return reported;
  if (!isObject(reported)) return new Error(String(reported));
  const message = typeof reported.message === 'string' ? reported.message : JSON.stringify(reported);
  return Object.assign(new Error(message), { statusCode: reported.statusCode });
}

function fromStatus(error: Error, secrets: readonly string[]): UpstreamFailure {
  const status = statusOf(error) ?? 500;
  const told = toldBy(error);
  const message = redactSecrets(told.message, secrets);
  const kind = kindOfError(status, { ...told, message });
  const retryAfterMs = kind === 'rejected' ? undefined : waitMs(error);
  return new UpstreamFailure(kind, `status ${status}: ${message}`, {
    status,
    cause: error,
    // A package has `data` where it knew the shape of its provider's error.
    isOwnError: isOwnError(told) || (APICallError.isInstance(error) && error.data !== undefined),
    ...(kind === 'rejected' && { publicMessage: message, param: told.param }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  });
}

function kindOfError(status: number, told: ToldError): FailureKind {
  if (isOutOfCredit(status, told)) return 'out_of_credit';
  const kind = kindOf(status);
  if (kind === 'rejected' && isOperatorProblem(told.message)) return 'unauthorized';
  // A 200 with a body that the package could not read.
  return status < 400 ? 'protocol' : kind;
}

/** AI SDK packages throw call errors for responses, and plain objects with the same field for events in a stream. */
function statusOf(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('statusCode' in error)) return undefined;
  return typeof error.statusCode === 'number' ? error.statusCode : undefined;
}

/** A package that does not know the shape of an error has no more than the status to tell. */
function toldBy(error: Error): ToldError {
  const json = bodyOf(error);
  if (json && APICallError.isInstance(error) && error.data === undefined)
    return readError(error.responseBody ?? '');
  return {
    message: error.message,
    param: paramOf(isObject(json?.error) ? json.error.param : json?.param),
    json,
  };
}

function bodyOf(error: Error): Record<string, unknown> | undefined {
  if (!APICallError.isInstance(error) || error.responseBody === undefined) return undefined;
  return parseObject(error.responseBody);
}

function waitMs(error: Error): number | undefined {
  if (!APICallError.isInstance(error)) return undefined;
  return retryAfter(new Headers(error.responseHeaders)) ?? retryDelayInBody(error.responseBody);
}

/** Backends with RPC errors put the delay in the body: `details: [{ retryDelay: "17s" }]`. */
function retryDelayInBody(body: string | undefined): number | undefined {
  const error = body === undefined ? undefined : parseObject(body)?.error;
  if (!isObject(error) || !Array.isArray(error.details)) return undefined;
  for (const detail of error.details) {
    const seconds =
      isObject(detail) && typeof detail.retryDelay === 'string'
        ? /^(\d+(?:\.\d+)?)s$/.exec(detail.retryDelay)?.[1]
        : undefined;
    if (seconds !== undefined) return retryAfter(new Headers({ 'retry-after': seconds }));
  }
  return undefined;
}

const MAX_DEPTH = 8;

function findInCauses(thrown: unknown, wanted: (error: unknown) => boolean): unknown {
  let error = thrown;
  for (let depth = 0; depth < MAX_DEPTH && error instanceof Error; depth++) {
    if (wanted(error)) return error;
    error = error.cause;
  }
  return undefined;
}

/** A backend's message without the configured secrets and the operator's resource names. */
function redactSecrets(text: string, secrets: readonly string[]): string {
  let clean = text;
  for (const secret of secrets) {
    if (secret.length >= MIN_SECRET_LENGTH) clean = clean.replaceAll(secret, HIDDEN);
  }
  return redact(clean.replace(/\barn:[^\s"',)]+/g, HIDDEN).replace(/\b[A-Za-z0-9_-]{40,}\b/g, HIDDEN));
}

const HIDDEN = '‹removed›';
/** Shorter values are settings like `eu`, and removing them would damage ordinary words. */
const MIN_SECRET_LENGTH = 6;
