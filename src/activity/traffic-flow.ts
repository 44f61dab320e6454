import { sql, type Kysely } from 'kysely';
import { isFailure } from '../ledger/decide.ts';
import { DAY_MS, dayOf, startOfDay } from '../std/calendar.ts';
import { requestIdAt } from '../std/ids.ts';
import { OUTCOME_CODES, RECEIPT_OUTCOMES } from '../store/receipt-codes.ts';
import type { Schema } from '../store/schema.ts';
import { clientName } from './client-name.ts';
import type { Reader } from './reader.ts';
import { ALL_ACCOUNTS } from './usage.ts';

type Parts = { readonly db: Kysely<Schema>; readonly reader: Pick<Reader, 'all'> };

/** Requests that went from one thing to another: charged in nano-USD. */
export interface FlowLink {
  readonly from: string;
  readonly to: string;
  readonly requests: number;
  readonly failures: number;
  readonly charged: number;
}

/** An empty name: a client that did not tell, or no backend that was asked. */
export interface TrafficFlow {
  readonly clientEndpoint: readonly FlowLink[];
  readonly endpointModel: readonly FlowLink[];
  readonly modelBackend: readonly FlowLink[];
  /** How clients share an endpoint's traffic comes from a part of the requests. */
  readonly isEstimated: boolean;
}

const HOUR_MS = 3_600_000;
/** Receipts that are read for an hour, and for the shares of clients of each day. */
const HOUR_REQUESTS = 15_000;
const DAY_REQUESTS = 2_000;

const FAILED_CODES = sql.join(
  RECEIPT_OUTCOMES.filter(isFailure).map((outcome) => sql.lit(OUTCOME_CODES[outcome])),
);

/** Of the last hour: from the receipts themselves, the newest if there are very many. */
export async function flowOfHour({ db, reader }: Parts, now: number): Promise<TrafficFlow> {
  const rows = await reader.all(receiptGroups(db, { from: now - HOUR_MS, to: now }, HOUR_REQUESTS));
  const read = rows.reduce((sum, { requests }) => sum + requests, 0);
  return {
    clientEndpoint: summed(rows.map((row) => ({ ...row, from: clientName(row.client), to: row.endpoint }))),
    endpointModel: summed(rows.map((row) => ({ ...row, from: row.endpoint, to: row.model }))),
    modelBackend: summed(rows.map((row) => ({ ...row, from: row.model, to: row.backend ?? '' }))),
    isEstimated: read >= HOUR_REQUESTS,
  };
}

/** Of whole days, today included: exact sums, which clients share as they do in the newest receipts of each day. */
export async function flowOfDays({ db, reader }: Parts, now: number, days: number): Promise<TrafficFlow> {
  const range = { from: dayOf(now - (days - 1) * DAY_MS), to: dayOf(now) };
  const starts = Array.from({ length: days }, (_, index) => startOfDay(now) - index * DAY_MS);
  const [endpointModel, modelBackend, endpointDays, ...samples] = await Promise.all([
    reader.all(endpointModels(db, range)),
    reader.all(modelBackends(db, range)),
    reader.all(endpointsByDay(db, range)),
    ...starts.map((start) =>
      reader.all(receiptGroups(db, { from: start, to: start + DAY_MS }, DAY_REQUESTS)),
    ),
  ]);
  const isEstimated = endpointDays.some(({ day, endpoint, requests }) => {
    const sample = samples[starts.findIndex((start) => dayOf(start) === day)] ?? [];
    return sumOf(sample.filter((row) => row.endpoint === endpoint)).requests < requests;
  });
  const clientEndpoint = endpointDays.flatMap((total) => {
    const sample = samples[starts.findIndex((start) => dayOf(start) === total.day)] ?? [];
    return shared(
      total,
      sample.filter((row) => row.endpoint === total.endpoint),
    );
  });
  return { clientEndpoint: summed(clientEndpoint), endpointModel, modelBackend, isEstimated };
}

type Sums = Omit<FlowLink, 'from' | 'to'>;

