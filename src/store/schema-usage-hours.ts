import type { Generated } from 'kysely';

export interface UsageHourSchema {
  usage_quarter: UsageQuarterTable;
  usage_client: UsageClientTable;
  usage_saving: UsageSavingTable;
}

/** Sums of closed requests, counted from their receipts, and kept when those leave. */
interface CountedSums {
  requests: Generated<number>;
  failures: Generated<number>;
  input_tokens: Generated<number>;
  cached_tokens: Generated<number>;
  output_tokens: Generated<number>;
  reasoning_tokens: Generated<number>;
  images: Generated<number>;
  charged: Generated<number>;
  /** How much more it would have cost without cached input; negative where cached input is the dearer one. */
  saved: Generated<number>;
}

export interface UsageQuarterTable extends CountedSums {
  account_id: string;
  /** Of the admission: quarters of an hour since 1970. */
  quarter: number;
}

/** Of a day only the clients with the most requests. */
export interface UsageClientTable extends CountedSums {
  account_id: string;
  /** yyyymmdd, of the admission. */
  day: number;
  client: string;
}

/** Only of requests with cached input. */
export interface UsageSavingTable {
  account_id: string;
  /** yyyymmdd, of the admission. */
  day: number;
  endpoint: string;
  model: string;
  requests: Generated<number>;
  saved: Generated<number>;
}
