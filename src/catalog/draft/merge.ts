import { isMap, isSeq, visit, type Document, type Node } from 'yaml';
import { FOLD, foldCommon, unfolded, type FoldedText } from '../folded-text.ts';
import { catalogTextOf, openCatalogText, scalarText } from '../import/edit-yaml.ts';
import { childOf, modelIdOf, removeAt, setAt, type CatalogPath } from './catalog-path.ts';

export interface MergeInput {
  /** What both began with. */
  readonly base: string;
  readonly mine: string;
  readonly theirs: string;
  /** Whose value counts where both have changed the same; without it, such a merge is none. */
  readonly prefer?: 'mine' | 'theirs' | undefined;
}

export interface MergeResult {
  /** The newer text with the changes of mine. */
  readonly text: string;
  /** What both have changed, each to something else, such as `lists.models.gpt-5.input`. */
  readonly conflicts: readonly string[];
}

/**
 * Puts the changes that mine made to the base into their text: entry by entry and not line by line, so that two prices of
 * neighbours, or a price and a backend, are no conflict. Throws an `ImportError` for a text that is not YAML.
 */
export function mergeCatalogs(input: MergeInput): MergeResult {
  const { base, mine, theirs, prefer } = input;
  const folded = mergeFolded(input);
  if (folded) return folded;
  const target = openCatalogText(theirs);
  const conflicts = mergeInto(target, openCatalogText(base), openCatalogText(mine), prefer);
  return { text: catalogTextOf(target), conflicts };
}

/** Without the models that are the same in all three, each in one line. `undefined`: they must be merged as a whole. */
function mergeFolded({ base, mine, theirs, prefer }: MergeInput): MergeResult | undefined {
  const [before, own, newer] = foldCommon([base, mine, theirs]) ?? [];
  if (!before || !own || !newer) return undefined;
  const [first, second] = [withoutRuns(before), withoutRuns(own)];
  if (!first || !second) return undefined;
  const target = openCatalogText(newer.text);
  const conflicts = mergeInto(target, first, second, prefer);
  const text = unfolded(catalogTextOf(target), newer);
  return text === undefined ? undefined : { text, conflicts };
}

/** `undefined`: some are no entries of a list, but lines of a longer text. */
function withoutRuns({ text, runs }: FoldedText): Document | undefined {
  const document = openCatalogText(text);
  let removed = 0;
  visit(document, {
    Seq: (_, node) => {
      const kept = node.items.filter((item) => !isFolded(item));
      removed += node.items.length - kept.length;
      node.items = kept;
    },
  });
  return removed === runs.length ? document : undefined;
}

function isFolded(item: unknown): boolean {
  return scalarText(item)?.startsWith(FOLD) === true;
}

/** Changes `target`, and returns what both have changed. */
function mergeInto(target: Document, base: Document, mine: Document, prefer: MergeInput['prefer']): string[] {
  const changes: Change[] = [];
  const conflicts: CatalogPath[] = [];
  const versions = {
    base: base.contents ?? undefined,
    mine: mine.contents ?? undefined,
    theirs: target.contents ?? undefined,
  };
  compare(versions, [], { changes, conflicts });
  const wanted = prefer === 'mine' ? changes : changes.filter(({ isConflict }) => !isConflict);
  for (const { path, value } of wanted) apply(target, path, value);
  return conflicts.map((path) => path.join('.'));
}

interface Versions {
  readonly base: Node | undefined;
  readonly mine: Node | undefined;
  readonly theirs: Node | undefined;
}

interface Change {
  readonly path: CatalogPath;
  /** Absent: it is removed. */
  readonly value: Node | undefined;
  readonly isConflict: boolean;
}

interface Found {
  readonly changes: Change[];
  readonly conflicts: CatalogPath[];
}

function compare({ base, mine, theirs }: Versions, path: CatalogPath, found: Found): void {
  if (isSame(mine, base) || isSame(mine, theirs)) return;
  const keys = path.length === 0 || !isSame(theirs, base) ? commonKeys(mine, theirs) : undefined;
  if (keys) {
    for (const key of keys) {
      const children = {
        base: childOf(base, key),
        mine: childOf(mine, key),
        theirs: childOf(theirs, key),
      };
      compare(children, [...path, key], found);
    }
    return;
  }
  const isConflict = !isSame(theirs, base);
  found.changes.push({ path, value: mine, isConflict });
  if (isConflict) found.conflicts.push(path);
}

/** `undefined` if they are not both maps, or both lists of models. */
function commonKeys(mine: Node | undefined, theirs: Node | undefined): Set<string> | undefined {
  const [ours, others] = [keysOf(mine), keysOf(theirs)];
  return ours && others && new Set([...others, ...ours]);
}

function keysOf(node: Node | undefined): string[] | undefined {
  if (isMap(node)) return node.items.map(({ key }) => scalarText(key) ?? '');
  if (!isSeq(node)) return undefined;
  const ids = node.items.filter((item) => !isFolded(item)).map(modelIdOf);
  return ids.every((id) => id !== undefined) ? ids : undefined;
}

/** By content: comments and forms do not count. */
function isSame(one: Node | undefined, other: Node | undefined): boolean {
  return textOf(one) === textOf(other);
}

const texts = new WeakMap<Node, string>();

function textOf(node: Node | undefined): string | undefined {
  if (!node) return undefined;
  const known = texts.get(node);
  if (known !== undefined) return known;
  const text = JSON.stringify(node.toJSON());
  texts.set(node, text);
  return text;
}

function apply(document: Document, path: CatalogPath, value: Node | undefined): void {
  if (value) setAt(document, path, value);
  else removeAt(document, path);
}
