/**
 * The console of a large installation: how long every query of its pages takes over HTTP, and every interaction in a real
 * browser. A whole run replaces `bench/console-results.md`.
 *
 *   bun bench/console.ts [--models 5000] [--requests 1000000] [--database sqlite|postgres|both] [--rounds 40]
 *     [--part queries|browser|both] [--only TEXT] [--keep FOLDER] [--postgres URL]
 *
 * --only measures the queries and interactions with this text in their names. With --keep, the filled SQLite database
 * stays in that folder and is used again by the next run. --postgres names a database that was filled before, instead of
 * a server of its own.
 */
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { CatalogVersions } from '../src/catalog/versions.ts';
import { LEDGER_SQL } from '../src/ledger/postgres/functions.ts';
import { BUN_SETTINGS } from '../src/main/bun-settings.ts';
import { canonicalText } from '../src/catalog/parse.ts';
import { systemClock } from '../src/std/clock.ts';
import { silentLog } from '../src/std/log.ts';
import { openStore, type Store } from '../src/store/store.ts';
import { startPostgres } from '../test/support/postgres.ts';
import { consoleCalls } from './console/calls.ts';
import { signIn, timeAll, type Took } from './console/client.ts';
import { catalogOf, fill } from './console/fill.ts';
import { timeInteractions } from './console/interactions.ts';
import { loadLine, machineLine } from './harness/machine.ts';
import { freePort, launch } from '../conformance/machine/process.ts';
import { table } from './harness/table.ts';
import { UndisturbedRounds } from './harness/undisturbed.ts';

const { values: flags } = parseArgs({
  options: {
    models: { type: 'string', default: '5000' },
    requests: { type: 'string', default: '1000000' },
    database: { type: 'string', default: 'both' },
    part: { type: 'string', default: 'both' },
    rounds: { type: 'string', default: '40' },
    only: { type: 'string', default: '' },
    keep: { type: 'string' },
    postgres: { type: 'string' },
  },
});
const amounts = { models: Number(flags.models), requests: Number(flags.requests) };
const rounds = Number(flags.rounds);
const MAIN = join(import.meta.dir, '../src/main/main.ts');
const FILLED = 'filled';
const QUERY_LIMIT_MS = 100;
const INTERACTION_LIMIT_MS = 200;

interface Measured {
  readonly name: string;
  readonly queries: ReadonlyMap<string, Took>;
  readonly interactions: ReadonlyMap<string, Took>;
}

const undisturbed = new UndisturbedRounds();
const loadBefore = loadLine();
const measured: Measured[] = [];
if (flags.database !== 'postgres') measured.push(await onSqlite());
if (flags.database !== 'sqlite') measured.push(await onPostgres());
const text = report();
console.log(text);
if (flags.database === 'both' && flags.part === 'both' && flags.only === '')
  writeFileSync(join(import.meta.dir, 'console-results.md'), text);
process.exit(slowOnes().length === 0 ? 0 : 1);

async function onSqlite(): Promise<Measured> {
  const folder = flags.keep ?? mkdtempSync(join(tmpdir(), 'tollgate-bench-console-'));
  mkdirSync(folder, { recursive: true });
  try {
    return await measure('SQLite', folder);
  } finally {
    if (flags.keep === undefined) rmSync(folder, { recursive: true, force: true });
  }
}

