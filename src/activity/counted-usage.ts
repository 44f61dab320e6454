import type { Store } from '../store/store.ts';
import { CompiledQuery } from 'kysely';
import { CACHED_WITH_EXTRA, CACHE_SAVING, cacheSaving } from '../ledger/cache-saving.ts';
import { isFailure } from '../ledger/decide.ts';
import { extraUsageOf, priceFromText } from '../ledger/price.ts';
import { DAY_MS, dayOf, QUARTER_MS } from '../std/calendar.ts';
import { requestIdAt } from '../std/ids.ts';
import { numbered, type SlowQuery } from '../store/background-thread.ts';
import { OUTCOME_CODES, RECEIPT_OUTCOMES } from '../store/receipt-codes.ts';
import { clientName } from './client-name.ts';
import { sumUsage, type UsageSums } from './usage.ts';

interface CountedQuarter extends UsageSums {
  readonly account_id: string;
  readonly quarter: number;
}

export interface CountedClient extends UsageSums {
  readonly account_id: string;
  readonly day: number;
  readonly client: string;
}

export interface CountedDay {
  readonly quarters: readonly CountedQuarter[];
  readonly clients: readonly CountedClient[];
}

/** A request gets its id on arrival and its day on admission, possibly by another node's clock. */
const SLACK_MS = 3_600_000;
/** A client may send a new name with each request; beyond this number, names are left out of the count. */
const MOST_AGENTS = 1_000;
export const MOST_CLIENTS = 50;
const TOGETHER = 2_000;

/** Adds up the receipts of the UTC day that begins at `start`, of one account or of all. */
export async function countDay(query: SlowQuery, start: number, accountId?: string): Promise<CountedDay> {
  const span = spanOf(start, accountId);
  const quarters = await query<CountedQuarter>(quarterSql(span), span.values);
  const agents = await query<Omit<CountedClient, 'day'>>(agentSql(span), span.values);
  const day = dayOf(start);
  const counted = {
    quarters: new Map(quarters.map((row) => [keyOf(row.account_id, row.quarter), row])),
    clients: new Map<string, CountedClient>(),
  };
  for (const row of agents) addClient(counted.clients, { ...row, day, client: clientName(row.client) });
  await addExtraSavings(query, span, counted);
  return {
    quarters: [...counted.quarters.values()],
    clients: largestClients([...counted.clients.values()]),
  };
}

interface Span {
  readonly where: string;
  readonly values: readonly (string | number)[];
}

function spanOf(start: number, accountId: string | undefined): Span {
  const end = start + DAY_MS;
  const where = 'r.id >= ? AND r.id < ? AND r.created_at >= ? AND r.created_at < ?';
  const values = [requestIdAt(start - SLACK_MS), requestIdAt(end + SLACK_MS), start, end];
  return accountId === undefined
    ? { where, values }
    : { where: `${where} AND r.account_id = ?`, values: [...values, accountId] };
}

const FAILED_CODES = RECEIPT_OUTCOMES.filter(isFailure).map((outcome) => OUTCOME_CODES[outcome]);
const whole = (sum: string): string => `CAST(${sum} AS BIGINT)`;
const SUMS = `${whole('COUNT(*)')} AS requests,
  ${whole(`SUM(CASE WHEN r.outcome IN (${FAILED_CODES.join(', ')}) THEN 1 ELSE 0 END)`)} AS failures,
  ${['input_tokens', 'cached_tokens', 'output_tokens', 'reasoning_tokens', 'images', 'charged']
    .map((column) => `${whole(`SUM(r.${column})`)} AS ${column}`)
    .join(', ')},
  ${whole(`SUM(${CACHE_SAVING})`)} AS saved`;
const RECEIPTS = 'receipt r JOIN price p ON p.id = r.price';
const QUARTER = whole(`r.created_at / ${QUARTER_MS}`);

function quarterSql({ where }: Span): string {
  return `SELECT r.account_id, ${QUARTER} AS quarter, ${SUMS} FROM ${RECEIPTS} WHERE ${where} GROUP BY 1, 2`;
}

function agentSql({ where }: Span): string {
  const columns =
    'account_id, client, requests, failures, input_tokens, cached_tokens, output_tokens, reasoning_tokens, images, charged, saved';
  return `SELECT ${columns} FROM (
      SELECT s.*, ROW_NUMBER() OVER (PARTITION BY s.account_id ORDER BY s.requests DESC, s.client) AS place FROM (
        SELECT r.account_id, r.client, ${SUMS} FROM ${RECEIPTS} WHERE ${where} GROUP BY 1, 2) AS s) AS t
    WHERE t.place <= ${MOST_AGENTS}`;
}

