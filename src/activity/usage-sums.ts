import { sql, type Kysely, type SelectQueryBuilder } from 'kysely';
import type { Schema, UsageDayTable } from '../store/schema.ts';
import type { Reader } from './reader.ts';
import { sumUsage, type UsageSums } from './usage.ts';

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

const SUMMED = [
  'requests',
  'failures',
  'input_tokens',
  'cached_tokens',
  'output_tokens',
  'reasoning_tokens',
  'images',
  'charged',
] as const satisfies (keyof UsageSums)[];

/** As expressions: for the bare columns SQLite takes an index of theirs and reads all days of the account. */
const ENDPOINT = sql<string>`endpoint || ''`;
/** No code of an endpoint has a space. */
export const ENDPOINT_AND_MODEL = sql<string>`endpoint || ' ' || model`;

/** Summed by the database: with thousands of models there are too many rows to be read one by one. In order of day. */
export function usageDays({ db, reader }: Parts, filter: UsageFilter): Promise<UsageOfDay[]> {
  return reader.all(matching(db, filter).select('day').select(summed).groupBy('day').orderBy('day'));
}

/** As many requests as there were on each day, which takes half the time of all sums. */
export function requestDays(
  { db, reader }: Parts,
  filter: UsageFilter,
): Promise<Pick<UsageOfDay, 'day' | 'requests'>[]> {
  return reader.all(
    matching(db, filter).select('day').select(sumOf('requests')).groupBy('day').orderBy('day'),
  );
}

/** The models with the largest charge first. Grouped by one text, which SQLite sorts in two thirds of the time of two. */
export async function usageModels(
  { db, reader }: Parts,
  filter: UsageFilter,
  most: number,
): Promise<UsageOfModel[]> {
  const rows = await reader.all(
    matching(db, filter)
      .select(ENDPOINT_AND_MODEL.as('name'))
      .select(summed)
      .groupBy(ENDPOINT_AND_MODEL)
      .orderBy('charged', 'desc')
      .orderBy('requests', 'desc')
      .orderBy('name')
      .limit(most),
  );
  return rows.map(({ name, ...sums }) => ({ ...endpointAndModel(name), ...sums }));
}

export function endpointAndModel(name: string): { endpoint: string; model: string } {
  const end = name.indexOf(' ');
  return { endpoint: name.slice(0, end), model: name.slice(end + 1) };
}

/** In order of day. There are few endpoints. */
export function usageDaysByEndpoint(
  { db, reader }: Parts,
  filter: UsageFilter,
): Promise<UsageOfDayAndEndpoint[]> {
  return reader.all(
    matching(db, filter)
      .select(['day', ENDPOINT.as('endpoint')])
      .select(summed)
      .groupBy(['day', ENDPOINT])
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
  // By the model alone, which has an index; asked for both at once, SQLite reads all models of these days.
  const rows = await reader.all(
    matching(db, filter)
      .select(['day', 'endpoint', 'model', ...SUMMED])
      .where('model', 'in', models),
  );
  return rows.filter((row) =>
    named.some(({ endpoint, model }) => endpoint === row.endpoint && model === row.model),
  );
}

/** What is left of a sum without some of its parts. */
export function minus(whole: UsageSums, parts: readonly UsageSums[]): UsageSums {
  const rest = sumUsage([whole]);
  const taken = sumUsage(parts);
  return Object.fromEntries(SUMMED.map((name) => [name, rest[name] - taken[name]])) as unknown as UsageSums;
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
  return SUMMED.map((name) => sumOf(name));
}

function sumOf<Name extends keyof UsageDayTable>(name: Name) {
  return sql<number>`CAST(sum(${sql.ref(name)}) AS BIGINT)`.as(name);
}
