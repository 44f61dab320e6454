import type { Insertable } from 'kysely';
import { costOf, type Price, type Usage } from '../../src/ledger/price.ts';
import { dayOf, monthOf } from '../../src/std/calendar.ts';
import { newAccountId, newRequestId } from '../../src/std/ids.ts';
import type { Schema } from '../../src/store/schema.ts';

export type Row<Table extends keyof Schema> = Insertable<Schema[Table]>;

interface Options {
  readonly requests: number;
  readonly accounts: number;
  readonly days: number;
  readonly now: number;
}

interface Route {
  readonly endpoint: string;
  readonly model: string;
  readonly price: Price;
  /** Of a hundred requests. */
  readonly share: number;
}

const tokens = (input: number, cachedInput: number, output: number): Price => ({
  kind: 'tokens',
  input: input * 1_000_000_000,
  cachedInput: cachedInput * 1_000_000_000,
  output: output * 1_000_000_000,
});

const ROUTES: readonly Route[] = [
  { endpoint: 'svc_chat', model: 'house-guide', price: tokens(0.25, 0.025, 2), share: 40 },
  { endpoint: 'svc_chat', model: 'house-echo', price: tokens(0.05, 0.005, 0.4), share: 20 },
  { endpoint: 'svcv1_chat', model: 'house-guide', price: tokens(0.25, 0.025, 2), share: 15 },
  { endpoint: 'svcv3_chat', model: 'house-echo', price: tokens(0.05, 0.005, 0.4), share: 12 },
  { endpoint: 'partner_chat', model: 'gpt-5-mini', price: tokens(0.25, 0.025, 2), share: 8 },
  { endpoint: 'svcv4_chat', model: 'house-guide', price: tokens(0.25, 0.025, 2), share: 4.9 },
  // So rare that a list filtered by it has to look through nearly everything, unless an index knows better.
  { endpoint: 'svcv5_chat', model: 'rarely-used', price: tokens(1, 0.1, 4), share: 0.1 },
];

const FAILURES = 0.02;
const CENTURY_BALANCE = 1_000_000_000_000;

/** Requests in the order of time, and the sums that have to match them. */
export class Traffic {
  readonly #options: Options;
  readonly #random = randomSource(42);
  readonly #accounts: { readonly id: string; spent: number; monthSpent: number }[];
  readonly #sums = new Map<string, Row<'usage_day'>>();
  #made = 0;

