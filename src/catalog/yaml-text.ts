import { isCollection, isMap, isSeq, parseDocument, type Document, type Node, type YAMLMap } from 'yaml';
import { formatUsd, parseUsd } from '../std/money.ts';
import {
  isCatalogList,
  isCatalogMap,
  numberPlace,
  storedData,
  unchangeable,
  type CatalogMap,
  type CatalogValue,
} from './catalog-data.ts';
import { REFERENCE } from './file-schema.ts';
import { ImportError, type Path } from './mistakes.ts';
import { maskReferences, readYaml, unmaskReferences } from './yaml-source.ts';

/** A catalog for people: sections and lists in lines, each backend, model and endpoint in one. */
export function catalogYaml(catalog: CatalogMap): string {
  return `${blockLines(catalog, []).join('\n')}\n`;
}

/** A stored text for people; what somebody has typed stays as it is. */
export function shownYaml(text: string): string {
  const data = storedData(text);
  return data ? catalogYaml(data) : text;
}

const BLOCK_DEPTH = 2;
const INDENT = '  ';

function blockLines(value: CatalogMap, path: Path): string[] {
  const indent = INDENT.repeat(path.length);
  return Object.entries(value).flatMap(([key, item]) => {
    const inner = [...path, key];
    const start = `${indent}${keyText(key)}:`;
    if (isCatalogMap(item) && inner.length < BLOCK_DEPTH && Object.keys(item).length > 0)
      return [start, ...blockLines(item, inner)];
    if (isCatalogList(item) && item.some(isCatalogMap) && path[0] === 'lists')
      return [start, ...item.map((entry, at) => `${indent}${INDENT}- ${flowText(entry, [...inner, at])}`)];
    return [`${start} ${flowText(item, inner)}`];
  });
}

/** A value in one line. */
export function flowText(value: CatalogValue, path: Path): string {
  if (isCatalogList(value)) {
    const items = value.map((item, index) => flowText(item, [...path, index]));
    return items.length === 0 ? '[]' : `[ ${items.join(', ')} ]`;
  }
  if (isCatalogMap(value)) {
    const items = Object.entries(value).map(
      ([key, item]) => `${keyText(key)}: ${flowText(item, [...path, key])}`,
    );
    return items.length === 0 ? '{}' : `{ ${items.join(', ')} }`;
  }
  if (typeof value === 'boolean' || value === null) return String(value);
  // Amounts are written as on every page: with two decimals at least.
  const amount = numberPlace(path) === 'amount' ? parseUsd(value) : undefined;
  if (amount !== undefined) return formatUsd(amount);
  return typeof value === 'number' || REFERENCE.test(value) ? String(value) : quoted(value, PLAIN);
}

/** Words that are read as text wherever they stand. */
const PLAIN = /^[A-Za-z][\w./-]*(?: [A-Za-z0-9(][\w./()-]*)*$/;
/** Numbers of tokens, and sizes, too. */
const PLAIN_KEY = /^(?:[A-Za-z][\w./-]*|[1-9]\d{0,14}|\d+x\d+)$/;
const OTHER_VALUES = /^(?:true|false|null|yes|no|on|off|y|n)$/i;

function keyText(key: string): string {
  return quoted(key, PLAIN_KEY);
}

/** A text in double quotes is written as in JSON; a reader of lines would break it at the characters that are no ASCII. */
function quoted(text: string, plain: RegExp): string {
  if (plain.test(text) && !OTHER_VALUES.test(text)) return text;
  return JSON.stringify(text).replace(
    /[\x7f-\xa0\u2028\u2029\ufeff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/**
 * The operator's own text, changed so that it says what `after` says; comments and everything else stay. All values are
 * read as text (`failsafe`), so that a price such as 0.10 leaves as it came.
 */
export function editedYaml(text: string, after: CatalogMap): string {
  const before = readYaml(text).value;
  if (!isCatalogMap(before)) throw new ImportError('The catalog cannot be read; check it first.');
  const document: Document = parseDocument(maskReferences(text), { schema: 'failsafe', prettyErrors: false });
  writeChanges(document.contents, { before, after, path: [] });
  return unmaskReferences(document.toString({ lineWidth: 0, flowCollectionPadding: true }));
}

interface Difference {
  readonly before: CatalogMap | readonly CatalogValue[];
  readonly after: CatalogMap | readonly CatalogValue[];
  readonly path: Path;
}

/** Writes what differs into a map or a list. */
function writeChanges(node: unknown, { before, after, path }: Difference): void {
  if (!isCollection(node)) throw unchangeable(path);
  const known = new Map(Object.entries(before));
  for (const key of [...known.keys()].toReversed())
    if (!Object.hasOwn(after, key)) node.delete(maskReferences(key));
  for (const [key, value] of Object.entries(after)) {
    const was = known.get(key);
    if (JSON.stringify(was) === JSON.stringify(value)) continue;
    const inner = [...path, isSeq(node) ? Number(key) : key];
    if (isFilled(was) && isFilled(value) && isCatalogMap(was) === isCatalogMap(value))
      writeChanges(node.get(maskReferences(key), true), { before: was, after: value, path: inner });
    else if (isSeq(node)) node.set(key, nodeOf(flowText(value, inner)));
    else writeEntry(node, blockLines({ [key]: value }, path).join('\n'));
  }
}

function isFilled(value: CatalogValue | undefined): value is CatalogMap | readonly CatalogValue[] {
  return (isCatalogMap(value) || isCatalogList(value)) && Object.keys(value).length > 0;
}

function writeEntry(map: YAMLMap, text: string): void {
  const written = nodeOf(text);
  for (const pair of isMap(written) ? written.items : []) map.set(pair.key, pair.value);
}

function nodeOf(text: string): Node {
  const { contents } = parseDocument(maskReferences(text), { schema: 'failsafe' });
  if (!contents) throw new Error('an empty value');
  return contents;
}
