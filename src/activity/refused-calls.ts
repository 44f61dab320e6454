import { createHash } from 'node:crypto';
import { sql, type Insertable, type Kysely, type Selectable } from 'kysely';
import type { Caller } from '../ledger/port.ts';
import type { Clock } from '../std/clock.ts';
import type { Log } from '../std/log.ts';
import type { RefusedCallTable, Schema } from '../store/schema.ts';
import type { Store } from '../store/store.ts';
import type { Reader } from './reader.ts';

/** A call that ended with an error which its caller can do something about. All texts are short. */
export interface RefusedCall {
  readonly caller: Caller;
  readonly requestId: string;
  readonly operation: string;
  readonly endpoint: string;
  readonly model: string;
  readonly client: string;
  readonly status: number;
  readonly reason: string;
  readonly param: string | undefined;
  readonly message: string | undefined;
}

export interface RefusedCallLimits {
  /** Different refusals that wait to be written, of all callers and of one. */
  readonly waiting: number;
  readonly waitingOfCaller: number;
  /** Rows that are kept, of all accounts and of one. */
  readonly rows: number;
  readonly rowsOfAccount: number;
  readonly keptMs: number;
}

export const REFUSED_CALL_LIMITS: RefusedCallLimits = {
  waiting: 1_000,
  waitingOfCaller: 20,
  rows: 50_000,
  rowsOfAccount: 500,
  keptMs: 7 * 86_400_000,
};

/** Calls that are refused alike within this time share a row. */
const TOGETHER_MS = 600_000;
/** Bindings of one statement, times the columns of a row, stay far below what a database takes. */
const ROWS_PER_WRITE = 200;
const DELETED_AT_ONCE = 1_000;

interface WaitingRefusal {
  last: RefusedCall;
  readonly firstAt: number;
  lastAt: number;
  calls: number;
}

interface WaitingOfCaller {
  readonly caller: Caller;
  readonly refusals: Map<string, WaitingRefusal>;
  leftOut: number;
}

/**
 * Keeps calls that were refused. A call leaves only its fields here; equal ones are counted together, and a periodic
 * task writes them. So an attack with a valid token costs a counter for each of its calls, and a bounded number of rows.
 */
export class RefusedCalls {
  readonly #store: Pick<Store, 'db'>;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #limits: RefusedCallLimits;
  #waiting = new Map<string, WaitingOfCaller>();
  #size = 0;
  #leftOut = 0;

  constructor(
    { store, clock, log }: { store: Pick<Store, 'db'>; clock: Clock; log: Log },
    limits: RefusedCallLimits = REFUSED_CALL_LIMITS,
  ) {
    this.#store = store;
    this.#clock = clock;
    this.#log = log;
    this.#limits = limits;
  }

  /** How many different refusals wait to be written. */
  get size(): number {
    return this.#size;
  }

  add(call: RefusedCall): void {
    const now = this.#clock.now();
    const own = this.#of(call.caller);
    if (!own) {
      this.#leftOut++;
      return;
    }
    const key = commonOf(call).join('\n');
    const known = own.refusals.get(key);
    if (known) {
      known.calls++;
      known.last = call;
      known.lastAt = now;
      return;
    }
    if (own.refusals.size >= this.#limits.waitingOfCaller || this.#size >= this.#limits.waiting) {
      own.leftOut++;
      return;
    }
    own.refusals.set(key, { last: call, firstAt: now, lastAt: now, calls: 1 });
    this.#size++;
  }

  #of(caller: Caller): WaitingOfCaller | undefined {
    const key = keyOf(caller);
    const known = this.#waiting.get(key);
    if (known || this.#size >= this.#limits.waiting) return known;
    const own = { caller, refusals: new Map<string, WaitingRefusal>(), leftOut: 0 };
    this.#waiting.set(key, own);
    return own;
  }

