import type { DistributionSample } from '../std/distribution.ts';

/** How busy the ledger of this process is. */
export interface LedgerLoad {
  readonly batches: readonly BatchLoad[];
  readonly connections: readonly ConnectionLoad[];
}

export interface BatchLoad {
  readonly name: string;
  /** How many operations went to the database together. */
  readonly sizes: DistributionSample;
  readonly waiting: number;
}

export interface ConnectionLoad {
  readonly name: string;
  readonly total: number;
  readonly idle: number;
  /** Calls that wait for a connection. */
  readonly waiting: number;
}
