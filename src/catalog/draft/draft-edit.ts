import type { Document } from 'yaml';
import type { CatalogFile, EndpointEntry } from '../file-schema.ts';
import {
  Amount,
  changedText,
  nodeOf,
  type ListRuns,
  VariableReference,
  type YamlValue,
} from '../import/edit-yaml.ts';
import type { FoldedRun } from '../folded-text.ts';
import { ImportError } from '../import/import-error.ts';
import { readOneLineEntry, type OneLineEntry } from '../one-line-entry.ts';
import { removeAt, setAt, type CatalogPath } from './catalog-path.ts';
import { referencesTo, upstreamName } from './references.ts';

export type EditedPlaces = readonly (readonly { readonly upstream: string; readonly weight: number }[])[];

/** One change that an operator makes on a page, without YAML. Amounts are decimals in dollars. */
export type DraftEdit =
  /** `undefined`: the usual address of its kind or preset. */
  | { readonly kind: 'address'; readonly backend: string; readonly baseUrl: string | undefined }
  /** Names of variables or stored keys. */
  | { readonly kind: 'keys'; readonly backend: string; readonly names: readonly string[] }
  | { readonly kind: 'remove_backend'; readonly backend: string; readonly withReferences: boolean }
  | { readonly kind: 'places'; readonly endpoint: string; readonly places: EditedPlaces }
  | {
      readonly kind: 'add_model';
      readonly list: string;
      readonly model: string;
      readonly name?: string | undefined;
      readonly input: string;
      readonly output: string;
    }
  | { readonly kind: 'remove_model'; readonly list: string; readonly model: string }
  | {
      readonly kind: 'price';
      readonly list: string;
      readonly model: string;
      readonly input?: string | undefined;
      readonly output?: string | undefined;
    };

/** The text with the changes; comments and everything else stay. Throws an `ImportError` for what cannot be done. */
export function editDraft(text: string, file: CatalogFile, edits: readonly DraftEdit[]): string {
  const isEverywhere = edits.some(({ kind }) => kind === 'remove_backend');
  const touched = new Set(edits.flatMap((edit) => (edit.kind === 'remove_model' ? [edit.model] : [])));
  const isTouched = ({ value }: OneLineEntry): boolean => isEverywhere || touched.has(String(value['model']));
  return changedText(text, isTouched, (document, runs) => {
    const lines = new PriceLines(runs);
    for (const edit of edits) if (!lines.set(edit)) applyEdit(document, file, edit);
  });
}

/** Prices of models that are in one line each. */
class PriceLines {
  readonly #places = new Map<string, { readonly run: FoldedRun; readonly index: number }>();

