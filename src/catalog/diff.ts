import type { Catalog, Endpoint, Model, PriceGroup, UpstreamConfig } from './catalog.ts';
import { formatUsd } from '../std/money.ts';
import { FACTOR_ONE } from '../std/price-dimensions.ts';
import { catalogFor } from './groups.ts';
import { abilitiesText, rangeText } from './image-abilities.ts';
import { priceLabel } from './price-label.ts';
import { hintOf } from './seal.ts';

/** The kinds of things in a catalog; a `price` is one that a price group sets itself. */
type CatalogThing = 'model' | 'endpoint' | 'backend' | 'alias' | 'group' | 'price' | 'limits' | 'server';

/** One line of a preview: what would change, in plain language. */
export interface CatalogChange {
  readonly kind: 'added' | 'removed' | 'changed';
  readonly thing: CatalogThing;
  /** Which one; empty for what there is only one of. */
  readonly name: string;
  /** The part of it that has changed, if it was neither added nor removed. */
  readonly aspect: string | undefined;
  /** All of this as one text, e.g. `model svc_chat/house-guide: price`. */
  readonly subject: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
}

/** What a customer or operator would notice, in the order of the catalog. Empty: nothing. Contains no secret. */
export function catalogChanges(before: Catalog, after: Catalog): CatalogChange[] {
  const [was, is] = [factsOf(before), factsOf(after)];
  const removed = [...was].filter(([subject]) => !is.has(subject));
  return [
    ...removed.map(([, entry]) => change('removed', entry, { before: summary(entry) })),
    ...[...is].flatMap(([subject, entry]) => changesOf(was.get(subject), entry)),
  ];
}

/** Changes of one kind told together: which things, and from what to what where that is the same for all. */
export interface CatalogChangeGroup extends Pick<CatalogChange, 'kind' | 'thing' | 'aspect'> {
  readonly count: number;
  /** The first of them. */
  readonly names: readonly string[];
  readonly before: string | undefined;
  readonly after: string | undefined;
}

const MOST_NAMES = 3;

/** A summary of many changes, in their order. */
export function groupChanges(changes: readonly CatalogChange[]): CatalogChangeGroup[] {
  const groups = Map.groupBy(changes, ({ kind, thing, aspect }) => `${kind} ${thing} ${aspect ?? ''}`);
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (!first) return [];
    const { kind, thing, aspect, before, after } = first;
    const names = group.slice(0, MOST_NAMES).map(({ name }) => name);
    const isSame = group.every((one) => one.before === before && one.after === after);
    return {
      kind,
      thing,
      aspect,
      count: group.length,
      names,
      before: isSame ? before : undefined,
      after: isSame ? after : undefined,
    };
  });
}

/** The properties of one thing, by aspect; the first aspect summarises it. */
type Facts = Readonly<Record<string, string>>;

interface Entry {
  readonly thing: CatalogThing;
  readonly name: string;
  readonly facts: Facts;
}

function changesOf(was: Entry | undefined, is: Entry): CatalogChange[] {
  if (!was) return [change('added', is, { after: summary(is) })];
  return Object.entries(is.facts)
    .filter(([aspect, text]) => was.facts[aspect] !== text)
    .map(([aspect, text]) =>
      change('changed', is, { aspect, before: was.facts[aspect] ?? 'none', after: text }),
    );
}

function change(
  kind: CatalogChange['kind'],
  entry: Entry,
  { aspect, before, after }: { aspect?: string; before?: string; after?: string },
): CatalogChange {
  const { thing, name } = entry;
  const whole = subjectOf(entry);
  const subject = aspect === undefined ? whole : `${whole}: ${aspect}`;
  return { kind, thing, name, aspect, subject, before, after };
}

function subjectOf({ thing, name }: Pick<Entry, 'thing' | 'name'>): string {
  if (name === '') return thing;
  return thing === 'price' ? `price of ${name}` : `${thing} ${name}`;
}

function summary({ facts }: Entry): string {
  return Object.values(facts)[0] ?? '';
}

/** The entries of a catalog, each with its summary, by subject. */
function factsOf(catalog: Catalog): Map<string, Entry> {
  const entries = new Map<string, Entry>();
  const add: AddFacts = (thing, name, facts) => {
    const entry = { thing, name, facts };
    entries.set(subjectOf(entry), entry);
  };
  for (const endpoint of catalog.endpoints.values()) {
    add('endpoint', endpoint.code, endpointFacts(endpoint));
    for (const model of endpoint.models) add('model', `${endpoint.code}/${model.id}`, modelFacts(model));
  }
  for (const upstream of catalog.upstreams.values()) add('backend', upstream.name, upstreamFacts(upstream));
  for (const [alias, { endpoint, model }] of catalog.aliases)
    add('alias', alias, { target: `${endpoint}/${model}` });
  for (const [name, group] of catalog.groups ?? []) addGroupFacts(add, catalog, name, group);
  const { chatPerMinute, imagesPerMinute, concurrent } = catalog.limits;
  add('limits', '', {
    'chat per minute': String(chatPerMinute),
    'images per minute': String(imagesPerMinute),
    concurrent: String(concurrent),
  });
  const settings = [...(catalog.settings?.values() ?? [])];
  add('server', '', Object.fromEntries(settings.map(({ label, value }) => [label, settingText(value)])));
  return entries;
}

