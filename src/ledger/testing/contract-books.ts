import { expect } from 'bun:test';
import { Fault } from '../../std/fault.ts';
import { newRequestId, type AccountId } from '../../std/ids.ts';
import { MAX_BALANCE, nanoUsd } from '../../std/money.ts';
import {
  accountRow,
  addAccount,
  chatAdmission,
  hold,
  nth,
  used,
  type LedgerHarness,
  type ContractCheck,
} from './contract-harness.ts';
import type { Breach, NewEntry } from '../port.ts';

/** Credits and other postings, account snapshots, and the ledger check. */
export function bookCases(check: ContractCheck): void {
  postCases(check);
  onceCases(check);
  standingCases(check);
  verifyCases(check);
}

const CREDIT: Omit<NewEntry, 'accountId'> = { kind: 'credit', amount: 100, cause: 'gift', actor: 'cli' };

function postCases(check: ContractCheck): void {
  check(
    'a credit, a refund and an adjustment change the balance by an entry that says why and by whom',
    async (harness) => {
      const account = await addAccount(harness);
      await harness.ledger().post({ ...CREDIT, accountId: account.id });
      await harness
        .ledger()
        .post({ accountId: account.id, kind: 'refund', amount: 20, cause: 'sorry', actor: 'acc_admin' });
      const last = await harness
        .ledger()
        .post({ accountId: account.id, kind: 'adjustment', amount: -50, cause: 'slip', actor: 'cli' });
      expect(last.balance).toBe(nanoUsd(70));
      const entries = await harness.store.db.selectFrom('entry').selectAll().orderBy('id').execute();
      expect(entries).toMatchObject([
        {
          kind: 'credit',
          amount: 100,
          cause: 'gift',
          actor: 'cli',
          account_id: account.id,
          request_id: null,
        },
        { kind: 'refund', amount: 20, cause: 'sorry', actor: 'acc_admin' },
        { id: last.entryId, kind: 'adjustment', amount: -50 },
      ]);
      expect(await accountRow(harness, account)).toMatchObject({ balance: 70 });
    },
  );

  check(
    'no entry leaves 0 ≤ held ≤ balance ≤ the largest balance, and a refused one leaves no trace',
    async (harness) => {
      const account = await addAccount(harness, 5_000);
      await hold(harness, chatAdmission(account));
      const refused: Partial<NewEntry>[] = [
        { amount: MAX_BALANCE },
        { kind: 'adjustment', amount: -2_901 },
        { kind: 'adjustment', amount: -6_000 },
        { amount: -1 },
        { kind: 'refund', amount: -1 },
        { amount: 0 },
        { amount: 1.5 },
        { amount: Number.NaN },
        { amount: Number.POSITIVE_INFINITY },
        { amount: 2 ** 53 },
        { accountId: 'acc_nobody' as AccountId },
      ];
      for (const change of refused) {
        const posting = harness.ledger().post({ ...CREDIT, accountId: account.id, ...change });
        const fault = await posting.then(
          () => undefined,
          (thrown: unknown) => thrown,
        );
        expect(fault).toBeInstanceOf(Fault);
        expect((fault as Fault).code).toBe('invalid_field');
      }
      expect(await accountRow(harness, account)).toMatchObject({ balance: 5_000, held: 2_100 });
      await harness
        .ledger()
        .post({ accountId: account.id, kind: 'adjustment', amount: -2_900, cause: 'x', actor: 'x' });
      await harness.ledger().post({ ...CREDIT, accountId: account.id, amount: MAX_BALANCE - 2_100 });
      expect((await harness.ledger().verify()).breaches).toEqual([]);
    },
  );
}

function onceCases(check: ContractCheck): void {
  check('the same key posts once, however often and at once it comes', async (harness) => {
    const account = await addAccount(harness);
    const entry = { ...CREDIT, accountId: account.id, once: 'payment:1' };
    const results = await Promise.all(Array.from({ length: 20 }, () => harness.ledger().post(entry)));
    expect(new Set(results.map((result) => result.entryId)).size).toBe(1);
    expect(await harness.ledger().post(entry)).toEqual({
      entryId: nth(results, 0).entryId,
      balance: nanoUsd(100),
    });
    expect((await harness.ledger().post({ ...entry, once: 'payment:2' })).balance).toBe(nanoUsd(200));
  });
}

