import { expect, test } from 'bun:test';
import { startFaultProxy } from '../../../test/support/fault-proxy.ts';
import { postgresHarness } from '../../../test/support/postgres-ledger.ts';
import { addAccount } from '../testing/contract-harness.ts';

test('a connection whose settings the database refuses decides nothing, and the next one may', async () => {
  const harness = await postgresHarness();
  const url = new URL(harness.backend.url);
  // The server itself refuses the setting, because there is none of that name.
  let refusing = true;
  const proxy = await startFaultProxy(Number(url.port), (bytes) =>
    refusing
      ? Buffer.from(
          bytes.toString('latin1').replace('SET statement_timeout =', 'SET statement_timeoux ='),
          'latin1',
        )
      : bytes,
  );
  url.port = String(proxy.port);
  const node = harness.anotherNode('behind a pooler', { url: url.href });
  const { id } = await addAccount(harness);
  const credit = { accountId: id, kind: 'credit', amount: 5_000, cause: 'test', actor: 'test' } as const;
  const unavailable = {
    code: 'service_unavailable',
    detail: expect.stringContaining('"statement_timeoux"') as string,
  };

  await expect(node.identify({ kind: 'account', id })).rejects.toMatchObject(unavailable);
  await expect(node.post(credit)).rejects.toMatchObject(unavailable);
  expect(await harness.ledger().identify({ kind: 'account', id })).toMatchObject({ balance: 0 });

  refusing = false;
  const posted = await untilAvailable(() => node.post(credit));
  expect(posted).toMatchObject({ balance: 5_000 });
  expect(await untilAvailable(() => node.identify({ kind: 'account', id }))).toMatchObject({
    balance: 5_000,
  });
  await node.close();
  await proxy.close();
  await harness.close();
}, 60_000);

test('a node that can be served answers its probe, and leaves no connection behind when it ends', async () => {
  const harness = await postgresHarness();
  const connections = async (): Promise<number[]> => {
    const { rows } = await harness.backend.pool.query<{ pid: number }>(
      `SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'tollgate ledger%' AND datname = current_database()`,
    );
    return rows.map((row) => row.pid);
  };
  // Connections of others may end meanwhile: the node's own are those that were not there before it.
  const before = new Set(await connections());
  const ofTheNode = async () => (await connections()).filter((pid) => !before.has(pid));
  const node = harness.anotherNode('probed');
  await node.probe();
  expect(await ofTheNode()).not.toBeEmpty();
  await node.close();
  while ((await ofTheNode()).length > 0) await Bun.sleep(10);
  await harness.close();
}, 60_000);

test('a database that only reads answers no probe', async () => {
  const harness = await postgresHarness();
  const { pool } = harness.backend;
  const { rows } = await pool.query<{ name: string }>('SELECT current_database() AS name');
  const database = `"${rows[0]?.name ?? ''}"`;
  await pool.query(`ALTER DATABASE ${database} SET default_transaction_read_only = on`);
  const node = harness.anotherNode('reading');
  try {
    await expect(node.probe()).rejects.toThrow();
  } finally {
    await node.close();
    await pool.query(
      `SET default_transaction_read_only = off; ALTER DATABASE ${database} RESET default_transaction_read_only`,
    );
    await harness.close();
  }
}, 60_000);

/** After a failure to connect, calls fail at once for a moment. */
async function untilAvailable<Answer>(call: () => Promise<Answer>): Promise<Answer> {
  for (;;) {
    try {
      return await call();
    } catch {
      await Bun.sleep(10);
    }
  }
}
