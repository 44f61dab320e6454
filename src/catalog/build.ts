import type {
  Catalog,
  Endpoint,
  EndpointType,
  Model,
  ModelInputs,
  ModelPrice,
  OnDisconnect,
  RequestForm,
} from './catalog.ts';
import { buildPrice, freePrice } from './build-price.ts';
import { buildGroups } from './groups.ts';
import type { Environment, KeyRules } from './key-rules.ts';
import { buildAbilities, buildRange, namedSizes } from './image-abilities-schema.ts';
import { UNKNOWN_CONTEXT } from './model-check.ts';
import type { CatalogFile, EndpointEntry, ModelFileEntry } from './file-schema.ts';
import type { Path, PathMistake } from './mistakes.ts';
import { References } from './secrets.ts';
import { meantHint } from './strict.ts';
import { buildUpstream } from './upstream-entry.ts';

export interface Built {
  readonly catalog: Omit<Catalog, 'version'>;
  /** If there are any, the catalog is incomplete and must not be used. */
  readonly mistakes: readonly PathMistake[];
  /** Keys that belong to other servers; their upstreams have a `problem`. */
  readonly withheld: readonly PathMistake[];
}

/** Turns a file of the right shape into a catalog and checks its references. */
export function buildCatalog(
  file: CatalogFile,
  { env, rules }: { env: Environment; rules: KeyRules },
): Built {
  const references = new References(env, rules);
  const mistakes: PathMistake[] = [];
  const refuse: Refuse = (path, message) => mistakes.push({ path, message });
  const upstreams = new Map(
    Object.entries(file.upstreams).map(([name, entry]) => [name, buildUpstream(name, entry, references)]),
  );
  const lists = new Map(
    Object.entries(file.lists).map(([name, entries]) => [name, buildList(name, entries, file, refuse)]),
  );
  const endpoints = new Map(
    Object.entries(file.endpoints).map(([code, entry]) => [
      code,
      buildEndpoint(code, entry, { file, lists, refuse }),
    ]),
  );
  const catalog = {
    upstreams,
    endpoints,
    aliases: buildAliases(file.aliases, endpoints, refuse),
    groups: buildGroups(file, endpoints, refuse),
    limits: {
      chatPerMinute: file.limits.chat_per_minute,
      imagesPerMinute: file.limits.images_per_minute,
      concurrent: file.limits.concurrent,
    },
  };
  return { catalog, mistakes: [...mistakes, ...references.mistakes], withheld: references.withheld };
}

type Refuse = (path: Path, message: string) => void;

const DEFAULT_MAX_OUTPUT = 16_384;

function buildList(
  name: string,
  entries: readonly ModelFileEntry[],
  file: CatalogFile,
  refuse: Refuse,
): readonly Model[] {
  const seen = new Set<string>();
  return entries.map((entry, index) => {
    const path = ['lists', name, index];
    if (seen.has(entry.model))
      refuse([...path, 'model'], `is in this list twice; remove one '${entry.model}'`);
    seen.add(entry.model);
    for (const key of ['upstream_models', 'cost'] as const) {
      for (const upstream of Object.keys(entry[key])) {
        if (!Object.hasOwn(file.upstreams, upstream))
          refuse([...path, key, upstream], unknown('upstream', upstream, file.upstreams));
      }
    }
    return buildModel(name, entry);
  });
}

function buildModel(list: string, entry: ModelFileEntry): Model {
  const reasoning = typeof entry.reasoning === 'number' ? entry.reasoning : undefined;
  const context = entry.context ?? UNKNOWN_CONTEXT;
  const named = namedSizes(entry.sizes);
  const range = buildRange(entry.sizes);
  const price = entry.free ? freePrice(named) : buildPrice({ ...entry, reasoning });
  const priced = price.kind === 'images' ? [...price.bySize.keys()] : [];
  return {
    id: entry.model,
    displayName: entry.display_name ?? entry.model,
    list,
    price,
    contextTokens: context,
    ...(entry.context === undefined && { isContextUnknown: true }),
    maxOutput: entry.max_output ?? Math.min(DEFAULT_MAX_OUTPUT, context),
    ...(entry.max_output === undefined && { isMaxOutputUnknown: true }),
    sizes: range ? [...new Set([...(named ?? []), ...priced])] : (named ?? priced),
    ...(range && { sizeRange: range }),
    ...(entry.abilities && { abilities: buildAbilities(entry.abilities, qualitiesOf(price)) }),
    upstreamModels: new Map(Object.entries(entry.upstream_models)),
    form: buildForm(entry),
    free: entry.free,
    tokenizer: entry.tokenizer,
    inputs: buildInputs(entry),
    vision: entry.vision || entry.inputs?.image !== undefined,
    tools: entry.tools,
    reasoning: entry.reasoning !== false,
    hidesReasoning: entry.reasoning === 'hidden',
    onDisconnect: onDisconnect(entry),
    finishesForReport: !entry.free && entry.on_disconnect === undefined,
    costs: new Map(Object.entries(entry.cost).map(([upstream, prices]) => [upstream, buildPrice(prices)])),
  };
}

