import { sql, type AliasedExpression, type Kysely, type Selectable, type SelectQueryBuilder } from 'kysely';
import { spanOf } from '../ledger/archive.ts';
import { DAY_MS, dayOf, DAY_QUARTERS, QUARTER_MS } from '../std/calendar.ts';
import type { Schema, UsageDayTable } from '../store/schema.ts';
import type { Reader } from './reader.ts';
import { lastOfTenDays, spansWithout, tenDaysOf, wholeTenDays, type UsageSpan } from './ten-day-sums.ts';
import { ALL_ACCOUNTS, sumUsage, USAGE_COLUMNS, type UsageSums } from './usage.ts';

type Parts = { readonly db: Kysely<Schema>; readonly reader: Pick<Reader, 'all'> };

/** Which of an account's daily sums; days are yyyymmdd, both inclusive. */
export interface UsageFilter {
  readonly accountId: string;
  readonly from: number;
  readonly to: number;
  readonly endpoint?: string | undefined;
  readonly model?: string | undefined;
}

export interface UsageOfDay extends UsageSums {
  readonly day: number;
}

export interface UsageOfModel extends UsageSums {
  readonly endpoint: string;
  readonly model: string;
}

export type UsageOfDayAndEndpoint = Omit<UsageOfDayAndModel, 'model'>;

export interface UsageOfDayAndModel extends UsageOfModel {
  readonly day: number;
}

/** No code of an endpoint has a space. */
const ENDPOINT_AND_MODEL = sql<string>`endpoint || ' ' || model`;

/** In order of day. Summed by the database: with thousands of models there are too many rows to be read one by one. */
export function usageDays(parts: Parts, filter: UsageFilter): Promise<UsageOfDay[]> {
  return daysWith(parts, filter, USAGE_COLUMNS);
}

/** The same without the sums that bills do not need, which take half of the time where there are thousands of models. */
export function chargesByDay(parts: Parts, filter: UsageFilter): Promise<Day<'requests' | 'charged'>[]> {
  return daysWith(parts, filter, ['requests', 'charged']);
}

type Day<Column extends keyof UsageSums> = Pick<UsageOfDay, 'day' | 'requests' | Column>;

async function daysWith<Column extends keyof UsageSums>(
  parts: Parts,
  filter: UsageFilter,
  columns: readonly (Column | 'requests')[],
): Promise<Day<Column>[]> {
  const { db, reader } = parts;
  const { rows, left } = await daysOfQuarters(parts, filter, columns);
  const [first, ...others] = left.map((span) =>
    matching(db, { ...filter, ...span })
      .select('day')
      .select(columns.map((name) => sumOf(name)))
      .groupBy('day')
      .$castTo<Day<Column>>(),
  );
  if (!first) return rows;
  const read = await reader.all(others.reduce((all, one) => all.unionAll(one), first));
  return [...rows, ...read].toSorted((a, b) => a.day - b.day);
}

/**
 * An account's days, from its quarters of an hour, which are the same for any number of models; and the days of the range
 * that are not among them. Of ten days together it is known how many requests they had: if some were never counted by
 * quarters, the quarters are not taken.
 */
