import { afterAll, beforeAll, expect, test } from 'bun:test';
import { dayOf, DAY_MS, periodStart } from '../../std/calendar.ts';
import { nanoUsd } from '../../std/money.ts';
import { eventually } from '../../../test/support/node-process.ts';
import { postgresHarness, type PostgresHarness } from '../../../test/support/postgres-ledger.ts';
import {
  accountRow,
  addTeam,
  chatAdmission,
  expectSound,
  nth,
  used,
  type TestAccount,
} from '../testing/contract-harness.ts';

/** What {@link chatAdmission} holds. */
const HELD = 2_100;

let harness: PostgresHarness;
beforeAll(async () => {
  harness = await postgresHarness();
});
afterAll(() => harness.close());

/**
 * As where a request that came a little later, after midnight, gets the account first: it begins the new day's budget while
 * the admissions here, which looked at the clock before midnight, wait for the account.
 */
async function atMidnight(app: TestAccount, waiting: () => Promise<unknown>): Promise<void> {
  const midnight = periodStart('day', await harness.now()) + DAY_MS;
  const client = await harness.backend.pool.connect();
  try {
    await client.query('BEGIN');
    await client.query('SELECT 1 FROM account WHERE id = $1 FOR NO KEY UPDATE', [app.id]);
    const answered = waiting();
    await eventually('the admission waits for the account', async () => {
      const { rows } = await harness.backend.pool.query(
        `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%ledger_admit%'
          AND datname = current_database()`,
      );
      return rows.length > 0;
    });
    await client.query(
      'UPDATE account SET budget_from = $2, budget_from_day = $3, budget_used = 0, budget_held = 0 WHERE id = $1',
      [app.id, midnight, dayOf(midnight)],
    );
    await client.query('COMMIT');
    await answered;
  } finally {
    client.release();
  }
}

test.each([
  ['alone', 1],
  ['among many', 4],
])(
  'who looked at the clock before midnight and gets the account after it counts in the new day: %s',
  async (_, many) => {
    const team = await addTeam(harness, 100 * HELD, 2);
    const [app, other] = [nth(team.apps, 0), nth(team.apps, 1)];
    const ledger = harness.ledger();
    await ledger.setBudget({ accountId: app.id, budget: { amount: nanoUsd(3 * HELD), per: 'day' } });
    const asked = Array.from({ length: many }, () => chatAdmission(app));
    const beside = many === 1 ? [] : [chatAdmission(other)];
    await atMidnight(app, async () => {
      const answers = await Promise.all([...asked, ...beside].map((request) => ledger.admit(request)));
      const admitted = answers.filter(({ kind }) => kind === 'admitted');
      expect(admitted).toHaveLength(Math.min(many, 3) + beside.length);
    });
    const held = Math.min(many, 3) * HELD;
    expect(await accountRow(harness, app)).toMatchObject({ budget_used: 0, budget_held: held });
    await expectSound(harness);
    for (const { requestId } of [...asked, ...beside])
      await ledger.settle(requestId, used({ input: 100, output: 1_000 })).catch(() => undefined);
    expect(await accountRow(harness, app)).toMatchObject({ budget_used: held, budget_held: 0 });
    await expectSound(harness);
  },
);
