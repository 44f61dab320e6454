import { useInfiniteQuery, type InfiniteData, type UseInfiniteQueryResult } from '@tanstack/react-query';
import type { Answer, ConsoleRoute } from '../../src/console/contract.ts';
import { send, urlOf, type ApiError } from './api.ts';

type PagedRoute = {
  [Key in ConsoleRoute]: Answer<Key> extends { items: unknown[]; next: string | null } ? Key : never;
}[ConsoleRoute];

interface PagesOptions {
  readonly query?: Record<string, string | undefined>;
  readonly limit?: number;
  /** Refetches the first pages periodically, for a live list. */
  readonly refetchInterval?: number | false;
}

/**
 * A list with keyset pagination: each page begins where the previous one ended, however much is added in the meantime.
 */
export function usePages<Key extends PagedRoute>(
  route: Key,
  { query = {}, limit = 50, refetchInterval = false }: PagesOptions = {},
): UseInfiniteQueryResult<InfiniteData<Answer<Key>>, ApiError> {
  return useInfiniteQuery<Answer<Key>, ApiError, InfiniteData<Answer<Key>>, unknown[], string | undefined>({
    queryKey: [route, query, limit],
    initialPageParam: undefined,
    queryFn: async ({ pageParam, signal }) => {
      const response = await send(
        route,
        urlOf(route, { query: { ...query, limit: String(limit), cursor: pageParam } }),
        undefined,
        signal,
      );
      return (await response.json()) as Answer<Key>;
    },
    getNextPageParam: (last) => last.next ?? undefined,
    refetchInterval,
  });
}
