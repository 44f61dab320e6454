import type { Generated } from 'kysely';

export interface CostEntrySchema {
  cost_entry: CostEntryTable;
}

/** What a provider's bill changed in the sums of a day, in nano-USD. */
export interface CostEntryTable {
  id: Generated<number>;
  /** yyyymmdd. */
  day: number;
  backend: string;
  model: string;
  cost: number;
  /** Never above zero: what was possible becomes known. */
  possible_cost: number;
  /** Which bill. */
  cause: string;
  actor: string;
  created_at: number;
}
