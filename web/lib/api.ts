import { useQuery, type UseQueryResult } from '@tanstack/react-query';
import type {
  Answer,
  AuthRoutes,
  BodyOf,
  ConsoleRoute,
  ErrorBody,
  ErrorCode,
  ParamsOf,
  QueryOf,
} from '../../src/console/contract.ts';

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
}

export type CallOptions<Key extends ConsoleRoute> = (ParamsOf<Key> extends undefined
  ? object
  : { params: ParamsOf<Key> }) & {
  readonly query?: QueryOf<Key> | undefined;
  readonly body?: BodyOf<Key> | undefined;
  readonly signal?: AbortSignal | undefined;
};

/** One call of the console's API, typed by its route. */
export async function call<Key extends ConsoleRoute>(
  route: Key,
  ...[options]: OptionsFor<Key>
): Promise<Answer<Key>> {
  const response = await send(route, urlOf(route, options), options?.body, options?.signal);
  // The route table says what this route answers with; the server is tested against the same types.
  return (await response.json()) as Answer<Key>;
}

/** Sign-in routes, whose bodies and answers are listed apart. */
export async function callAuth<Key extends keyof AuthRoutes>(
  route: Key,
  body: AuthRoutes[Key]['body'],
): Promise<AuthRoutes[Key]['response']> {
  const response = await send(route, pathOf(route), body, undefined);
  return (await response.json()) as AuthRoutes[Key]['response'];
}

/** A read that components share, cache and refresh. Pass `undefined` to wait until there is something to ask. */
export function useApi<Key extends ConsoleRoute & `GET ${string}`>(
  route: Key,
  options?: Omit<CallOptions<Key>, 'body' | 'signal'>,
  more: { enabled?: boolean; refetchInterval?: number | false; staleTime?: number } = {},
): UseQueryResult<Answer<Key>, ApiError> {
  return useQuery<Answer<Key>, ApiError>({
    queryKey: [route, options ?? null],
    queryFn: async ({ signal }) => {
      const response = await send(route, urlOf(route, options), undefined, signal);
      return (await response.json()) as Answer<Key>;
    },
    ...more,
  });
}

/** The address of a route, for links that the browser follows itself (downloads, pictures). */
export function urlOf<Key extends ConsoleRoute>(
  route: Key,
  options?: Pick<CallOptions<Key>, 'query'> | object,
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

/** Sends JSON and throws {@link ApiError} for anything but success. Streams use it directly. */
export async function send(
  route: string,
  url: string,
  body: unknown,
  signal: AbortSignal | undefined,
): Promise<Response> {
  const method = route.slice(0, route.indexOf(' '));
  const hasBody = method !== 'GET' && method !== 'DELETE';
  let response: Response;
  try {
    response = await fetch(url, {
      method,
      credentials: 'same-origin',
      ...(hasBody
        ? { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body ?? {}) }
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

async function refusal(response: Response): Promise<ApiError> {
  try {
    const { error } = (await response.json()) as ErrorBody;
    return new ApiError(response.status, error.code, error.message, error);
  } catch {
    return new ApiError(response.status, 'internal_error', `The server answered ${response.status}.`);
  }
}

type OptionsFor<Key extends ConsoleRoute> =
  ParamsOf<Key> extends undefined ? [options?: CallOptions<Key>] : [options: CallOptions<Key>];

function pathOf(route: string): string {
  return route.slice(route.indexOf(' ') + 1);
}
