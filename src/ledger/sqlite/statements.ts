import type { Database } from 'bun:sqlite';
import type { Selectable } from 'kysely';
import { DURATION_COLUMNS } from '../../store/receipt-codes.ts';
import type { AccountId } from '../../std/ids.ts';
import { BUDGET_SO_FAR } from '../budget.ts';
import { isAdoptable } from '../lease.ts';
import { MOST_FOLLOWED, type Moved } from '../money-trail.ts';
import type { AccountRow, HoldTable, ReceiptTable } from '../../store/schema.ts';

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
    updateAccount: prepareWrite(
      database,
      `UPDATE account SET balance = ?, held = ?, owed = ?, open_holds = ?, chat_arrival_us = ?, images_arrival_us = ?,
        month = ?, month_spent = ?, token_used_at = ? WHERE id = ?`,
    ),
    updateSpender: prepareWrite(
      database,
      `UPDATE account SET team_held = ?, budget_from = ?, budget_from_day = ?, budget_used = ?, budget_held = ?
       WHERE id = ?`,
    ),
    insertHold: prepareWrite(
      database,
      `INSERT INTO hold (id, account_id, held, lease_until, created_at, node, price, route, input_ceiling, output_cap,
        choices, stream, client)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    hold: database.prepare<HoldRow, [string]>(`${SELECT_HOLD} WHERE h.id = ?`),
    overdue: database.prepare<HoldRow, [number, number]>(
      `${SELECT_HOLD} WHERE h.lease_until < ?1 AND NOT ${isAdoptable('?1')} ORDER BY h.lease_until LIMIT ?2`,
    ),
    orphans: database.prepare<HoldRow, [string, number, number]>(
      `${SELECT_HOLD} WHERE ${OF_OTHERS} AND NOT ${isAdoptable('?2')} ORDER BY h.lease_until LIMIT ?3`,
    ),
    giveUpOrphans: database.prepare<void, [string, number]>(
      `UPDATE hold AS h SET lease_until = min(lease_until, ?2) WHERE ${OF_OTHERS} AND ${isAdoptable('?2')}`,
    ),
    adoptHold: database.prepare<void, [string, number, number, number]>(
      'UPDATE hold SET lease_until = ?3, node = ?4 WHERE id = ?1 AND lease_until <= ?2',
    ),
    deleteHold: database.prepare<void, [string]>('DELETE FROM hold WHERE id = ?'),
    insertReceipt: prepareWrite(
      database,
      `INSERT INTO receipt (id, account_id, held, charged, overrun, created_at, booked_at, node, price, route, backend,
        input_tokens, cached_tokens, output_tokens, reasoning_tokens, images, output_cap, choices, first_byte_ms,
        duration_ms, state, outcome, source, stream, late, client, detail, extra, cost, possible_cost)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    receipt: database.prepare<ReceiptRow, [string]>(
      'SELECT id, account_id, state, charged, held, overrun FROM receipt WHERE id = ?',
    ),
    highestReceipt: database.prepare<{ id: string | null }, []>('SELECT max(id) AS id FROM receipt'),
    renewLease: database.prepare<void, [number, string]>('UPDATE hold SET lease_until = ? WHERE id = ?'),
    writeProgress: database.prepare<void, Values>(
      `UPDATE hold SET input_tokens = ?, cached_tokens = ?, output_tokens = ?, reasoning_tokens = ?, images = ?,
        extra = ? WHERE id = ?`,
    ),
    ...preparePosting(database),
    ...prepareNumbers(database),
    ...prepareSums(database),
    ...prepareArchive(database),
  };
}