function standingCases(check: ContractCheck): void {
  check(
    'an account that asks signed in and by its token at the same moment is one account',
    async (harness) => {
      const account = await addAccount(harness, 100_000);
      await harness.crash();
      const asked = Array.from({ length: 6 }, (_, place) =>
        chatAdmission(account, place % 2 === 0 ? { caller: { kind: 'account', id: account.id } } : {}),
      );
      await Promise.all(asked.map((request) => hold(harness, request)));
      expect(await accountRow(harness, account)).toMatchObject({ held: 6 * 2_100, open_holds: 6 });
      await Promise.all(
        asked.map(({ requestId }) => harness.ledger().settle(requestId, used({ output: 10 }))),
      );
      expect(await accountRow(harness, account)).toMatchObject({ balance: 100_000 - 6 * 20, held: 0 });
      expect((await harness.ledger().verify()).breaches).toEqual([]);
    },
  );

  check(
    'a snapshot shows the account of a token and its remaining limits without consuming any',
    async (harness) => {
      const account = await addAccount(harness, 10_000);
      await harness.store.db
        .updateTable('account')
        .set({ chat_per_minute: 7, monthly_limit: 9_000 })
        .where('id', '=', account.id)
        .execute();
      const id = await hold(harness, chatAdmission(account));
      await harness.ledger().settle(id, used({ output: 50 }));
      await hold(harness, chatAdmission(account));
      const before = await accountRow(harness, account);
      const snapshot = await harness.ledger().identify({ kind: 'token', hash: account.hash });
      expect(snapshot).toMatchObject({
        accountId: account.id,
        email: before.email,
        balance: nanoUsd(9_900),
        held: nanoUsd(2_100),
        openHolds: 1,
        monthSpent: nanoUsd(100),
        monthlyLimit: nanoUsd(9_000),
        limits: { chatPerMinute: 7, imagesPerMinute: undefined, concurrent: undefined },
        arrivals: { chat: before.chat_arrival_us, images: 0 },
      });
      expect(Math.abs((snapshot?.now ?? 0) - (await harness.now()))).toBeLessThan(60_000);
      expect(await harness.ledger().identify({ kind: 'account', id: account.id })).toMatchObject({
        accountId: account.id,
      });
      expect(
        await harness.ledger().identify({ kind: 'account', id: 'acc_nobody' as AccountId }),
      ).toBeUndefined();
      expect(await accountRow(harness, account)).toEqual(before);
    },
  );
}

