import { defaultAddress } from '../../catalog/address.ts';
import type { Catalog, UpstreamConfig } from '../../catalog/catalog.ts';
import type { AssumedAbilities } from '../../catalog/import/abilities.ts';
import { storedText, withChanges, withoutMissing, type CatalogMap } from '../../catalog/catalog-data.ts';
import { editCatalog, editOf, pasteText, type CatalogEdit } from '../../catalog/import/catalog-edit.ts';
import { ImportError } from '../../catalog/mistakes.ts';
import { planImport, type ImportPlan, type OwnPrices } from '../../catalog/import/plan.ts';
import { listedProvider, openPriceList, type PriceList } from '../../catalog/import/price-list.ts';
import type { EnteredKey } from '../../catalog/key-rules.ts';
import { catalogData } from '../../catalog/parse.ts';
import { PRESETS, type Preset } from '../../catalog/presets.ts';
import { offeredModels } from './offered-models.ts';

export interface ImportRequest {
  /** An upstream of the catalog; or a preset, or a kind with an address of its own, which then becomes one. */
  readonly provider: string;
  /** In millionths; takes precedence over the markup of the upstream. */
  readonly markup?: number | undefined;
  /** Names of models, `*` for any text; all when absent. */
  readonly models?: readonly string[] | undefined;
  /** The address of the operator's own server that speaks OpenAI's API, which becomes an upstream of that name. */
  readonly server?: OwnServer | undefined;
  /** The prices of models that no list has a price for; zero for all: they are free. */
  readonly ownPrices?: OwnPrices | undefined;
  readonly assumed?: AssumedAbilities | undefined;
}

interface OwnServer {
  readonly baseUrl: string;
  /** The variable with its key; absent: it needs none. */
  readonly keyName?: string | undefined;
}

export interface ImportPreview {
  readonly upstream: string;
  /** In millionths. */
  readonly markup: number | undefined;
  readonly listVersion: string;
  readonly plan: ImportPlan;
  /** The whole catalog with the changes, in the form that it has where it is; `undefined`: there are none. */
  readonly changed: string | undefined;
  /** The changes alone, for people who edit their file themselves. */
  readonly paste: string;
}

/** A catalog's text, and how it is read and written where it is. */
export interface ImportTarget {
  readonly text: string;
  /** Parses the catalog's text, with a key that was entered and is not stored yet. */
  readonly parse: (text: string, entered?: EnteredKey) => Catalog;
  readonly write: (text: string, changed: CatalogMap) => string;
}

/** Asks the backend, joins the list and writes a draft. Nothing is stored. */
export async function previewImport(
  { text, parse, write }: ImportTarget,
  request: ImportRequest,
  signal: AbortSignal,
): Promise<ImportPreview> {
  const start = withUpstream(text, parse, request);
  const { upstream } = start;
  const provider = listedProvider(upstream);
  if (provider === undefined && !request.ownPrices)
    throw new ImportError(
      `Nothing is known of the prices at '${upstream.name}': it has no preset, and its address is none of a known provider. Say what its models are sold for.`,
    );
  const offered = await offeredModels(upstream, signal);
  const list: PriceList = await openPriceList();
  const markup = request.markup ?? upstream.markup;
  const isWanted = wanted(request.models);
  const plan = planImport({
    catalog: start.catalog,
    upstream,
    offered,
    list,
    provider,
    markup,
    ownPrices: request.ownPrices,
    assumed: request.assumed,
    isWanted,
  });
  const edit = editOf(plan, start.catalog, { name: upstream.name, title: titleOf(upstream) });
  const whole: CatalogEdit | undefined = edit && {
    ...edit,
    added: { upstreams: start.added, ...edit.added },
  };
  const changed = whole && write(text, editCatalog(start.data, whole));
  // A draft with a mistake must not be offered.
  if (changed !== undefined) parse(changed);
  return {
    upstream: upstream.name,
    markup,
    listVersion: list.version,
    plan,
    changed,
    paste: whole ? pasteText(whole) : '',
  };
}

/** The server that the provider's key is for and the name that the key is kept under. */
interface TriedKey {
  readonly name: string;
  readonly origin: string;
}

