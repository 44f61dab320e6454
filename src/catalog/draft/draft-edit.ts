import { z } from 'zod';
import { formatUsd, nanoUsd, parseUsd } from '../../std/money.ts';
import {
  amountOf,
  changeAt,
  inLists,
  isCatalogMap,
  isModelList,
  withChanges,
  withoutMissing,
  type CatalogMap,
  type CatalogPath,
  type CatalogValue,
  type ModelChange,
} from '../catalog-data.ts';
import type { CatalogFile, ModelFileEntry } from '../file-schema.ts';
import { timesFactor } from '../import/markup.ts';
import { ImportError } from '../mistakes.ts';
import { UNKNOWN_CONTEXT } from '../model-check.ts';
import { markupFactor, PRICE_KEYS, tokenPrice } from '../price-schema.ts';

const entryName = z.string().min(1).max(64);
const modelId = z.string().trim().min(1).max(200);
const listedModel = { list: entryName, model: modelId };
const tokenCount = z.number().int().min(1).max(10_000_000);
const price = tokenPrice.transform((nano) => amountOf(formatUsd(nanoUsd(nano))));
/** What is taken away is removed. */
const ability = z
  .boolean()
  .transform((has) => has || null)
  .optional();
/** An empty address is the usual one of its kind or preset. */
const address = z.union([z.literal('').transform(() => null), z.url({ protocol: /^https?$/ }).max(500)]);

/** One change that an operator makes on a page, without YAML. Amounts are decimals in dollars. */
export const draftEdit = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('address'), backend: entryName, baseUrl: address }),
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
    ...listedModel,
    name: z.string().trim().min(1).max(500).optional(),
    input: price,
    output: price,
  }),
  z.strictObject({ kind: z.literal('remove_model'), ...listedModel }),
  // What is absent stays; null: nobody knows, or the usual.
  z.strictObject({
    kind: z.literal('set_model'),
    ...listedModel,
    input: price.optional(),
    cached_input: price.nullish(),
    output: price.optional(),
    /** USD for one image of any size. */
    image: price.optional(),
    context: tokenCount.nullish(),
    max_output: tokenCount.nullish(),
    vision: ability,
    tools: ability,
    reasoning: ability,
    files: ability,
    /** By backend. */
    cost: z
      .record(
        entryName,
        z.union([
          z.strictObject({ input: price, output: price }),
          z.strictObject({ image: price }),
          z.null(),
        ]),
      )
      .optional(),
  }),
  // Every amount that customers pay for them, tiers, sizes and what is beside the tokens included.
  z.strictObject({
    kind: z.literal('scale_prices'),
    models: z.array(z.strictObject(listedModel)).min(1).max(5_000),
    factor: markupFactor,
  }),
  // Made where it is not there yet; what is absent stays.
  z.strictObject({
    kind: z.literal('group'),
    group: entryName,
    factor: z.string().max(20).transform(amountOf).optional(),
    hide: z
      .array(z.string().max(200))
      .max(100)
      .transform((hidden) => (hidden.length === 0 ? null : hidden))
      .optional(),
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
  const ofModels = edits.filter((edit) => edit.kind === 'set_model');
  const others = edits.filter((edit) => edit.kind !== 'set_model');
  const byModel = [...Map.groupBy(ofModels, placeOf).values()].map((same) => same.reduce(joined));
  const values = inLists(byModel.map((edit) => valuesOf(edit, requireModel(file, edit))));
  const start = withChanges(catalog, values);
  return others.reduce((draft, edit) => changesOf(edit, file, draft).reduce(withChanges, draft), start);
}

type EditOf<Kind extends DraftEdit['kind']> = Extract<DraftEdit, { kind: Kind }>;

type ListedModel = Pick<ModelChange, 'list' | 'model'>;

function placeOf({ list, model }: ListedModel): string {
  return JSON.stringify([list, model]);
}

/** What one backend takes leaves what others take as it is. */
function joined(edit: EditOf<'set_model'>, later: EditOf<'set_model'>): EditOf<'set_model'> {
  return { ...edit, ...later, cost: { ...edit.cost, ...later.cost } };
}

function valuesOf(
  { kind: _kind, list, model, files, cost, ...values }: EditOf<'set_model'>,
  before: ModelFileEntry,
): ModelChange {
  const isPriced = [values.input, values.output, values.image].some((amount) => Number(amount ?? 0) > 0);
  // Nobody knows how large a file is in tokens: it may fill the model.
  const room = { max_tokens: values.context ?? before.context ?? UNKNOWN_CONTEXT };
  const change = withoutMissing({
    // A model that gets a price is no longer free.
    free: before.free && isPriced ? null : undefined,
    ...values,
    inputs: withoutMissing({ image: values.vision === null ? null : undefined, file: files && room }),
    cost,
  });
  return { list, model, change };
}

/** Each price of the model times a factor in millionths; a free one stays free. */
function scaledPrices(model: CatalogMap, factor: number): CatalogMap {
  const scaled = (value: CatalogValue): CatalogValue => {
    if (isCatalogMap(value))
      return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, scaled(inner)]));
    const amount = typeof value === 'number' || typeof value === 'string' ? parseUsd(value) : undefined;
    return amount === undefined ? value : amountOf(formatUsd(nanoUsd(timesFactor(amount, factor))));
  };
  const prices = Object.entries(model).filter(
    ([key]) => (key in PRICE_KEYS && key !== 'service_tiers') || key === 'reasoning',
  );
  return Object.fromEntries(prices.map(([key, value]) => [key, scaled(value)]));
}

