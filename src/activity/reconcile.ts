import { sql, type Kysely } from 'kysely';
import { spanOf } from '../ledger/archive.ts';
import { requestIdAt } from '../std/ids.ts';
import type { Schema } from '../store/schema.ts';
import type { ExportLine, ProviderExport } from './provider-export.ts';
import { bookBill } from '../ledger/provider-bill.ts';
import type { Store } from '../store/store.ts';

/** One day and model on both sides, and what explains the difference. Tokens, or nano-USD for an export of costs. */
export interface Reconciled {
  readonly day: number;
  /** As the provider calls it, without the date of its version. */
  readonly model: string;
  /** Whether the export has it; if not, our books alone do. */
  readonly isListed: boolean;
  readonly theirs: number;
  readonly ours: number;
  /** theirs − ours. */
  readonly difference: number;
  /** Parts of a difference above zero: each is at most what it can be, in this order; the rest is unknown. */
  readonly cacheWrites: number;
  readonly retries: number;
  readonly cutStreams: number;
  readonly unknown: number;
  /** What failed attempts may cost, by the sums of the day, in nano-USD. */
  readonly possibleCost: number;
}

/** The part of our books that an export is compared with. */
export interface ReconcileScope {
  /** The backends of this provider; absent: all backends. */
  readonly backends?: readonly string[] | undefined;
  /** A backend's own name of one of our models; absent: the same name. */
  readonly nameAt?: ((model: string, backend: string) => string) | undefined;
}

/** The part of a catalog that says what backends call our models. */
interface NamedModels {
  readonly upstreams: ReadonlyMap<string, unknown>;
  readonly endpoints: ReadonlyMap<
    string,
    {
      readonly models: readonly {
        readonly id: string;
        readonly upstreamModels: ReadonlyMap<string, string>;
      }[];
    }
  >;
}

/** The books of these backends, with the present catalog's names. A backend that is neither in it nor in the books is unknown. */
export async function scopeOfBackends(
  db: Kysely<Schema>,
  catalog: NamedModels,
  backends: readonly string[] | undefined,
): Promise<ReconcileScope | { readonly unknown: string }> {
  for (const backend of backends ?? []) {
    if (catalog.upstreams.has(backend)) continue;
    const used = await db
      .selectFrom('backend_day')
      .select('backend')
      .where('backend', '=', backend)
      .limit(1)
      .executeTakeFirst();
    if (!used) return { unknown: backend };
  }
  return { backends, nameAt: namesAtUpstreams(catalog) };
}

function namesAtUpstreams({ endpoints }: NamedModels): (model: string, backend: string) => string {
  const names = new Map<string, string>();
  for (const { models } of endpoints.values())
    for (const { id, upstreamModels } of models)
      for (const [backend, name] of upstreamModels) names.set(JSON.stringify([id, backend]), name);
  return (model, backend) => names.get(JSON.stringify([model, backend])) ?? model;
}

/** Why an export cannot be booked: a partial bill would book too little. */
export function notBookable({ kind, isPartial }: ProviderExport): string | undefined {
  if (kind !== 'cost') return 'Only an export of costs can be booked; this one has tokens.';
  return isPartial
    ? 'The export has further pages. Save all of them as one JSON array, then it can be booked.'
    : undefined;
}

/** Sums of our receipts of one model on one day. */
interface OurDay {
  readonly tokens: number;
  readonly cost: number;
  readonly possibleCost: number;
  readonly cacheWrites: number;
  /** Tokens of requests of which a failed attempt may have been billed, too. */
  readonly retried: number;
  /** What backends may have made beyond what we counted, for requests that were cut or counted by us. */
  readonly uncounted: number;
}

const NO_DAY: OurDay = { tokens: 0, cost: 0, possibleCost: 0, cacheWrites: 0, retried: 0, uncounted: 0 };
const MODELS_TOGETHER = 'all models';
/** The name of what an export bills without a model, such as searches on the web. */
const NO_MODEL = 'no model';
/** A request gets its id on arrival and its day on admission. */
const SLACK_MS = 3_600_000;

/** Compares an export with our books, day by day; a day's sums are all that is kept. */
export async function reconcile(
  db: Kysely<Schema>,
  { kind, lines }: ProviderExport,
  scope: ReconcileScope,
): Promise<Reconciled[]> {
  const result: Reconciled[] = [];
  for (const day of [...new Set(lines.map((line) => line.day))].toSorted((one, other) => one - other)) {
    const ours = await ourDay(db, day, scope);
    result.push(
      ...compareDay(
        lines.filter((line) => line.day === day),
        ours,
        kind,
      ),
    );
  }
  return result;
}

