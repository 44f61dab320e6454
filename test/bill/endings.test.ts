import { describe, expect, test } from 'bun:test';
import { testPostgres } from '../support/postgres.ts';
import { generateRounds } from './endings-generate.ts';
import { endingsTable, runRounds } from './endings-run.ts';

/** A small part of what `bun test/bill/endings.ts` makes from random seeds; here it is the same in every run. */
const REQUESTS = 100;
const SEED = 36;

describe.each(['SQLite', 'Postgres'])('requests that end in every way, on %s', (store) => {
  test('are charged what was reported, and the invoice is never above charge, loss and possible cost', async () => {
    const databaseUrl = store === 'Postgres' ? await (await testPostgres()).freshDatabase() : undefined;
    const { requests, faults } = await runRounds(generateRounds(SEED, REQUESTS), databaseUrl);
    if (faults.length > 0) console.log(endingsTable(requests));
    expect(faults).toEqual([]);
    expect(requests).toHaveLength(REQUESTS);
  }, 180_000);
});