/** The changes that make up an edit, in their order. */
function changesOf(
  edit: Exclude<DraftEdit, EditOf<'set_model'>>,
  file: CatalogFile,
  draft: CatalogMap,
): CatalogMap[] {
  switch (edit.kind) {
    case 'address':
      requireKnown('backend', edit.backend, file.upstreams);
      return [changeAt(['upstreams', edit.backend, 'base_url'], edit.baseUrl)];
    case 'keys': {
      requireKnown('backend', edit.backend, file.upstreams);
      const [only = null, ...more] = edit.names.map((name) => `\${${name}}`);
      const keys =
        more.length === 0 ? { api_key: only, api_keys: null } : { api_key: null, api_keys: [only, ...more] };
      return [changeAt(['upstreams', edit.backend], keys)];
    }
    case 'remove_backend':
      return withoutBackend(file, edit);
    case 'places':
      requireKnown('endpoint', edit.endpoint, file.endpoints);
      return [changeAt(['endpoints', edit.endpoint, 'upstreams'], writtenPlaces(edit.places))];
    case 'add_model':
      return [changeAt(['lists', edit.list, edit.model], newModel(file, edit))];
    case 'remove_model':
      return withoutModel(file, edit);
    case 'group': {
      const { group, hide, factor = Object.hasOwn(file.groups, group) ? undefined : 1 } = edit;
      return [changeAt(['groups', group], withoutMissing({ factor, hide }))];
    }
    case 'remove_group':
      requireKnown('group', edit.group, file.groups);
      return [changeAt(['groups', edit.group], null)];
    case 'group_price': {
      const { group, endpoint, model, input, output } = edit;
      requireKnown('group', group, file.groups);
      return [
        changeAt(['groups', group, 'prices', `${endpoint}/${model}`], withoutMissing({ input, output })),
      ];
    }
    case 'scale_prices': {
      for (const one of edit.models) requireModel(file, one);
      const wanted = new Set(edit.models.map(placeOf));
      const scaled = Object.entries(draft['lists'] ?? {}).flatMap(([list, models]) =>
        (isModelList(models) ? models : [])
          .filter(({ model }) => wanted.has(placeOf({ list, model })))
          .map((model) => ({ list, model: model.model, change: scaledPrices(model, edit.factor) })),
      );
      return [inLists(scaled)];
    }
    default:
      return edit satisfies never;
  }
}

/** Where groups have prices of their own for models that are removed. */
function groupPrices({ groups }: CatalogFile, leaves: (target: string) => boolean): CatalogPath[] {
  return Object.entries(groups).flatMap(([group, { prices }]) =>
    Object.keys(prices).flatMap((target) => (leaves(target) ? [['groups', group, 'prices', target]] : [])),
  );
}

function without(paths: readonly CatalogPath[]): CatalogMap[] {
  return paths.map((path) => changeAt(path, null));
}

function withoutModel(file: CatalogFile, { list, model }: EditOf<'remove_model'>): CatalogMap[] {
  requireModel(file, { list, model });
  if (file.lists[list]?.length === 1)
    throw new ImportError(
      `${model} is the only model of the list ${list}. Remove the endpoint, or add another model first.`,
    );
  const offered = Object.entries(file.endpoints).filter(([, { lists }]) => lists.includes(list));
  const names = new Set(offered.map(([code]) => `${code}/${model}`));
  return without([...groupPrices(file, (target) => names.has(target)), ['lists', list, model]]);
}

