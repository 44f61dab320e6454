import { z } from 'zod';
import type { ReversalStage } from '../../ledger/reclaim.ts';
import type { PaymentFact, ProviderEvent } from '../port.ts';

/**
 * Stripe's events in our words. The fields are those of https://docs.stripe.com/api/events/types; whatever else an event
 * holds is not looked at, so that a newer version of the API does not stop payments.
 */
export function providerEvent(event: unknown): ProviderEvent {
  const { id, type, created, data } = eventSchema.parse(event);
  const read = READERS.get(type);
  const base = { id, type, createdSeconds: created, objectId: data.object.id };
  if (!read) return { ...base, facts: [] };
  try {
    return { ...base, facts: read(data.object, type) };
  } catch (error) {
    if (!(error instanceof z.ZodError)) throw error;
    return { ...base, facts: [], unreadable: z.prettifyError(error).slice(0, MAX_REASON) };
  }
}

const MAX_REASON = 200;
const idSchema = z.string().min(1).max(255);

const eventSchema = z.object({
  id: idSchema,
  type: z.string().max(100),
  created: z.number().int().nonnegative(),
  data: z.object({ object: z.looseObject({ id: idSchema }) }),
});

/** Where our own id of a payment is in an object of Stripe's; other objects are not ours. */
export const PAYMENT_KEY = 'tollgate_payment';
export const ACCOUNT_KEY = 'tollgate_account';

const metadata = z
  .object({ [PAYMENT_KEY]: idSchema.optional(), [ACCOUNT_KEY]: idSchema.optional() })
  .nullish();
/** An id, or the object where it was expanded. */
const reference = z.union([idSchema, z.object({ id: idSchema }).transform(({ id }) => id)]);
const cents = z.number().int().nonnegative();

const sessionSchema = z.object({
  mode: z.string(),
  payment_status: z.string(),
  payment_intent: reference.nullish(),
  amount_total: cents.nullish(),
  currency: z.string().nullish(),
  client_reference_id: z.string().nullish(),
  metadata,
});

const intentSchema = z.object({
  id: idSchema,
  amount_received: cents,
  currency: z.string(),
  payment_method: reference.nullish(),
  setup_future_usage: z.string().nullish(),
  last_payment_error: z.object({ code: z.string().nullish(), decline_code: z.string().nullish() }).nullish(),
  metadata,
});

const setupSchema = z.object({ payment_method: reference, metadata });

const reversalSchema = z.object({
  id: idSchema,
  amount: cents,
  currency: z.string(),
  payment_intent: reference.nullish(),
  status: z.string().nullish(),
});

type Reader = (object: unknown, type: string) => readonly PaymentFact[];

const READERS = new Map<string, Reader>([
  ['checkout.session.completed', readPaidSession],
  ['checkout.session.async_payment_succeeded', readPaidSession],
  ['checkout.session.async_payment_failed', (object) => readUnpaidSession(object, 'payment_failed')],
  ['checkout.session.expired', (object) => readUnpaidSession(object, 'expired')],
  ['payment_intent.succeeded', readPaidIntent],
  ['payment_intent.payment_failed', readFailedIntent],
  ['payment_intent.canceled', readFailedIntent],
  ['setup_intent.succeeded', readSavedCard],
  ['refund.created', readRefund],
  ['refund.updated', readRefund],
  ['refund.failed', readRefund],
  ['charge.refund.updated', readRefund],
  ['charge.dispute.created', readDispute],
  ['charge.dispute.updated', readDispute],
  ['charge.dispute.closed', readDispute],
  ['charge.dispute.funds_withdrawn', readDispute],
  ['charge.dispute.funds_reinstated', readDispute],
]);

/** What is asked of the list of events, and what the operator selects for the webhook. */
export const EVENT_TYPES: readonly string[] = [...READERS.keys()];

/** A session that completed may still wait for its money; one that saves a card has none. */
function readPaidSession(object: unknown): PaymentFact[] {
  const session = sessionSchema.parse(object);
  const paymentId = session.metadata?.[PAYMENT_KEY];
  if (paymentId === undefined || session.mode !== 'payment' || session.payment_status !== 'paid') return [];
  const { amount_total, currency, payment_intent } = paidSchema.parse(session);
  const accountId = session.client_reference_id ?? undefined;
  return [{ kind: 'paid', paymentId, intentId: payment_intent, cents: amount_total, currency, accountId }];
}

