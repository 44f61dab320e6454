import { reconcile, bookExport } from '../../src/activity/reconcile.ts';
import { readProviderExport } from '../../src/activity/provider-export.ts';
import type { Store } from '../../src/store/store.ts';
import type { InvoiceLine } from './invoice.ts';
import { pricesOf } from './models.ts';
import { amountOf, dollars } from './prices.ts';
import type { BilledRequest } from './run-plans.ts';

const DAY_MS = 86_400_000;

/** Where a model's cost is known and no client leaves: for those that leave, the last tokens are not known to the nano-dollar. */
export const BILLED_BY_MODEL: ReadonlySet<BilledRequest['plan']['verdict']> = new Set([
  'cost',
  'possible',
  'failover',
]);

/** Requests of one day and model. */
type Groups = ReadonlyMap<string, readonly BilledRequest[]>;

interface Provider {
  /** Its backends in the catalog. */
  readonly backends: readonly string[];
  readonly isOf: (model: string) => boolean;
  readonly export: (groups: Groups) => string;
}

const PROVIDERS: readonly Provider[] = [
  { backends: ['first', 'open'], isOf: (model) => !model.startsWith('claude'), export: openAiCosts },
  {
    backends: ['claude-first', 'claude'],
    isOf: (model) => model.startsWith('claude'),
    export: anthropicCosts,
  },
];

/**
 * Gives the backend's invoice to `tollgate reconcile` as each provider has it for download, and books it. Our books know a
 * bound of what never came; by that it becomes what was billed for it, and nothing stays unknown. Says what is wrong, in
 * words, and what the books say in the end.
 */
export async function bookProviderBills(
  store: Store,
  requests: readonly BilledRequest[],
): Promise<{ faults: string[]; booked: ReadonlyMap<string, bigint> }> {
  const billed = requests.filter(({ plan, receipt }) => receipt && BILLED_BY_MODEL.has(plan.verdict));
  const faults: string[] = [];
  for (const provider of PROVIDERS) {
    const groups = Map.groupBy(
      billed.filter(({ plan }) => provider.isOf(plan.model)),
      ({ plan, receipt }) => `${startOfDay(receipt?.createdAt ?? 0)} ${plan.model}`,
    );
    if (groups.size === 0) faults.push(`nothing to reconcile with ${provider.backends.join(', ')}`);
    else faults.push(...(await bookFaults(store, provider, groups)));
  }
  const sums = await store.db.selectFrom('backend_day').select(['model', 'cost', 'possible_cost']).execute();
  const booked = new Map<string, bigint>();
  for (const { model, cost, possible_cost } of sums)
    booked.set(model, (booked.get(model) ?? 0n) + BigInt(cost) + BigInt(possible_cost));
  return { faults, booked };
}

async function bookFaults(
  store: Store,
  { backends, export: write }: Provider,
  groups: Groups,
): Promise<string[]> {
  const exported = readProviderExport(write(groups));
  const compared = async () =>
    (await reconcile(store.db, exported, { backends })).filter(({ isListed }) => isListed);
  const before = await compared();
  const days = [...groups.keys()].map((key) => Number(key.split(' ')[0]));
  // On the day after the day after the last.
  const booking = { store, nowMs: Math.max(...days) + 2 * DAY_MS, actor: 'test', cause: 'invoice' };
  await bookExport(booking, before, { backends });
  const after = await compared();
  return [...groups].flatMap(([key, own]) => {
    const isOwn = (row: (typeof before)[number]): boolean =>
      `${startOfNumberedDay(row.day)} ${row.model}` === key;
    const theirs = sumOf(own, ({ invoiced }) => invoiced);
    const neverCame = sumOf(own, (request) => amountOfLines(request, unservedLines(request)));
    const expected = [
      { theirs, ours: theirs - neverCame, retries: neverCame, unknown: 0 },
      { theirs, ours: theirs, retries: 0, unknown: 0, possibleCost: 0 },
    ];
    const found = [before.find(isOwn), after.find(isOwn)].map(
      (row, index) =>
        row && {
          theirs: row.theirs,
          ours: row.ours,
          retries: row.retries,
          unknown: row.unknown,
          ...(index === 1 && { possibleCost: row.possibleCost }),
        },
    );
    if (Bun.deepEquals(found, expected)) return [];
    return [`reconciled ${key}: ${JSON.stringify(found)}, expected ${JSON.stringify(expected)}`];
  });
}

/** One page of OpenAI's costs (https://platform.openai.com/docs/api-reference/usage/costs), grouped by line item. */
function openAiCosts(groups: Groups): string {
  const data = [...groups].map(([key, own]) => {
    const [start = '', model = ''] = key.split(' ');
    const seconds = Number(start) / 1_000;
    const results = amountsOf(own).map((amount) => ({
      object: 'organization.costs.result',
      amount: { value: Number(dollars(amount)), currency: 'usd' },
      line_item: `${model}, input and output`,
    }));
    return { object: 'bucket', start_time: seconds, end_time: seconds + DAY_MS / 1_000, results };
  });
  return JSON.stringify({ object: 'page', data, has_more: false, next_page: null });
}

/** One page of Anthropic's cost report (https://platform.claude.com/docs/en/api/admin/cost_report): cents as decimal text. */
function anthropicCosts(groups: Groups): string {
  const data = [...groups].map(([key, own]) => {
    const [start = '', model = ''] = key.split(' ');
    const [startingAt, endingAt] = [0, DAY_MS].map((ms) => new Date(Number(start) + ms).toISOString());
    const results = amountsOf(own).map((amount) => ({
      amount: dollars(amount * 100n),
      currency: 'USD',
      model,
      cost_type: 'tokens',
    }));
    return { starting_at: startingAt, ending_at: endingAt, results };
  });
  return JSON.stringify({ data, has_more: false, next_page: null });
}

function amountsOf(requests: readonly BilledRequest[]): bigint[] {
  return requests.flatMap((request) => request.lines.map((line) => amountOfLines(request, [line])));
}

/** What was billed by a backend that did not serve the request. */
function unservedLines({ plan, lines }: BilledRequest): readonly InvoiceLine[] {
  if (plan.verdict === 'possible') return lines;
  return plan.verdict === 'failover' ? lines.filter(({ backend }) => backend === 'first') : [];
}

function amountOfLines({ plan }: BilledRequest, lines: readonly InvoiceLine[]): bigint {
  return lines.reduce((sum, line) => sum + amountOf(line, pricesOf(plan.model)), 0n);
}

function sumOf(requests: readonly BilledRequest[], amount: (request: BilledRequest) => bigint): number {
  return Number(requests.reduce((sum, request) => sum + amount(request), 0n));
}

function startOfDay(ms: number): number {
  return ms - (ms % DAY_MS);
}

/** A day as 20260115. */
function startOfNumberedDay(day: number): number {
  const text = String(day);
  return Date.UTC(Number(text.slice(0, 4)), Number(text.slice(4, 6)) - 1, Number(text.slice(6)));
}