function qualitiesOf(price: ModelPrice): string[] {
  if (price.kind !== 'images') return [];
  return [...new Set([...(price.qualities?.values() ?? [])].flatMap((prices) => Object.keys(prices)))];
}

function buildInputs({ inputs }: ModelFileEntry): ModelInputs | undefined {
  if (!inputs) return undefined;
  const { image, audio, file } = inputs;
  return {
    image: image && { maxTokens: image.max_tokens },
    audio: audio && { tokensPerSecond: audio.tokens_per_second },
    file: file && { maxTokens: file.max_tokens },
  };
}

/** Nobody pays for what a free model goes on writing. */
function onDisconnect({ free, on_disconnect: given, reasoning }: ModelFileEntry): OnDisconnect {
  if (free) return 'stop';
  return given ?? (reasoning === 'hidden' ? 'finish' : 'stop');
}

function buildForm({
  cap_field: capField,
  image_format: imageFormat,
}: ModelFileEntry): RequestForm | undefined {
  return capField === undefined && imageFormat === undefined ? undefined : { capField, imageFormat };
}

interface EndpointParts {
  readonly file: CatalogFile;
  readonly lists: ReadonlyMap<string, readonly Model[]>;
  readonly refuse: Refuse;
}

function buildEndpoint(code: string, entry: EndpointEntry, parts: EndpointParts): Endpoint {
  const path = ['endpoints', code];
  if (entry.unavailable === undefined) {
    if (entry.lists.length === 0) parts.refuse([...path, 'lists'], 'needs at least one list of models');
    if (entry.upstreams.length === 0) parts.refuse([...path, 'upstreams'], 'needs at least one upstream');
  }
  const models = endpointModels(path, entry, parts);
  const places = endpointPlaces(path, entry, parts);
  return {
    code,
    name: entry.name,
    type: entry.type,
    models,
    places,
    placesByModel: entry.sort === 'price' ? sortedPlaces(path, models, places, parts) : undefined,
    isSticky: entry.sticky === 'account' ? true : undefined,
    selectable: entry.selectable && selectableBackends(path, entry.selectable, places, parts),
    unavailable: entry.unavailable,
  };
}

function sortedPlaces(
  path: Path,
  models: readonly Model[],
  places: Endpoint['places'],
  { refuse }: EndpointParts,
): Endpoint['placesByModel'] {
  const upstreams = places.flat().map(({ upstream }) => upstream);
  const hasCost = models.some(({ costs }) => upstreams.some((upstream) => costs.has(upstream)));
  if (!hasCost) refuse([...path, 'sort'], "needs the models' cost of these upstreams; none is given");
  return new Map(models.map((model) => [model.id, placesByPrice(places, model)]));
}

function selectableBackends(
  path: Path,
  names: readonly string[],
  places: Endpoint['places'],
  { refuse }: EndpointParts,
): ReadonlySet<string> {
  const upstreams = new Set(places.flat().map(({ upstream }) => upstream));
  for (const [index, name] of names.entries()) {
    if (upstreams.has(name)) continue;
    refuse([...path, 'selectable', index], `'${name}' is none of this endpoint's upstreams`);
  }
  return new Set(names);
}

const PRICED_BY: Record<EndpointType, ModelPrice['kind']> = {
  chat_completion: 'tokens',
  image_generation: 'images',
  embedding: 'tokens',
  moderation: 'tokens',
};
const PRICE_WORDS: Record<ModelPrice['kind'], string> = { tokens: 'by the token', images: 'by the image' };

function endpointModels(path: Path, entry: EndpointEntry, { file, lists, refuse }: EndpointParts): Model[] {
  const models = new Map<string, Model>();
  const kind = PRICED_BY[entry.type];
  for (const [index, list] of entry.lists.entries()) {
    const here = [...path, 'lists', index];
    if (!lists.has(list)) refuse(here, unknown('list', list, file.lists));
    for (const model of lists.get(list) ?? []) {
      const twin = models.get(model.id);
      // A duplicate within one list was refused there.
      if (twin && twin.list !== list)
        refuse(here, `brings model '${model.id}' in again; list '${twin.list}' has it already`);
      if (kindOf(model) !== kind) {
        refuse(
          here,
          `has '${model.id}', priced ${PRICE_WORDS[kindOf(model)]}; ${entry.type} needs models priced ${PRICE_WORDS[kind]}`,
        );
      }
      // No provider says what a judgement costs, so none could be charged.
      if (entry.type === 'moderation' && !model.free)
        refuse(here, `has '${model.id}', which has a price; moderation needs models with free: true`);
      if (!twin) models.set(model.id, model);
    }
  }
  return [...models.values()];
}

