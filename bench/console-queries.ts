/**
 * How long each list and chart of the console takes on a store with many requests, and how much memory the file of all
 * of them needs. A run of both databases replaces `bench/console-results.md`.
 * Usage: bun bench/console-queries.ts [--requests 1000000] [--database sqlite|postgres|both] [--rounds 15]
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { accountPage, accountTotals, topSpenders } from '../src/activity/accounts.ts';
import { auditPage } from '../src/activity/audit.ts';
import { statementPage } from '../src/activity/statement.ts';
import { makeReader, type Reader } from '../src/activity/reader.ts';
import {
  firstRequest,
  requestById,
  requestPage,
  runningRequests,
  type RequestFilter,
} from '../src/activity/request-log.ts';
import { ALL_ACCOUNTS, usageRows } from '../src/activity/usage.ts';
import { CSV_OWN, requestCsv } from '../src/console/requests.ts';
import { dayOf } from '../src/std/calendar.ts';
import { systemClock } from '../src/std/clock.ts';
import { silentLog } from '../src/std/log.ts';
import { openStore, type Store } from '../src/store/store.ts';
import { seed } from '../scripts/seed.ts';
import { startPostgres } from '../test/support/postgres.ts';
import { loadLine, machineLine } from './harness/machine.ts';
import { table } from './harness/table.ts';
import { LEDGER_SQL } from '../src/ledger/postgres/functions.ts';

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

interface Took {
  readonly median: number;
  readonly p95: number;
}

interface Measured {
  readonly name: string;
  readonly took: ReadonlyMap<string, Took>;
  readonly file: string;
}

const loadBefore = loadLine();
const measured: Measured[] = [];
if (flags.database !== 'postgres') measured.push(await onSqlite());
if (flags.database !== 'sqlite') measured.push(await onPostgres());
const text = report();
console.log(text);
if (flags.database === 'both') writeFileSync(join(import.meta.dir, 'console-results.md'), text);
process.exitCode = slowOnes().length === 0 ? 0 : 1;

async function onSqlite(): Promise<Measured> {
  const dataDir = mkdtempSync(join(tmpdir(), 'tollgate-bench-console-'));
  try {
    const store = await openStore({ dataDir, log: silentLog, clock: systemClock, ledgerSql: LEDGER_SQL });
    const result = await measure('SQLite', store);
    await store.close();
    return result;
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}

async function onPostgres(): Promise<Measured> {
  const server = await startPostgres({ fsync: false });
  try {
    const databaseUrl = await server.freshDatabase();
    const store = await openStore({
      dataDir: tmpdir(),
      databaseUrl,
      log: silentLog,
      clock: systemClock,
      ledgerSql: LEDGER_SQL,
    });
    const result = await measure('Postgres', store);
    await store.close();
    return result;
  } finally {
    await server.stop();
  }
}

async function measure(name: string, store: Store): Promise<Measured> {
  const now = Date.now();
  const { busyAccount, seconds } = await seed(store, { requests, accounts: 200, days: 90, now });
  console.log(`${name}: seeded in ${seconds.toFixed(1)} s`);
  const reader = makeReader(store);
  const took = new Map<string, Took>();
  for (const [title, query] of Object.entries(queries(store, reader, busyAccount, now)))
    took.set(title, await time(query));
  const file = await csv(store, reader, busyAccount);
  await reader.close();
  return { name, took, file };
}

function report(): string {
  const titles = [...(measured[0]?.took.keys() ?? [])];
  const cell = (took: Took | undefined): string =>
    took === undefined ? '–' : `${took.median.toFixed(2)} · ${took.p95.toFixed(2)}`;
  const rows = titles.map((title) => [title, ...measured.map(({ took }) => cell(took.get(title)))]);
  const slow = slowOnes();
  return `# The console on ${requests.toLocaleString('en')} requests

Written by \`bun bench/console-queries.ts\`.

${new Date().toISOString().slice(0, 10)} · ${machineLine()} · ${rounds} rounds each
Load average before: ${loadBefore}; after: ${loadLine()}.
200 accounts over 90 days; "one account" made half of all requests. Milliseconds, **median · 95th percentile**, of the query as a page asks for it.

${table(['query', ...measured.map(({ name }) => name)], rows)}

${measured.map(({ name, file }) => `- ${name}, file of all requests of one account: ${file}`).join('\n')}

${slow.length === 0 ? `Every query stays under ${LIMIT_MS} ms.` : `More than ${LIMIT_MS} ms: ${slow.join(', ')}.`}
`;
}

function slowOnes(): string[] {
  return measured.flatMap(({ name, took }) =>
    [...took].filter(([, { median }]) => median > LIMIT_MS).map(([title]) => `${title} (${name})`),
  );
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
    'billing: every entry': () => statementPage(at, { ...own, moneyOnly: false }, { limit: 50 }),
    'billing: money only': () => statementPage(at, { ...own, moneyOnly: true }, { limit: 50 }),
    'admin: traffic of 30 days': () => usageRows(at, ALL_ACCOUNTS, month),
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
    'admin: money of all': () => statementPage(at, { moneyOnly: true }, { limit: 50 }),
    'admin: audit': () => auditPage(at, {}, { limit: 50 }),
    'one receipt': () => requestById(db, 'req_nothing', busy),
  };
}

async function time(query: () => Promise<unknown>): Promise<Took> {
  const took: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const start = performance.now();
    await query();
    took.push(performance.now() - start);
  }
  took.sort((a, b) => a - b);
  return {
    median: took[Math.floor(took.length / 2)] ?? 0,
    p95: took[Math.floor(took.length * 0.95)] ?? 0,
  };
}

/** All of the busy account's requests, read as fast as they come. Constant memory: the second half needs no more than the first. */
async function csv(store: Store, reader: Reader, busy: string): Promise<string> {
  Bun.gc(true);
  const before = process.memoryUsage.rss();
  const start = performance.now();
  const samples: number[] = [];
  let bytes = 0;
  let chunks = 0;
  for await (const chunk of requestCsv({ store, reader }, { accountId: busy }, CSV_OWN)) {
    bytes += chunk.length;
    if (++chunks % 20 === 0) samples.push(process.memoryUsage.rss() - before);
  }
  const seconds = (performance.now() - start) / 1000;
  const half = Math.ceil(samples.length / 2);
  const megabytes = (some: readonly number[]): string => (Math.max(0, ...some) / 1_048_576).toFixed(0);
  return `${(bytes / 1_048_576).toFixed(0)} MB in ${seconds.toFixed(1)} s, memory +${megabytes(samples.slice(0, half))} MB in its first half, +${megabytes(samples.slice(half))} MB in its second`;
}
