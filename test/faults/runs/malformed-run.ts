/** `bun test/faults/runs/malformed-run.ts [--requests 100000] [--store SQLite|Postgres]`: malformed requests alone. */
import '../../support/property-seed.ts';
import { parseArgs } from 'node:util';
import { testPostgres } from '../../support/postgres.ts';
import { MALFORMED_REQUESTS, runMalformed } from './malformed.ts';

const { values } = parseArgs({
  options: { requests: { type: 'string', default: String(MALFORMED_REQUESTS) }, store: { type: 'string' } },
});
const stores = values.store === undefined ? ['SQLite', 'Postgres'] : [values.store];
let failed = false;
for (const store of stores) {
  const databaseUrl = store === 'Postgres' ? await (await testPostgres()).freshDatabase() : undefined;
  const run = await runMalformed({
    requests: Math.ceil(Number(values.requests) / stores.length),
    seed: Number(process.env['FAST_CHECK_SEED']),
    ...(databaseUrl === undefined ? {} : { databaseUrl }),
    onProgress: (done) => console.log(`${store}: ${done} requests`),
  });
  console.log(store, run);
  failed ||= run.faults.length > 0;
}
if (stores.includes('Postgres')) await (await testPostgres()).stop();
process.exit(failed ? 1 : 0);
