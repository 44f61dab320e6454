import { z } from 'zod';
import {
  losses,
  MARGIN_GROUPS,
  marginGroups,
  type MarginGroup,
  type MarginRow,
} from '../../activity/margin.ts';
import { ExportError, readExportPages, type ProviderExport } from '../../activity/provider-export.ts';
import {
  bookExport,
  scopeOfBackends,
  notBookable,
  reconcile,
  type BookedModel,
} from '../../activity/reconcile.ts';
import { DAY_MS, dayOf } from '../../std/calendar.ts';
import { requestIdAt } from '../../std/ids.ts';
import { Fault } from '../../std/fault.ts';
import { dayText, usd } from '../amounts.ts';
import type { Usd } from '../contract.ts';
import type { RouteParts } from '../parts.ts';
import { recentOf } from '../recent-answers.ts';
import { MEGABYTE, route } from '../route.ts';

const DEFAULT_DAYS = 30;
const MAX_DAYS = 366;
const SHOWN_LOSSES = 20;
/** More than a year of days. */
const MAX_ROWS = 400;
const MAX_ALARMS = 50;

const querySchema = z.strictObject({
  by: z.enum(MARGIN_GROUPS).optional(),
  days: z
    .string()
    .regex(/^[1-9]\d{0,2}$/, { error: 'days is a whole number' })
    .optional(),
});

/** What requests brought, beside what they cost. Only administrators may know it. */
export const marginRoutes = [
  route('GET /api/console/admin/margin', {
    who: 'operator',
    may: 'see_business',
    summary: 'Get margins',
    compressed: true,
    query: querySchema,
    async handle(parts, { query }) {
      const { by = 'day' } = query;
      const days = Math.min(Number(query.days ?? DEFAULT_DAYS), MAX_DAYS);
      const now = parts.clock.now();
      const read = await recentOf(parts.store).get(`margin ${days}`, now, () => readMargin(parts, days));
      return { ...marginBy(by, read.groups), days, losses: read.losses };
    },
  }),
];

/** A provider may list many models on many days. */
const MAX_EXPORT_BYTES = 8 * MEGABYTE;
const MAX_CAUSE = 200;
const backends = z.array(z.string().min(1).max(200)).min(1).max(100);

const exportSchema = z.looseObject({ data: z.array(z.unknown()) });
const billFields = {
  /** A page of the provider's usage or cost export as it came, or all pages. */
  export: z.union([exportSchema, z.array(exportSchema)]),
};

/** A provider's bill beside the books, as `tollgate reconcile` has it. */
export const providerBillRoutes = [
  route('POST /api/console/admin/provider-bills/compare', {
    who: 'operator',
    may: 'check_books',
    summary: "Compare a provider's usage or cost export with the books",
    audit: 'ledger.compare-bill',
    maxBytes: MAX_EXPORT_BYTES,
    body: z.strictObject({ ...billFields, backends: backends.optional() }),
    handle: async (parts, { body }) => (await compared(parts, body)).shown,
  }),
  route('POST /api/console/admin/provider-bills', {
    who: 'operator',
    may: 'adjust_money',
    summary: "Book what a provider's bill says of failed attempts",
    money: true,
    audit: 'ledger.book-bill',
    maxBytes: MAX_EXPORT_BYTES,
    /** The backends whose bill it is, and which bill, such as its number. */
    body: z.strictObject({ ...billFields, backends, cause: z.string().trim().min(1).max(MAX_CAUSE) }),
    async handle(parts, { operator, body }) {
      const { exported, rows, scope, shown } = await compared(parts, body);
      const reason = notBookable(exported);
      if (reason !== undefined) throw new Fault('invalid_field', reason, { param: 'export' });
      const { store, clock } = parts;
      const booking = { store, nowMs: clock.now(), actor: operator.id, cause: body.cause };
      return { ...shown, booked: (await bookExport(booking, rows, scope)).map(bookedItem) };
    },
  }),
];

interface ComparedBill {
  readonly export: unknown;
  readonly backends?: readonly string[] | undefined;
}

