import { beforeAll, describe, expect, test } from 'bun:test';
import { testPostgres } from '../support/postgres.ts';
import { CLASSES } from './all-classes.ts';
import { generatePlans } from './generate.ts';
import { classSums, faultsOf, tableOf } from './judge.ts';
import { runPlans, type BillRun } from './run-plans.ts';

/**
 * A tenth of what `npm run bill` makes, from the seed of this run (`FAST_CHECK_SEED`, see CONTRIBUTING.md), on both
 * stores: what the backend's own invoice says is what the accounts pay.
 */
const REQUESTS = 200;
const seed = Number(process.env['FAST_CHECK_SEED']);

describe.each(['SQLite', 'Postgres'])('the bill on %s', (store) => {
  let run: BillRun;

  beforeAll(async () => {
    const databaseUrl = store === 'Postgres' ? await (await testPostgres()).freshDatabase() : undefined;
    run = await runPlans(generatePlans(seed, REQUESTS), databaseUrl);
  }, 120_000);

  test('is what the backend invoices: exact where a client stayed, within the hold, and in every class of those that left', () => {
    const faults = faultsOf(run);
    if (faults.length > 0)
      console.log(`FAST_CHECK_SEED=${seed}\n${tableOf(classSums(run.requests, run.booked))}`);
    expect(faults).toEqual([]);
  });

  test('has every class, and every one reached the backend', () => {
    expect(classSums(run.requests, run.booked)).toHaveLength(CLASSES.length);
    expect(run.requests.length).toBeGreaterThanOrEqual(REQUESTS);
    // A backend that broke off several times in a row rests for a moment, and what comes then is refused uncalled.
    const uncalled = run.requests.filter(({ lines }) => lines.length === 0);
    expect(uncalled.filter(({ plan }) => plan.verdict !== 'refused' && !plan.answer.failure)).toEqual([]);
    const called = run.requests.filter(({ lines }) => lines.length > 0);
    expect(called.filter(({ plan }) => plan.verdict === 'refused')).toEqual([]);
    const classesCalled = new Set(called.map(({ plan }) => plan.className));
    for (const { name, verdict } of CLASSES)
      expect([name, classesCalled.has(name)]).toEqual([name, verdict !== 'refused']);
  });
});
