import { expect } from 'bun:test';
import { newRequestId, type AccountId } from '../../std/ids.ts';
import { nanoUsd } from '../../std/money.ts';
import { IdempotencyStore, type IdempotencyKey, type KeyState } from '../idempotency-store.ts';
import {
  addAccount,
  chatAdmission,
  FAILED,
  hold,
  used,
  type ContractCheck,
  type LedgerHarness,
} from './contract-harness.ts';

/** What an Idempotency-Key promises, on either database. */
export function answerCases(check: ContractCheck): void {
  replayCases(check);
  leaseCases(check);
  boundCases(check);
}

const ACCOUNT = 'acc_answers' as AccountId;
const BODY = new Uint8Array([0, 1, 2, 250, 255, 10, 13, 0]);
const DAY_MS = 86_400_000;

/** An idempotency store whose clock the case controls. */
class KeyHarness {
  now = 1_000_000_000;
  readonly book: IdempotencyStore;

  constructor(harness: LedgerHarness) {
    this.book = new IdempotencyStore(harness.store, { now: () => this.now });
  }

  begin(
    key: string,
    bodyHash = 'body',
    accountId = ACCOUNT,
  ): { own: IdempotencyKey; begun: Promise<KeyState> } {
    const own = { accountId, key, requestId: newRequestId(Date.now()) };
    return { own, begun: this.book.begin({ ...own, bodyHash }) };
  }

  async start(key: string): Promise<IdempotencyKey> {
    const { own, begun } = this.begin(key);
    expect((await begun).kind).toBe('started');
    return own;
  }

  finish(own: IdempotencyKey, body = BODY, charged = nanoUsd(1)): Promise<void> {
    const headers = { 'content-type': 'text/plain' };
    return this.book.finish({ ...own, charged, status: 200, headers, body });
  }

  /** A thousand answers that were done a moment ago, the first of them first. */
  async addThousand(harness: LedgerHarness, charged: number): Promise<void> {
    const rows = Array.from({ length: 1_000 }, (_, n) => ({
      account_id: ACCOUNT,
      idempotency_key: `k${n}`,
      body_hash: 'body',
      request_id: `req_${n}`,
      state: 'done' as const,
      status: 200,
      headers: '{}',
      body: Buffer.from(BODY),
      charged,
      lease_until: 1,
      created_at: this.now - 1_000 + n,
    }));
    await harness.store.db.insertInto('answer').values(rows).execute();
  }

  async kindOf(key: string, bodyHash?: string): Promise<KeyState['kind']> {
    return (await this.begin(key, bodyHash).begun).kind;
  }
}

function replayCases(check: ContractCheck): void {
  check('after an answer that broke off, one of those who come next does the work again', async (harness) => {
    const keyHarness = new KeyHarness(harness);
    const first = await keyHarness.start('k');
    await keyHarness.book.breakOff(first);
    const next = Array.from({ length: 10 }, () => keyHarness.begin('k'));
    const states = await Promise.all(next.map(({ begun }) => begun));
    expect(states.filter(({ kind }) => kind === 'started')).toEqual([
      { kind: 'started', retryOf: first.requestId },
    ]);
    expect(states.filter(({ kind }) => kind === 'running')).toHaveLength(9);
    expect(await keyHarness.kindOf('k', 'another body')).toBe('reused');
    const started = next.find((_, index) => states[index]?.kind === 'started');
    if (!started) throw new Error('nobody started');
    await keyHarness.finish(started.own);
    expect(await keyHarness.kindOf('k')).toBe('replay');
  });

  check('of fifty with one key at once, one starts and the others wait', async (harness) => {
    const keyHarness = new KeyHarness(harness);
    const begun = await Promise.all(Array.from({ length: 50 }, () => keyHarness.begin('k').begun));
    expect(begun.filter(({ kind }) => kind === 'started')).toHaveLength(1);
    expect(begun.filter(({ kind }) => kind === 'running')).toHaveLength(49);
  });

  check('the same key and body get the same bytes, another body is told so', async (harness) => {
    const keyHarness = new KeyHarness(harness);
    const own = await keyHarness.start('k');
    expect(await keyHarness.kindOf('k', 'other')).toBe('reused');
    await keyHarness.finish(own);
    const again = await keyHarness.begin('k').begun;
    expect(again).toEqual({
      kind: 'replay',
      status: 200,
      headers: { 'content-type': 'text/plain' },
      body: BODY,
    });
    expect(await keyHarness.kindOf('k', 'other')).toBe('reused');
  });

  check('keys belong to their account', async (harness) => {
    const keyHarness = new KeyHarness(harness);
    await keyHarness.finish(await keyHarness.start('k'));
    expect((await keyHarness.begin('k', 'body', 'acc_other' as AccountId).begun).kind).toBe('started');
  });

  check('work that failed frees its key, an answer that is kept stays', async (harness) => {
    const keyHarness = new KeyHarness(harness);
    const own = await keyHarness.start('k');
    await keyHarness.book.drop(own);
    const next = await keyHarness.start('k');
    await keyHarness.finish(next);
    await keyHarness.book.drop(next);
    expect(await keyHarness.kindOf('k')).toBe('replay');
  });
}

