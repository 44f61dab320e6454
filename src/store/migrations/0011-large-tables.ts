import type { Dialect } from '../dialect.ts';

/**
 * Indexes for installations with thousands of models. The days on which a model or an endpoint was used are found without
 * reading the sums of all others; a row of `usage_day` enters these indexes once a day, and no settlement changes them
 * again. Losses and messages by state are rare rows among many.
 */
export function largeTables(_d: Dialect): readonly string[] {
  return [
    `CREATE INDEX usage_day_model ON usage_day (account_id, model, day)`,
    `CREATE INDEX usage_day_endpoint ON usage_day (account_id, endpoint, day)`,
    `CREATE INDEX receipt_loss ON receipt (id) WHERE coalesce(cost, 0) + possible_cost > charged`,
    `CREATE INDEX outbox_state ON outbox (state, id)`,
  ];
}
