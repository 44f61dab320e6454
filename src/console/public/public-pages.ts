import { ALL_MODELS } from '../../activity/model-days.ts';
import { modelFigures, type ModelFigures } from '../../activity/model-figures.ts';
import type { Catalog, CatalogSource } from '../../catalog/catalog.ts';
import type { IncomingRequest } from '../../http/router.ts';
import { readPublicPages, readSite } from '../../identity/sign-in/site.ts';
import type { Clock } from '../../std/clock.ts';
import type { Store } from '../../store/store.ts';
import { compressedJson, encodingFor } from '../answers.ts';
import { endpointItems } from '../models.ts';
import type { BackendHealth } from '../parts.ts';
import { PAGE_HEADERS, STRICT_TRANSPORT } from '../security.ts';
import { llmsText, robotsText, sitemapXml } from './machine-files.ts';
import { modelListPage, modelQuery } from './model-list.ts';
import { modelMissing, modelPage } from './model-page.ts';
import { framed, PAGE_LANGUAGES, pageTexts, type PageAssets, type PageContext } from './page-frame.ts';
import { modelIdAt, soldModels, typicalCost, type ShownOffer, type SoldModel } from './sold-models.ts';
import { statusJson, statusPage, type ServiceStatus } from './status-page.ts';

interface PublicPageParts {
  readonly catalog: Pick<CatalogSource, 'current'>;
  readonly backends: Pick<BackendHealth, 'list'>;
  readonly store: Store;
  readonly clock: Clock;
  readonly publicUrl: string | undefined;
  readonly version: string;
  /** Whether requests can be taken now. */
  apiIsUp(): Promise<boolean>;
}

/** A document that anybody may read: `body` and what it is. */
interface PublicDocument {
  readonly body: string;
  readonly type: 'text/html' | 'text/plain' | 'application/json' | 'application/xml';
  readonly status?: number;
}

type FileNames = Iterable<string>;
/** `undefined`: there is no such page for this visitor. */
export type PublicPages = (
  incoming: IncomingRequest,
  fileNames: () => Promise<FileNames>,
) => Promise<Response | undefined>;

export const PUBLIC_PATHS = [
  '/models',
  '/models/**',
  '/status',
  '/status.json',
  '/sitemap.xml',
  '/robots.txt',
  '/llms.txt',
];
const MOST_OFFERS = 20;
const MOST_ENDPOINTS = 100;

/** The pages that the server renders itself, without script: models, their prices and figures, and the status. */
export function makePublicPages(parts: PublicPageParts): PublicPages {
  const figures = new RecentFigures(parts);
  const siteName = rememberedSiteName(parts);
  const areOpen = rememberedOpen(parts);
  return async (incoming, fileNames) => {
    const { request, path } = incoming;
    // A client whose base URL lacks /v1 asks for /models with its token: it is told so, and gets no page.
    if (path.startsWith('/models') && request.headers.has('authorization')) return undefined;
    // Closed pages do not exist for anybody; only crawlers are still told what not to read.
    if (!(await areOpen()))
      return path === '/robots.txt' ? await respond(robots(undefined), incoming) : undefined;
    const url = new URL(request.url, incoming.origin);
    const context = await contextOf(parts, { incoming, url, fileNames, siteName });
    const document = await documentAt({ parts, figures, context, url }, path);
    return await respond(document, incoming);
  };
}

interface Visit {
  readonly parts: PublicPageParts;
  readonly figures: RecentFigures;
  readonly context: PageContext;
  readonly url: URL;
}

async function documentAt(visit: Visit, path: string): Promise<PublicDocument> {
  const { parts, context, url } = visit;
  const catalog = parts.catalog.current();
  const sold = soldModels(catalog);
  switch (path) {
    case '/robots.txt':
      return robots(context.origin);
    case '/sitemap.xml':
      return { body: sitemapXml(sold, context.origin), type: 'application/xml' };
    case '/llms.txt':
      return { body: llmsText(sold, context), type: 'text/plain' };
    case '/status':
      return page(framed(context, statusPage(context, await statusOf(visit, catalog))));
    case '/status.json':
      return { body: JSON.stringify(statusJson(await statusOf(visit, catalog))), type: 'application/json' };
    case '/models':
      return page(framed(context, modelListPage(context, sold, modelQuery(url.searchParams))));
    default: {
      const model = sold.get(modelIdAt(path) ?? '');
      if (!model) return page(framed(context, modelMissing(context, '/models')), 404);
      const offers = await shownOffers(visit, catalog, model);
      return page(framed(context, modelPage(context, model, offers)));
    }
  }
}

function robots(origin: string | undefined): PublicDocument {
  return { body: robotsText(origin), type: 'text/plain' };
}

function page(body: string, status = 200): PublicDocument {
  return { body, type: 'text/html', status };
}

async function shownOffers(
  { parts, figures }: Visit,
  catalog: Catalog,
  model: SoldModel,
): Promise<ShownOffer[]> {
  const states = new Map(
    endpointItems(catalog, parts.backends).map(({ endpoint, status }) => [endpoint, status]),
  );
  return await Promise.all(
    model.offers.slice(0, MOST_OFFERS).map(async (item) => ({
      item,
      state: states.get(item.endpoint) ?? ('up' as const),
      typicalUsd: typicalCost(catalog, item),
      figures: await figures.of(item.endpoint, item.model),
    })),
  );
}

