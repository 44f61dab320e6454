import { expect } from 'bun:test';
import * as fc from 'fast-check';
import { Fault } from '../../std/fault.ts';
import { DAY_MS, monthOf, periodStart } from '../../std/calendar.ts';
import type { TokenHash } from '../../std/ids.ts';
import { nanoUsd } from '../../std/money.ts';
import {
  chatAdmission,
  FAILED,
  FREE,
  IMAGE_PRICE,
  refusal,
  TOKEN_PRICE,
  used,
  WIDE,
  type LedgerHarness,
} from './contract-harness.ts';
import { bookRefund, newRefund } from './contract-reclaim.ts';
import type { Reference, ReferenceAccount, ReferenceHold, ReferenceRefund } from './model-reference.ts';
import { LARGEST_BALANCE, type ExpectedDecision } from './model-rules.ts';
import type { Admission, AdmissionRequest, RateState, Settled } from '../port.ts';
import type { Usage } from '../price.ts';

/** Everything that can happen to the books, in any order. */
export function modelCommands(): fc.Arbitrary<ModelCommand>[] {
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
    fc.tuple(index, amount).map(([n, a]) => step(`post ${n} ${a}`, (m, h) => post(m, h, m.wallet(n), a))),
    ...refundCommands(index),
    fc
      .tuple(index, fc.option(fc.nat(6_000)))
      .map(([n, l]) => step(`limit ${n} ${l}`, (m, h) => limit(m, h, m.wallet(n), l))),
    fc
      .tuple(index, fc.option(fc.nat(9_000)), fc.constantFrom('day' as const, 'total' as const))
      .map(([n, b, per]) =>
        step(`budget ${n} ${b} a ${per}`, (m, h) =>
          budget(m, h, m.account(n), b === null ? undefined : { amount: b, per }),
        ),
      ),
    fc.constant(step('a day passes', aDayPasses)),
    index.map((n) => step(`rotate ${n}`, (m, h) => rotate(m, h, m.account(n)))),
    fc
      .tuple(index, shape)
      .map(([n, w]) => step(`storm ${n} ${w.name}`, (m, h) => storm(m, h, m.account(n), w))),
    fc.constant(step('wait', (m, h) => wait(m, h, WAIT_MS))),
    fc.constant(step('expire what is overdue', expireOverdue)),
    fc.constant(step('expire everything', expireAll)),
    fc.constant(step('crash', crash)),
  ];
}

/** Each refund once, then again and again while something of it is owed, and some of them fail. Money moves in between. */
function refundCommands(index: fc.Arbitrary<number>): fc.Arbitrary<ModelCommand>[] {
  const part = fc.oneof(fc.integer({ min: 1, max: 9_000 }), fc.constantFrom(2_100, 5_000, 40_000));
  return [
    fc
      .tuple(index, part)
      .map(([n, a]) => step(`refund ${n} ${a}`, (m, h) => newModelRefund(m, h, m.wallet(n), a))),
    fc.constant(step('take what is owed', takeOwed)),
    index.map((n) => step(`refund ${n} fails`, (m, h) => failRefund(m, h, n))),
    fc.tuple(index, part).map(([n, a]) => step(`move ${n} ${a}`, (m, h) => moveSome(m, h, n, a))),
  ];
}

export type ModelCommand = fc.AsyncCommand<Reference, LedgerHarness>;

