import { keepPreviousData, useQuery, type UseQueryResult } from '@tanstack/react-query';
import type { ErrorBody, ErrorCode } from '../../src/console/contract.ts';
import { serverAnswers } from './connection.ts';
import { isSignedInAgain } from './signInAgain.ts';
import type {
  Answer,
  BodyOf,
  ConsoleRoute,
  JsonRoute,
  ParamsOf,
  QueryOf,
} from '../../src/console/contract/routes.ts';

/** An error of the console's API, with the server's message. `network` means that there was no answer. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: ErrorCode | 'network',
    message: string,
    readonly body?: ErrorBody['error'],
  ) {
    super(message);
    this.name = 'ApiError';
  }

  /** After which the same request may be accepted. */
  get retryAfterMs(): number | undefined {
    return this.body?.retryAfterMs;
  }

  get requestId(): string | undefined {
    const id = this.body?.['requestId'];
    return typeof id === 'string' ? id : undefined;
  }
}

/** Reads that components share, cache and refresh. */
export type ReadRoute = JsonRoute & `GET ${string}`;

/** Whose money: the own account's or the team's. */
export type Wallet = 'own' | 'team';

type HasParams<Route extends ConsoleRoute> = [keyof ParamsOf<Route>] extends [never] ? false : true;
/** Routes about money: a call that does not name the wallet does not compile. */
export type IsAboutMoney<Route extends ConsoleRoute> = 'wallet' extends keyof QueryOf<Route> ? true : false;

type CallOptions<Route extends ConsoleRoute> = (HasParams<Route> extends true
  ? { readonly params: ParamsOf<Route> }
  : object) &
  (IsAboutMoney<Route> extends true
    ? { readonly query: QueryOf<Route> & { readonly wallet: Wallet } }
    : { readonly query?: QueryOf<Route> | undefined }) & {
    readonly body?: BodyOf<Route> | undefined;
    readonly signal?: AbortSignal | undefined;
    /** However often it is sent with this key, it is done once. */
    readonly key?: string | undefined;
  };

type OptionsFor<Route extends ConsoleRoute> = true extends HasParams<Route> | IsAboutMoney<Route>
  ? [options: CallOptions<Route>]
  : [options?: CallOptions<Route>];

type ReadArguments<Route extends ConsoleRoute> = true extends HasParams<Route> | IsAboutMoney<Route>
  ? [options: Omit<CallOptions<Route>, 'body' | 'signal'>, more?: ReadOptions]
  : [options?: Omit<CallOptions<Route>, 'body' | 'signal'>, more?: ReadOptions];

/** One call of the console's API, typed by its route. */
export async function call<Route extends JsonRoute>(
  route: Route,
  ...options: OptionsFor<Route>
): Promise<Answer<Route>> {
  const response = await fetchRoute(route, ...options);
  // The handler's own type; the server is compiled with it.
  return (await response.json()) as Answer<Route>;
}

/** Like `call`, but returns the response before its body is read, for streams. */
export async function fetchRoute<Route extends ConsoleRoute>(
  route: Route,
  ...[options]: OptionsFor<Route>
): Promise<Response> {
  return await send(methodOf(route), urlOf(route, options), options?.body, options);
}

/** Pass `enabled: false` to wait until there is something to ask. */
export function useApi<Route extends ReadRoute>(
  route: Route,
  ...[options, { keepsPrevious, ...more } = {}]: ReadArguments<Route>
): UseQueryResult<Answer<Route>, ApiError> {
  return useQuery<Answer<Route>, ApiError>({
    queryKey: [route, options ?? null],
    queryFn: async ({ signal }) => {
      const response = await send('GET', urlOf(route, options), undefined, { signal });
      return (await response.json()) as Answer<Route>;
    },
    ...more,
    ...(keepsPrevious ? { placeholderData: keepPreviousData } : {}),
  });
}

export interface ReadOptions {
  readonly enabled?: boolean;
  readonly refetchInterval?: number | false;
  readonly staleTime?: number;
  /** Keeps the previous data on screen while the same component fetches another query. */
  readonly keepsPrevious?: boolean;
}

/** The address of a route, for links that the browser follows itself (downloads, pictures). */
export function urlOf<Route extends ConsoleRoute>(
  route: Route,
  options?: Pick<CallOptions<Route>, 'query'> | object,
): string {
  const { params, query } = { params: undefined, query: undefined, ...options } as {
    params: Record<string, string> | undefined;
    query: Record<string, string | undefined> | undefined;
  };
  const path = pathOf(route).replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(params?.[name] ?? ''),
  );
  const pairs = Object.entries(query ?? {}).filter(
    (pair): pair is [string, string] => pair[1] !== undefined && pair[1] !== '',
  );
  return pairs.length > 0 ? `${path}?${new URLSearchParams(pairs)}` : path;
}

/**
 * Sends JSON and throws {@link ApiError} for anything but success. If the session has ended, the user signs in over the
 * page, and the request is sent again. If the server cannot be reached, a read waits until it can; a change may have
 * been made, so it fails, and the form with everything typed in it is there to send it again.
 */
export async function send(
  method: string,
  url: string,
  body: unknown,
  more: SendOptions = {},
): Promise<Response> {
  try {
    return await sendOnce(method, url, body, more);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.code === 'network') {
      const answered = serverAnswers();
      if (method !== 'GET') throw error;
      await answered;
    } else if (error.code !== 'unauthenticated' || !(await isSignedInAgain())) throw error;
    more.signal?.throwIfAborted();
    return await send(method, url, body, more);
  }
}

interface SendOptions {
  readonly signal?: AbortSignal | undefined;
  readonly key?: string | undefined;
}

async function sendOnce(
  method: string,
  url: string,
  body: unknown,
  { signal, key }: SendOptions,
): Promise<Response> {
  const hasBody = method !== 'GET' && method !== 'DELETE';
  let response: Response;
  try {
    response = await fetch(url, {
      method,
      credentials: 'same-origin',
      ...(hasBody
        ? {
            headers: {
              'content-type': 'application/json',
              ...(key === undefined ? {} : { 'idempotency-key': key }),
            },
            body: JSON.stringify(body ?? {}),
          }
        : {}),
      ...(signal ? { signal } : {}),
    });
  } catch (cause) {
    if (signal?.aborted) throw cause;
    throw new ApiError(0, 'network', 'The server cannot be reached.');
  }
  if (!response.ok) throw await refusal(response);
  return response;
}

const AWAY: ReadonlySet<number> = new Set([502, 503, 504]);

async function refusal(response: Response): Promise<ApiError> {
  try {
    const { error } = (await response.json()) as ErrorBody;
    const requestId = response.headers.get('x-request-id');
    const retryAfter = response.headers.get('retry-after');
    return new ApiError(response.status, error.code, error.message, {
      ...error,
      requestId,
      // The playground's errors are those of the public API, which has the seconds in the header alone.
      ...(retryAfter === null ? {} : { retryAfterMs: error.retryAfterMs ?? Number(retryAfter) * 1_000 }),
    });
  } catch {
    // Not our server: a proxy in front of it, which does not reach it.
    const code = AWAY.has(response.status) ? 'network' : 'internal_error';
    return new ApiError(response.status, code, `The server answered ${response.status}.`);
  }
}

function methodOf(route: string): string {
  return route.slice(0, route.indexOf(' '));
}

function pathOf(route: string): string {
  return route.slice(route.indexOf(' ') + 1);
}
