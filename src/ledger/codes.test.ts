import { afterEach, beforeEach, expect, test } from 'bun:test';
import { Fault } from '../std/fault.ts';
import { nanoUsd } from '../std/money.ts';
import { RedeemCodes, type NewBatch } from './codes.ts';
import type { Ledger } from './port.ts';
import { addAccount, nth } from './testing/contract-harness.ts';
import { sqliteHarness, type SqliteHarness } from './testing/sqlite-harness.ts';

/** What the administrator and the person who types a code are told. */

let harness: SqliteHarness;
beforeEach(async () => {
  harness = await sqliteHarness();
});
afterEach(() => harness.close());

const NOW = 5_000_000;
const BATCH: NewBatch = { amount: nanoUsd(7), count: 1, actor: 'cli' };

function codes(redeem?: Ledger['redeem'], fill = 3): RedeemCodes {
  return new RedeemCodes({
    store: harness.store,
    ledger: redeem ? { redeem } : harness.ledger(),
    key: new Uint8Array(32).fill(fill),
    clock: { now: () => NOW },
  });
}

const rows = () => harness.store.db.selectFrom('redeem_code').selectAll().execute();
const faultOf = async (work: Promise<unknown>) => await work.catch((thrown: unknown) => thrown);

test('a batch keeps who made it, when, until when it is good, and the last letters of each code', async () => {
  const made = await codes().make({ ...BATCH, batch: 'spring', expiresAt: NOW + 1 });
  expect(made.batch).toBe('spring');
  expect(await rows()).toEqual([
    expect.objectContaining({
      batch: 'spring',
      amount: 7,
      created_by: 'cli',
      created_at: NOW,
      expires_at: NOW + 1,
      hint: `…${nth(made.codes, 0).slice(-4)}`,
    }),
  ]);
});

test('a batch without a name gets one of its own', async () => {
  const [one, other] = [await codes().make(BATCH), await codes().make(BATCH)];
  expect(one.batch).toMatch(/^batch-[0-9A-Za-z]{6}$/);
  expect(other.batch).not.toBe(one.batch);
});

test.each([
  ['amount', { amount: nanoUsd(0) }],
  ['count', { count: 0 }],
  ['count', { count: 1_001 }],
  ['count', { count: 1.5 }],
  ['batch', { batch: '' }],
  ['batch', { batch: 'x'.repeat(61) }],
  ['batch', { batch: 'a\u0000b' }],
  ['batch', { batch: 'a\nb' }],
  ['batch', { batch: 'half \ud83d' }],
])('a wrong %s is named, and nothing is stored', async (param, wrong: Partial<NewBatch>) => {
  expect(await faultOf(codes().make({ ...BATCH, ...wrong }))).toMatchObject({ code: 'invalid_field', param });
  expect(await rows()).toEqual([]);
});

test('a name of sixty characters is good, and one that is taken is named as such', async () => {
  const batch = 'ü'.repeat(60);
  await codes().make({ ...BATCH, batch });
  expect(await faultOf(codes().make({ ...BATCH, batch }))).toMatchObject({
    code: 'invalid_field',
    param: 'batch',
  });
  expect(await rows()).toHaveLength(1);
});

test('codes are four groups of four, from the whole alphabet without I, L, O and U', async () => {
  const { codes: made } = await codes().make({ ...BATCH, count: 1_000 });
  for (const code of made) expect(code).toMatch(/^[0-9A-Z]{4}(-[0-9A-Z]{4}){3}$/);
  expect([...new Set(made.join('').replaceAll('-', ''))].sort().join('')).toBe(
    '0123456789ABCDEFGHJKMNPQRSTVWXYZ',
  );
});

test('a code of another installation’s key is unknown', async () => {
  const account = await addAccount(harness);
  const { codes: made } = await codes().make(BATCH);
  expect(await codes(undefined, 4).redeem(nth(made, 0), account.id)).toBeUndefined();
  expect(await codes().redeem(nth(made, 0), account.id)).toMatchObject({ amount: nanoUsd(7) });
});

test('who enters a code that the account cannot take is told so about the code', async () => {
  const account = await addAccount(harness);
  const full = new Fault('invalid_field', 'The balance would exceed the largest balance allowed.', {
    param: 'amount',
  });
  const thrown = await faultOf(codes(() => Promise.reject(full)).redeem('AAAA', account.id));
  expect(thrown).toMatchObject({
    code: 'invalid_field',
    param: 'code',
    message: 'This account cannot take so much.',
  });
});

test('a store that is away is reported as that, not as a wrong code', async () => {
  const account = await addAccount(harness);
  const away = new Fault('service_unavailable', 'Try again soon.', { retryAfterMs: 1_000 });
  expect(await faultOf(codes(() => Promise.reject(away)).redeem('AAAA', account.id))).toBe(away);
  const strange = new Error('strange');
  expect(await faultOf(codes(() => Promise.reject(strange)).redeem('AAAA', account.id))).toBe(strange);
});

test('letters that look like digits are read as those, wherever they stand, and only the first hundred count', async () => {
  const account = await addAccount(harness);
  const hashes: string[] = [];
  const watching = codes((redemption) => {
    hashes.push(redemption.codeHash);
    expect(redemption).toMatchObject({ accountId: account.id, at: NOW });
    return Promise.resolve(undefined);
  });
  for (const typed of ['0011-AB01', 'oOiL ab0l', '0O1I.a(b)o1', '0011ab01'])
    await watching.redeem(typed, account.id);
  expect(new Set(hashes).size).toBe(1);
  await watching.redeem(`${' '.repeat(92)}0011AB01`, account.id);
  expect(hashes.at(-1)).toBe(nth(hashes, 0));
  await watching.redeem(`${' '.repeat(93)}0011AB01`, account.id);
  expect(hashes.at(-1)).not.toBe(nth(hashes, 0));
});