/** A model with sizes makes images, and may be priced by the tokens of these. */
function kindOf({ price, sizes }: Model): ModelPrice['kind'] {
  return sizes.length > 0 ? 'images' : price.kind;
}

/** A plain name is a place of its own; consecutive weighted entries form one place. */
function endpointPlaces(
  path: Path,
  entry: EndpointEntry,
  { file, refuse }: EndpointParts,
): Endpoint['places'] {
  const places: { upstream: string; weight: number }[][] = [];
  const seen = new Set<string>();
  let shared: { upstream: string; weight: number }[] | undefined;
  for (const [index, item] of entry.upstreams.entries()) {
    const upstream = typeof item === 'string' ? item : item.name;
    const here = [...path, 'upstreams', index];
    if (!Object.hasOwn(file.upstreams, upstream)) refuse(here, unknown('upstream', upstream, file.upstreams));
    if (seen.has(upstream))
      refuse(here, `names upstream '${upstream}' twice; a second try there would end the same way`);
    seen.add(upstream);
    const candidate = { upstream, weight: typeof item === 'string' ? 1 : item.weight };
    if (typeof item !== 'string' && shared) {
      shared.push(candidate);
      continue;
    }
    const place = [candidate];
    places.push(place);
    shared = typeof item === 'string' ? undefined : place;
  }
  return places;
}

function buildAliases(
  aliases: CatalogFile['aliases'],
  endpoints: ReadonlyMap<string, Endpoint>,
  refuse: Refuse,
): Catalog['aliases'] {
  const built = new Map<string, { endpoint: string; model: string }>();
  for (const [alias, target] of Object.entries(aliases)) {
    const path = ['aliases', alias];
    const { endpoint, model } = splitId(target);
    const known = endpoints.get(endpoint);
    if (model === '') refuse(path, 'must be code/model, such as svc_chat/house-guide');
    else if (!known) refuse(path, unknown('endpoint', endpoint, Object.fromEntries(endpoints)));
    else if (!known.models.some(({ id }) => id === model))
      refuse(path, `endpoint '${endpoint}' has no model '${model}'`);
    const own = splitId(alias);
    if (endpoints.get(own.endpoint)?.models.some(({ id }) => id === own.model)) {
      refuse(path, 'hides the model of that very name; choose another alias');
    }
    built.set(alias, { endpoint, model });
  }
  return built;
}

/** `code/model`; codes have no slash, model ids may have some. */
function splitId(text: string): { endpoint: string; model: string } {
  const slash = text.indexOf('/');
  return slash < 0
    ? { endpoint: text, model: '' }
    : { endpoint: text.slice(0, slash), model: text.slice(slash + 1) };
}

function unknown(what: string, name: string, known: Readonly<Record<string, unknown>>): string {
  const names = Object.keys(known);
  const shown = names.slice(0, 12).join(', ') + (names.length > 12 ? ', …' : '');
  return `there is no ${what} '${name}'; known: ${shown === '' ? 'none' : shown}${meantHint(name, names)}`;
}

/**
 * An endpoint's backends for one model, the cheapest first, by what the catalog says that they take. Those that take the
 * same share their place by weight. Those whose cost is not known come last, in the order of the file.
 */
function placesByPrice(places: Endpoint['places'], model: Model): Endpoint['places'] {
  const byCost = new Map<number, Endpoint['places'][number][number][]>();
  for (const candidate of places.flat()) {
    const cost = model.costs.get(candidate.upstream);
    if (cost) byCost.set(usualCost(cost), [...(byCost.get(usualCost(cost)) ?? []), candidate]);
  }
  const known = [...byCost].sort(([one], [other]) => one - other).map(([, place]) => place);
  const unknown = places
    .map((place) => place.filter(({ upstream }) => !model.costs.has(upstream)))
    .filter((place) => place.length > 0);
  return [...known, ...unknown];
}

/** Requests have more input than output; three to one is the usual way to compare prices of tokens. */
const INPUT_SHARE = 3;

function usualCost(price: ModelPrice): number {
  if (price.kind === 'tokens') return INPUT_SHARE * price.input + price.output;
  return price.otherwise ?? Math.max(...price.bySize.values());
}