const paidSchema = z.object({ amount_total: cents, currency: z.string(), payment_intent: idSchema });

function readUnpaidSession(object: unknown, reason: string): PaymentFact[] {
  const paymentId = sessionSchema.parse(object).metadata?.[PAYMENT_KEY];
  return paymentId === undefined ? [] : [{ kind: 'not_paid', paymentId, reason }];
}

function readPaidIntent(object: unknown): PaymentFact[] {
  const intent = intentSchema.parse(object);
  const paymentId = intent.metadata?.[PAYMENT_KEY];
  if (paymentId === undefined) return [];
  const paid: PaymentFact = {
    kind: 'paid',
    paymentId,
    intentId: intent.id,
    cents: intent.amount_received,
    currency: intent.currency,
    accountId: intent.metadata?.[ACCOUNT_KEY],
  };
  const methodId = intent.payment_method ?? undefined;
  if (intent.setup_future_usage !== 'off_session' || methodId === undefined) return [paid];
  return [paid, { kind: 'card_saved', paymentId, methodId }];
}

function readFailedIntent(object: unknown, type: string): PaymentFact[] {
  const { last_payment_error: error, metadata: ours } = intentSchema.parse(object);
  const paymentId = ours?.[PAYMENT_KEY];
  if (paymentId === undefined) return [];
  const fallback = type === 'payment_intent.canceled' ? 'canceled' : 'payment_failed';
  return [{ kind: 'not_paid', paymentId, reason: reasonWord(error?.decline_code ?? error?.code, fallback) }];
}

/** The provider's word for a failure, such as `insufficient_funds`; anything else is not shown to anybody. */
export function reasonWord(word: string | null | undefined, fallback: string): string {
  return typeof word === 'string' && /^[a-z_]{1,60}$/.test(word) ? word : fallback;
}

function readSavedCard(object: unknown): PaymentFact[] {
  const { payment_method: methodId, metadata: ours } = setupSchema.parse(object);
  const paymentId = ours?.[PAYMENT_KEY];
  return paymentId === undefined ? [] : [{ kind: 'card_saved', paymentId, methodId }];
}

/** https://docs.stripe.com/refunds: a refund that failed or was canceled has not left. */
const REFUND_STAGES: Readonly<Record<string, ReversalStage>> = {
  pending: 'gone',
  requires_action: 'gone',
  succeeded: 'gone',
  failed: 'returned',
  canceled: 'returned',
};

function readRefund(object: unknown): PaymentFact[] {
  const refund = reversalSchema.parse(object);
  return readReversal('refund', refund, REFUND_STAGES[refund.status ?? 'pending']);
}

/** https://docs.stripe.com/disputes/how-disputes-work: an inquiry (`warning_…`) takes no money. */
const DISPUTE_STAGES: Readonly<Record<string, ReversalStage>> = {
  needs_response: 'gone',
  under_review: 'gone',
  appeal_needs_response: 'gone',
  appeal_under_review: 'gone',
  lost: 'lost',
  won: 'returned',
  prevented: 'returned',
};

function readDispute(object: unknown, type: string): PaymentFact[] {
  const dispute = reversalSchema.parse(object);
  const reinstated = type === 'charge.dispute.funds_reinstated';
  return readReversal('dispute', dispute, reinstated ? 'returned' : DISPUTE_STAGES[dispute.status ?? '']);
}

function readReversal(
  reversal: 'refund' | 'dispute',
  { id, payment_intent, amount, currency }: z.output<typeof reversalSchema>,
  stage: ReversalStage | undefined,
): PaymentFact[] {
  // Without a payment intent it is of a charge that was not made by us.
  if (stage === undefined || payment_intent === null || payment_intent === undefined || amount === 0)
    return [];
  return [
    { kind: 'reversed', reversalId: id, reversal, intentId: payment_intent, cents: amount, currency, stage },
  ];
}
