/**
 * The error that every failed request ends with. A fault carries two texts: `message` goes to the client, `detail` and
 * `cause` go to the log only. `http/` turns a fault into a response, in one place.
 */
export class Fault extends Error {
  readonly code: FaultCode;
  readonly param: string | undefined;
  readonly retryAfterMs: number | undefined;
  readonly detail: string | undefined;
  /** Extra public fields of the error object, e.g. `reason` and `available_usd` of a 402. */
  readonly extra: Readonly<Record<string, string | number>>;

  constructor(code: FaultCode, message: string, options: FaultOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'Fault';
    this.code = code;
    this.param = options.param;
    this.retryAfterMs = options.retryAfterMs;
    this.detail = options.detail;
    this.extra = options.extra ?? {};
  }

  get status(): number {
    return ALL_FAULTS[this.code].status;
  }

  get type(): FaultType {
    return ALL_FAULTS[this.code].type;
  }
}

/** The client closed its connection before anything was held for it. Nobody reads the answer; the status is nginx's. */
export class ClientLeftFault extends Fault {
  constructor() {
    super('service_unavailable', 'The client left before its request was served.');
  }

  override get status(): number {
    return CLIENT_CLOSED_REQUEST;
  }
}

const CLIENT_CLOSED_REQUEST = 499;

export interface FaultOptions {
  param?: string | undefined;
  retryAfterMs?: number | undefined;
  /** For the log, never for the client. */
  detail?: string | undefined;
  cause?: unknown;
  extra?: Readonly<Record<string, string | number>> | undefined;
}

export type FaultType =
  | 'invalid_request_error'
  | 'authentication_error'
  | 'insufficient_quota'
  | 'rate_limit_error'
  | 'server_error';

/** A code of the public API. */
export type ApiFaultCode = keyof typeof FAULTS;
export type FaultCode = keyof typeof ALL_FAULTS;

const badRequest = { status: 400, type: 'invalid_request_error' } as const;
const unauthorized = { status: 401, type: 'authentication_error' } as const;
const tooMany = { status: 429, type: 'rate_limit_error' } as const;
const serverError = { status: 500, type: 'server_error' } as const;

/** Every error code of the public API. The error catalogue in the docs is generated from this table. */
export const FAULTS = {
  invalid_json: badRequest,
  invalid_field: badRequest,
  missing_field: badRequest,
  unknown_endpoint: badRequest,
  unsupported_endpoint: badRequest,
  unsupported_model: badRequest,
  model_not_allowed: badRequest,
  not_supported: badRequest,
  request_too_large: badRequest,
  context_length_exceeded: badRequest,
  https_required: badRequest,
  idempotency_key_reused: badRequest,
  idempotency_answer_gone: badRequest,
  previous_response_not_found: badRequest,
  missing_token: unauthorized,
  invalid_token: unauthorized,
  network_not_allowed: unauthorized,
  payment_required: { status: 402, type: 'insufficient_quota' },
  not_found: { status: 404, type: 'invalid_request_error' },
  method_not_allowed: { status: 405, type: 'invalid_request_error' },
  rate_limit_exceeded: tooMany,
  concurrency_limit_exceeded: tooMany,
  internal_error: serverError,
  upstream_error: serverError,
  upstream_timeout: serverError,
  service_unavailable: serverError,
} as const satisfies Record<string, { status: number; type: FaultType }>;

const forbidden = { status: 403, type: 'invalid_request_error' } as const;
const conflict = { status: 409, type: 'invalid_request_error' } as const;

/** The codes that only the console's API has, so that the public API's short list stays as documented. */
const CONSOLE_FAULTS = {
  weak_password: badRequest,
  code_invalid: badRequest,
  unauthenticated: unauthorized,
  invalid_credentials: unauthorized,
  invalid_second_factor: unauthorized,
  forbidden,
  /** The role of whoever operates is too small. */
  not_allowed: forbidden,
  cross_site: forbidden,
  sign_up_closed: forbidden,
  setup_needed: forbidden,
  invite_required: forbidden,
  confirmation_required: forbidden,
  conflict,
  email_taken: conflict,
  last_admin: conflict,
  read_only: conflict,
  link_ended: { status: 410, type: 'invalid_request_error' },
  unsupported_media_type: { status: 415, type: 'invalid_request_error' },
} as const satisfies Record<string, { status: number; type: FaultType }>;

const ALL_FAULTS = { ...FAULTS, ...CONSOLE_FAULTS };

/** Anything thrown becomes a fault: a fault stays as it is, anything else becomes internal_error; its message is only logged. */
export function asFault(thrown: unknown): Fault {
  if (thrown instanceof Fault) return thrown;
  if (isStoreUnavailable(thrown)) return storeUnavailable(thrown);
  return new Fault('internal_error', 'Something went wrong on our side. Try again later.', {
    cause: thrown,
    detail: thrown instanceof Error ? thrown.message : String(thrown),
  });
}

/** The message says in how many seconds, as `Retry-After` does. */
export function tooManyRequests(retryAfterMs: number | undefined, what = 'Too many requests.'): Fault {
  const seconds = Math.max(1, Math.ceil((retryAfterMs ?? 0) / 1_000));
  const message = `${what} Try again in ${seconds} second${seconds === 1 ? '' : 's'}.`;
  return new Fault('rate_limit_exceeded', message, { retryAfterMs });
}

const STORE_RETRY_MS = 1_000;

/** The store cannot be reached, or accepts no writes at the moment. */
export function storeUnavailable(cause: unknown, detail = String(cause)): Fault {
  return new Fault('service_unavailable', 'The service is briefly unavailable. Try again soon.', {
    cause,
    detail,
    retryAfterMs: STORE_RETRY_MS,
  });
}

/** Connection refused, lost or too slow, or a database that is starting or stopping. */
function isStoreUnavailable(thrown: unknown): boolean {
  if (!(thrown instanceof Error)) return false;
  const code = 'code' in thrown ? String(thrown.code) : '';
  if (/^(ECONN|ETIMEDOUT|EPIPE|ENOTFOUND|57P0|53300|08)/.test(code)) return true;
  return /timeout exceeded when trying to connect|Connection terminated|Query read timeout/i.test(
    thrown.message,
  );
}
