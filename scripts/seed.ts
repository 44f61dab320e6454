/**
 * Fills a store with requests that look like months of traffic, with books that `tollgate verify` accepts: for looking at
 * the console under load and for measuring it. The first account made half of the requests.
 *
 *   bun scripts/seed.ts [--requests 1000000] [--accounts 200] [--days 90] [--models 5000] [--data ./data] [--password PHRASE]
 *
 * With DATABASE_URL set it fills Postgres. With --password, seed-0@example.com (the busy account) and
 * seed-admin@example.com (an admin) can sign in with it.
 */
import { parseArgs } from 'node:util';
import { makePasswords } from '../src/identity/sign-in/password.ts';
import { makeUsers } from '../src/identity/sign-in/users.ts';
import { systemClock } from '../src/std/clock.ts';
import { stderrLog } from '../src/std/log.ts';
import { openStore, type Store } from '../src/store/store.ts';
import { backendDayStatements } from './seed/backend-days.ts';
import { bulkWriter } from './seed/bulk.ts';
import { seedNumbers } from './seed/numbers.ts';
import { ROUTES, Traffic } from './seed/traffic.ts';
import { Variety } from './seed/variety.ts';
import { LEDGER_SQL } from '../src/ledger/postgres/functions.ts';

const BATCH = 20_000;

export interface SeedOptions {
  readonly requests: number;
  readonly accounts: number;
  readonly days: number;
  readonly now: number;
  readonly busyShare?: number;
  /** How many models there are beside the usual ones; with them come more clients, outcomes and costs. */
  readonly models?: number;
}

/** Writes everything in time order, so that ids and their indexes grow at one end. */
export async function seed(
  store: Store,
  options: SeedOptions,
): Promise<{ busyAccount: string; seconds: number }> {
  const startedAt = performance.now();
  const variety = options.models === undefined ? undefined : new Variety(options.models);
  const numbers = await seedNumbers(store.db, [...ROUTES, ...(variety?.routes ?? [])]);
  const traffic = new Traffic({ ...options, variety }, numbers);
  const write = bulkWriter(store);
  await write.insert('account', traffic.accountRows());
  for (let made = 0; made < options.requests; made += BATCH) {
    await write.insert('receipt', traffic.next(Math.min(BATCH, options.requests - made)));
  }
  await write.insert('entry', traffic.openingCredits());
  await write.insert('usage_day', traffic.usageRows());
  await write.run([...traffic.balanceUpdates(), ...backendDayStatements(store.backend.kind)]);
  await write.finish();
  return { busyAccount: traffic.busyAccount, seconds: (performance.now() - startedAt) / 1000 };
}

async function letSignIn(store: Store, busyAccount: string, password: string): Promise<void> {
  const users = makeUsers({ store, passwords: makePasswords(), clock: systemClock });
  await users.setPassword(busyAccount, password);
  await users.create({ email: 'seed-admin@example.com', password, role: 'admin' });
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      requests: { type: 'string', default: '1000000' },
      accounts: { type: 'string', default: '200' },
      days: { type: 'string', default: '90' },
      models: { type: 'string' },
      data: { type: 'string', default: process.env['TOLLGATE_DATA'] ?? './data' },
      password: { type: 'string' },
    },
  });
  const databaseUrl = process.env['DATABASE_URL'];
  const store = await openStore({
    dataDir: values.data,
    databaseUrl,
    log: stderrLog,
    clock: systemClock,
    ledgerSql: LEDGER_SQL,
  });
  const counts = {
    requests: Number(values.requests),
    accounts: Number(values.accounts),
    days: Number(values.days),
    ...(values.models === undefined ? {} : { models: Number(values.models), busyShare: 0.3 }),
  };
  const { busyAccount, seconds } = await seed(store, { ...counts, now: Date.now() });
  if (values.password !== undefined) await letSignIn(store, busyAccount, values.password);
  await store.close();
  console.log(`${counts.requests} requests of ${counts.accounts} accounts in ${seconds.toFixed(1)} s`);
}
