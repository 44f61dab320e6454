import { expect } from 'bun:test';
import * as fc from 'fast-check';
import { Fault } from '../std/fault.ts';
import type { TokenHash } from '../std/ids.ts';
import { MAX_BALANCE, nanoUsd } from '../std/money.ts';
import {
  ask,
  FAILED,
  FREE,
  IMAGE_PRICE,
  refusal,
  TOKEN_PRICE,
  used,
  WIDE,
  type LedgerHarness,
} from './contract-harness.ts';
import type { AdmissionRequest, Settled } from './port.ts';
import { NO_USAGE, type Usage } from './price.ts';
import type { Reference, ReferenceAccount, ReferenceHold } from './model-reference.ts';

/** Everything that can happen to the books, in any order. */
export function modelCommands(): fc.Arbitrary<Command>[] {
  const index = fc.nat(1_000);
  return [
    fc
      .tuple(index, shape)
      .map(([n, wanted]) => step(`admit ${n} ${wanted.name}`, (m, h) => admitOne(m, h, n, wanted))),
    fc
      .tuple(index, shape, fc.integer({ min: 2, max: 12 }))
      .map(([n, wanted, times]) =>
        step(`admit ${n} ${wanted.name} ×${times} at once`, (m, h) =>
          admitMany(m, h, m.account(n), { wanted, times }),
        ),
      ),
    fc
      .tuple(index, usage)
      .map(([n, u]) => step(`settle ${n} ${JSON.stringify(u)}`, (m, h) => settle(m, h, n, u))),
    index.map((n) => step(`void ${n}`, (m, h) => voidOne(m, h, n))),
    fc
      .tuple(index, usage)
      .map(([n, u]) => step(`close ${n} four times at once`, (m, h) => closeAtOnce(m, h, n, u))),
    fc
      .tuple(index, usage)
      .map(([n, u]) => step(`renew ${n} ${JSON.stringify(u)}`, (m, h) => renew(m, h, n, u))),
    fc.tuple(index, amount).map(([n, a]) => step(`post ${n} ${a}`, (m, h) => post(m, h, m.account(n), a))),
    fc
      .tuple(index, fc.option(fc.nat(6_000)))
      .map(([n, l]) => step(`limit ${n} ${l}`, (m, h) => limit(m, h, m.account(n), l))),
    index.map((n) => step(`rotate ${n}`, (m, h) => rotate(m, h, m.account(n)))),
    fc
      .tuple(index, shape)
      .map(([n, w]) => step(`storm ${n} ${w.name}`, (m, h) => storm(m, h, m.account(n), w))),
    fc.constant(step('expire', expire)),
    fc.constant(step('expire too early', expireEarly)),
    fc.constant(step('crash', crash)),
  ];
}

export type Command = fc.AsyncCommand<Reference, LedgerHarness>;

function step(name: string, run: (model: Reference, harness: LedgerHarness) => Promise<void>): Command {
  return {
    check: () => true,
    toString: () => name,
    async run(model, harness) {
      await run(model, harness);
      await compare(model, harness);
    },
  };
}

/** The whole state against the reference, and every invariant. */
async function compare(model: Reference, harness: LedgerHarness): Promise<void> {
  const rows = await harness.store.db
    .selectFrom('account')
    .selectAll()
    .where('role', '=', 'user')
    .orderBy('id')
    .execute();
  const expected = model.accounts.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  expect(rows.map((row) => [row.id, row.balance, row.held, row.open_holds, row.month_spent])).toEqual(
    expected.map((account) => [
      account.id,
      account.balance,
      account.held,
      account.openHolds,
      account.monthSpent,
    ]),
  );
  expect((await harness.ledger().verify()).breaches).toEqual([]);
}

interface Shape {
  readonly name: string;
  readonly request: Partial<AdmissionRequest>;
}

const shape = fc.oneof<fc.Arbitrary<Shape>[]>(
  fc
    .record({
      input: fc.nat(300),
      output: fc.integer({ min: 1, max: 2_000 }),
      choices: fc.integer({ min: 1, max: 3 }),
    })
    .map((counts) => ({
      name: JSON.stringify(counts),
      request: {
        price: TOKEN_PRICE,
        ceiling: { kind: 'tokens', input: counts.input, output: counts.output, choices: counts.choices },
      },
    })),
  fc.integer({ min: 1, max: 4 }).map((images) => ({
    name: `${images} images`,
    request: { price: IMAGE_PRICE, ceiling: { kind: 'images', images } },
  })),
  fc.constant({ name: 'free', request: { price: FREE } }),
);

