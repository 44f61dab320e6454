import { z } from 'zod';
import {
  type TablePage,
  anyContains,
  emailIn,
  equals,
  numberColumn,
  textColumn,
  type ListedTable,
  type TableFilter,
} from '../activity/table-page.ts';
import { Fault } from '../std/fault.ts';
import { readSite } from '../identity/sign-in/site.ts';
import { topUpOf } from '../payments/automatic.ts';
import {
  automaticSince,
  withReversed,
  type ListedPayment,
  type PaymentRow,
} from '../payments/payment-rows.ts';
import { cardsAreOff, type Payments } from '../payments/payments.ts';
import { ZERO, type NanoUsd } from '../std/money.ts';
import type { AccountRow } from '../store/schema.ts';
import { readUsd, usd } from './amounts.ts';
import type { SearchedPage, Millis, Usd } from './contract.ts';
import { requireAccount } from './overview.ts';
import type { RouteParts } from './parts.ts';
import { emptyBody, type ConsoleMeta } from './route.ts';
import { findRows, orderSchema, searchedPage, tableFields } from './table-query.ts';
import { walletRoute, type ChosenWallet } from './wallet.ts';
import { sql } from 'kysely';

const amountText = z.string().max(31);
export const paymentFields = {
  ...tableFields,
  state: z.enum(['open', 'paid', 'failed']).optional(),
  kind: z.enum(['top_up', 'automatic']).optional(),
};

/** Top-up by card, the saved card, the automatic top-up. Cards are entered at the payment provider only. */
export const paymentConsoleRoutes = [
  walletRoute('GET /api/console/payments', {
    right: 'see_money',
    handle: (parts, wallet) => cardPayments(parts, wallet),
  }),
  walletRoute('GET /api/console/payments/history', {
    right: 'see_money',
    query: { ...paymentFields, sort: orderSchema(['time', 'amount']) },
    async handle(parts, wallet, { query }): Promise<SearchedPage<PaymentItem>> {
      const page = await findPayments(parts, { ...query, accountId: wallet.id }, query);
      return searchedPage(page, paymentItem);
    },
  }),
  /** Answers with the address of the provider's page. A payment counts only once the provider's event reports it. */
  walletRoute('POST /api/console/payments/checkout', {
    right: 'change_money',
    body: z.strictObject({ amountUsd: amountText, saveCard: z.boolean() }),
    async handle(parts, wallet, { body, meta }) {
      const payments = await requirePayments(parts, wallet);
      const amount = await offeredAmount(parts, body.amountUsd);
      const request = await checkoutPage(parts, wallet, meta);
      const title = `${request.title}: $${usd(amount)}`;
      return await payments.beginTopUp({ ...request, title, amount, saveCard: body.saveCard });
    },
  }),
  walletRoute('POST /api/console/payments/card', {
    right: 'change_money',
    body: emptyBody,
    async handle(parts, wallet, { meta }) {
      const payments = await requirePayments(parts, wallet);
      return await payments.beginCard(await checkoutPage(parts, wallet, meta));
    },
  }),
  walletRoute('POST /api/console/payments/card/remove', {
    right: 'change_money',
    body: emptyBody,
    async handle(parts, wallet) {
      await requireProvider(parts).removeCard(wallet.id);
      return await cardPayments(parts, wallet);
    },
  }),
  /** The next charge may come at once, if the balance is below the threshold. */
  walletRoute('PUT /api/console/payments/automatic', {
    right: 'change_money',
    body: z.strictObject({ thresholdUsd: amountText, amountUsd: amountText, monthlyMaxUsd: amountText }),
    async handle(parts, wallet, { body }) {
      const payments = await requirePayments(parts, wallet);
      await payments.setAutomatic(wallet.id, {
        threshold: positive(body.thresholdUsd, 'thresholdUsd'),
        amount: await offeredAmount(parts, body.amountUsd),
        monthlyMax: positive(body.monthlyMaxUsd, 'monthlyMaxUsd'),
      });
      return await cardPayments(parts, wallet);
    },
  }),
  walletRoute('POST /api/console/payments/automatic/stop', {
    right: 'change_money',
    body: emptyBody,
    async handle(parts, wallet) {
      await requireProvider(parts).setAutomatic(wallet.id, undefined);
      return await cardPayments(parts, wallet);
    },
  }),
];

export async function findPayments(
  parts: RouteParts,
  filter: PaymentFilter,
  query: Parameters<typeof findRows>[3],
): Promise<TablePage<ListedPayment>> {
  const page = await findRows<PaymentRow>(parts, PAYMENT_TABLE, paymentFilter(filter), query);
  return { ...page, rows: await withReversed(parts.store.db, page.rows) };
}

async function cardPayments(parts: RouteParts, wallet: ChosenWallet) {
  const [site, payers, topUp] = await Promise.all([
    readSite(parts.store),
    payersOf(parts, wallet),
    topUpOf(parts.store, wallet.id),
  ]);
  const cardsOff = payers.some(({ cards_off_at }) => cards_off_at !== null);
  const pausedBy = pauseOf(pauseReasonOf(payers));
  const wasSet = topUp !== undefined && topUp.amount > 0;
  return {
    /** False: the operator takes no cards; codes and credits remain. */
    enabled: parts.payments !== undefined,
    /** What can be topped up at once. */
    amountsUsd: [...site.topUpAmounts],
    /** A card is saved at the provider; nothing about it is known here. */
    hasCard: topUp !== undefined && topUp.method_id !== null,
    automatic: wasSet ? await automaticView(parts, topUp) : null,
    /** The caller may begin a payment or save a card. */
    canPay: wallet.mayPay && !cardsOff && pausedBy === null,
    /** A payment was disputed, and no operator has allowed card payments since. */
    cardsOff,
    /** Why the account is paused; null while it is not. */
    pausedBy,
  };
}

