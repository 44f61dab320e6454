import type { Kysely } from 'kysely';
import { attemptsOf } from '../ledger/receipt.ts';
import { requestIdAt } from '../std/ids.ts';
import { RECEIPT_OUTCOMES } from '../store/receipt-codes.ts';
import type { Schema } from '../store/schema.ts';
import type { Reader } from './reader.ts';

/** How a backend answered the requests of a sample. */
interface BackendLatency {
  /** Attempts that reached it, and those of them that failed. */
  readonly calls: number;
  readonly failures: number;
  /** Over the completed requests; `undefined`: there are none. */
  readonly firstByteMs: Percentiles | undefined;
  readonly durationMs: Percentiles | undefined;
  /** Requests of the last hour that it was called for, as far as the sample goes. */
  readonly lastHour: number;
  /** The newest attempt that failed: when its request came, and why. */
  readonly lastFailure: { readonly at: number; readonly reason: string } | undefined;
}

interface Percentiles {
  readonly p50: number;
  readonly p95: number;
}

export interface LatencySample {
  readonly requests: number;
  /** The oldest request that was looked at; `undefined`: there is none. */
  readonly since: number | undefined;
  /** There were more requests in the day than were looked at. */
  readonly isCut: boolean;
  readonly backends: ReadonlyMap<string, BackendLatency>;
}

const HOUR_MS = 3_600_000;
const SAMPLE_MS = 24 * HOUR_MS;
const SAMPLE_REQUESTS = 3_000;
/** The reason of an attempt that was served and then broke off. */
const BROKE_OFF = 'broke_off';

/** Of the newest requests of a day: as many as can be read at once, however busy the day was. */
export async function backendLatencies(
  { db, reader }: { readonly db: Kysely<Schema>; readonly reader: Reader },
  now: number,
): Promise<LatencySample> {
  const rows = await reader.all(
    db
      .selectFrom('closed_request')
      .select(['created_at', 'upstream', 'outcome_code', 'first_byte_ms', 'duration_ms', 'attempts'])
      .where('id', '>=', requestIdAt(now - SAMPLE_MS))
      .orderBy('id', 'desc')
      .limit(SAMPLE_REQUESTS),
  );
  const counted = new Map<string, Counted>();
  for (const row of rows) count(row, counted, now - HOUR_MS);
  return {
    requests: rows.length,
    since: rows.at(-1)?.created_at,
    isCut: rows.length === SAMPLE_REQUESTS,
    backends: new Map([...counted].map(([name, of]) => [name, latencyOf(of)])),
  };
}

interface SampledRequest {
  readonly created_at: number;
  readonly upstream: string | null;
  readonly outcome_code: number | null;
  readonly first_byte_ms: number | null;
  readonly duration_ms: number | null;
  readonly attempts: string | null;
}

interface Counted {
  calls: number;
  failures: number;
  lastHour: number;
  lastFailure: BackendLatency['lastFailure'];
  readonly firstBytes: number[];
  readonly durations: number[];
}

/** Newest first. */
function count(row: SampledRequest, counted: Map<string, Counted>, hourAgo: number): void {
  const outcome = RECEIPT_OUTCOMES[(row.outcome_code ?? 0) - 1];
  const called = new Set<string>();
  for (const { upstream, result, reason } of attemptsOf(row)) {
    if (result === 'skipped') continue;
    const backend = backendOf(counted, upstream);
    backend.calls++;
    if (row.created_at >= hourAgo && !called.has(upstream)) backend.lastHour++;
    called.add(upstream);
    // An answer that broke off was served until then.
    if (result === 'failed' || outcome === 'upstream_failed') {
      backend.failures++;
      backend.lastFailure ??= { at: row.created_at, reason: reason ?? BROKE_OFF };
    } else if (outcome === 'completed') {
      if (row.first_byte_ms !== null) backend.firstBytes.push(row.first_byte_ms);
      if (row.duration_ms !== null) backend.durations.push(row.duration_ms);
    }
  }
}

function backendOf(counted: Map<string, Counted>, name: string): Counted {
  const known = counted.get(name);
  if (known) return known;
  const made = { calls: 0, failures: 0, lastHour: 0, lastFailure: undefined, firstBytes: [], durations: [] };
  counted.set(name, made);
  return made;
}

function latencyOf({ firstBytes, durations, ...counts }: Counted): BackendLatency {
  return { ...counts, firstByteMs: percentiles(firstBytes), durationMs: percentiles(durations) };
}

function percentiles(values: readonly number[]): Percentiles | undefined {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.ceil(sorted.length * share) - 1] ?? 0;
  return sorted.length === 0 ? undefined : { p50: at(0.5), p95: at(0.95) };
}