/** An endpoint's sums of a day, divided as its receipts of that day are. */
function shared(
  { endpoint, ...total }: Sums & { readonly endpoint: string },
  sample: readonly (Sums & { readonly client: string })[],
): FlowLink[] {
  const read = sumOf(sample);
  if (read.requests === 0) return [{ ...total, from: '', to: endpoint }];
  const share = (part: number, whole: number, of: number): number =>
    whole === 0 ? 0 : Math.round((of * part) / whole);
  return sample.map((row) => ({
    from: clientName(row.client),
    to: endpoint,
    requests: share(row.requests, read.requests, total.requests),
    failures: share(row.failures, read.failures, total.failures),
    charged: share(row.charged, read.charged, total.charged),
  }));
}

function sumOf(rows: readonly Sums[]): Sums {
  const sum = (of: (row: Sums) => number): number => rows.reduce((total, row) => total + of(row), 0);
  return {
    requests: sum((row) => row.requests),
    failures: sum((row) => row.failures),
    charged: sum((row) => row.charged),
  };
}

function summed(links: readonly FlowLink[]): FlowLink[] {
  const groups = Map.groupBy(links, ({ from, to }) => JSON.stringify([from, to]));
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    return first ? [{ from: first.from, to: first.to, ...sumOf(group) }] : [];
  });
}

/** The newest receipts of a time, grouped. */
function receiptGroups(
  db: Kysely<Schema>,
  { from, to }: { readonly from: number; readonly to: number },
  most: number,
) {
  const newest = db
    .selectFrom('receipt')
    .select(['client', 'route', 'backend', 'charged', 'outcome'])
    .where('id', '>=', requestIdAt(from))
    .where('id', '<', requestIdAt(to))
    .orderBy('id', 'desc')
    .limit(most);
  return db
    .selectFrom(newest.as('r'))
    .innerJoin('route', 'route.id', 'r.route')
    .leftJoin('backend', 'backend.id', 'r.backend')
    .select([
      'r.client',
      'route.endpoint',
      'route.model',
      'backend.name as backend',
      sql<number>`count(*)`.as('requests'),
      sql<number>`CAST(sum(r.charged) AS BIGINT)`.as('charged'),
      sql<number>`CAST(sum(CASE WHEN r.outcome IN (${FAILED_CODES}) THEN 1 ELSE 0 END) AS BIGINT)`.as(
        'failures',
      ),
    ])
    .groupBy(['r.client', 'route.endpoint', 'route.model', 'backend.name']);
}

interface DaySpan {
  readonly from: number;
  readonly to: number;
}

function endpointModels(db: Kysely<Schema>, { from, to }: DaySpan) {
  return db
    .selectFrom('usage_day')
    .select([ENDPOINT.as('from'), MODEL.as('to'), ...SUMS])
    .where('account_id', '=', ALL_ACCOUNTS)
    .where('day', '>=', from)
    .where('day', '<=', to)
    .groupBy([ENDPOINT, MODEL]);
}

function endpointsByDay(db: Kysely<Schema>, { from, to }: DaySpan) {
  return db
    .selectFrom('usage_day')
    .select(['day', ENDPOINT.as('endpoint'), ...SUMS])
    .where('account_id', '=', ALL_ACCOUNTS)
    .where('day', '>=', from)
    .where('day', '<=', to)
    .groupBy(['day', ENDPOINT]);
}

function modelBackends(db: Kysely<Schema>, { from, to }: DaySpan) {
  return db
    .selectFrom('backend_day')
    .select(['model as from', 'backend as to', ...SUMS])
    .where('day', '>=', from)
    .where('day', '<=', to)
    .groupBy(['model', 'backend']);
}

/** As expressions: for the bare columns SQLite takes an index of theirs and reads all days there are. */
const ENDPOINT = sql<string>`endpoint || ''`;
const MODEL = sql<string>`model || ''`;

const SUMS = [
  sql<number>`CAST(sum(requests) AS BIGINT)`.as('requests'),
  sql<number>`CAST(sum(failures) AS BIGINT)`.as('failures'),
  sql<number>`CAST(sum(charged) AS BIGINT)`.as('charged'),
] as const;
