import type { Selectable, Transaction } from 'kysely';
import { OPERATOR } from '../outbox/events.ts';
import type { Notices } from '../outbox/notices.ts';
import { formatUsd, nanoUsd, toUsdNumber } from '../std/money.ts';
import type { Schema } from '../store/schema.ts';
import type { PaymentTable } from '../store/schema-services.ts';

export type PaymentNotices = Pick<Notices, 'mail' | 'event'>;
type ToldPayment = Pick<Selectable<PaymentTable>, 'id' | 'account_id' | 'amount' | 'kind'>;

/** The receipt, in the transaction that marks the payment as paid. */
export async function tellPaid(
  tx: Transaction<Schema>,
  notices: PaymentNotices,
  payment: ToldPayment,
  paidAt: number,
): Promise<void> {
  const amount = dollars(payment.amount);
  const balance = await balanceOf(tx, payment.account_id);
  const template = payment.kind === 'automatic' ? 'top-up.done' : 'payment.receipt';
  const data = { amount, credited: amount, balance, paidAt, reference: payment.id };
  await notices.mail(tx, { accountId: payment.account_id, template, data, once: `payment:${payment.id}` });
}

/** A saved card that could not be charged: to its owner, and as an event to the operator. */
export async function tellFailed(
  tx: Transaction<Schema>,
  notices: PaymentNotices,
  payment: ToldPayment,
  reason: string,
): Promise<void> {
  const { id, account_id: accountId } = payment;
  const once = `payment failed:${id}`;
  const texts = { amount: dollars(payment.amount), balance: await balanceOf(tx, accountId), reason };
  await notices.mail(tx, { accountId, template: 'top-up.failed', data: texts, once });
  const data = { account: accountId, payment: id, amount_usd: toUsdNumber(nanoUsd(payment.amount)), reason };
  await notices.event(tx, { accountId: OPERATOR, type: 'payment.failed', data, once });
}

/** Money went back to the card, so it is no longer charged by itself. */
export async function tellStopped(
  tx: Transaction<Schema>,
  notices: PaymentNotices,
  stopped: {
    readonly accountId: string;
    readonly kind: 'refund' | 'dispute';
    readonly reversalId: string;
  },
): Promise<void> {
  const { accountId, kind, reversalId } = stopped;
  const once = `top-up stopped:${reversalId}`;
  const data = { isDisputed: kind === 'dispute' };
  await notices.mail(tx, { accountId, template: 'top-up.stopped', data, once });
}

async function balanceOf(tx: Transaction<Schema>, accountId: string): Promise<string> {
  const { balance } = await tx
    .selectFrom('account')
    .select('balance')
    .where('id', '=', accountId)
    .executeTakeFirstOrThrow();
  return dollars(Math.max(0, balance));
}

function dollars(amount: number): string {
  return `$${formatUsd(nanoUsd(amount))}`;
}