async function compared({ store, catalog }: RouteParts, bill: ComparedBill) {
  const exported = readExport(bill.export);
  const scope = await scopeOfBackends(store.db, catalog.current(), bill.backends);
  if ('unknown' in scope)
    throw new Fault('invalid_field', `There is no backend '${scope.unknown}'.`, { param: 'backends' });
  const rows = await reconcile(store.db, exported, scope);
  const isUsage = exported.kind === 'usage';
  /** Tokens, or dollars as text. */
  const amount = (value: number): number | Usd => (isUsage ? value : usd(value));
  const shown = {
    unit: isUsage ? ('tokens' as const) : ('usd' as const),
    /** The export has further pages; what they contain is not compared. */
    partial: exported.isPartial,
    rows: rows.map((row) => ({
      day: dayText(row.day),
      model: row.model,
      provider: amount(row.theirs),
      books: amount(row.ours),
      /** What the provider has beyond the books; of that, what may explain it, and the rest. */
      difference: amount(row.difference),
      cacheWrites: amount(row.cacheWrites),
      retries: amount(row.retries),
      cutStreams: amount(row.cutStreams),
      unknown: amount(row.unknown),
    })),
  };
  return { exported, rows, scope, shown };
}

function readExport(value: unknown): ProviderExport {
  try {
    return readExportPages(value);
  } catch (error) {
    if (!(error instanceof ExportError)) throw error;
    throw new Fault('invalid_field', error.message, { param: 'export' });
  }
}

function bookedItem({ day, model, atMost, billed, kept }: BookedModel) {
  return {
    day: dayText(day),
    model,
    /** What the failed attempts could have cost. */
    atMostUsd: usd(atMost),
    /** What they did cost; null: the books stay as they are. */
    billedUsd: kept === undefined ? usd(billed) : null,
    kept: kept ?? null,
  };
}

/** In every grouping at once: going from one to the other takes no sums. */
async function readMargin(parts: RouteParts, days: number) {
  const now = parts.clock.now();
  const from = now - (days - 1) * DAY_MS;
  const at = { store: parts.store, reader: parts.reader.sums };
  const groups = await marginGroups(at, { from: dayOf(from), to: dayOf(now) });
  return { groups, losses: await lossesSince(parts, from) };
}

function marginBy(by: MarginGroup, groups: Readonly<Record<MarginGroup, MarginRow[]>>) {
  const rows = groups[by];
  const shown = rows.slice(0, MAX_ROWS).map((row) => ({ key: keyText(by, row.key), ...sumsOf(row) }));
  if (by === 'day') shown.sort((a, b) => b.key.localeCompare(a.key));
  const belowZero = MARGIN_GROUPS.flatMap((group) =>
    groups[group]
      .filter(({ margin }) => margin < 0)
      .map(({ key }) => ({ by: group, key: keyText(group, key) })),
  );
  return {
    by,
    total: sumsOf(totalOf(rows)),
    rows: shown,
    /** Groups that are not among the rows: those that cost least. */
    moreRows: rows.length - shown.length,
    /** Some of the days, models and backends whose margin is below zero, whatever the rows are grouped by. */
    belowZero: belowZero.slice(0, MAX_ALARMS),
  };
}

/** Empty where no backend was asked. */
function keyText(by: MarginGroup, key: string): string {
  return by === 'day' ? dayText(Number(key)) : key;
}

/** The latest requests that cost more than they brought. */
async function lossesSince({ store, reader }: RouteParts, from: number) {
  const lost = await reader.all(losses(store.db, SHOWN_LOSSES).where('id', '>=', requestIdAt(from)));
  return lost.map(({ id, model, upstream, charged, cost, possible_cost }) => ({
    id,
    model,
    upstream,
    chargedUsd: usd(charged),
    costUsd: usd(cost ?? 0),
    possibleCostUsd: usd(possible_cost),
  }));
}

type Sums = Omit<MarginRow, 'key'>;

function sumsOf({ requests, charged, costed, cost, possibleCost, margin }: Sums) {
  const isKnown = costed > 0 || cost > 0;
  return {
    requests,
    chargedUsd: usd(charged),
    /** The part of it that was charged for requests whose cost is not known. */
    unknownUsd: usd(charged - costed),
    /** Null: not known of any of them. */
    costUsd: isKnown ? usd(cost) : null,
    possibleCostUsd: usd(possibleCost),
    /** Of the requests whose cost is known, if all that is possible is billed; null: of none. */
    marginUsd: isKnown || possibleCost > 0 ? usd(margin) : null,
    isLoss: margin < 0,
  };
}

function totalOf(rows: readonly MarginRow[]): Sums {
  const sum = (of: (row: MarginRow) => number): number => rows.reduce((total, row) => total + of(row), 0);
  return {
    requests: sum((row) => row.requests),
    charged: sum((row) => row.charged),
    costed: sum((row) => row.costed),
    cost: sum((row) => row.cost),
    possibleCost: sum((row) => row.possibleCost),
    margin: sum((row) => row.margin),
  };
}
