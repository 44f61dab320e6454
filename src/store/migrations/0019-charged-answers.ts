import type { Dialect } from '../dialect.ts';

/**
 * The keys of charged requests stay for their day, however many there are. Each index has what is looked for, the oldest
 * bodies and the oldest keys of free requests, so that no row with its body is read to find them.
 */
export function chargedAnswers(d: Dialect): readonly string[] {
  return [
    `ALTER TABLE answer ADD COLUMN charged ${d.int64}`,
    `CREATE INDEX answer_bodies ON answer (account_id, created_at, idempotency_key) WHERE body IS NOT NULL`,
    `CREATE INDEX answer_free ON answer (account_id, created_at, idempotency_key) WHERE charged = 0`,
  ];
}