function compareDay(
  lines: readonly ExportLine[],
  ours: ReadonlyMap<string, OurDay>,
  kind: ProviderExport['kind'],
): Reconciled[] {
  const theirs = new Map<string, ExportLine>();
  const unnamed = lines.every((line) => line.model === undefined) ? MODELS_TOGETHER : NO_MODEL;
  for (const line of lines) {
    const model = line.model === undefined ? unnamed : (ourName(line.model, ours) ?? line.model);
    const before = theirs.get(model);
    theirs.set(model, before ? added(before, line) : line);
  }
  const day = lines[0]?.day ?? 0;
  // A day without models is compared with all of ours together.
  const named = theirs.has(MODELS_TOGETHER) ? new Map([[MODELS_TOGETHER, total(ours)]]) : ours;
  const models = [...new Set([...theirs.keys(), ...named.keys()])].toSorted();
  return models.map((model) => {
    const line = theirs.get(model) ?? { day, model, requests: 0, tokens: 0, cacheWrites: 0, cost: 0 };
    return compare({ day, model, isListed: theirs.has(model) }, line, named.get(model) ?? NO_DAY, kind);
  });
}

function compare(
  key: Pick<Reconciled, 'day' | 'model' | 'isListed'>,
  line: ExportLine,
  ours: OurDay,
  kind: ProviderExport['kind'],
): Reconciled {
  const isUsage = kind === 'usage';
  const [theirAmount, ourAmount] = isUsage ? [line.tokens, ours.tokens] : [line.cost, ours.cost];
  const perToken = isUsage || ours.tokens === 0 ? 1 : ours.cost / ours.tokens;
  const difference = theirAmount - ourAmount;
  let rest = Math.max(0, difference);
  const take = (most: number): number => {
    const part = Math.min(rest, Math.max(0, Math.round(most)));
    rest -= part;
    return part;
  };
  const cacheWrites = take(isUsage ? line.cacheWrites - ours.cacheWrites : 0);
  const retries = take(isUsage ? ours.retried : ours.possibleCost);
  const cutStreams = take(isUsage || ours.tokens > 0 ? ours.uncounted * perToken : 0);
  const unknown = difference < 0 ? difference : rest;
  return {
    ...key,
    theirs: theirAmount,
    ours: ourAmount,
    difference,
    cacheWrites,
    retries,
    cutStreams,
    unknown,
    possibleCost: ours.possibleCost,
  };
}

/** Providers add a date to a model's name: ours is the longest that theirs begins with. */
function ourName(theirs: string, ours: ReadonlyMap<string, OurDay>): string | undefined {
  if (ours.has(theirs)) return theirs;
  const alike = [...ours.keys()].filter((model) => theirs.startsWith(`${model}-`));
  return alike.toSorted((one, other) => other.length - one.length)[0];
}

function added(one: ExportLine, other: ExportLine): ExportLine {
  return {
    ...one,
    requests: one.requests + other.requests,
    tokens: one.tokens + other.tokens,
    cacheWrites: one.cacheWrites + other.cacheWrites,
    cost: one.cost + other.cost,
  };
}

function total(days: ReadonlyMap<string, OurDay>): OurDay {
  return [...days.values()].reduce(together, NO_DAY);
}

function together(one: OurDay, other: OurDay): OurDay {
  return {
    tokens: one.tokens + other.tokens,
    cost: one.cost + other.cost,
    possibleCost: one.possibleCost + other.possibleCost,
    cacheWrites: one.cacheWrites + other.cacheWrites,
    retried: one.retried + other.retried,
    uncounted: one.uncounted + other.uncounted,
  };
}

/** Our sums of the day, by the provider's names of models. */
async function ourDay(
  db: Kysely<Schema>,
  day: number,
  { backends, nameAt = (model) => model }: ReconcileScope,
): Promise<Map<string, OurDay>> {
  const days = new Map<string, OurDay>();
  const add = (model: string, backend: string | null, part: Partial<OurDay>): void => {
    const name = nameAt(model, backend ?? '');
    days.set(name, together(days.get(name) ?? NO_DAY, { ...NO_DAY, ...part }));
  };
  for (const { model, backend, cost, possible_cost } of await ourCosts(db, day, backends))
    add(model, backend, { cost, possibleCost: possible_cost });
  const within = receiptsOf(db, day, backends);
  for (const row of await ourTokens(within))
    add(row.model, row.upstream, {
      tokens: Number(row.tokens),
      retried: Number(row.retried),
      uncounted: Math.max(0, Number(row.uncounted)),
    });
  for await (const { model, upstream, extra } of extraUsages(within)) {
    const { cacheWrite = 0, cacheWrite1h = 0 } = JSON.parse(extra) as Record<string, number | undefined>;
    add(model, upstream, { cacheWrites: cacheWrite + cacheWrite1h });
  }
  return days;
}

