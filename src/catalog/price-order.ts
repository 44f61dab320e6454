import type { Endpoint, Model, ModelPrice } from './catalog.ts';

/**
 * An endpoint's backends for one model, the cheapest first, by what the catalog says that they take. Those that take the
 * same share their place by weight. Those whose cost is not known come last, in the order of the file.
 */
export function placesByPrice(places: Endpoint['places'], model: Model): Endpoint['places'] {
  const byCost = new Map<number, Endpoint['places'][number][number][]>();
  for (const candidate of places.flat()) {
    const cost = model.costs.get(candidate.upstream);
    if (cost) byCost.set(usualCost(cost), [...(byCost.get(usualCost(cost)) ?? []), candidate]);
  }
  const known = [...byCost].sort(([one], [other]) => one - other).map(([, place]) => place);
  const unknown = places
    .map((place) => place.filter(({ upstream }) => !model.costs.has(upstream)))
    .filter((place) => place.length > 0);
  return [...known, ...unknown];
}

/** Requests have more input than output; three to one is the usual way to compare prices of tokens. */
const INPUT_SHARE = 3;

function usualCost(price: ModelPrice): number {
  if (price.kind === 'tokens') return INPUT_SHARE * price.input + price.output;
  return price.otherwise ?? Math.max(...price.bySize.values());
}
