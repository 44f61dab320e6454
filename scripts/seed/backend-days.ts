import {
  DURATION_BOUNDS_MS,
  DURATION_COLUMNS,
  OUTCOME_CODES,
  RECEIPT_OUTCOMES,
} from '../../src/store/receipt-codes.ts';
import { isFailure } from '../../src/ledger/decide.ts';
import type { Store } from '../../src/store/store.ts';

/** Makes the sums by backend and model of all receipts there are, as if each had been booked by the ledger, day after day. */
export function backendDayStatements(kind: Store['backend']['kind']): string[] {
  const failures = RECEIPT_OUTCOMES.filter(isFailure).map((outcome) => OUTCOME_CODES[outcome]);
  return [
    'DELETE FROM backend_day',
    `INSERT INTO backend_day (day, backend, model, requests, failures, charged, cost, costed, ${DURATION_COLUMNS.join(', ')})
      SELECT ${DAY[kind]}, coalesce(b.name, ''), o.model, count(*),
        sum(CASE WHEN r.outcome IN (${failures.join(', ')}) THEN 1 ELSE 0 END), sum(r.charged),
        sum(coalesce(r.cost, 0)), sum(CASE WHEN r.cost IS NULL THEN 0 ELSE r.charged END), ${durations().join(', ')}
      FROM receipt r JOIN route o ON o.id = r.route LEFT JOIN backend b ON b.id = r.backend GROUP BY 1, 2, 3 ORDER BY 1`,
  ];
}

const DAY = {
  sqlite: `CAST(strftime('%Y%m%d', r.created_at / 1000, 'unixepoch') AS INTEGER)`,
  postgres: `to_char(to_timestamp(r.created_at / 1000.0) AT TIME ZONE 'UTC', 'YYYYMMDD')::bigint`,
};

function durations(): string[] {
  return DURATION_COLUMNS.map((_, bucket) => {
    const above = `r.duration_ms > ${DURATION_BOUNDS_MS[bucket - 1] ?? -1}`;
    const bound = DURATION_BOUNDS_MS[bucket];
    return `sum(CASE WHEN ${bound === undefined ? above : `${above} AND r.duration_ms <= ${bound}`} THEN 1 ELSE 0 END)`;
  });
}
