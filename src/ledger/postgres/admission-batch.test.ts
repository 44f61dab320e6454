import { describe, expect, test } from 'bun:test';
import { nanoUsd } from '../../std/money.ts';
import { HOLD_RETRY_MS, rateState, UNKNOWN_CALLER } from '../decide.ts';
import { chatAdmission, nth, WIDE } from '../testing/contract-harness.ts';
import { AdmissionBatch } from './admission.ts';

/** A batch is decided caller by caller, and answered in the order in which its requests came. The test is the database. */

const account = (n: number) => ({ id: `acc_${n}` as never, hash: `hash-${n}` as never });
const chat = (n: number) => chatAdmission(account(n));
const FULL = 2_100;
const LIMIT = WIDE.chatPerMinute;
const STEP_US = 100;

describe('what is answered', () => {
  test('a caller all of whose requests fit: each sees what the ones before it left', () => {
    const requests = [chat(1), chat(2), chat(1)];
    const [first, second, third] = new AdmissionBatch(requests).admissions({
      accounts: 'acc_1,acc_2',
      wallets: ',team_1',
      group_results: `{1,10000,${LIMIT},0,-1,1,5000,${LIMIT},300,7000}`,
      request_results: null,
    });
    const admitted = (accountId: string, available: number, backlogUs: number) => ({
      kind: 'admitted' as const,
      accountId: accountId as never,
      held: nanoUsd(FULL),
      output: 1_000,
      rate: rateState(LIMIT, backlogUs, 0),
      available: nanoUsd(available),
    });
    expect(first).toEqual(admitted('acc_1', 10_000 - FULL, STEP_US));
    expect(second).toEqual({
      ...admitted('acc_2', 5_000 - FULL, 300 + STEP_US),
      walletId: 'team_1' as never,
      budgetLeft: nanoUsd(7_000 - FULL),
    });
    expect(third).toEqual(admitted('acc_1', 10_000 - 2 * FULL, 2 * STEP_US));
  });

  test('a caller who is unknown, between others', () => {
    const requests = [chat(1), chat(2), chat(3)];
    const admissions = new AdmissionBatch(requests).admissions({
      accounts: 'acc_1,,acc_3',
      group_results: `{1,10000,${LIMIT},0,-1,-1,0,1,0,-1,0,0,${LIMIT},0,-1}`,
      request_results: `{0,0,0,0,1,0,4,-1,0,0,0,0,0,1,0,4,-1,0,0,700,300,6,600,50,4,-1,0}`,
    });
    expect(admissions[0]).toMatchObject({ kind: 'admitted', accountId: 'acc_1' });
    expect(admissions[1]).toEqual(UNKNOWN_CALLER);
    expect(admissions[2]).toEqual({
      kind: 'admitted',
      accountId: 'acc_3' as never,
      held: nanoUsd(700),
      output: 300,
      rate: rateState(600, 50, 0),
      available: nanoUsd(6),
    });
  });

  const REFUSALS = [
    [1, 'invalid_token', undefined],
    [3, 'concurrency_limit_exceeded', HOLD_RETRY_MS],
    [4, 'insufficient_balance', undefined],
    [5, 'limit_reached', undefined],
    [6, 'funds_on_hold', HOLD_RETRY_MS],
    [7, 'request_exceeds_balance', undefined],
  ] as const;

  test.each(REFUSALS)('verdict %d is %s, with when to come back: %p', (verdict, reason, retryAfterMs) => {
    const [refused] = new AdmissionBatch([chat(1)]).admissions({
      accounts: 'acc_1',
      group_results: `{0,0,${LIMIT},0,-1}`,
      request_results: `{${verdict},0,0,30,${LIMIT},0,4,-1,0}`,
    });
    expect(refused).toEqual({
      kind: 'refused',
      reason,
      retryAfterMs,
      available: nanoUsd(30),
      required: nanoUsd(612),
      rate: rateState(LIMIT, 0, 0),
      isTeam: false,
      ...(reason === 'limit_reached' && { limit: 'month', resetsAt: Date.UTC(1970, 1) }),
    });
  });

  test('a budget that is used up is named with its period, and so is a team', () => {
    const [refused] = new AdmissionBatch([chat(1)]).admissions({
      accounts: 'acc_1',
      group_results: `{0,0,${LIMIT},0,-1}`,
      request_results: `{9,0,0,30,${LIMIT},0,10,0,86400000}`,
    });
    // The second of January 1970 was a Friday.
    const monday = Date.UTC(1970, 0, 5);
    expect(refused).toMatchObject({
      reason: 'limit_reached',
      limit: 'budget_week',
      resetsAt: monday,
      isTeam: true,
    });
  });

  test.each([
    [10, 'network_not_allowed'],
    [11, 'model_not_allowed'],
  ] as const)('verdict %d is %s, and tells nothing of the account', (verdict, reason) => {
    const [refused] = new AdmissionBatch([chat(1)]).admissions({
      accounts: 'acc_1',
      group_results: `{0,0,${LIMIT},0,-1}`,
      request_results: `{${verdict},0,0,30,${LIMIT},0,4,-1,0}`,
    });
    expect(refused).toEqual({ ...UNKNOWN_CALLER, reason });
  });

  test('who was too fast may come back when a minute’s worth has drained by one', () => {
    const [refused] = new AdmissionBatch([chat(1)]).admissions({
      accounts: 'acc_1',
      group_results: '{0,0,6,0,-1}',
      request_results: '{2,0,0,30,6,55000000,4,-1,0}',
    });
    // Six a minute are ten seconds each: five seconds of a full minute are free, ten are needed.
    expect(nth([refused], 0)).toMatchObject({ reason: 'rate_limit_exceeded', retryAfterMs: 5_000 });
  });

  test('who was too fast is never told to come back too early: part of a millisecond is a whole one', () => {
    const [refused] = new AdmissionBatch([chat(1)]).admissions({
      accounts: 'acc_1',
      group_results: '{0,0,6,0,-1}',
      request_results: '{2,0,0,30,6,55000001,4,-1,0}',
    });
    expect(nth([refused], 0)).toMatchObject({ retryAfterMs: 5_001 });
  });

  test('an answer that says too little or too much about requests cannot be read, unless none is decided by itself', () => {
    const read = (verdict: number, results: string | null) =>
      new AdmissionBatch([chat(1)]).admissions({
        accounts: 'acc_1',
        group_results: `{${verdict},10000,${LIMIT},0,-1}`,
        request_results: results,
      });
    for (const results of [null, '{0,0,0,30,6,0,4,-1}', '{0,0,0,30,6,0,4,-1,0,0}'])
      expect(() => read(0, results)).toThrow('cannot be read');
    expect(read(1, null)).toMatchObject([{ kind: 'admitted' }]);
    const second = { accounts: 'acc_1,acc_2', group_results: `{1,10000,${LIMIT},0,-1,0,0,${LIMIT},0,-1}` };
    expect(() =>
      new AdmissionBatch([chat(1), chat(2)]).admissions({ ...second, request_results: null }),
    ).toThrow('cannot be read');
  });
});
