import { expect } from 'bun:test';
import { Fault } from '../../std/fault.ts';
import { MAX_BALANCE, nanoUsd } from '../../std/money.ts';
import type { Store } from '../../store/store.ts';
import { RedeemCodes } from '../codes.ts';
import {
  accountRow,
  addAccount,
  credit,
  nth,
  type ContractCheck,
  type LedgerHarness,
} from './contract-harness.ts';

/** What redeem codes promise, on either database. */
export function codeCases(check: ContractCheck): void {
  batchCases(check);
  madeTwiceCases(check);
  postingCases(check);
  redeemCases(check);
}

const AMOUNT = nanoUsd(5_000);
const NOW = 1_000_000;

function codesOn(harness: LedgerHarness, now = NOW, store = harness.store): RedeemCodes {
  return new RedeemCodes({
    store,
    ledger: harness.ledger(),
    key: new Uint8Array(32).fill(3),
    clock: { now: () => now },
  });
}

function batchCases(check: ContractCheck): void {
  check('codes are all different, shown once and stored as hashes only', async (harness) => {
    const { batch, codes } = await codesOn(harness).make({ amount: AMOUNT, count: 50, actor: 'cli' });
    expect(new Set(codes).size).toBe(50);
    for (const code of codes) expect(code).toMatch(/^([0-9A-HJKMNP-TV-Z]{4}-){3}[0-9A-HJKMNP-TV-Z]{4}$/);
    const rows = await harness.store.db.selectFrom('redeem_code').selectAll().execute();
    expect(rows).toHaveLength(50);
    for (const row of rows) {
      expect(row).toMatchObject({
        batch,
        amount: 5_000,
        created_by: 'cli',
        redeemed_by: null,
        expires_at: null,
      });
      expect(codes.some((code) => JSON.stringify(row).includes(code.replaceAll('-', '')))).toBe(false);
    }
  });

  check('a batch is made or cancelled once that survives a power cut', async (harness) => {
    const seen: number[] = [];
    const durable = async (): Promise<void> => {
      const open = harness.store.db
        .selectFrom('redeem_code')
        .select('code_hash')
        .where('expires_at', 'is', null);
      seen.push((await open.execute()).length);
      await harness.store.durable();
    };
    const store = Object.assign(Object.create(harness.store) as Store, { durable });
    const codes = codesOn(harness, NOW, store);
    const { batch } = await codes.make({ amount: AMOUNT, count: 3, actor: 'cli' });
    expect(seen).toEqual([3]);
    await codes.cancel(batch);
    expect(seen).toEqual([3, 0]);
  });

  check('a batch has a name of its own, a worth and a bounded size', async (harness) => {
    const codes = codesOn(harness);
    await codes.make({ amount: AMOUNT, count: 1_000, batch: 'spring', actor: 'cli' });
    const refused = [
      { amount: AMOUNT, count: 1, batch: 'spring' },
      { amount: nanoUsd(0), count: 1 },
      { amount: AMOUNT, count: 0 },
      { amount: AMOUNT, count: 1_001 },
      { amount: AMOUNT, count: 1.5 },
    ];
    for (const batch of refused) expect(codes.make({ ...batch, actor: 'cli' })).rejects.toBeInstanceOf(Fault);
  });
}

