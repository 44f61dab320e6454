import { z } from 'zod';
import { defaultAddress } from '../../catalog/address.ts';
import { changeAt, storedText, withChanges } from '../../catalog/catalog-data.ts';
import { catalogData } from '../../catalog/parse.ts';
import { PRESETS, type Preset } from '../../catalog/presets.ts';
import { imagePrice, markupFactor, tokenPrice } from '../../catalog/price-schema.ts';
import { nanoUsd } from '../../std/money.ts';
import { Fault } from '../../std/fault.ts';
import { OWN_KINDS, tryKey } from '../../upstream/offered/import-preview.ts';
import { discoverLocalServers, LOCAL_SERVERS } from '../../upstream/local-servers.ts';
import type { RouteParts } from '../parts.ts';
import { MEGABYTE, route } from '../route.ts';
import { catalogText, requireEditor, saveDraft } from './catalog.ts';
import { importDraft, LIST_MS, refused } from './catalog-import.ts';
import { followPublished } from './follow-published.ts';

/** The name of a backend as the catalog takes it. */
const backendName = z.string().regex(/^[a-z][a-z0-9_-]{0,39}$/, 'must be a short name in small letters');

/** A server with OpenAI's API that has no preset. */
const ownServer = z.strictObject({
  baseUrl: z.url({ protocol: /^https?$/ }).max(500),
  keyName: z
    .string()
    .regex(/^[A-Z][A-Z0-9_]{0,50}_API_KEY$/)
    .optional(),
});

const NOT_ZERO = "prices of 0 must be given as 'free'";
const tokens = z.strictObject({ input: tokenPrice, output: tokenPrice });
const inputOnly = z
  .strictObject({ input: tokenPrice })
  .transform(({ input }) => ({ input, output: nanoUsd(0) }));
const oneImage = z.strictObject({ image: imagePrice });

/**
 * For models that no list has a price for, by what they make: USD per million tokens, or per image. A kind without a
 * price is left out, and nothing is free because a field was left at zero.
 */
const ownPrice = z.union([
  z.literal('free'),
  z
    .strictObject({
      chat: z
        .strictObject({
          price: tokens.refine(({ input, output }) => input > 0 || output > 0, NOT_ZERO),
          cost: tokens.optional(),
        })
        .optional(),
      embedding: z
        .strictObject({
          price: inputOnly.refine(({ input }) => input > 0, NOT_ZERO),
          cost: inputOnly.optional(),
        })
        .optional(),
      image: z
        .strictObject({
          price: oneImage.refine(({ image }) => image > 0, NOT_ZERO),
          cost: oneImage.optional(),
        })
        .optional(),
    })
    .refine(({ chat, embedding, image }) => chat ?? embedding ?? image, 'must have at least one price'),
]);

/** Abilities of its chat models where neither it nor the list tells. */
const assumed = z.strictObject({ vision: z.boolean(), tools: z.boolean(), reasoning: z.boolean() }).partial();

