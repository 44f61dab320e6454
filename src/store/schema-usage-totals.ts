import type { Generated } from 'kysely';

export interface UsageTotalSchema {
  usage_total: UsageTotalTable;
  usage_ten_days: UsageTenDaysTable;
}

/** Sums of `usage_day`, of days that are over. */
interface AddedSums {
  requests: Generated<number>;
  failures: Generated<number>;
  input_tokens: Generated<number>;
  cached_tokens: Generated<number>;
  output_tokens: Generated<number>;
  reasoning_tokens: Generated<number>;
  images: Generated<number>;
  charged: Generated<number>;
}

export interface UsageTotalTable extends AddedSums {
  account_id: string;
  /** yyyymmdd. */
  day: number;
  /** Empty: all of them. Only a day with such a row is complete. */
  endpoint: string;
  cost: Generated<number>;
  possible_cost: Generated<number>;
  costed: Generated<number>;
}

export interface UsageTenDaysTable extends AddedSums {
  account_id: string;
  /** yyyymmdd: the first, eleventh or twenty-first of a month; the last ten days end with it, and may be eleven. */
  first_day: number;
  /** Empty, as the model: all of them. Only days with such a row are complete. */
  endpoint: string;
  model: string;
}