const usage: fc.Arbitrary<Usage> = fc
  .record({ input: fc.nat(300), cached: fc.nat(300), output: fc.nat(2_500), images: fc.nat(5) })
  .map(({ input, cached, output, images }) =>
    Object.assign({ ...NO_USAGE }, { input, cached: Math.min(input, cached), output, images }),
  );

const amount = fc.oneof(
  fc.integer({ min: -3_000, max: 6_000 }),
  fc.constantFrom(MAX_BALANCE, 0 - MAX_BALANCE, Number.MAX_SAFE_INTEGER),
);

/** Few at once, and a rate that no history reaches: the database's clock is not the model's. */
const LIMITS = { ...WIDE, chatPerMinute: 60_000_000, concurrent: 8 };

function requestOf(account: ReferenceAccount, { request }: Shape): AdmissionRequest {
  return ask(account, { ...request, limits: LIMITS });
}

async function admitOne(
  model: Reference,
  harness: LedgerHarness,
  index: number,
  wanted: Shape,
): Promise<void> {
  const account = model.account(index);
  if (account.replaced) {
    const old = requestOf({ ...account, hash: account.replaced }, wanted);
    expect(refusal(await harness.ledger().admit(old)).reason).toBe('invalid_token');
  }
  const request = requestOf(account, wanted);
  const admission = await harness.ledger().admit(request);
  const decision = model.admit(account, request);
  if (decision.kind === 'admit') {
    expect(admission).toMatchObject({ kind: 'admitted', held: decision.hold, output: decision.output });
  } else {
    const { reason, required, retryAfterMs } = decision;
    expect(admission).toMatchObject({ kind: 'refused', reason, required, retryAfterMs });
  }
}

/** Equal requests at once: who gets in does not matter, how many and with what does. */
async function admitMany(
  model: Reference,
  harness: LedgerHarness,
  account: ReferenceAccount,
  { wanted, times }: { wanted: Shape; times: number },
): Promise<void> {
  const requests = Array.from({ length: times }, () => requestOf(account, wanted));
  const answers = await Promise.all(requests.map((request) => harness.ledger().admit(request)));
  const got = answers.map((answer) =>
    answer.kind === 'admitted' ? `${answer.held} ${answer.output}` : answer.reason,
  );
  const due = requests.map((request) => {
    const decision = model.admit(account, request);
    return decision.kind === 'admit' ? `${decision.hold} ${decision.output}` : decision.reason;
  });
  expect(got.toSorted()).toEqual(due.toSorted());
  // The reference took them in order; the ledger may have chosen others of the same kind.
  for (const request of requests) model.holds.delete(request.requestId);
  for (const [position, answer] of answers.entries()) {
    const request = requests[position];
    if (answer.kind === 'admitted' && request)
      model.holds.set(request.requestId, pendingHold(account, request, answer.held));
  }
}

function pendingHold(account: ReferenceAccount, request: AdmissionRequest, held: number): ReferenceHold {
  const { requestId: id, price } = request;
  return {
    id,
    account,
    price,
    held: nanoUsd(held),
    state: 'pending',
    charged: nanoUsd(0),
    delivered: NO_USAGE,
  };
}

async function settle(model: Reference, harness: LedgerHarness, index: number, spent: Usage): Promise<void> {
  const hold = model.pick(index);
  if (!hold) return;
  const settled = await harness.ledger().settle(hold.id, used(spent));
  model.close(hold, 'posted', spent);
  expectSettled(settled, hold);
}

async function voidOne(model: Reference, harness: LedgerHarness, index: number): Promise<void> {
  const hold = model.pick(index);
  if (!hold) return;
  const settled = await harness.ledger().void(hold.id, FAILED);
  model.close(hold, 'void', NO_USAGE);
  expectSettled(settled, hold);
}

/** Whoever comes first decides; the reference follows, and everyone must have heard the same. */
async function closeAtOnce(
  model: Reference,
  harness: LedgerHarness,
  index: number,
  spent: Usage,
): Promise<void> {
  const hold = model.pick(index);
  if (!hold) return;
  const ledger = harness.ledger();
  const results = await Promise.all([
    ledger.settle(hold.id, used(spent)),
    ledger.void(hold.id, FAILED),
    ledger.settle(hold.id, used(spent)),
    ledger.void(hold.id, FAILED),
  ]);
  model.close(hold, results[0].state === 'void' ? 'void' : 'posted', spent);
  for (const result of results) expectSettled(result, hold);
}

