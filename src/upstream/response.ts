import { readBounded } from '../std/bounded-body.ts';
import { redact } from '../std/log.ts';
import { UpstreamFailure, type FailureKind } from './port.ts';

export function answerTooLarge(size: string): UpstreamFailure {
  return new UpstreamFailure('protocol', `an answer of ${size} is too large`);
}

/**
 * An answer in an encoding that was not asked for. It is not decompressed (`decompress: false`): nine megabytes may
 * become nine hundred.
 */
export function isEncoded({ headers }: Response): boolean {
  const encoding = headers.get('content-encoding');
  return encoding !== null && encoding !== '' && encoding.toLowerCase() !== 'identity';
}

export async function refuseEncoded(response: Response): Promise<void> {
  if (!isEncoded(response)) return;
  await response.body?.cancel();
  throw new UpstreamFailure('protocol', 'the answer is in an encoding that was not asked for', {
    status: response.status,
  });
}

const MAX_ERROR_BYTES = 65_536;
const MAX_RETRY_AFTER_MS = 120_000;

/**
 * Why a backend refused. Its message is logged; only that of a rejected request reaches the client, without keys and
 * addresses.
 */
export async function failureOf(response: Response): Promise<UpstreamFailure> {
  const { status } = response;
  const kind = kindOf(status);
  const told = await errorOf(response);
  const message = redact(told.message);
  const retryAfterMs = retryAfter(response.headers);
  return new UpstreamFailure(kind, `status ${status}: ${message}`, {
    status,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    ...(kind === 'rejected' ? { publicMessage: redactMessage(message), param: told.param } : {}),
  });
}

export function kindOf(status: number): FailureKind {
  const known = KINDS.get(status);
  if (known) return known;
  return status < 400 ? 'protocol' : 'server';
}

const KINDS: ReadonlyMap<number, FailureKind> = new Map([
  [400, 'rejected'],
  [401, 'unauthorized'],
  // Our key may not use this model, or this content is not allowed.
  [403, 'forbidden'],
  // The catalog has a wrong model or address, or something that the request names does not exist.
  [404, 'not_found'],
  [408, 'timeout'],
  [409, 'rejected'],
  [413, 'rejected'],
  [415, 'rejected'],
  [422, 'rejected'],
  [429, 'rate_limited'],
  [504, 'timeout'],
]);

/** The part of a backend's error message about a request that its client may read. */
export function redactMessage(message: string): string {
  const plain = redact(message)
    .replace(/https?:\/\/\S+/gi, '‹address›')
    .replace(/\b(?:org|proj|acct|key)[-_][A-Za-z0-9]{6,}/g, '‹id›')
    .replace(/[\p{Cc}\p{Cf}]+/gu, ' ')
    .trim();
  return plain === '' ? 'The backend rejected the request.' : plain.slice(0, 500);
}

export function retryAfter(headers: Headers): number | undefined {
  const ms = Number(headers.get('retry-after-ms') ?? Number.NaN);
  const seconds = Number(headers.get('retry-after') ?? Number.NaN);
  const wait = Number.isFinite(ms) ? ms : seconds * 1000;
  return Number.isFinite(wait) && wait > 0 ? Math.min(wait, MAX_RETRY_AFTER_MS) : undefined;
}

interface ToldError {
  readonly message: string;
  readonly param?: string | undefined;
}

async function errorOf(response: Response): Promise<ToldError> {
  if (isEncoded(response)) {
    await response.body?.cancel();
    return { message: response.statusText };
  }
  let text: string;
  try {
    text = new TextDecoder().decode(await readBounded(response, MAX_ERROR_BYTES, answerTooLarge));
  } catch {
    // An error page that is too large or cut off tells no more than its status.
    return { message: response.statusText };
  }
  try {
    const parsed = JSON.parse(text) as { error?: TextOrError; message?: unknown; param?: unknown };
    const { message, param } =
      typeof parsed.error === 'object'
        ? parsed.error
        : { message: parsed.error ?? parsed.message, param: parsed.param };
    if (typeof message === 'string') return { message, param: paramOf(param) };
    return checkedError(message ?? parsed) ?? { message: text.slice(0, 500), param: paramOf(param) };
  } catch {
    // HTML or plain text: for the log only.
    return { message: text.slice(0, 500) };
  }
}

/** Servers that check with pydantic tell a list: `{ detail: [{ loc: ['body', 'user'], msg: 'Extra inputs …' }] }`. */
function checkedError(told: unknown): ToldError | undefined {
  const { detail } = typeof told === 'object' && told !== null ? (told as { detail?: unknown }) : {};
  if (!Array.isArray(detail)) return undefined;
  const errors = detail.map(({ loc, msg }: { loc?: unknown; msg?: unknown }) => ({
    field: Array.isArray(loc) ? loc.filter((part) => part !== 'body').join('.') : '',
    message: typeof msg === 'string' ? msg : '',
  }));
  if (errors.length === 0 || errors.some(({ message }) => message === '')) return undefined;
  return {
    message: errors.map(({ field, message }) => (field === '' ? message : `${field}: ${message}`)).join('; '),
    param: paramOf(errors[0]?.field),
  };
}

type TextOrError = { message?: unknown; param?: unknown } | string;

/** The name or path of a field, such as `messages[1].content[0].image_url`. */
const FIELD_PATH = /^[\w.[\]-]{1,200}$/;

export function paramOf(value: unknown): string | undefined {
  return typeof value === 'string' && FIELD_PATH.test(value) ? value : undefined;
}
