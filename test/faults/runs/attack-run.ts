/** `bun test/faults/runs/attack-run.ts [--seconds 60] [--store SQLite|Postgres] [--only 'huge count']`: the attack run alone, with its numbers. */
import { parseArgs } from 'node:util';
import { testPostgres } from '../../support/postgres.ts';
import { ATTACK_SECONDS, runAttack } from './attack.ts';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: String(ATTACK_SECONDS) },
    store: { type: 'string' },
    only: { type: 'string' },
  },
});
const stores = values.store === undefined ? ['SQLite', 'Postgres'] : [values.store];
const freshDatabase = async (): Promise<string> => await (await testPostgres()).freshDatabase();
let failed = false;
for (const store of stores) {
  const run = await runAttack({
    seconds: Number(values.seconds),
    ...(store === 'Postgres' && { freshDatabase }),
    ...(values.only === undefined ? {} : { only: values.only }),
  });
  console.log(store, run);
  failed ||= run.faults.length > 0;
}
if (stores.includes('Postgres')) await (await testPostgres()).stop();
process.exit(failed ? 1 : 0);
