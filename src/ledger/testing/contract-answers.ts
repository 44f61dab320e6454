import { expect } from 'bun:test';
import { newRequestId, type AccountId } from '../../std/ids.ts';
import { AnswerBook, type AnswerKey, type Begun } from '../idempotency-store.ts';
import { addAccount, ask, FAILED, hold, used, type Check, type LedgerHarness } from './contract-harness.ts';

/** What an Idempotency-Key promises, on either database. */
export function answerCases(check: Check): void {
  replayCases(check);
  leaseCases(check);
  boundCases(check);
}

const ACCOUNT = 'acc_answers' as AccountId;
const BODY = new Uint8Array([0, 1, 2, 250, 255, 10, 13, 0]);
const DAY_MS = 86_400_000;

/** An answer book whose time the case moves. */
class Desk {
  now = 1_000_000_000;
  readonly book: AnswerBook;

  constructor(harness: LedgerHarness) {
    this.book = new AnswerBook(harness.store, { now: () => this.now });
  }

  begin(key: string, bodyHash = 'body', accountId = ACCOUNT): { own: AnswerKey; begun: Promise<Begun> } {
    const own = { accountId, key, requestId: newRequestId(Date.now()) };
    return { own, begun: this.book.begin({ ...own, bodyHash }) };
  }

  async start(key: string): Promise<AnswerKey> {
    const { own, begun } = this.begin(key);
    expect((await begun).kind).toBe('started');
    return own;
  }

  finish(own: AnswerKey, body = BODY): Promise<void> {
    return this.book.finish({ ...own, status: 200, headers: { 'content-type': 'text/plain' }, body });
  }

  async kindOf(key: string, bodyHash?: string): Promise<Begun['kind']> {
    return (await this.begin(key, bodyHash).begun).kind;
  }
}

function replayCases(check: Check): void {
  check('of fifty with one key at once, one starts and the others wait', async (harness) => {
    const desk = new Desk(harness);
    const begun = await Promise.all(Array.from({ length: 50 }, () => desk.begin('k').begun));
    expect(begun.filter(({ kind }) => kind === 'started')).toHaveLength(1);
    expect(begun.filter(({ kind }) => kind === 'running')).toHaveLength(49);
  });

  check('the same key and body get the same bytes, another body is told so', async (harness) => {
    const desk = new Desk(harness);
    const own = await desk.start('k');
    expect(await desk.kindOf('k', 'other')).toBe('reused');
    await desk.finish(own);
    const again = await desk.begin('k').begun;
    expect(again).toEqual({
      kind: 'replay',
      status: 200,
      headers: { 'content-type': 'text/plain' },
      body: BODY,
    });
    expect(await desk.kindOf('k', 'other')).toBe('reused');
  });

  check('keys belong to their account', async (harness) => {
    const desk = new Desk(harness);
    await desk.finish(await desk.start('k'));
    expect((await desk.begin('k', 'body', 'acc_other' as AccountId).begun).kind).toBe('started');
  });

  check('work that failed frees its key, an answer that is kept stays', async (harness) => {
    const desk = new Desk(harness);
    const own = await desk.start('k');
    await desk.book.drop(own);
    const next = await desk.start('k');
    await desk.finish(next);
    await desk.book.drop(next);
    expect(await desk.kindOf('k')).toBe('replay');
  });
}

