import { z } from 'zod';
import { formatUsd, nanoUsd } from '../../std/money.ts';
import {
  amountOf,
  withModelValues,
  withValue,
  type CatalogMap,
  type CatalogPath,
  type CatalogValue,
  type ModelValues,
} from '../catalog-data.ts';
import type { CatalogFile } from '../file-schema.ts';
import { ImportError } from '../mistakes.ts';
import { tokenPrice } from '../price-schema.ts';
import { referencesTo, upstreamName } from './references.ts';

const entryName = z.string().min(1).max(64);
const modelId = z.string().trim().min(1).max(200);
const price = tokenPrice.transform((nano) => formatUsd(nanoUsd(nano)));
/** An empty address is the usual one. */
const address = z.union([z.literal(''), z.url({ protocol: /^https?$/ }).max(500)]);

/** One change that an operator makes on a page, without YAML. Amounts are decimals in dollars. */
export const draftEdit = z.discriminatedUnion('kind', [
  // Without an address: the usual one of its kind or preset.
  z
    .strictObject({ kind: z.literal('address'), backend: entryName, baseUrl: address })
    .transform(({ baseUrl, ...edit }) => ({ ...edit, baseUrl: baseUrl === '' ? undefined : baseUrl })),
  // Names of variables or stored keys.
  z.strictObject({
    kind: z.literal('keys'),
    backend: entryName,
    names: z.array(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,63}$/)).max(50),
  }),
  z.strictObject({ kind: z.literal('remove_backend'), backend: entryName, withReferences: z.boolean() }),
  z.strictObject({
    kind: z.literal('places'),
    endpoint: entryName,
    places: z
      .array(
        z
          .array(z.strictObject({ upstream: entryName, weight: z.number().int().min(1).max(1000) }))
          .min(1)
          .max(100),
      )
      .min(1)
      .max(100),
  }),
  z.strictObject({
    kind: z.literal('add_model'),
    list: entryName,
    model: modelId,
    name: z.string().trim().min(1).max(500).optional(),
    input: price,
    output: price,
  }),
  z.strictObject({ kind: z.literal('remove_model'), list: entryName, model: modelId }),
  z.strictObject({
    kind: z.literal('price'),
    list: entryName,
    model: modelId,
    input: price.optional(),
    output: price.optional(),
  }),
  // Made where it is not there yet; what is absent stays.
  z.strictObject({
    kind: z.literal('group'),
    group: entryName,
    factor: z.string().max(20).optional(),
    hide: z.array(z.string().max(200)).max(100).optional(),
  }),
  z.strictObject({ kind: z.literal('remove_group'), group: entryName }),
  // Of its own; null: the list price times the factor of the group.
  z.strictObject({
    kind: z.literal('group_price'),
    group: entryName,
    endpoint: entryName,
    model: modelId,
    input: price.nullable().optional(),
    output: price.nullable().optional(),
  }),
]);

export type DraftEdit = z.output<typeof draftEdit>;

/** The catalog with the changes; `file` is the catalog as it was read. Throws an `ImportError` for what cannot be done. */
export function editDraft(catalog: CatalogMap, file: CatalogFile, edits: readonly DraftEdit[]): CatalogMap {
  const prices = edits.filter((edit) => edit.kind === 'price');
  const others = edits.filter((edit) => edit.kind !== 'price');
  for (const price of prices) requireModel(file, price);
  const draft = new Draft(withModelValues(catalog, prices.map(pricesOf)));
  for (const edit of others) applyEdit(draft, file, edit);
  return draft.catalog;
}

type EditOf<Kind extends DraftEdit['kind']> = Extract<DraftEdit, { kind: Kind }>;

function pricesOf({ list, model, input, output }: EditOf<'price'>): ModelValues {
  const set = {
    ...(input !== undefined && { input: amountOf(input) }),
    ...(output !== undefined && { output: amountOf(output) }),
  };
  return { list, model, set };
}

class Draft {
  catalog: CatalogMap;

  constructor(catalog: CatalogMap) {
    this.catalog = catalog;
  }

  /** `undefined` removes what is there. */
  set(path: CatalogPath, value: CatalogValue | undefined): void {
    this.catalog = withValue(this.catalog, path, value);
  }
}

