import type { Database } from 'bun:sqlite';
import type { AccountRow, RequestRow } from '../../store/schema.ts';

/** Every statement of the hot path, prepared once. They run inside the batch's transaction, on the ledger's connection. */
export type Statements = ReturnType<typeof prepareStatements>;

export function prepareStatements(database: Database) {
  return {
    begin: database.prepare<void, []>('BEGIN IMMEDIATE'),
    commit: database.prepare<void, []>('COMMIT'),
    rollback: database.prepare<void, []>('ROLLBACK'),
    dataVersion: database.prepare<{ data_version: number }, []>('PRAGMA data_version'),
    accountByToken: database.prepare<AccountRow, [string]>(`${SELECT_ACCOUNT} WHERE token_hash = ?`),
    accountById: database.prepare<AccountRow, [string]>(`${SELECT_ACCOUNT} WHERE id = ?`),
    updateAccount: database.prepare<void, Values>(
      `UPDATE account SET balance = ?, held = ?, open_holds = ?, chat_arrival_us = ?, images_arrival_us = ?,
        month = ?, month_spent = ?, token_used_at = ? WHERE id = ?`,
    ),
    insertRequest: database.prepare<void, Values>(
      `INSERT INTO request (id, account_id, held, lease_until, kind, endpoint, model, price, input_ceiling, output_cap,
        choices, stream, client, created_at, node, state)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'pending')`,
    ),
    hold: database.prepare<HoldRow, [string]>(`${SELECT_HOLD} WHERE id = ?`),
    overdue: database.prepare<HoldRow, [number, number]>(
      `${SELECT_HOLD} WHERE state = 'pending' AND lease_until < ? ORDER BY lease_until LIMIT ?`,
    ),
    orphans: database.prepare<HoldRow, [string, number]>(
      `${SELECT_HOLD} WHERE state = 'pending' AND node <> ? ORDER BY lease_until LIMIT ?`,
    ),
    closeRequest: database.prepare<void, Values>(
      `UPDATE request SET state = ?, charged = ?, overrun = ?, finished_at = ?, first_byte_ms = ?, duration_ms = ?,
        input_tokens = ?, cached_tokens = ?, output_tokens = ?, reasoning_tokens = ?, images = ?, usage_source = ?,
        outcome = ?, error_code = ?, finish_reason = ?, upstream = ?, attempts = ? WHERE id = ?`,
    ),
    renewLease: database.prepare<void, [number, string]>(
      `UPDATE request SET lease_until = ? WHERE id = ? AND state = 'pending'`,
    ),
    writeProgress: database.prepare<void, Values>(
      `UPDATE request SET input_tokens = ?, cached_tokens = ?, output_tokens = ?, reasoning_tokens = ?, images = ?
       WHERE id = ? AND state = 'pending'`,
    ),
    insertEntry: database.prepare<void, Values>(
      `INSERT INTO entry (account_id, kind, amount, request_id, once, cause, actor, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    entryByOnce: database.prepare<{ id: number }, [string]>('SELECT id FROM entry WHERE once = ?'),
    redeemableCode: database.prepare<{ amount: number; batch: string }, [string, number]>(
      `SELECT amount, batch FROM redeem_code
       WHERE code_hash = ? AND redeemed_by IS NULL AND (expires_at IS NULL OR expires_at > ?)`,
    ),
    markRedeemed: database.prepare<void, [string, number, string]>(
      'UPDATE redeem_code SET redeemed_by = ?, redeemed_at = ? WHERE code_hash = ?',
    ),
    addUsage: database.prepare<void, Values>(
      `INSERT INTO usage_day (account_id, day, endpoint, model, requests, failures, input_tokens, cached_tokens,
        output_tokens, reasoning_tokens, images, charged)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (account_id, day, endpoint, model) DO UPDATE SET
        requests = requests + excluded.requests, failures = failures + excluded.failures,
        input_tokens = input_tokens + excluded.input_tokens, cached_tokens = cached_tokens + excluded.cached_tokens,
        output_tokens = output_tokens + excluded.output_tokens,
        reasoning_tokens = reasoning_tokens + excluded.reasoning_tokens,
        images = images + excluded.images, charged = charged + excluded.charged`,
    ),
  };
}

type Values = (string | number | null)[];

export type HoldRow = Pick<
  RequestRow,
  | 'id'
  | 'account_id'
  | 'state'
  | 'held'
  | 'charged'
  | 'overrun'
  | 'price'
  | 'endpoint'
  | 'model'
  | 'created_at'
  | 'input_tokens'
  | 'cached_tokens'
  | 'output_tokens'
  | 'reasoning_tokens'
  | 'images'
>;

const SELECT_ACCOUNT = `SELECT id, email, role, status, balance, held, open_holds, chat_arrival_us, images_arrival_us,
  chat_per_minute, images_per_minute, concurrent, monthly_limit, month, month_spent, token_used_at FROM account`;

const SELECT_HOLD = `SELECT id, account_id, state, held, charged, overrun, price, endpoint, model, created_at,
  input_tokens, cached_tokens, output_tokens, reasoning_tokens, images FROM request`;