function leaseCases(check: ContractCheck): void {
  check(
    'the key of an owner that is gone is taken over by one, and the late owner cannot answer',
    async (harness) => {
      const keyHarness = new KeyHarness(harness);
      const dead = await keyHarness.start('k');
      keyHarness.now += 59_000;
      expect(await keyHarness.kindOf('k')).toBe('running');
      keyHarness.now += 2_000;
      const tries = Array.from({ length: 10 }, () => keyHarness.begin('k'));
      const begun = await Promise.all(tries.map((attempt) => attempt.begun));
      expect(begun.filter(({ kind }) => kind === 'started')).toHaveLength(1);
      await keyHarness.finish(dead, new Uint8Array([9]));
      await keyHarness.book.drop(dead);
      expect(await keyHarness.kindOf('k')).toBe('running');
      const heir = tries.find((_, index) => begun[index]?.kind === 'started');
      if (heir) await keyHarness.finish(heir.own);
      expect(await keyHarness.begin('k').begun).toMatchObject({ kind: 'replay', body: BODY });
    },
  );

  check('the key of an owner that was charged before it was gone is never run again', async (harness) => {
    const keyHarness = new KeyHarness(harness);
    const account = await addAccount(harness, 10_000);
    const [charged, released, open] = [
      await keyHarness.start('a'),
      await keyHarness.start('b'),
      await keyHarness.start('c'),
    ];
    for (const { requestId } of [charged, released, open])
      await hold(harness, chatAdmission(account, { requestId }));
    await harness.ledger().settle(charged.requestId, used({ output: 10 }));
    await harness.ledger().void(released.requestId, FAILED);
    expect([
      await keyHarness.kindOf('a'),
      await keyHarness.kindOf('b'),
      await keyHarness.kindOf('c'),
    ]).toEqual(['running', 'running', 'running']);
    keyHarness.now += 61_000;
    const told = { kind: 'gone' as const, requestId: charged.requestId };
    for (let turn = 0; turn < 2; turn++) expect(await keyHarness.begin('a').begun).toEqual(told);
    expect(await keyHarness.kindOf('a', 'other')).toBe('reused');
    expect(await keyHarness.kindOf('b')).toBe('started');
    // Whether the third was charged is not known before its hold is closed.
    expect(await keyHarness.kindOf('c')).toBe('running');
    await harness.ledger().settle(open.requestId, used({ output: 0 }));
    expect(await keyHarness.kindOf('c')).toBe('started');
    // An owner that was only slow can still store its answer.
    await keyHarness.finish(charged);
    expect(await keyHarness.kindOf('a')).toBe('replay');
  });

  check('an owner that renews keeps its key', async (harness) => {
    const keyHarness = new KeyHarness(harness);
    const own = await keyHarness.start('k');
    for (let round = 0; round < 5; round++) {
      keyHarness.now += 50_000;
      await keyHarness.book.renew(own);
    }
    expect(await keyHarness.kindOf('k')).toBe('running');
  });
}