function applyEdit(draft: Draft, file: CatalogFile, edit: Exclude<DraftEdit, EditOf<'price'>>): void {
  switch (edit.kind) {
    case 'address':
      requireKnown('backend', edit.backend, file.upstreams);
      return draft.set(['upstreams', edit.backend, 'base_url'], edit.baseUrl);
    case 'keys': {
      requireKnown('backend', edit.backend, file.upstreams);
      const references = edit.names.map((name) => `\${${name}}`);
      draft.set(['upstreams', edit.backend, 'api_key'], references.length === 1 ? references[0] : undefined);
      return draft.set(
        ['upstreams', edit.backend, 'api_keys'],
        references.length > 1 ? references : undefined,
      );
    }
    case 'remove_backend':
      return removeBackend(draft, file, edit);
    case 'places':
      requireKnown('endpoint', edit.endpoint, file.endpoints);
      return draft.set(['endpoints', edit.endpoint, 'upstreams'], writtenPlaces(edit.places));
    case 'add_model':
      return addModel(draft, file, edit);
    case 'remove_model':
      requireModel(file, edit);
      if (file.lists[edit.list]?.length === 1)
        throw new ImportError(
          `${edit.model} is the only model of the list ${edit.list}. Remove the endpoint, or add another model first.`,
        );
      removeGroupPrices(
        draft,
        file,
        (code, model) => model === edit.model && file.endpoints[code]?.lists.includes(edit.list) === true,
      );
      return draft.set(['lists', edit.list, edit.model], undefined);
    case 'group': {
      const { group, factor, hide } = edit;
      const known = file.groups[group];
      if (factor !== undefined || !known)
        draft.set(['groups', group, 'factor'], factor === undefined ? 1 : amountOf(factor));
      return hide && draft.set(['groups', group, 'hide'], hide.length === 0 ? undefined : hide);
    }
    case 'remove_group':
      requireKnown('group', edit.group, file.groups);
      return draft.set(['groups', edit.group], undefined);
    case 'group_price':
      return setGroupPrice(draft, file, edit);
    default:
      return edit satisfies never;
  }
}

function setGroupPrice(draft: Draft, file: CatalogFile, edit: EditOf<'group_price'>): void {
  const { group, endpoint, model } = edit;
  requireKnown('group', group, file.groups);
  for (const key of ['input', 'output'] as const) {
    const amount = edit[key];
    if (amount === undefined) continue;
    const path = ['groups', group, 'prices', `${endpoint}/${model}`, key];
    draft.set(path, amount === null ? undefined : amountOf(amount));
  }
}

/** What groups say about models that leave. */
function removeGroupPrices(
  draft: Draft,
  { groups }: CatalogFile,
  leaves: (endpoint: string, model: string) => boolean,
): void {
  for (const [group, { prices }] of Object.entries(groups))
    for (const target of Object.keys(prices)) {
      const slash = target.indexOf('/');
      if (leaves(target.slice(0, slash), target.slice(slash + 1)))
        draft.set(['groups', group, 'prices', target], undefined);
    }
}

function removeBackend(
  draft: Draft,
  file: CatalogFile,
  { backend, withReferences }: EditOf<'remove_backend'>,
): void {
  requireKnown('backend', backend, file.upstreams);
  const { sharedEndpoints, ownEndpoints, ownLists, aliases, details } = referencesTo(file, backend);
  const isUsed = sharedEndpoints.length + ownEndpoints.length + details.length > 0;
  if (isUsed && !withReferences)
    throw new ImportError(
      `${backend} is still used: ${[...ownEndpoints, ...sharedEndpoints, ...details.map((path) => path.join('.'))].slice(0, MOST_NAMED).join(', ')}.`,
    );
  for (const alias of aliases) draft.set(['aliases', alias], undefined);
  removeGroupPrices(draft, file, (code) => ownEndpoints.includes(code));
  for (const code of ownEndpoints) draft.set(['endpoints', code], undefined);
  for (const list of ownLists) draft.set(['lists', list], undefined);
  for (const path of details) draft.set(path, undefined);
  for (const code of sharedEndpoints) {
    const { upstreams = [], selectable } = file.endpoints[code] ?? {};
    const left = upstreams.filter((entry) => upstreamName(entry) !== backend);
    draft.set(['endpoints', code, 'upstreams'], left);
    const choices = selectable?.filter((name) => name !== backend);
    if (choices) draft.set(['endpoints', code, 'selectable'], choices.length === 0 ? undefined : choices);
  }
  draft.set(['upstreams', backend], undefined);
}

const MOST_NAMED = 20;

/** A plain name is a place of its own; weighted entries that follow each other are one place. */
function writtenPlaces(places: EditOf<'places'>['places']): CatalogValue {
  const isShared = places.map((place) => place.length > 1);
  if (isShared.some((shared, index) => shared && isShared[index + 1] === true))
    throw new ImportError(
      'Two groups of backends that share the load cannot follow each other. Join them, or put one backend between them.',
    );
  return places.flatMap((place): CatalogValue[] =>
    place.length === 1
      ? place.map(({ upstream }) => upstream)
      : place.map(({ upstream, weight }) => ({ name: upstream, weight })),
  );
}

function addModel(
  draft: Draft,
  file: CatalogFile,
  { list, model, name, input, output }: EditOf<'add_model'>,
): void {
  requireKnown('list', list, file.lists);
  if (file.lists[list]?.some((entry) => entry.model === model))
    throw new ImportError(`The list ${list} has the model ${model} already.`);
  const isFree = Number(input) === 0 && Number(output) === 0;
  const price = isFree ? { free: true } : { input: amountOf(input), output: amountOf(output) };
  draft.set(['lists', list, model], { model, ...(name !== undefined && { display_name: name }), ...price });
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
