import type { z } from 'zod';
import type { BackgroundRows } from '../activity/background-rows.ts';
import type { ConversationStore } from '../activity/conversation-store.ts';
import type { RefusedCalls } from '../activity/refused-calls.ts';
import type { ResponseStore } from '../activity/response-store.ts';
import type { CallerAuth } from '../http/caller-auth.ts';
import type { Idempotency } from '../http/idempotency/idempotency.ts';
import type { HttpRoute, Method } from '../http/router.ts';
import type { RelayParts } from '../relay/call.ts';
import type { ApiFaultCode } from '../std/fault.ts';
import type { Store } from '../store/store.ts';
import type { BackgroundResponses } from './background-responses.ts';
import type { ErrorDialect } from './errors.ts';
import type { ImageJobs } from './image-jobs.ts';
import type { ImageLinks } from './image-links.ts';

/** A public operation, declared once: the router and the OpenAPI document are both made from it. */
export interface ApiOperation {
  /** `operationId` in the document. */
  readonly id: string;
  readonly method: Method;
  /** In OpenAPI's notation. */
  readonly path: string;
  readonly tag: ApiTag;
  readonly summary: string;
  readonly description?: string;
  readonly token: 'required' | 'optional' | 'none';
  /** The path's parameters, in order. */
  readonly parameters?: readonly PathParameter[];
  /** The parameters of the query that it reads. */
  readonly query?: readonly QueryParameter[];
  /** Takes an `Idempotency-Key`. */
  readonly idempotencyKey?: true;
  /** Takes `Prefer: respond-async`. */
  readonly respondAsync?: true;
  readonly request?: ApiBody;
  readonly answer: ApiAnswer;
  /** Every error code that it can answer with. */
  readonly errors: readonly ApiFaultCode[];
  /** The format of its errors. */
  readonly dialect: ErrorDialect;
  /** Called once, when the router is made; the result is called for each request. */
  handle(parts: ApiParts): HttpRoute['handle'];
}

export type ApiTag =
  | 'Inference'
  | 'Catalog'
  | 'Account'
  | 'OpenAI-compatible'
  | 'Anthropic-compatible'
  | 'Gemini-compatible';

/** The services that operations use. */
export interface ApiParts {
  readonly callerAuth: CallerAuth;
  readonly relay: RelayParts;
  readonly links: ImageLinks;
  readonly imageJobs: ImageJobs;
  readonly store: Store;
  readonly responses: ResponseStore;
  readonly conversations: ConversationStore;
  readonly backgroundRows: BackgroundRows;
  readonly background: BackgroundResponses;
  readonly idempotency: Idempotency;
  readonly refusedCalls: Pick<RefusedCalls, 'add'>;
  /** Generates the OpenAPI document. */
  readonly openApi: () => unknown;
}

export interface PathParameter {
  readonly name: string;
  readonly description: string;
  readonly example: string;
  /** Matches the rest of the path, slashes included. */
  readonly hasSlashes?: true;
}

interface QueryParameter {
  readonly name: string;
  readonly description: string;
  /** As JSON Schema. */
  readonly schema: Readonly<Record<string, unknown>>;
}

export interface ApiBody {
  /** The schema's name in the document; bodies with the same name share one schema. */
  readonly name: string;
  readonly schema: z.ZodType;
  readonly examples: Readonly<Record<string, unknown>>;
  /** Default: JSON. A form has no examples. */
  readonly mediaType?: 'application/json' | 'multipart/form-data';
  /** The same in another media type. */
  readonly or?: ApiBody;
}

/** The answer with status 200. */
export interface ApiAnswer {
  readonly description: string;
  /** Beside the request id: `rate` adds the state of the rate limit, `paid` also the cost. */
  readonly headers: 'none' | 'rate' | 'paid';
  readonly body?: ApiBody;
  /** What it answers instead when the client does not want to wait. */
  readonly asyncBody?: ApiBody;
  readonly stream?: ApiStream;
  /** A body without a schema in the document. */
  readonly untyped?: { readonly mediaType: string; readonly schema: Readonly<Record<string, unknown>> };
}

/** Server-sent events. */
export interface ApiStream {
  /** The chunk schema's name in the document. */
  readonly name: string;
  /** The content of a `data:` line. */
  readonly chunk: z.ZodType;
  readonly description: string;
  /** Errors are events of their own beside the chunks, in the usual error shape. */
  readonly hasErrorEvent?: true;
  /** The text of an example stream. */
  readonly example: string;
}
