import { expect, test } from 'bun:test';
import { Client } from 'pg';
import { Gateway } from '../support/gateway.ts';
import { testPostgres } from '../support/postgres.ts';

/** A version without wallets would take the money of the wrong account, so it must not serve beside the first team. */

test('no team or budget is made while an earlier version serves, which is named; afterwards none of those starts', async () => {
  const databaseUrl = await (await testPostgres()).freshDatabase();
  const gateway = await Gateway.start({ databaseUrl });
  const { teams, accounts, store } = gateway.tollgate.services;
  const { id, email } = await gateway.account('1');
  const steps = async () =>
    (await store.db
      .selectFrom('schema_step' as never)
      .select('compatible_from' as never)
      .execute()) as { compatible_from: number }[];
  // What the ledger's connections of earlier versions call themselves.
  const earlier = new Client({ connectionString: databaseUrl, application_name: 'tollgate ledger' });
  await earlier.connect();
  const budget = { amount: 1 as never, per: 'day' } as const;
  await expect(teams.create('crew', { id, email }, { actor: 'test' })).rejects.toThrow(
    'Upgrade and restart first',
  );
  await expect(teams.setLimits(id, { budget })).rejects.toThrow('Upgrade and restart first');
  expect((await accounts.require(email)).budget).toBeNull();
  expect(Math.max(...(await steps()).map((step) => step.compatible_from))).toBe(1);
  await earlier.end();
  await teams.create('crew', { id, email }, { actor: 'test' });
  expect(Math.max(...(await steps()).map((step) => step.compatible_from))).toBe(20);
  await gateway.stop();
});