function madeTwiceCases(check: ContractCheck): void {
  check(
    'codes under a key are made once, however many ask for them at once, and told to all',
    async (harness) => {
      const order = { amount: AMOUNT, count: 40, actor: 'cli', once: 'a key' };
      const made = await Promise.all([1, 2, 3].map(() => codesOn(harness).make(order)));
      const again = await codesOn(harness, NOW + 86_400_000).make(order);
      for (const { batch, codes } of made) expect({ batch, codes }).toEqual(again);
      const named = await codesOn(harness).make({ ...order, batch: 'of a key', once: 'another key' });
      expect(await codesOn(harness).make({ ...order, batch: 'of a key', once: 'another key' })).toEqual(
        named,
      );
      expect(new Set([...again.codes, ...named.codes]).size).toBe(80);
      const rows = await harness.store.db.selectFrom('redeem_code').select('code_hash').execute();
      expect(rows).toHaveLength(80);
      for (const other of [{ count: 41 }, { amount: nanoUsd(1) }, { batch: 'x' }])
        expect(codesOn(harness).make({ ...order, ...other })).rejects.toMatchObject({
          code: 'idempotency_key_reused',
        });
      // Nobody remembers the key any more: nothing is told, and nothing is made.
      expect(codesOn(harness, NOW + 2 * 86_400_000).make(order)).rejects.toMatchObject({ param: 'batch' });
      expect(await harness.store.db.selectFrom('redeem_code').select('code_hash').execute()).toHaveLength(80);
    },
  );

  check('of two batches of one name that are made at once, one is', async (harness) => {
    const order = { amount: AMOUNT, count: 3, batch: 'spring', actor: 'cli' };
    const ends = await Promise.allSettled([1, 2, 3, 4].map(() => codesOn(harness).make(order)));
    expect(ends.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(await harness.store.db.selectFrom('redeem_code').select('code_hash').execute()).toHaveLength(3);
  });
}

function postingCases(check: ContractCheck): void {
  check('a redeemed code is posted by the ledger itself, among all else that it does', async (harness) => {
    const ledger = harness.ledger();
    const before = await harness.now();
    const made = await codesOn(harness).make({ amount: AMOUNT, count: 1, actor: 'cli' });
    const accounts = await Promise.all(Array.from({ length: 20 }, () => addAccount(harness)));
    const redeemed = await Promise.all(
      accounts.map(async ({ id }) => {
        const [result] = await Promise.all([
          codesOn(harness).redeem(nth(made.codes, 0), id),
          ledger.post({ accountId: id, kind: 'credit', amount: 7, cause: 'test', actor: 'test' }),
        ]);
        return result;
      }),
    );
    expect(redeemed.filter((result) => result)).toHaveLength(1);
    const rows = await harness.store.db.selectFrom('entry').selectAll().where('amount', '=', 5_000).execute();
    const winner = nth(accounts, redeemed.findIndex(Boolean));
    expect(rows).toMatchObject([{ account_id: winner.id, kind: 'credit' }]);
    // The ledger's clock, as in every entry that it posts; the codes of this test live in another year.
    expect(nth(rows, 0).created_at).toBeGreaterThanOrEqual(before);
    // Its key is taken: posting under it again changes nothing.
    const once = nth(rows, 0).once ?? '';
    const again = await ledger.post({
      accountId: winner.id,
      kind: 'credit',
      amount: 9,
      cause: '',
      actor: '',
      once,
    });
    expect(again).toEqual({ entryId: nth(rows, 0).id, balance: nanoUsd(5_007) });
    expect((await ledger.verify()).breaches).toEqual([]);
  });
}

function redeemCases(check: ContractCheck): void {
  check('of many who enter a code at once, one is credited, once', async (harness) => {
    const codes = codesOn(harness);
    const made = await codes.make({ amount: AMOUNT, count: 1, actor: 'cli' });
    const code = nth(made.codes, 0);
    const accounts = await Promise.all(Array.from({ length: 10 }, () => addAccount(harness)));
    const results = await Promise.all([...accounts, ...accounts].map(({ id }) => codes.redeem(code, id)));
    expect(results.filter((result) => result)).toEqual([{ amount: AMOUNT, balance: AMOUNT }]);
    const rows = await Promise.all(accounts.map((account) => accountRow(harness, account)));
    expect(rows.reduce((sum, row) => sum + row.balance, 0)).toBe(5_000);
    expect((await harness.ledger().verify()).breaches).toEqual([]);
  });

  check('a code is known however it is typed, and the ledger sees its credit at once', async (harness) => {
    const codes = codesOn(harness);
    const account = await addAccount(harness);
    const made = await codes.make({ amount: AMOUNT, count: 2, batch: 'b', actor: 'cli' });
    const typed = ` ${nth(made.codes, 0).toLowerCase().replaceAll('-', ' ').replaceAll('0', 'o').replaceAll('1', 'l')} `;
    expect(await codes.redeem(typed, account.id)).toEqual({ amount: AMOUNT, balance: AMOUNT });
    expect(await harness.ledger().identify({ kind: 'token', hash: account.hash })).toMatchObject({
      balance: AMOUNT,
    });
    const entries = await harness.store.db.selectFrom('entry').selectAll().execute();
    expect(entries).toMatchObject([
      { kind: 'credit', amount: 5_000, cause: 'code of b', account_id: account.id },
    ]);
    for (const nonsense of ['', '-', 'AAAA-BBBB', 'x'.repeat(10_000), "'; DROP TABLE account; --"]) {
      expect(await codes.redeem(nonsense, account.id)).toBeUndefined();
    }
  });

  check('a code that is too old is worth nothing', async (harness) => {
    const account = await addAccount(harness);
    const made = await codesOn(harness).make({
      amount: AMOUNT,
      count: 1,
      expiresAt: NOW + 100,
      actor: 'cli',
    });
    expect(await codesOn(harness, NOW + 100).redeem(nth(made.codes, 0), account.id)).toBeUndefined();
    expect(await codesOn(harness, NOW + 99).redeem(nth(made.codes, 0), account.id)).toMatchObject({
      amount: AMOUNT,
    });
  });

  check('a code that an account cannot take stays good', async (harness) => {
    const codes = codesOn(harness);
    const rich = await addAccount(harness);
    await credit(harness, rich.id, MAX_BALANCE - 4_999);
    const made = await codes.make({ amount: AMOUNT, count: 1, actor: 'cli' });
    expect(codes.redeem(nth(made.codes, 0), rich.id)).rejects.toBeInstanceOf(Fault);
    const other = await addAccount(harness);
    expect(await codes.redeem(nth(made.codes, 0), other.id)).toMatchObject({ balance: AMOUNT });
    expect((await harness.ledger().verify()).breaches).toEqual([]);
  });
}