function preparePosting(database: Database) {
  return {
    insertEntry: database.prepare<void, Values>(
      `INSERT INTO entry (account_id, kind, amount, request_id, once, cause, actor, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    entryByOnce: database.prepare<{ id: number; amount: number; created_at: number }, [string]>(
      'SELECT id, amount, created_at FROM entry WHERE once = ?',
    ),
    insertMove: database.prepare<void, Values>(
      'INSERT INTO wallet_move (id, from_id, to_id, amount, created_at) VALUES (?, ?, ?, ?, ?)',
    ),
    setBudget: database.prepare<void, Values>(
      'UPDATE account SET budget = ?, budget_per = ?, budget_from = ?, budget_from_day = ? WHERE id = ?',
    ),
    countBudget: database.prepare<void, [string]>(`UPDATE account AS a SET ${BUDGET_SO_FAR} WHERE a.id = ?`),
    ...prepareReclaim(database),
    redeemableCode: database.prepare<{ amount: number; batch: string }, [string, number]>(
      `SELECT amount, batch FROM redeem_code
       WHERE code_hash = ? AND redeemed_by IS NULL AND (expires_at IS NULL OR expires_at > ?)`,
    ),
    markRedeemed: database.prepare<void, [string, number, string]>(
      'UPDATE redeem_code SET redeemed_by = ?, redeemed_at = ? WHERE code_hash = ?',
    ),
  };
}

function prepareReclaim(database: Database) {
  return {
    reached: database.prepare<{ id: AccountId }, [string, number]>(
      `WITH RECURSIVE reached (id) AS (SELECT ?1 UNION SELECT m.to_id FROM reached r
        JOIN wallet_move m ON m.from_id = r.id AND m.created_at >= ?2 LIMIT ${MOST_FOLLOWED}) SELECT id FROM reached`,
    ),
    movedAmong: database.prepare<Moved, [string, number]>(
      `SELECT from_id AS fromId, to_id AS toId, sum(amount) AS amount FROM wallet_move
        WHERE from_id IN (SELECT value FROM json_each(?1)) AND created_at >= ?2 GROUP BY from_id, to_id`,
    ),
    collectedAmong: database.prepare<Moved, [string, string, number]>(
      `SELECT from_id AS fromId, to_id AS toId, sum(amount) AS amount FROM wallet_move
        WHERE to_id IN (SELECT value FROM json_each(?1)) AND substr(id, 1, ?3) = ?2
        GROUP BY from_id, to_id`,
    ),
    debt: database.prepare<{ once: string; accountId: AccountId; owed: number; returned: number }, [string]>(
      'SELECT once, account_id AS accountId, owed, returned FROM debt WHERE once = ?',
    ),
    insertDebt: database.prepare<void, [string, string, number, number]>(
      'INSERT INTO debt (once, account_id, owed, created_at) VALUES (?, ?, ?, ?)',
    ),
    endDebt: database.prepare<void, [number, string]>(
      'UPDATE debt SET owed = 0, returned = ?1 WHERE once = ?2 AND owed > 0',
    ),
  };
}

function prepareNumbers(database: Database) {
  return {
    findPrice: database.prepare<Numbered, [string]>('SELECT id FROM price WHERE value = ?'),
    addPrice: database.prepare<Numbered, Values>(
      'INSERT INTO price (value, input, cached_input, output, image) VALUES (?, ?, ?, ?, ?) RETURNING id',
    ),
    findRoute: database.prepare<Numbered, [string, string, string]>(
      'SELECT id FROM route WHERE endpoint = ? AND model = ? AND kind = ?',
    ),
    addRoute: database.prepare<Numbered, Values>(
      'INSERT INTO route (kind, endpoint, model) VALUES (?, ?, ?) RETURNING id',
    ),
    findBackend: database.prepare<Numbered, [string]>('SELECT id FROM backend WHERE name = ?'),
    addBackend: database.prepare<Numbered, [string]>('INSERT INTO backend (name) VALUES (?) RETURNING id'),
    findNode: database.prepare<Numbered, [string]>('SELECT id FROM node WHERE name = ?'),
    addNode: database.prepare<Numbered, [string]>('INSERT INTO node (name) VALUES (?) RETURNING id'),
  };
}

function prepareSums(database: Database) {
  return {
    addBackendDay: prepareWrite(
      database,
      `INSERT INTO backend_day (day, backend, model, requests, failures, charged, ${COST_SUMS.join(', ')},
        ${DURATION_COLUMNS.join(', ')})
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ${DURATION_COLUMNS.map(() => '?').join(', ')})
       ON CONFLICT (day, backend, model) DO UPDATE SET
        requests = requests + excluded.requests, failures = failures + excluded.failures,
        charged = charged + excluded.charged,
        ${[...COST_SUMS, ...DURATION_COLUMNS].map(added).join(', ')}`,
    ),
    addUsage: prepareWrite(
      database,
      `INSERT INTO usage_day (account_id, day, endpoint, model, requests, failures, input_tokens, cached_tokens,
        output_tokens, reasoning_tokens, images, charged, ${COST_SUMS.join(', ')}, saved)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (account_id, day, endpoint, model) DO UPDATE SET
        requests = requests + excluded.requests, failures = failures + excluded.failures,
        input_tokens = input_tokens + excluded.input_tokens, cached_tokens = cached_tokens + excluded.cached_tokens,
        output_tokens = output_tokens + excluded.output_tokens,
        reasoning_tokens = reasoning_tokens + excluded.reasoning_tokens,
        images = images + excluded.images, charged = charged + excluded.charged,
        ${[...COST_SUMS, 'saved'].map(added).join(', ')}`,
    ),
  };
}

const COST_SUMS = ['cost', 'possible_cost', 'costed'] as const;

function added(column: string): string {
  return `${column} = ${column} + excluded.${column}`;
}

function prepareArchive(database: Database) {
  return {
    archivedDay: database.prepare<
      { requests: number; charged: number; entry_id: number | null },
      [string, number]
    >('SELECT requests, charged, entry_id FROM archived_day WHERE account_id = ? AND day = ?'),
    openArchivedDay: database.prepare<void, [string, number]>(
      'INSERT INTO archived_day (account_id, day) VALUES (?, ?)',
    ),
    closeArchivedDay: database.prepare<void, [number, string, number]>(
      'UPDATE archived_day SET entry_id = ? WHERE account_id = ? AND day = ?',
    ),
    holdOfDay: database.prepare<{ found: number }, [string, number, number]>(
      'SELECT 1 AS found FROM hold WHERE account_id = ? AND created_at >= ? AND created_at < ? LIMIT 1',
    ),
    deleteReceipt: database.prepare<void, [string, string, number, number]>(
      'DELETE FROM receipt WHERE id = ? AND account_id = ? AND created_at >= ? AND created_at < ?',
    ),
    deleteTags: database.prepare<void, [string, string]>(
      'DELETE FROM request_tag WHERE wallet_id = ? AND request_id = ?',
    ),
    daySums: database.prepare<{ requests: number; charged: number }, [string, number]>(
      `SELECT coalesce(sum(requests), 0) AS requests, coalesce(sum(charged), 0) AS charged FROM usage_day
       WHERE account_id = ? AND day = ?`,
    ),
  };
}

/** Holds of all processes except the named one. */
const OF_OTHERS = 'h.node IS NOT (SELECT id FROM node WHERE name = ?1)';

type Values = (string | number | null)[];

/**
 * A statement that requests run all the time, and that tells nothing. The runtime's `run` makes an array of its arguments, and
 * an object of what has changed; `get` takes an array, here one for all calls, and makes nothing.
 */
interface Write {
  /** In the order of the question marks. All are set before each call. */
  readonly values: Values;
  get(values: Values): unknown;
  finalize(): void;
}

function prepareWrite(database: Database, sql: string): Write {
  // That an array may take the place of the arguments is not in the types.
  return Object.assign(database.prepare<unknown, never[]>(sql), { values: [] });
}

interface Numbered {
  id: number;
}

/** A hold with what its numbers stand for. */
export interface HoldRow extends Omit<Selectable<HoldTable>, 'lease_until' | 'input_ceiling' | 'owed'> {
  readonly price_text: string;
  readonly endpoint: string;
  readonly model: string;
}

export type ReceiptRow = Pick<
  Selectable<ReceiptTable>,
  'id' | 'account_id' | 'state' | 'charged' | 'held' | 'overrun'
>;

const SELECT_ACCOUNT = `SELECT id, email, role, status, balance, held, owed, open_holds, chat_arrival_us, images_arrival_us,
  chat_per_minute, images_per_minute, concurrent, monthly_limit, month, month_spent, token_used_at,
  kind, name, wallet_id, team_role, ended_at, team_held, budget, budget_per, budget_from, budget_from_day, budget_used,
  budget_held, token_models, token_networks, token_expires_at, price_group FROM account`;

const SELECT_HOLD = `SELECT h.id, h.account_id, h.held, h.created_at, h.node, h.price, h.route, h.output_cap, h.choices,
  h.stream, h.client, h.input_tokens, h.cached_tokens, h.output_tokens, h.reasoning_tokens, h.images, h.extra,
  p.value AS price_text, o.endpoint, o.model
  FROM hold h JOIN price p ON p.id = h.price JOIN route o ON o.id = h.route`;
