import { z } from 'zod';
import { accountNamed, emailsOf } from '../../activity/accounts.ts';
import { requestById, type LoggedRequest, type RequestFilter } from '../../activity/request-log.ts';
import { ALL_ACCOUNTS } from '../../activity/usage.ts';
import { operatorMay } from '../../identity/accounts/roles.ts';
import { Fault } from '../../std/fault.ts';
import { attemptsOf } from '../../ledger/receipt.ts';
import type { RequestRow } from '../../store/schema.ts';
import { usd } from '../amounts.ts';
import type { SearchedPage, Usd } from '../contract.ts';
import type { RouteParts } from '../parts.ts';
import { receiptDetail, requestItem, type RequestItem } from '../receipt.ts';
import {
  CSV_OWN,
  filterOf,
  findRequests,
  requestCsv,
  requestFields,
  sortField,
  usedValues,
} from '../requests.ts';
import { csvResponse } from '../usage.ts';
import { route } from '../route.ts';

const adminFields = {
  ...requestFields,
  /** An id or an email address. */
  account: z.string().max(320).optional(),
  backend: z.string().min(1).max(256).optional(),
};
const querySchema = z.strictObject({ ...adminFields, ...sortField });
const fileSchema = z.strictObject(adminFields);

/** The requests of all accounts, or of one. */
export const adminRequestRoutes = [
  route('GET /api/console/admin/requests', {
    who: 'operator',
    may: 'see_customers',
    summary: 'List requests',
    compressed: true,
    query: querySchema,
    async handle(parts, { query }): Promise<SearchedPage<AdminRequestRow>> {
      const { rows, ...page } = await findRequests(parts, await adminFilter(parts, query), query);
      const emails = await emailsOf(
        parts.store.db,
        rows.map((row) => row.account_id),
      );
      return {
        ...page,
        items: rows.map((row) => Object.assign(requestItem(row), operatorView(row, emails))),
      };
    },
  }),
  route('GET /api/console/admin/requests.csv', {
    who: 'operator',
    may: 'see_customers',
    summary: 'Download requests as CSV',
    query: fileSchema,
    async handle(parts, { query, operator: { role } }) {
      const columns = operatorMay(role, 'see_business') ? CSV_BUSINESS : CSV_ALL;
      return csvResponse('all-requests', requestCsv(parts, await adminFilter(parts, query), { columns }));
    },
  }),
  route('GET /api/console/admin/request-values', {
    who: 'operator',
    may: 'see_customers',
    summary: 'List what filters of requests can have',
    compressed: true,
    handle: (parts) => usedValues(parts, ALL_ACCOUNTS),
  }),
  route('GET /api/console/admin/requests/{id}', {
    who: 'operator',
    may: 'see_customers',
    summary: 'Get a receipt',
    async handle(parts, { params, operator: { role } }) {
      const row = await requestById(parts.store.db, params.id);
      if (!row) throw new Fault('not_found', 'There is no such request.');
      return {
        ...receiptDetail(row, parts.catalog.current()),
        ...costsOf(row, operatorMay(role, 'see_business')),
        ...operatorView(row, await emailsOf(parts.store.db, [row.account_id])),
      };
    },
  }),
];

interface AdminRequestRow extends RequestItem {
  accountId: string;
  email: string;
  upstream: string | null;
  overrunUsd: Usd;
  node: string;
}

/** One field finds accounts too: by a whole address or id. */
async function adminFilter(
  { store }: RouteParts,
  { account, backend, ...query }: z.output<typeof fileSchema>,
): Promise<RequestFilter> {
  const isAccount = query.search !== undefined && /@|^acc_/.test(query.search);
  const named = isAccount ? query.search : account;
  const accountId = named && (await accountNamed(store.db, named));
  return { ...filterOf({ ...query, search: isAccount ? undefined : query.search }, accountId), backend };
}

/** What each attempt cost us, as far as it is known; null throughout for roles that do not see margins. */
function costsOf(row: RequestRow, seesMoney: boolean) {
  const { cost, possible_cost: possible } = row;
  return {
    attempts: attemptsOf(row).map(({ upstream, result, reason, durationMs, cost: booked }) => ({
      upstream,
      result,
      reason: reason ?? null,
      durationMs,
      /** As the provider reports it, by the catalog's prices, or the most that a failed attempt may cost. Null: not known, or not shown to the role. */
      cost: seesMoney && booked ? { usd: usd(booked.amount), basis: booked.basis } : null,
    })),
    /** Null where that is not known, or not shown to the role. */
    costUsd: !seesMoney || cost === null ? null : usd(cost),
    /** What failed attempts may cost beside it. Null for roles that do not see margins. */
    possibleCostUsd: seesMoney ? usd(possible) : null,
    /** The charge less both costs; null if neither is known, or for roles that do not see margins. */
    marginUsd:
      !seesMoney || (cost === null && possible === 0) ? null : usd(row.charged - (cost ?? 0) - possible),
  };
}

function operatorView(row: LoggedRequest, emails: ReadonlyMap<string, string>) {
  return {
    accountId: row.account_id,
    email: emails.get(row.account_id) ?? '',
    upstream: row.upstream,
    overrunUsd: usd(row.overrun),
    node: row.node,
  };
}

const CSV_ALL: typeof CSV_OWN = [
  ...CSV_OWN,
  ['account', (row) => row.account_id],
  ['upstream', (row) => row.upstream],
  ['overrun_usd', (row) => usd(row.overrun)],
];

/** With what requests cost us, for roles that see margins. */
const CSV_BUSINESS: typeof CSV_OWN = [
  ...CSV_ALL,
  ['cost_usd', (row) => (row.cost === null ? null : usd(row.cost))],
  ['possible_cost_usd', (row) => usd(row.possible_cost)],
];
