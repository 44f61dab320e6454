import { Pool, type QueryConfig } from 'pg';
import { monthOf } from '../../std/calendar.ts';
import { nanoUsd } from '../../std/money.ts';
import type { PostgresAddress } from '../../store/postgres-address.ts';
import { INTEGERS_AS_NUMBERS } from '../../store/postgres-pool.ts';
import type { AccountRow } from '../../store/schema.ts';
import { storedFunction } from '../../store/stored-functions.ts';
import { availableOf, rateState } from '../decide.ts';
import { LedgerAccount } from '../decide.ts';
import { snapshotOf } from '../account-snapshot.ts';
import type { AccountSnapshot, Admission, AdmissionRequest, Breach, Caller, Verification } from '../port.ts';
import {
  COUNTS,
  FROM_THE_FIRST,
  FULL_CHECKS,
  NEWEST_RECEIPT,
  QUICK_CHECKS,
  recentDays,
  type InvariantCheck,
} from '../verify-checks.ts';
import { extraChargeBreaches } from '../verify-extra.ts';
import { textArray } from './batch.ts';
import { LOOK_UP_BY_KEY } from './sql-fragments.ts';
import type { LedgerPool, Statement } from './pool.ts';

/** The ledger's queries that change nothing. */
export class LedgerQueries {
  readonly #ledgerPool: LedgerPool;
  readonly #offsetMs: () => number;
  readonly #checkPool: Pool;
  readonly #pooled: boolean;

  constructor(session: LedgerPool, { url, pooled = false }: PostgresAddress, offsetMs: () => number) {
    this.#pooled = pooled;
    this.#ledgerPool = session;
    this.#offsetMs = offsetMs;
    // A full check takes long, and must neither wait for requests nor delay them.
    this.#checkPool = new Pool({
      connectionString: url,
      max: 1,
      connectionTimeoutMillis: 2_000,
      ...(pooled ? {} : { statement_timeout: VERIFY_TIMEOUT_MS }),
      query_timeout: VERIFY_TIMEOUT_MS,
      idleTimeoutMillis: 10_000,
      application_name: 'tollgate verify',
      types: INTEGERS_AS_NUMBERS,
    });
    this.#checkPool.on('error', () => undefined);
    this.#checkPool.on('connect', (client) => client.on('error', () => undefined));
  }

  /** The accounts of these callers, in their order. */
  async snapshots(callers: readonly Caller[]): Promise<(AccountSnapshot | undefined)[]> {
    const hashes = callers.map((caller) => (caller.kind === 'token' ? caller.hash : null));
    const ids = callers.map((caller) => (caller.kind === 'account' ? caller.id : null));
    const rows = await this.#ledgerPool.call<CallerRow>(IDENTIFY, [textArray(hashes), textArray(ids)]);
    const byPlace = new Map(rows.map((row) => [row.place, row]));
    return callers.map((caller, index) => {
      const row = byPlace.get(index + 1);
      if (!row) return undefined;
      const now = row.now_ms + this.#offsetMs();
      return snapshotOf(this.#account(row, now), caller, now);
    });
  }

  /**
   * What became of admissions whose answer was lost: the holds that are there were admitted. A missing one was
   * refused, undone, or is yet to be committed; nobody can tell.
   */
  async found(requests: readonly AdmissionRequest[]): Promise<(Admission | undefined)[]> {
    const rows = await this.#ledgerPool.call<HoldRow>(LOOK_UP, [
      textArray(requests.map((request) => request.requestId)),
    ]);
    const byId = new Map(rows.map((row) => [row.request_id, row]));
    return requests.map((request) => {
      const row = byId.get(request.requestId);
      return row && this.#admission(request, row);
    });
  }

  async verify(full: boolean, oldestMs: number): Promise<Verification> {
    const offsetMs = Math.round(this.#offsetMs());
    const { rows: newest } = await this.#checkPool.query<NewestRow>(this.#bound(NEWEST, [offsetMs]));
    const { id = null, now_ms: now = 0 } = newest[0] ?? {};
    const { fromId, fromMs, fromDay } = full ? FROM_THE_FIRST : recentDays(id, now);
    // A full check names no day.
    const values = full ? [offsetMs, fromId, oldestMs] : [offsetMs, fromId, oldestMs, fromMs, fromDay];
    const { rows: breaches } = await this.#checkPool.query<Breach>(this.#bound(full ? FULL : QUICK, values));
    const extra = await extraChargeBreaches(
      async <R>(sql: string) => (await this.#checkPool.query(sql)).rows as R[],
      fromId,
    );
    const { rows: counts } = await this.#checkPool.query<Verification['checked']>(this.#bound(COUNT_ALL, []));
    return {
      checked: counts[0] ?? { accounts: 0, entries: 0, requests: 0 },
      breaches: [...breaches, ...extra],
    };
  }

  /** Runs beside requests, like the check; a parameter is written `?`. */
  async read<Row extends object>(text: string, values: readonly (string | number)[]): Promise<Row[]> {
    let place = 0;
    const numbered = text.replaceAll('?', () => `$${++place}`);
    return (await this.#checkPool.query<Row>(numbered, [...values])).rows;
  }

  /** The store's clock. */
  async now(): Promise<number> {
    const [row] = await this.read<{ now_ms: number }>(`SELECT ${NOW_MS} AS now_ms`, []);
    return (row?.now_ms ?? 0) + Math.round(this.#offsetMs());
  }

  async close(): Promise<void> {
    await this.#checkPool.end();
  }

  /** A prepared statement stays on its connection, which a pooler passes on to others. */
  #bound({ name, text }: Statement, values: readonly unknown[]): QueryConfig {
    return this.#pooled ? { text, values: [...values] } : { name, text, values: [...values] };
  }

  #account({ account, wallet }: AccountRows, now: number): LedgerAccount {
    const month = monthOf(now);
    return new LedgerAccount(account, month, wallet ? new LedgerAccount(wallet, month) : undefined);
  }

  #admission(request: AdmissionRequest, row: HoldRow): Admission {
    const now = row.now_ms + this.#offsetMs();
    const account = this.#account(row, now);
    account.budget?.enter(now);
    const { perMinute, arrivalUs } = account.stateFor(request);
    return {
      kind: 'admitted',
      accountId: account.id,
      walletId: account.isTeams ? account.wallet.id : undefined,
      held: nanoUsd(row.hold),
      output: row.output_cap,
      rate: rateState(perMinute, arrivalUs, now * 1000),
      available: availableOf(account.money),
      budgetLeft: account.budget?.left,
    };
  }
}