type AddFacts = (thing: CatalogThing, name: string, facts: Facts) => void;

/** A price of the group's own is told with what it makes of the whole price. */
function addGroupFacts(
  add: AddFacts,
  catalog: Catalog,
  name: string,
  { factor, hide, own }: PriceGroup,
): void {
  add('group', name, { factor: `× ${factor / FACTOR_ONE}`, hides: listText(hide) });
  const { endpoints } = catalogFor(catalog, name);
  for (const target of own.keys()) {
    const slash = target.indexOf('/');
    const models = endpoints.get(target.slice(0, slash))?.models ?? [];
    const model = models.find(({ id }) => id === target.slice(slash + 1));
    add('price', `${target} for ${name}`, { price: model ? priceLabel(model) : 'hidden' });
  }
}

function settingText(value: unknown): string {
  if (value === undefined) return 'none';
  if (Array.isArray(value)) return listText(value.map(String));
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function endpointFacts(endpoint: Endpoint): Facts {
  const places = endpoint.places.map((place) =>
    place.length === 1
      ? (place[0]?.upstream ?? '')
      : place.map(({ upstream, weight }) => `${upstream} × ${weight}`).join(' + '),
  );
  return {
    name: endpoint.name,
    type: endpoint.type,
    backends: places.length === 0 ? 'none' : places.join(', then '),
    'sorted by': endpoint.placesByModel ? 'price' : 'order',
    'sticky by': endpoint.isSticky ? 'account' : 'nothing',
    'clients may choose': listText([...(endpoint.selectable ?? [])]),
    unavailable: endpoint.unavailable ?? 'no',
  };
}

function modelFacts(model: Model): Facts {
  const abilities = (['vision', 'tools', 'reasoning'] as const).filter((ability) => model[ability]);
  return {
    price: priceLabel(model),
    name: model.displayName,
    list: model.list,
    context: model.isContextUnknown ? 'unknown' : `${model.contextTokens} tokens`,
    'longest answer': `${model.maxOutput} tokens`,
    sizes: listText([...model.sizes, ...(model.sizeRange ? [rangeText(model.sizeRange)] : [])]),
    'image abilities': abilitiesText(model.abilities) ?? 'as the backend has them',
    abilities: listText(abilities),
    'shows its reasoning': model.hidesReasoning ? 'no' : 'yes',
    attachments: inputsText(model),
    'when a client leaves': model.onDisconnect,
    tokenizer: model.tokenizer ?? 'not known',
    'names at backends': listText([...model.upstreamModels].map(([upstream, id]) => `${upstream}: ${id}`)),
    'output cap': model.form?.capField ?? 'as the backend needs it',
    'image format': model.form?.imageFormat ?? 'as the backend needs it',
  };
}

function inputsText({ inputs }: Model): string {
  const { image, audio, file } = inputs ?? {};
  return listText([
    ...(image ? [`images up to ${image.maxTokens} tokens`] : []),
    ...(audio ? [`sound, ${audio.tokensPerSecond} tokens per second`] : []),
    ...(file ? [`files up to ${file.maxTokens} tokens`] : []),
  ]);
}

function upstreamFacts(upstream: UpstreamConfig): Facts {
  const { firstByteMs, idleMs, totalMs } = upstream.timeouts;
  return {
    kind: upstream.kind,
    address: upstream.baseUrl ?? 'default',
    key: listText(
      (upstream.apiKeys ?? [upstream.apiKey]).flatMap((key) => (key === undefined ? [] : [hintOf(key)])),
    ),
    headers: listText([...upstream.headers].map(([header, value]) => `${header}: ${hintOf(value)}`)),
    timeouts: `${firstByteMs} ms first byte, ${idleMs} ms idle, ${totalMs} ms total`,
    paused: upstream.paused ? 'yes' : 'no',
    'daily cost limit': upstream.dailyCostLimit === undefined ? 'none' : formatUsd(upstream.dailyCostLimit),
    'markup of imports': upstream.markup === undefined ? 'none' : String(upstream.markup / FACTOR_ONE),
    'passed fields': listText([...(upstream.passFields ?? [])]),
    options: listText([...upstream.options].map(([option, value]) => `${option}: ${hintOf(value)}`)),
  };
}

function listText(items: readonly string[]): string {
  return items.length === 0 ? 'none' : items.join(', ');
}
