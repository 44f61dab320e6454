import { z } from 'zod';
import {
  losses,
  MARGIN_GROUPS,
  marginGroups,
  type MarginGroup,
  type MarginRow,
} from '../../activity/margin.ts';

import { DAY_MS, dayOf } from '../../std/calendar.ts';
import { requestIdAt } from '../../std/ids.ts';
import { dayText, usd } from '../amounts.ts';
import type { RouteParts } from '../parts.ts';
import { recentOf } from '../recent-answers.ts';
import { route } from '../route.ts';

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
    /** Of that, what was charged for requests whose cost is not known. */
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