/** Each breaks one thing in an otherwise consistent ledger; `{posted}`, `{pending}`, `{account}` are filled in. */
const BREAKS: readonly {
  readonly what: string;
  readonly invariant: Breach['invariant'];
  readonly sql: string;
}[] = [
  {
    what: 'a balance that no entry explains',
    invariant: 'I1',
    sql: `UPDATE account SET balance = balance + 1 WHERE id = '{account}'`,
  },
  {
    what: 'an entry that never reached the balance',
    invariant: 'I1',
    sql: `DELETE FROM entry WHERE kind = 'credit'`,
  },
  {
    what: 'a held amount that no request explains',
    invariant: 'I2',
    sql: `UPDATE account SET held = held + 1 WHERE id = '{account}'`,
  },
  {
    what: 'a wrong number of open holds',
    invariant: 'I2',
    sql: `UPDATE account SET open_holds = 7 WHERE id = '{account}'`,
  },
  {
    what: 'a hold that is not its price × what its request may use',
    invariant: 'I2',
    sql: `UPDATE hold SET output_cap = output_cap + 1 WHERE id = '{pending}'`,
  },
  {
    what: 'a hold whose price is unknown',
    invariant: 'I2',
    sql: `UPDATE hold SET price = 999 WHERE id = '{pending}'`,
  },
  {
    what: 'more held than there is',
    invariant: 'I3',
    sql: `UPDATE account SET held = balance + 1 WHERE id = '{account}'`,
  },
  { what: 'a negative hold', invariant: 'I3', sql: `UPDATE account SET held = -1 WHERE id = '{account}'` },
  {
    what: 'a charge whose receipt is gone',
    invariant: 'I1',
    sql: `DELETE FROM receipt WHERE id = '{posted}'`,
  },
  {
    what: 'a charge that the sums of its day do not know',
    invariant: 'I1',
    sql: `UPDATE usage_day SET charged = charged + 1 WHERE account_id = '{account}'`,
  },
  {
    what: 'a request that is both running and over',
    invariant: 'I4',
    sql: `UPDATE hold SET id = '{posted}' WHERE id = '{pending}'`,
  },
  {
    what: 'a charge that is not price × usage',
    invariant: 'I4',
    sql: `UPDATE receipt SET charged = charged + 1 WHERE id = '{posted}'`,
  },
  {
    what: 'a usage that does not explain the charge',
    invariant: 'I4',
    sql: `UPDATE receipt SET output_tokens = output_tokens - 1 WHERE id = '{posted}'`,
  },
  {
    what: 'a price that does not explain the charge',
    invariant: 'I4',
    sql: `UPDATE price SET output = output + 1000000`,
  },
  {
    what: 'a receipt whose price is unknown',
    invariant: 'I4',
    sql: `UPDATE receipt SET price = 999 WHERE id = '{posted}'`,
  },
  {
    what: 'a void request that was charged',
    invariant: 'I4',
    sql: `UPDATE receipt SET state = 2 WHERE id = '{posted}'`,
  },
  {
    what: 'a loss of the operator that no entry tells',
    invariant: 'I4',
    sql: `UPDATE receipt SET overrun = 5 WHERE id = '{posted}'`,
  },
  {
    what: 'a loss of the operator that its request does not know',
    invariant: 'I4',
    sql: `INSERT INTO entry (account_id, kind, amount, request_id, cause, actor, created_at)
      VALUES ('acc_overrun', 'overrun', 5, '{posted}', 'x', 'x', 1)`,
  },
  {
    what: 'a hold that nobody closes',
    invariant: 'I5',
    sql: `UPDATE hold SET lease_until = 1 WHERE id = '{pending}'`,
  },
  {
    what: 'a second charge for one request',
    invariant: 'I6',
    sql: `INSERT INTO entry (account_id, kind, amount, request_id, cause, actor, created_at)
      VALUES ('{account}', 'charge', -20, '{posted}', 'x', 'x', 1)`,
  },
  {
    what: 'a charge above its hold',
    invariant: 'I6',
    sql: `UPDATE receipt SET charged = held + 1 WHERE id = '{posted}'`,
  },
];

