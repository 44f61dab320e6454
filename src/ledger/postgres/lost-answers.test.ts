import { afterEach, beforeEach, expect, test } from 'bun:test';
import { startFaultProxy } from '../../../test/support/fault-proxy.ts';
import { postgresHarness, type PostgresHarness } from '../../../test/support/postgres-ledger.ts';
import { randomPart } from '../../std/ids.ts';
import { LEDGER_ADMIT_ONE } from './admission-sql.ts';
import { accountRow, addAccount, chatAdmission, requestRow, WIDE } from '../testing/contract-harness.ts';

/** What the ledger makes of a database that collides, refuses, or whose answer never arrives. */

const DEADLINE_MS = 60_000;
let harness: PostgresHarness;
beforeEach(async () => {
  harness = await postgresHarness();
}, DEADLINE_MS);
afterEach(async () => {
  expect((await harness.ledger().verify()).breaches).toEqual([]);
  await harness.close();
}, DEADLINE_MS);

/** Every new row of a table meets an error while the condition holds. Counting survives what is undone. */
async function failInserts(table: string, condition: string, sqlState: string): Promise<void> {
  await harness.corrupt(`CREATE SEQUENCE attempts;
    CREATE FUNCTION fail_insert() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      IF ${condition} THEN RAISE EXCEPTION 'as the test wants it' USING ERRCODE = '${sqlState}'; END IF;
      RETURN NEW;
    END $$;
    CREATE TRIGGER fail_insert BEFORE INSERT ON ${table} FOR EACH ROW EXECUTE FUNCTION fail_insert()`);
}

async function attempts(): Promise<number> {
  const { rows } = await harness.backend.pool.query<{ last_value: number }>(
    'SELECT last_value::int FROM attempts',
  );
  return rows[0]?.last_value ?? 0;
}

test.each(['40001', '40P01'])('a collision (%s) is tried again, up to four times', async (sqlState) => {
  const account = await addAccount(harness, 100_000);
  await failInserts('hold', `nextval('attempts') <= 3`, sqlState);
  expect(await harness.ledger().admit(chatAdmission(account))).toMatchObject({ kind: 'admitted' });
  expect(await attempts()).toBe(4);
  expect(await accountRow(harness, account)).toMatchObject({ held: 2_100, open_holds: 1 });
});

test('a database that collides without end is unavailable, and nothing is held', async () => {
  const account = await addAccount(harness, 100_000);
  await failInserts('hold', `nextval('attempts') > 0`, '40001');
  const thrown = await harness
    .ledger()
    .admit(chatAdmission(account))
    .catch((error: unknown) => error);
  expect(thrown).toMatchObject({ code: 'service_unavailable', retryAfterMs: 1_000 });
  expect(await attempts()).toBe(4);
  expect(await accountRow(harness, account)).toMatchObject({ held: 0, open_holds: 0 });
});

test('another failure of the database is not tried again', async () => {
  const account = await addAccount(harness, 100_000);
  await failInserts('hold', `nextval('attempts') > 0`, '53100');
  const thrown = await harness
    .ledger()
    .admit(chatAdmission(account))
    .catch((error: unknown) => error);
  expect(thrown).toMatchObject({ code: 'service_unavailable' });
  expect(await attempts()).toBe(1);
});

test.each(['22003', '23514'])(
  'of a batch, a request whose values are refused (%s) fails alone',
  async (sqlState) => {
    const account = await addAccount(harness, 100_000);
    await failInserts('hold', `NEW.client = 'bad'`, sqlState);
    const answers = await Promise.allSettled(
      ['a', 'bad', 'c'].map((client) => harness.ledger().admit(chatAdmission(account, { client }))),
    );
    expect(answers).toMatchObject([
      { status: 'fulfilled', value: { kind: 'admitted' } },
      { status: 'rejected', reason: { code: 'internal_error' } },
      { status: 'fulfilled', value: { kind: 'admitted' } },
    ]);
    expect(await accountRow(harness, account)).toMatchObject({ held: 4_200, open_holds: 2 });
  },
);

test('an entry whose key was taken at the same moment is looked up the second time', async () => {
  const account = await addAccount(harness, 1_000);
  await failInserts('entry', `NEW.once = 'twice' AND nextval('attempts') <= 2`, '23505');
  const entry = { accountId: account.id, kind: 'credit', amount: 5, cause: 'c', actor: 'a' } as const;
  expect(await harness.ledger().post({ ...entry, once: 'twice' })).toMatchObject({ balance: 1_005 });
  expect(await attempts()).toBe(3);
});