  constructor(runs: ListRuns) {
    for (const [list, own] of runs)
      for (const run of own)
        for (const [index, { value }] of run.entries.entries()) {
          const key = `${list}\n${String(value['model'])}`;
          if (!this.#places.has(key)) this.#places.set(key, { run, index });
        }
  }

  /** False: it is no price, or of another model. */
  set(edit: DraftEdit): boolean {
    const place = edit.kind === 'price' ? this.#places.get(`${edit.list}\n${edit.model}`) : undefined;
    if (edit.kind !== 'price' || !place) return false;
    const { run, index } = place;
    for (const side of ['input', 'output'] as const) {
      const amount = edit[side];
      if (amount !== undefined) run.lines[index] = withValue(run.lines[index] ?? '', side, amount);
    }
    return true;
  }
}

/** The entry with another value, or with one more. */
function withValue(line: string, key: string, value: string): string {
  const entry = readOneLineEntry(line);
  if (!entry) throw new Error(`no entry in one line: ${line}`);
  const { start, end } = entry.places.get(key) ?? {};
  if (start !== undefined) return line.slice(0, start) + value + line.slice(end);
  const last = line.slice(0, entry.end).trimEnd();
  return `${last}, ${key}: ${value}${line.slice(last.length)}`;
}

function applyEdit(document: Document, file: CatalogFile, edit: DraftEdit): void {
  const set = (path: CatalogPath, value: YamlValue | undefined): void => {
    if (value === undefined) removeAt(document, path);
    else setAt(document, path, nodeOf(value));
  };
  switch (edit.kind) {
    case 'address':
      requireKnown('backend', edit.backend, file.upstreams);
      return set(['upstreams', edit.backend, 'base_url'], edit.baseUrl);
    case 'keys': {
      requireKnown('backend', edit.backend, file.upstreams);
      const references = edit.names.map((name) => new VariableReference(name));
      set(['upstreams', edit.backend, 'api_key'], references.length === 1 ? references[0] : undefined);
      return set(['upstreams', edit.backend, 'api_keys'], references.length > 1 ? references : undefined);
    }
    case 'remove_backend':
      return removeBackend(document, file, edit);
    case 'places':
      requireKnown('endpoint', edit.endpoint, file.endpoints);
      return set(['endpoints', edit.endpoint, 'upstreams'], writtenPlaces(edit.places));
    case 'add_model':
      return addModel(file, edit, set);
    case 'remove_model':
      requireModel(file, edit);
      if (file.lists[edit.list]?.length === 1)
        throw new ImportError(
          `${edit.model} is the only model of the list ${edit.list}. Remove the endpoint, or add another model first.`,
        );
      return set(['lists', edit.list, edit.model], undefined);
    case 'price':
      requireModel(file, edit);
      for (const side of ['input', 'output'] as const) {
        const amount = edit[side];
        if (amount !== undefined) set(['lists', edit.list, edit.model, side], new Amount(amount));
      }
      return;
    default:
      return edit satisfies never;
  }
}

function removeBackend(
  document: Document,
  file: CatalogFile,
  { backend, withReferences }: Extract<DraftEdit, { kind: 'remove_backend' }>,
): void {
  requireKnown('backend', backend, file.upstreams);
  const { sharedEndpoints, ownEndpoints, ownLists, aliases, details } = referencesTo(file, backend);
  const isUsed = sharedEndpoints.length + ownEndpoints.length + details.length > 0;
  if (isUsed && !withReferences)
    throw new ImportError(
      `${backend} is still used: ${[...ownEndpoints, ...sharedEndpoints, ...details.map((path) => path.join('.'))].slice(0, MOST_NAMED).join(', ')}.`,
    );
  for (const alias of aliases) removeAt(document, ['aliases', alias]);
  for (const code of ownEndpoints) removeAt(document, ['endpoints', code]);
  for (const list of ownLists) removeAt(document, ['lists', list]);
  for (const path of details) removeAt(document, path);
  for (const code of sharedEndpoints) {
    const { upstreams, selectable } = file.endpoints[code] as EndpointEntry;
    const left = upstreams.filter((entry) => upstreamName(entry) !== backend);
    setAt(document, ['endpoints', code, 'upstreams'], nodeOf(left.map(writtenUpstream)));
    if (!selectable) continue;
    const choices = selectable.filter((name) => name !== backend);
    if (choices.length === 0) removeAt(document, ['endpoints', code, 'selectable']);
    else setAt(document, ['endpoints', code, 'selectable'], nodeOf(choices));
  }
  removeAt(document, ['upstreams', backend]);
}

const MOST_NAMED = 20;

function writtenUpstream(entry: EndpointEntry['upstreams'][number]): YamlValue {
  return typeof entry === 'string' ? entry : { name: entry.name, weight: entry.weight };
}

/** A plain name is a place of its own; weighted entries that follow each other are one place. */
function writtenPlaces(places: EditedPlaces): YamlValue {
  const isShared = places.map((place) => place.length > 1);
  if (isShared.some((shared, index) => shared && isShared[index + 1] === true))
    throw new ImportError(
      'Two groups of backends that share the load cannot follow each other. Join them, or put one backend between them.',
    );
  return places.flatMap((place): YamlValue[] =>
    place.length === 1
      ? place.map(({ upstream }) => upstream)
      : place.map(({ upstream, weight }) => ({ name: upstream, weight })),
  );
}

function addModel(
  file: CatalogFile,
  { list, model, name, input, output }: Extract<DraftEdit, { kind: 'add_model' }>,
  set: (path: CatalogPath, value: YamlValue) => void,
): void {
  requireKnown('list', list, file.lists);
  if (file.lists[list]?.some((entry) => entry.model === model))
    throw new ImportError(`The list ${list} has the model ${model} already.`);
  const isFree = Number(input) === 0 && Number(output) === 0;
  const price = isFree ? { free: true } : { input: new Amount(input), output: new Amount(output) };
  const entry = { model, ...(name !== undefined && { display_name: name }), ...price };
  set(['lists', list, model], entry);
}

function requireModel(
  file: CatalogFile,
  { list, model }: { readonly list: string; readonly model: string },
): void {
  requireKnown('list', list, file.lists);
  if (file.lists[list]?.some((entry) => entry.model === model)) return;
  throw new ImportError(`The list ${list} has no model ${model}.`);
}

function requireKnown(what: string, name: string, known: Readonly<Record<string, unknown>>): void {
  if (!Object.hasOwn(known, name)) throw new ImportError(`The draft has no ${what} ${name}.`);
}