function leaseCases(check: Check): void {
  check(
    'the key of an owner that is gone is taken over by one, and the late owner cannot answer',
    async (harness) => {
      const desk = new Desk(harness);
      const dead = await desk.start('k');
      desk.now += 59_000;
      expect(await desk.kindOf('k')).toBe('running');
      desk.now += 2_000;
      const tries = Array.from({ length: 10 }, () => desk.begin('k'));
      const begun = await Promise.all(tries.map((attempt) => attempt.begun));
      expect(begun.filter(({ kind }) => kind === 'started')).toHaveLength(1);
      await desk.finish(dead, new Uint8Array([9]));
      await desk.book.drop(dead);
      expect(await desk.kindOf('k')).toBe('running');
      const heir = tries.find((_, index) => begun[index]?.kind === 'started');
      if (heir) await desk.finish(heir.own);
      expect(await desk.begin('k').begun).toMatchObject({ kind: 'replay', body: BODY });
    },
  );

  check('the key of an owner that was charged before it was gone is never run again', async (harness) => {
    const desk = new Desk(harness);
    const account = await addAccount(harness, 10_000);
    const [charged, released, open] = [await desk.start('a'), await desk.start('b'), await desk.start('c')];
    for (const { requestId } of [charged, released, open]) await hold(harness, ask(account, { requestId }));
    await harness.ledger().settle(charged.requestId, used({ output: 10 }));
    await harness.ledger().void(released.requestId, FAILED);
    expect([await desk.kindOf('a'), await desk.kindOf('b'), await desk.kindOf('c')]).toEqual([
      'running',
      'running',
      'running',
    ]);
    desk.now += 61_000;
    const told = { kind: 'lost' as const, requestId: charged.requestId };
    for (let turn = 0; turn < 2; turn++) expect(await desk.begin('a').begun).toEqual(told);
    expect(await desk.kindOf('a', 'other')).toBe('reused');
    expect(await desk.kindOf('b')).toBe('started');
    // Whether the third was charged is not known before its hold is closed.
    expect(await desk.kindOf('c')).toBe('running');
    await harness.ledger().settle(open.requestId, used({ output: 0 }));
    expect(await desk.kindOf('c')).toBe('started');
    // An owner that was only slow still answers.
    await desk.finish(charged);
    expect(await desk.kindOf('a')).toBe('replay');
  });

  check('an owner that renews keeps its key', async (harness) => {
    const desk = new Desk(harness);
    const own = await desk.start('k');
    for (let round = 0; round < 5; round++) {
      desk.now += 50_000;
      await desk.book.renew(own);
    }
    expect(await desk.kindOf('k')).toBe('running');
  });
}

function boundCases(check: Check): void {
  check('an answer is replayed for a day, then its key is as new', async (harness) => {
    const desk = new Desk(harness);
    await desk.finish(await desk.start('k'));
    desk.now += DAY_MS - 1;
    expect(await desk.kindOf('k')).toBe('replay');
    desk.now += 2;
    expect(await desk.kindOf('k', 'other')).toBe('running');
    expect(await desk.kindOf('k', 'other')).toBe('started');
  });

  check('the sweeper deletes what is too old and nothing else', async (harness) => {
    const desk = new Desk(harness);
    await desk.finish(await desk.start('old'));
    desk.now += DAY_MS + 1;
    await desk.finish(await desk.start('new'));
    expect(await desk.book.sweep()).toBe(1);
    expect(await desk.book.sweep()).toBe(0);
    expect(await desk.kindOf('new')).toBe('replay');
  });

  check('an answer too large to keep frees its key', async (harness) => {
    const desk = new Desk(harness);
    const most = 8 * 1_048_576;
    await desk.finish(await desk.start('large'), new Uint8Array(most).fill(7));
    expect(await desk.kindOf('large')).toBe('replay');
    await desk.finish(await desk.start('larger'), new Uint8Array(most + 1));
    expect(await desk.kindOf('larger')).toBe('started');
  });

  check('an account keeps a thousand answers, the newest', async (harness) => {
    const desk = new Desk(harness);
    const rows = Array.from({ length: 1_000 }, (_, n) => ({
      account_id: ACCOUNT,
      idempotency_key: `k${n}`,
      body_hash: 'body',
      request_id: `req_${n}`,
      state: 'done' as const,
      lease_until: 1,
      created_at: desk.now - 1_000 + n,
    }));
    await harness.store.db.insertInto('answer').values(rows).execute();
    await desk.finish(await desk.start('last'));
    const kept = await harness.store.db.selectFrom('answer').select('idempotency_key').execute();
    const keys = new Set(kept.map((row) => row.idempotency_key));
    expect([keys.size, keys.has('last'), keys.has('k0'), keys.has('k1')]).toEqual([1_000, true, false, true]);
  });
}