async function daysOfQuarters<Column extends keyof UsageSums>(
  parts: Parts,
  { accountId, from, to, endpoint, model }: UsageFilter,
  columns: readonly (Column | 'requests')[],
): Promise<{ rows: Day<Column>[]; left: UsageSpan[] }> {
  const nothing = { rows: [], left: [{ from, to }] };
  if (accountId === ALL_ACCOUNTS || (endpoint ?? model) !== undefined) return nothing;
  const tens = await tenDaysIn(parts, { accountId, from, to });
  const [first, last] = [tens.done[0], tens.done.at(-1)];
  if (first === undefined || last === undefined) return nothing;
  const { db, reader } = parts;
  const read = await reader.all(
    db
      .selectFrom('usage_quarter')
      .select(sql<number>`CAST(quarter / ${sql.lit(DAY_QUARTERS)} AS BIGINT)`.as('day'))
      .select(columns.map((name) => sumOf(name)))
      .where('account_id', '=', accountId)
      .where('quarter', '>=', quarterOf(first))
      .where('quarter', '<', quarterOf(lastOfTenDays(last)) + DAY_QUARTERS)
      .groupBy(sql`1`)
      .orderBy(sql`1`)
      .$castTo<Day<Column>>(),
  );
  const days = Map.groupBy(
    read.map((row) => ({ ...row, day: dayOf(row.day * DAY_MS) })),
    ({ day }) => tenDaysOf(day),
  );
  const requestsOf = (one: number): number =>
    (days.get(one) ?? []).reduce((sum, { requests }) => sum + requests, 0);
  const whole = tens.done.filter((one) => requestsOf(one) === tens.requests.get(one));
  return {
    rows: whole.flatMap((one) => days.get(one) ?? []),
    left: spansWithout({ from, to }, (day) => whole.includes(tenDaysOf(day))),
  };
}

/** The first quarter of a day, yyyymmdd. */
export function quarterOf(day: number): number {
  return spanOf(day).fromMs / QUARTER_MS;
}

const COST_COLUMNS = ['cost', 'possible_cost', 'costed'] as const;

/** What all accounts used, brought and cost on a day, in nano-USD. */
export type DayTotal = UsageOfDay & Pick<Selectable<UsageDayTable>, (typeof COST_COLUMNS)[number]>;

/** The days with requests, in order. */
export function dayTotals({ db, reader }: Parts, range: UsageSpan): Promise<DayTotal[]> {
  const rows = matching(db, { accountId: ALL_ACCOUNTS, ...range });
  return reader.all(
    rows
      .select('day')
      .select(summed)
      .select(COST_COLUMNS.map((name) => sumOf(name)))
      .groupBy('day')
      .orderBy('day'),
  );
}

/** The models with the largest charge first. Grouped by one text, which SQLite sorts in two thirds of the time of two. */
export async function usageModels(parts: Parts, filter: UsageFilter, most: number): Promise<UsageOfModel[]> {
  const { db } = parts;
  const { done, left } = await tenDaysIn(parts, filter);
  const [first, ...others] = left.map((span) =>
    matching(db, { ...filter, ...span })
      .select(ENDPOINT_AND_MODEL.as('name'))
      .select(USAGE_COLUMNS),
  );
  const added = tenDaysRows(db, filter, done);
  if (!first) return await largest(parts, added.as('part'), most);
  const single = others.reduce((all, one) => all.unionAll(one), first);
  return await largest(parts, (done.length > 0 ? single.unionAll(added) : single).as('part'), most);
}

async function largest(
  { db, reader }: Parts,
  rowsOfModels: AliasedExpression<UsageSums & { readonly name: string }, 'part'>,
  most: number,
): Promise<UsageOfModel[]> {
  const rows = await reader.all(
    db
      .selectFrom(rowsOfModels)
      .select('name')
      .select(summed)
      .groupBy('name')
      .orderBy('charged', 'desc')
      .orderBy('requests', 'desc')
      .orderBy('name')
      .limit(most),
  );
  return rows.map(({ name, ...sums }) => ({ ...endpointAndModel(name), ...sums }));
}

function endpointAndModel(name: string): { endpoint: string; model: string } {
  const end = name.indexOf(' ');
  return { endpoint: name.slice(0, end), model: name.slice(end + 1) };
}

/** In order of day, as the table itself is: nothing is sorted. There are few endpoints. */
export function usageDaysByEndpoint(
  { db, reader }: Parts,
  filter: UsageFilter,
): Promise<UsageOfDayAndEndpoint[]> {
  return reader.all(
    matching(db, filter)
      .select(['day', 'endpoint'])
      .select(summed)
      .groupBy(['day', 'endpoint'])
      .orderBy('day')
      .orderBy('endpoint'),
  );
}

