/**
 * What a request takes from processor, disk and network on each store, measured on this machine, and what follows for
 * 1,000, 10,000 and 100,000 requests a second. The figures are in docs/capacity.md. Linux only.
 *
 *   bun scripts/capacity.ts [--rounds 4] [--seconds 4]
 */
import { parseArgs } from 'node:util';
import { SMALL_CHAT, STREAMED_CHAT } from '../bench/cases.ts';
import {
  startBenchPostgres,
  startTollgate,
  type BenchPostgres,
  type TollgateContender,
} from '../bench/contenders/tollgate.ts';
import { openBenchEnvironment, type BenchEnvironment } from '../bench/harness/environment.ts';
import { loadLine, machineLine } from '../bench/harness/machine.ts';
import { saturate, warmUp, type LoadTools, type Sample } from '../bench/harness/measure.ts';
import { table } from '../bench/harness/table.ts';
import { findTools } from '../bench/harness/tools.ts';
import { countBytes } from './capacity/byte-counter.ts';
import { storedInPostgres, storedInSqlite, type StoredBytes } from './capacity/stored-bytes.ts';

const { values: flags } = parseArgs({
  options: { rounds: { type: 'string', default: '4' }, seconds: { type: 'string', default: '4' } },
});
const rounds = Number(flags.rounds);
const seconds = Number(flags.seconds);
const RATES = [1_000, 10_000, 100_000];
/** A processor that is busier than this makes requests wait for each other. */
const MOST_BUSY = 0.6;
const DAY_SECONDS = 86_400;

type StoreName = 'SQLite' | 'Postgres';

/** What one request takes. */
interface Figures {
  readonly store: StoreName;
  readonly gatewayUs: number;
  readonly gatewayUsPerChunk: number;
  readonly databaseUs: number;
  readonly requestsPerSecond: number;
  readonly receiptBytes: number;
  readonly writtenBytes: number;
  readonly connections: number;
  readonly network: Readonly<Record<Side, Directions>>;
  readonly errors: number;
}

type Side = 'client' | 'backend' | 'database';

/** Bytes from the gateway's view: into it and out of it. */
interface Directions {
  readonly in: number;
  readonly out: number;
}

const environment = await openBenchEnvironment();
const tools: LoadTools = { wrk: findTools().wrk, folder: environment.folder };
const postgres = await startBenchPostgres();
try {
  const onSqlite = await measure('SQLite');
  const onPostgres = await measure('Postgres');
  console.log(`\n${new Date().toISOString().slice(0, 10)} · ${machineLine()} · load average ${loadLine()}\n`);
  console.log(perRequest([onSqlite, onPostgres]));
  console.log(`\n${needs(onPostgres)}`);
} finally {
  await postgres.stop();
  await environment.close();
}
process.exit(0);

async function measure(store: StoreName): Promise<Figures> {
  const { server, look } = await serverOn(store, environment, postgres);
  try {
    await warmUp(SMALL_CHAT, server, tools);
    const before = await look();
    const samples: Sample[] = [];
    let connections = 0;
    for (let round = 0; round < rounds; round++) {
      const [sample, during] = await Promise.all([
        saturate(SMALL_CHAT, server, seconds, tools),
        Bun.sleep((seconds * 1000) / 2).then(look),
      ]);
      samples.push(sample);
      connections = Math.max(connections, during.connections);
    }
    const after = await look();
    await saturate(STREAMED_CHAT, server, seconds, tools);
    const streamed = await saturate(STREAMED_CHAT, server, seconds, tools);
    const requests = after.receipts - before.receipts;
    const network = await networkBytes(store);
    const figures: Figures = {
      store,
      gatewayUs: best(samples, 'cpuUsPerUnit'),
      gatewayUsPerChunk: streamed.cpuUsPerUnit,
      databaseUs: best(samples, 'databaseUsPerUnit'),
      requestsPerSecond: Math.max(...samples.map(({ unitsPerSecond }) => unitsPerSecond)),
      receiptBytes: (after.receiptBytes - before.receiptBytes) / requests,
      writtenBytes: (after.writtenBytes - before.writtenBytes) / requests,
      connections,
      network,
      errors: [...samples, streamed].reduce((sum, { errors }) => sum + errors, 0),
    };
    console.log(JSON.stringify({ ...figures, samples }));
    return figures;
  } finally {
    await server.stop();
  }
}

function best(samples: readonly Sample[], figure: 'cpuUsPerUnit' | 'databaseUsPerUnit'): number {
  return Math.min(...samples.map((sample) => sample[figure]));
}

interface Started {
  readonly server: TollgateContender;
  readonly look: () => Promise<StoredBytes>;
}