test('an entry that the database refuses is not sent again', async () => {
  const account = await addAccount(harness, 1_000);
  await failInserts('entry', `nextval('attempts') > 0`, '53100');
  const entry = { accountId: account.id, kind: 'credit', amount: 5, cause: 'c', actor: 'a' } as const;
  const thrown = await harness
    .ledger()
    .post(entry)
    .catch((error: unknown) => error);
  expect(thrown).toMatchObject({ code: 'service_unavailable' });
  expect(await attempts()).toBe(1);
  expect(await accountRow(harness, account)).toMatchObject({ balance: 1_000 });
});

test('a hold whose answer was lost is released when it turns up: the client was told to come back', async () => {
  const account = await addAccount(harness, 100_000);
  const url = new URL(harness.backend.url);
  const proxy = await startFaultProxy(Number(url.port));
  url.port = String(proxy.port);
  const node = harness.anotherNode(`far-${randomPart(4)}`, { url: url.href, deadlineFactor: 6 });
  try {
    const admission = chatAdmission(account);
    await node.identify({ kind: 'account', id: account.id });
    const lock = await harness.backend.pool.connect();
    await lock.query('BEGIN');
    await lock.query('SELECT 1 FROM account WHERE id = $1 FOR UPDATE', [account.id]);
    const answer = node.admit(admission).catch((error: unknown) => error);
    await waitingForLock();
    proxy.freeze();
    // The statement goes on and commits, and nobody hears of it.
    await lock.query('COMMIT');
    lock.release();
    expect(await answer).toMatchObject({ code: 'service_unavailable', retryAfterMs: 1_000 });
    expect(await requestRow(harness, admission.requestId)).toMatchObject({ state: 'pending' });
    proxy.thaw();
    await closed(admission.requestId);
    expect(await requestRow(harness, admission.requestId)).toMatchObject({
      state: 'void',
      outcome: 'shed',
      error_code: 'service_unavailable',
      charged: 0,
    });
    expect(await accountRow(harness, account)).toMatchObject({
      balance: 100_000,
      held: 0,
      open_holds: 0,
    });
  } finally {
    await node.close();
    await proxy.close();
  }
});

test.each([`'{}'`, `'{0,0,1}'`, `'{x,0,1,0}'`, 'NULL'])(
  'an admission whose answer cannot be read (%s) leaves no hold that nobody knows of',
  async (garbage) => {
    const account = await addAccount(harness, 100_000);
    await garbleAdmissions(garbage);
    const admission = chatAdmission(account);
    const found = await harness.ledger().admit(admission);
    expect(found).toMatchObject({ kind: 'admitted', held: 2_100, rate: { limit: WIDE.chatPerMinute } });
    expect(found.rate?.remaining).toBeGreaterThan(WIDE.chatPerMinute - 100);
    const ending = { outcome: 'shed', errorCode: 'x', attempts: [], durationMs: 0 } as const;
    await harness.ledger().void(admission.requestId, ending);
    expect(await accountRow(harness, account)).toMatchObject({ held: 0, open_holds: 0 });
  },
);

/** The function decides and writes as before; what it says about it is garbage. */
async function garbleAdmissions(results: string): Promise<void> {
  const { name, text } = LEDGER_ADMIT_ONE;
  const parameters = /\(([\s\S]*?),\s*OUT /.exec(text)?.[1] ?? '';
  const names = parameters.split(',').map((parameter) => parameter.trim().split(' ')[0]);
  await harness.corrupt(`ALTER FUNCTION ${name} RENAME TO as_it_was;
    CREATE FUNCTION ${name}(${parameters}, OUT accounts text, OUT wallets text, OUT group_results text, OUT request_results text)
    LANGUAGE sql AS $$ SELECT accounts, wallets, ${results}::text, request_results FROM as_it_was(${names.join(', ')}) $$`);
}

async function waitingForLock(): Promise<void> {
  for (;;) {
    const { rows } = await harness.backend.pool.query(
      `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%ledger_admit%'`,
    );
    if (rows.length > 0) return;
  }
}

async function closed(requestId: Parameters<typeof requestRow>[1]): Promise<void> {
  while ((await requestRow(harness, requestId)).state === 'pending') await Bun.sleep(5);
}
