import { Document, isMap, isScalar, isSeq, parseDocument, Scalar, YAMLMap, YAMLSeq, type Node } from 'yaml';
import { foldEntries, runOf, unfolded, type FoldedRun, type FoldedText } from '../folded-text.ts';
import type { OneLineEntry } from '../one-line-entry.ts';
import { maskReferences, unmaskReferences } from '../yaml-source.ts';
import { ImportError } from './import-error.ts';

/** Values of new entries: texts are quoted where YAML would read something else. */
export type YamlValue =
  | string
  | number
  | boolean
  | Amount
  | VariableReference
  | YamlEntry
  | readonly YamlValue[];
export interface YamlEntry {
  readonly [key: string]: YamlValue | undefined;
}

/** A decimal as text: a float would not be what was written. */
export class Amount {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** `${NAME}` */
export class VariableReference {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

export interface CatalogEdit {
  readonly upstreams: Readonly<Record<string, YamlEntry>>;
  /** Appended to lists, which are made where they are missing. */
  readonly models: Readonly<Record<string, readonly YamlEntry[]>>;
  readonly endpoints: Readonly<Record<string, YamlEntry>>;
  readonly updates: readonly ModelUpdate[];
  /** Keys of upstreams that are there; `undefined` removes a key. */
  readonly upstreamUpdates?: Readonly<Record<string, YamlEntry>> | undefined;
}

export interface ModelUpdate {
  readonly list: string;
  readonly model: string;
  readonly set: YamlEntry;
}

/**
 * The text of a catalog with these changes; comments and everything else stay. All values are read as text (`failsafe`),
 * so that a price such as 0.000000001 leaves as it came.
 */
export function editCatalog(text: string, edit: CatalogEdit): string {
  const updated = new Set(edit.updates.map(({ model }) => model));
  return changedText(
    text,
    ({ value }) => updated.has(String(value['model'])),
    (document) => applyTo(document, edit),
  );
}

function applyTo(document: Document, edit: CatalogEdit): void {
  for (const [name, entry] of Object.entries(edit.upstreams))
    mapAt(document, 'upstreams').set(textNode(name), nodeOf(entry));
  for (const [list, entries] of Object.entries(edit.models)) {
    const models = listAt(mapAt(document, 'lists'), list);
    for (const entry of entries) models.add(nodeOf(entry));
  }
  for (const [code, entry] of Object.entries(edit.endpoints))
    mapAt(document, 'endpoints').set(textNode(code), nodeOf(entry));
  for (const update of edit.updates) updateModel(document, update);
  for (const [name, set] of Object.entries(edit.upstreamUpdates ?? {})) updateUpstream(document, name, set);
}

/**
 * The text after `change`. Long runs of models in one line each are folded, so that `change` finds no entries for them but
 * may change their lines; those that are touched are not folded.
 */
export function changedText(
  text: string,
  isTouched: (entry: OneLineEntry) => boolean,
  change: (document: Document, runs: ListRuns) => void,
): string {
  const folded = foldEntries(text, isTouched);
  const document = folded && parsed(folded.text);
  if (folded && document) {
    change(document, runsOfLists(document, folded));
    const whole = unfolded(catalogTextOf(document), folded);
    if (whole !== undefined) return whole;
  }
  const unfoldedDocument = openCatalogText(text);
  change(unfoldedDocument, NO_RUNS);
  return catalogTextOf(unfoldedDocument);
}

/** The runs of each list of models. */
export type ListRuns = ReadonlyMap<string, readonly FoldedRun[]>;

const NO_RUNS: ListRuns = new Map();

function runsOfLists(document: Document, folded: FoldedText): ListRuns {
  const lists = document.get('lists', true);
  const runs = (isMap(lists) ? lists.items : []).map(({ key, value }): [string, FoldedRun[]] => [
    scalarText(key) ?? '',
    (isSeq(value) ? value.items : []).flatMap(
      (item) => runOf(folded, isScalar(item) ? item.value : undefined) ?? [],
    ),
  ]);
  return new Map(runs);
}

/** A catalog as a document whose comments and forms stay; every scalar is text. */
export function openCatalogText(text: string): Document {
  const document = parsed(text);
  if (!document) throw new ImportError('The catalog cannot be read; check it first.');
  return document;
}

function parsed(text: string): Document | undefined {
  // An empty text may get contents too, which the type of a parsed document does not say.
  const document: Document = parseDocument(maskReferences(text), { schema: 'failsafe', prettyErrors: false });
  return document.errors.length > 0 ? undefined : document;
}

export function catalogTextOf(document: Document): string {
  return unmaskReferences(document.toString({ lineWidth: 0, flowCollectionPadding: true }));
}

/** The same changes as lines to paste. */
export function pasteText(edit: CatalogEdit): string {
  const sections = [edit.upstreams, edit.models, edit.endpoints];
  const added = sections.some((section) => Object.keys(section).length > 0)
    ? editCatalog('', { ...edit, updates: [] }).trimEnd()
    : '';
  const updated = edit.updates.map(({ list, model, set }) => {
    const entry = unmaskReferences(String(new Document(nodeOf(set)))).trim();
    return `# lists.${list}, ${model}: ${entry}`;
  });
  return [added, ...updated].filter((part) => part !== '').join('\n');
}

function updateModel(document: Document, { list, model, set }: ModelUpdate): void {
  const models = mapAt(document, 'lists').get(list, true);
  const entry = isSeq(models)
    ? models.items.find((item) => isMap(item) && scalarText(item.get('model', true)) === model)
    : undefined;
  if (!isMap(entry))
    throw new ImportError(`lists.${list} has '${model}' in a form that cannot be changed here; edit it.`);
  merge(entry, set);
}

function updateUpstream(document: Document, name: string, set: YamlEntry): void {
  const entry = mapAt(document, 'upstreams').get(name, true);
  if (!isMap(entry))
    throw new ImportError(`upstreams.${name} is in a form that cannot be changed here; edit it.`);
  for (const [key, value] of Object.entries(set)) if (value === undefined) entry.delete(key);
  merge(entry, set);
}

function merge(map: YAMLMap, set: YamlEntry): void {
  for (const [key, value] of Object.entries(set)) {
    if (value === undefined) continue;
    const known = map.get(key, true) as Node | undefined;
    if (isMap(known) && isEntry(value)) merge(known, value);
    else map.set(textNode(key), nodeOf(value));
  }
}

function isEntry(value: YamlValue): value is YamlEntry {
  return (
    typeof value === 'object' &&
    !Array.isArray(value) &&
    !(value instanceof Amount) &&
    !(value instanceof VariableReference)
  );
}

/** A section of the file. An empty one in one line (`lists: {}`) is written in several from now on. */
function mapAt(document: Document, key: string): YAMLMap {
  if (!document.contents) document.contents = new YAMLMap();
  const found = document.get(key, true) as Node | undefined;
  if (isMap(found)) {
    if (found.items.length === 0) found.flow = false;
    return found;
  }
  if (found !== undefined && scalarText(found) !== '')
    throw new ImportError(`The catalog's ${key} is no map.`);
  const map = new YAMLMap();
  document.set(textNode(key), map);
  return map;
}

function listAt(lists: YAMLMap, name: string): YAMLSeq {
  const found = lists.get(name, true) as Node | undefined;
  if (isSeq(found)) return found;
  if (found !== undefined) throw new ImportError(`lists.${name} is in a form that cannot be changed here.`);
  const list = new YAMLSeq();
  lists.set(textNode(name), list);
  return list;
}

export function scalarText(node: unknown): string | undefined {
  // Read as `failsafe`, every scalar is text.
  return isScalar(node) && typeof node.value === 'string' ? unmaskReferences(node.value) : undefined;
}

export function nodeOf(value: YamlValue): Node {
  if (typeof value === 'string') return textNode(value);
  if (value instanceof Amount) return plainNode(value.text);
  if (value instanceof VariableReference) return plainNode(maskReferences(`\${${value.name}}`));
  if (typeof value === 'number' || typeof value === 'boolean') return plainNode(String(value));
  if (Array.isArray(value)) {
    const seq = new YAMLSeq();
    seq.flow = true;
    for (const item of value as readonly YamlValue[]) seq.add(nodeOf(item));
    return seq;
  }
  const map = new YAMLMap();
  map.flow = true;
  for (const [key, item] of Object.entries(value as YamlEntry))
    if (item !== undefined) map.set(textNode(key), nodeOf(item));
  return map;
}

function plainNode(text: string): Scalar {
  const node = new Scalar(text);
  node.type = Scalar.PLAIN;
  return node;
}

/** Words that are read as text wherever they stand. */
const SAFE = /^[A-Za-z][\w./-]*(?: [A-Za-z0-9(][\w./()-]*)*$/;
const OTHER_VALUES = /^(?:true|false|null|yes|no|on|off|y|n)$/i;

export function textNode(text: string): Scalar {
  if (SAFE.test(text) && !OTHER_VALUES.test(text)) return plainNode(text);
  const node = new Scalar(text);
  node.type = Scalar.QUOTE_DOUBLE;
  return node;
}
