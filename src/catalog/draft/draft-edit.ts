import { z } from 'zod';
import { formatUsd, nanoUsd, parseUsd } from '../../std/money.ts';
import {
  amountOf,
  changeAt,
  isCatalogMap,
  isModelList,
  withChanges,
  withoutMissing,
  type CatalogMap,
  type CatalogPath,
  type CatalogValue,
} from '../catalog-data.ts';
import type { CatalogFile } from '../file-schema.ts';
import { timesFactor } from '../import/markup.ts';
import { ImportError } from '../mistakes.ts';
import { UNKNOWN_CONTEXT } from '../model-check.ts';
import { markupFactor, PRICE_KEYS, tokenPrice } from '../price-schema.ts';

const entryName = z.string().min(1).max(64);
const modelId = z.string().trim().min(1).max(200);
const tokenCount = z.number().int().min(1).max(10_000_000);
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
  // What is absent stays; null: nobody knows, or the usual.
  z.strictObject({
    kind: z.literal('set_model'),
    list: entryName,
    model: modelId,
    input: price.optional(),
    output: price.optional(),
    cached_input: price.nullish(),
    /** USD for one image of any size. */
    image: price.optional(),
    context: tokenCount.nullish(),
    max_output: tokenCount.nullish(),
    vision: z.boolean().optional(),
    tools: z.boolean().optional(),
    reasoning: z.boolean().optional(),
    files: z.boolean().optional(),
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
    models: z
      .array(z.strictObject({ list: entryName, model: modelId }))
      .min(1)
      .max(5_000),
    factor: markupFactor,
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
  const values = edits.filter((edit) => edit.kind === 'set_model');
  const others = edits.filter((edit) => edit.kind !== 'set_model');
  for (const edit of values) requireModel(file, edit);
  const draft = new Draft(catalog);
  // In one pass: there may be thousands.
  draft.change({ lists: valuesOfLists(values, file) });
  for (const edit of others) applyEdit(draft, file, edit);
  return draft.catalog;
}

type EditOf<Kind extends DraftEdit['kind']> = Extract<DraftEdit, { kind: Kind }>;

function valuesOfLists(edits: readonly EditOf<'set_model'>[], file: CatalogFile): CatalogMap {
  const lists = [...Map.groupBy(edits, ({ list }) => list)].map(([list, ofList]) => {
    const models = [...Map.groupBy(ofList, ({ model }) => model)].map(
      ([model, [first, ...later]]) =>
        [model, first ? valuesOf(later.reduce(joined, first), file) : {}] as const,
    );
    return [list, Object.fromEntries(models)] as const;
  });
  return Object.fromEntries(lists);
}

/** What one backend takes leaves what others take as it is. */
function joined(edit: EditOf<'set_model'>, later: EditOf<'set_model'>): EditOf<'set_model'> {
  return { ...edit, ...later, cost: { ...edit.cost, ...later.cost } };
}

function valuesOf(edit: EditOf<'set_model'>, file: CatalogFile): CatalogMap {
  const { list, model, context } = edit;
  const before = file.lists[list]?.find((entry) => entry.model === model);
  const price = {
    input: written(edit.input),
    cached_input: written(edit.cached_input),
    output: written(edit.output),
    image: written(edit.image),
  };
  const isPriced = [edit.input, edit.output, edit.image].some((amount) => Number(amount ?? 0) > 0);
  const room = context ?? before?.context ?? UNKNOWN_CONTEXT;
  return withoutMissing({
    // A model that gets a price is no longer free.
    free: before?.free && isPriced ? null : undefined,
    ...price,
    context,
    max_output: edit.max_output,
    ...abilitiesOf(edit, room),
    cost: edit.cost && costsOf(edit.cost),
  });
}

function written(amount: string | null | undefined): CatalogValue | undefined {
  return typeof amount === 'string' ? amountOf(amount) : amount;
}

function abilitiesOf({ vision, tools, reasoning, files }: EditOf<'set_model'>, room: number) {
  const flag = (value: boolean | undefined) => (value === undefined ? undefined : value || null);
  const inputs = withoutMissing({
    image: vision === false ? null : undefined,
    // Nobody knows how large a file is in tokens: it may fill the model.
    file: files === undefined ? undefined : files ? { max_tokens: room } : null,
  });
  return {
    vision: flag(vision),
    tools: flag(tools),
    reasoning: flag(reasoning),
    inputs: Object.keys(inputs).length === 0 ? undefined : inputs,
  };
}

function costsOf(costs: NonNullable<EditOf<'set_model'>['cost']>): CatalogMap {
  return Object.fromEntries(
    Object.entries(costs).map(([backend, amounts]) => [
      backend,
      amounts && Object.fromEntries(Object.entries(amounts).map(([key, amount]) => [key, amountOf(amount)])),
    ]),
  );
}

/** Each price of the model times a factor in millionths; a free one stays free. */
function scaledPrices(model: CatalogMap, factor: number): CatalogMap {
  const scaled = (value: CatalogValue): CatalogValue => {
    if (isCatalogMap(value))
      return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, scaled(inner)]));
    const amount = typeof value === 'number' || typeof value === 'string' ? parseUsd(value) : undefined;
    if (amount === undefined) return value;
    return amountOf(formatUsd(nanoUsd(timesFactor(amount, factor))));
  };
  const prices = Object.entries(model).filter(
    ([key]) => (key in PRICE_KEYS && key !== 'service_tiers') || key === 'reasoning',
  );
  return Object.fromEntries(prices.map(([key, value]) => [key, scaled(value)]));
}

