import { randomBytes } from 'node:crypto';
import type { Database } from 'bun:sqlite';
import { newToken } from '../../src/identity/accounts/token.ts';
import { newAccountId, newRequestId, type AccountId } from '../../src/std/ids.ts';
import { MAX_BALANCE } from '../../src/std/money.ts';
import { backendDayStatements } from '../../scripts/seed/backend-days.ts';
import type { Services } from '../../src/main/services.ts';

const DAY_MS = 86_400_000;
const MOST_PER_MINUTE = 1_000_000;
const BATCH = 50_000;
/** Tokens are kept for so many of the accounts, spread evenly; the others exist and are never called. */
const MOST_TOKENS = 2_000;

/** Accounts by the hundred thousand, straight into the tables, with books that are right. Returns the tokens of some. */
export function seedAccounts(services: Services, count: number): string[] {
  const database = openDatabase(services);
  const pepper = services.secret.key('token pepper');
  const every = Math.max(1, Math.floor(count / MOST_TOKENS));
  const now = services.clock.now();
  const account = database.prepare(`INSERT INTO account
    (id, email, token_hash, token_created_at, balance, chat_per_minute, images_per_minute, concurrent, created_at)
    VALUES (?, ?, ?, ?, ?, ${MOST_PER_MINUTE}, ${MOST_PER_MINUTE}, ${MOST_PER_MINUTE}, ?)`);
  const entry = database.prepare(`INSERT INTO entry (account_id, kind, amount, cause, actor, created_at)
    VALUES (?, 'credit', ?, 'seed', 'bench', ?)`);
  const tokens: string[] = [];
  inBatches(database, count, (number) => {
    const id = newAccountId(now - DAY_MS + number);
    const made = number % every === 0 ? newToken(pepper) : undefined;
    const hash = made?.hash ?? randomBytes(32).toString('hex');
    if (made) tokens.push(made.token);
    account.run(id, `seed-${number}@example.com`, hash, now, MAX_BALANCE, now);
    entry.run(id, MAX_BALANCE, now);
  });
  database.close();
  return tokens;
}

/** Settled requests of the accounts there are, over the last days, with their charges; the balances follow. */
export function seedRequests(services: Services, count: number): void {
  const database = openDatabase(services);
  const accounts = database
    .query<{ id: AccountId }, []>(`SELECT id FROM account WHERE role <> 'system'`)
    .all()
    .map(({ id }) => id);
  const now = services.clock.now();
  const stepMs = (30 * DAY_MS) / count;
  const numbers = seedNumbers(database);
  const receipt = database.prepare(`INSERT INTO receipt
    (id, account_id, held, charged, overrun, created_at, booked_at, node, price, route, backend, input_tokens, cached_tokens,
     output_tokens, reasoning_tokens, images, output_cap, choices, first_byte_ms, duration_ms, state, outcome, source, stream,
     late, client, detail)
    VALUES (?, ?, 1000000, ${CHARGE}, 0, ?, ?, ${numbers.node}, ${numbers.price}, ${numbers.route}, ${numbers.backend}, 24, 0,
     16, 0, 0, 256, 1, 3, 5, 1, 1, 1, 0, 0, 'tollgate-bench/1', '{"finish":"stop","attempts":[[0,5]]}')`);
  inBatches(database, count, (number) => {
    const at = Math.floor(now - 30 * DAY_MS + number * stepMs);
    const id = newRequestId(at);
    const account = accounts[number % accounts.length] ?? '';
    receipt.run(id, account, at, at + 5);
  });
  balanceTheBooks(database);
  database.close();
}

const CHARGE = 56_000;
const PRICE = JSON.stringify({
  kind: 'tokens',
  input: 1_000_000_000,
  cachedInput: 1_000_000_000,
  output: 2_000_000_000,
});

/** The numbers by which receipts refer to what repeats. */
function seedNumbers(database: Database): Record<'node' | 'price' | 'route' | 'backend', number> {
  const numberOf = (insert: string, select: string): number => {
    database.run(insert);
    return database.query<{ id: number }, []>(select).get()?.id ?? 0;
  };
  return {
    node: numberOf(
      `INSERT OR IGNORE INTO node (name) VALUES ('seed')`,
      `SELECT id FROM node WHERE name = 'seed'`,
    ),
    backend: numberOf(
      `INSERT OR IGNORE INTO backend (name) VALUES ('backend')`,
      `SELECT id FROM backend WHERE name = 'backend'`,
    ),
    route: numberOf(
      `INSERT OR IGNORE INTO route (kind, endpoint, model) VALUES ('chat', 'svc_chat', 'm')`,
      `SELECT id FROM route WHERE endpoint = 'svc_chat' AND model = 'm'`,
    ),
    price: numberOf(
      `INSERT OR IGNORE INTO price (value, input, cached_input, output, image)
        VALUES ('${PRICE}', 1000000000, 1000000000, 2000000000, 0)`,
      `SELECT id FROM price WHERE value = '${PRICE}'`,
    ),
  };
}

/** Balances and daily sums as if each request had been served. */
function balanceTheBooks(database: Database): void {
  database.run(`UPDATE account SET balance = (SELECT coalesce(sum(amount), 0) FROM entry WHERE account_id = account.id)
      - coalesce((SELECT sum(charged) FROM receipt WHERE account_id = account.id), 0)
    WHERE role <> 'system'`);
  database.run('DELETE FROM usage_day');
  for (const who of ['account_id', `''`]) {
    database.run(`INSERT INTO usage_day (account_id, day, endpoint, model, requests, input_tokens, output_tokens, charged)
      SELECT ${who}, CAST(strftime('%Y%m%d', created_at / 1000, 'unixepoch') AS INTEGER) AS day, endpoint, model,
        count(*), sum(input_tokens), sum(output_tokens), sum(charged)
      FROM receipt r JOIN route o ON o.id = r.route GROUP BY 1, 2, 3, 4`);
  }
  for (const statement of backendDayStatements('sqlite')) database.run(statement);
}

function openDatabase({ store }: Services): Database {
  if (store.backend.kind !== 'sqlite') throw new Error('only a SQLite store is seeded this way');
  const database = store.backend.open();
  // Nothing else runs, and what a power cut would lose is only a benchmark.
  database.run('PRAGMA synchronous = OFF');
  database.run('PRAGMA cache_size = -500000');
  return database;
}

function inBatches(database: Database, count: number, insert: (number: number) => void): void {
  for (let start = 0; start < count; start += BATCH) {
    const end = Math.min(count, start + BATCH);
    database.transaction(() => {
      for (let number = start; number < end; number++) insert(number);
    })();
  }
  database.run('PRAGMA wal_checkpoint(TRUNCATE)');
}
