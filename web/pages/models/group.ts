import type { ModelItem } from '../../lib/answers.ts';

export interface ModelGroup {
  readonly id: string;
  /** What the row shows: the first offer that can be used now. */
  readonly best: ModelItem;
  readonly offers: readonly ModelItem[];
}

/** Each model once, in the order of the list; if that is sorted, each begins with its best offer. */
export function groupModels(models: readonly ModelItem[]): ModelGroup[] {
  const groups = new Map<string, ModelItem[]>();
  for (const model of models) {
    const id = `${model.type} ${model.model}`;
    const offers = groups.get(id);
    if (offers) offers.push(model);
    else groups.set(id, [model]);
  }
  return [...groups].flatMap(([id, offers]) => {
    const best = offers.find((offer) => offer.unavailable === null) ?? offers[0];
    return best ? [{ id, best, offers }] : [];
  });
}

/** Whether the offers cost different amounts, so that the price of one is not that of all. */
export function pricesDiffer({ offers }: ModelGroup): boolean {
  return new Set(offers.map(({ free, price }) => JSON.stringify([free, price]))).size > 1;
}
