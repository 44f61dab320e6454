import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import * as fc from 'fast-check';
import { newRequestId, type RequestId } from '../../std/ids.ts';
import {
  addAccount,
  chatAdmission,
  FAILED,
  used,
  type LedgerHarness,
  type MakeHarness,
  type TestAccount,
} from './contract-harness.ts';

const RUNS = Number(process.env['TOLLGATE_RETENTION_RUNS'] ?? 40);
const TIMEOUT_MS = 300_000;
const DAY_MS = 86_400_000;

/**
 * Random histories of credits, charges, refunds and days that leave at any moment, against books that are kept here: a
 * plain list of what happened, added up again after every step, in big integers and without any code of the ledger.
 */
export function retentionModel(name: string, makeHarness: MakeHarness): void {
  describe(`${name} lets receipts leave`, () => {
    let harness: LedgerHarness;
    beforeAll(async () => {
      harness = await makeHarness();
    }, TIMEOUT_MS);
    afterAll(() => harness.close());

    test(
      `in ${RUNS} random histories without a change of any sum, invariants checked after every step`,
      () =>
        fc.assert(
          fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), async (steps) => {
            await harness.reset();
            const kept = await KeptBooks.open(harness);
            for (const one of steps) {
              await kept.run(one);
              await kept.compare();
            }
          }),
          { numRuns: RUNS },
        ),
      TIMEOUT_MS,
    );
  });
}

const number = fc.nat(1_000);
const step = fc.oneof(
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('credit' as const), who: number, amount: number }) },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('charge' as const),
      who: number,
      output: fc.nat(1_500),
      wrongHours: fc.constantFrom(0, 0, 0, -30, 30, -2_000),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('void' as const), who: number }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('open' as const), who: number }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('close' as const), which: number, output: fc.nat(900) }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('refund' as const), which: number }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('wait' as const), days: fc.integer({ min: 1, max: 40 }) }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('archive' as const),
      which: number,
      together: fc.constantFrom(1, 2, 500),
    }),
  },
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

interface KeptRequest {
  readonly id: RequestId;
  readonly owner: TestAccount;
  readonly day: string;
  charged: bigint;
  isOpen: boolean;
  hasLeft: boolean;
  isRefunded: boolean;
}

class KeptBooks {
  readonly #harness: LedgerHarness;
  readonly #owners: readonly TestAccount[];
  readonly #requests: KeptRequest[] = [];
  readonly #credits = new Map<string, bigint>();
  #refunds = 0;

  static async open(harness: LedgerHarness): Promise<KeptBooks> {
    return new KeptBooks(harness, [await addAccount(harness, 50_000), await addAccount(harness, 9_000)]);
  }

  private constructor(harness: LedgerHarness, owners: readonly TestAccount[]) {
    this.#harness = harness;
    this.#owners = owners;
    for (const [place, { id }] of owners.entries()) this.#credits.set(id, place === 0 ? 50_000n : 9_000n);
  }

  async run(one: Step): Promise<void> {
    const ledger = this.#harness.ledger();
    switch (one.kind) {
      case 'credit': {
        const { id } = this.#owner(one.who);
        await ledger.post({ accountId: id, kind: 'credit', amount: one.amount + 1, cause: 'x', actor: 'x' });
        this.#credits.set(id, (this.#credits.get(id) ?? 0n) + BigInt(one.amount + 1));
        return;
      }
      case 'charge': {
        const request = await this.#admit(this.#owner(one.who), one.wrongHours);
        if (request) await this.#settle(request, one.output);
        return;
      }
      case 'open':
        await this.#admit(this.#owner(one.who), 0);
        return;
      case 'void': {
        const request = await this.#admit(this.#owner(one.who), 0);
        if (!request) return;
        await ledger.void(request.id, FAILED);
        request.isOpen = false;
        return;
      }
      case 'close': {
        const open = this.#requests.filter(({ isOpen }) => isOpen);
        const request = open[one.which % open.length];
        if (request) await this.#settle(request, one.output);
        return;
      }
      case 'refund':
        return this.#refund(one.which);
      case 'wait':
        return this.#wait(one.days);
      case 'archive':
        return this.#archive(one.which, one.together);
    }
  }

