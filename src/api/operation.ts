import type { z } from 'zod';
import type { CallerAuth } from '../http/caller.ts';
import type { Idempotency } from '../http/idempotency/idempotency.ts';
import type { HttpRoute, Method } from '../http/router.ts';
import type { FaultCode } from '../std/fault.ts';
import type { Store } from '../store/store.ts';
import type { ErrorDialect } from './errors.ts';
import type { ImageLinks } from './image-links.ts';

/** A public operation, declared once: the router serves it and the OpenAPI document describes it from this. */
export interface ApiOperation {
  /** `operationId` in the document. */
  readonly id: string;
  readonly method: Method;
  /** As OpenAPI writes it. */
  readonly path: string;
  readonly tag: ApiTag;
  readonly summary: string;
  readonly description?: string;
  readonly token: 'required' | 'optional' | 'none';
  /** The parameters of the path, in its order. */
  readonly parameters?: readonly PathParameter[];
  /** Takes an `Idempotency-Key`. */
  readonly idempotencyKey?: true;
  readonly request?: ApiBody;
  readonly answer: ApiAnswer;
  /** Every code that it can answer with. */
  readonly errors: readonly FaultCode[];
  /** How its errors are worded. */
  readonly dialect: ErrorDialect;
  /** Called once, when the router is made; what it returns is called for each request. */
  handle(parts: ApiParts): HttpRoute['handle'];
}

export type ApiTag = 'Inference' | 'Catalog' | 'Account' | 'OpenAI-compatible' | 'Anthropic-compatible';

/** What operations work with. */
export interface ApiParts {
  readonly callerAuth: CallerAuth;
  readonly links: ImageLinks;
  readonly store: Store;
  readonly idempotency: Idempotency;
  /** The OpenAPI document, made anew each time. */
  readonly openApi: () => unknown;
}

export interface PathParameter {
  readonly name: string;
  readonly description: string;
  readonly example: string;
  /** Takes the rest of the path, with its slashes. */
  readonly hasSlashes?: true;
}

export interface ApiBody {
  /** Of the schema in the document; two bodies of one name have one schema. */
  readonly name: string;
  readonly schema: z.ZodType;
  readonly examples: Readonly<Record<string, unknown>>;
  /** JSON where absent. A form has no examples. */
  readonly mediaType?: 'application/json' | 'multipart/form-data';
}

/** An answer with 200. */
export interface ApiAnswer {
  readonly description: string;
  /** Beside the request's id: where the rate limit stands, and also what the request cost. */
  readonly headers: 'none' | 'rate' | 'paid';
  readonly body?: ApiBody;
  readonly stream?: ApiStream;
  /** What no schema of ours describes. */
  readonly untyped?: { readonly mediaType: string; readonly schema: Readonly<Record<string, unknown>> };
}

/** Server-sent events. */
export interface ApiStream {
  /** Of the chunk's schema in the document. */
  readonly name: string;
  /** What a data line holds. */
  readonly chunk: z.ZodType;
  readonly description: string;
  /** An error is an event of its own beside the chunks, in the shape of other errors. */
  readonly hasErrorEvent?: true;
  /** The text of a stream. */
  readonly example: string;
}
