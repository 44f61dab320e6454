/**
 * The words that the console's pages and its API share, as types alone: `web/` imports nothing else of the server. What
 * a route takes and answers is in `contract/routes.ts`, apart from here because it is made from the handlers, which use
 * the types below.
 */

/** Decimal dollars as exact text: "12.50", "0.000000001", "-3.00". Read it with Number() for charts only. */
export type Usd = string;
/** Milliseconds since 1970. */
export type Millis = number;
/** A UTC day, `2026-11-30`. */
export type Day = string;

/** One page of a list. `next` goes into `?cursor=`; null means that this was the last page. */
export interface Page<Item> {
  items: Item[];
  next: string | null;
}

/** One page of a list that can be searched and sorted. */
export interface SearchedPage<Item> extends Page<Item> {
  /** How far the search or the sorting went, if not through everything. */
  searchedTo: Millis | null;
  /** How many rows the list has, or at least has if there are `more`; null on pages after the first. */
  count: { rows: number; more: boolean } | null;
}

/** The body of every answer that is not 2xx, from /api/console and from /api/auth alike. */
export interface ErrorBody {
  error: {
    code: ErrorCode;
    message: string;
    /** The field that is wrong, where there is one. */
    param: string | null;
    /** Also sent as `Retry-After`, in whole seconds. */
    retryAfterMs?: number;
    /** Some refusals explain themselves further, e.g. `reason` and `available_usd` of a 402. */
    [extra: string]: unknown;
  };
}

export type ErrorCode =
  /** 400 */
  | 'invalid_json'
  | 'invalid_field'
  | 'missing_field'
  | 'weak_password'
  | 'code_invalid'
  | 'request_too_large'
  | 'idempotency_key_reused'
  | 'idempotency_answer_gone'
  /** 400 of the playground, as in the public API */
  | 'unknown_endpoint'
  | 'unsupported_endpoint'
  | 'unsupported_model'
  | 'context_length_exceeded'
  /** 401: no session, or it ended */
  | 'unauthenticated'
  /** 401: wrong email, password or second factor */
  | 'invalid_credentials'
  | 'invalid_second_factor'
  /** 402, playground only */
  | 'payment_required'
  /** 403 */
  | 'forbidden'
  /** 403: the role of whoever operates does not include this */
  | 'not_allowed'
  | 'cross_site'
  | 'sign_up_closed'
  /** 403: there is no administrator yet, so nobody else can sign up */
  | 'setup_needed'
  | 'invite_required'
  /** 403: confirm the password with POST /api/console/confirm, then repeat the request */
  | 'confirmation_required'
  /** 404 */
  | 'not_found'
  /** 405 */
  | 'method_not_allowed'
  /** 409 */
  | 'conflict'
  | 'email_taken'
  | 'last_admin'
  | 'read_only'
  /** 410 */
  | 'link_ended'
  /** 415: anything but application/json */
  | 'unsupported_media_type'
  /** 429 */
  | 'rate_limit_exceeded'
  | 'concurrency_limit_exceeded'
  /** 500, 503 */
  | 'internal_error'
  | 'upstream_error'
  | 'upstream_timeout'
  | 'service_unavailable';

export type SignUpMode = 'open' | 'closed' | 'invite';
export type EndpointKind = 'chat_completion' | 'image_generation' | 'embedding' | 'moderation';
export type RequestState = 'pending' | 'posted' | 'void' | 'expired';
export type RequestOutcome =
  | 'completed'
  | 'client_left'
  | 'upstream_failed'
  | 'cut_short'
  | 'expired'
  | 'shed';
