import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { newRequestId, type AccountId } from '../std/ids.ts';
import { nanoUsd } from '../std/money.ts';
import type { Store } from '../store/store.ts';
import { RedeemCodes } from './codes.ts';
import { IdempotencyStore, type IdempotencyKey } from './idempotency-store.ts';
import { sqliteHarness, type SqliteHarness } from './testing/sqlite-harness.ts';

/** What somebody has been told must survive a power cut: the answer waits for the disk. */

let harness: SqliteHarness;
beforeEach(async () => {
  harness = await sqliteHarness();
});
afterEach(() => harness.close());

/** The store, with a disk that is as slow as the test wants. */
function withDisk() {
  const synced = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  const durable = (): Promise<void> => {
    asked.resolve();
    return synced.promise;
  };
  const store = Object.assign(Object.create(harness.store) as Store, { durable });
  return { store, synced: synced.resolve, asked: asked.promise };
}

async function isDone(work: Promise<unknown>): Promise<boolean> {
  let done = false;
  void work.then(() => (done = true));
  await new Promise(setImmediate);
  return done;
}

const OWN: IdempotencyKey = {
  accountId: 'acc_1' as AccountId,
  key: 'k',
  requestId: newRequestId(1),
};

test('an answer that is kept is on the disk before its client gets it', async () => {
  const { store, synced, asked } = withDisk();
  const answers = new IdempotencyStore(store, { now: () => 1_000 });
  await answers.begin({ ...OWN, bodyHash: 'body' });
  const finishing = answers.finish({
    ...OWN,
    charged: nanoUsd(1),
    status: 201,
    headers: { a: 'b' },
    body: new Uint8Array([1]),
  });
  await asked;
  expect(await isDone(finishing)).toBe(false);
  synced();
  await finishing;
  expect(await answers.begin({ ...OWN, bodyHash: 'body' })).toEqual({
    kind: 'replay',
    status: 201,
    headers: { a: 'b' },
    body: new Uint8Array([1]),
  });
});

test('codes are on the disk before anybody sees them', async () => {
  const { store, synced, asked } = withDisk();
  const codes = new RedeemCodes({
    store,
    ledger: harness.ledger(),
    key: new Uint8Array(32),
    clock: { now: () => 1 },
  });
  const making = codes.make({ amount: nanoUsd(1), count: 1, actor: 'cli' });
  await asked;
  expect(await isDone(making)).toBe(false);
  synced();
  expect((await making).codes).toHaveLength(1);
});

describe('a key whose owner is silent', () => {
  test('belongs to it for sixty seconds, to the millisecond, and after each renewal again', async () => {
    let now = 1_000;
    const answers = new IdempotencyStore(harness.store, { now: () => now });
    const begin = async (n: number) =>
      (await answers.begin({ ...OWN, requestId: newRequestId(n), bodyHash: 'body' })).kind;
    await answers.begin({ ...OWN, bodyHash: 'body' });
    now += 60_000;
    expect(await begin(2)).toBe('running');
    await answers.renew(OWN);
    now += 60_000;
    expect(await begin(3)).toBe('running');
    now += 1;
    expect(await begin(4)).toBe('started');
    now += 60_000;
    expect(await begin(5)).toBe('running');
    now += 1;
    expect(await begin(6)).toBe('started');
  });
});

test('the sweeper deletes five hundred at a time, and says how many', async () => {
  const rows = Array.from({ length: 501 }, (_, n) => ({
    account_id: 'acc_1',
    idempotency_key: `k${n}`,
    body_hash: 'body',
    request_id: `req_${n}`,
    state: 'done' as const,
    lease_until: 1,
    created_at: 1,
  }));
  await harness.store.db.insertInto('answer').values(rows).execute();
  const answers = new IdempotencyStore(harness.store, { now: () => 86_400_001 });
  // One that is a day old to the millisecond is still good.
  expect(await answers.sweep()).toBe(0);
  const later = new IdempotencyStore(harness.store, { now: () => 86_400_002 });
  expect([await later.sweep(), await later.sweep(), await later.sweep()]).toEqual([500, 1, 0]);
});
