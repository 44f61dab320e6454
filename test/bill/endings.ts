/**
 * `bun test/bill/endings.ts [--requests 5000] [--seed N]`: requests of random models, dimensions and dialects that end at random
 * moments in every way there is, on one node on SQLite and two on Postgres. Prints a table for each store and the seed, which
 * repeats the requests and their endings; fails if the books and the invoice disagree.
 */
import { parseArgs } from 'node:util';
import { testPostgres } from '../support/postgres.ts';
import { generateRounds } from './endings-generate.ts';
import { endingsTable, faultsOfLargeRun, runRounds } from './endings-run.ts';

const MAX_FAULTS = 40;
const { values } = parseArgs({ options: { requests: { type: 'string' }, seed: { type: 'string' } } });
const count = Number(values.requests ?? 5_000);
const seed = Number(values.seed ?? crypto.getRandomValues(new Uint32Array(1))[0]);
const postgres = await testPostgres();
let found = 0;
for (const store of ['SQLite', 'Postgres'] as const) {
  const databaseUrl = store === 'Postgres' ? await postgres.freshDatabase() : undefined;
  const run = await runRounds(generateRounds(seed, Math.ceil(count / 2)), databaseUrl);
  const { requests } = run;
  const faults = [...run.faults, ...faultsOfLargeRun(requests)];
  found += faults.length;
  console.log(`\n${store}: ${requests.length} requests, ${faults.length} faults, --seed ${seed}\n`);
  console.log(endingsTable(requests));
  for (const fault of faults.slice(0, MAX_FAULTS)) console.error(fault);
}
await postgres.stop();
process.exit(found === 0 ? 0 : 1);
