import {
  keepPreviousData,
  useInfiniteQuery,
  type InfiniteData,
  type UseInfiniteQueryResult,
} from '@tanstack/react-query';
import type { Answer, ConsoleRoute } from '../../src/console/contract/routes.ts';
import { send, urlOf, type ApiError, type IsAboutMoney, type ReadRoute, type Wallet } from './api.ts';
import { useState } from 'react';

type PagedRoute = {
  [Route in ReadRoute]: Answer<Route> extends { items: unknown[]; next: string | null } ? Route : never;
}[ReadRoute];

interface PagesOptions<Route extends ConsoleRoute> {
  readonly query?: Record<string, string | undefined> &
    (IsAboutMoney<Route> extends true ? { readonly wallet: Wallet } : object);
  readonly limit?: number;
  /** Refetches the first pages periodically, for a live list. */
  readonly refetchInterval?: number | false;
}

/**
 * A list with keyset pagination: each page begins where the previous one ended, however much is added in the meantime.
 */
export function usePages<Route extends PagedRoute>(
  route: Route,
  ...[options]: true extends IsAboutMoney<Route>
    ? [options: PagesOptions<Route> & Required<Pick<PagesOptions<Route>, 'query'>>]
    : [options?: PagesOptions<Route>]
): UseInfiniteQueryResult<InfiniteData<Answer<Route>>, ApiError> {
  const { query = {}, limit = 50, refetchInterval = false } = options ?? {};
  return useInfiniteQuery<
    Answer<Route>,
    ApiError,
    InfiniteData<Answer<Route>>,
    unknown[],
    string | undefined
  >({
    queryKey: [route, query, limit],
    initialPageParam: undefined,
    queryFn: async ({ pageParam, signal }) => {
      const url = urlOf(route, { query: { ...query, limit: String(limit), cursor: pageParam } });
      const response = await send('GET', url, undefined, { signal });
      return (await response.json()) as Answer<Route>;
    },
    // The rows of the previous filter stay until those of the next have arrived.
    placeholderData: keepPreviousData,
    getNextPageParam: (last) => last.next ?? undefined,
    refetchInterval,
  });
}

const FIRST = 50;
const STEP = 100;
/** The most rows that a page shows: beyond them, searching is faster than scrolling. */
const MOST = 400;

interface ShownRows<Row> {
  readonly rows: readonly Row[];
  /** Undefined if everything is shown, or the limit is reached. */
  readonly showMore: (() => void) | undefined;
  readonly beyond: number;
}

/** The first rows of a long list, and more on demand; another `list` starts over. */
export function useShownRows<Row>(all: readonly Row[], list: string, first = FIRST): ShownRows<Row> {
  const [grown, setGrown] = useState({ list, count: first });
  const count = grown.list === list ? grown.count : first;
  const isFull = count >= MOST;
  return {
    rows: all.slice(0, count),
    showMore: all.length > count && !isFull ? () => setGrown({ list, count: count + STEP }) : undefined,
    beyond: isFull ? Math.max(0, all.length - count) : 0,
  };
}
