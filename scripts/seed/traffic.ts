import type { Insertable } from 'kysely';
import type { Ending, Outcome } from '../../src/ledger/port.ts';
import { cacheSaving } from '../../src/ledger/cache-saving.ts';
import { costOf } from '../../src/ledger/price.ts';
import type { Price, Usage } from '../../src/ledger/price.ts';
import { detailText, isFailure } from '../../src/ledger/decide.ts';
import { DAY_MS, dayOf, monthOf } from '../../src/std/calendar.ts';
import { newAccountId, newRequestId } from '../../src/std/ids.ts';
import { OUTCOME_CODES, PROMPT_MS, SOURCE_CODES, STATE_CODES } from '../../src/store/receipt-codes.ts';
import type { Schema } from '../../src/store/schema.ts';
import { SEED_BACKEND, type SeedNumbers } from './numbers.ts';
import type { Variety } from './variety.ts';

export type Row<Table extends keyof Schema> = Insertable<Schema[Table]>;

interface Options {
  readonly requests: number;
  readonly accounts: number;
  readonly days: number;
  readonly now: number;
  /** Of all requests, those of the first account; half of them if absent. */
  readonly busyShare?: number | undefined;
  /** Absent: a few models, one client and one way to fail, as tests expect them. */
  readonly variety?: Variety | undefined;
}

export interface Route {
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

export const ROUTES: readonly Route[] = [
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
  readonly #numbers: SeedNumbers;
  readonly #random = randomSource(42);
  readonly #accounts: { readonly id: string; spent: number; monthSpent: number }[];
  readonly #sums = new Map<string, Row<'usage_day'>>();
  #made = 0;

  constructor(options: Options, numbers: SeedNumbers) {
    this.#options = options;
    this.#numbers = numbers;
    const born = options.now - options.days * DAY_MS;
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
    const born = this.#options.now - this.#options.days * DAY_MS;
    return this.#accounts.map(({ id }, number) => ({
      id,
      email: `seed-${number}@example.com`,
      created_at: born + number,
    }));
  }

  next(count: number): Row<'receipt'>[] {
    return Array.from({ length: count }, () => this.#request());
  }

  /** What everybody paid in, so that nobody is below zero. */
  /** From before the first request. */
  openingCredits(): Row<'entry'>[] {
    const { now, days } = this.#options;
    return this.#accounts.map(({ id, spent }) => ({
      account_id: id,
      kind: 'credit',
      amount: spent + CENTURY_BALANCE,
      cause: 'seed',
      actor: 'seed',
      created_at: now - days * DAY_MS,
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

  #request(): Row<'receipt'> {
    const { requests, days, now } = this.#options;
    const span = days * DAY_MS;
    const at = now - span + Math.floor((this.#made++ / requests) * span);
    const account = this.#account(
      this.#random() < (this.#options.busyShare ?? 0.5)
        ? 0
        : Math.floor(this.#random() * this.#accounts.length),
    );
    const { variety } = this.#options;
    const route = variety?.route(this.#accounts.indexOf(account), this.#random) ?? this.#route();
    const outcome =
      variety?.outcome(this.#random) ?? (this.#random() < FAILURES ? 'upstream_failed' : 'completed');
    const failed = isFailure(outcome);
    const usage = failed ? NOTHING : this.#usage();
    const charged = failed ? 0 : costOf(route.price, usage);
    const cost = failed ? undefined : variety?.cost(charged, this.#random);
    account.spent += charged;
    if (monthOf(at) === monthOf(now)) account.monthSpent += charged;
    this.#addUp(account.id, at, route, { usage, charged, failed, cost });
    this.#addUp('', at, route, { usage, charged, failed, cost });
    return receiptRow({
      numbers: this.#numbers,
      at,
      accountId: account.id,
      route,
      usage,
      charged,
      outcome,
      cost,
      client: variety?.client(this.#random) ?? 'OpenAI/Python 2.1.0',
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
    { endpoint, model, price }: Route,
    done: { usage: Usage; charged: number; failed: boolean; cost: number | undefined },
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
    sum.cost = (sum.cost ?? 0) + (done.cost ?? 0);
    sum.costed = (sum.costed ?? 0) + (done.cost === undefined ? 0 : done.charged);
    sum.saved = (sum.saved ?? 0) + cacheSaving(price, done.usage);
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
  cost: 0,
  costed: 0,
  saved: 0,
};

interface Made {
  readonly at: number;
  readonly accountId: string;
  readonly route: Route;
  readonly usage: Usage;
  readonly charged: number;
  readonly outcome: Outcome;
  readonly cost: number | undefined;
  readonly client: string;
  readonly durationMs: number;
  readonly numbers: SeedNumbers;
}

function receiptRow({
  at,
  accountId,
  route,
  usage,
  charged,
  outcome,
  cost,
  client,
  durationMs,
  numbers,
}: Made): Row<'receipt'> {
  const duration = Math.floor(durationMs);
  const failed = isFailure(outcome);
  const ending: Ending = {
    outcome,
    errorCode: failed ? 'upstream_error' : undefined,
    finishReason: failed ? undefined : 'stop',
    upstream: SEED_BACKEND,
    attempts: [{ upstream: SEED_BACKEND, result: failed ? 'failed' : 'served', durationMs: duration }],
    durationMs: duration,
  };
  return {
    id: newRequestId(at),
    account_id: accountId,
    held: charged + 1_000_000,
    charged,
    overrun: 0,
    created_at: at,
    booked_at: at + duration,
    node: numbers.node,
    price: numbers.price(route.price),
    route: numbers.route(route),
    backend: numbers.backend,
    input_tokens: usage.input,
    cached_tokens: usage.cached,
    output_tokens: usage.output,
    reasoning_tokens: 0,
    images: 0,
    output_cap: 1_024,
    choices: 1,
    first_byte_ms: Math.floor(duration / 4),
    duration_ms: duration,
    state: STATE_CODES[failed ? 'void' : 'posted'],
    outcome: OUTCOME_CODES[ending.outcome],
    source: failed ? null : SOURCE_CODES.upstream,
    stream: 1,
    late: duration > PROMPT_MS ? 1 : 0,
    client,
    detail: detailText(ending),
    cost: cost ?? null,
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