function step(name: string, run: (model: Reference, harness: LedgerHarness) => Promise<void>): ModelCommand {
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
  expect(
    rows.map((row) => [row.id, row.balance, row.held, row.owed, row.open_holds, row.month_spent]),
  ).toEqual(
    expected.map(({ id, balance, held, owed, openHolds, monthSpent }) => [
      id,
      Number(balance),
      Number(held),
      Number(owed),
      openHolds,
      Number(monthSpent),
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
      counting: fc.constantFrom(undefined, undefined, 'if_dear' as const, 'first' as const),
      leastShare: fc.constantFrom(undefined, 256, 8_192),
    })
    .map((counts) => ({
      name: JSON.stringify(counts),
      request: {
        price: TOKEN_PRICE,
        ceiling: { kind: 'tokens', input: counts.input, output: counts.output, choices: counts.choices },
        counting: counts.counting,
        leastShare: counts.leastShare,
      },
    })),
  fc.integer({ min: 1, max: 4 }).map((images) => ({
    name: `${images} images`,
    request: { rate: 'images', price: IMAGE_PRICE, ceiling: { kind: 'images', images } },
  })),
  fc.constant({ name: 'free', request: { price: FREE } }),
);

const usage: fc.Arbitrary<Usage> = fc
  .record({ input: fc.nat(300), cached: fc.nat(300), output: fc.nat(2_500), images: fc.nat(5) })
  .map((counts) => ({ ...counts, cached: Math.min(counts.input, counts.cached), reasoning: 0 }));

const amount = fc.oneof(
  fc.integer({ min: -3_000, max: 6_000 }),
  fc.constantFrom(Number(LARGEST_BALANCE), -Number(LARGEST_BALANCE), Number.MAX_SAFE_INTEGER),
);

/**
 * Few at once, and a rate of images that is soon used up. Where the clock is the database's, real time passes as well:
 * with a request every 20 seconds and waits of 50, ten seconds of it change no decision.
 */
const LIMITS = { ...WIDE, chatPerMinute: 60_000_000, imagesPerMinute: 3, concurrent: 8 };
const WAIT_MS = 50_000;
const REAL_TIME_MS = 10_000;

function requestOf(account: ReferenceAccount, { request }: Shape): AdmissionRequest {
  return chatAdmission(account, { ...request, limits: LIMITS });
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
  expectDecided(admission, model.admit(account, request));
  expect(BigInt(admission.available)).toBe(model.available(account));
}

function expectDecided(admission: Admission, decision: ExpectedDecision): void {
  if (decision.kind === 'admit') {
    const { hold, output } = decision;
    expect(admission).toMatchObject({ kind: 'admitted', held: Number(hold), output });
  } else {
    const { reason, required, retryAfterMs, limit: reached } = decision;
    expect(admission).toMatchObject({ kind: 'refused', reason, required: Number(required) });
    expect(refusal(admission).limit).toBe(reached);
    expectAbout(refusal(admission).retryAfterMs, retryAfterMs);
  }
  const { limit, remaining, resetMs } = admission.rate ?? NO_RATE;
  expect(limit).toBe(decision.rate.limit);
  // The rate of chats is whole again within microseconds.
  if (limit !== LIMITS.imagesPerMinute) return;
  expect(remaining).toBe(decision.rate.remaining);
  expectAbout(resetMs, decision.rate.resetMs);
}

const NO_RATE: RateState = { limit: -1, remaining: -1, resetMs: -1 };

/** Time that really passed is no longer waited for. */
function expectAbout(actualMs: number | undefined, dueMs: number | undefined): void {
  if (actualMs === undefined || dueMs === undefined) return expect(actualMs).toBe(dueMs);
  expect(actualMs).toBeLessThanOrEqual(dueMs);
  expect(actualMs).toBeGreaterThan(dueMs - REAL_TIME_MS);
}

/** Equal requests at once: which ones are admitted does not matter, how many and with which holds does. */
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
      model.holds.set(request.requestId, model.newHold(account, request, BigInt(answer.held)));
  }
}

async function settle(model: Reference, harness: LedgerHarness, index: number, spent: Usage): Promise<void> {
  const hold = model.pick(index);
  if (!hold) return;
  const settled = await harness.ledger().settle(hold.id, used(spent));
  model.close(hold, 'posted', spent);
  expectSettled(settled, hold);
  expect(BigInt(settled.available)).toBe(model.available(hold.account));
}

async function voidOne(model: Reference, harness: LedgerHarness, index: number): Promise<void> {
  const hold = model.pick(index);
  if (!hold) return;
  const settled = await harness.ledger().void(hold.id, FAILED);
  model.close(hold, 'void', hold.delivered);
  expectSettled(settled, hold);
  expect(BigInt(settled.available)).toBe(model.available(hold.account));
}

/** The first closing decides; the reference follows it, and all callers must get the same result. */
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
  const { state, charged, held } = hold;
  expect(settled).toMatchObject({ state, charged: Number(charged), held: Number(held) });
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
  model.renew(hold, delivered);
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
  if (model.post(account, value)) expect(result).toBe(Number(account.balance));
  else expect(result).toBeInstanceOf(Fault);
}

let moves = 0;

async function moveSome(
  model: Reference,
  harness: LedgerHarness,
  index: number,
  value: number,
): Promise<void> {
  const [from, to] = model.twoWallets(index);
  const texts = { outCause: 'model', inCause: 'model', actor: 'model' };
  const move = { id: `model:${++moves}`, fromId: from.id, toId: to.id, amount: nanoUsd(value), ...texts };
  const result = await harness
    .ledger()
    .move(move)
    .catch((thrown: unknown) => thrown);
  if (model.move(from, to, BigInt(value))) expect(result).toBeUndefined();
  else expect(result).toBeInstanceOf(Fault);
}

async function newModelRefund(
  model: Reference,
  harness: LedgerHarness,
  account: ReferenceAccount,
  value: number,
): Promise<void> {
  const reclaim = await newRefund(harness, account, value);
  const amounts = { amount: BigInt(value), taken: 0n, lost: 0n };
  const refund = { reclaim, account, ...amounts, debts: new Map(), came: new Map(), isReturned: false };
  model.refund(refund);
  await expectReclaimed(harness, refund);
}

