import { z } from 'zod';
import { accountNamed, emailsOf } from '../../activity/accounts.ts';
import { requestById, type LoggedRequest } from '../../activity/request-log.ts';
import { AuthRefusal } from '../../identity/sign-in/refusal.ts';
import { attemptsOf } from '../../ledger/receipt.ts';
import type { RequestRow } from '../../store/schema.ts';
import { usd } from '../amounts.ts';
import type { AdminReceipt, AdminRequestPage } from '../contract.ts';
import { receiptDetail } from '../receipt.ts';
import { requestItem } from '../request-row.ts';
import { CSV_OWN, filterOf, findRequests, requestCsv, requestFields } from '../requests.ts';
import { csvResponse } from '../usage.ts';
import { route } from '../route.ts';

const querySchema = z.strictObject({
  ...requestFields,
  /** An id or an e-mail address. */
  account: z.string().max(320).optional(),
});

/** The requests of all accounts, or of one. */
export const adminRequestRoutes = [
  route('GET /api/console/admin/requests', {
    who: 'admin',
    compressed: true,
    query: querySchema,
    async handle(parts, { query: { account, ...query } }): Promise<AdminRequestPage> {
      const accountId = account && (await accountNamed(parts.store.db, account));
      const { rows, ...page } = await findRequests(parts, filterOf(query, accountId), query);
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
    who: 'admin',
    query: querySchema,
    async handle(parts, { query: { account, ...query } }) {
      const accountId = account && (await accountNamed(parts.store.db, account));
      return csvResponse('all-requests', requestCsv(parts, filterOf(query, accountId), CSV_ALL));
    },
  }),
  route('GET /api/console/admin/requests/{id}', {
    who: 'admin',
    async handle(parts, { params }): Promise<AdminReceipt> {
      const row = await requestById(parts.store.db, params.id);
      if (!row) throw new AuthRefusal('not_found', 'There is no such request.');
      return {
        ...receiptDetail(row),
        ...costsOf(row),
        ...operatorView(row, await emailsOf(parts.store.db, [row.account_id])),
      };
    },
  }),
];

/** What each attempt cost us, as far as it is known. */
function costsOf(
  row: RequestRow,
): Pick<AdminReceipt, 'attempts' | 'costUsd' | 'possibleCostUsd' | 'marginUsd'> {
  const { cost, possible_cost: possible } = row;
  return {
    attempts: attemptsOf(row).map(({ upstream, result, reason, durationMs, cost: booked }) => ({
      upstream,
      result,
      reason: reason ?? null,
      durationMs,
      cost: booked ? { usd: usd(booked.amount), basis: booked.basis } : null,
    })),
    costUsd: cost === null ? null : usd(cost),
    possibleCostUsd: usd(possible),
    marginUsd: cost === null && possible === 0 ? null : usd(row.charged - (cost ?? 0) - possible),
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
  ['cost_usd', (row) => (row.cost === null ? null : usd(row.cost))],
  ['possible_cost_usd', (row) => usd(row.possible_cost)],
];