interface ExtraRow {
  readonly id: string;
  readonly account_id: string;
  readonly created_at: number;
  readonly client: string;
  readonly input: number;
  readonly cached: number;
  readonly output: number;
  readonly reasoning: number;
  readonly images: number;
  readonly extra: string | null;
  readonly price: string;
}

interface Counting {
  readonly quarters: Map<string, CountedQuarter>;
  readonly clients: Map<string, CountedClient>;
}

/** Adds, receipt by receipt, what SQL cannot compute. */
async function addExtraSavings(query: SlowQuery, span: Span, counting: Counting): Promise<void> {
  for (let after = ''; ;) {
    const rows = await query<ExtraRow>(extraSql(span), [...span.values, after]);
    for (const row of rows) addSaving(counting, row);
    const last = rows.at(-1);
    if (!last || rows.length < TOGETHER) return;
    after = last.id;
  }
}

function extraSql({ where }: Span): string {
  return `SELECT r.id, r.account_id, r.created_at, r.client, r.input_tokens AS input,
      r.cached_tokens AS cached, r.output_tokens AS output, r.reasoning_tokens AS reasoning, r.images, r.extra,
      p.value AS price
    FROM ${RECEIPTS} WHERE ${where} AND r.id > ? AND ${CACHED_WITH_EXTRA} ORDER BY r.id LIMIT ${TOGETHER}`;
}

function addSaving({ quarters, clients }: Counting, row: ExtraRow): void {
  const { account_id, extra, ...used } = row;
  const saved = cacheSaving(priceFromText(row.price), { ...used, ...extraUsageOf(extra) });
  const add = <Row extends { readonly saved: number }>(rows: Map<string, Row>, key: string): void => {
    const sums = rows.get(key);
    if (sums) rows.set(key, { ...sums, saved: sums.saved + saved });
  };
  add(quarters, keyOf(account_id, Math.floor(row.created_at / QUARTER_MS)));
  add(clients, keyOf(account_id, clientName(row.client)));
}

function addClient(clients: Map<string, CountedClient>, row: CountedClient): void {
  const key = keyOf(row.account_id, row.client);
  const sums = clients.get(key);
  clients.set(key, sums ? { ...row, ...sumUsage([sums, row]) } : row);
}

function largestClients(clients: readonly CountedClient[]): CountedClient[] {
  return [...Map.groupBy(clients, (row) => row.account_id).values()].flatMap((own) =>
    own.toSorted((a, b) => b.requests - a.requests || (a.client < b.client ? -1 : 1)).slice(0, MOST_CLIENTS),
  );
}

function keyOf(...parts: readonly (string | number)[]): string {
  return JSON.stringify(parts);
}

const ROWS_TOGETHER = 500;

interface CountedTable<Row> {
  readonly name: string;
  /** All columns, those of the key first. */
  readonly columns: readonly (keyof Row & string)[];
  readonly keys: number;
  readonly rows: readonly Row[];
}

/** Writes the rows that count more than `written` says, and remembers them there. */
export async function writeGrown<Row extends { readonly requests: number }>(
  { db, backend }: Store,
  { name, columns, keys, rows }: CountedTable<Row>,
  written: Map<string, number>,
): Promise<void> {
  const idOf = (row: Row): string =>
    JSON.stringify([name, ...columns.slice(0, keys).map((column) => row[column])]);
  const grown = rows.filter((row) => row.requests > (written.get(idOf(row)) ?? 0));
  for (let at = 0; at < grown.length; at += ROWS_TOGETHER) {
    const some = grown.slice(at, at + ROWS_TOGETHER);
    const text = upsertSql(name, columns, { keys, rows: some.length });
    const values = some.flatMap((row) => columns.map((column) => row[column]));
    // As text: building so many values one by one would take longer than writing them.
    await db.executeQuery(CompiledQuery.raw(backend.kind === 'sqlite' ? text : numbered(text), values));
    for (const row of some) written.set(idOf(row), row.requests);
  }
}

function upsertSql(
  table: string,
  columns: readonly string[],
  { keys, rows }: { readonly keys: number; readonly rows: number },
): string {
  const row = `(${columns.map(() => '?').join(', ')})`;
  const changes = columns.slice(keys).map((column) => `${column} = excluded.${column}`);
  return `INSERT INTO ${table} (${columns.join(', ')}) VALUES ${Array.from({ length: rows }, () => row).join(', ')}
    ON CONFLICT (${columns.slice(0, keys).join(', ')}) DO UPDATE SET ${changes.join(', ')}
    WHERE excluded.requests > ${table}.requests OR ${table}.saved IS NULL`;
}
