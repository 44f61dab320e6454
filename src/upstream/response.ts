import { isEncoded, readBytes } from '../std/json-answer.ts';
import { parseJsonAtOnce } from '../std/json-parse.ts';
import { EVENT_LIMITS } from '../std/json-scan.ts';
import { redact } from '../std/log.ts';
import { ERROR_ANSWER } from './answer-rules.ts';
import { UpstreamFailure, type FailureKind } from './port.ts';

export async function refuseEncoded(response: Response): Promise<void> {
  if (!isEncoded(response)) return;
  await response.body?.cancel();
  throw new UpstreamFailure('protocol', 'the answer is in an encoding that was not asked for', {
    status: response.status,
  });
}

const MAX_RETRY_AFTER_MS = 120_000;

/**
 * Why a backend refused. Its message is logged; only that of a rejected request reaches the client.
 */
export async function failureOf(
  response: Response,
  refusal?: (failed: { readonly status: number; readonly json: ToldObject }) => string | undefined,
): Promise<UpstreamFailure> {
  const { status } = response;
  const told = await errorOf(response);
  const refused = refusal?.({ status, json: told.json ?? {} });
  if (refused !== undefined) return rejected(refused);
  const kind = isOutOfCredit(status, told) ? 'out_of_credit' : kindOf(status);
  const message = redact(told.message);
  const retryAfterMs = retryAfter(response.headers);
  return new UpstreamFailure(kind, `status ${status}: ${message}`, {
    status,
    isOwnError: isOwnError(told),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    ...(kind === 'rejected' ? { publicMessage: message, param: told.param } : {}),
  });
}

/** A request that this backend cannot serve, with a message for the client. */
export function rejected(publicMessage: string, param?: string): UpstreamFailure {
  return new UpstreamFailure('rejected', publicMessage, { status: 400, publicMessage, param });
}

export function kindOf(status: number): FailureKind {
  const known = KINDS.get(status);
  if (known) return known;
  return status < 400 ? 'protocol' : 'server';
}

const KINDS: ReadonlyMap<number, FailureKind> = new Map([
  [400, 'rejected'],
  [401, 'unauthorized'],
  [402, 'out_of_credit'],
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

/**
 * Whether a refusal says that the operator's account at the provider is empty. Some say it with another status than 402:
 * OpenAI with 429 and the type `insufficient_quota`
 * (https://learn.microsoft.com/microsoft-cloud/dev/dev-proxy/concepts/openai-insufficient-quota), xAI with 429 in words
 * (https://github.com/continuedev/continue/issues/10373), Anthropic with 400 "Your credit balance is too low" (https://github.com/anthropics/claude-code/issues/66314). Google's
 * 429 "You exceeded your current quota" is a limit by the minute, so these words decide nothing.
 */
export function isOutOfCredit(status: number, { message, json }: ToldError): boolean {
  if (status === 402) return true;
  if (status !== 400 && status !== 403 && status !== 429) return false;
  const error = json?.['error'];
  const { type, code } =
    typeof error === 'object' && error !== null ? (error as { type?: unknown; code?: unknown }) : {};
  return type === 'insufficient_quota' || code === 'insufficient_quota' || NO_CREDIT.test(message);
}

const NO_CREDIT =
  /credit balance is too low|insufficient (?:balance|credits?|funds)\b|used all available credits|billing hard limit/i;

/**
 * Some backends answer 400 to problems of the operator's account: an invalid key, no billing. The client cannot fix
 * those and must not be told about them.
 */
export function isOperatorProblem(message: string): boolean {
  return /api[ _-]?key|credit balance|billing|quota exceeded|security token/i.test(message);
}

export function retryAfter(headers: Headers): number | undefined {
  const ms = Number(headers.get('retry-after-ms') ?? Number.NaN);
  const seconds = Number(headers.get('retry-after') ?? Number.NaN);
  const wait = Number.isFinite(ms) ? ms : seconds * 1000;
  return Number.isFinite(wait) && wait > 0 ? Math.min(wait, MAX_RETRY_AFTER_MS) : undefined;
}

/** The shape of OpenAI's, Anthropic's and Google's errors; proxies before them answer with pages, or with nothing. */
export function isOwnError({ json }: ToldError): boolean {
  const error = json?.['error'];
  return typeof error === 'string' ? error !== '' : typeof error === 'object' && error !== null;
}

type ToldObject = Readonly<Record<string, unknown>>;

export interface ToldError {
  readonly message: string;
  readonly param?: string | undefined;
  /** The whole body, if it is an object. */
  readonly json?: ToldObject | undefined;
}

async function errorOf(response: Response): Promise<ToldError> {
  if (isEncoded(response)) {
    await response.body?.cancel();
    return { message: response.statusText };
  }
  let text: string;
  try {
    text = new TextDecoder().decode(await readBytes(response, ERROR_ANSWER));
  } catch {
    // An error page that is too large or cut off tells no more than its status.
    return { message: response.statusText };
  }
  return readError(text);
}

export function readError(text: string): ToldError {
  try {
    return errorIn(parseJsonAtOnce(text, EVENT_LIMITS) as ToldObject, text);
  } catch {
    // HTML, plain text or more than an error says: for the log only.
    return { message: text.slice(0, 500) };
  }
}

/** `{ error }` as OpenAI has it, `{ detail }` as text or list, `{ errors }` as a list of texts. */
function errorIn(json: ToldObject & { error?: TextOrError }, text: string): ToldError {
  const { message, param } =
    typeof json.error === 'object'
      ? json.error
      : {
          message: json.error ?? json['message'] ?? textsOf(json['detail'] ?? json['errors']),
          param: json['param'],
        };
  if (typeof message === 'string') return { message, param: paramOf(param), json };
  const checked = checkedError(message ?? json) ?? { message: text.slice(0, 500), param: paramOf(param) };
  return { ...checked, json };
}

function textsOf(value: unknown): string | undefined {
  const texts = (Array.isArray(value) ? value : [value]).filter((one) => typeof one === 'string');
  return texts.length === 0 ? undefined : texts.join(' ');
}

/**
 * Servers that check with pydantic answer with a list: `{ detail: [{ loc: ['body', 'user'], msg: 'Extra inputs …' }]
 * }`.
 */
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