/** Lists the provider's models with a key that is not stored; a key that the provider refuses is an {@link ImportError}. */
export async function tryKey(
  { text, parse }: ImportTarget,
  { key, ...request }: ImportRequest & { readonly key: string },
  signal: AbortSignal,
): Promise<TriedKey> {
  const name = request.server ? request.server.keyName : keyNameOf(request.provider);
  if (name === undefined) throw new ImportError(`'${request.provider}' needs no key.`);
  const { upstream } = withUpstream(text, (draft) => parse(draft, { name, value: key }), request);
  await offeredModels({ ...upstream, apiKey: key }, signal).catch((error: unknown) => {
    // Providers repeat the key that they refuse, and errors are logged.
    throw error instanceof ImportError ? new ImportError(error.message.replaceAll(key, '‹key›')) : error;
  });
  return { name, origin: new URL(upstream.baseUrl ?? defaultAddress(upstream) ?? '').origin };
}

function keyNameOf(provider: string): string | undefined {
  const presets: Readonly<Record<string, Preset>> = PRESETS;
  if (Object.hasOwn(presets, provider)) return presets[provider]?.variable;
  return Object.hasOwn(OWN_KINDS, provider) ? OWN_KINDS[provider] : undefined;
}

interface ImportStart {
  readonly catalog: Catalog;
  readonly upstream: UpstreamConfig;
  /** The entries that were added to the catalog so that the provider could be asked. */
  readonly added: CatalogMap;
  /** What the catalog's text says. */
  readonly data: CatalogMap;
}

function withUpstream(
  text: string,
  parse: ImportTarget['parse'],
  { provider: name, server }: ImportRequest,
): ImportStart {
  const catalog = parse(text);
  const data = catalogData(text) ?? {};
  const known = catalog.upstreams.get(name);
  if (known && server && known.baseUrl !== server.baseUrl)
    throw new ImportError(`There is a backend '${name}' with another address already; choose another name.`);
  if (known) return { catalog, upstream: known, added: {}, data };
  const entry = server ? ownUpstream(server) : newUpstream(name);
  if (!entry) {
    const names = [...catalog.upstreams.keys()].join(', ');
    throw new ImportError(
      `There is no upstream '${name}' (known: ${names}), and no provider of that name; docs/providers.md has them all.`,
    );
  }
  const added = { [name]: entry };
  const draft = parse(storedText(withChanges(data, { upstreams: added })));
  const upstream = draft.upstreams.get(name);
  if (!upstream) throw new ImportError(`The upstream '${name}' cannot be added.`);
  return { catalog: draft, upstream, added, data };
}

/** Providers with an API of their own, and the usual name of their key. */
export const OWN_KINDS: Readonly<Record<string, string>> = {
  anthropic: 'ANTHROPIC_API_KEY',
  google: 'GEMINI_API_KEY',
  cohere: 'COHERE_API_KEY',
};

function ownUpstream({ baseUrl, keyName }: OwnServer): CatalogMap {
  return withoutMissing({
    kind: 'openai',
    base_url: baseUrl,
    api_key: keyName === undefined ? undefined : `\${${keyName}}`,
  });
}

function newUpstream(name: string): CatalogMap | undefined {
  if (Object.hasOwn(PRESETS, name)) return { kind: 'openai', preset: name };
  const variable = Object.hasOwn(OWN_KINDS, name) ? OWN_KINDS[name] : undefined;
  return variable === undefined ? undefined : { kind: name, api_key: `\${${variable}}` };
}

function titleOf({ name, preset }: UpstreamConfig): string {
  const presets: Readonly<Record<string, Preset>> = PRESETS;
  return (preset === undefined ? undefined : presets[preset]?.title) ?? name;
}

function wanted(patterns: readonly string[] | undefined): (model: string) => boolean {
  if (!patterns) return () => true;
  return (model) => patterns.some((pattern) => matches(pattern, model));
}

/** Without a regular expression: many `*` would make one slow. */
function matches(pattern: string, model: string): boolean {
  const [first = '', ...parts] = pattern.split('*');
  const last = parts.pop();
  if (last === undefined) return model === first;
  if (!model.startsWith(first) || !model.endsWith(last)) return false;
  let at = first.length;
  for (const part of parts) {
    const found = model.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return at <= model.length - last.length;
}