/** What an operator needs to add a backend without writing YAML; what is made is a draft like any other. */
export const newBackendRoutes = [
  route('GET /api/console/admin/providers', {
    who: 'operator',
    may: 'see_business',
    summary: 'List providers with a preset',
    compressed: true,
    handle: providers,
  }),
  route('POST /api/console/admin/backends/preview', {
    who: 'operator',
    may: 'change_catalog',
    summary: 'Preview a new backend',
    // It calls an address that it was given.
    confirmed: true,
    audit: 'backend.preview',
    body: z.strictObject({
      provider: backendName,
      server: ownServer.optional(),
      markup: markupFactor.optional(),
      ownPrice: ownPrice.optional(),
      assumed: assumed.optional(),
      models: z.array(z.string().trim().min(1).max(200)).min(1).max(1_000).optional(),
    }),
    withinMs: LIST_MS,
    handle: (parts, { body, deadline, operator }) => {
      const { ownPrice: own, ...wanted } = body;
      const ownPrices = own === 'free' ? { chat: FREE, embedding: FREE } : own;
      return importDraft(parts, operator.id, { ...wanted, ownPrices }, deadline);
    },
  }),
  /** Stores a key that the provider has accepted; one that it refuses is not stored. */
  route('POST /api/console/admin/backends/key', {
    who: 'operator',
    may: 'change_catalog',
    summary: 'Store the key of a new backend',
    confirmed: true,
    audit: 'provider-key.set',
    body: z.strictObject({
      provider: backendName,
      server: ownServer.optional(),
      value: z.string().min(1).max(4_096),
    }),
    withinMs: LIST_MS,
    async handle(parts, { body: { value, ...wanted }, deadline, operator }) {
      const editor = requireEditor(parts);
      const tried = await tryKey(await parts.importTarget(), { ...wanted, key: value }, deadline).catch(
        refused,
      );
      await editor.setProviderKey(tried.name, value, tried.origin);
      // The built-in catalog, which nobody has edited yet, depends on the keys that there are.
      await followPublished(editor, operator.id);
      return { keyName: tried.name };
    },
  }),
  route('POST /api/console/admin/backends/try', {
    who: 'operator',
    may: 'change_catalog',
    summary: 'Try a backend with a small request',
    confirmed: true,
    audit: 'backend.try',
    maxBytes: 4 * MEGABYTE,
    body: z.strictObject({ yaml: catalogText, backend: backendName, model: z.string().min(1).max(200) }),
    handle: tryDraft,
  }),
  route('PUT /api/console/admin/backends/{id}/paused', {
    who: 'operator',
    may: 'change_catalog',
    summary: 'Pause or resume a backend',
    confirmed: true,
    audit: 'backend.pause',
    body: z.strictObject({ paused: z.boolean() }),
    async handle(parts, { params: { id }, body: { paused }, operator }) {
      const editor = requireEditor(parts);
      if (!parts.catalog.current().upstreams.has(id))
        throw new Fault('not_found', 'There is no such backend.');
      const { json, version } = editor.newest();
      const change = changeAt(['upstreams', id, 'paused'], paused || null);
      const changed = withChanges(catalogData(json) ?? {}, change);
      const note = paused ? `${id} paused` : `${id} resumed`;
      return await saveDraft(editor, operator.id, {
        text: storedText(changed),
        note,
        revision: version,
      });
    },
  }),
];

const FREE = { price: { input: nanoUsd(0), output: nanoUsd(0) } };

async function providers(parts: RouteParts) {
  const stored = new Set(((await parts.catalogEditor?.listProviderKeys()) ?? []).map(({ name }) => name));
  const known = parts.catalog.current().upstreams;
  const hasKey = (variable: string | undefined): boolean =>
    variable === undefined || stored.has(variable) || parts.hasVariable(variable);
  const item = (name: string, title: string, address: string, variable?: string) => ({
    /** The name of the preset or kind, which the new backend takes over. */
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
  const running = new Map(found.map(({ key, models }) => [key, models.length]));
  return {
    items: [...own, ...presets.filter(({ keyName }) => keyName !== null)].toSorted(
      (a, b) => rankOf(a.name) - rankOf(b.name),
    ),
    /** Servers that people run themselves, on their usual ports of this machine. */
    local: LOCAL_SERVERS.map(({ key, name, port }) => ({
      name: key,
      title: name,
      host: `127.0.0.1:${port}`,
      /** Null: it does not answer there. */
      models: running.get(key) ?? null,
      isAdded: known.has(key),
    })),
  };
}

/** Providers that people add first, the most frequent one first; all others follow in the order of the presets. */
const MOST_USED = [
  'openai', 'anthropic', 'google', 'openrouter', 'deepseek', 'mistral', 'groq', 'xai', 'together', 'fireworks',
]; // prettier-ignore

function rankOf(provider: string): number {
  const rank = MOST_USED.indexOf(provider);
  return rank === -1 ? MOST_USED.length : rank;
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
