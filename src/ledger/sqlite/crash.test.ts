import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { systemClock } from '../../std/clock.ts';
import { silentLog } from '../../std/log.ts';
import { addAccount, credit } from '../testing/contract-harness.ts';
import { sqliteHarness, type SqliteHarness } from '../testing/sqlite-harness.ts';
import { SqliteLedger } from './ledger.ts';

const REPETITIONS = 6;
const CHILD = join(import.meta.dir, '../testing/crash-child.ts');

test('kill -9 with 150 requests in flight loses no promised charge, leaks no hold, charges nothing twice', async () => {
  const harness = await sqliteHarness();
  try {
    const account = await addAccount(harness);
    await credit(harness, account.id, 1_000_000_000);
    for (let repetition = 0; repetition < REPETITIONS; repetition++) {
      const promised = await runUntilKilled(harness.dataDir, account.hash, 100 + repetition * 377);
      await expectNothingLost(harness, promised);
    }
  } finally {
    await harness.close();
  }
}, 60_000);

/** Kills the child after it has promised so many charges, in the middle of whatever it does then. */
async function runUntilKilled(dataDir: string, hash: string, promises: number): Promise<Map<string, number>> {
  const child = Bun.spawn([process.execPath, CHILD, dataDir, hash], { stdout: 'pipe', stderr: 'pipe' });
  const promised = new Map<string, number>();
  let rest = '';
  for await (const chunk of child.stdout) {
    const lines = (rest + Buffer.from(chunk).toString('utf8')).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const [id = '', charged = ''] = line.split(' ');
      promised.set(id, Number(charged));
    }
    if (promised.size >= promises) child.kill('SIGKILL');
  }
  await child.exited;
  if (child.signalCode !== 'SIGKILL') throw new Error(await new Response(child.stderr).text());
  return promised;
}

async function expectNothingLost(
  harness: SqliteHarness,
  promised: ReadonlyMap<string, number>,
): Promise<void> {
  const ledger = new SqliteLedger({
    backend: harness.backend,
    log: silentLog,
    clock: systemClock,
    node: `check-${Math.random()}`,
  });
  await ledger.recover();
  const rows = await harness.store.db.selectFrom('request').select(['id', 'state', 'charged']).execute();
  const byId = new Map(rows.map((row) => [row.id, row]));
  for (const [id, charged] of promised) expect(byId.get(id)).toEqual({ id, state: 'posted', charged });
  expect(rows.filter((row) => row.state === 'pending')).toEqual([]);
  expect((await ledger.verify()).breaches).toEqual([]);
  await ledger.close();
}
