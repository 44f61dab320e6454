import { describe, expect, test } from 'bun:test';
import type { AccountId } from '../../std/ids.ts';
import { MAX_BALANCE, nanoUsd } from '../../std/money.ts';
import type { NewEntry } from '../port.ts';
import { CallFailed, type LedgerPool } from './pool.ts';
import { postEntry, redeemCode } from './posting.ts';

/** What is asked of the database again when its answer is lost, and what is never. The test is the database. */

const ENTRY: NewEntry = {
  accountId: 'acc_1' as AccountId,
  kind: 'credit',
  amount: 100,
  cause: 'gift',
  actor: 'cli',
};
const POSTED = { entry_id: 7, balance: 100, held: 0 };

function pool(...answers: (object[] | Error)[]) {
  const calls: (readonly unknown[])[] = [];
  const call = (_: unknown, values: readonly unknown[]): Promise<object[]> => {
    calls.push(values);
    const answer = answers.shift() ?? [];
    return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
  };
  // All that a posting needs of a pool is the call.
  return { session: { call } as unknown as LedgerPool, calls };
}

const lost = new CallFailed('unknown', 'the connection broke');
const taken = new CallFailed('rolled_back', 'duplicate key', { sqlState: '23505' });
const faultOf = async (work: Promise<unknown>) => await work.catch((thrown: unknown) => thrown);

describe('an entry', () => {
  test('whose answer was lost is sent again under the same key', async () => {
    for (const failure of [lost, taken]) {
      const { session, calls } = pool(failure, failure, [POSTED]);
      expect(await postEntry(session, ENTRY, 5)).toEqual({ entryId: 7, balance: nanoUsd(100) });
      expect(calls).toHaveLength(3);
      expect(calls[1]).toEqual(calls[0] ?? []);
      expect(calls[2]).toEqual(calls[0] ?? []);
    }
  });

  test('is given up after the third time, and whenever another try is of no use', async () => {
    const three = pool(lost, lost, lost, [POSTED]);
    expect(await faultOf(postEntry(three.session, ENTRY, 5))).toMatchObject({
      code: 'service_unavailable',
      detail: 'the connection broke',
    });
    expect(three.calls).toHaveLength(3);
    for (const failure of [new CallFailed('not_sent', 'away'), new CallFailed('rolled_back', 'slow')]) {
      const once = pool(failure, [POSTED]);
      expect(await faultOf(postEntry(once.session, ENTRY, 5))).toMatchObject({ code: 'service_unavailable' });
      expect(once.calls).toHaveLength(1);
    }
    const strange = new Error('strange');
    expect(await faultOf(postEntry(pool(strange).session, ENTRY, 5))).toBe(strange);
  });

  test('says all that was given, with a key of its own where none was given', async () => {
    const { session, calls } = pool([POSTED], [POSTED]);
    await postEntry(session, { ...ENTRY, once: 'payment:1', requestId: 'req_1' }, 5);
    const all = ['acc_1', 'credit', 100, 'payment:1', 'gift', 'cli', 'req_1'];
    expect(calls[0]).toEqual([5, MAX_BALANCE, ...all]);
    await postEntry(session, ENTRY, 5);
    expect(calls[1]?.[5]).toMatch(/^post:[0-9A-Za-z]{22}$/);
    expect(calls[1]?.[8]).toBeNull();
  });

  test('that no balance could make right does not reach the database', async () => {
    const wrong: Partial<NewEntry>[] = [
      { amount: 0 },
      { amount: 0.5 },
      { amount: -1 },
      { amount: MAX_BALANCE + 1 },
      { kind: 'adjustment', amount: -(2 ** 53) },
    ];
    for (const more of wrong) {
      const { session, calls } = pool([POSTED]);
      expect(await faultOf(postEntry(session, { ...ENTRY, ...more }, 5))).toMatchObject({
        code: 'invalid_field',
        param: 'amount',
      });
      expect(calls).toEqual([]);
    }
    const { session, calls } = pool([POSTED]);
    await postEntry(session, { ...ENTRY, kind: 'adjustment', amount: -100 }, 5);
    expect(calls).toHaveLength(1);
  });

  test('of an unknown account, and one that the balance does not allow, are told apart', async () => {
    expect(await faultOf(postEntry(pool([]).session, ENTRY, 5))).toMatchObject({ param: 'account' });
    const full = { entry_id: null, balance: MAX_BALANCE, held: 0, owed: 0, removed: false };
    expect(await faultOf(postEntry(pool([full]).session, ENTRY, 5))).toMatchObject({
      code: 'invalid_field',
      param: 'amount',
    });
    const room = { entry_id: null, balance: 1, held: 0, owed: 0, removed: false };
    expect(String(await faultOf(postEntry(pool([room]).session, ENTRY, 5)))).toContain('was refused');
  });
});

describe('a code', () => {
  const REDEMPTION = { codeHash: 'abcdefabcdefabcdef', accountId: 'acc_1' as AccountId, at: 9 };

  test('whose answer was lost is not redeemed again', async () => {
    const { session, calls } = pool(lost, [{ ...POSTED, amount: 5 }]);
    expect(await faultOf(redeemCode(session, REDEMPTION, 5))).toMatchObject({ code: 'service_unavailable' });
    expect(calls).toHaveLength(1);
    const strange = new Error('strange');
    expect(await faultOf(redeemCode(pool(strange).session, REDEMPTION, 5))).toBe(strange);
  });

  test('is worth its amount, nothing if it is unknown, and a fault where the account cannot take it', async () => {
    const good = pool([{ ...POSTED, amount: 5 }]);
    expect(await redeemCode(good.session, REDEMPTION, 5)).toEqual({
      amount: nanoUsd(5),
      balance: nanoUsd(100),
    });
    expect(good.calls[0]).toEqual([
      5,
      MAX_BALANCE,
      'acc_1',
      'code:abcdefabcdefabcdef',
      'code of ',
      'code:abcdefabcdef',
      'abcdefabcdefabcdef',
      9,
    ]);
    expect(await redeemCode(pool([]).session, REDEMPTION, 5)).toBeUndefined();
    const nobody = { amount: 5, entry_id: null, balance: null, held: null, owed: null, removed: null };
    expect(await faultOf(redeemCode(pool([nobody]).session, REDEMPTION, 5))).toMatchObject({
      param: 'account',
    });
    const full = { amount: 5, entry_id: null, balance: MAX_BALANCE, held: 0, owed: 0, removed: false };
    expect(await faultOf(redeemCode(pool([full]).session, REDEMPTION, 5))).toMatchObject({
      code: 'invalid_field',
      param: 'amount',
    });
  });
});
