import { EXTRA_USAGE_ROWS } from '../std/price-dimensions.ts';
import { STATE_CODES } from '../store/receipt-codes.ts';
import { costOf } from './price.ts';
import type { Breach } from './port.ts';
import { NO_USAGE, priceFromText } from './price.ts';
import { extraUsageOf, isUsage } from './price.ts';

/**
 * Whether SQL cannot compute what the receipt `r` costs, because its price or its usage has an `extra`; then the program
 * does. Prices are texts that the ledger wrote, and few.
 */
export const HAS_EXTRA = `r.extra IS NOT NULL OR r.price IN (SELECT id FROM price WHERE value LIKE '%"extra":%')`;

const BATCH = 500;
const MOST = 100;

interface ChargedRow {
  readonly id: string;
  readonly state: number;
  readonly held: number;
  readonly charged: number;
  readonly overrun: number;
  readonly input_tokens: number;
  readonly cached_tokens: number;
  readonly output_tokens: number;
  readonly reasoning_tokens: number;
  readonly images: number;
  readonly extra: string | null;
  readonly price: string;
}

/** Computes again what was charged for the receipts that SQL leaves out, from the first of these ids on, batch by batch. */
export async function extraChargeBreaches(
  query: <R>(sql: string) => Promise<R[]>,
  fromId: string,
): Promise<Breach[]> {
  const breaches: Breach[] = [];
  for (let after = fromId, comparison = '>='; ; comparison = '>') {
    const rows = await query<ChargedRow>(batchSql(after, comparison));
    for (const row of rows) breaches.push(...breachesOf(row));
    const last = rows.at(-1);
    if (!last || rows.length < BATCH || breaches.length >= MOST) return breaches.slice(0, MOST);
    after = last.id;
  }
}

function batchSql(after: string, comparison: string): string {
  return `SELECT r.id, r.state, r.held, r.charged, r.overrun, r.input_tokens, r.cached_tokens, r.output_tokens,
      r.reasoning_tokens, r.images, r.extra, p.value AS price
    FROM receipt r JOIN price p ON p.id = r.price
    WHERE r.id ${comparison} '${after.replaceAll("'", "''")}' AND (${HAS_EXTRA}) ORDER BY r.id LIMIT ${BATCH}`;
}

function breachesOf(row: ChargedRow): Breach[] {
  const cost = row.state === STATE_CODES.void ? 0 : costAgain(row);
  const charged = cost === undefined ? undefined : Math.min(cost, row.held);
  if (cost !== undefined && row.charged === charged && row.overrun <= Math.max(0, cost - row.held)) return [];
  const detail = `charged ${row.charged} of a hold of ${row.held}, overrun ${row.overrun}, price × usage ${cost ?? 'unknown'}`;
  return [{ invariant: 'I4', subject: row.id, detail }];
}

/** Every usage that the table of dimensions names; others have no price. */
const USAGE_NAMES: ReadonlySet<string> = new Set([
  ...EXTRA_USAGE_ROWS.map(({ used }) => used),
  'serviceTier',
  'quality',
]);

function costAgain(row: ChargedRow): number | undefined {
  try {
    const usage = {
      ...NO_USAGE,
      input: row.input_tokens,
      cached: row.cached_tokens,
      output: row.output_tokens,
      reasoning: row.reasoning_tokens,
      images: row.images,
      ...extraUsageOf(row.extra),
    };
    const names = Object.keys(usage.extra ?? {});
    return names.every((name) => USAGE_NAMES.has(name)) && isUsage(usage)
      ? costOf(priceFromText(row.price), usage)
      : undefined;
  } catch {
    // Not what the ledger writes: a breach.
    return undefined;
  }
}