/** An endpoint that was never configured is not an outage. */
async function statusOf({ parts, figures }: Visit, catalog: Catalog): Promise<ServiceStatus> {
  const served = endpointItems(catalog, parts.backends).filter(({ unavailable }) => unavailable === null);
  const [apiIsUp, endpoints] = await Promise.all([
    parts.apiIsUp(),
    Promise.all(
      served.slice(0, MOST_ENDPOINTS).map(async (endpoint) => ({
        endpoint,
        figures: await figures.of(endpoint.endpoint, ALL_MODELS),
      })),
    ),
  ]);
  return { at: parts.clock.now(), apiIsUp, endpoints };
}

interface ContextSources {
  readonly incoming: IncomingRequest;
  readonly url: URL;
  readonly fileNames: () => Promise<FileNames>;
  readonly siteName: () => Promise<string>;
}

async function contextOf(
  { publicUrl, version }: PublicPageParts,
  { incoming, url, fileNames, siteName }: ContextSources,
): Promise<PageContext> {
  const chosen = PAGE_LANGUAGES.find((code) => code === url.searchParams.get('lang'));
  const accepted = incoming.request.headers.get('accept-language') ?? '';
  const language = chosen ?? preferredLanguage(accepted);
  return {
    language,
    isChosen: chosen !== undefined,
    t: pageTexts(language),
    origin: publicUrl ?? incoming.origin,
    siteName: await siteName(),
    version,
    // What programs read does not wait for the bundler.
    assets: /^\/(?:models|status$)/.test(incoming.path) ? assetsOf(await fileNames()) : {},
  };
}

/** The first one that is named and that there is. */
function preferredLanguage(accepted: string): PageContext['language'] {
  const names = accepted.slice(0, 200).toLowerCase().split(',').map((part) => part.trim().slice(0, 2)); // prettier-ignore
  return names.map((name) => PAGE_LANGUAGES.find((code) => code === name)).find(Boolean) ?? 'en';
}

function assetsOf(names: FileNames): PageAssets {
  const all = [...names];
  const named = (start: string, end: string) =>
    all.find((name) => name.startsWith(`/assets/${start}-`) && name.endsWith(end));
  return {
    style: named('styles', '.css'),
    dark: named('dark', '.css'),
    theme: named('theme-boot', '.js'),
    icon: named('icon', '.svg'),
    font: named('inter-latin-wght-normal', '.woff2'),
  };
}

const NAME_MS = 10_000;

/** The name that the operator gave the site; the last known one while the store cannot be read. */
function rememberedSiteName({ store, clock }: PublicPageParts): () => Promise<string> {
  let name = 'Tollgate';
  let until = 0;
  return async () => {
    if (clock.now() < until) return name;
    until = clock.now() + NAME_MS;
    name = await readSite(store).then(
      (site) => site.siteName,
      () => name,
    );
    return name;
  };
}

const OPEN_MS = 1_000;

/**
 * Whether the operator lets everybody see these pages; while the store cannot be read, the last known answer, or no if
 * there is none.
 */
function rememberedOpen({ store, clock }: PublicPageParts): () => Promise<boolean> {
  let isOpen = false;
  let until = 0;
  let asking: Promise<boolean> | undefined;
  const ask = async (): Promise<boolean> => {
    isOpen = await readPublicPages(store).then(
      ({ open }) => open,
      () => isOpen,
    );
    until = clock.now() + OPEN_MS;
    asking = undefined;
    return isOpen;
  };
  return async () => (clock.now() < until ? isOpen : await (asking ??= ask()));
}

/**
 * May be cached for a minute by anybody; after that, a client that has the current version is told so and gets no body.
 */
async function respond(
  { body, type, status = 200 }: PublicDocument,
  { request, origin }: IncomingRequest,
): Promise<Response> {
  const tag = `W/"${Bun.hash(body).toString(36)}"`;
  const headers = new Headers({
    ...PAGE_HEADERS,
    etag: tag,
    vary: 'accept-encoding, accept-language, authorization',
    'cache-control': 'public, max-age=60',
    ...(origin.startsWith('https:') ? { 'strict-transport-security': STRICT_TRANSPORT } : {}),
  });
  if (status === 200 && request.headers.get('if-none-match') === tag)
    return new Response(null, { status: 304, headers });
  headers.set('content-type', `${type}; charset=utf-8`);
  const encoding = encodingFor(request.headers.get('accept-encoding'));
  const bytes = encoding && (await compressedJson(body, encoding));
  if (bytes && encoding) headers.set('content-encoding', encoding);
  return new Response(bytes ?? body, { status, headers });
}

const FRESH_MS = 60_000;
const MOST_KEPT = 2_000;

/** Figures of models, at most a minute old. A few rows are read for each; visitors share what was read. */
class RecentFigures {
  readonly #parts: { readonly store: Store; readonly clock: Clock };
  readonly #kept = new Map<string, { readonly until: number; readonly figures: Promise<ModelFigures> }>();

  constructor(parts: { readonly store: Store; readonly clock: Clock }) {
    this.#parts = parts;
  }

  /** `undefined`: the store cannot be read now. */
  async of(endpoint: string, model: string): Promise<ModelFigures | undefined> {
    const { store, clock } = this.#parts;
    const now = clock.now();
    const key = `${endpoint} ${model}`;
    const known = this.#kept.get(key);
    if (known && known.until > now) return await known.figures.catch(() => undefined);
    const figures = modelFigures(store.db, { endpoint, model }, now);
    this.#kept.delete(key);
    this.#kept.set(key, { until: now + FRESH_MS, figures });
    this.#forgetOldest();
    return await figures.catch(() => {
      this.#kept.delete(key);
      return undefined;
    });
  }

  #forgetOldest(): void {
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > MOST_KEPT && oldest !== undefined) this.#kept.delete(oldest);
  }
}
