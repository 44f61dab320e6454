import type { HttpRoute } from '../http/router.ts';
import { json } from '../http/response.ts';
import { Payments } from '../payments/payments.ts';
import { readBounded } from '../std/bounded-body.ts';
import { Fault } from '../std/fault.ts';
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
/** Anybody can post to this address. */
const MOST_AT_ONCE = 100;

/**
 * The address that Stripe sends its events to. They come without a session or a token: the signature is what
 * authenticates them.
 */
export function paymentRoutes(payments: Payments | undefined): HttpRoute[] {
  if (!payments) return [];
  let running = 0;
  return [
    {
      method: 'POST',
      path: '/webhooks/stripe',
      async handle({ request, requestId }) {
        if (running >= MOST_AT_ONCE)
          throw new Fault('service_unavailable', 'Too many events at once. Send it again.', {
            retryAfterMs: 1_000,
          });
        running++;
        try {
          const body = await readBounded(request, MAX_BYTES, tooLarge);
          const signature = request.headers.get('stripe-signature') ?? '';
          await payments.receive(new TextDecoder().decode(body), signature);
          return json({ received: true }, requestId);
        } finally {
          running--;
        }
      },
    },
  ];
}

function tooLarge(size: string): Fault {
  return new Fault('request_too_large', `The event has ${size}; at most ${MAX_BYTES} are allowed.`);
}

export function paymentTasks(payments: Payments | undefined): PeriodicTask[] {
  if (!payments) return [];
  return [
    { name: 'automatic top-ups', everyMs: 1_000, run: (stopping) => payments.runAutomatic(stopping) },
    { name: 'missed payment events', everyMs: 30_000, run: (stopping) => payments.fetchMissed(stopping) },
    { name: 'old payments', everyMs: 600_000, run: () => payments.sweep() },
  ];
}
