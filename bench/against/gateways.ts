import { Database } from 'bun:sqlite';
import { join } from 'node:path';
import { Client } from 'pg';
import { CONNECTIONS, SMALL_CHAT, STREAMED_CHAT, type Case } from '../cases.ts';
import type { Contender } from '../contenders/contender.ts';
import type { RevisionContender } from '../contenders/revision.ts';
import type { UndisturbedRounds } from '../harness/undisturbed.ts';
import { delayAt, saturate, untilIdle, warmUp, type LoadTools, type Sample } from '../harness/measure.ts';
import { figureOf, inTurn, type Figure, type Pair } from './figures.ts';

export const ACCOUNTS = 16;
export const RATE_PER_SECOND = 500;
const CHAT: Case = { ...SMALL_CHAT, accounts: ACCOUNTS };
const STREAM: Case = { ...STREAMED_CHAT, accounts: ACCOUNTS };

/** Two gateways on stores of one kind, and how often and for how long each is measured. */
export interface GatewayComparison {
  readonly gateways: Pair<RevisionContender>;
  readonly direct: Contender;
  readonly store: 'SQLite' | 'Postgres';
  readonly tools: LoadTools;
  readonly rounds: number;
  readonly seconds: number;
  readonly undisturbed: UndisturbedRounds;
}

/** CPU per small chat, and what each left in its store. */
export async function chatFigures(comparison: GatewayComparison): Promise<Figure[]> {
  const { gateways, store } = comparison;
  const empty = { before: await stored(gateways.before), after: await stored(gateways.after) };
  await warmUpBoth(CHAT, comparison);
  const rounds = await inTurn(gateways, comparison.rounds, (one) => measured(CHAT, one, comparison));
  const perRequest = async (of: keyof Pair<unknown>): Promise<number> => {
    const { bytes, requests } = await stored(gateways[of]);
    return (bytes - empty[of].bytes) / (requests - empty[of].requests);
  };
  const setting = `${ACCOUNTS} accounts, ${CONNECTIONS} connections`;
  const figures = [
    figureOf(`CPU of the gateway per small chat, ${store}`, 'µs', rounds, ({ cpuUsPerUnit }) => cpuUsPerUnit),
    figureOf(`small chats per second, ${store}`, '/s', rounds, ({ unitsPerSecond }) => unitsPerSecond),
    {
      name: `bytes stored per request, ${store}`,
      unit: 'bytes',
      rounds: [{ before: await perRequest('before'), after: await perRequest('after') }],
    },
  ];
  if (store === 'SQLite') return figures;
  const name = `CPU of the Postgres server per small chat, ${setting}`;
  return [figureOf(name, 'µs', rounds, ({ databaseUsPerUnit }) => databaseUsPerUnit), ...figures];
}

/** CPU per chunk of a stream. */
export async function streamFigures(comparison: GatewayComparison): Promise<Figure[]> {
  const { gateways, store } = comparison;
  await warmUpBoth(STREAM, comparison);
  const rounds = await inTurn(gateways, comparison.rounds, (one) => measured(STREAM, one, comparison));
  const name = `CPU of the gateway per streamed chunk, ${store}`;
  return [figureOf(name, 'µs', rounds, ({ cpuUsPerUnit }) => cpuUsPerUnit)];
}

/** Latency at a fixed rate beyond that of the backend itself. */
export async function delayFigures(comparison: GatewayComparison): Promise<Figure[]> {
  const { gateways, direct, store, seconds, undisturbed } = comparison;
  await warmUpBoth(CHAT, comparison);
  const delayOf = (one: Contender) => undisturbed.of(() => delayAt(RATE_PER_SECOND, CHAT, one, seconds));
  const rounds = await inTurn(gateways, comparison.rounds, async (gateway) => {
    const own = await delayOf(direct);
    const whole = await delayOf(gateway);
    if (whole.errors > 0) throw new Error(`${gateway.name}: ${whole.errors} requests failed`);
    return { p50: whole.p50Ms - own.p50Ms, p99: whole.p99Ms - own.p99Ms };
  });
  const name = (percentile: string): string =>
    `added ${percentile} at ${RATE_PER_SECOND} requests/s, ${store}`;
  return [
    figureOf(name('p50'), 'ms', rounds, ({ p50 }) => p50),
    figureOf(name('p99'), 'ms', rounds, ({ p99 }) => p99),
  ];
}

async function warmUpBoth(one: Case, { gateways, tools }: GatewayComparison): Promise<void> {
  for (const gateway of [gateways.before, gateways.after]) await warmUp(one, gateway, tools);
}

async function measured(
  one: Case,
  gateway: Contender,
  { seconds, tools, undisturbed }: GatewayComparison,
): Promise<Sample> {
  const sample = await undisturbed.of(
    () => saturate(one, gateway, seconds, tools),
    () => untilIdle(gateway),
  );
  if (sample.errors > 0) throw new Error(`${gateway.name}: ${sample.errors} failed, ${sample.complaint}`);
  await untilIdle(gateway);
  return sample;
}

interface Stored {
  readonly bytes: number;
  readonly requests: number;
}

/** What the store takes on disk, and of how many requests. */
async function stored({ dataFolder, databaseUrl }: RevisionContender): Promise<Stored> {
  return databaseUrl === undefined ? storedInSqlite(dataFolder) : await storedInPostgres(databaseUrl);
}

function storedInSqlite(dataFolder: string): Stored {
  const database = new Database(join(dataFolder, 'tollgate.db'), { readonly: true });
  const number = (sql: string): number => {
    const [value] = database.query<[number], []>(sql).values()[0] ?? [];
    return Number(value);
  };
  try {
    return {
      bytes: number('PRAGMA page_count') * number('PRAGMA page_size'),
      requests: number('SELECT count(*) FROM request'),
    };
  } finally {
    database.close();
  }
}

async function storedInPostgres(databaseUrl: string): Promise<Stored> {
  const client = new Client(databaseUrl);
  await client.connect();
  try {
    await client.query('VACUUM');
    const { rows } = await client.query<{ bytes: string; requests: string }>(
      `SELECT (SELECT sum(pg_total_relation_size(relid)) FROM pg_stat_user_tables) AS bytes,
        (SELECT count(*) FROM request) AS requests`,
    );
    return { bytes: Number(rows[0]?.bytes), requests: Number(rows[0]?.requests) };
  } finally {
    await client.end();
  }
}
