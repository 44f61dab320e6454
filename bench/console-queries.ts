/**
 * How long each list and chart of the console takes on a store with many requests, and how much memory the file of all
 * of them needs. Usage: bun bench/console-queries.ts [--requests 1000000] [--database sqlite|postgres|both] [--rounds 15]
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { accountPage, accountTotals, topSpenders } from '../src/activity/accounts.ts';
import { auditPage } from '../src/activity/audit.ts';
import { entryPage } from '../src/activity/entries.ts';
import { makeReader, type Reader } from '../src/activity/reader.ts';
import {
  firstRequest,
  requestById,
  requestPage,
  runningRequests,
  type RequestFilter,
} from '../src/activity/request-log.ts';
import { EVERYBODY, usageRows } from '../src/activity/usage.ts';
import { CSV_OWN, requestCsv } from '../src/console/requests.ts';
import { dayOf } from '../src/std/calendar.ts';
import { systemClock } from '../src/std/clock.ts';
import { silentLog } from '../src/std/log.ts';
import { openStore, type Store } from '../src/store/store.ts';
import { seed } from '../scripts/seed.ts';
import { startPostgres } from '../test/support/postgres.ts';

const { values: flags } = parseArgs({
  options: {
    requests: { type: 'string', default: '1000000' },
    database: { type: 'string', default: 'both' },
    rounds: { type: 'string', default: '15' },
  },
});
const requests = Number(flags.requests);
const rounds = Number(flags.rounds);
const DAY_MS = 86_400_000;
const LIMIT_MS = 100;
let slow = 0;

if (flags.database !== 'postgres') await onSqlite();
if (flags.database !== 'sqlite') await onPostgres();
console.log(
  slow === 0
    ? `\nEvery query stays under ${LIMIT_MS} ms.`
    : `\n${slow} queries took more than ${LIMIT_MS} ms.`,
);
process.exitCode = slow === 0 ? 0 : 1;

async function onSqlite(): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), 'tollgate-bench-console-'));
  try {
    const store = await openStore({ dataDir, log: silentLog, clock: systemClock });
    await measure('SQLite', store);
    await store.close();
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}

async function onPostgres(): Promise<void> {
  const server = await startPostgres({ fsync: false });
  try {
    const databaseUrl = await server.freshDatabase();
    const store = await openStore({ dataDir: tmpdir(), databaseUrl, log: silentLog, clock: systemClock });
    await measure('Postgres', store);
    await store.close();
  } finally {
    await server.stop();
  }
}

async function measure(name: string, store: Store): Promise<void> {
  const now = Date.now();
  const { busyAccount, seconds } = await seed(store, { requests, accounts: 200, days: 90, now });
  const reader = makeReader(store);
  console.log(`\n${name}: ${requests.toLocaleString('en')} requests, seeded in ${seconds.toFixed(1)} s\n`);
  console.log(`${'query'.padEnd(52)}   median      p95`);
  for (const [title, query] of Object.entries(queries(store, reader, busyAccount, now)))
    await time(title, query);
  await csv(store, reader, busyAccount);
  await reader.close();
}

function queries(
  store: Store,
  reader: Reader,
  busy: string,
  now: number,
): Record<string, () => Promise<unknown>> {
  const { db } = store;
  const at = { db, reader };
  const month = { from: dayOf(now - 29 * DAY_MS), to: dayOf(now) };
  const list = (filter: RequestFilter) => () => requestPage(at, filter, { limit: 50 });
  const own = { accountId: busy };
  return {
    'overview: 30 days of one account': () => usageRows(at, busy, month),
    'usage: 90 days of one account': () =>
      usageRows(at, busy, { from: dayOf(now - 89 * DAY_MS), to: dayOf(now) }),
    'quickstart: the first request': () => firstRequest(db, busy),
    'requests: newest': list(own),
    'requests: a week ago': list({ ...own, to: now - 7 * DAY_MS }),
    'requests: a day, 60 days ago': list({ ...own, from: now - 60 * DAY_MS, to: now - 59 * DAY_MS }),
    'requests: by endpoint and model': list({ ...own, endpoint: 'svc_chat', model: 'house-guide' }),
    'requests: by endpoint': list({ ...own, endpoint: 'svc_chat' }),
    'requests: by a model of four endpoints': list({ ...own, model: 'house-guide' }),
    'requests: by a model used once in a thousand': list({ ...own, model: 'rarely-used' }),
    'requests: by a model never used': list({ ...own, model: 'never-used' }),
    'requests: failed': list({ ...own, outcome: 'failed' }),
    'requests: failed with one code, none there': list({ ...own, outcome: 'cut_short' }),
    'requests: failed, by a rare model': list({ ...own, outcome: 'failed', model: 'rarely-used' }),
    'requests: running': list({ ...own, state: 'pending' }),
    'requests: released, by a model': list({ ...own, state: 'void', model: 'house-guide' }),
    'billing: every entry': () => entryPage(at, { ...own, moneyOnly: false }, { limit: 50 }),
    'billing: money only': () => entryPage(at, { ...own, moneyOnly: true }, { limit: 50 }),
    'admin: traffic of 30 days': () => usageRows(at, EVERYBODY, month),
    'admin: sums over accounts': () => accountTotals(at),
    'admin: top spenders': () => topSpenders(at, now, 5),
    'admin: running requests': () => runningRequests(db),
    'admin: accounts': () => accountPage(at, {}, { limit: 50 }),
    'admin: accounts by e-mail': () => accountPage(at, { search: 'seed-19' }, { limit: 50 }),
    'admin: requests of all, newest': list({}),
    'admin: requests of all, a day long ago': list({ from: now - 60 * DAY_MS, to: now - 59 * DAY_MS }),
    'admin: requests of all, failed': list({ outcome: 'failed' }),
    'admin: requests of all, by a rare model': list({ model: 'rarely-used' }),
    'admin: requests of all, by a model never used': list({ model: 'never-used' }),
    'admin: money of all': () => entryPage(at, { moneyOnly: true }, { limit: 50 }),
    'admin: audit': () => auditPage(at, {}, { limit: 50 }),
    'one receipt': () => requestById(db, 'req_nothing', busy),
  };
}

async function time(title: string, query: () => Promise<unknown>): Promise<void> {
  const took: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const start = performance.now();
    await query();
    took.push(performance.now() - start);
  }
  took.sort((a, b) => a - b);
  const median = took[Math.floor(took.length / 2)] ?? 0;
  const p95 = took[Math.floor(took.length * 0.95)] ?? 0;
  if (median > LIMIT_MS) slow++;
  console.log(
    `${title.padEnd(52)} ${median.toFixed(2).padStart(8)} ${p95.toFixed(2).padStart(8)} ms${median > LIMIT_MS ? '  !' : ''}`,
  );
}

/** All of the busy account's requests, read as fast as they come. */
async function csv(store: Store, reader: Reader, busy: string): Promise<void> {
  Bun.gc(true);
  const before = process.memoryUsage.rss();
  const start = performance.now();
  let peak = before;
  let bytes = 0;
  let chunks = 0;
  for await (const chunk of requestCsv({ store, reader }, { accountId: busy }, CSV_OWN)) {
    bytes += chunk.length;
    if (++chunks % 20 === 0) peak = Math.max(peak, process.memoryUsage.rss());
  }
  const seconds = (performance.now() - start) / 1000;
  const growth = (peak - before) / 1_048_576;
  console.log(
    `\nfile of all requests of one account: ${(bytes / 1_048_576).toFixed(0)} MB in ${seconds.toFixed(1)} s, memory +${growth.toFixed(0)} MB`,
  );
}
