import { expect } from 'bun:test';
import * as fc from 'fast-check';
import { dayOf } from '../../std/calendar.ts';
import { nanoUsd } from '../../std/money.ts';
import { EVERYBODY } from '../decide.ts';
import type { Attempt } from '../port.ts';
import { bookBill, type BilledAttempts } from '../provider-bill.ts';
import {
  accountRow,
  addAccount,
  chatAdmission,
  expectSound,
  FAILED,
  hold,
  requestRow,
  used,
  type ContractCheck,
  type LedgerHarness,
  type TestAccount,
} from './contract-harness.ts';

/** What a provider's bill says of attempts that failed, and what the books make of it. */
export function billCases(check: ContractCheck): void {
  bookingCases(check);
  boundCases(check);
  endpointCases(check);
  repeatedCases(check);
  anyBillCases(check);
  guardCases(check);
}

const AT = 1_900_000_000_000;

async function bill(
  harness: LedgerHarness,
  amounts: Readonly<Record<string, number>>,
  backends: readonly string[] = ['b', 'c'],
): Promise<BilledAttempts[]> {
  return await bookBill(harness.store, {
    day: dayOf(await harness.now()),
    amounts: new Map(Object.entries(amounts)),
    nameOf: (backend, model) => (backends.includes(backend) ? model : undefined),
    cause: 'costs.json',
    actor: 'test',
    at: AT,
  });
}

function failed(upstream: string, amount: number): Attempt {
  const cost = { amount: nanoUsd(amount), basis: 'possible' } as const;
  return { upstream, result: 'failed', reason: 'timeout', durationMs: 1, cost };
}

function served(upstream: string, amount: number): Attempt {
  const cost = { amount: nanoUsd(amount), basis: 'priced' } as const;
  return { upstream, result: 'served', durationMs: 1, cost };
}

/** One served after `b` failed, and one that neither `b` nor `c` served: they may cost 42 and 3. */
async function failedDay(harness: LedgerHarness) {
  const account = await addAccount(harness, 100_000);
  const one = await hold(harness, chatAdmission(account));
  const attempts = [failed('b', 40), served('a', 7)];
  await harness.ledger().settle(one, used({ output: 5 }, { upstream: 'a', attempts }));
  const two = await hold(harness, chatAdmission(account));
  await harness.ledger().void(two, { ...FAILED, upstream: 'b', attempts: [failed('b', 2), failed('c', 3)] });
  return { account, ids: [one, two] as const };
}

async function backendSums(harness: LedgerHarness): Promise<[string, number, number][]> {
  const rows = await harness.store.db.selectFrom('backend_day').selectAll().orderBy('backend').execute();
  return rows.map((row) => [row.backend, row.cost, row.possible_cost]);
}

async function usageSums(harness: LedgerHarness, account: string): Promise<[number, number, number]> {
  const rows = await harness.store.db
    .selectFrom('usage_day')
    .selectAll()
    .where('account_id', '=', account)
    .execute();
  const sum = (of: (row: (typeof rows)[number]) => number): number =>
    rows.reduce((total, row) => total + of(row), 0);
  return [sum((row) => row.cost), sum((row) => row.possible_cost), sum((row) => row.costed)];
}

function bookingCases(check: ContractCheck): void {
  check(
    'a provider’s bill makes known what failed attempts cost; receipts and money stay as they are',
    async (harness) => {
      const { account, ids } = await failedDay(harness);
      const receipts = await Promise.all(ids.map((id) => requestRow(harness, id)));
      const before = await accountRow(harness, account);
      expect(await bill(harness, { m: 20 })).toEqual([{ name: 'm', atMost: 45, billed: 20 }]);
      // 20 of 45, by what each could have cost.
      expect(await backendSums(harness)).toEqual([
        ['a', 7, 0],
        ['b', 18, 0],
        ['c', 2, 0],
      ]);
      expect(await usageSums(harness, EVERYBODY)).toEqual([27, 0, 10]);
      expect(await usageSums(harness, account.id)).toEqual([7, 45, 10]);
      expect(await Promise.all(ids.map((id) => requestRow(harness, id)))).toEqual(receipts);
      expect(await accountRow(harness, account)).toEqual(before);
      const entries = await harness.store.db
        .selectFrom('cost_entry')
        .selectAll()
        .orderBy('backend')
        .execute();
      expect(entries).toMatchObject([
        {
          backend: 'b',
          model: 'm',
          cost: 18,
          possible_cost: -42,
          cause: 'costs.json',
          actor: 'test',
          created_at: AT,
        },
        { backend: 'c', model: 'm', cost: 2, possible_cost: -3 },
      ]);
      await expectSound(harness);
    },
  );
}

