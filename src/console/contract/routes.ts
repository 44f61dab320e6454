import type { z } from 'zod';
import type { ParamName } from '../route.ts';
import type { ROUTES } from '../routes.ts';

/**
 * The routes of the console's API as the pages see them, taken from their declarations by type alone. A body is JSON, `{}`
 * where it is empty, and so is an answer unless the handler returns bytes. Statuses: 200, and the ones listed at ErrorCode.
 */
type RoutesByName = { [Route in (typeof ROUTES)[number] as Route['name']]: Route };

export type ConsoleRoute = keyof RoutesByName;
export type ParamsOf<Name extends ConsoleRoute> = Record<ParamName<Name>, string>;
export type QueryOf<Name extends ConsoleRoute> = z.input<NonNullable<RoutesByName[Name]['query']>>;
export type BodyOf<Name extends ConsoleRoute> = z.input<NonNullable<RoutesByName[Name]['body']>>;
/** A handler that returns a `Response` as well sends the same JSON in it, with a cookie. */
export type Answer<Name extends ConsoleRoute> = Exclude<
  Awaited<ReturnType<RoutesByName[Name]['handle']>>,
  Response
>;
/** One row of a list. */
export type ItemOf<Name extends ConsoleRoute> =
  Answer<Name> extends { items: readonly (infer Item)[] } ? Item : never;

/** The routes that answer with JSON, not with a file, a picture or a stream. */
export type JsonRoute = {
  [Name in ConsoleRoute]: [Answer<Name>] extends [never] ? never : Name;
}[ConsoleRoute];