function expectSettled(settled: Settled, hold: ReferenceHold): void {
  expect(settled).toMatchObject({ state: hold.state, charged: hold.charged, held: hold.held });
}

async function renew(
  model: Reference,
  harness: LedgerHarness,
  index: number,
  delivered: Usage,
): Promise<void> {
  const hold = model.pick(index);
  if (!hold) return;
  await harness.ledger().renew([{ requestId: hold.id, delivered }]);
  if (hold.state === 'pending') hold.delivered = delivered;
}

async function post(
  model: Reference,
  harness: LedgerHarness,
  account: ReferenceAccount,
  value: number,
): Promise<void> {
  const posting = harness
    .ledger()
    .post({ accountId: account.id, kind: 'adjustment', amount: value, cause: 'model', actor: 'model' })
    .then(({ balance }) => balance)
    .catch((thrown: unknown) => thrown);
  const result = await posting;
  if (model.post(account, value)) expect(result).toBe(account.balance);
  else expect(result).toBeInstanceOf(Fault);
}

async function limit(
  model: Reference,
  harness: LedgerHarness,
  account: ReferenceAccount,
  monthly: number | null,
): Promise<void> {
  account.monthlyLimit = monthly === null ? undefined : nanoUsd(monthly);
  await harness.store.db
    .updateTable('account')
    .set({ monthly_limit: monthly })
    .where('id', '=', account.id)
    .execute();
}

let rotations = 0;

async function rotate(_: Reference, harness: LedgerHarness, account: ReferenceAccount): Promise<void> {
  account.replaced = account.hash;
  account.hash = `rotated-${++rotations}` as TokenHash;
  await harness.store.db
    .updateTable('account')
    .set({ token_hash: account.hash })
    .where('id', '=', account.id)
    .execute();
}

/** Everything at once on one account. The order is the ledger's; what it answered must add up. */
async function storm(
  model: Reference,
  harness: LedgerHarness,
  account: ReferenceAccount,
  wanted: Shape,
): Promise<void> {
  const ledger = harness.ledger();
  const open = model.pending().filter((hold) => hold.account === account);
  const requests = Array.from({ length: 6 }, () => requestOf(account, wanted));
  const spent: Usage = { ...NO_USAGE, output: 40 };
  const [admissions, closed, credited] = await Promise.all([
    Promise.all(requests.map((request) => ledger.admit(request))),
    Promise.all(
      open.map((hold, n) =>
        n % 2 === 0 ? ledger.settle(hold.id, used(spent)) : ledger.void(hold.id, FAILED),
      ),
    ),
    ledger
      .post({ accountId: account.id, kind: 'credit', amount: 77, cause: 'model', actor: 'model' })
      // An account at the largest balance takes no credit until something was charged.
      .then(
        () => true,
        () => false,
      ),
    ledger.expire(),
  ]);
  if (credited) account.balance = nanoUsd(account.balance + 77);
  for (const [position, request] of requests.entries()) {
    const admission = admissions[position];
    if (admission?.kind === 'admitted') model.open(account, request, admission.held);
  }
  for (const [position, hold] of open.entries()) {
    model.close(hold, position % 2 === 0 ? 'posted' : 'void', spent);
    const settled = closed[position];
    if (settled) expectSettled(settled, hold);
  }
}

async function expire(model: Reference, harness: LedgerHarness): Promise<void> {
  await harness.advance(harness.leaseMs + 1_000);
  const open = model.pending();
  expect(await harness.ledger().expire()).toBe(open.length);
  for (const hold of open) model.expire(hold);
}

async function expireEarly(_: Reference, harness: LedgerHarness): Promise<void> {
  expect(await harness.ledger().expire()).toBe(0);
}

/** A start may close old holds at once or leave them to their leases; either way each closes by what was delivered. */
async function crash(model: Reference, harness: LedgerHarness): Promise<void> {
  await harness.crash();
  const rows = await harness.store.db.selectFrom('request').select(['id', 'state', 'charged']).execute();
  expect(rows).toHaveLength(model.holds.size);
  for (const row of rows) {
    const hold = model.holds.get(row.id);
    if (hold?.state === 'pending' && row.state !== 'pending') model.expire(hold);
    expect(row).toMatchObject({ state: hold?.state ?? 'unknown', charged: Number(hold?.charged) });
  }
}