function verifyCases(check: ContractCheck): void {
  check('a consistent ledger has no breach, and the check says how much it read', async (harness) => {
    const books = await fillBooks(harness);
    const { breaches, checked } = await harness.ledger().verify();
    expect(breaches).toEqual([]);
    expect(checked).toEqual({ accounts: 2, entries: 1, requests: 3 });
    expect(books.account.id).toStartWith('acc_');
  });

  check('a node whose clock is days behind or ahead makes no alarm', async (harness) => {
    const account = await addAccount(harness, 10_000);
    const now = await harness.now();
    for (const wrongMs of [0, -72, -2, 2, 72].map((hours) => hours * 3_600_000)) {
      const id = await hold(harness, chatAdmission(account, { requestId: newRequestId(now + wrongMs) }));
      await harness.ledger().settle(id, used({ output: 10 }));
    }
    for (const full of [false, true]) expect((await harness.ledger().verify({ full })).breaches).toEqual([]);
    await harness.corrupt(`UPDATE usage_day SET charged = charged - 1 WHERE account_id = '${account.id}'`);
    expect((await harness.ledger().verify()).breaches).toMatchObject([
      { invariant: 'I1', subject: account.id },
      { invariant: 'I1', subject: account.id },
    ]);
  });

  check(
    'a hold that is renewed for longer than its request may live is a breach of I7, and an open one within it is none',
    async (harness) => {
      const account = await addAccount(harness, 10_000);
      const requestId = await hold(harness, chatAdmission(account));
      const longestRequestMs = 600_000;
      const breaches = async (): Promise<readonly Breach[]> => {
        await harness.ledger().renew([{ requestId, delivered: used({}).usage }]);
        return (await harness.ledger().verify({ longestRequestMs })).breaches;
      };
      await harness.advance(longestRequestMs + harness.leaseMs + 30_000);
      expect(await breaches()).toEqual([]);
      await harness.advance(60_000);
      expect(await breaches()).toMatchObject([{ invariant: 'I7', subject: requestId }]);
      await harness.ledger().renew([{ requestId, delivered: used({}).usage }]);
      expect((await harness.ledger().verify()).breaches).toEqual([]);
      await harness.advance(5 * 86_400_000);
      await harness.ledger().renew([{ requestId, delivered: used({}).usage }]);
      expect((await harness.ledger().verify({ full: true })).breaches).toMatchObject([{ invariant: 'I7' }]);
      await harness.ledger().void(requestId, { outcome: 'shed', attempts: [], durationMs: 1 });
      expect(await breaches()).toEqual([]);
    },
  );

  statementCases(check);

  for (const { what, invariant, sql } of BREAKS) {
    check(`${what} is a breach of ${invariant}`, async (harness) => {
      const { account, posted, pending } = await fillBooks(harness);
      await harness.corrupt(
        sql
          .replaceAll('{account}', account.id)
          .replaceAll('{posted}', posted)
          .replaceAll('{pending}', pending),
      );
      for (const full of [false, true]) {
        const { breaches } = await harness.ledger().verify({ full });
        expect(breaches.map((breach) => breach.invariant)).toContain(invariant);
      }
    });
  }
}

function statementCases(check: ContractCheck): void {
  for (const { what, sql } of [
    { what: 'a gap in the numbers of statements', sql: 'UPDATE statement SET number = 3 WHERE number = 2' },
    {
      what: 'a statement that begins with another balance',
      sql: 'UPDATE statement SET opening = opening + 1, closing = closing + 1',
    },
    {
      what: 'an entry that was booked into a month that is stated',
      sql: `UPDATE entry SET created_at = ${Date.UTC(2020, 0, 10)}`,
    },
  ]) {
    check(`${what} is a breach of I10`, async (harness) => {
      const { account } = await fillBooks(harness);
      const months = [
        { number: 1, month: 202001, starts_at: Date.UTC(2020, 0), ends_at: Date.UTC(2020, 1) },
        { number: 2, month: 202002, starts_at: Date.UTC(2020, 1), ends_at: Date.UTC(2020, 2) },
      ];
      const nothing = {
        opening: 0,
        moved: 0,
        charged: 0,
        closing: 0,
        issued_at: Date.UTC(2020, 3),
        content: '{}',
      };
      await harness.store.db
        .insertInto('statement')
        .values(months.map((month) => ({ account_id: account.id, ...month, ...nothing })))
        .execute();
      expect((await harness.ledger().verify({ full: true })).breaches).toEqual([]);
      await harness.corrupt(sql);
      const { breaches } = await harness.ledger().verify({ full: true });
      expect(breaches.map((breach) => breach.invariant)).toContain('I10');
    });
  }
}

async function fillBooks(harness: LedgerHarness) {
  const account = await addAccount(harness, 10_000);
  const posted = await hold(harness, chatAdmission(account));
  const voided = await hold(harness, chatAdmission(account));
  const pending = await hold(harness, chatAdmission(account));
  await harness.ledger().settle(posted, used({ output: 10 }));
  await harness.ledger().void(voided, { outcome: 'shed', attempts: [], durationMs: 1 });
  return { account, posted, pending };
}
