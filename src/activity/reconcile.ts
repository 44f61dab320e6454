import { sql, type Kysely } from 'kysely';
import { requestIdAt } from '../std/ids.ts';
import type { Schema } from '../store/schema.ts';
import type { ExportLine, ProviderExport } from './provider-export.ts';

/** One day and model on both sides, and what explains the difference. Tokens, or nano-USD for an export of costs. */
export interface Reconciled {
  readonly day: number;
  readonly model: string;
  readonly theirs: number;
  readonly ours: number;
  /** theirs − ours. */
  readonly difference: number;
  /** Parts of a difference above zero: each is at most what it can be, in this order; the rest is unknown. */
  readonly cacheWrites: number;
  readonly retries: number;
  readonly cutStreams: number;
  readonly unknown: number;
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
const ALL_MODELS = 'all models';
/** A request gets its id on arrival and its day on admission. */
const SLACK_MS = 3_600_000;
const DAY_MS = 86_400_000;

/** Compares an export with the receipts of one backend, or of all, day by day; a day's sums are all that is kept. */
export async function reconcile(
  db: Kysely<Schema>,
  { kind, lines }: ProviderExport,
  backend: string | undefined,
): Promise<Reconciled[]> {
  const result: Reconciled[] = [];
  for (const day of [...new Set(lines.map((line) => line.day))].toSorted((one, other) => one - other)) {
    const ours = await ourDay(db, day, backend);
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
  for (const line of lines) {
    const model = line.model === undefined ? ALL_MODELS : (ourName(line.model, ours) ?? line.model);
    const before = theirs.get(model);
    theirs.set(model, before ? added(before, line) : line);
  }
  const day = lines[0]?.day ?? 0;
  // A line without a model is compared with all of our models together.
  const named = theirs.has(ALL_MODELS) ? new Map([[ALL_MODELS, total(ours)]]) : ours;
  const models = [...new Set([...theirs.keys(), ...named.keys()])].toSorted();
  return models.map((model) => {
    const line = theirs.get(model) ?? { day, model, requests: 0, tokens: 0, cacheWrites: 0, cost: 0 };
    return compare({ day, model }, line, named.get(model) ?? NO_DAY, kind);
  });
}

function compare(
  key: { readonly day: number; readonly model: string },
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
  return [...days.values()].reduce(
    (sum, day) => ({
      tokens: sum.tokens + day.tokens,
      cost: sum.cost + day.cost,
      possibleCost: sum.possibleCost + day.possibleCost,
      cacheWrites: sum.cacheWrites + day.cacheWrites,
      retried: sum.retried + day.retried,
      uncounted: sum.uncounted + day.uncounted,
    }),
    NO_DAY,
  );
}

async function ourDay(
  db: Kysely<Schema>,
  day: number,
  backend: string | undefined,
): Promise<Map<string, OurDay>> {
  const text = String(day);
  const from = Date.UTC(Number(text.slice(0, 4)), Number(text.slice(4, 6)) - 1, Number(text.slice(6, 8)));
  const within = db
    .selectFrom('closed_request')
    .where('id', '>=', requestIdAt(Math.max(0, from - SLACK_MS)))
    .where('created_at', '>=', from)
    .where('created_at', '<', from + DAY_MS)
    .$if(backend !== undefined, (query) => query.where('upstream', '=', backend ?? ''));
  const uncertain = sql`usage_source <> 'upstream' or outcome in ('client_left', 'cut_short', 'expired')`;
  const rows = await within
    .select('model')
    .select([
      sql<number | string>`sum(input_tokens + output_tokens)`.as('tokens'),
      sql<number | string>`sum(coalesce(cost, 0))`.as('cost'),
      sql<number | string>`sum(possible_cost)`.as('possible'),
      sql<number | string>`sum(case when possible_cost > 0 then input_tokens + output_tokens else 0 end)`.as(
        'retried',
      ),
      sql<
        number | string
      >`sum(case when ${uncertain} then output_cap * choices - output_tokens else 0 end)`.as('uncounted'),
    ])
    .groupBy('model')
    .execute();
  const sums = new Map<string, OurDay>(
    rows.map((row) => [
      row.model,
      {
        tokens: Number(row.tokens),
        cost: Number(row.cost),
        possibleCost: Number(row.possible),
        cacheWrites: 0,
        retried: Number(row.retried),
        uncounted: Math.max(0, Number(row.uncounted)),
      },
    ]),
  );
  for await (const { model, extra } of extraUsages(within)) {
    const sum = sums.get(model);
    const { cacheWrite = 0, cacheWrite1h = 0 } = JSON.parse(extra) as Record<string, number | undefined>;
    if (sum) sums.set(model, { ...sum, cacheWrites: sum.cacheWrites + cacheWrite + cacheWrite1h });
  }
  return sums;
}

const PAGE = 1_000;

type ClosedRequests = ReturnType<typeof closedRequests>;

function closedRequests(db: Kysely<Schema>) {
  return db.selectFrom('closed_request');
}

async function* extraUsages(within: ClosedRequests): AsyncGenerator<{ model: string; extra: string }> {
  for (let after = ''; ;) {
    const rows = await within
      .select(['id', 'model', 'extra'])
      .where('extra', 'is not', null)
      .where('id', '>', after)
      .orderBy('id')
      .limit(PAGE)
      .execute();
    for (const { model, extra } of rows) if (extra !== null) yield { model, extra };
    const last = rows.at(-1);
    if (!last || rows.length < PAGE) return;
    after = last.id;
  }
}
