import { costPriceFor, type Model } from '../catalog/catalog.ts';
import type { Attempt, Ending, Settled } from '../ledger/port.ts';
import { costOf, worstCase } from '../ledger/price.ts';
import { unpricedKinds } from '../ledger/priced-parts.ts';
import type { LogFields } from '../std/log.ts';
import { nanoUsd } from '../std/money.ts';
import type { Quote, RelayParts } from './call.ts';
import type { MeteredUsage } from './stream/reported-usage.ts';

/** What a request is charged by, and what it may use and cost. */
export interface CostTerms extends Pick<
  Quote,
  'price' | 'ceiling' | 'image' | 'uncounted' | 'leastWebSearches'
> {
  readonly route: { readonly model: Pick<Model, 'costs' | 'sizes'> };
}

/**
 * A backend that failed after it may have begun to work may send a bill: at most for its input, which is counted, and for
 * all output that the request allowed.
 */
export async function asPossiblyBilled(
  record: Attempt,
  quote: CostTerms,
  outputCap: number | undefined,
): Promise<Attempt> {
  const price = costPriceFor(quote.route.model, record.upstream, quote.image);
  if (!price) return record;
  // A count that fails leaves the bound by the bytes, which is higher.
  const ceiling = (await quote.uncounted?.ceilingByCount().catch(() => undefined)) ?? quote.ceiling;
  const output = outputCap ?? ceiling.output ?? 0;
  return { ...record, cost: { amount: worstCase(price, ceiling, output), basis: 'possible' } };
}

/** Adds what a backend may have done beyond what is known, because its report never came. */
export async function withUnreported(
  attempts: readonly Attempt[],
  { usage }: MeteredUsage,
  quote: CostTerms,
  outputCap: number,
): Promise<readonly Attempt[]> {
  const served = attempts.find(({ result }) => result === 'served');
  const price = served && costPriceFor(quote.route.model, served.upstream, quote.image);
  if (!price) return attempts;
  const lost: Attempt = { upstream: served.upstream, result: 'failed', reason: 'no_report', durationMs: 0 };
  const { cost } = await asPossiblyBilled(lost, quote, outputCap);
  const amount = (cost?.amount ?? 0) - costOf(price, usage);
  return amount > 0
    ? [...attempts, { ...lost, cost: { amount: nanoUsd(amount), basis: 'possible' } }]
    : attempts;
}

/** The attempts with what the one that served cost us: as the provider reports it, else by the catalog's `cost`. */
export function withServedCost(
  attempts: readonly Attempt[],
  { usage, cost }: MeteredUsage,
  quote: CostTerms,
): Attempt[] {
  return attempts.map((attempt) => {
    if (attempt.result !== 'served') return attempt;
    if (cost !== undefined) return { ...attempt, cost: { amount: cost, basis: 'reported' } };
    const price = costPriceFor(quote.route.model, attempt.upstream, quote.image);
    return price ? { ...attempt, cost: { amount: costOf(price, usage), basis: 'priced' } } : attempt;
  });
}

/** Adds what a request cost to the costs of the day, and logs a request that cost more than was charged. */
export function tellCosts(ending: Ending, settled: Settled, parts: RelayParts, fields: LogFields): void {
  const { dailyCosts, clock, metrics, log } = parts;
  for (const { upstream, cost } of ending.attempts)
    if (cost) dailyCosts?.add(upstream, cost.amount, clock.now());
  const lossNanoUsd = lossOn(ending, settled);
  if (lossNanoUsd === 0) return;
  metrics.loss(lossNanoUsd);
  log.error('margin_below_zero', { ...fields, backend: ending.upstream, lossNanoUsd });
}

/** What the operator lost on a request, in nano-USD; zero where it gained, or where its cost is not known. */
function lossOn({ attempts }: Ending, settled: Settled): number {
  const cost = attempts.reduce((sum, attempt) => sum + (attempt.cost?.amount ?? 0), 0);
  return Math.max(0, cost - settled.charged);
}

/** Kinds of usage that have no price in the catalog, for the operator's log. */
export function kindsWithoutPrice({ usage }: MeteredUsage, { price }: CostTerms): string[] {
  return unpricedKinds(price, usage);
}
