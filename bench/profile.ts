/**
 * Where Tollgate's time goes under load: a table of its own time by part and by function, from Bun's sampling profiler.
 * Usage: bun bench/profile.ts [--case "small chat"] [--seconds 8] [--postgres] [--keep FILE.cpuprofile]
 */
import { copyFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { CASES, MOST_ACCOUNTS, PLAIN_RESPONSE, SMALL_CHAT, STORED_RESPONSE } from './cases.ts';
import { startBenchPostgres, startTollgate } from './contenders/tollgate.ts';
import { openBenchEnvironment } from './harness/environment.ts';
import { saturate } from './harness/measure.ts';
import { readProfile } from './harness/profile-reader.ts';
import { table } from './harness/table.ts';
import { findTools } from './harness/tools.ts';

const { values: flags } = parseArgs({
  options: {
    case: { type: 'string', default: SMALL_CHAT.name },
    seconds: { type: 'string', default: '8' },
    postgres: { type: 'boolean', default: false },
    keep: { type: 'string' },
  },
});
const one = [...CASES, PLAIN_RESPONSE, STORED_RESPONSE].find(({ name }) => name === flags.case) ?? SMALL_CHAT;
const field = await openBenchEnvironment();
const postgres = flags.postgres ? await startBenchPostgres() : undefined;
const { wrk } = findTools();
const tollgate = await startTollgate({
  name: 'profiled',
  backend: field.backend,
  folder: field.folder,
  accounts: MOST_ACCOUNTS,
  bunFlags: ['--cpu-prof', `--cpu-prof-dir=${field.folder}`],
  ...(postgres ? { databaseUrl: await postgres.freshDatabase(), databasePids: [postgres.pid] } : {}),
});
const sample = await saturate(one, tollgate, Number(flags.seconds), { wrk, folder: field.folder });
await tollgate.stop();
const file = readdirSync(field.folder).find((name) => name.endsWith('.cpuprofile'));
if (file === undefined) throw new Error('Bun wrote no profile');
if (flags.keep !== undefined) copyFileSync(join(field.folder, file), flags.keep);
const { files, functions } = readProfile(await Bun.file(join(field.folder, file)).json());
const share = (value: number): string => `${(value * 100).toFixed(1)} %`;
console.log(
  `${one.name}: ${sample.cpuUsPerUnit.toFixed(1)} µs of CPU each while profiled, ${Math.round(sample.unitsPerSecond)}/s\n`,
);
console.log(
  table(
    ['file, with what it calls in packages and in the runtime', 'share of the main thread'],
    files.slice(0, 40).map(({ name, share: own }) => [name, share(own)]),
  ),
  '\n',
);
console.log(
  table(
    ['function', 'own time', 'with callees'],
    functions.slice(0, 45).map(({ name, share: own, total }) => [name, share(own), share(total)]),
  ),
);
await postgres?.stop();
await field.close();
process.exit(0);