/** By day: some models by name, and all others together, with an empty endpoint and model. */
export async function usageDaysByModel(
  parts: Parts,
  filter: UsageFilter,
  days: readonly UsageOfDay[],
  named: readonly Pick<UsageOfModel, 'endpoint' | 'model'>[],
): Promise<UsageOfDayAndModel[]> {
  const rows = await rowsOf(parts, filter, named);
  return days.flatMap((day) => {
    const own = rows.filter((row) => row.day === day.day);
    const rest = minus(day, own);
    return rest.requests > 0 ? [...own, { day: day.day, endpoint: '', model: '', ...rest }] : own;
  });
}

async function rowsOf(
  { db, reader }: Parts,
  filter: UsageFilter,
  named: readonly Pick<UsageOfModel, 'endpoint' | 'model'>[],
): Promise<UsageOfDayAndModel[]> {
  if (named.length === 0) return [];
  const models = [...new Set(named.map(({ model }) => model))];
  // By the model alone and in the order of its index: otherwise SQLite reads all models of these days.
  const rows = await reader.all(
    matching(db, { ...filter, endpoint: undefined })
      .select(['day', 'endpoint', 'model', ...USAGE_COLUMNS])
      .where('model', 'in', models)
      .orderBy('model')
      .orderBy('day'),
  );
  return rows.filter((row) =>
    named.some(({ endpoint, model }) => endpoint === row.endpoint && model === row.model),
  );
}

/** What is left of a sum without some of its parts. */
export function minus(whole: UsageSums, parts: readonly UsageSums[]): UsageSums {
  const rest = sumUsage([whole]);
  const taken = sumUsage(parts);
  return Object.fromEntries(
    USAGE_COLUMNS.map((name) => [name, rest[name] - taken[name]]),
  ) as unknown as UsageSums;
}

/** The ten-day sums that lie inside the range, and the single days beside them. */
async function tenDaysIn(
  { db, reader }: Parts,
  { accountId, from, to, model }: UsageFilter,
): Promise<{ done: number[]; requests: ReadonlyMap<number, number>; left: UsageSpan[] }> {
  const whole = model === undefined ? wholeTenDays({ from, to }) : [];
  if (whole.length === 0) return { done: [], requests: new Map(), left: [{ from, to }] };
  const rows = await reader.all(
    db
      .selectFrom('usage_ten_days')
      .select(['first_day', 'requests'])
      .where('account_id', '=', accountId)
      .where('first_day', 'in', whole)
      .where('endpoint', '=', '')
      .where('saved', 'is not', null)
      .orderBy('first_day'),
  );
  const done = rows.map(({ first_day }) => first_day);
  return {
    done,
    requests: new Map(rows.map(({ first_day, requests }) => [first_day, requests])),
    left: spansWithout({ from, to }, (day) => done.includes(tenDaysOf(day))),
  };
}

function tenDaysRows(db: Kysely<Schema>, { accountId, endpoint }: UsageFilter, done: readonly number[]) {
  const rows = db
    .selectFrom('usage_ten_days')
    .select(ENDPOINT_AND_MODEL.as('name'))
    .select(USAGE_COLUMNS)
    .$narrowType<{ saved: number }>()
    .where('account_id', '=', accountId)
    .where('first_day', 'in', done);
  return endpoint === undefined ? rows.where('endpoint', '<>', '') : rows.where('endpoint', '=', endpoint);
}

function matching(
  db: Kysely<Schema>,
  { accountId, from, to, endpoint, model }: UsageFilter,
): SelectQueryBuilder<Schema, 'usage_day', object> {
  let query = db
    .selectFrom('usage_day')
    .where('account_id', '=', accountId)
    .where('day', '>=', from)
    .where('day', '<=', to);
  if (endpoint !== undefined) query = query.where('endpoint', '=', endpoint);
  if (model !== undefined) query = query.where('model', '=', model);
  return query;
}

function summed() {
  return USAGE_COLUMNS.map((name) => sumOf(name));
}

function sumOf<Name extends keyof UsageDayTable>(name: Name) {
  return sql<number>`CAST(sum(${sql.ref(name)}) AS BIGINT)`.as(name);
}
