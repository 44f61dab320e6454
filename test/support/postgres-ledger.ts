import type { LedgerHarness } from '../../src/ledger/testing/contract-harness.ts';
import { openPostgresLedger, type PostgresLedger } from '../../src/ledger/postgres/ledger.ts';
import { OVERRUN_ACCOUNT } from '../../src/ledger/decide.ts';
import { silentLog, type Log } from '../../src/std/log.ts';
import { systemClock } from '../../src/std/clock.ts';
import { openStore, type PostgresBackend, type Store } from '../../src/store/store.ts';
import { testPostgres } from './postgres.ts';
import { LEDGER_SQL } from '../../src/ledger/postgres/functions.ts';

export interface PostgresHarness extends LedgerHarness {
  readonly backend: PostgresBackend;
  ledger(): PostgresLedger;
  /** Another node on the same database, with connections of its own or by another way. The test closes it. */
  anotherNode(
    name: string,
    more?: { readonly url?: string; readonly deadlineFactor?: number },
  ): PostgresLedger;
}

const LEASE_MS = 120_000;
/** The middle of some month, so that an hour forward is the same month and 32 days forward the next. */
const START_MS = Date.UTC(2030, 4, 15, 12);

/**
 * A database, and who checks its books after every step: a node with a connection of its own, which need not prepare for
 * it after every crash.
 */
interface AuditedStore {
  readonly store: Store;
  readonly auditor: PostgresLedger;
  /** How far the auditor's clock is from the database's. */
  offsetMs: number;
}

/** Those that a test has left as it found them: making one takes longer than most tests. */
const spare: AuditedStore[] = [];

/** What is tested here is what is decided, not how fast: a busy machine must not look like a database that is away. */
const PATIENCE = 20;

/** A ledger on a Postgres database of its own. Its clock is the database's, moved by the test. */
export async function postgresHarness(log: Log = silentLog): Promise<PostgresHarness> {
  const audited = spare.pop() ?? (await newAuditedStore());
  const { store, auditor } = audited;
  const backend = postgresBackend(store);
  audited.offsetMs = START_MS - Date.now();
  let lives = 0;
  let repair: string | undefined;
  let isSpoilt = false;
  const endings: Promise<void>[] = [];
  const open = (node: string, { url = backend.url, deadlineFactor = PATIENCE } = {}) =>
    openPostgresLedger(
      { url },
      { node, log, leaseMs: LEASE_MS, clockOffsetMs: () => audited.offsetMs, deadlineFactor },
    );
  const nextLife = (): PostgresLedger => {
    const life = open(`life-${++lives}`);
    life.verify = (options) => auditor.verify(options);
    return life;
  };
  let ledger = nextLife();
  return {
    store,
    backend,
    leaseMs: LEASE_MS,
    ledger: () => ledger,
    anotherNode: open,
    advance(ms) {
      audited.offsetMs += ms;
      return Promise.resolve();
    },
    now: () => Promise.resolve(Date.now() + audited.offsetMs),
    async crash() {
      // A crashed ledger is not closed in order.
      endings.push(ledger.close());
      ledger = nextLife();
      await ledger.expire();
    },
    async corrupt(statement) {
      isSpoilt ||= !changesRows(statement);
      repair ??= await withoutGuards(backend);
      await backend.pool.query(statement);
    },
    reset: () => reset(backend),
    async close() {
      await Promise.all([ledger.close(), ...endings]);
      if (isSpoilt) {
        await auditor.close();
        return store.close();
      }
      await reset(backend);
      if (repair !== undefined) await backend.pool.query(repair);
      spare.push(audited);
    },
  };
}

async function newAuditedStore(): Promise<AuditedStore> {
  const databaseUrl = await (await testPostgres()).freshDatabase();
  const how = { dataDir: '', log: silentLog, clock: systemClock, ledgerSql: LEDGER_SQL };
  const store = await openStore({ ...how, databaseUrl });
  const audited: AuditedStore = {
    store,
    auditor: openPostgresLedger(
      { url: postgresBackend(store).url },
      {
        node: 'auditor',
        log: silentLog,
        leaseMs: LEASE_MS,
        clockOffsetMs: () => audited.offsetMs,
        deadlineFactor: PATIENCE,
      },
    ),
    offsetMs: 0,
  };
  return audited;
}

export function postgresBackend(store: Store): PostgresBackend {
  if (store.backend.kind !== 'postgres') throw new Error('expected a Postgres store');
  return store.backend;
}

/** Takes away whatever keeps the books right, and returns what puts it back where nothing is left that is wrong. */
async function withoutGuards({ pool }: PostgresBackend): Promise<string> {
  const { rows } = await pool.query<{ drop: string; add: string }>(
    `SELECT format('ALTER TABLE %s DROP CONSTRAINT %I', conrelid::regclass, conname) AS drop,
        format('ALTER TABLE %s ADD CONSTRAINT %I %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) AS add
      FROM pg_constraint
      WHERE contype = 'c' AND conrelid IN ('account'::regclass, 'hold'::regclass, 'receipt'::regclass)
      UNION ALL SELECT format('ALTER TABLE %s DISABLE TRIGGER USER', name), format('ALTER TABLE %s ENABLE TRIGGER USER', name)
      FROM unnest(ARRAY['entry', 'receipt', 'archived_day', 'statement', 'cost_entry']) AS name
      UNION ALL SELECT 'DROP INDEX ' || indexname, indexdef FROM pg_indexes WHERE indexname = 'entry_request'`,
  );
  await pool.query(rows.map(({ drop }) => drop).join(';'));
  return rows.map(({ add }) => add).join(';');
}

const EMPTIED = [
  'entry', 'debt', 'wallet_move', 'hold', 'receipt', 'archived_day', 'usage_day', 'backend_day', 'answer', 'redeem_code',
  'payment', 'payment_reversal', 'payment_problem', 'top_up', 'statement', 'cost_entry',
]; // prettier-ignore

/** Whether a statement changes only rows that {@link reset} removes. */
function changesRows(statement: string): boolean {
  const [, table = ''] = /^\s*(?:UPDATE|DELETE FROM|INSERT INTO) (\w+)\b[^;]*$/.exec(statement) ?? [];
  return table === 'account' || EMPTIED.includes(table);
}

/** As a replica would, so that the append-only triggers look away. One transaction; emptying files would take longer. */
async function reset({ pool }: PostgresBackend): Promise<void> {
  await pool.query(`BEGIN; SET LOCAL session_replication_role = replica;
    ${EMPTIED.map((table) => `DELETE FROM ${table};`).join(' ')}
    DELETE FROM account WHERE id <> '${OVERRUN_ACCOUNT}'; UPDATE account SET balance = 0; COMMIT`);
}
