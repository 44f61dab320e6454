import type { Outcome } from '../../src/ledger/port.ts';
import type { Price } from '../../src/ledger/price.ts';
import { ROUTES, type Route } from './traffic.ts';

type Random = () => number;

const CLIENTS = [
  'OpenAI/Python 2.1.0',
  'OpenAI/JS 6.2.0',
  'Anthropic/Python 0.71.0',
  'claude-cli/2.0.31',
  'curl/8.5.0',
  'python-requests/2.32.3',
];
/** How many of the models one account uses; the busy one sells them on and uses many. */
const USED = 40;
const USED_BY_BUSY = 500;
/** Of a thousand requests with a known cost, those that cost more than they brought. */
const LOSSES = 0.001;

/** Traffic as a large installation has it: thousands of models of which each account uses some, mostly the same few. */
export class Variety {
  readonly routes: readonly Route[];

  constructor(models: number) {
    this.routes = Array.from({ length: models }, (_, number) => ({
      endpoint: seededEndpoint(number),
      model: seededModel(number),
      price: priceOf(number),
      share: 0,
    }));
  }

  route(account: number, random: Random): Route {
    const used = account === 0 ? USED_BY_BUSY : USED;
    // Squared twice: a few models get most of the requests, and every one gets some.
    const number = (account * 173 + Math.floor(random() ** 4 * used)) % this.routes.length;
    const route = random() < 0.3 ? ROUTES[Math.floor(random() * ROUTES.length)] : this.routes[number];
    if (!route) throw new RangeError('no routes');
    return route;
  }

  outcome(random: Random): Outcome {
    const roll = random();
    if (roll < 0.015) return 'upstream_failed';
    if (roll < 0.02) return 'shed';
    if (roll < 0.03) return 'client_left';
    return 'completed';
  }

  client(random: Random): string {
    return CLIENTS[Math.floor(random() ** 2 * CLIENTS.length)] ?? '';
  }

  /** Unknown for some. */
  cost(charged: number, random: Random): number | undefined {
    const roll = random();
    if (roll < LOSSES) return charged * 2 + 1;
    return roll < 0.9 ? Math.floor(charged * 0.7) : undefined;
  }
}

export function seededModel(number: number): string {
  return `vendor-${number % 40}/model-${number}`;
}

export function seededEndpoint(number: number): string {
  return ['svc_chat', 'partner_chat', 'svcv1_chat'][number % 3] ?? '';
}

function priceOf(number: number): Price {
  const input = (1 + (number % 50)) * 100_000_000;
  return { kind: 'tokens', input, cachedInput: input / 10, output: input * 4 };
}
