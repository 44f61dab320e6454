import { rmSync } from 'node:fs';
import { preparedDataFolder } from '../../../test/support/prepared-folder.ts';
import { silentLog, type Log } from '../../std/log.ts';
import { sqliteDialect } from '../../store/dialect.ts';
import { openStore, type SqliteBackend, type Store } from '../../store/store.ts';
import type { LedgerHarness } from './contract-harness.ts';
import { SqliteLedger } from '../sqlite/ledger.ts';
import { LEDGER_SQL } from '../postgres/functions.ts';

export interface SqliteHarness extends LedgerHarness {
  readonly dataDir: string;
  readonly backend: SqliteBackend;
  ledger(): SqliteLedger;
}

const LEASE_MS = 120_000;
const APPEND_ONLY = ['entry', 'receipt', 'statement', 'cost_entry'];
const EMPTIED = [
  'entry', 'debt', 'wallet_move', 'hold', 'receipt', 'archived_day', 'usage_day', 'backend_day', 'answer', 'redeem_code',
  'payment', 'payment_reversal', 'payment_problem', 'top_up', 'statement', 'cost_entry',
]; // prettier-ignore
/** The middle of a month: an hour forward is the same month, 32 days forward the next. */
const START_MS = Date.UTC(2030, 4, 15, 12);

/** A ledger on a SQLite file in a folder of its own, with a clock that only the test moves. */
export async function sqliteHarness(log: Log = silentLog): Promise<SqliteHarness> {
  const dataDir = await preparedDataFolder('tollgate-ledger-');
  let nowMs = START_MS;
  let lives = 0;
  const clock = { now: () => nowMs };
  const store = await openStore({ dataDir, log, clock, ledgerSql: LEDGER_SQL });
  const backend = sqliteBackend(store);
  const open = () => new SqliteLedger({ backend, log, clock, node: `life-${++lives}`, leaseMs: LEASE_MS });
  let ledger = open();
  return {
    store,
    backend,
    dataDir,
    leaseMs: LEASE_MS,
    ledger: () => ledger,
    advance(ms) {
      nowMs += ms;
      return Promise.resolve();
    },
    now: () => Promise.resolve(nowMs),
    async crash() {
      await ledger.close();
      ledger = open();
      await ledger.recover();
    },
    corrupt: (statement) => Promise.resolve(corrupt(backend, statement)),
    reset: () => Promise.resolve(reset(backend)),
    async close() {
      await ledger.close();
      await store.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

export function sqliteBackend(store: Store): SqliteBackend {
  if (store.backend.kind !== 'sqlite') throw new Error('expected a SQLite store');
  return store.backend;
}

/** The triggers that keep the books as they were written. */
function guards(): string[] {
  const appendOnly = APPEND_ONLY.flatMap((table) => [`${table}_no_update`, `${table}_no_delete`]);
  return [...appendOnly, 'receipt_archived', 'archived_day_closed', 'archived_day_no_delete'];
}

function corrupt(backend: SqliteBackend, statement: string): void {
  const database = backend.open();
  // A checkpoint on the side may hold the lock for a moment.
  database.run('PRAGMA busy_timeout = 2000');
  database.run('PRAGMA foreign_keys = OFF');
  database.run('PRAGMA ignore_check_constraints = ON');
  for (const trigger of guards()) database.run(`DROP TRIGGER IF EXISTS ${trigger}`);
  database.run('DROP INDEX IF EXISTS entry_request');
  database.run(statement);
  database.close();
}

function reset(backend: SqliteBackend): void {
  const database = backend.open();
  // A checkpoint on the side may hold the lock for a moment.
  database.run('PRAGMA busy_timeout = 2000');
  database.run('PRAGMA foreign_keys = OFF');
  database.run('BEGIN IMMEDIATE');
  for (const trigger of guards()) database.run(`DROP TRIGGER ${trigger}`);
  for (const table of EMPTIED) database.run(`DELETE FROM ${table}`);
  database.run(`DELETE FROM account WHERE role <> 'system'`);
  database.run('UPDATE account SET balance = 0');
  for (const trigger of APPEND_ONLY.flatMap((table) => sqliteDialect.appendOnly(table)))
    database.run(trigger);
  for (const trigger of sqliteDialect.archivedByDay) database.run(trigger);
  database.run('COMMIT');
  database.close();
}