function boundCases(check: ContractCheck): void {
  check(
    'of a bill only what our books do not know is for failed attempts, and at most what is possible',
    async (harness) => {
      await failedDay(harness);
      const all = ['a', 'b', 'c'];
      // The 7 of the request that was served are known.
      expect(await bill(harness, { m: 7 }, all)).toEqual([{ name: 'm', atMost: 45, billed: 0 }]);
      expect(await bill(harness, { m: 3 }, all)).toEqual([{ name: 'm', atMost: 45, billed: 0 }]);
      expect(await bill(harness, { m: 51 }, all)).toEqual([{ name: 'm', atMost: 45, billed: 44 }]);
      expect(await bill(harness, { m: 900 }, all)).toEqual([{ name: 'm', atMost: 45, billed: 45 }]);
      expect(await usageSums(harness, EVERYBODY)).toEqual([52, 0, 10]);
      await expectSound(harness);
    },
  );

  check('what is not of the provider, or not in its bill, stays possible', async (harness) => {
    await failedDay(harness);
    expect(await bill(harness, { other: 20 })).toEqual([]);
    expect(await bill(harness, { m: 1 }, ['c'])).toEqual([{ name: 'm', atMost: 3, billed: 1 }]);
    expect(await backendSums(harness)).toEqual([
      ['a', 7, 0],
      ['b', 0, 42],
      ['c', 1, 0],
    ]);
    await expectSound(harness);
  });

  check('sums that were added up for the day have it too', async (harness) => {
    await failedDay(harness);
    const day = dayOf(await harness.now());
    for (const endpoint of ['partner_chat', ''])
      await harness.store.db
        .insertInto('usage_total')
        .values({ account_id: EVERYBODY, day, endpoint, requests: 2, cost: 7, possible_cost: 45 })
        .execute();
    await bill(harness, { m: 20 });
    const totals = await harness.store.db
      .selectFrom('usage_total')
      .select(['cost', 'possible_cost'])
      .execute();
    expect(totals).toEqual([
      { cost: 27, possible_cost: 0 },
      { cost: 27, possible_cost: 0 },
    ]);
    await harness.store.db.deleteFrom('usage_total').execute();
  });
}

function endpointCases(check: ContractCheck): void {
  check(
    'a cost goes to the endpoint whose requests failed, not to another one of the model',
    async (harness) => {
      const account = await addAccount(harness, 100_000);
      // In the order of their names, the endpoint without failed attempts is the first.
      const fine = await hold(harness, chatAdmission(account, { endpoint: 'a_chat' }));
      await harness.ledger().settle(fine, used({ output: 5 }, { upstream: 'a', attempts: [served('a', 7)] }));
      const broken = await hold(harness, chatAdmission(account));
      await harness.ledger().void(broken, { ...FAILED, upstream: 'b', attempts: [failed('b', 40)] });
      await bill(harness, { m: 20 });
      const rows = await harness.store.db
        .selectFrom('usage_day')
        .select(['endpoint', 'cost'])
        .where('account_id', '=', EVERYBODY)
        .orderBy('endpoint')
        .execute();
      expect(rows).toEqual([
        { endpoint: 'a_chat', cost: 7 },
        { endpoint: 'partner_chat', cost: 20 },
      ]);
      await expectSound(harness);
    },
  );
}

