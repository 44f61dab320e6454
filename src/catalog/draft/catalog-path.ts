import { isMap, isSeq, YAMLMap, type Document, type Node } from 'yaml';
import { ImportError } from '../import/import-error.ts';
import { scalarText, textNode } from '../import/edit-yaml.ts';

/** Keys of maps from the top; a model of a list goes by its id. */
export type CatalogPath = readonly string[];

export function childOf(node: unknown, key: string): Node | undefined {
  if (isMap(node)) return node.get(textNode(key), true);
  if (!isSeq(node)) return undefined;
  return node.items.find((item) => modelIdOf(item) === key) as Node | undefined;
}

/** The id of an entry of a list of models. */
export function modelIdOf(item: unknown): string | undefined {
  return isMap(item) ? scalarText(item.get('model', true)) : undefined;
}

/** Writes a value; maps on the way are made where they are missing. */
export function setAt(document: Document, path: CatalogPath, value: Node): void {
  const key = path.at(-1) ?? '';
  const parent = parentOf(document, path, true);
  if (isMap(parent)) {
    const known = parent.items.find((pair) => scalarText(pair.key) === key);
    if (known) known.value = value;
    else parent.set(textNode(key), value);
    return;
  }
  if (!isSeq(parent)) throw unchangeable(path);
  const index = parent.items.findIndex((item) => modelIdOf(item) === key);
  if (index < 0) parent.add(value);
  else parent.items[index] = value;
}

/** Removes a value, and the map that held it where nothing else is left in it. */
export function removeAt(document: Document, path: CatalogPath): void {
  const key = path.at(-1) ?? '';
  const parent = parentOf(document, path, false);
  if (isMap(parent)) parent.items = parent.items.filter((pair) => scalarText(pair.key) !== key);
  else if (isSeq(parent)) parent.items = parent.items.filter((item) => modelIdOf(item) !== key);
  if (path.length > SECTION && isMap(parent) && parent.items.length === 0)
    removeAt(document, path.slice(0, -1));
}

/** `upstreams.name`: sections stay, even if they are empty. */
const SECTION = 2;

function parentOf(document: Document, path: CatalogPath, makes: boolean): Node | undefined {
  if (!document.contents && makes) document.contents = new YAMLMap();
  let node = document.contents as Node | undefined;
  for (const key of path.slice(0, -1)) {
    const child = childOf(node, key);
    if (child || !makes) {
      node = child;
      continue;
    }
    if (!isMap(node)) throw unchangeable(path);
    const made = new YAMLMap();
    made.flow = node.flow ?? false;
    node.set(textNode(key), made);
    node = made;
  }
  return node;
}

function unchangeable(path: CatalogPath): ImportError {
  return new ImportError(`${path.join('.')} is in a form that cannot be changed here; edit it.`);
}
