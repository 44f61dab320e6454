import { z } from 'zod';
import { csvLine } from '../activity/csv.ts';
import { requestValues } from '../activity/list-values.ts';
import { chosenTags } from '../identity/accounts/account-limits.ts';
import { tagsOf } from '../activity/request-tags.ts';
import { sortedRequests, type SortedCursor } from '../activity/sorted-requests.ts';
import {
  countRequests,
  requestById,
  requestPage,
  type LoggedRequest,
  type RequestFilter,
} from '../activity/request-log.ts';
import { ALL_ACCOUNTS } from '../activity/usage.ts';
import { Fault } from '../std/fault.ts';
import { extraUsageOf } from '../ledger/price.ts';
import { EXTRA_USAGE_ROWS } from '../std/price-dimensions.ts';
import { usd } from './amounts.ts';
import type { SearchedPage } from './contract.ts';
import { listCount, searchField, limitOf, pagingFields, wrongCursor } from './table-query.ts';
import type { RouteParts } from './parts.ts';
import { receiptDetail, requestItem, type RequestItem } from './receipt.ts';
import { recentOf } from './recent-answers.ts';
import { csvResponse } from './usage.ts';
import { route } from './route.ts';
import { foundInOwn } from './wallet.ts';

const moment = z
  .string()
  .regex(/^\d{1,15}$/, { error: 'a time is milliseconds since 1970' })
  .optional();
const name = z.string().min(1).max(256).optional();
export const requestFields = {
  ...pagingFields,
  endpoint: name,
  model: name,
  state: z.enum(['pending', 'posted', 'void', 'expired']).optional(),
  /** `failed` is everything that ended other than completed. */
  outcome: z
    .enum(['completed', 'client_left', 'upstream_failed', 'cut_short', 'expired', 'shed', 'failed'])
    .optional(),
  from: moment,
  to: moment,
  /** What the User-Agent begins with. */
  client: z.string().min(1).max(200).optional(),
  /** Part of an id, of the client or of the error. */
  search: searchField,
};
/** The newest first unless it says otherwise. Not for files: they have every request. */
export const sortField = { sort: z.enum(['cost', '-cost', 'duration', '-duration']).optional() };
const querySchema = z.strictObject({ ...requestFields, ...sortField });
const fileSchema = z.strictObject(requestFields);
type RequestQuery = z.output<typeof fileSchema>;
type ListQuery = z.output<typeof querySchema>;

/** The account's own requests: a list, a file, and one with its receipt. */
export const requestRoutes = [
  route('GET /api/console/requests', {
    who: 'user',
    compressed: true,
    query: querySchema,
    async handle(parts, { user, query }): Promise<SearchedPage<RequestItem>> {
      // The rows themselves are not for customers: they name backends and costs.
      const { rows, ...page } = await findRequests(parts, filterOf(query, user.accountId), query);
      const tags = await tagsOf(parts.reader, parts.store.db, idsOf(user.accountId, rows));
      return { ...page, items: rows.map((row) => requestItem(row, tags.get(row.id))) };
    },
  }),
  /** One line per request, streamed; takes the filters of the list, not its cursor. */
  route('GET /api/console/requests.csv', {
    who: 'user',
    query: fileSchema,
    async handle(parts, { user, query }) {
      const tags = { accountId: user.accountId, names: await chosenTags(parts.store.db, user.accountId) };
      const filter = filterOf(query, user.accountId);
      return csvResponse('requests', requestCsv(parts, filter, { columns: CSV_OWN, tags }));
    },
  }),
  /** What the filters offer. */
  route('GET /api/console/request-values', {
    who: 'user',
    compressed: true,
    handle: (parts, { user }) => usedValues(parts, user.accountId),
  }),
  route('GET /api/console/requests/{id}', {
    who: 'user',
    async handle(parts, { user, params }) {
      const find = (owner: string) => requestById(parts.store.db, params.id, owner);
      const row = await foundInOwn(parts, user, find);
      if (!row) throw new Fault('not_found', 'There is no such request.');
      const tags = await tagsOf(parts.reader, parts.store.db, idsOf(row.account_id, [row]));
      return receiptDetail(row, parts.catalog.current(), tags.get(row.id));
    },
  }),
];

function idsOf(accountId: string, rows: readonly { readonly id: string }[]) {
  return { accountId, ids: rows.map(({ id }) => id) };
}

export function filterOf(query: RequestQuery, accountId: string | undefined): RequestFilter {
  return {
    accountId,
    endpoint: query.endpoint,
    model: query.model,
    state: query.state,
    outcome: query.outcome,
    from: query.from === undefined ? undefined : Number(query.from),
    to: query.to === undefined ? undefined : Number(query.to),
    client: query.client,
    ...searched(query.search),
  };
}

function searched(search: string | undefined): Pick<RequestFilter, 'idPrefix' | 'text'> {
  return search?.startsWith('req_') ? { idPrefix: search } : { text: search };
}