/** Several at once ask for the same. */
async function expectReclaimed(harness: LedgerHarness, refund: ReferenceRefund): Promise<void> {
  const { reclaim, taken, lost, debts } = refund;
  const owed = [...debts.values()].reduce((sum, one) => sum + one, 0n);
  const ledger = harness.ledger();
  const answers = await Promise.all([ledger.reclaim(reclaim), ledger.reclaim(reclaim)]);
  const due = { taken: nanoUsd(Number(taken)), lost: nanoUsd(Number(lost)), owed: nanoUsd(Number(owed)) };
  expect(answers).toEqual([due, due]);
  await bookRefund(harness, reclaim, due);
}

async function takeOwed(model: Reference, harness: LedgerHarness): Promise<void> {
  for (const refund of model.refunds) {
    if (refund.isReturned) continue;
    model.refundAgain(refund);
    await expectReclaimed(harness, refund);
  }
}

async function failRefund(model: Reference, harness: LedgerHarness, index: number): Promise<void> {
  const refund = model.refunds[index % Math.max(1, model.refunds.length)];
  if (!refund) return;
  const result = await harness
    .ledger()
    .giveBack(refund.reclaim)
    .catch((thrown: unknown) => thrown);
  if (!model.refundFailed(refund)) return expect(result).toBeInstanceOf(Fault);
  expect(result).toEqual({ taken: Number(refund.taken), lost: Number(refund.lost) });
}

async function limit(
  model: Reference,
  harness: LedgerHarness,
  account: ReferenceAccount,
  monthly: number | null,
): Promise<void> {
  account.monthlyLimit = monthly === null ? undefined : BigInt(monthly);
  await harness.store.db
    .updateTable('account')
    .set({ monthly_limit: monthly })
    .where('id', '=', account.id)
    .execute();
}

async function budget(
  _: Reference,
  harness: LedgerHarness,
  account: ReferenceAccount,
  wanted: { readonly amount: number; readonly per: 'day' | 'total' } | undefined,
): Promise<void> {
  account.limit = wanted && { amount: BigInt(wanted.amount), per: wanted.per };
  await harness.ledger().setBudget({
    accountId: account.id,
    budget: wanted && { amount: nanoUsd(wanted.amount), per: wanted.per },
  });
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
  // Whether an overdue hold is charged as settled or as expired depends on which comes first.
  await expireOverdue(model, harness);
  const ledger = harness.ledger();
  const wallet = account.team ?? account;
  const open = model.pending().filter((hold) => hold.account === account);
  const requests = Array.from({ length: 6 }, () => requestOf(account, wanted));
  const spent: Usage = { input: 0, cached: 0, output: 40, reasoning: 0, images: 0 };
  const [admissions, closed, credited] = await Promise.all([
    Promise.all(requests.map((request) => ledger.admit(request))),
    Promise.all(
      open.map((hold, n) =>
        n % 2 === 0 ? ledger.settle(hold.id, used(spent)) : ledger.void(hold.id, FAILED),
      ),
    ),
    ledger
      .post({ accountId: wallet.id, kind: 'credit', amount: 77, cause: 'model', actor: 'model' })
      // An account at the largest balance takes no credit until something was charged.
      .then(
        () => true,
        () => false,
      ),
    ledger.expire(),
  ]);
  if (credited) wallet.balance += 77n;
  for (const [position, request] of requests.entries()) {
    const admission = admissions[position];
    if (admission?.kind === 'admitted') model.openAs(account, request, BigInt(admission.held));
  }
  for (const [position, hold] of open.entries()) {
    model.close(hold, position % 2 === 0 ? 'posted' : 'void', spent);
    const settled = closed[position];
    if (settled) expectSettled(settled, hold);
  }
}

/** Never two waits without a sweep: a hold that stays open for a minute after its lease is itself a breach. */
async function wait(model: Reference, harness: LedgerHarness, ms: number): Promise<void> {
  if (model.overdue().length > 0) await expireOverdue(model, harness);
  await harness.advance(ms);
  model.pass(ms);
}

async function expireOverdue(model: Reference, harness: LedgerHarness): Promise<void> {
  const overdue = model.overdue();
  expect(await harness.ledger().expire()).toBe(overdue.length);
  for (const hold of overdue) model.expire(hold);
}

/** What was admitted before is over by then, or its node would have renewed it for a day. */
async function aDayPasses(model: Reference, harness: LedgerHarness): Promise<void> {
  await expireAll(model, harness);
  const now = await harness.now();
  const ms = periodStart('day', now) + DAY_MS + DAY_MS / 2 - now;
  if (monthOf(now) !== monthOf(now + ms)) return;
  await harness.advance(ms);
  model.pass(ms);
  model.day++;
}

async function expireAll(model: Reference, harness: LedgerHarness): Promise<void> {
  await wait(model, harness, harness.leaseMs + 1_000);
  expect(model.overdue()).toEqual(model.pending());
  await expireOverdue(model, harness);
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