function boundCases(check: ContractCheck): void {
  check('an answer is replayed for a day, then its key is as new', async (harness) => {
    const keyHarness = new KeyHarness(harness);
    await keyHarness.finish(await keyHarness.start('k'));
    keyHarness.now += DAY_MS - 1;
    expect(await keyHarness.kindOf('k')).toBe('replay');
    keyHarness.now += 2;
    expect(await keyHarness.kindOf('k', 'other')).toBe('running');
    expect(await keyHarness.kindOf('k', 'other')).toBe('started');
  });

  check('the sweeper deletes what is too old and nothing else', async (harness) => {
    const keyHarness = new KeyHarness(harness);
    await keyHarness.finish(await keyHarness.start('old'));
    keyHarness.now += DAY_MS + 1;
    await keyHarness.finish(await keyHarness.start('new'));
    expect(await keyHarness.book.sweep()).toBe(1);
    expect(await keyHarness.book.sweep()).toBe(0);
    expect(await keyHarness.kindOf('new')).toBe('replay');
  });

  check('an answer too large to keep leaves, and its key stays for its day', async (harness) => {
    const keyHarness = new KeyHarness(harness);
    const most = 8 * 1_048_576;
    await keyHarness.finish(await keyHarness.start('large'), new Uint8Array(most).fill(7));
    expect(await keyHarness.kindOf('large')).toBe('replay');
    const larger = await keyHarness.start('larger');
    await keyHarness.finish(larger, new Uint8Array(most + 1));
    expect(await keyHarness.begin('larger').begun).toEqual({ kind: 'gone', requestId: larger.requestId });
    expect(await keyHarness.kindOf('larger', 'other')).toBe('reused');
    keyHarness.now += DAY_MS + 1;
    expect(await keyHarness.kindOf('larger')).toBe('running');
    expect(await keyHarness.kindOf('larger')).toBe('started');
  });

  check(
    'a thousand answers of an account keep their bytes, and no charged key is run again',
    async (harness) => {
      const keyHarness = new KeyHarness(harness);
      await keyHarness.addThousand(harness, 1);
      await keyHarness.finish(await keyHarness.start('last'));
      expect(await keyHarness.begin('k0').begun).toEqual({ kind: 'gone', requestId: 'req_0' });
      expect([await keyHarness.kindOf('k1'), await keyHarness.kindOf('last')]).toEqual(['replay', 'replay']);
    },
  );

  check('of requests that cost nothing the newest thousand keys of an account stay', async (harness) => {
    const keyHarness = new KeyHarness(harness);
    await keyHarness.addThousand(harness, 0);
    await keyHarness.finish(await keyHarness.start('charged'));
    expect(await keyHarness.kindOf('k0')).toBe('gone');
    await keyHarness.finish(await keyHarness.start('free'), BODY, nanoUsd(0));
    expect(await keyHarness.kindOf('k0')).toBe('started');
    expect(await keyHarness.kindOf('k2')).toBe('replay');
    expect([await keyHarness.kindOf('charged'), await keyHarness.kindOf('free')]).toEqual([
      'replay',
      'replay',
    ]);
  });

  check('a key that ran again after a broken answer is kept for a day from then on', async (harness) => {
    const keyHarness = new KeyHarness(harness);
    await keyHarness.book.breakOff(await keyHarness.start('k'));
    keyHarness.now += DAY_MS - 1;
    await keyHarness.finish(await keyHarness.start('k'));
    keyHarness.now += DAY_MS - 1;
    expect(await keyHarness.kindOf('k')).toBe('replay');
  });
}
