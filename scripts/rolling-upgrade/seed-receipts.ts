import { Client } from 'pg';
import { BASE62 } from '../../src/std/ids.ts';
import { DURATION_COLUMNS } from '../../src/store/receipt-codes.ts';

const ACCOUNTS = 200;
const BATCH = 1_000_000;
const DAY_MS = 86_400_000;
const DAYS = 30;
/** 24 tokens in and 16 out, at the price below. */
const CHARGE = 56_000;
const PRICE = JSON.stringify({
  kind: 'tokens',
  input: 1_000_000_000,
  cachedInput: 1_000_000_000,
  output: 2_000_000_000,
});

/**
 * Receipts of a month by the million, made in the database itself, with books that are right. Only columns of the first
 * schema are named, so that any later version's database can be filled.
 */
export async function seedReceipts(databaseUrl: string, count: number): Promise<void> {
  const client = new Client(databaseUrl);
  await client.connect();
  try {
    await client.query(ACCOUNTS_AND_NAMES);
    const from = Date.now() - DAYS * DAY_MS;
    for (let first = 0; first < count; first += BATCH)
      await client.query(RECEIPTS, [
        first,
        Math.min(count, first + BATCH) - 1,
        from,
        (DAYS * DAY_MS) / count,
      ]);
    await client.query(SUMS);
    await client.query('VACUUM ANALYZE');
  } finally {
    await client.end();
  }
}

const ACCOUNTS_AND_NAMES = `
  INSERT INTO account (id, email, balance, created_at)
    SELECT 'acc_seed' || n, 'seed-' || n || '@example.com', 0, 1 FROM generate_series(0, ${ACCOUNTS - 1}) AS n;
  INSERT INTO node (name) VALUES ('seed') ON CONFLICT DO NOTHING;
  INSERT INTO backend (name) VALUES ('seed') ON CONFLICT DO NOTHING;
  INSERT INTO route (kind, endpoint, model) VALUES ('chat', 'svc_chat', 'm') ON CONFLICT DO NOTHING;
  INSERT INTO price (value, input, cached_input, output, image)
    VALUES ('${PRICE}', 1000000000, 1000000000, 2000000000, 0) ON CONFLICT DO NOTHING`;

/** The number n made as an id: its time in eight digits of Base62, as the program writes it, and then n itself. */
const TIME_DIGITS = Array.from(
  { length: 8 },
  (_, place) => `substr('${BASE62}', (at / ${62 ** (7 - place)} % 62)::int + 1, 1)`,
).join(' || ');

const RECEIPTS = `
  INSERT INTO receipt
    (id, account_id, held, charged, overrun, created_at, booked_at, node, price, route, backend, input_tokens,
     cached_tokens, output_tokens, reasoning_tokens, images, output_cap, choices, first_byte_ms, duration_ms, state,
     outcome, source, stream, late, client, detail)
  SELECT 'req_' || ${TIME_DIGITS} || lpad(to_hex(n), 16, '0'), 'acc_seed' || n % ${ACCOUNTS}, 1000000, ${CHARGE}, 0, at, at + 5,
    (SELECT id FROM node WHERE name = 'seed'), (SELECT id FROM price WHERE value = '${PRICE}'),
    (SELECT id FROM route WHERE kind = 'chat' AND endpoint = 'svc_chat' AND model = 'm'),
    (SELECT id FROM backend WHERE name = 'seed'), 24, 0, 16, 0, 0, 256, 1, 3, 5, 1, 1, 1, 0, 0, 'seed/1',
    '{"finish":"stop","attempts":[[0,5]]}'
  FROM (SELECT n, ($3::float8 + n * $4::float8)::bigint AS at FROM generate_series($1::bigint, $2::bigint) AS n) AS made`;

const DAY = `to_char(to_timestamp(created_at / 1000.0) AT TIME ZONE 'UTC', 'YYYYMMDD')::bigint`;

/** Credits that are twice the charges, balances, and the sums of each day. */
const SUMS = `
  CREATE TEMPORARY TABLE seeded AS
    SELECT account_id, ${DAY} AS day, count(*) AS requests, sum(charged)::bigint AS charged FROM receipt GROUP BY 1, 2;
  INSERT INTO entry (account_id, kind, amount, cause, actor, created_at)
    SELECT account_id, 'credit', 2 * sum(charged), 'seed', 'seed', 1 FROM seeded GROUP BY 1;
  UPDATE account a SET balance = s.charged
    FROM (SELECT account_id, sum(charged) AS charged FROM seeded GROUP BY 1) AS s WHERE s.account_id = a.id;
  INSERT INTO usage_day (account_id, day, endpoint, model, requests, input_tokens, output_tokens, charged)
    SELECT account_id, day, 'svc_chat', 'm', requests, 24 * requests, 16 * requests, charged FROM seeded
    UNION ALL SELECT '', day, 'svc_chat', 'm', sum(requests), 24 * sum(requests), 16 * sum(requests), sum(charged)
      FROM seeded GROUP BY day;
  INSERT INTO backend_day (day, backend, model, requests, charged, ${DURATION_COLUMNS[0]})
    SELECT day, 'seed', 'm', sum(requests), sum(charged), sum(requests) FROM seeded GROUP BY day`;