  constructor(options: Options) {
    this.#options = options;
    const born = options.now - options.days * 86_400_000;
    this.#accounts = Array.from({ length: options.accounts }, (_, number) => ({
      id: newAccountId(born + number),
      spent: 0,
      monthSpent: 0,
    }));
  }

  get busyAccount(): string {
    return this.#account(0).id;
  }

  accountRows(): Row<'account'>[] {
    const born = this.#options.now - this.#options.days * 86_400_000;
    return this.#accounts.map(({ id }, number) => ({
      id,
      email: `seed-${number}@example.com`,
      created_at: born + number,
    }));
  }

  next(count: number): { requests: Row<'request'>[]; charges: Row<'entry'>[] } {
    const requests: Row<'request'>[] = [];
    const charges: Row<'entry'>[] = [];
    for (let n = 0; n < count; n++) {
      const request = this.#request();
      requests.push(request);
      if (request.state === 'posted') charges.push(chargeOf(request));
    }
    return { requests, charges };
  }

  /** What everybody paid in, so that nobody is below zero. */
  openingCredits(): Row<'entry'>[] {
    return this.#accounts.map(({ id, spent }) => ({
      account_id: id,
      kind: 'credit',
      amount: spent + CENTURY_BALANCE,
      cause: 'seed',
      actor: 'seed',
      created_at: this.#options.now,
    }));
  }

  usageRows(): Row<'usage_day'>[] {
    return [...this.#sums.values()];
  }

  balanceUpdates(): string[] {
    const month = monthOf(this.#options.now);
    return this.#accounts.map(
      ({ id, monthSpent }) =>
        `UPDATE account SET balance = ${CENTURY_BALANCE}, month = ${month}, month_spent = ${monthSpent} WHERE id = '${id}'`,
    );
  }

  #request(): Row<'request'> {
    const { requests, days, now } = this.#options;
    const span = days * 86_400_000;
    const at = now - span + Math.floor((this.#made++ / requests) * span);
    const account = this.#account(
      this.#random() < 0.5 ? 0 : Math.floor(this.#random() * this.#accounts.length),
    );
    const route = this.#route();
    const failed = this.#random() < FAILURES;
    const usage = failed ? NOTHING : this.#usage();
    const charged = failed ? 0 : costOf(route.price, usage);
    account.spent += charged;
    if (monthOf(at) === monthOf(now)) account.monthSpent += charged;
    this.#addUp(account.id, at, route, { usage, charged, failed });
    this.#addUp('', at, route, { usage, charged, failed });
    return requestRow({
      at,
      accountId: account.id,
      route,
      usage,
      charged,
      failed,
      durationMs: 200 + this.#random() * 4_000,
    });
  }

  #account(number: number) {
    const account = this.#accounts[number];
    if (!account) throw new RangeError('there must be at least one account');
    return account;
  }

  #route(): Route {
    let rest = this.#random() * 100;
    const route = ROUTES.find(({ share }) => (rest -= share) < 0) ?? ROUTES[0];
    if (!route) throw new RangeError('no routes');
    return route;
  }

  #usage(): Usage {
    const input = 50 + Math.floor(this.#random() * 3_000);
    const cached = Math.floor(input * this.#random() * 0.5);
    return { input, cached, output: 20 + Math.floor(this.#random() * 800), reasoning: 0, images: 0 };
  }

  #addUp(
    accountId: string,
    at: number,
    { endpoint, model }: Route,
    done: { usage: Usage; charged: number; failed: boolean },
  ): void {
    const day = dayOf(at);
    const key = `${accountId} ${day} ${endpoint} ${model}`;
    const sum = this.#sums.get(key) ?? { account_id: accountId, day, endpoint, model, ...EMPTY };
    sum.requests = (sum.requests ?? 0) + 1;
    sum.failures = (sum.failures ?? 0) + (done.failed ? 1 : 0);
    sum.input_tokens = (sum.input_tokens ?? 0) + done.usage.input;
    sum.cached_tokens = (sum.cached_tokens ?? 0) + done.usage.cached;
    sum.output_tokens = (sum.output_tokens ?? 0) + done.usage.output;
    sum.charged = (sum.charged ?? 0) + done.charged;
    this.#sums.set(key, sum);
  }
}

const NOTHING: Usage = { input: 0, cached: 0, output: 0, reasoning: 0, images: 0 };
const EMPTY = {
  requests: 0,
  failures: 0,
  input_tokens: 0,
  cached_tokens: 0,
  output_tokens: 0,
  reasoning_tokens: 0,
  images: 0,
  charged: 0,
};

interface Made {
  readonly at: number;
  readonly accountId: string;
  readonly route: Route;
  readonly usage: Usage;
  readonly charged: number;
  readonly failed: boolean;
  readonly durationMs: number;
}

function requestRow({ at, accountId, route, usage, charged, failed, durationMs }: Made): Row<'request'> {
  const duration = Math.floor(durationMs);
  return {
    id: newRequestId(at),
    account_id: accountId,
    state: failed ? 'void' : 'posted',
    held: charged + 1_000_000,
    charged,
    overrun: 0,
    node: 'seed',
    lease_until: at,
    kind: 'chat',
    endpoint: route.endpoint,
    model: route.model,
    price: JSON.stringify(route.price),
    input_ceiling: usage.input,
    output_cap: 1_024,
    choices: 1,
    stream: 1,
    client: 'OpenAI/Python 2.1.0',
    created_at: at,
    finished_at: at + duration,
    first_byte_ms: Math.floor(duration / 4),
    duration_ms: duration,
    input_tokens: usage.input,
    cached_tokens: usage.cached,
    output_tokens: usage.output,
    reasoning_tokens: 0,
    images: 0,
    usage_source: failed ? null : 'upstream',
    outcome: failed ? 'upstream_failed' : 'completed',
    error_code: failed ? 'upstream_error' : null,
    finish_reason: failed ? null : 'stop',
    upstream: 'house',
    attempts: JSON.stringify([
      { upstream: 'house', result: failed ? 'failed' : 'served', durationMs: duration },
    ]),
  };
}

function chargeOf(request: Row<'request'>): Row<'entry'> {
  const charged = request.charged ?? 0;
  return {
    account_id: request.account_id,
    kind: 'charge',
    amount: charged === 0 ? 0 : -charged,
    request_id: request.id,
    cause: `${request.endpoint}/${request.model}`,
    actor: 'relay',
    created_at: request.created_at,
  };
}

/** The same numbers each time, so that two runs measure the same thing. */
function randomSource(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 4_294_967_296;
  };
}
