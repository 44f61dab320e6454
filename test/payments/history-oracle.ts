import type { EventObject } from './stripe-objects.ts';

/**
 * What an account should have after a history of events, by rules of its own that are written from the point of view of the
 * money and know nothing of tables: it reads the events as Stripe writes them. A crash ends a delivery after its first
 * booking; whatever was booked stays, and the rest comes with a later delivery.
 */
export class HistoryOracle {
  balance = 0;
  readonly #payments = new Map<string, { credited: boolean; known: boolean; readonly cents: number }>();
  readonly #reversals = new Map<string, Reversal>();

  constructor(payments: ReadonlyMap<string, number>) {
    for (const [intent, cents] of payments)
      this.#payments.set(intent, { credited: false, known: false, cents });
  }

  /** In cents, as far as it did not come back. */
  get lost(): number {
    return [...this.#reversals.values()].reduce((sum, { lost, returned }) => sum + (returned ? 0 : lost), 0);
  }

  deliver({ type, data }: EventObject, crash: boolean): void {
    const object = data.object as unknown as Readonly<Record<string, string | number | null>>;
    const bookings = this.#bookings(type, object);
    for (const _ of bookings) if (crash) return;
  }

  *#bookings(type: string, object: Readonly<Record<string, string | number | null>>): Generator<void> {
    if (type === 'checkout.session.completed') yield* this.#paid(String(object['payment_intent']));
    else if (type === 'payment_intent.succeeded') yield* this.#paid(String(object['id']));
    else {
      const id = String(object['id']);
      const came = cameBack(type, String(object['status']));
      const before = this.#reversals.get(id) ?? {
        cents: Number(object['amount']),
        intent: String(object['payment_intent']),
        cameBack: false,
        taken: undefined,
        lost: 0,
        returned: false,
        isOver: false,
      };
      before.cameBack ||= came;
      this.#reversals.set(id, before);
      yield* this.#reverse(before);
    }
  }

  *#paid(intent: string): Generator<void> {
    const payment = this.#payments.get(intent);
    if (!payment) throw new Error(`no payment ${intent}`);
    if (!payment.credited) this.balance += payment.cents;
    payment.credited = true;
    yield;
    payment.known = true;
    for (const reversal of this.#reversals.values())
      if (reversal.intent === intent && !reversal.isOver) yield* this.#reverse(reversal);
  }

  *#reverse(reversal: Reversal): Generator<void> {
    if (this.#payments.get(reversal.intent)?.known !== true) return;
    if (!reversal.cameBack) {
      if (reversal.taken === undefined) {
        reversal.taken = Math.min(reversal.cents, this.balance);
        reversal.lost = reversal.cents - reversal.taken;
        this.balance -= reversal.taken;
      }
      yield;
      return;
    }
    if (reversal.taken === undefined) return;
    if (!reversal.returned) this.balance += reversal.taken;
    reversal.returned = true;
    yield;
    reversal.isOver = true;
  }
}

interface Reversal {
  readonly cents: number;
  readonly intent: string;
  cameBack: boolean;
  taken: number | undefined;
  lost: number;
  returned: boolean;
  /** It is known to have come back, so nothing looks at it any more. */
  isOver: boolean;
}

function cameBack(type: string, status: string): boolean {
  return type === 'charge.dispute.funds_reinstated' || ['failed', 'canceled', 'won'].includes(status);
}