async function automaticView(
  { store, clock }: RouteParts,
  topUp: NonNullable<Awaited<ReturnType<typeof topUpOf>>>,
) {
  const now = new Date(clock.now());
  const monthStart = Date.UTC(now.getUTCFullYear(), now.getUTCMonth());
  return {
    enabled: topUp.enabled === 1,
    thresholdUsd: usd(topUp.threshold),
    amountUsd: usd(topUp.amount),
    monthlyMaxUsd: usd(topUp.monthly_max),
    /** Spent on automatic top-ups in this month, UTC. */
    monthUsedUsd: usd(await automaticSince(store.db, topUp.account_id, monthStart)),
    /** A payment is under way. */
    running: topUp.running !== null,
    /** Why it was turned off by itself, in the provider's word. */
    offReason: topUp.off_reason,
  };
}

function pauseOf(reason: string | null): 'refund' | 'dispute' | null {
  return reason === 'refund' || reason === 'dispute' ? reason : null;
}

export interface PaymentItem {
  id: string;
  kind: 'top_up' | 'automatic';
  state: 'open' | 'paid' | 'failed';
  amountUsd: Usd;
  /** Refunded or disputed. */
  reversedUsd: Usd;
  /** Why it failed, in the provider's word. */
  reason: string | null;
  at: Millis;
  finishedAt: Millis | null;
}

export function paymentItem(row: ListedPayment): PaymentItem {
  return {
    id: row.id,
    kind: row.kind === 'automatic' ? 'automatic' : 'top_up',
    state: row.state,
    amountUsd: usd(row.amount),
    reversedUsd: usd(row.reversed),
    reason: row.reason,
    at: row.created_at,
    finishedAt: row.finished_at,
  };
}

function requireProvider({ payments }: RouteParts): Payments {
  if (!payments) throw new Fault('not_found', 'Payments by card are off.');
  return payments;
}

/** Each begins something at the provider: their number is bounded, and a paused account begins nothing. */
async function requirePayments(parts: RouteParts, wallet: ChosenWallet): Promise<Payments> {
  const payments = requireProvider(parts);
  parts.auth.throttle.act('payment', wallet.id);
  const payers = await payersOf(parts, wallet);
  if (pauseReasonOf(payers) !== null)
    throw new Fault('forbidden', 'This account is paused. Contact the operator.');
  if (payers.some(({ cards_off_at }) => cards_off_at !== null)) throw cardsAreOff();
  return payments;
}

/** The wallet and the person who acts: whose own payment was disputed pays for no team either. */
async function payersOf(parts: RouteParts, { id, personId }: ChosenWallet): Promise<AccountRow[]> {
  return await Promise.all([...new Set([id, personId])].map((one) => requireAccount(parts, one)));
}

function pauseReasonOf(payers: readonly AccountRow[]): string | null {
  return payers.find(({ paused_reason }) => paused_reason !== null)?.paused_reason ?? null;
}

async function offeredAmount({ store }: RouteParts, text: string): Promise<NanoUsd> {
  const amount = positive(text, 'amountUsd');
  const { topUpAmounts } = await readSite(store);
  if (topUpAmounts.some((one) => readUsd(one, 'amountUsd') === amount)) return amount;
  throw new Fault('invalid_field', `Choose one of the amounts: ${topUpAmounts.join(', ')}.`, {
    param: 'amountUsd',
  });
}

function positive(text: string, param: string): NanoUsd {
  const amount = readUsd(text, param);
  if (amount === ZERO) throw new Fault('invalid_field', 'The amount must be above zero.', { param });
  return amount;
}

async function checkoutPage({ store, publicUrl }: RouteParts, wallet: ChosenWallet, meta: ConsoleMeta) {
  const page = `${publicUrl ?? meta.origin}/app/billing${wallet.isTeams ? '?wallet=team' : ''}`;
  return { accountId: wallet.id, title: (await readSite(store)).siteName, returnUrl: page, cancelUrl: page };
}

export interface PaymentFilter {
  /** `undefined`: all accounts. */
  readonly accountId?: string | undefined;
  readonly state?: 'open' | 'paid' | 'failed' | undefined;
  readonly kind?: 'top_up' | 'automatic' | undefined;
  /** Part of an id, here or at the provider, or of why it failed. */
  readonly search?: string | undefined;
}

export const PAYMENT_TABLE: ListedTable = {
  from: sql`payment AS t`,
  columns: sql`t.*`,
  time: sql`t.created_at`,
  mark: [numberColumn(sql`t.created_at`), textColumn(sql`t.id`)],
  sorted: { amount: numberColumn(sql`t.amount`), account: textColumn(emailIn('t.account_id')) },
};

/** Saving a card is no payment. */
export function paymentFilter({ accountId, state, kind, search }: PaymentFilter): TableFilter {
  const ids = [sql`t.id`, sql`t.reason`];
  const operator = [sql`t.intent_id`, sql`t.session_id`, sql`t.account_id`, emailIn('t.account_id')];
  return {
    where: [sql<boolean>`t.kind <> 'card'`, ...equals('t.account_id', accountId)],
    checks: [
      ...equals('t.state', state),
      ...equals('t.kind', kind),
      ...searched(search, accountId === undefined ? [...ids, ...operator] : ids),
    ],
  };
}

export function searched(search: string | undefined, columns: Parameters<typeof anyContains>[1]) {
  return search === undefined ? [] : [anyContains(search, columns)];
}