  /** Everything that the database says, against the list. */
  async compare(): Promise<void> {
    const { db } = this.#harness.store;
    const rows = await db.selectFrom('account').selectAll().where('role', '=', 'user').execute();
    const entries = await db.selectFrom('entry').select(['account_id', 'amount', 'kind']).execute();
    const receipts = await db.selectFrom('receipt').select(['id', 'account_id', 'charged']).execute();
    const days = await db.selectFrom('usage_day').select(['account_id', 'day', 'charged']).execute();
    for (const { id } of this.#owners) {
      const own = this.#requests.filter(({ owner }) => owner.id === id);
      const charged = sum(own.map((request) => request.charged));
      const expected = (this.#credits.get(id) ?? 0n) - charged;
      const booked = sum(entries.filter((row) => row.account_id === id).map(({ amount }) => BigInt(amount)));
      const there = sum(receipts.filter((row) => row.account_id === id).map((row) => BigInt(row.charged)));
      expect(BigInt(rows.find((row) => row.id === id)?.balance ?? -1)).toBe(expected);
      expect(booked - there).toBe(expected);
      for (const day of new Set(own.filter(({ isOpen }) => !isOpen).map((request) => request.day))) {
        const ofDay = days.filter((row) => row.account_id === id && String(row.day) === day);
        expect(sum(ofDay.map((row) => BigInt(row.charged)))).toBe(
          sum(own.filter((request) => request.day === day).map((request) => request.charged)),
        );
      }
    }
    const staying = this.#requests.filter(({ isOpen, hasLeft }) => !isOpen && !hasLeft);
    expect(receipts.map(({ id }) => id).toSorted()).toEqual(staying.map(({ id }) => id as string).toSorted());
    for (const full of [false, true]) {
      const { breaches } = await this.#harness.ledger().verify({ full });
      // These histories leave holds open for days, which I7 rightly names.
      expect(breaches.filter(({ invariant }) => invariant !== 'I7')).toEqual([]);
    }
  }

  #owner(place: number): TestAccount {
    const owner = this.#owners[place % this.#owners.length];
    if (!owner) throw new Error('there are no accounts');
    return owner;
  }

  async #admit(owner: TestAccount, wrongHours: number): Promise<KeptRequest | undefined> {
    const now = await this.#harness.now();
    const requestId = newRequestId(now + wrongHours * 3_600_000);
    const admission = await this.#harness.ledger().admit(chatAdmission(owner, { requestId }));
    if (admission.kind !== 'admitted') return undefined;
    // The store says when it was admitted; a day may have begun since.
    const { created_at } = await this.#harness.store.db
      .selectFrom('hold')
      .select('created_at')
      .where('id', '=', requestId)
      .executeTakeFirstOrThrow();
    const request = {
      id: requestId,
      owner,
      day: new Date(created_at).toISOString().slice(0, 10).replaceAll('-', ''),
      charged: 0n,
      isOpen: true,
      hasLeft: false,
      isRefunded: false,
    };
    this.#requests.push(request);
    return request;
  }

  /** Two nano-USD per output token, and never more than what was held. */
  async #settle(request: KeptRequest, output: number): Promise<void> {
    const { held } = await this.#harness.ledger().settle(request.id, used({ output }));
    const cost = 2n * BigInt(output);
    request.charged = cost < BigInt(held) ? cost : BigInt(held);
    request.isOpen = false;
  }

  async #refund(which: number): Promise<void> {
    const paid = this.#requests.filter(({ charged, isRefunded }) => charged > 0n && !isRefunded);
    const request = paid[which % paid.length];
    if (!request) return;
    const { owner, id, charged } = request;
    await this.#harness.ledger().post({
      accountId: owner.id,
      kind: 'refund',
      amount: Number(charged),
      cause: 'x',
      actor: 'x',
      requestId: id,
      once: `refund:${++this.#refunds}:${id}`,
    });
    request.isRefunded = true;
    this.#credits.set(owner.id, (this.#credits.get(owner.id) ?? 0n) + charged);
  }

  /** Requests that run on are renewed, as their node would. */
  async #wait(days: number): Promise<void> {
    await this.#harness.advance(days * DAY_MS);
    const open = this.#requests.filter(({ isOpen }) => isOpen);
    await this.#harness.ledger().renew(open.map(({ id }) => ({ requestId: id, delivered: used({}).usage })));
  }

  async #archive(which: number, together: number): Promise<void> {
    const request = this.#requests[which % this.#requests.length];
    if (!request) return;
    const { owner, day } = request;
    const ofDay = this.#requests.filter((one) => one.owner === owner && one.day === day);
    const result = await this.#harness.ledger().archive({ accountId: owner.id, day: Number(day) }, together);
    const closed = ofDay.filter(({ isOpen }) => !isOpen);
    const today = new Date(await this.#harness.now()).toISOString().slice(0, 10).replaceAll('-', '');
    if (closed.length === 0) expect(result).toEqual({ kind: 'refused', reason: 'no_requests' });
    else if (closed.some(({ hasLeft }) => hasLeft)) expect(result.kind).toBe('refused');
    else if (day === today) expect(result).toEqual({ kind: 'refused', reason: 'not_over' });
    else if (closed.length < ofDay.length) expect(result).toEqual({ kind: 'refused', reason: 'open_hold' });
    else {
      const charged = Number(sum(ofDay.map((one) => one.charged)));
      expect(result).toMatchObject({ kind: 'archived', requests: ofDay.length });
      expect(result.kind === 'archived' && Number(result.charged)).toBe(charged);
      for (const one of ofDay) one.hasLeft = true;
    }
  }
}

function sum(amounts: readonly bigint[]): bigint {
  return amounts.reduce((total, amount) => total + amount, 0n);
}