async function onPostgres(): Promise<Measured> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-bench-console-'));
  const server = flags.postgres === undefined ? await startPostgres({ fsync: true }) : undefined;
  if (!server) writeFileSync(join(folder, FILLED), '');
  try {
    return await measure('Postgres', folder, flags.postgres ?? (await server?.emptyDatabase()));
  } finally {
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function measure(name: string, folder: string, databaseUrl?: string): Promise<Measured> {
  const isFilled = join(folder, FILLED);
  const dataDir = join(folder, 'data');
  const store = await openStore({
    dataDir,
    databaseUrl,
    log: silentLog,
    clock: systemClock,
    ledgerSql: LEDGER_SQL,
  });
  if (!existsSync(isFilled)) {
    const start = performance.now();
    await fill(store, amounts);
    writeFileSync(isFilled, '');
    console.log(`${name}: filled in ${((performance.now() - start) / 1000).toFixed(0)} s`);
  }
  await publish(store);
  await store.close();
  const gateway = await startGateway(folder, databaseUrl);
  try {
    const [customer, admin] = [
      await signIn(gateway.url, 'customer'),
      await signIn(gateway.url, 'admin'),
    ] as const;
    const none = new Map<string, Took>();
    return {
      name,
      queries:
        flags.part === 'browser'
          ? none
          : await timeAll(chosen(await consoleCalls(customer, admin, Date.now())), rounds, undisturbed),
      interactions:
        flags.part === 'queries'
          ? none
          : await timeInteractions(gateway.url, folder, undisturbed, flags.only),
    };
  } finally {
    await gateway.stop();
  }
}

function chosen<Value>(named: Readonly<Record<string, Value>>): Record<string, Value> {
  return Object.fromEntries(Object.entries(named).filter(([name]) => name.includes(flags.only)));
}

/** The models are in the store, where they are edited without YAML. */
async function publish({ db }: Store): Promise<void> {
  const versions = new CatalogVersions(db, systemClock);
  const newest = await versions.newestId();
  const text = canonicalText(catalogOf(amounts.models));
  if ((await versions.at(newest))?.text === text) return;
  await versions.add([{ text, actor: 'bench', note: '' }], newest);
}

/** `tollgate serve` in a process of its own, as an operator starts it. */
async function startGateway(folder: string, databaseUrl: string | undefined) {
  const port = await freePort();
  const env: Record<string, string> = {
    ...BUN_SETTINGS,
    TOLLGATE_DATA: join(folder, 'data'),
    TOLLGATE_SECRET: 'a secret for measurements only',
    TOLLGATE_GRACE_SECONDS: '1',
    TOLLGATE_DRAIN_SECONDS: '0',
    TOLLGATE_PORT: String(port),
    ...(databaseUrl === undefined ? {} : { DATABASE_URL: databaseUrl }),
  };
  const command = [process.execPath, MAIN, 'serve'];
  const gateway = await launch({ name: 'gateway', command, env, folder, port, startMs: 120_000 });
  return { url: `http://localhost:${port}`, stop: gateway.stop };
}

function report(): string {
  const slow = slowOnes();
  const sizes = `${amounts.models.toLocaleString('en')} models and ${amounts.requests.toLocaleString('en')} requests`;
  return `# The console with ${sizes}

Written by \`bun bench/console.ts\`.

${new Date().toISOString().slice(0, 10)} · ${machineLine()}
Load average before: ${loadBefore}; after: ${loadLine()}. ${undisturbed.summary()}
200 accounts over 90 days; "account" is one that made nearly a third of all requests, with 500 of the models. A real server, asked over HTTP. Milliseconds, **median · 95th percentile**.

## Queries, ${rounds} times each

${comparison('query', (one) => one.queries)}

## Interactions in a browser

From the click, key or address to the finished page.

${comparison('interaction', (one) => one.interactions)}

${slow.length === 0 ? `No query takes more than ${QUERY_LIMIT_MS} ms and no interaction more than ${INTERACTION_LIMIT_MS} ms at the 95th percentile.` : `Over the goal (${QUERY_LIMIT_MS} ms for a query, ${INTERACTION_LIMIT_MS} ms for an interaction, at the 95th percentile): ${slow.join(', ')}.`}
`;
}

function comparison(head: string, of: (one: Measured) => ReadonlyMap<string, Took>): string {
  const titles = [...new Set(measured.flatMap((one) => [...of(one).keys()]))];
  const cell = (took: Took | undefined): string =>
    took === undefined ? '–' : `${took.median.toFixed(1)} · ${took.p95.toFixed(1)}`;
  const size = (title: string): string => {
    const bytes = measured.map((one) => of(one).get(title)?.bytes ?? 0)[0] ?? 0;
    return bytes === 0 ? '' : (bytes / 1000).toFixed(1);
  };
  return table(
    [head, ...measured.map(({ name }) => name), 'kB'],
    titles.map((title) => [title, ...measured.map((one) => cell(of(one).get(title))), size(title)]),
  );
}

function slowOnes(): string[] {
  return measured.flatMap(({ name, queries, interactions }) => [
    ...over(name, queries, QUERY_LIMIT_MS),
    ...over(name, interactions, INTERACTION_LIMIT_MS),
  ]);
}

function over(name: string, took: ReadonlyMap<string, Took>, limitMs: number): string[] {
  return [...took].filter(([, { p95 }]) => p95 > limitMs).map(([title]) => `${title} (${name})`);
}
