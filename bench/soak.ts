/**
 * Mixed load with faults for a long time, and what it leaves behind: memory, open handles, the size of the write-ahead
 * log, and books that must be right to the last nano-dollar.
 * Usage: bun bench/soak.ts [--minutes 20] [--postgres]
 */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startBenchPostgres, startTollgate, type TollgateContender } from './contenders/tollgate.ts';
import { openBenchEnvironment } from './harness/environment.ts';
import { machineLine } from './harness/machine.ts';
import { writePlot } from './harness/plot.ts';
import { writeSection } from './harness/results-file.ts';
import { slope } from './harness/statistics.ts';
import { table } from './harness/table.ts';
import { usageOf } from './harness/usage.ts';
import { startClients, type Clients } from './soak/clients.ts';

const { values: flags } = parseArgs({
  options: { minutes: { type: 'string', default: '20' }, postgres: { type: 'boolean', default: false } },
});
const minutes = Number(flags.minutes);
const MB = 2 ** 20;
const SAMPLES = 120;
const ACCOUNTS = 16;
/** Aborted and broken requests close their books on their own; this is more than they need. */
const QUIET_MS = 8_000;

interface Look {
  readonly minute: number;
  readonly rssMb: number;
  readonly descriptors: number;
  readonly walMb: number;
}

const field = await openBenchEnvironment();
const postgres = flags.postgres ? await startBenchPostgres() : undefined;
const tollgate = await startTollgate({
  name: 'soak',
  backend: field.backend,
  folder: field.folder,
  accounts: ACCOUNTS,
  ...(postgres ? { databaseUrl: await postgres.freshDatabase(), databasePids: [postgres.pid] } : {}),
});
let failed = false;
try {
  const before = lookAt(tollgate, 0);
  const clients = startClients(tollgate.urls[0]!, tollgate.tokens);
  const looks = await watch(tollgate);
  await clients.stop();
  await Bun.sleep(QUIET_MS);
  const after = lookAt(tollgate, minutes);
  const books = verify(tollgate);
  failed = !books.ok;
  report({ before, looks, after, clients, verdict: books.text });
} finally {
  await tollgate.stop();
  await postgres?.stop();
  await field.close();
}
process.exit(failed ? 1 : 0);

async function watch(target: TollgateContender): Promise<Look[]> {
  const startedAt = performance.now();
  const looks: Look[] = [];
  const stepMs = (minutes * 60_000) / SAMPLES;
  for (let sample = 1; sample <= SAMPLES; sample++) {
    await Bun.sleep(Math.max(0, startedAt + sample * stepMs - performance.now()));
    const look = lookAt(target, (performance.now() - startedAt) / 60_000);
    looks.push(look);
    if (sample % 10 === 0) {
      console.log(
        `${look.minute.toFixed(1)} min: ${look.rssMb.toFixed(0)} MB, ${look.descriptors} handles, WAL ${look.walMb.toFixed(1)} MB`,
      );
    }
  }
  return looks;
}

function lookAt({ pids, dataFolder }: TollgateContender, minute: number): Look {
  const { rssBytes, descriptors } = usageOf(pids);
  const wal = statSync(join(dataFolder, 'tollgate.db-wal'), { throwIfNoEntry: false });
  return { minute, rssMb: rssBytes / MB, descriptors, walMb: (wal?.size ?? 0) / MB };
}

/** The operator's own command, on the store of the running server. */
function verify({ env }: TollgateContender): { ok: boolean; text: string } {
  const main = join(import.meta.dir, '../src/main/main.ts');
  const child = Bun.spawnSync([process.execPath, main, 'verify', '--json'], {
    env: { ...process.env, ...env },
  });
  const text = child.stdout.toString().trim() || child.stderr.toString().trim();
  return { ok: child.exitCode === 0, text };
}

interface Report {
  readonly before: Look;
  readonly looks: readonly Look[];
  readonly after: Look;
  readonly clients: Clients;
  readonly verdict: string;
}

function report({ before, looks, after, clients, verdict }: Report): void {
  const points = looks.map(({ minute, rssMb }) => ({ x: minute, y: rssMb }));
  const perMinute = slope(points.slice(Math.floor(points.length / 2)));
  writePlot('soak', {
    title: `Memory and handles over ${minutes} minutes of mixed load with faults`,
    xLabel: 'minutes',
    yLabel: 'RSS in MB, open handles',
    series: [
      { name: 'RSS, MB', points },
      {
        name: 'open handles',
        points: looks.map(({ minute, descriptors }) => ({ x: minute, y: descriptors })),
      },
    ],
  });
  const rows = [...clients.tallies].map(([name, { sent, served, failed }]) =>
    [name, sent, served, failed].map(String),
  );
  const text = `## Soak

${new Date().toISOString().slice(0, 10)} · ${machineLine()} · ${minutes} minutes on ${flags.postgres ? 'Postgres' : 'SQLite'}

![Memory and handles](plots/soak.svg)

| figure | before | most | after ${QUIET_MS / 1000} s of quiet |
|---|---|---|---|
| RSS, MB | ${before.rssMb.toFixed(0)} | ${Math.max(...looks.map(({ rssMb }) => rssMb)).toFixed(0)} | ${after.rssMb.toFixed(0)} |
| open handles | ${before.descriptors} | ${Math.max(...looks.map(({ descriptors }) => descriptors))} | ${after.descriptors} |
| write-ahead log, MB | ${before.walMb.toFixed(1)} | ${Math.max(...looks.map(({ walMb }) => walMb)).toFixed(1)} | ${after.walMb.toFixed(1)} |

RSS moved by ${perMinute.toFixed(2)} MB a minute over the second half. \`tollgate verify --json\` on the running server: \`${verdict}\`

${table(['client', 'sent', 'answered 200', 'told an error, broken or left'], rows)}
`;
  console.log(text);
  if (minutes >= 5 && !flags.postgres) writeSection('soak', text);
}
