import { z } from 'zod';
import { entryKinds, paymentStates } from '../activity/list-values.ts';
import { SORTED_STATEMENT, sortedStatement } from '../activity/sorted-statement.ts';
import type { StatementFilter } from '../activity/statement-filter.ts';
import { statementPage, type StatementLine } from '../activity/statement.ts';
import { writeTableCursor } from '../activity/table-cursor.ts';
import { AuthRefusal } from '../identity/sign-in/refusal.ts';
import { usd } from './amounts.ts';
import type { Entry, ListValues, SearchedPage } from './contract.ts';
import { limitOf, markCursor } from './paging.ts';
import type { RouteParts } from './parts.ts';
import { recentOf } from './recent-answers.ts';
import { route } from './route.ts';
import { orderSchema, tableFields, tableRequest } from './table-query.ts';

const KINDS = ['credit', 'charge', 'refund', 'adjustment', 'overrun'] as const;
/** `money` leaves out the charges of requests. */
export const entryFields = { ...tableFields, kind: z.enum(['all', 'money', ...KINDS]).optional() };
const querySchema = z.strictObject({ ...entryFields, sort: orderSchema(['amount']) });
type EntryQuery = Omit<z.output<typeof querySchema>, 'sort'> & { readonly sort?: string | undefined };

/** The account's ledger entries, and redeeming codes. */
export const billingRoutes = [
  route('GET /api/console/entries', {
    who: 'user',
    compressed: true,
    query: querySchema,
    async handle(parts, { user, query }): Promise<SearchedPage<Entry>> {
      const { lines, ...page } = await findLines(parts, query, {
        accountId: user.accountId,
        moneyOnly: query.kind === 'money',
        search: query.search === undefined ? undefined : { text: query.search, isOperator: false },
      });
      return { ...page, items: lines.map(entryOf) };
    },
  }),
  /** What the filters of the account's lists offer. */
  route('GET /api/console/list-values', {
    who: 'user',
    handle: ({ store, reader, clock }, { user: { accountId } }): Promise<ListValues> =>
      recentOf(store, accountId).get('lists', clock.now(), () =>
        listValues({ db: store.db, reader }, accountId),
      ),
  }),
  route('POST /api/console/redeem', {
    who: 'user',
    body: z.strictObject({ code: z.string().min(1).max(100) }),
    async handle(parts, { user, body }) {
      // A code is money: attempts are limited per account, and a code is far too long to be guessed.
      parts.auth.throttle.act('redeem', user.accountId);
      const redeemed = await parts.codes.redeem(body.code, user.accountId);
      if (!redeemed) {
        throw new AuthRefusal(
          'code_invalid',
          'This code is not valid, was redeemed already, or is too old.',
          {
            param: 'code',
          },
        );
      }
      return { amountUsd: usd(redeemed.amount), balanceUsd: usd(redeemed.balance) };
    },
  }),
];

export async function listValues(
  parts: Parameters<typeof entryKinds>[0],
  accountId: string | undefined,
): Promise<ListValues> {
  const [kinds, states] = await Promise.all([entryKinds(parts, accountId), paymentStates(parts, accountId)]);
  return { entryKinds: kinds, paymentStates: states };
}

/** By time, newest first, or sorted by something else. */
export async function findLines(
  { store, reader }: RouteParts,
  query: EntryQuery,
  common: Omit<StatementFilter, 'kind'>,
): Promise<{ lines: readonly StatementLine[]; next: string | null; searchedTo: number | null }> {
  const filter = { ...common, kind: KINDS.find((kind) => kind === query.kind) };
  const parts = { db: store.db, reader };
  if (query.sort !== undefined) {
    const page = await sortedStatement(parts, filter, tableRequest(SORTED_STATEMENT, query));
    const next = page.next ? writeTableCursor(page.next) : null;
    return { lines: page.rows, next, searchedTo: page.searchedTo ?? null };
  }
  const before = markCursor(query.cursor);
  const { lines, next, searchedTo } = await statementPage(parts, filter, { before, limit: limitOf(query) });
  // Lines are ordered by time, then id.
  return { lines, next: next ? `${next.at}.${next.id}` : null, searchedTo: searchedTo ?? null };
}

export function entryOf(row: StatementLine): Entry {
  return {
    id: row.id,
    at: row.created_at,
    kind: row.kind,
    amountUsd: usd(row.amount),
    requestId: row.request_id,
    cause: row.cause,
    archivedDay: archivedDay(row),
  };
}

/** The charge of an archived day is dated to the end of that day. */
function archivedDay({ kind, request_id, created_at }: StatementLine): string | null {
  if (kind !== 'charge' || request_id !== null) return null;
  return new Date(created_at).toISOString().slice(0, 10);
}