const VERIFY_TIMEOUT_MS = 600_000;

/** One statement, so that all checks see the books at the same moment; prepared, since planning it takes a while. */
function together(name: string, checks: readonly InvariantCheck[]): Statement {
  const each = checks.map(({ invariant, sql }) => {
    const named = invariant === undefined ? 'invariant' : `'${invariant}' AS invariant`;
    return `SELECT ${named}, subject, detail FROM (${sql}) AS found`;
  });
  const text = each
    .join(' UNION ALL ')
    .replaceAll(':now', `(${NOW_MS} + $1::bigint)`)
    .replaceAll(':fromId', '$2::text')
    .replaceAll(':oldest', '$3::bigint')
    .replaceAll(':fromMs', '$4::bigint')
    .replaceAll(':fromDay', '$5::bigint');
  return { name, text };
}

/** In milliseconds, by the database's clock. */
export const NOW_MS = `(extract(epoch FROM clock_timestamp()) * 1000)::bigint`;

/** The team that pays for an account `a`, if one does. */
const WALLET = `CASE WHEN a.wallet_id IS NOT NULL THEN (SELECT to_json(w) FROM account w WHERE w.id = a.wallet_id) END`;

/**
 * The accounts of these callers, by their place. The account comes as JSON: a newer version may add a column to it
 * while this one runs, and a prepared statement whose columns change fails on every connection that has it.
 */
export const LEDGER_IDENTIFY = storedFunction(`
CREATE FUNCTION ledger_identify(c_hash text[], c_account text[])
RETURNS TABLE (place bigint, now_ms bigint, account json, wallet json) LANGUAGE plpgsql ${LOOK_UP_BY_KEY} AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY SELECT c.place, ${NOW_MS}, to_json(a), ${WALLET}
    FROM unnest(c_hash, c_account) WITH ORDINALITY AS c (hash, account, place)
    JOIN account a ON a.id = coalesce(c.account, (SELECT t.id FROM account t WHERE t.token_hash = c.hash));
END $$`);

/** The holds of these requests that exist, with their accounts as above. */
export const LEDGER_LOOK_UP = storedFunction(`
CREATE FUNCTION ledger_look_up(q_id text[])
RETURNS TABLE (request_id text, hold bigint, output_cap integer, now_ms bigint, account json, wallet json)
LANGUAGE plpgsql ${LOOK_UP_BY_KEY} AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY SELECT r.id, r.held, r.output_cap, ${NOW_MS}, to_json(a), ${WALLET}
    FROM hold r JOIN account a ON a.id = r.account_id
    WHERE r.id = ANY (q_id);
END $$`);

const QUICK = together('ledger_verify_quick', QUICK_CHECKS);
const FULL = together('ledger_verify_full', FULL_CHECKS);
const NEWEST: Statement = {
  name: 'ledger_newest',
  text: `SELECT (${NEWEST_RECEIPT}) AS id, ${NOW_MS} + $1::bigint AS now_ms`,
};
const COUNT_ALL: Statement = { name: 'ledger_count', text: COUNTS };

const IDENTIFY: Statement = {
  name: LEDGER_IDENTIFY.name,
  text: `SELECT * FROM ${LEDGER_IDENTIFY.name}($1, $2)`,
};

const LOOK_UP: Statement = {
  name: LEDGER_LOOK_UP.name,
  text: `SELECT * FROM ${LEDGER_LOOK_UP.name}($1)`,
};

interface NewestRow {
  readonly id: string | null;
  readonly now_ms: number;
}

interface AccountRows {
  readonly account: AccountRow;
  readonly wallet: AccountRow | null;
}

interface CallerRow extends AccountRows {
  readonly place: number;
  readonly now_ms: number;
}

interface HoldRow extends AccountRows {
  readonly request_id: string;
  readonly hold: number;
  readonly output_cap: number;
  readonly now_ms: number;
}