function repeatedCases(check: ContractCheck): void {
  check('a bill is booked once, however often, and another takes its place', async (harness) => {
    await failedDay(harness);
    await bill(harness, { m: 20 });
    const entries = harness.store.db.selectFrom('cost_entry').select('id');
    const first = await entries.execute();
    expect(await bill(harness, { m: 20 })).toEqual([{ name: 'm', atMost: 45, billed: 20 }]);
    expect(await entries.execute()).toEqual(first);
    expect(await bill(harness, { m: 9 })).toEqual([{ name: 'm', atMost: 45, billed: 9 }]);
    expect(await usageSums(harness, EVERYBODY)).toEqual([16, 0, 10]);
    expect(await backendSums(harness)).toEqual([
      ['a', 7, 0],
      ['b', 8, 0],
      ['c', 1, 0],
    ]);
    await expectSound(harness);
  });

  check('booked by two at once, a bill is booked once', async (harness) => {
    await failedDay(harness);
    await Promise.all([bill(harness, { m: 20 }), bill(harness, { m: 20 }), bill(harness, { m: 20 })]);
    expect(await usageSums(harness, EVERYBODY)).toEqual([27, 0, 10]);
    await expectSound(harness);
  });

  check(
    'a request that ends after the bill was booked is possible again, until the next',
    async (harness) => {
      const { account } = await failedDay(harness);
      await bill(harness, { m: 20 });
      const late = await hold(harness, chatAdmission(account));
      await harness.ledger().void(late, { ...FAILED, upstream: 'b', attempts: [failed('b', 100)] });
      expect(await usageSums(harness, EVERYBODY)).toEqual([27, 100, 10]);
      expect(await bill(harness, { m: 30 })).toEqual([{ name: 'm', atMost: 145, billed: 30 }]);
      expect(await usageSums(harness, EVERYBODY)).toEqual([37, 0, 10]);
      await expectSound(harness);
    },
  );
}

const BACKENDS = ['a', 'b', 'c'] as const;
const MODELS = ['m', 'n'] as const;

const anyRequest = fc.record({
  account: fc.nat({ max: 1 }),
  endpoint: fc.constantFrom('partner_chat', 'other_chat'),
  model: fc.constantFrom(...MODELS),
  failed: fc.array(fc.record({ upstream: fc.constantFrom(...BACKENDS), amount: fc.nat({ max: 1_000 }) }), {
    maxLength: 3,
  }),
  served: fc.option(fc.record({ upstream: fc.constantFrom(...BACKENDS), amount: fc.nat({ max: 300 }) }), {
    nil: undefined,
  }),
});
const anyBill = fc.record({
  backends: fc.subarray([...BACKENDS], { minLength: 1 }),
  amounts: fc.dictionary(fc.constantFrom(...MODELS), fc.nat({ max: 4_000 })),
});
type AnyRequest = typeof anyRequest extends fc.Arbitrary<infer Value> ? Value : never;
type AnyBill = typeof anyBill extends fc.Arbitrary<infer Value> ? Value : never;

function anyBillCases(check: ContractCheck): void {
  check(
    'whatever failed and whatever is billed, in any order, the books are those of the last bill',
    async (harness) => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(anyRequest, { minLength: 1, maxLength: 8 }),
          fc.array(anyBill, { minLength: 1, maxLength: 4 }),
          async (requests, bills) => {
            await harness.reset();
            const accounts = [await addAccount(harness, 1_000_000), await addAccount(harness, 1_000_000)];
            for (const request of requests) await perform(harness, accounts, request);
            const expected = new ExpectedCosts(requests);
            for (const one of bills) {
              await bill(harness, one.amounts, one.backends);
              expected.bill(one);
              expect(await costsOf(harness)).toEqual(expected.sums());
              await expectSound(harness);
            }
          },
        ),
        { numRuns: 25 },
      );
    },
  );
}

async function perform(
  harness: LedgerHarness,
  accounts: readonly TestAccount[],
  request: AnyRequest,
): Promise<void> {
  const account = accounts[request.account];
  if (!account) throw new Error('no such account');
  const { endpoint, model } = request;
  const id = await hold(harness, chatAdmission(account, { endpoint, model }));
  const attempts = request.failed.map(({ upstream, amount }) => failed(upstream, amount));
  if (request.served) {
    const { upstream, amount } = request.served;
    await harness
      .ledger()
      .settle(id, used({ output: 5 }, { upstream, attempts: [...attempts, served(upstream, amount)] }));
  } else await harness.ledger().void(id, { ...FAILED, upstream: 'a', attempts });
}

