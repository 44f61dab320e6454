/**
 * `bun bench/beside.ts [--rounds N] [--seconds S] [--only NAME] [--store NAME]`: what one kind of request costs beside another, on one gateway
 * with SQLite and on one with Postgres. Prints a Markdown table; a ratio above 1 means that the second takes more.
 */
import { parseArgs } from 'node:util';
import { figureOf, figuresTable, inTurn, type Figure } from './against/figures.ts';
import { PLAIN_RESPONSE, SMALL_CHAT, STORED_RESPONSE, type Case } from './cases.ts';
import type { Contender } from './contenders/contender.ts';
import { startBenchPostgres, startTollgate, type TollgateContender } from './contenders/tollgate.ts';
import { openBenchEnvironment } from './harness/environment.ts';
import { loadLine, machineLine } from './harness/machine.ts';
import { saturate, untilIdle, warmUp, type Sample } from './harness/measure.ts';
import { findTools } from './harness/tools.ts';
import { UndisturbedRounds } from './harness/undisturbed.ts';
import type { Services } from '../src/main/services.ts';
import type { AccountId } from '../src/std/ids.ts';
import { MAX_BALANCE } from '../src/std/money.ts';

const ACCOUNTS = 8;
const PER_MINUTE = 1_000_000;

/** One way to ask of the gateway. */
interface Side {
  readonly one: Case;
  readonly asks: Contender;
}

const { values: flags } = parseArgs({
  options: {
    rounds: { type: 'string', default: '10' },
    seconds: { type: 'string', default: '2' },
    only: { type: 'string', default: '' },
    store: { type: 'string', default: '' },
  },
});
const [rounds, seconds] = [Number(flags.rounds), Number(flags.seconds)];

console.log(`${machineLine()}\n${loadLine()}`);
const environment = await openBenchEnvironment();
const tools = { wrk: findTools().wrk, folder: environment.folder };
const undisturbed = new UndisturbedRounds();
const isAsked = (store: string): boolean => store.toLowerCase().includes(flags.store.toLowerCase());
const postgres = isAsked('Postgres') ? await startBenchPostgres() : undefined;
const figures: Figure[] = [];
try {
  if (isAsked('SQLite')) figures.push(...(await onStore('SQLite')));
  if (postgres) figures.push(...(await onStore('Postgres', await postgres.freshDatabase(), postgres.pid)));
} finally {
  await postgres?.stop();
  await environment.close();
}
console.log(
  `\n${rounds} rounds of ${seconds} s in turn\n\n${figuresTable(figures)}\n\n${undisturbed.summary()}`,
);
process.exit(0);

async function onStore(store: string, databaseUrl?: string, databasePid = 0): Promise<Figure[]> {
  const teamTokens: string[] = [];
  const gateway = await startTollgate({
    name: `beside ${store}`,
    backend: environment.backend,
    folder: environment.folder,
    accounts: ACCOUNTS,
    prepare: async (services) => void teamTokens.push(...(await makeTeams(services))),
    ...(databaseUrl !== undefined && { databaseUrl, databasePids: [databasePid] }),
  });
  try {
    const found: Figure[] = [];
    for (const [name, before, after] of pairsOf(gateway, teamTokens)) {
      if (!name.includes(flags.only)) continue;
      for (const { one, asks } of [before, after]) await warmUp(one, asks, tools);
      const samples = await inTurn({ before, after }, rounds, measured);
      found.push(
        figureOf(`CPU, ${name}, ${store}`, 'µs', samples, ({ cpuUsPerUnit }) => cpuUsPerUnit),
        ...(databaseUrl === undefined
          ? []
          : [
              figureOf(`CPU of Postgres, ${name}`, 'µs', samples, (sample) => sample.databaseUsPerUnit),
              figureOf(`CPU of both together, ${name}`, 'µs', samples, bothOf),
            ]),
      );
    }
    return found;
  } finally {
    await gateway.stop();
  }
}

function pairsOf(
  gateway: TollgateContender,
  teamTokens: readonly string[],
): readonly (readonly [name: string, before: Side, after: Side])[] {
  const ask = (one: Case, asks: Contender = gateway): Side => ({ one, asks });
  const inTeams = { ...gateway, headers: teamTokens.map((token) => ({ authorization: `Bearer ${token}` })) };
  return [
    ['a small chat of an account, and of an app in a team', ask(SMALL_CHAT), ask(SMALL_CHAT, inTeams)],
    ['a response that is not stored, and one that is', ask(PLAIN_RESPONSE), ask(STORED_RESPONSE)],
  ];
}

function bothOf({ cpuUsPerUnit, databaseUsPerUnit }: Sample): number {
  return cpuUsPerUnit + databaseUsPerUnit;
}

async function measured({ one, asks }: Side) {
  const sample = await undisturbed.of(
    () => saturate(one, asks, seconds, tools),
    () => untilIdle(asks),
  );
  if (sample.errors > 0) throw new Error(`${one.name}: ${sample.errors} failed, ${sample.complaint}`);
  return sample;
}

/** Two apps in each, every one with a budget. */
async function makeTeams({ accounts, teams }: Services): Promise<string[]> {
  const tokens: string[] = [];
  for (let number = 0; number < ACCOUNTS / 2; number++) {
    const { account: owner } = await accounts.create(`owner-${number}@example.com`, { actor: 'bench' });
    const team = await teams.create(`Team ${number}`, owner, { balance: MAX_BALANCE, actor: 'bench' });
    for (const name of ['first', 'second']) {
      const budget = { amount: MAX_BALANCE, per: 'month' } as const;
      const { app, token } = await teams.makeApp(team.id, name, { budget });
      tokens.push(token);
      for (const id of [app.id, team.id])
        await accounts.setLimits(id as AccountId, {
          chatPerMinute: PER_MINUTE,
          imagesPerMinute: PER_MINUTE,
          concurrent: PER_MINUTE,
        });
    }
  }
  return tokens;
}
