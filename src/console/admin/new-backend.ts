import { z } from 'zod';
import { defaultAddress } from '../../catalog/address.ts';
import { storedText, withValue } from '../../catalog/catalog-data.ts';
import { catalogData } from '../../catalog/parse.ts';
import { PRESETS, type Preset } from '../../catalog/presets.ts';
import { markupFactor, tokenPrice } from '../../catalog/price-schema.ts';
import { Fault } from '../../std/fault.ts';
import { OWN_KINDS } from '../../upstream/offered/import-preview.ts';
import { discoverLocalServers } from '../../upstream/local-servers.ts';
import type { RouteParts } from '../parts.ts';
import { MEGABYTE, route } from '../route.ts';
import { catalogText, requireEditor, saveDraft } from './catalog.ts';
import { importDraft, LIST_MS } from './catalog-import.ts';

/** The name of a backend as the catalog takes it. */
const backendName = z.string().regex(/^[a-z][a-z0-9_-]{0,39}$/, 'must be a short name in small letters');

/** What an operator needs to add a backend without writing YAML; what is made is a draft like any other. */
export const newBackendRoutes = [
  route('GET /api/console/admin/providers', { who: 'admin', compressed: true, handle: providers }),
  route('POST /api/console/admin/backends/preview', {
    who: 'admin',
    // It calls an address that it was given.
    confirmed: true,
    audit: 'backend.preview',
    body: z.strictObject({
      provider: backendName,
      /** Of a server that speaks OpenAI's API and has no preset. */
      server: z
        .strictObject({
          baseUrl: z.url({ protocol: /^https?$/ }).max(500),
          keyName: z
            .string()
            .regex(/^[A-Z][A-Z0-9_]{0,50}_API_KEY$/)
            .optional(),
        })
        .optional(),
      markup: markupFactor.optional(),
      /** USD per million tokens, for models that no list has a price for; zero for both: they are free. */
      ownPrice: z.strictObject({ input: tokenPrice, output: tokenPrice }).optional(),
      models: z.array(z.string().trim().min(1).max(200)).min(1).max(1_000).optional(),
    }),
    withinMs: LIST_MS,
    handle: (parts, { body, deadline, user }) => importDraft(parts, user.accountId, body, deadline),
  }),
  route('POST /api/console/admin/backends/try', {
    who: 'admin',
    confirmed: true,
    audit: 'backend.try',
    maxBytes: 4 * MEGABYTE,
    body: z.strictObject({ yaml: catalogText, backend: backendName, model: z.string().min(1).max(200) }),
    handle: tryDraft,
  }),
  route('PUT /api/console/admin/backends/{id}/paused', {
    who: 'admin',
    confirmed: true,
    audit: 'backend.pause',
    body: z.strictObject({ paused: z.boolean() }),
    async handle(parts, { params: { id }, body: { paused }, user }) {
      const editor = requireEditor(parts);
      if (!parts.catalog.current().upstreams.has(id))
        throw new Fault('not_found', 'There is no such backend.');
      const { json, version } = editor.newest();
      const changed = withValue(catalogData(json) ?? {}, ['upstreams', id, 'paused'], paused || undefined);
      const note = paused ? `${id} paused` : `${id} resumed`;
      return await saveDraft(editor, user.accountId, {
        text: storedText(changed),
        note,
        revision: version,
      });
    },
  }),
];

async function providers(parts: RouteParts) {
  const stored = new Set(((await parts.catalogEditor?.listProviderKeys()) ?? []).map(({ name }) => name));
  const known = parts.catalog.current().upstreams;
  const hasKey = (variable: string | undefined): boolean =>
    variable === undefined || stored.has(variable) || parts.hasVariable(variable);
  const item = (name: string, title: string, address: string, variable?: string) => ({
    /** Of the preset or kind, and of the backend that is made of it. */
    name,
    title,
    host: new URL(address).host,
    /** The server that its key is for. */
    origin: new URL(address).origin,
    /** The variable with the key; null: it needs none. */
    keyName: variable ?? null,
    hasKey: hasKey(variable),
    isAdded: known.has(name),
  });
  const own = Object.entries(OWN_KINDS).flatMap(([kind, variable]) => {
    const address = defaultAddress({ kind, options: new Map() });
    return address === undefined ? [] : [item(kind, OWN_TITLES[kind] ?? kind, address, variable)];
  });
  const presets = Object.entries<Preset>(PRESETS)
    .filter(([, { listsModels }]) => listsModels !== false)
    .map(([name, { title, baseUrl, variable }]) => item(name, title, baseUrl, variable));
  const found = await discoverLocalServers();
  return {
    items: [...own, ...presets.filter(({ keyName }) => keyName !== null)],
    /** Servers that answer on this machine. */
    local: found.map(({ key, name, baseUrl, models }) => ({
      name: key,
      title: name,
      host: new URL(baseUrl).host,
      models: models.length,
      isAdded: known.has(key),
    })),
  };
}

const OWN_TITLES: Readonly<Record<string, string>> = {
  anthropic: 'Anthropic',
  google: 'Google Gemini',
  cohere: 'Cohere',
};

/** One small request to a backend that is only in a draft, streamed; what it may cost is bounded. */
async function tryDraft(
  parts: RouteParts,
  { body: { yaml, backend, model } }: { readonly body: { yaml: string; backend: string; model: string } },
) {
  const { parse } = await parts.importTarget();
  const catalog = parse(yaml);
  if (!catalog.upstreams.has(backend)) throw new Fault('not_found', 'There is no such backend.');
  return await parts.tryBackend({ catalog, backend, model });
}