/** What is known and possible, by model; and that nothing is below zero anywhere. */
async function costsOf(harness: LedgerHarness): Promise<Record<string, [known: number, possible: number]>> {
  const { db } = harness.store;
  const backends = await db.selectFrom('backend_day').select(['model', 'cost', 'possible_cost']).execute();
  const usage = await db
    .selectFrom('usage_day')
    .select(['model', 'cost', 'possible_cost'])
    .where('account_id', '=', EVERYBODY)
    .execute();
  const [one, other] = [backends, usage].map((rows) => {
    const sums: Record<string, [number, number]> = {};
    for (const { model, cost, possible_cost } of rows) {
      expect([cost >= 0, possible_cost >= 0]).toEqual([true, true]);
      const [known, possible] = sums[model] ?? [0, 0];
      sums[model] = [known + cost, possible + possible_cost];
    }
    return sums;
  });
  expect(one).toEqual(other ?? {});
  return one ?? {};
}

/** The same by plain arithmetic on the requests themselves: what each backend could have billed, and what it did. */
class ExpectedCosts {
  readonly #requests: readonly AnyRequest[];
  /** By model and backend; absent: its failed attempts were not billed. */
  readonly #amounts = new Map<string, number>();

  constructor(requests: readonly AnyRequest[]) {
    this.#requests = requests;
  }

  #served(model: string, backend: string): number {
    const own = this.#requests.filter((one) => one.model === model && one.served?.upstream === backend);
    return own.reduce((sum, one) => sum + (one.served?.amount ?? 0), 0);
  }

  #possible(model: string, backend: string): number {
    const own = this.#requests.filter((one) => one.model === model).flatMap((one) => one.failed);
    return own.filter(({ upstream }) => upstream === backend).reduce((sum, { amount }) => sum + amount, 0);
  }

  bill({ backends, amounts }: AnyBill): void {
    for (const [model, amount] of Object.entries(amounts)) {
      const known = backends.reduce((sum, backend) => sum + this.#served(model, backend), 0);
      const atMost = backends.reduce((sum, backend) => sum + this.#possible(model, backend), 0);
      const billed = Math.min(atMost, Math.max(0, amount - known));
      // A backend's part ends where the parts up to it, as fractions of the whole, are cut off.
      let before = 0;
      for (const backend of BACKENDS.filter((one) => backends.includes(one))) {
        const until = before + this.#possible(model, backend);
        const share = atMost === 0 ? 0 : cut(until, billed, atMost) - cut(before, billed, atMost);
        before = until;
        if (atMost > 0) this.#amounts.set(`${model} ${backend}`, share);
      }
    }
  }

  sums(): Record<string, [number, number]> {
    const sums: Record<string, [number, number]> = {};
    for (const model of MODELS.filter((name) => this.#requests.some((one) => one.model === name))) {
      let [known, possible] = [0, 0];
      for (const backend of BACKENDS) {
        const billed = this.#amounts.get(`${model} ${backend}`);
        known += this.#served(model, backend) + (billed ?? 0);
        if (billed === undefined) possible += this.#possible(model, backend);
      }
      sums[model] = [known, possible];
    }
    return sums;
  }
}

function cut(part: number, billed: number, whole: number): number {
  return Math.floor((part * billed) / whole);
}

function guardCases(check: ContractCheck): void {
  check(
    'what was booked from a bill cannot be changed, and a sum that is not what was booked is a breach of I8',
    async (harness) => {
      await failedDay(harness);
      await bill(harness, { m: 20 });
      const { db } = harness.store;
      expect(db.updateTable('cost_entry').set({ cost: 0 }).execute()).rejects.toThrow(/append-only/);
      expect(db.deleteFrom('cost_entry').execute()).rejects.toThrow(/append-only/);
      await expectSound(harness);
      await harness.corrupt(`UPDATE cost_entry SET cost = cost + 1 WHERE backend = 'b'`);
      expect((await harness.ledger().verify({ full: true })).breaches).toMatchObject([{ invariant: 'I8' }]);
    },
  );
}
