/** `bun test/faults/runs/attack-run.ts [--seconds 60] [--store SQLite|Postgres] [--only 'huge count'] [--into FILE]`: the attack run alone, with its numbers, which FILE keeps for `run.ts --attacked FILE`. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { testPostgres } from '../../support/postgres.ts';
import { ATTACK_SECONDS, attackResult, runAttack } from './attack.ts';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: String(ATTACK_SECONDS) },
    store: { type: 'string' },
    only: { type: 'string' },
    into: { type: 'string' },
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
  if (values.into !== undefined) {
    const known = existsSync(values.into) ? (JSON.parse(readFileSync(values.into, 'utf8')) as object) : {};
    const found = { ...known, [store]: attackResult(store, Number(values.seconds), run) };
    writeFileSync(values.into, JSON.stringify(found));
  }
  failed ||= run.faults.length > 0;
}
if (stores.includes('Postgres')) await (await testPostgres()).stop();
process.exit(failed ? 1 : 0);
