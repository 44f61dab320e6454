import type { ModelItem } from '../../lib/answers.ts';
import type { SearchState } from '../../lib/search.ts';

export interface ModelGroup {
  readonly id: string;
  /** The offer that the row shows: the first one that can be used now. */
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

/** An offer as the value of a select, and in addresses. */
export function choiceOf(model: Pick<ModelItem, 'endpoint' | 'model'>): string {
  return `${model.endpoint} ${model.model}`;
}

/** Whether the offers cost different amounts, so that the price of one is not that of all. */
export function pricesDiffer({ offers }: ModelGroup): boolean {
  return new Set(offers.map(({ free, price }) => JSON.stringify([free, price]))).size > 1;
}

/** The models that pass the filters in the address, in the order it asks for. */
export function filterModels(models: readonly ModelItem[], state: SearchState): ModelItem[] {
  const words = (state['q'] ?? '').toLowerCase().split(/\s+/).filter(Boolean);
  const left = models.filter(
    (model) =>
      words.every((word) => searchText(model).includes(word)) &&
      (!state['type'] || model.type === state['type']) &&
      (!state['endpoint'] || model.endpoint === state['endpoint']) &&
      can(model, state['can']),
  );
  const by = ORDERS[state['sort'] ?? ''];
  return by ? left.sort(by) : left;
}

function searchText(model: ModelItem): string {
  return `${model.displayName} ${model.model} ${model.endpoint} ${model.endpointName}`.toLowerCase();
}

function can(model: ModelItem, ability: string | undefined): boolean {
  if (ability === 'vision' || ability === 'tools' || ability === 'reasoning') return model[ability];
  return true;
}

const ORDERS: Readonly<Record<string, (a: ModelItem, b: ModelItem) => number>> = {
  name: (a, b) => a.displayName.localeCompare(b.displayName),
  context: (a, b) => b.contextTokens - a.contextTokens,
  input: (a, b) => price(a, 'input') - price(b, 'input'),
  output: (a, b) => price(a, 'output') - price(b, 'output'),
};

/** Image models have no price per token and come after those that do. */
function price(model: ModelItem, part: 'input' | 'output'): number {
  if (model.price.kind !== 'tokens') return Infinity;
  return Number(part === 'input' ? model.price.inputUsd : model.price.outputUsd);
}
