import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { testPostgres } from '../../test/support/postgres.ts';
import { LEDGER_SQL } from '../ledger/postgres/functions.ts';
import { dayOf, monthOf } from '../std/calendar.ts';
import { newAccountId } from '../std/ids.ts';
import { silentLog } from '../std/log.ts';
import { openStore, type Store } from '../store/store.ts';
import { makeReader, type Reader } from './reader.ts';
import { runningOut } from './running-out.ts';

const DATABASES = {
  SQLite: () => Promise.resolve(undefined),
  Postgres: async () => (await testPostgres()).freshDatabase(),
};
const DAY = 86_400_000;
const CENT = 10_000_000;

describe.each(Object.entries(DATABASES))(
  'customers whose balance will not last a day, on %s',
  (_name, database) => {
    const dataDir = mkdtempSync(join(tmpdir(), 'tollgate-running-out-'));
    let store: Store;
    let reader: Reader;
    beforeAll(async () => {
      const databaseUrl = await database();
      const clock = { now: () => 0 };
      store = await openStore({ dataDir, databaseUrl, log: silentLog, clock, ledgerSql: LEDGER_SQL });
      reader = makeReader(store);
    }, 60_000);
    afterAll(async () => {
      await reader.close();
      await store.close();
      rmSync(dataDir, { recursive: true, force: true });
    });

    test.each([
      ['early in a month', Date.UTC(2030, 4, 3, 12)],
      ['on its seventh day', Date.UTC(2030, 4, 7, 12)],
      ['late in it', Date.UTC(2030, 4, 28, 12)],
    ])('%s are those who spent more than they have, a day, in the last seven', async (_when, now) => {
      await store.db.deleteFrom('usage_day').execute();
      await store.db.deleteFrom('account').where('role', '=', 'user').execute();
      const expected: string[] = [];
      for (let place = 0; place < 60; place++) {
        const id = newAccountId(now + place);
        const ageDays = [2, 6.5, 7, 30, 90][place % 5] ?? 0;
        const spent = Array.from({ length: 12 }, (_, day) =>
          day < ageDays && (place + day) % 3 > 0 ? ((place * 7 + day * 5) % 11) * CENT : 0,
        );
        const week = spent.slice(0, 7).reduce((sum, amount) => sum + amount, 0);
        const perDay = Math.round(week / Math.min(7, Math.max(1, ageDays)));
        // Around the edge, empty, and far from it.
        const balance = [perDay, Math.max(0, perDay - 1), 0, 10 * perDay, perDay + 1][(place * 3) % 5] ?? 0;
        const ofMonth = spent.filter((_, day) => monthOf(now - day * DAY) === monthOf(now));
        const monthSpent = ofMonth.reduce((sum, amount) => sum + amount, 0);
        const hasSpent = monthSpent > 0;
        await store.db
          .insertInto('account')
          .values({
            id,
            email: `${id}@example.com`,
            created_at: now - ageDays * DAY,
            balance,
            month: hasSpent ? monthOf(now) : monthOf(now - 20 * DAY),
            month_spent: hasSpent ? monthSpent : CENT,
          })
          .execute();
        const rows = spent.flatMap((charged, day) =>
          charged > 0
            ? [
                {
                  account_id: id,
                  day: dayOf(now - day * DAY),
                  endpoint: 'e',
                  model: 'm',
                  requests: 1,
                  charged,
                },
              ]
            : [],
        );
        if (rows.length > 0) await store.db.insertInto('usage_day').values(rows).execute();
        if (perDay > 0 && balance < perDay) expected.push(id);
      }
      const found = await runningOut({ db: store.db, reader }, now);
      expect(found.map(({ id }) => id).toSorted()).toEqual(expected.toSorted());
      expect(found.length).toBeGreaterThan(10);
      const paces = found.map(({ perDay }) => perDay);
      expect(paces).toEqual(paces.toSorted((a, b) => b - a));
    });
  },
);
