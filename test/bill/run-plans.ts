import { Gateway, type TestAccount } from '../support/gateway.ts';
import { BillingBackend } from './backend.ts';
import { performPlan, type ClientEnd } from './client.ts';
import { Cues } from './cues.ts';
import type { InvoiceLine } from './invoice.ts';
import { catalogText, pricesOf } from './models.ts';
import type { Plan } from './plan.ts';
import { amountOf } from './prices.ts';
import { bookProviderBills } from './provider-export.ts';

/** What became of one request, on both sides. */
export interface BilledRequest {
  readonly plan: Plan;
  readonly client: ClientEnd;
  readonly lines: readonly InvoiceLine[];
  /** The sum of its lines, each at our prices. */
  readonly invoiced: bigint;
  readonly receipt: Receipt | undefined;
}

export interface Receipt {
  readonly charged: bigint;
  readonly held: bigint;
  readonly overrun: bigint;
  /** What the operator's books say it cost, and may cost. */
  readonly cost: bigint;
  readonly possibleCost: bigint;
  readonly createdAt: number;
  readonly state: string;
  readonly outcome: string | null;
  readonly source: string | null;
  readonly usage: string;
}

export interface BillRun {
  readonly requests: readonly BilledRequest[];
  readonly refusals: readonly string[];
  readonly breaches: readonly unknown[];
  readonly openHolds: number;
  /** Where an export of the invoice is not explained by the books, or not what they say when it is booked. */
  readonly unreconciled: readonly string[];
  /** What each model cost and may cost, in the operator's books, when the provider's bill is booked. */
  readonly booked: ReadonlyMap<string, bigint>;
}

const AT_ONCE = 40;
/** A run that hangs says what it was waiting for. */
const PLAN_TIMEOUT_MS = 150_000;

/** Runs every plan against a gateway of its own on the given store, and reads both books. */
export async function runPlans(plans: readonly Plan[], databaseUrl?: string): Promise<BillRun> {
  const plays = new Map(plans.map((plan) => [plan.id, { plan, cues: new Cues(plan) }]));
  const backend = new BillingBackend('usual', plays);
  const first = new BillingBackend('first', plays);
  const yaml = catalogText({ first: await first.start(), usual: await backend.start() });
  const gateway = await Gateway.start({
    yaml,
    env: { BILL_BACKEND_KEY: 'sk-of-the-operator' },
    ...(databaseUrl === undefined ? {} : { databaseUrl }),
  });
  try {
    const accounts = new Accounts(gateway);
    const ends = await inParallel(plans, async (plan) => {
      const { token } = await accounts.of(plan);
      const cues = plays.get(plan.id)?.cues ?? new Cues(plan);
      return await withinTime(plan, performPlan(plan, gateway.url, token, cues));
    });
    await accounts.settled();
    await untilIdle(backend);
    await untilIdle(first);
    const receipts = await receiptsOf(gateway, await accounts.all());
    const { store, ledger } = gateway.tollgate.services;
    const beforeBills = await ledger.ledger.verify({ full: true });
    const requests = plans.map((plan, index) =>
      billed(plan, ends[index], [...first.invoice, ...backend.invoice], receipts),
    );
    const { faults, booked } = await bookProviderBills(store, requests);
    const { breaches } = await ledger.ledger.verify({ full: true });
    return {
      requests,
      unreconciled: faults,
      booked,
      refusals: [...first.refusals, ...backend.refusals],
      breaches: [...beforeBills.breaches, ...breaches],
      openHolds: await accounts.openHolds(),
    };
  } finally {
    await gateway.stop();
    backend.stop();
    first.stop();
  }
}

export function billed(
  plan: Plan,
  client: ClientEnd | undefined,
  invoice: readonly InvoiceLine[],
  receipts: ReadonlyMap<number, Receipt>,
): BilledRequest {
  const lines = invoice.filter((line) => line.plan === plan.id);
  const prices = pricesOf(plan.model);
  return {
    plan,
    client: client ?? { status: undefined, text: '' },
    lines,
    invoiced: lines.reduce((sum, line) => sum + amountOf(line, prices), 0n),
    receipt: receipts.get(plan.id),
  };
}

/** One account for all, and one of its own for each plan that names its balance. */
class Accounts {
  readonly #gateway: Gateway;
  readonly #common: Promise<TestAccount>;
  readonly #own: TestAccount[] = [];

  constructor(gateway: Gateway) {
    this.#gateway = gateway;
    this.#common = gateway.account('10000');
  }

  async of({ balance }: Plan): Promise<TestAccount> {
    if (balance === undefined) return await this.#common;
    const account = await this.#gateway.account(balance);
    this.#own.push(account);
    return account;
  }

  async all(): Promise<TestAccount[]> {
    return [await this.#common, ...this.#own];
  }

  async settled(): Promise<void> {
    for (const account of await this.all()) await this.#gateway.settled(account);
  }

  async openHolds(): Promise<number> {
    let open = 0;
    for (const account of await this.all()) open += (await this.#gateway.money(account)).open;
    return open;
  }
}

async function receiptsOf(
  gateway: Gateway,
  accounts: readonly TestAccount[],
): Promise<ReadonlyMap<number, Receipt>> {
  const rows = await Promise.all(accounts.map((account) => gateway.requests(account)));
  return receiptsIn(rows.flat());
}

/** By the plan that its client named. */
export function receiptsIn(rows: Awaited<ReturnType<Gateway['requests']>>): ReadonlyMap<number, Receipt> {
  const found = new Map<number, Receipt>();
  for (const row of rows) {
    const id = Number(row.client.replace('bill/', ''));
    if (found.has(id)) throw new Error(`two receipts for plan ${id}`);
    found.set(id, {
      charged: BigInt(row.charged),
      held: BigInt(row.held),
      overrun: BigInt(row.overrun),
      cost: BigInt(row.cost ?? 0),
      possibleCost: BigInt(row.possible_cost),
      createdAt: row.created_at,
      state: row.state,
      outcome: row.outcome,
      source: row.usage_source,
      usage: `${row.usage_source}: ${row.input_tokens}/${row.cached_tokens} in, ${row.output_tokens}/${row.reasoning_tokens} out`,
    });
  }
  return found;
}

async function inParallel<T>(plans: readonly Plan[], run: (plan: Plan) => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  const waiting = plans.entries();
  const workers = Array.from({ length: AT_ONCE }, async () => {
    for (const [index, plan] of waiting) results[index] = await run(plan);
  });
  await Promise.all(workers);
  return results;
}

export async function withinTime<T>(plan: Plan, work: Promise<T>): Promise<T> {
  let timer: Timer | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no end in time: ${describePlan(plan)}`)), PLAN_TIMEOUT_MS);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

export function describePlan({ id, className, dialect, model, streamed, leave }: Plan): string {
  const left = leave === 'never' ? 'read to the end' : `left ${leave}`;
  return `#${id} ${className}, ${dialect}, ${model}, ${streamed ? 'streamed' : 'whole'}, ${left}`;
}

/** The backend learns a moment after the gateway that nobody listens any more. */
export async function untilIdle(backend: BillingBackend): Promise<void> {
  for (let tries = 0; backend.running > 0; tries++) {
    if (tries > 2_000) throw new Error(`the backend still works on ${backend.running} requests`);
    await Bun.sleep(5);
  }
}
