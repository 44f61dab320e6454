import type { Database } from 'bun:sqlite';
import type { Clock } from '../std/clock.ts';
import type { Log } from '../std/log.ts';
import { writeHeartbeat } from '../store/heartbeat.ts';
import type { Store } from '../store/store.ts';
import type { Ledger, LedgerLoad } from './port.ts';
import { LEDGER_DEADLINE_MS } from './postgres/batch-queue.ts';
import { openPostgresLedger } from './postgres/ledger.ts';
import { SqliteLedger } from './sqlite/ledger.ts';

export interface OpenLedger {
  readonly ledger: Ledger;
  /** At the start of a server: closes what an earlier process left behind. */
  recover(): Promise<number>;
  /** Does what a request does, with a write; throws when a request would fail. */
  probe(): Promise<void>;
  /** For metrics. */
  load(): LedgerLoad;
  /**
   * Where one connection writes for everybody: runs statements about tables that are not the ledger's in its next
   * transaction, and resolves when that is committed. Absent where each writer has a connection of its own.
   */
  readonly alongside?: (<T>(run: (database: Database) => T) => Promise<T>) | undefined;
  close(): Promise<void>;
}

interface LedgerOptions {
  /** The name in the leases: one per process. */
  readonly node: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly leaseMs?: number | undefined;
  /** How long an operation may wait for a database on the network. */
  readonly deadlineMs?: number | undefined;
  /** For tests: how far a database on the network is to reckon ahead of its own clock. */
  readonly clockOffsetMs?: (() => number) | undefined;
}

/** The ledger of a store, whichever database it is. */
export function openLedger(store: Store, options: LedgerOptions): OpenLedger {
  const { backend } = store;
  if (backend.kind === 'sqlite') {
    const ledger = new SqliteLedger({ backend, ...options });
    return {
      ledger,
      recover: () => ledger.recover(),
      probe: () => writeHeartbeat(store, options.clock),
      load: () => ledger.load(),
      alongside: (run) => ledger.alongside(run),
      close: () => ledger.close(),
    };
  }
  const { deadlineMs = LEDGER_DEADLINE_MS, ...rest } = options;
  const ledger = openPostgresLedger(backend, { ...rest, deadlineFactor: deadlineMs / LEDGER_DEADLINE_MS });
  // Other nodes may be running: only leases tell which holds are orphans, and the sweeper checks those all the time.
  return {
    ledger,
    recover: () => Promise.resolve(0),
    probe: () => ledger.probe(),
    load: () => ledger.load(),
    close: () => ledger.close(),
  };
}
