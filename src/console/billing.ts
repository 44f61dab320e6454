import { z } from 'zod';
import { monthSpent } from '../activity/accounts.ts';
import { entryKinds, paymentStates } from '../activity/list-values.ts';
import { modelsOfDays, type DayModels } from '../activity/charged-days.ts';
import {
  countLines,
  cursorAt,
  statementPage,
  type StatementFilter,
  type StatementLine,
} from '../activity/statement.ts';
import { moneyOf } from '../identity/accounts/accounts.ts';
import { freeOf } from '../ledger/decide.ts';
import { Fault } from '../std/fault.ts';
import { dayOf } from '../std/calendar.ts';
import { usd } from './amounts.ts';
import type { SearchedPage, Millis, Usd } from './contract.ts';
import { listCount, searchField, limitOf, markCursor, pagingFields } from './table-query.ts';
import { requireAccount } from './overview.ts';
import type { RouteParts } from './parts.ts';
import type { PaymentItem } from './payments.ts';
import { recentOf } from './recent-answers.ts';
import { statementDay } from './statements.ts';
import { walletRoute, type ChosenWallet } from './wallet.ts';

const KINDS = ['credit', 'charge', 'refund', 'adjustment', 'overrun'] as const;
/** `money` leaves out the charges of requests; days are UTC, both inclusive. */
export const entryFields = {
  ...pagingFields,
  kind: z.enum(['all', 'money', ...KINDS]).optional(),
  from: z.iso.date().optional(),
  to: z.iso.date().optional(),
  search: searchField,
};
const querySchema = z.strictObject(entryFields);

/** A balance, what changed it, and redeeming codes. */
export const billingRoutes = [
  walletRoute('GET /api/console/wallet', {
    right: 'see_money',
    handle: (parts, wallet) => walletView(parts, wallet),
  }),
  walletRoute('GET /api/console/entries', {
    right: 'see_money',
    compressed: true,
    query: entryFields,
    async handle(parts, wallet, { query }): Promise<SearchedPage<Entry>> {
      const { lines, ...page } = await findLines(parts, query, {
        accountId: wallet.id,
        search: query.search === undefined ? undefined : { text: query.search, isOperator: false },
      });
      const at = { db: parts.store.db, reader: parts.reader };
      const days = lines.flatMap(({ charges }) => charges?.day ?? []);
      const models = await modelsOfDays(at, wallet.id, days);
      return { ...page, items: lines.map((line) => entryOf(line, models.get(line.charges?.day ?? 0))) };
    },
  }),
  /** What the filters of these lists offer. */
  walletRoute('GET /api/console/list-values', {
    right: 'see_money',
    handle: ({ store, reader, clock }, { id }): Promise<ListValues> =>
      recentOf(store, id).get('lists', clock.now(), () => listValues({ db: store.db, reader }, id)),
  }),
  walletRoute('POST /api/console/redeem', {
    right: 'change_money',
    body: z.strictObject({ code: z.string().min(1).max(100) }),
    async handle(parts, wallet, { user, body }) {
      // A code is money: attempts are limited per person, and a code is far too long to be guessed.
      parts.auth.throttle.act('redeem', user.accountId);
      const redeemed = await parts.codes.redeem(body.code, wallet.id);
      if (!redeemed) {
        throw new Fault('code_invalid', 'This code is not valid, was redeemed already, or is too old.', {
          param: 'code',
        });
      }
      return { amountUsd: usd(redeemed.amount), balanceUsd: usd(redeemed.balance) };
    },
  }),
];

async function walletView(parts: RouteParts, { id, mayPay }: ChosenWallet) {
  const account = await requireAccount(parts, id);
  const { monthly_limit: monthlyLimit } = account;
  return {
    balanceUsd: usd(account.balance),
    heldUsd: usd(account.held),
    /** Owed for refunds and disputes; taken as running requests release it. */
    owedUsd: usd(account.owed),
    availableUsd: usd(freeOf(moneyOf(account))),
    /** Null: it has none. */
    monthlyUsd: monthlyLimit === null ? null : usd(monthlyLimit),
    monthSpentUsd: usd(monthSpent(account, parts.clock.now())),
    mayPay,
  };
}

/** What the filters of an account's lists offer: whatever occurs in them. */
export interface ListValues {
  entryKinds: Entry['kind'][];
  paymentStates: PaymentItem['state'][];
}

export async function listValues(
  parts: Parameters<typeof entryKinds>[0],
  accountId: string | undefined,
): Promise<ListValues> {
  const [kinds, states] = await Promise.all([entryKinds(parts, accountId), paymentStates(parts, accountId)]);
  return { entryKinds: kinds, paymentStates: states };
}

/** Newest first. */
export async function findLines(
  { store, reader }: RouteParts,
  query: z.output<typeof querySchema>,
  whose: Pick<StatementFilter, 'accountId' | 'search'>,
): Promise<Omit<SearchedPage<never>, 'items'> & { lines: readonly StatementLine[] }> {
  const { kind = 'all', from, to } = query;
  const filter = {
    ...whose,
    kind: kind === 'all' ? undefined : kind,
    from: from === undefined ? undefined : dayOf(Date.parse(from)),
    to: to === undefined ? undefined : dayOf(Date.parse(to)),
  };
  const at = { db: store.db, reader };
  const cursor = markCursor(query.cursor);
  const { rows, next, searchedTo } = await statementPage(at, filter, {
    after: cursor && cursorAt(cursor.at, cursor.id),
    limit: limitOf(query),
  });
  const count = await listCount(query, { rows, next }, () => countLines(at, filter));
  return {
    lines: rows,
    next: next ? next.values.join('.') : null,
    searchedTo: searchedTo ?? null,
    count: count ?? null,
  };
}

/** One change of a balance: an entry, or the charges of one day. */
export interface Entry {
  id: string;
  /** For a line of charges: the end of their day. */
  at: Millis;
  kind: 'credit' | 'charge' | 'refund' | 'adjustment' | 'overrun';
  /** Signed: charges are negative. */
  amountUsd: Usd;
  requestId: string | null;
  cause: string;
  /** For a line of charges: the day of its requests. */
  charges: (ReturnType<typeof statementDay> & Partial<Pick<DayModels, 'model' | 'models'>>) | null;
}

export function entryOf(row: StatementLine, named?: DayModels): Entry {
  return {
    id: row.id,
    at: row.created_at,
    kind: row.kind,
    amountUsd: usd(row.amount),
    requestId: row.request_id,
    cause: row.cause,
    charges: row.charges
      ? { ...statementDay(row.charges), ...(named ? { model: named.model, models: named.models } : {}) }
      : null,
  };
}