/** From the sums of the day, which have the costs of failed attempts under the backend that failed. */
async function ourCosts(db: Kysely<Schema>, day: number, backends: readonly string[] | undefined) {
  return await db
    .selectFrom('backend_day')
    .select(['model', 'backend', 'cost', 'possible_cost'])
    .where('day', '=', day)
    .$if(backends !== undefined, (query) => query.where('backend', 'in', [...(backends ?? [])]))
    .execute();
}

function receiptsOf(db: Kysely<Schema>, day: number, backends: readonly string[] | undefined) {
  const { fromMs, toMs } = spanOf(day);
  return closedRequests(db)
    .where('id', '>=', requestIdAt(Math.max(0, fromMs - SLACK_MS)))
    .where('created_at', '>=', fromMs)
    .where('created_at', '<', toMs)
    .$if(backends !== undefined, (query) => query.where('upstream', 'in', [...(backends ?? [])]));
}

async function ourTokens(within: ClosedRequests) {
  const uncertain = sql`usage_source <> 'upstream' or outcome in ('client_left', 'cut_short', 'expired')`;
  return await within
    .select(['model', 'upstream'])
    .select([
      sql<number | string>`sum(input_tokens + output_tokens)`.as('tokens'),
      sql<number | string>`sum(case when possible_cost > 0 then input_tokens + output_tokens else 0 end)`.as(
        'retried',
      ),
      sql<
        number | string
      >`sum(case when ${uncertain} then output_cap * choices - output_tokens else 0 end)`.as('uncounted'),
    ])
    .groupBy(['model', 'upstream'])
    .execute();
}

const PAGE = 1_000;

type ClosedRequests = ReturnType<typeof closedRequests>;

function closedRequests(db: Kysely<Schema>) {
  return db.selectFrom('closed_request');
}

async function* extraUsages(
  within: ClosedRequests,
): AsyncGenerator<{ model: string; upstream: string | null; extra: string }> {
  for (let after = ''; ;) {
    const rows = await within
      .select(['id', 'model', 'upstream', 'extra'])
      .where('extra', 'is not', null)
      .where('id', '>', after)
      .orderBy('id')
      .limit(PAGE)
      .execute();
    for (const { model, upstream, extra } of rows) if (extra !== null) yield { model, upstream, extra };
    const last = rows.at(-1);
    if (!last || rows.length < PAGE) return;
    after = last.id;
  }
}

/** What became of the failed attempts of one day and model, in nano-USD. */
export interface BookedModel {
  readonly day: number;
  readonly model: string;
  /** What they could have cost at most, and what is booked now. */
  readonly atMost: number;
  readonly billed: number;
  /** Why the books stay as they are; absent: they do not. */
  readonly kept?: 'not_over' | 'not_listed' | undefined;
}

/** A provider's export of a day may grow for some hours after the day is over. */
const SETTLED_MS = 24 * 3_600_000;

interface Booking {
  readonly store: Pick<Store, 'db' | 'backend' | 'durable'>;
  readonly nowMs: number;
  readonly actor: string;
  readonly cause: string;
}

/** Books what an export of costs says of failed attempts: each day in one transaction. */
export async function bookExport(
  { store, nowMs, actor, cause }: Booking,
  reconciled: readonly Reconciled[],
  { backends, nameAt = (model) => model }: ReconcileScope,
): Promise<BookedModel[]> {
  const result: BookedModel[] = [];
  for (const [day, rows] of Map.groupBy(reconciled, (row) => row.day)) {
    const isOver = nowMs >= spanOf(day).toMs + SETTLED_MS;
    result.push(...rows.flatMap((row) => keptModel(row, isOver) ?? []));
    if (!isOver) continue;
    const listed = rows.filter(({ isListed }) => isListed);
    const isOneSum = listed.some(({ model }) => model === MODELS_TOGETHER);
    const booked = await bookBill(store, {
      day,
      amounts: new Map(listed.map(({ model, theirs }) => [model, theirs])),
      nameOf: (backend, model) => {
        if (backends && !backends.includes(backend)) return undefined;
        return isOneSum ? MODELS_TOGETHER : nameAt(model, backend);
      },
      cause,
      actor,
      at: nowMs,
    });
    result.push(...booked.map(({ name, atMost, billed }) => ({ day, model: name, atMost, billed })));
  }
  await store.durable();
  return result;
}

/** A model that the export does not have may have another name there: what it may cost stays. */
function keptModel(
  { day, model, possibleCost, isListed }: Reconciled,
  isOver: boolean,
): BookedModel | undefined {
  if (possibleCost === 0 || (isListed && isOver)) return undefined;
  return { day, model, atMost: possibleCost, billed: 0, kept: isListed ? 'not_over' : 'not_listed' };
}
