import type { HttpRoute } from '../http/router.ts';
import { json, PLAIN_ERRORS } from '../http/response.ts';
import { Payments } from '../payments/payments.ts';
import type { PeriodicTask } from './periodic-tasks.ts';
import type { Services } from './services.ts';

/** Absent while the operator has set no keys; only then is Stripe's package loaded. */
export async function openPayments(services: Services): Promise<Payments | undefined> {
  const { config, store, ledger, clock, random, log, notices } = services;
  if (!config.stripe) return undefined;
  const { StripeProvider } = await import('../payments/stripe/stripe-provider.ts');
  const provider = new StripeProvider({ ...config.stripe, now: () => clock.now() });
  return new Payments({ store, ledger: ledger.ledger, provider, clock, random, log, notices });
}

/** Stripe's events have a few kilobytes. */
const MAX_BYTES = 262_144;

/**
 * The address that Stripe sends its events to. They come without a session or a token: the signature is what
 * authenticates them.
 */
export function paymentRoutes(payments: Payments | undefined): HttpRoute[] {
  if (!payments) return [];
  return [
    {
      method: 'POST',
      path: '/webhooks/stripe',
      door: 'signed',
      body: { kind: 'signed', maxBytes: MAX_BYTES },
      errors: PLAIN_ERRORS,
      async handle({ request, requestId, body }) {
        const bytes = await body.signed();
        const signature = request.headers.get('stripe-signature') ?? '';
        await payments.receive(new TextDecoder().decode(bytes), signature);
        return json({ received: true }, requestId);
      },
    },
  ];
}

export function paymentTasks(payments: Payments | undefined): PeriodicTask[] {
  if (!payments) return [];
  return [
    { name: 'automatic top-ups', everyMs: 1_000, run: (stopping) => payments.runAutomatic(stopping) },
    { name: 'owed refunds', everyMs: 1_000, run: (stopping) => payments.takeOwed(stopping) },
    { name: 'missed payment events', everyMs: 30_000, run: (stopping) => payments.fetchMissed(stopping) },
    { name: 'old payments', everyMs: 600_000, run: () => payments.sweep() },
  ];
}
