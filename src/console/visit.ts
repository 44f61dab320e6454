import type { z } from 'zod';
import type { AuthMeta, Visitor } from '../identity/sign-in/session.ts';
import type { RequestId } from '../std/ids.ts';
import type { Answer, BodyOf, ConsoleRoute, ParamsOf, QueryOf } from './contract.ts';
import type { ROUTES } from './routes.ts';

/** How a request arrived, as determined by `http/`. */
export interface ConsoleMeta {
  readonly requestId: RequestId;
  /** Scheme and host as the browser sees them, also through trusted proxies. */
  readonly origin: string;
  readonly address: string;
}

export function authMeta({ origin, address }: ConsoleMeta): AuthMeta {
  return { origin, address, secure: origin.startsWith('https:') };
}

/** One checked call of one route, as a handler gets it. */
export interface ConsoleCall<Key extends ConsoleRoute> {
  readonly request: Request;
  readonly meta: ConsoleMeta;
  readonly visitor: (typeof ROUTES)[Key]['who'] extends 'user' | 'admin' ? Visitor : Visitor | undefined;
  readonly params: ParamsOf<Key>;
  readonly query: Loose<QueryOf<Key>>;
  readonly body: Loose<BodyOf<Key>>;
}

/** A route's schemas and its handler. Both schemas refuse fields that the contract does not have. */
export interface RouteHandler<Key extends ConsoleRoute> {
  readonly query?: z.ZodType<Loose<QueryOf<Key>>>;
  readonly body?: z.ZodType<Loose<BodyOf<Key>>>;
  handle(call: ConsoleCall<Key>): Promise<Answer<Key> | Response>;
}

export type RouteHandlers = { readonly [Key in ConsoleRoute]: RouteHandler<Key> };

/** The output type of a schema: an optional field may be present with `undefined`. */
export type Loose<T> = { [K in keyof T]: object extends Pick<T, K> ? T[K] | undefined : T[K] };