async function serverOn(
  store: StoreName,
  ground: BenchEnvironment,
  database: BenchPostgres,
): Promise<Started> {
  const shared = { backend: ground.backend, folder: ground.folder, accounts: SMALL_CHAT.accounts };
  if (store === 'SQLite') {
    const server = await startTollgate({ ...shared, name: 'capacity sqlite' });
    return { server, look: async () => storedInSqlite(server.dataFolder, server.pids[0] ?? 0) };
  }
  const databaseUrl = await database.freshDatabase();
  const server = await startTollgate({
    ...shared,
    name: 'capacity postgres',
    databaseUrl,
    databasePids: [database.pid],
  });
  return { server, look: () => storedInPostgres(databaseUrl) };
}

/** The same load once more through relays that count; nothing else is measured meanwhile. */
async function networkBytes(store: StoreName): Promise<Figures['network']> {
  const backendUrl = new URL(environment.backend);
  const backend = countBytes(Number(backendUrl.port));
  backendUrl.port = String(backend.port);
  const databaseUrl = new URL(await postgres.freshDatabase());
  const database = countBytes(Number(databaseUrl.port));
  databaseUrl.port = String(database.port);
  const server = await startTollgate({
    name: `capacity network ${store}`,
    backend: backendUrl.href,
    folder: environment.folder,
    accounts: SMALL_CHAT.accounts,
    ...(store === 'Postgres' ? { databaseUrl: databaseUrl.href } : {}),
  });
  const client = countBytes(Number(new URL(server.urls[0] ?? '').port));
  const throughCounter = server.urls.map((url) => {
    const address = new URL(url);
    address.port = String(client.port);
    return address.href;
  });
  try {
    await saturate(SMALL_CHAT, { ...server, urls: throughCounter }, 2, tools);
    const counters = [client, backend, database];
    const before = counters.map(({ bytes }) => ({ ...bytes }));
    const { unitsPerSecond } = await saturate(
      SMALL_CHAT,
      { ...server, urls: throughCounter },
      seconds,
      tools,
    );
    const requests = unitsPerSecond * seconds;
    const [fromClient, toBackend, toDatabase] = counters.map(({ bytes }, index) => ({
      forth: (bytes.forth - (before[index]?.forth ?? 0)) / requests,
      back: (bytes.back - (before[index]?.back ?? 0)) / requests,
    }));
    return {
      client: { in: fromClient?.forth ?? 0, out: fromClient?.back ?? 0 },
      backend: { in: toBackend?.back ?? 0, out: toBackend?.forth ?? 0 },
      database: { in: toDatabase?.back ?? 0, out: toDatabase?.forth ?? 0 },
    };
  } finally {
    await server.stop();
    for (const counter of [client, backend, database]) counter.stop();
  }
}

function perRequest(all: readonly Figures[]): string {
  const row = (name: string, figure: (one: Figures) => string): string[] => [name, ...all.map(figure)];
  const bytes = ({ in: into, out }: Directions): string => `${round(into)} / ${round(out)}`;
  return table(
    ['of one small chat', ...all.map(({ store }) => store)],
    [
      row('CPU of the gateway, µs', ({ gatewayUs }) => gatewayUs.toFixed(0)),
      row('CPU of the gateway for a streamed chunk, µs', ({ gatewayUsPerChunk }) =>
        gatewayUsPerChunk.toFixed(1),
      ),
      row('CPU of the database, µs', ({ databaseUs }) => databaseUs.toFixed(0)),
      row('kept on disk, bytes', ({ receiptBytes }) => round(receiptBytes)),
      row('written to disk, bytes', ({ writtenBytes }) => round(writtenBytes)),
      row('clients, bytes in / out', ({ network }) => bytes(network.client)),
      row('backends, bytes in / out', ({ network }) => bytes(network.backend)),
      row('database, bytes in / out', ({ network }) => bytes(network.database)),
      row('connections to the database', ({ connections }) => String(connections)),
      row('requests/s in this run', ({ requestsPerSecond }) => round(requestsPerSecond)),
      row('failed', ({ errors }) => String(errors)),
    ],
  );
}

/** Rates times figures, on Postgres. */
function needs(one: Figures): string {
  const cores = (us: number, rate: number): string => String(Math.ceil((us * rate) / 1e6 / MOST_BUSY));
  const network = Object.values(one.network).reduce((sum, side) => sum + side.in + side.out, 0);
  const row = (name: string, figure: (rate: number) => string): string[] => [name, ...RATES.map(figure)];
  return table(
    ['requests/s', ...RATES.map((rate) => round(rate))],
    [
      row(`gateway processes, ${MOST_BUSY * 100} % busy`, (rate) => cores(one.gatewayUs, rate)),
      row(`cores for Postgres, ${MOST_BUSY * 100} % busy`, (rate) => cores(one.databaseUs, rate)),
      row('receipts, GB a day', (rate) => round((one.receiptBytes * rate * DAY_SECONDS) / 1e9)),
      row('write-ahead log, MB/s', (rate) => ((one.writtenBytes * rate) / 1e6).toFixed(1)),
      row('network of all gateways, Mbit/s', (rate) => round((network * rate * 8) / 1e6)),
    ],
  );
}

function round(value: number): string {
  return Math.round(value).toLocaleString('en');
}
