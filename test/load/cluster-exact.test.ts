import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import {
  accountRow,
  addAccount,
  chatAdmission,
  imageAdmission,
  used,
  WIDE,
  type TestAccount,
} from '../../src/ledger/testing/contract-harness.ts';
import type { Admission, AdmissionRequest } from '../../src/ledger/port.ts';
import type { PostgresLedger } from '../../src/ledger/postgres/ledger.ts';
import type { TokenHash } from '../../src/std/ids.ts';
import { postgresHarness, type PostgresHarness } from '../support/postgres-ledger.ts';

const REPETITIONS = 20;
const ROTATIONS = 100;
const TRIES_PER_ROTATION = 500;
const PATIENCE_MS = 120_000;

describe('three nodes on one Postgres', () => {
  let harness: PostgresHarness;
  let nodes: PostgresLedger[];

  beforeAll(async () => {
    harness = await postgresHarness();
    nodes = ['one', 'two', 'three'].map((name) => harness.anotherNode(name));
  }, PATIENCE_MS);
  afterAll(async () => {
    await Promise.all(nodes.map((node) => node.close()));
    await harness.close();
  }, PATIENCE_MS);

  const nodeOf = (index: number): PostgresLedger => {
    const node = nodes[index % nodes.length];
    if (!node) throw new Error('there are no nodes');
    return node;
  };
  const admitAll = (requests: readonly AdmissionRequest[]): Promise<Admission[]> =>
    Promise.all(requests.map((request, index) => nodeOf(index).admit(request)));

  test(
    `A1: of 500 at once on a balance for exactly 100, 100 get in and 400 do not, ${REPETITIONS} times`,
    async () => {
      for (let round = 0; round < REPETITIONS; round++) {
        const account = await addAccount(harness, 100 * 2_100);
        const requests = Array.from({ length: 500 }, () => chatAdmission(account));
        const answers = await admitAll(requests);
        expect(reasonsOf(answers)).toEqual({ admitted: 100, funds_on_hold: 400 });
        expect(await accountRow(harness, account)).toMatchObject({ held: 210_000, open_holds: 100 });
        await settleAdmitted(requests, answers, { input: 100, output: 1_000 });
        expect(await accountRow(harness, account)).toMatchObject({ balance: 0, held: 0, open_holds: 0 });
        expect(reasonsOf(await admitAll([chatAdmission(account)]))).toEqual({ insufficient_balance: 1 });
      }
      expect((await nodeOf(0).verify()).breaches).toEqual([]);
    },
    PATIENCE_MS,
  );

  test(
    `A13: of 100 image requests at once on a balance for 10, 10 get in and 90 do not, ${REPETITIONS} times, also with four images each`,
    async () => {
      for (const images of [1, 4]) {
        for (let round = 0; round < REPETITIONS; round++) {
          const account = await addAccount(harness, 10 * images * 1_000);
          const requests = Array.from({ length: 100 }, () => imageAdmission(account, images));
          const answers = await admitAll(requests);
          expect(reasonsOf(answers)).toEqual({ admitted: 10, funds_on_hold: 90 });
          await settleAdmitted(requests, answers, { images });
          expect(await accountRow(harness, account)).toMatchObject({ balance: 0, held: 0, open_holds: 0 });
        }
      }
    },
    PATIENCE_MS,
  );

  test(
    'A3: random costs, credits and ends from all nodes at once leave every balance exact',
    async () => {
      const accounts = await Promise.all(Array.from({ length: 12 }, () => addAccount(harness, 50_000)));
      const expected = new Map(accounts.map((account) => [account.id, 50_000]));
      const work = async (account: TestAccount, turn: number): Promise<void> => {
        const request = chatAdmission(account);
        const answer = await nodeOf(turn).admit(request);
        if (answer.kind === 'refused') return;
        if (turn % 7 === 0) await nodeOf(turn + 1).void(request.requestId, used({}));
        const { charged } = await nodeOf(turn + 2).settle(
          request.requestId,
          used({ input: turn % 100, output: turn % 90 }),
        );
        const credit = turn % 5 === 0 ? 33 : 0;
        if (credit > 0) {
          await nodeOf(turn).post({
            accountId: account.id,
            kind: 'credit',
            amount: credit,
            cause: 'x',
            actor: 'x',
          });
        }
        expected.set(account.id, (expected.get(account.id) ?? 0) - charged + credit);
      };
      await Promise.all(
        Array.from({ length: 1_500 }, (_, turn) => work(nth(accounts, turn % accounts.length), turn)),
      );
      for (const account of accounts) {
        expect(await accountRow(harness, account)).toMatchObject({
          balance: expected.get(account.id) ?? -1,
          held: 0,
        });
      }
      expect((await nodeOf(1).verify()).breaches).toEqual([]);
    },
    PATIENCE_MS,
  );

  test(
    'F1: of 600 at once with 60 a minute, 60 get in and 540 do not, in each of three minutes',
    async () => {
      const account = await addAccount(harness, 100_000_000);
      const limits = { ...WIDE, chatPerMinute: 60 };
      for (let window = 0; window < 3; window++) {
        const began = performance.now();
        const answers = await admitAll(Array.from({ length: 600 }, () => chatAdmission(account, { limits })));
        const { admitted = 0, rate_limit_exceeded = 0 } = reasonsOf(answers);
        // The limit refills by one per second, also during the test.
        const refilled = Math.ceil((performance.now() - began) / 1_000);
        expect(admitted).toBeGreaterThanOrEqual(60);
        expect(admitted).toBeLessThanOrEqual(60 + refilled);
        expect(admitted + rate_limit_exceeded).toBe(600);
        await harness.advance(60_000);
      }
    },
    PATIENCE_MS,
  );

  test(
    'F3: as many run at once as allowed, however many nodes they come from',
    async () => {
      const account = await addAccount(harness, 100_000_000);
      const limits = { ...WIDE, concurrent: 10 };
      let running = 0;
      let most = 0;
      const work = async (index: number): Promise<void> => {
        const request = chatAdmission(account, { limits });
        const answer = await nodeOf(index).admit(request);
        if (answer.kind === 'refused') {
          expect(answer.reason).toBe('concurrency_limit_exceeded');
          return;
        }
        most = Math.max(most, ++running);
        await Promise.resolve();
        running--;
        await nodeOf(index + 1).settle(request.requestId, used({ output: 1 }));
      };
      for (let round = 0; round < 5; round++)
        await Promise.all(Array.from({ length: 200 }, (_, index) => work(index)));
      expect(most).toBeLessThanOrEqual(10);
      expect(await accountRow(harness, account)).toMatchObject({ open_holds: 0, held: 0 });
    },
    PATIENCE_MS,
  );

  test(
    `E4: ${ROTATIONS} replaced tokens under load on all nodes: from the reply on, of ${ROTATIONS * TRIES_PER_ROTATION} tries with an old one none gets in, with the new one all`,
    async () => {
      const account = await addAccount(harness, 900_000_000_000);
      const hashOf = (version: number) => `version-${version}` as TokenHash;
      let current = 0;
      let newest = 0;
      let rotating = true;
      const outcome = { oldTried: 0, oldAccepted: 0, newTried: 0, newRefused: 0 };
      const rotate = async (): Promise<void> => {
        const next = current + 1;
        newest = next;
        await harness.store.db
          .updateTable('account')
          .set({ token_hash: hashOf(next) })
          .where('id', '=', account.id)
          .execute();
        current = next;
      };
      await rotate();
      const attack = async (index: number): Promise<void> => {
        for (let turn = 0; rotating; turn++) {
          const version = turn % 8 === 0 ? current : current - 1 - (turn % 3);
          const isOld = version < current;
          const answer = await nodeOf(index + turn).admit(
            chatAdmission(account, { caller: { kind: 'token', hash: hashOf(version) } }),
          );
          const accepted = answer.kind === 'admitted';
          if (isOld) outcome.oldTried++;
          if (isOld && accepted) outcome.oldAccepted++;
          // Replaced while the request was in flight: either answer is right.
          if (isOld || version !== newest) continue;
          outcome.newTried++;
          if (!accepted) outcome.newRefused++;
        }
      };
      const attackers = Promise.all(Array.from({ length: 60 }, (_, index) => attack(index)));
      for (let round = 0; round < ROTATIONS; round++) {
        await rotate();
        const enough = outcome.oldTried + TRIES_PER_ROTATION;
        while (outcome.oldTried < enough) await Bun.sleep(1);
      }
      rotating = false;
      await attackers;
      expect(outcome).toMatchObject({ oldAccepted: 0, newRefused: 0 });
      expect(outcome.oldTried).toBeGreaterThanOrEqual(ROTATIONS * TRIES_PER_ROTATION);
      expect(outcome.newTried).toBeGreaterThan(1_000);
    },
    PATIENCE_MS,
  );

  async function settleAdmitted(
    requests: readonly AdmissionRequest[],
    answers: readonly Admission[],
    usage: Parameters<typeof used>[0],
  ): Promise<void> {
    const admitted = requests.filter((_, index) => answers[index]?.kind === 'admitted');
    await Promise.all(admitted.map(({ requestId }, index) => nodeOf(index).settle(requestId, used(usage))));
  }
});

function reasonsOf(answers: readonly Admission[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const answer of answers) {
    const reason = answer.kind === 'admitted' ? 'admitted' : answer.reason;
    counts[reason] = (counts[reason] ?? 0) + 1;
  }
  return counts;
}

function nth<T>(values: readonly T[], index: number): T {
  const value = values[index];
  if (value === undefined) throw new Error(`there is no element ${index}`);
  return value;
}