/** Whatever was used at any time; a new model is offered a moment later. */
export function usedValues({ store, reader, clock }: RouteParts, accountId: string) {
  return recentOf(store, accountId === ALL_ACCOUNTS ? undefined : accountId).get('values', clock.now(), () =>
    requestValues({ db: store.db, reader }, accountId),
  );
}

/** A page may have fewer rows than asked for, even none, and still have a `next`: the search is bounded, go on. */
export async function findRequests(parts: RouteParts, filter: RequestFilter, query: ListQuery) {
  const { sort, cursor } = query;
  const at = { db: parts.store.db, reader: parts.reader };
  const page =
    sort === undefined
      ? await requestPage(at, filter, {
          before: cursor === '' ? undefined : cursor,
          limit: limitOf(query),
        })
      : await findSorted(at, filter, { ...query, sort });
  const count = await listCount(query, page, () => countRequests(at, filter));
  return {
    rows: page.rows,
    next: page.next ?? null,
    searchedTo: page.searchedTo ?? null,
    count: count ?? null,
  };
}

async function findSorted(
  parts: Parameters<typeof sortedRequests>[0],
  filter: RequestFilter,
  query: ListQuery & { readonly sort: NonNullable<ListQuery['sort']> },
) {
  const descending = query.sort.startsWith('-');
  const page = await sortedRequests(parts, filter, {
    by: query.sort.endsWith('cost') ? 'cost' : 'duration',
    descending,
    after: sortedCursor(query.cursor),
    limit: limitOf(query),
  });
  const { next } = page;
  return {
    rows: page.rows,
    next: next && `${next.value}.${next.id}.${next.newest}`,
    searchedTo: page.sortedTo,
  };
}

function sortedCursor(cursor: string | undefined): SortedCursor | undefined {
  if (cursor === undefined || cursor === '') return undefined;
  const [, value, id, newest] = /^(\d{1,15})\.(req_\w{1,40})\.(req_\w{1,40})$/.exec(cursor) ?? [];
  if (value === undefined || id === undefined || newest === undefined) throw wrongCursor();
  return { value: Number(value), id, newest };
}

type CsvColumns = readonly (readonly [name: string, cell: (row: LoggedRequest) => string | number | null])[];

export const CSV_OWN: CsvColumns = [
  ['id', (row) => row.id],
  ['time', (row) => new Date(row.created_at).toISOString()],
  ['endpoint', (row) => row.endpoint],
  ['model', (row) => row.model],
  ['state', (row) => row.state],
  ['outcome', (row) => row.outcome],
  ['error', (row) => row.error_code],
  ['input_tokens', (row) => row.input_tokens],
  ['cached_tokens', (row) => row.cached_tokens],
  ['output_tokens', (row) => row.output_tokens],
  ['reasoning_tokens', (row) => row.reasoning_tokens],
  ['images', (row) => row.images],
  ...EXTRA_USAGE_ROWS.map(
    (row) => [columnOf(row), (one: LoggedRequest) => extraUsageOf(one.extra).extra?.[row.used] ?? 0] as const,
  ),
  ['service_tier', (row) => extraUsageOf(row.extra).extra?.serviceTier ?? null],
  ['image_quality', (row) => extraUsageOf(row.extra).extra?.quality ?? null],
  ['charged_usd', (row) => usd(row.charged)],
  ['first_byte_ms', (row) => row.first_byte_ms],
  ['duration_ms', (row) => row.duration_ms],
  ['client', (row) => row.client],
];

function columnOf({ item, unit, used }: (typeof EXTRA_USAGE_ROWS)[number]): string {
  return unit === 'token'
    ? `${item}_tokens`
    : used.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

const CSV_PAGE = 1_000;

interface RequestCsv {
  readonly columns: CsvColumns;
  /** A column for each name, after the others. */
  readonly tags?: { readonly accountId: string; readonly names: readonly string[] };
}

/** Page after page by key, as fast as they are read: a million lines need no more memory than a thousand. */
export async function* requestCsv(
  { store, reader }: Pick<RouteParts, 'store' | 'reader'>,
  filter: RequestFilter,
  { columns, tags: { accountId, names } = { accountId: '', names: [] } }: RequestCsv,
): AsyncGenerator<string> {
  yield csvLine([...columns.map(([column]) => column), ...names.map((name) => `tag_${name}`)]);
  let before: string | undefined;
  do {
    const page = await requestPage({ db: store.db, reader }, filter, { before, limit: CSV_PAGE });
    before = page.next;
    const kept = names.length > 0 ? await tagsOf(reader, store.db, idsOf(accountId, page.rows)) : undefined;
    const lines = page.rows.map((row) => {
      const tags = kept?.get(row.id);
      const said = names.map((name) => (tags && Object.hasOwn(tags, name) ? (tags[name] ?? null) : null));
      return csvLine([...columns.map(([, cell]) => cell(row)), ...said]);
    });
    if (lines.length > 0) yield lines.join('');
  } while (before !== undefined);
}
