import { isCatalogMap, isModelList, type CatalogMap, type CatalogValue } from '../catalog-data.ts';

interface MergeInput {
  /** What both began with. */
  readonly base: CatalogMap;
  readonly mine: CatalogMap;
  readonly theirs: CatalogMap;
  /** Whose value counts where both have changed the same; without it, such a merge is none. */
  readonly prefer?: 'mine' | 'theirs' | undefined;
}

interface MergeResult {
  /** The newer catalog with the changes of mine. */
  readonly merged: CatalogMap;
  /** What both have changed, each to something else, such as `lists.models.gpt-5.input`. */
  readonly conflicts: readonly string[];
}

/**
 * Puts the changes that mine made to the base into theirs: entry by entry, so that two prices of neighbours, or a price
 * and a backend, are no conflict.
 */
export function mergeCatalogs({ prefer, ...versions }: MergeInput): MergeResult {
  const conflicts: string[] = [];
  const merged = mergedValue(versions, [], (path, { mine, theirs }) => {
    conflicts.push(path.join('.'));
    return prefer === 'mine' ? mine : theirs;
  });
  return { merged: isCatalogMap(merged) ? merged : {}, conflicts };
}

type Versions = Readonly<Record<'base' | 'mine' | 'theirs', CatalogValue | undefined>>;
type Decide = (path: readonly string[], versions: Versions) => CatalogValue | undefined;

/** `undefined`: it is removed, or was never there. */
function mergedValue(versions: Versions, path: readonly string[], decide: Decide): CatalogValue | undefined {
  const { base, mine, theirs } = versions;
  if (Bun.deepEquals(mine, base) || Bun.deepEquals(mine, theirs)) return theirs;
  if (Bun.deepEquals(theirs, base)) return mine;
  const [before, own, newer] = [base, mine, theirs].map(childrenOf);
  if (!own || !newer || isCatalogMap(mine) !== isCatalogMap(theirs)) return decide(path, versions);
  const children = [...new Set([...newer.keys(), ...own.keys()])].flatMap((key): [string, CatalogValue][] => {
    const entries = { base: before?.get(key), mine: own.get(key), theirs: newer.get(key) };
    const merged = mergedValue(entries, [...path, key], decide);
    return merged === undefined ? [] : [[key, merged]];
  });
  return isCatalogMap(mine) ? Object.fromEntries(children) : children.map(([, child]) => child);
}

/** Of a map by key, of a list of models by their ids; `undefined`: it is neither, or has an id twice. */
function childrenOf(value: CatalogValue | undefined): ReadonlyMap<string, CatalogValue> | undefined {
  if (isCatalogMap(value)) return new Map(Object.entries(value));
  if (!isModelList(value)) return undefined;
  const children = new Map(value.map((model) => [model.model, model]));
  return children.size === value.length ? children : undefined;
}