function withoutBackend(
  file: CatalogFile,
  { backend, withReferences }: EditOf<'remove_backend'>,
): CatalogMap[] {
  requireKnown('backend', backend, file.upstreams);
  const { sharedEndpoints, ownEndpoints, ownLists, aliases, details } = referencesTo(file, backend);
  const uses = [...ownEndpoints, ...sharedEndpoints, ...details.map((path) => path.join('.'))];
  if (uses.length > 0 && !withReferences)
    throw new ImportError(`${backend} is still used: ${uses.slice(0, MOST_NAMED).join(', ')}.`);
  const removed = [
    ...aliases.map((alias) => ['aliases', alias]),
    ...groupPrices(file, (target) => isOfAny(ownEndpoints, target)),
    ...ownEndpoints.map((code) => ['endpoints', code]),
    ...ownLists.map((list) => ['lists', list]),
    ...details,
    ['upstreams', backend],
  ];
  const shared = sharedEndpoints.map((code) => {
    const { upstreams = [], selectable } = file.endpoints[code] ?? {};
    const choices = selectable?.filter((name) => name !== backend);
    return changeAt(
      ['endpoints', code],
      withoutMissing({
        upstreams: upstreams.filter((entry) => upstreamName(entry) !== backend),
        selectable: choices?.length === 0 ? null : choices,
      }),
    );
  });
  return [...without(removed), ...shared];
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

function newModel(file: CatalogFile, { list, model, name, input, output }: EditOf<'add_model'>): CatalogMap {
  if (findModel(file, { list, model }))
    throw new ImportError(`The list ${list} has the model ${model} already.`);
  const isFree = Number(input) === 0 && Number(output) === 0;
  return withoutMissing({ model, display_name: name, ...(isFree ? { free: true } : { input, output }) });
}

function requireModel(file: CatalogFile, place: ListedModel): ModelFileEntry {
  const found = findModel(file, place);
  if (!found) throw new ImportError(`The list ${place.list} has no model ${place.model}.`);
  return found;
}

function findModel({ lists }: CatalogFile, { list, model }: ListedModel): ModelFileEntry | undefined {
  requireKnown('list', list, lists);
  return lists[list]?.find((entry) => entry.model === model);
}

function requireKnown(what: string, name: string, known: Readonly<Record<string, unknown>>): void {
  if (!Object.hasOwn(known, name)) throw new ImportError(`The draft has no ${what} ${name}.`);
}

/** What has to be removed or changed when a backend is removed. */
export function referencesTo(file: CatalogFile, backend: string) {
  const endpoints = Object.entries(file.endpoints);
  const serving = endpoints.filter(([, { upstreams }]) => upstreams.map(upstreamName).includes(backend));
  const ownEndpoints = serving.filter(([, { upstreams }]) => upstreams.length === 1).map(([code]) => code);
  const stays = endpoints.filter(([code]) => !ownEndpoints.includes(code));
  const offered = new Set(stays.flatMap(([, { lists }]) => lists));
  const leaving = ownEndpoints.flatMap((code) => file.endpoints[code]?.lists ?? []);
  const ownLists = [...new Set(leaving)].filter((list) => !offered.has(list));
  const models = Object.entries(file.lists)
    .filter(([list]) => !ownLists.includes(list))
    .flatMap(([list, entries]) => entries.map((model) => ({ list, model })));
  return {
    /** Endpoints that others serve too: they go on without it. */
    sharedEndpoints: serving.map(([code]) => code).filter((code) => !ownEndpoints.includes(code)),
    /** Endpoints that nothing else serves: they go with it. */
    ownEndpoints,
    /** Lists that only such endpoints offer. */
    ownLists,
    /** Other names of models of such endpoints. */
    aliases: Object.keys(file.aliases).filter((alias) => isOfAny(ownEndpoints, file.aliases[alias] ?? '')),
    /** Where models refer to it: its own name of the model, and what it charges. */
    details: models.flatMap(({ list, model }) =>
      (['upstream_models', 'cost'] as const)
        .filter((key) => Object.hasOwn(model[key], backend))
        .map((key): CatalogPath => ['lists', list, model.model, key, backend]),
    ),
  };
}

/** `target` is `code/model`. */
function isOfAny(endpoints: readonly string[], target: string): boolean {
  return endpoints.includes(target.slice(0, target.indexOf('/')));
}

function upstreamName(entry: CatalogFile['endpoints'][string]['upstreams'][number]): string {
  return typeof entry === 'string' ? entry : entry.name;
}
