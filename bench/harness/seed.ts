import { randomBytes } from 'node:crypto';
import type { Database } from 'bun:sqlite';
import { newToken } from '../../src/identity/accounts/token.ts';
import { newAccountId, newRequestId, type AccountId } from '../../src/std/ids.ts';
import { MAX_BALANCE } from '../../src/std/money.ts';
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
  const request = database.prepare(`INSERT INTO request
    (id, account_id, state, held, charged, node, lease_until, kind, endpoint, model, price, input_ceiling, output_cap, choices, stream,
     client, created_at, finished_at, first_byte_ms, duration_ms, input_tokens, output_tokens, usage_source, outcome, finish_reason, upstream, attempts)
    VALUES (?, ?, 'posted', 1000000, ${CHARGE}, 'seed', ?, 'chat', 'svc_chat', 'm', ?, 400, 256, 1, 0, 'tollgate-bench/1', ?, ?, 3, 5, 24, 16,
     'upstream', 'completed', 'stop', 'backend', '[{"upstream":"backend","result":"served","durationMs":5}]')`);
  const entry =
    database.prepare(`INSERT INTO entry (account_id, kind, amount, request_id, cause, actor, created_at)
    VALUES (?, 'charge', ${-CHARGE}, ?, 'chat svc_chat m', 'tollgate', ?)`);
  inBatches(database, count, (number) => {
    const at = Math.floor(now - 30 * DAY_MS + number * stepMs);
    const id = newRequestId(at);
    const account = accounts[number % accounts.length] ?? '';
    request.run(id, account, at, PRICE, at, at + 5);
    entry.run(account, id, at);
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

/** Balances and daily sums as if each request had been served. */
function balanceTheBooks(database: Database): void {
  database.run(`UPDATE account SET balance = (SELECT coalesce(sum(amount), 0) FROM entry WHERE account_id = account.id)
    WHERE role <> 'system'`);
  database.run('DELETE FROM usage_day');
  for (const who of ['account_id', `''`]) {
    database.run(`INSERT INTO usage_day (account_id, day, endpoint, model, requests, input_tokens, output_tokens, charged)
      SELECT ${who}, CAST(strftime('%Y%m%d', created_at / 1000, 'unixepoch') AS INTEGER) AS day, endpoint, model,
        count(*), sum(input_tokens), sum(output_tokens), sum(charged)
      FROM request GROUP BY 1, 2, 3, 4`);
  }
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
