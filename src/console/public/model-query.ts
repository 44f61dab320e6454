import type { EndpointKind, ModelItem } from '../contract.ts';
import type { SoldModel } from './sold-models.ts';

const SORTS = ['catalog', 'name', 'input', 'output', 'context'] as const;
const FLAGS = ['vision', 'tools', 'reasoning', 'free'] as const;
const KINDS = ['chat_completion', 'image_generation', 'embedding'] as const;

/** What a visitor of the list of models asks for; anything that makes no sense counts as not asked for. */
export interface ModelQuery extends Readonly<Record<(typeof FLAGS)[number], boolean>> {
  readonly q: string;
  readonly kind: EndpointKind | '';
  readonly sort: (typeof SORTS)[number];
  readonly page: number;
  readonly compare: readonly string[];
}

const MOST_TEXT = 200;
const MOST_CHOSEN = 20;

export function modelQuery(asked: URLSearchParams): ModelQuery {
  const page = Number(asked.get('page') ?? 1);
  return {
    q: (asked.get('q') ?? '').trim().slice(0, MOST_TEXT),
    kind: KINDS.find((kind) => kind === asked.get('kind')) ?? '',
    sort: SORTS.find((sort) => sort === asked.get('sort')) ?? 'catalog',
    vision: asked.get('vision') === '1',
    tools: asked.get('tools') === '1',
    reasoning: asked.get('reasoning') === '1',
    free: asked.get('free') === '1',
    page: Number.isSafeInteger(page) && page > 0 ? page : 1,
    compare: [...new Set(asked.getAll('compare').slice(0, MOST_CHOSEN))],
  };
}

export function hasFilter(query: ModelQuery): boolean {
  return listHref({ ...query, page: 1 }) !== '/models';
}

/** The address of a list, with what differs from the whole one. */
export function listHref(query: ModelQuery): string {
  const { q, kind, sort, page } = query;
  const asked = new URLSearchParams();
  if (q !== '') asked.set('q', q);
  if (kind !== '') asked.set('kind', kind);
  for (const flag of FLAGS) if (query[flag]) asked.set(flag, '1');
  if (sort !== 'catalog') asked.set('sort', sort);
  if (page > 1) asked.set('page', String(page));
  return asked.size === 0 ? '/models' : `/models?${asked.toString()}`;
}

/** The models that fit, in the order that was asked for. All words of the search have to be found. */
export function matching(sold: ReadonlyMap<string, SoldModel>, query: ModelQuery): SoldModel[] {
  const words = query.q.toLowerCase().split(/\s+/).filter(Boolean);
  const flags = FLAGS.filter((flag) => query[flag]);
  const found = [...sold.values()].filter(
    ({ searched, offers }) =>
      words.every((word) => searched.includes(word)) &&
      offers.some(
        (offer) => (query.kind === '' || offer.type === query.kind) && flags.every((flag) => offer[flag]),
      ),
  );
  const keyOf = SORT_KEYS[query.sort];
  if (!keyOf) return found;
  return found
    .map((model) => ({ model, key: keyOf(model.best) }))
    .sort((a, b) => compareKeys(a.key, b.key))
    .map(({ model }) => model);
}

/** What each order goes by, read once for each model and not for each comparison. */
const SORT_KEYS: Record<ModelQuery['sort'], ((item: ModelItem) => string | number) | undefined> = {
  catalog: undefined,
  name: ({ displayName }) => displayName.toLowerCase(),
  input: (item) => priceOrder(item, 'inputUsd'),
  output: (item) => priceOrder(item, 'outputUsd'),
  context: ({ contextTokens }) => -contextTokens,
};

/** Comparing by the rules of a language takes much longer for thousands of names. */
function compareKeys(a: string | number, b: string | number): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** Models without a price for tokens come last. Only compared, never shown. */
function priceOrder({ price, free }: ModelItem, part: 'inputUsd' | 'outputUsd'): number {
  if (free) return 0;
  return price.kind === 'tokens' ? Number(price[part]) : Number.MAX_VALUE;
}
