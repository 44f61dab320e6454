import type { Catalog, Endpoint, Model, PriceGroup, UpstreamConfig } from './catalog.ts';
import { formatUsd } from '../std/money.ts';
import { FACTOR_ONE } from '../std/price-dimensions.ts';
import { catalogFor } from './groups.ts';
import { abilitiesText, rangeText } from './image-abilities.ts';
import { priceLabel } from './price-label.ts';
import { hintOf } from './seal.ts';

/** One line of a preview: what would change, in plain language. */
export interface CatalogChange {
  readonly kind: 'added' | 'removed' | 'changed';
  /** E.g. `model svc_chat/house-guide: price`. */
  readonly subject: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
}

/** What a customer or operator would notice, in the order of the catalog. Empty: nothing. Contains no secret. */
export function catalogChanges(before: Catalog, after: Catalog): CatalogChange[] {
  const [was, is] = [factsOf(before), factsOf(after)];
  const removed = [...was].filter(([subject]) => !is.has(subject));
  return [
    ...removed.map(([subject, facts]) => change('removed', subject, summary(facts), undefined)),
    ...[...is].flatMap(([subject, facts]) => changesOf(subject, was.get(subject), facts)),
  ];
}

/** The properties of one thing, by aspect; the first aspect summarises it. */
type Facts = Readonly<Record<string, string>>;

function changesOf(subject: string, was: Facts | undefined, is: Facts): CatalogChange[] {
  if (!was) return [change('added', subject, undefined, summary(is))];
  return Object.entries(is)
    .filter(([aspect, text]) => was[aspect] !== text)
    .map(([aspect, text]) => change('changed', `${subject}: ${aspect}`, was[aspect] ?? 'none', text));
}

function change(
  kind: CatalogChange['kind'],
  subject: string,
  before: string | undefined,
  after: string | undefined,
): CatalogChange {
  return { kind, subject, before, after };
}

function summary(facts: Facts): string {
  return Object.values(facts)[0] ?? '';
}

function factsOf(catalog: Catalog): Map<string, Facts> {
  const facts = new Map<string, Facts>();
  for (const endpoint of catalog.endpoints.values()) {
    facts.set(`endpoint ${endpoint.code}`, endpointFacts(endpoint));
    for (const model of endpoint.models) facts.set(`model ${endpoint.code}/${model.id}`, modelFacts(model));
  }
  for (const upstream of catalog.upstreams.values())
    facts.set(`backend ${upstream.name}`, upstreamFacts(upstream));
  for (const [alias, { endpoint, model }] of catalog.aliases)
    facts.set(`alias ${alias}`, { target: `${endpoint}/${model}` });
  for (const [name, group] of catalog.groups ?? []) addGroupFacts(facts, catalog, name, group);
  const { chatPerMinute, imagesPerMinute, concurrent } = catalog.limits;
  facts.set('limits', {
    'chat per minute': String(chatPerMinute),
    'images per minute': String(imagesPerMinute),
    concurrent: String(concurrent),
  });
  const settings = [...(catalog.settings?.values() ?? [])];
  facts.set('server', Object.fromEntries(settings.map(({ label, value }) => [label, settingText(value)])));
  return facts;
}

/** A price of the group's own is told with what it makes of the whole price. */
function addGroupFacts(
  facts: Map<string, Facts>,
  catalog: Catalog,
  name: string,
  { factor, hide, own }: PriceGroup,
): void {
  facts.set(`group ${name}`, { factor: String(factor / FACTOR_ONE), hides: listText(hide) });
  const { endpoints } = catalogFor(catalog, name);
  for (const target of own) {
    const slash = target.indexOf('/');
    const models = endpoints.get(target.slice(0, slash))?.models ?? [];
    const model = models.find(({ id }) => id === target.slice(slash + 1));
    facts.set(`price of ${target} for ${name}`, { price: model ? priceLabel(model) : 'hidden' });
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
    ...(image ? [`pictures up to ${image.maxTokens} tokens`] : []),
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
