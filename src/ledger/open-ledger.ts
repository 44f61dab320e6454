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
  /** At the start of a server: closes what a process before it left behind. */
  recover(): Promise<number>;
  /** Takes the way that requests take, and writes; throws when a request would fail. */
  probe(): Promise<void>;
  /** For whoever watches over it. */
  load(): LedgerLoad;
  close(): Promise<void>;
}

export interface LedgerOptions {
  /** Who holds the leases: one name per process. */
  readonly node: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly leaseMs?: number | undefined;
  /** How long an operation may wait for a database on the network. */
  readonly deadlineMs?: number | undefined;
  /** In tests: how far ahead of its own clock a database on the network reckons. */
  readonly clockOffsetMs?: (() => number) | undefined;
}

/** The books of a store, whichever database it is. */
export function openLedger(store: Store, options: LedgerOptions): OpenLedger {
  const { backend } = store;
  if (backend.kind === 'sqlite') {
    const ledger = new SqliteLedger({ backend, ...options });
    return {
      ledger,
      recover: () => ledger.recover(),
      probe: () => writeHeartbeat(store, options.clock),
      load: () => ledger.load(),
      close: () => ledger.close(),
    };
  }
  const { deadlineMs = LEDGER_DEADLINE_MS, ...rest } = options;
  const ledger = openPostgresLedger(backend, { ...rest, deadlineFactor: deadlineMs / LEDGER_DEADLINE_MS });
  // Other nodes may be alive: only leases tell which holds are orphans, and the sweeper looks at those all the time.
  return {
    ledger,
    recover: () => Promise.resolve(0),
    probe: () => ledger.probe(),
    load: () => ledger.load(),
    close: () => ledger.close(),
  };
}