  /** Writes what waits. What comes meanwhile waits for the next time; what cannot be written is dropped. */
  async flush(): Promise<void> {
    if (this.#leftOut > 0) this.#log.warn('rejected_requests_left_out', { calls: this.#leftOut });
    this.#leftOut = 0;
    if (this.#waiting.size === 0) return;
    const waiting = [...this.#waiting.values()];
    this.#waiting = new Map();
    this.#size = 0;
    const accounts = await this.#accountsOf(waiting);
    const rows = waiting.flatMap((own) => rowsOf(own, accounts.get(keyOf(own.caller))));
    // In one order on all nodes, so that two that write the same rows wait for each other once and not both ways.
    rows.sort((a, b) =>
      a.account_id === b.account_id ? compare(a.id, b.id) : compare(a.account_id, b.account_id),
    );
    for (let from = 0; from < rows.length; from += ROWS_PER_WRITE)
      await this.#write(rows.slice(from, from + ROWS_PER_WRITE));
    for (const accountId of new Set(rows.map((row) => row.account_id))) await this.#trim(accountId);
  }

  /** Whose calls these are. A token that nobody has, or nobody has any more, is left out, and so is a closed account. */
  async #accountsOf(waiting: readonly WaitingOfCaller[]): Promise<Map<string, string>> {
    const found = new Map<string, string>();
    for (let from = 0; from < waiting.length; from += ROWS_PER_WRITE) {
      const callers = waiting.slice(from, from + ROWS_PER_WRITE).map(({ caller }) => caller);
      const rows = await this.#store.db
        .selectFrom('account')
        .select(['id', 'token_hash'])
        .where('status', '=', 'active')
        .where((where) =>
          where.or([where('token_hash', 'in', hashesOf(callers)), where('id', 'in', idsOf(callers))]),
        )
        .execute();
      for (const { id, token_hash } of rows) {
        found.set(id, id);
        if (token_hash !== null) found.set(token_hash, id);
      }
    }
    return found;
  }

  async #write(rows: readonly Insertable<RefusedCallTable>[]): Promise<void> {
    await this.#store.db
      .insertInto('refused_call')
      .values(rows)
      .onConflict((conflict) =>
        conflict.columns(['account_id', 'id']).doUpdateSet({
          last_at: (row) => row.ref('excluded.last_at'),
          request_id: (row) => row.ref('excluded.request_id'),
          message: (row) => row.ref('excluded.message'),
          calls: sql<number>`refused_call.calls + excluded.calls`,
          left_out: sql<number>`refused_call.left_out + excluded.left_out`,
        }),
      )
      .execute();
  }

  async #trim(accountId: string): Promise<void> {
    const { db } = this.#store;
    const oldest = await db
      .selectFrom('refused_call')
      .select(['last_at', 'id'])
      .where('account_id', '=', accountId)
      .orderBy('last_at', 'desc')
      .orderBy('id', 'desc')
      .offset(this.#limits.rowsOfAccount)
      .limit(1)
      .executeTakeFirst();
    if (!oldest) return;
    await db
      .deleteFrom('refused_call')
      .where('account_id', '=', accountId)
      .where(sql<boolean>`(last_at, id) <= (${oldest.last_at}, ${oldest.id})`)
      .execute();
  }

  /** Deletes what is too old, and the oldest of too many; a bounded number at a time. */
  async sweep(): Promise<number> {
    const { db } = this.#store;
    const beyond = await db
      .selectFrom('refused_call')
      .select('last_at')
      .orderBy('last_at', 'desc')
      .orderBy('id', 'desc')
      .offset(this.#limits.rows)
      .limit(1)
      .executeTakeFirst();
    const until = Math.max(this.#clock.now() - this.#limits.keptMs, beyond?.last_at ?? 0);
    const old = await db
      .selectFrom('refused_call')
      .select(['last_at', 'id'])
      .where('last_at', '<=', until)
      .orderBy('last_at')
      .orderBy('id')
      .limit(DELETED_AT_ONCE)
      .execute();
    const last = old.at(-1);
    if (last)
      await db
        .deleteFrom('refused_call')
        .where(sql<boolean>`(last_at, id) <= (${last.last_at}, ${last.id})`)
        .execute();
    return old.length;
  }
}

function keyOf(caller: Caller): string {
  return caller.kind === 'token' ? caller.hash : caller.id;
}

/** Never empty, because a list of a query may not be; nothing has an empty name. */
function hashesOf(callers: readonly Caller[]): string[] {
  return ['', ...callers.flatMap((caller) => (caller.kind === 'token' ? [caller.hash] : []))];
}

function idsOf(callers: readonly Caller[]): string[] {
  return ['', ...callers.flatMap((caller) => (caller.kind === 'account' ? [caller.id] : []))];
}

/** What calls that are refused alike have in common. The message is not part of it: it may name an amount. */
function commonOf(call: RefusedCall): string[] {
  const { operation, endpoint, model, client, status, reason, param = '' } = call;
  return [operation, endpoint, model, client, String(status), reason, param];
}

function rowsOf(own: WaitingOfCaller, accountId: string | undefined): Insertable<RefusedCallTable>[] {
  if (accountId === undefined) return [];
  return [...own.refusals.values()].map(({ last, firstAt, lastAt, calls }, index) => {
    const { requestId, operation, endpoint, model, client, status, reason, param, message } = last;
    return {
      account_id: accountId,
      id: rowId(last, firstAt),
      first_at: firstAt,
      last_at: lastAt,
      calls,
      left_out: index === 0 ? own.leftOut : 0,
      request_id: requestId,
      operation,
      endpoint,
      model,
      client,
      status,
      reason,
      param: param ?? null,
      message: message ?? null,
    };
  });
}

function rowId(call: RefusedCall, at: number): string {
  const common = JSON.stringify([Math.floor(at / TOGETHER_MS), ...commonOf(call)]);
  return createHash('sha256').update(common).digest('base64url').slice(0, 22);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

type Parts = { readonly db: Kysely<Schema>; readonly reader: Pick<Reader, 'all'> };

export type RefusedCallRow = Selectable<RefusedCallTable>;

interface RefusedCallSums {
  readonly reason: string;
  readonly calls: number;
  readonly leftOut: number;
}

/** Calls by reason, most frequent first, and how many have no row. The table is small enough to be read whole. */
export function refusedCallSums(
  { db, reader }: Parts,
  accountId: string | undefined,
): Promise<RefusedCallSums[]> {
  let query = db
    .selectFrom('refused_call')
    .select([
      'reason',
      sql<number>`CAST(sum(calls) AS BIGINT)`.as('calls'),
      sql<number>`CAST(sum(left_out) AS BIGINT)`.as('leftOut'),
    ])
    .groupBy('reason');
  if (accountId !== undefined) query = query.where('account_id', '=', accountId);
  return reader.all(query.orderBy('calls', 'desc').orderBy('reason'));
}
