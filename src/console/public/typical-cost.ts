import { modelsById, type Catalog } from '../../catalog/catalog.ts';
import { costOf, NO_USAGE } from '../../ledger/price.ts';
import { nanoUsd, parseUsd } from '../../std/money.ts';
import { usd } from '../amounts.ts';
import type { ModelItem, Usd } from '../contract.ts';

/** What the texts call typical. */
const TYPICAL = { input: 500, output: 300, times: 1_000, images: 100 };

/** What many typical requests cost, each rounded as the ledger does; `undefined`: the price does not say. */
export function typicalCost(catalog: Catalog, offer: ModelItem): Usd | undefined {
  const { type, price } = offer;
  if (price.kind === 'images') {
    const each = parseUsd(price.bySize[0]?.imageUsd ?? '');
    return each === undefined ? undefined : usd(nanoUsd(each * TYPICAL.images));
  }
  const endpoint = catalog.endpoints.get(offer.endpoint);
  const sold = endpoint && modelsById(endpoint).get(offer.model)?.price;
  if (sold?.kind !== 'tokens' || type === 'image_generation') return undefined;
  const output = type === 'embedding' ? 0 : TYPICAL.output;
  return usd(costOf(sold, { ...NO_USAGE, input: TYPICAL.input, output }) * TYPICAL.times);
}
