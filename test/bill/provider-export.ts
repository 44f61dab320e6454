import type { Kysely } from 'kysely';
import { readProviderExport } from '../../src/activity/provider-export.ts';
import { reconcile } from '../../src/activity/reconcile.ts';
import type { Schema } from '../../src/store/schema.ts';
import type { InvoiceLine } from './invoice.ts';
import { pricesOf } from './models.ts';
import { amountOf, dollars } from './prices.ts';
import type { BilledRequest } from './run-plans.ts';

const DAY_MS = 86_400_000;

/** Where a model's cost is known and no client leaves: for those that leave, the last tokens are not known to the nano-dollar. */
const COMPARED: ReadonlySet<BilledRequest['plan']['verdict']> = new Set(['cost', 'possible', 'failover']);

/**
 * Compares our books with the backend's invoice as `tollgate reconcile` does, and says what is wrong, in words. Our books
 * know a bound of what never came; here it becomes what was billed for it, and nothing stays unknown.
 */
export async function reconcileFaults(
  db: Kysely<Schema>,
  requests: readonly BilledRequest[],
): Promise<string[]> {
  const groups = Map.groupBy(
    requests.filter(({ plan, receipt }) => receipt && COMPARED.has(plan.verdict)),
    ({ plan, receipt }) => `${startOfDay(receipt?.createdAt ?? 0)} ${plan.model}`,
  );
  if (groups.size === 0) return ['nothing was reconciled'];
  const found = new Map(
    (await reconcile(db, readProviderExport(costsPage(groups)), undefined)).map((one) => [
      `${startOfNumberedDay(one.day)} ${one.model}`,
      { theirs: one.theirs, ours: one.ours, neverCame: one.retries, unknown: one.unknown },
    ]),
  );
  return [...groups].flatMap(([key, own]) => {
    const theirs = sumOf(own, ({ invoiced }) => invoiced);
    const neverCame = sumOf(own, (request) => amountOfLines(request, unservedLines(request)));
    const expected = { theirs, ours: theirs - neverCame, neverCame, unknown: 0 };
    if (Bun.deepEquals(found.get(key), expected)) return [];
    return [`reconciled ${key}: ${JSON.stringify(found.get(key))}, expected ${JSON.stringify(expected)}`];
  });
}

/** One page of OpenAI's costs (https://platform.openai.com/docs/api-reference/usage/costs), grouped by line item. */
function costsPage(groups: ReadonlyMap<string, readonly BilledRequest[]>): string {
  const data = [...groups].map(([key, own]) => {
    const [start = '', model = ''] = key.split(' ');
    const seconds = Number(start) / 1_000;
    const lines = own.flatMap((request) =>
      request.lines.map((line) => ({
        object: 'organization.costs.result',
        amount: { value: Number(dollars(amountOfLines(request, [line]))), currency: 'usd' },
        line_item: `${model}, input and output`,
      })),
    );
    return { object: 'bucket', start_time: seconds, end_time: seconds + DAY_MS / 1_000, results: lines };
  });
  return JSON.stringify({ object: 'page', data, has_more: false, next_page: null });
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