function scalePrices(draft: Draft, file: CatalogFile, { models, factor }: EditOf<'scale_prices'>): void {
  for (const one of models) requireModel(file, one);
  const { lists = {} } = draft.catalog;
  const changes = [...Map.groupBy(models, ({ list }) => list)].map(([list, ofList]) => {
    const wanted = new Set(ofList.map(({ model }) => model));
    const known = isCatalogMap(lists) ? lists[list] : undefined;
    const scaled = (isModelList(known) ? known : [])
      .filter(({ model }) => wanted.has(model))
      .map((model) => [model.model, scaledPrices(model, factor)] as const);
    return [list, Object.fromEntries(scaled)] as const;
  });
  draft.change({ lists: Object.fromEntries(changes) });
}

class Draft {
  catalog: CatalogMap;

  constructor(catalog: CatalogMap) {
    this.catalog = catalog;
  }

  change(changes: CatalogMap): void {
    this.catalog = withChanges(this.catalog, changes);
  }

  /** `undefined` removes what is there. */
  set(path: CatalogPath, value: CatalogValue | undefined): void {
    this.change(changeAt(path, value ?? null));
  }
}

function applyEdit(draft: Draft, file: CatalogFile, edit: Exclude<DraftEdit, EditOf<'set_model'>>): void {
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
    case 'scale_prices':
      return scalePrices(draft, file, edit);
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

/** Removes the prices of groups for models that are removed. */
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

/** What has to be removed or changed when a backend is removed. */
interface BackendReferences {
  /** Endpoints that others serve too: they go on without it. */
  readonly sharedEndpoints: readonly string[];
  /** Endpoints that nothing else serves: they go with it. */
  readonly ownEndpoints: readonly string[];
  /** Lists that only such endpoints offer. */
  readonly ownLists: readonly string[];
  /** Other names of models of such endpoints. */
  readonly aliases: readonly string[];
  /** Where models refer to it: its own name of the model, and what it charges. */
  readonly details: readonly CatalogPath[];
}

export function referencesTo(file: CatalogFile, backend: string): BackendReferences {
  const endpoints = Object.entries(file.endpoints);
  const serving = endpoints.filter(([, { upstreams }]) => upstreams.map(upstreamName).includes(backend));
  const ownEndpoints = serving.filter(([, { upstreams }]) => upstreams.length === 1).map(([code]) => code);
  const stays = endpoints.filter(([code]) => !ownEndpoints.includes(code));
  const offered = new Set(stays.flatMap(([, { lists }]) => lists));
  const leaving = ownEndpoints.flatMap((code) => file.endpoints[code]?.lists ?? []);
  const ownLists = [...new Set(leaving)].filter((list) => !offered.has(list));
  return {
    sharedEndpoints: serving.map(([code]) => code).filter((code) => !ownEndpoints.includes(code)),
    ownEndpoints,
    ownLists,
    aliases: Object.entries(file.aliases)
      .filter(([, target]) => ownEndpoints.includes(target.slice(0, target.indexOf('/'))))
      .map(([alias]) => alias),
    details: Object.entries(file.lists)
      .filter(([list]) => !ownLists.includes(list))
      .flatMap(([list, models]) =>
        models.flatMap((model) =>
          (['upstream_models', 'cost'] as const)
            .filter((key) => Object.hasOwn(model[key], backend))
            .map((key) => ['lists', list, model.model, key, backend]),
        ),
      ),
  };
}

function upstreamName(entry: CatalogFile['endpoints'][string]['upstreams'][number]): string {
  return typeof entry === 'string' ? entry : entry.name;
}
