import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { testPostgres } from '../../test/support/postgres.ts';
import { openLedger, type OpenLedger } from '../ledger/open-ledger.ts';
import { LEDGER_SQL } from '../ledger/postgres/functions.ts';
import { systemClock } from '../std/clock.ts';
import { silentLog } from '../std/log.ts';
import { openStore, type Store } from '../store/store.ts';
import { BackgroundRows } from './background-rows.ts';
import { ConversationStore } from './conversation-store.ts';
import { resealResponses } from './reseal-responses.ts';
import { openResponseRows, ResponseStore } from './response-store.ts';

/** How long responses are kept, how many, and with which key. */

const HOUR_MS = 3_600_000;
const MEGABYTE = 1_048_576;
const KEY = new Uint8Array(32).fill(1);
const NEXT_KEY = new Uint8Array(32).fill(2);

interface Setting {
  readonly synchronous_commit: string;
}

describe.each([
  ['SQLite', () => Promise.resolve(undefined)],
  ['Postgres', async () => (await testPostgres()).freshDatabase()],
] as const)('on %s', (name, database) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'tollgate-responses-'));
  const rules = { keepMs: 24 * HOUR_MS, keepBytes: 1_000 * MEGABYTE };
  let now = 0;
  const clock = { now: () => now };
  let store: Store;
  let ledger: OpenLedger;
  let responses: ResponseStore;

  beforeAll(async () => {
    const log = silentLog;
    const databaseUrl = await database();
    store = await openStore({ dataDir, databaseUrl, log, clock: systemClock, ledgerSql: LEDGER_SQL });
    ledger = openLedger(store, { node: 'test', clock: systemClock, log });
    responses = storeWith(KEY);
  });
  beforeEach(async () => {
    now = 1_000 * HOUR_MS;
    Object.assign(rules, { keepMs: 24 * HOUR_MS, keepBytes: 1_000 * MEGABYTE });
    await store.db.deleteFrom('stored_response').execute();
    await store.db.deleteFrom('response_storage').execute();
  });
  afterAll(async () => {
    await ledger.close();
    await store.close();
    rmSync(dataDir, { recursive: true, force: true });
  });

  function storeWith(key: Uint8Array): ResponseStore {
    const rows = openResponseRows(store, ledger, 30_000);
    return new ResponseStore({ store, rows, clock, key, rules: () => rules });
  }

  function conversationsWith(key: Uint8Array): ConversationStore {
    return new ConversationStore({ store, clock, key, rules: () => rules, space: responses.space });
  }

  async function keep(id: string, accountId = 'acc_1', characters = 10): Promise<void> {
    const items = { input: [{ type: 'message', role: 'user', content: 'x'.repeat(characters) }], output: [] };
    await responses.keep({ id, accountId, state: 'completed', items, answer: { id, output: [] } });
  }

  const kept = async (): Promise<string[]> =>
    (await store.db.selectFrom('stored_response').select('id').orderBy('id').execute()).map(({ id }) => id);

  async function sums(): Promise<Record<string, number>> {
    const rows = await store.db.selectFrom('response_storage').selectAll().execute();
    return Object.fromEntries(rows.map(({ account_id, bytes }) => [account_id, bytes]));
  }

  test('what is older than its time is not found at once, and deleted by the next sweep', async () => {
    await keep('resp_1');
    now += 12 * HOUR_MS;
    await keep('resp_2');
    now += 12 * HOUR_MS;
    expect(await responses.answer('resp_1', 'acc_1')).toBeUndefined();
    expect(await responses.answer('resp_2', 'acc_1')).toMatchObject({ id: 'resp_2' });
    expect(await kept()).toEqual(['resp_1', 'resp_2']);
    await responses.sweep();
    expect(await kept()).toEqual(['resp_2']);
    rules.keepMs = 0;
    await responses.sweep();
    expect([await kept(), await sums()]).toEqual([[], { acc_1: 0 }]);
  });

  test('when all accounts together have too much, the oldest leave, whoever has them', async () => {
    for (let number = 1; number <= 6; number++) {
      now += 1_000;
      await keep(`resp_${number}`, `acc_${number % 2}`, MEGABYTE);
    }
    rules.keepBytes = 3.5 * MEGABYTE;
    await responses.sweep();
    expect(await kept()).toEqual(['resp_4', 'resp_5', 'resp_6']);
    const { acc_0: even = 0, acc_1: odd = 0 } = await sums();
    expect([Math.round(even / MEGABYTE), Math.round(odd / MEGABYTE)]).toEqual([2, 1]);
  });

  test('an account with too much loses its oldest, among those of others, each time; switched off it loses all, late ones too', async () => {
    const own = async (): Promise<string[]> =>
      (await kept()).filter((id) => !id.endsWith('other')).map((id) => id.slice(-2));
    const add = async (from: number, to: number): Promise<void> => {
      for (let number = from; number <= to; number++) {
        now += 1_000;
        await keep(`resp_${number}`, 'acc_1', 4 * MEGABYTE);
        await keep(`resp_${number}_other`, 'acc_2');
      }
    };
    await add(11, 26);
    expect(await own()).toEqual(Array.from({ length: 14 }, (_, place) => String(13 + place)));
    await add(27, 28);
    expect(await own()).toEqual(Array.from({ length: 14 }, (_, place) => String(15 + place)));
    await keep('resp_10_took_long_00');
    await responses.space.switchOff('acc_1');
    expect([await own(), (await kept()).length, (await sums())['acc_1']]).toEqual([[], 18, 0]);
  });

  test('switched off while answers come in, nothing stays and nothing is counted; switched on it goes on', async () => {
    const writing = Array.from({ length: 60 }, (_, number) => keep(`resp_${number}`));
    await Promise.all([...writing.slice(0, 30), responses.space.switchOff('acc_1'), ...writing.slice(30)]);
    expect([await kept(), await sums()]).toEqual([[], { acc_1: 0 }]);
    expect(await responses.space.isOff('acc_1')).toBe(true);
    await keep('resp_never');
    expect(await kept()).toEqual([]);
    await responses.space.switchOn('acc_1');
    await keep('resp_again');
    expect(await kept()).toEqual(['resp_again']);
  });

  test('many that are kept at once are all found, each with its own content', async () => {
    const ids = Array.from({ length: 250 }, (_, number) => `resp_${String(number).padStart(3, '0')}`);
    await Promise.all(ids.map((id, number) => keep(id, `acc_${number % 7}`, number)));
    for (const [number, id] of ids.entries()) {
      const found = (await responses.items([id], `acc_${number % 7}`)).get(id);
      expect(String(found?.input[0]?.['content']).length).toBe(number);
    }
    expect(await responses.items([ids[0] ?? ''], 'acc_1')).toEqual(new Map());
  });

  test.if(name === 'Postgres')(
    'what is stored does not wait for the disk, and whatever else its connection commits does',
    async () => {
      const commits = async (db = store.db): Promise<string | undefined> =>
        (await sql<Setting>`SHOW synchronous_commit`.execute(db)).rows[0]?.synchronous_commit;
      const item = { id: 'resp_1', accountId: 'acc_1', items: { input: [], output: [] }, answer: {} };
      await store.db.transaction().execute(async (db) => {
        const rows = openResponseRows({ ...store, db }, ledger, 30_000);
        const within = new ResponseStore({
          store: { ...store, db },
          rows,
          clock,
          key: KEY,
          rules: () => rules,
        });
        await within.keep({ ...item, state: 'completed' });
        expect(await commits(db)).toBe('off');
      });
      await Promise.all(Array.from({ length: 20 }, (_, number) => keep(`resp_${number + 2}`)));
      expect(await Promise.all(Array.from({ length: 8 }, () => commits()))).toEqual(
        Array.from({ length: 8 }, () => 'on'),
      );
    },
  );

  test('one that is cancelled while it ends stays cancelled if its client was told so, and is complete if not', async () => {
    const background = new BackgroundRows({ store, clock, key: KEY, space: responses.space });
    const items = { input: [], output: [{ type: 'message', content: 'done' }] };
    for (let number = 0; number < 80; number++) {
      const id = `resp_${number}`;
      const queued = { id, accountId: 'acc_1', requestId: `req_${number}` };
      const unmade = { items: { input: [], output: [] }, answer: { id, output: [] } };
      await responses.keep({ ...queued, ...unmade, state: 'in_progress' });
      const cancel = async (): Promise<boolean> => {
        // Each query is about as long as one of the steps in which the other ends.
        for (let step = 0; step < number % 8; step++) await responses.space.isOff('acc_1');
        return await background.cancel(id, 'acc_1');
      };
      const answer = { id, output: items.output };
      const [isCancelled] = await Promise.all([
        cancel(),
        background.end(id, 'acc_1', { state: 'completed', items, answer }),
      ]);
      const found = await responses.answer(id, 'acc_1');
      expect([isCancelled, found?.status, found?.output]).toEqual(
        isCancelled ? [true, 'cancelled', []] : [false, 'completed', items.output],
      );
    }
  });

  test('sealed anew with another key, only that opens it, and no row is opened as another', async () => {
    await keep('resp_1');
    await keep('resp_2');
    const conversation = { id: 'conv_1', metadata: { topic: 'seals' } };
    const item = { id: 'msg_1', type: 'message', content: 'hello' };
    await conversationsWith(KEY).create('acc_1', conversation, [item]);
    await store.db.transaction().execute((tx) => resealResponses(tx, { from: KEY, to: NEXT_KEY }));
    expect(await storeWith(NEXT_KEY).answer('resp_1', 'acc_1')).toMatchObject({ id: 'resp_1' });
    await expect(responses.answer('resp_1', 'acc_1')).rejects.toThrow();
    expect(await conversationsWith(NEXT_KEY).find('conv_1', 'acc_1')).toMatchObject(conversation);
    expect(await conversationsWith(NEXT_KEY).items('conv_1', 'acc_1', 10)).toEqual([item]);
    await expect(conversationsWith(KEY).items('conv_1', 'acc_1', 10)).rejects.toThrow();
    const { items } = await store.db
      .selectFrom('stored_response')
      .select('items')
      .where('id', '=', 'resp_1')
      .executeTakeFirstOrThrow();
    await store.db.updateTable('stored_response').set({ items }).where('id', '=', 'resp_2').execute();
    await expect(storeWith(NEXT_KEY).answer('resp_2', 'acc_1')).rejects.toThrow();
  });
});
