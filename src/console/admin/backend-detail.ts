import { upstreamOrigin, defaultAddress } from '../../catalog/address.ts';
import type { Endpoint, Model, ModelPrice, UpstreamConfig } from '../../catalog/catalog.ts';
import { referencesTo } from '../../catalog/draft/draft-edit.ts';
import { REFERENCE, type CatalogFile, type WrittenUpstream } from '../../catalog/file-schema.ts';
import { UPSTREAM_KINDS, type UpstreamKind } from '../../catalog/kinds.ts';
import { PRESETS, type Preset } from '../../catalog/presets.ts';
import { Fault } from '../../std/fault.ts';
import { usd } from '../amounts.ts';
import type { RouteParts } from '../parts.ts';
import { route } from '../route.ts';
import { providerKey, requireEditor } from './catalog.ts';
import { draftText } from './catalog-draft.ts';

export const backendDetailRoutes = [
  route('GET /api/console/admin/backends/{id}/edit', {
    who: 'operator',
    may: 'see_business',
    summary: 'Get a backend as it is edited',
    compressed: true,
    handle: (parts, { params: { id }, operator }) => backendDetail(parts, operator.id, id),
  }),
];

/** A backend as the draft has it, or as it is published where there is no draft. */
async function backendDetail(parts: RouteParts, owner: string, name: string) {
  const editor = requireEditor(parts);
  const { file, built } = editor.inspect(await draftText(editor, owner));
  if (!file || !built)
    throw new Fault('invalid_field', 'The draft has mistakes. Fix them as YAML, or discard the draft.', {
      param: 'yaml',
    });
  const config = built.catalog.upstreams.get(name);
  const written = Object.hasOwn(file.upstreams, name) ? file.upstreams[name] : undefined;
  if (!config || !written) throw new Fault('not_found', 'There is no such backend.');
  const endpoints = [...built.catalog.endpoints.values()];
  const serves = (endpoint: Endpoint): boolean =>
    endpoint.places.flat().some(({ upstream }) => upstream === name);
  return {
    name,
    kind: config.kind,
    preset: config.preset ?? null,
    ...addressOf(config, written),
    ...(await keysOf(parts, config, written)),
    /** False: only the draft has it. */
    isPublished: parts.catalog.current().upstreams.has(name),
    endpoints: endpoints.filter(serves).map((endpoint) => endpointOf(endpoint, file)),
    /** Others that it could serve too. */
    otherEndpoints: endpoints.filter((one) => !serves(one)).map((endpoint) => endpointOf(endpoint, file)),
    models: modelsOf(endpoints.filter(serves), name),
    /** What is removed or changed along with it. */
    references: shownReferences(file, name),
  };
}

function addressOf(config: UpstreamConfig, { base_url }: WrittenUpstream) {
  const kind: UpstreamKind | undefined = kindOf(config);
  const usual = presetOf(config)?.baseUrl ?? defaultAddress(config);
  return {
    /** As it was written; null: `usualAddress`. */
    baseUrl: base_url ?? null,
    usualAddress: usual ?? null,
    /** The server that its keys are sent to; null: it takes none. */
    origin: (kind?.remote && upstreamOrigin(config)) || null,
  };
}

function kindOf({ kind }: UpstreamConfig): UpstreamKind | undefined {
  const kinds: Readonly<Record<string, UpstreamKind>> = UPSTREAM_KINDS;
  return kinds[kind];
}

function presetOf({ preset }: UpstreamConfig): Preset | undefined {
  const presets: Readonly<Record<string, Preset>> = PRESETS;
  return preset === undefined ? undefined : presets[preset];
}

interface BackendKey {
  name: string;
  /** The end of a stored key; null: the key is in the environment, or there is none. */
  hint: string | null;
  source: 'stored' | 'environment' | 'missing';
}

async function keysOf(parts: RouteParts, config: UpstreamConfig, written: WrittenUpstream) {
  const stored = (await parts.catalogEditor?.listProviderKeys()) ?? [];
  const names = keyNames(config, written);
  const keys = names.map((name): BackendKey => {
    const hint = stored.find((key) => key.name === name)?.hint ?? null;
    const source = hint !== null ? 'stored' : parts.hasVariable(name) ? 'environment' : 'missing';
    return { name, hint, source };
  });
  const origin = upstreamOrigin(config);
  const taken = new Set([...stored.map(({ name }) => name), ...names]);
  const spare = stored.filter((key) => key.origin === origin && !names.includes(key.name));
  return {
    keys,
    /** Stored for the same server, and not used. */
    spareKeys: spare.map(providerKey),
    /** A name for one more key. */
    nextKeyName: freeKeyName(config, names, taken),
  };
}

/** The names of its keys as they are written, or the variable of its preset. */
function keyNames(config: UpstreamConfig, { api_key, api_keys }: WrittenUpstream): string[] {
  const written = api_keys ?? (api_key === undefined ? [] : [api_key]);
  if (written.length > 0) return written.map((reference) => REFERENCE.exec(reference)?.[1] ?? reference);
  const usual = presetOf(config)?.variable;
  return usual === undefined ? [] : [usual];
}

function freeKeyName(config: UpstreamConfig, [first]: readonly string[], taken: ReadonlySet<string>): string {
  const own = `${config.name.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_')}_API_KEY`;
  const base = (first ?? (/^[A-Z]/.test(own) ? own : `KEY_${own}`)).slice(0, 58).replace(/_\d+$/, '');
  for (let number = 1; ; number++) {
    const name = number === 1 ? base : `${base}_${number}`;
    if (!taken.has(name)) return name;
  }
}

function endpointOf({ code, name, type, places, placesByModel }: Endpoint, file: CatalogFile) {
  return {
    code,
    name,
    type,
    lists: file.endpoints[code]?.lists ?? [],
    /** Tried in order; those of one place share by weight. */
    places: places.map((place) => place.map(({ upstream, weight }) => ({ upstream, weight }))),
    /** The cheapest goes first, whatever the order says. */
    sortsByPrice: placesByModel !== undefined,
  };
}

/** Each model of each list once, however many endpoints offer it. */
function modelsOf(endpoints: readonly Endpoint[], backend: string) {
  const models = new Map<string, ReturnType<typeof modelOf>>();
  for (const model of endpoints.flatMap((endpoint) => endpoint.models))
    models.set(`${model.list}\n${model.id}`, modelOf(model, backend));
  return [...models.values()];
}

function modelOf({ list, id, displayName, price, free, costs }: Model, backend: string) {
  return {
    list,
    model: id,
    name: displayName,
    /** Per million tokens; null: it is not sold by the token. */
    price: tokenAmounts(price),
    isFree: free,
    /** What this backend charges for it; null: not known. */
    cost: tokenAmounts(costs.get(backend)),
  };
}

function tokenAmounts(price: ModelPrice | undefined) {
  return price?.kind === 'tokens' ? { input: usd(price.input), output: usd(price.output) } : null;
}

function shownReferences(file: CatalogFile, backend: string) {
  const { sharedEndpoints, ownEndpoints, ownLists, aliases, details } = referencesTo(file, backend);
  return {
    sharedEndpoints: [...sharedEndpoints],
    ownEndpoints: [...ownEndpoints],
    ownLists: [...ownLists],
    aliases: [...aliases],
    details: details.map((path) => path.join('.')),
  };
}
