/**
 * An error of the console's API. Like a `Fault`, but with the console's own codes and statuses, so that the public API's
 * short list of codes stays as documented. `console/` turns a refusal into a response, in one place.
 */
export class AuthRefusal extends Error {
  readonly code: RefusalCode;
  readonly param: string | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(code: RefusalCode, message: string, more: { param?: string; retryAfterMs?: number } = {}) {
    super(message);
    this.name = 'Refusal';
    this.code = code;
    this.param = more.param;
    this.retryAfterMs = more.retryAfterMs;
  }

  get status(): number {
    return REFUSALS[this.code];
  }
}

export type RefusalCode = keyof typeof REFUSALS;

const REFUSALS = {
  invalid_json: 400,
  invalid_field: 400,
  missing_field: 400,
  weak_password: 400,
  code_invalid: 400,
  request_too_large: 400,
  unauthenticated: 401,
  invalid_credentials: 401,
  invalid_second_factor: 401,
  forbidden: 403,
  cross_site: 403,
  sign_up_closed: 403,
  setup_needed: 403,
  invite_required: 403,
  confirmation_required: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  link_ended: 410,
  email_taken: 409,
  last_admin: 409,
  read_only: 409,
  unsupported_media_type: 415,
  rate_limit_exceeded: 429,
  internal_error: 500,
  service_unavailable: 503,
} as const satisfies Record<string, number>;
