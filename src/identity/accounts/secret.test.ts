import { afterEach, expect, test } from 'bun:test';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLog } from '../../std/log.ts';
import { StartupError } from '../../std/startup-error.ts';
import { openStore, type Store } from '../../store/store.ts';
import { openSecret } from './secret.ts';
import { LEDGER_SQL } from '../../ledger/postgres/functions.ts';

const opened: { store: Store; dataDir: string }[] = [];

async function open(): Promise<{ store: Store; dataDir: string }> {
  const dataDir = mkdtempSync(join(tmpdir(), 'tollgate-secret-'));
  const store = await openStore({ dataDir, log: silentLog, clock: { now: () => 1 }, ledgerSql: LEDGER_SQL });
  opened.push({ store, dataDir });
  return { store, dataDir };
}

afterEach(async () => {
  for (const { store, dataDir } of opened.splice(0)) {
    await store.close();
    rmSync(dataDir, { recursive: true, force: true });
  }
});

test('without a configured secret, one is created once, readable only by its owner, and used again', async () => {
  const { store, dataDir } = await open();
  const options = { given: undefined, dataDir, shared: false, db: store.db, now: 1 };
  const [a, b] = await Promise.all([openSecret(options), openSecret(options)]);
  expect(a.key('sessions')).toEqual(b.key('sessions'));
  expect(statSync(join(dataDir, 'secret')).mode & 0o777).toBe(0o600);
  expect(readFileSync(join(dataDir, 'secret'), 'utf8').trim().length).toBeGreaterThanOrEqual(64);
  expect((await openSecret(options)).key('sessions')).toEqual(a.key('sessions'));
});

test('each purpose has a key of its own', async () => {
  const { store, dataDir } = await open();
  const secret = await openSecret({
    given: 'a secret that is long',
    dataDir,
    shared: true,
    db: store.db,
    now: 1,
  });
  expect(secret.key('sessions')).not.toEqual(secret.key('token pepper'));
  expect(secret.key('sessions')).toHaveLength(32);
});

test('a shared store needs a configured secret, and a wrong one prevents the start', async () => {
  const { store, dataDir } = await open();
  const options = { dataDir, shared: true, db: store.db, now: 1 };
  expect(openSecret({ ...options, given: undefined })).rejects.toBeInstanceOf(StartupError);
  await openSecret({ ...options, given: 'the first secret given' });
  expect(openSecret({ ...options, given: 'quite another secret' })).rejects.toBeInstanceOf(StartupError);
  expect(openSecret({ ...options, given: 'short' })).rejects.toBeInstanceOf(StartupError);
  const stored = await store.db.selectFrom('setting').selectAll().execute();
  expect(JSON.stringify(stored)).not.toContain('the first secret');
});
