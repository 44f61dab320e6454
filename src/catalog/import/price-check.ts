import { FACTOR_ONE } from '../../std/price-dimensions.ts';
import type { Catalog, Model, UpstreamConfig } from '../catalog.ts';
import { priceLabel } from '../price-label.ts';
import { markUp } from './markup.ts';
import { amountsLabel, isPriced, soldThrough } from './plan.ts';
import { listedProvider, openPriceList, type PriceList, type TokenAmounts } from './price-list.ts';

/**
 * A line for each model whose cost, or price where it has no cost, is not what the bundled list says. Nothing is asked
 * over the network and nothing is changed.
 */
export async function priceDifferences(catalog: Catalog): Promise<string[]> {
  const listed = [...catalog.upstreams.values()].flatMap((upstream) => {
    const provider = listedProvider(upstream);
    return provider === undefined ? [] : [{ upstream, provider }];
  });
  if (listed.length === 0) return [];
  const list = await openPriceList();
  const lines = listed.flatMap(({ upstream, provider }) =>
    [...soldThrough(catalog, upstream.name)].flatMap(([name, model]) =>
      differenceOf(model, upstream, amountsAt(list, provider, name)),
    ),
  );
  return lines.length === 0 ? [] : [`other than in the list (${list.version}):`, ...lines];
}

/** What a provider charges for a model, by the list. */
export function amountsAt(list: PriceList, provider: string, model: string): TokenAmounts | undefined {
  const amounts = list.find(provider, model)?.amounts;
  return (
    amounts && { ...amounts, reasoning: amounts.reasoning === amounts.output ? undefined : amounts.reasoning }
  );
}

function differenceOf(model: Model, upstream: UpstreamConfig, listed: TokenAmounts | undefined): string[] {
  if (!listed || model.price.kind !== 'tokens' || model.free) return [];
  const cost = model.costs.get(upstream.name);
  if (cost?.kind === 'tokens') {
    if (isPriced(cost, listed)) return [];
    const booked = priceLabel({ ...model, price: cost });
    return [`  ${model.id} costs ${booked} at ${upstream.name}; the list says ${amountsLabel(listed)}`];
  }
  const { markup = FACTOR_ONE } = upstream;
  const wanted = markUp(listed, markup);
  if (isPriced(model.price, wanted)) return [];
  const rule = markup === FACTOR_ONE ? '' : ` × ${markup / FACTOR_ONE} is ${amountsLabel(wanted)}`;
  return [
    `  ${model.id} is sold at ${priceLabel(model)} via ${upstream.name}; the list says ${amountsLabel(listed)}${rule}`,
  ];
}
