import { priceGroupOf } from '../../activity/accounts.ts';
import { ALL_MODELS } from '../../activity/model-days.ts';
import { modelFigures, type ModelFigures } from '../../activity/model-figures.ts';
import type { Catalog, CatalogSource } from '../../catalog/catalog.ts';
import { catalogFor } from '../../catalog/groups.ts';
import type { IncomingRequest } from '../../http/router.ts';
import type { Sessions } from '../../identity/sign-in/session.ts';
import { readPublicPages, readSite } from '../../identity/sign-in/site.ts';
import type { Clock } from '../../std/clock.ts';
import { Fault } from '../../std/fault.ts';
import type { Store } from '../../store/store.ts';
import { encodingFor } from '../answers.ts';
import { authMeta } from '../route.ts';
import { endpointItems } from '../models.ts';
import type { BackendHealth } from '../parts.ts';
import { PAGE_HEADERS, STRICT_TRANSPORT } from '../security.ts';
import { ANY_ORIGIN, DrawnDocument, DrawnDocuments, type PublicDocument } from './drawn-documents.ts';
import { llmsText, robotsText, sitemapXml } from './machine-files.ts';
import { listName, modelListPage, modelQuery } from './model-list.ts';
import { modelMissing, modelPage } from './model-page.ts';
import {
  framed,
  PAGE_LANGUAGES,
  pageTexts,
  type PageAssets,
  type PageContent,
  type PageContext,
} from './page-frame.ts';
import { modelIdAt, soldModels, typicalCost, type ShownOffer, type SoldModel } from './sold-models.ts';
import { statusJson, statusPage, type ServiceStatus } from './status-page.ts';

interface PublicPageParts {
  readonly catalog: Pick<CatalogSource, 'inForce'>;
  readonly backends: Pick<BackendHealth, 'list'>;
  readonly store: Store;
  readonly clock: Clock;
  readonly publicUrl: string | undefined;
  readonly version: string;
  readonly sessions: Pick<Sessions, 'read'>;
  /** Whether requests can be taken now. */
  apiIsUp(): Promise<boolean>;
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
  const documents = new DrawnDocuments(parts.clock);
  return async (incoming, fileNames) => {
    const { request, path } = incoming;
    // A client whose base URL lacks /v1 asks for /models with its token: it is told so, and gets no page.
    if (path.startsWith('/models') && request.headers.has('authorization')) return undefined;
    const origin = parts.publicUrl ?? incoming.origin;
    // Closed pages do not exist for anybody; only crawlers are still told what not to read.
    if (!(await areOpen()))
      return path === '/robots.txt'
        ? await respond(new DrawnDocument(robots(undefined)), origin, incoming)
        : undefined;
    const url = new URL(request.url, incoming.origin);
    const sold = await parts.catalog.inForce();
    const hasGroups = sold.groups !== undefined && sold.groups.size > 0;
    const group = hasGroups ? await visitorsGroup(parts, incoming) : undefined;
    const catalog = catalogFor(sold, group);
    const visit = {
      parts,
      figures,
      fileNames,
      siteName: await siteName(),
      catalog,
      ...languageOf(request, url),
    };
    const { name, draw, keptMs = PAGE_MS, inputs = [] } = documentAt(visit, path, url.searchParams);
    const from = { inputs: [catalog, visit.siteName, ...inputs], keptMs };
    const drawn =
      name === undefined
        ? new DrawnDocument(await draw())
        : await documents.of(group === undefined ? name : `for ${group} ${name}`, from, draw);
    return shownTo(await respond(drawn, origin, incoming), { hasGroups, group });
  };
}

/** Short beside the minute for which clients may keep a page. What changes a page at once is among its inputs. */
const PAGE_MS = 10_000;
const STATUS_MS = 1_000;

interface Visit extends Pick<PageContext, 'language' | 'isChosen' | 'siteName'> {
  readonly parts: PublicPageParts;
  readonly figures: RecentFigures;
  readonly catalog: Catalog;
  readonly fileNames: () => Promise<FileNames>;
}

interface WantedDocument {
  /**
   * Whoever asks for the same name gets the same document. There are as many as pages of what is sold, whatever strangers
   * ask for. `undefined`: it depends on what the visitor wrote, and is drawn for each visit.
   */
  readonly name: string | undefined;
  /** The inputs of the page beside the catalog and the site's name. */
  readonly inputs?: readonly unknown[];
  readonly keptMs?: number;
  readonly draw: () => Promise<PublicDocument>;
}

function documentAt(visit: Visit, path: string, asked: URLSearchParams): WantedDocument {
  const { siteName, catalog } = visit;
  const sold = soldModels(catalog);
  const text = (type: PublicDocument['type'], body: () => Promise<string> | string): WantedDocument => ({
    name: path,
    draw: async () => ({ body: await body(), type }),
  });
  switch (path) {
    case '/robots.txt':
      return { name: path, draw: () => Promise.resolve(robots(ANY_ORIGIN)) };
    case '/sitemap.xml':
      return text('application/xml', () => sitemapXml(sold, ANY_ORIGIN));
    case '/llms.txt':
      return text('text/plain', () => llmsText(sold, { origin: ANY_ORIGIN, siteName }));
    case '/status':
      return {
        ...page(visit, 'status', async (context) => statusPage(context, await statusOf(visit))),
        keptMs: STATUS_MS,
      };
    case '/status.json':
      return {
        ...text('application/json', async () => JSON.stringify(statusJson(await statusOf(visit)))),
        keptMs: STATUS_MS,
      };
    case '/models': {
      const query = modelQuery(asked);
      return page(visit, listName(query, sold.size), (context) => modelListPage(context, sold, query));
    }
    default: {
      const model = sold.get(modelIdAt(path) ?? '');
      if (!model) return page(visit, 'missing', (context) => modelMissing(context, '/models'), 404);
      const draw = async (context: PageContext) => modelPage(context, model, await shownOffers(visit, model));
      return { ...page(visit, `model ${model.id}`, draw), inputs: [backendStates(visit)] };
    }
  }
}

function robots(origin: string | undefined): PublicDocument {
  return { body: robotsText(origin), type: 'text/plain' };
}

/** A page in the visitor's language. */
function page(
  visit: Visit,
  name: string | undefined,
  content: (context: PageContext) => Promise<PageContent> | PageContent,
  status = 200,
): WantedDocument {
  return {
    name: name && `${visit.language} ${visit.isChosen} ${name}`,
    async draw() {
      const context = await contextOf(visit);
      return { body: framed(context, await content(context)), type: 'text/html', status };
    },
  };
}

function backendStates({ parts }: Visit): string {
  return parts.backends
    .list()
    .map(({ name, state }) => `${name} ${state}`)
    .join(', ');
}

async function shownOffers({ parts, figures, catalog }: Visit, model: SoldModel): Promise<ShownOffer[]> {
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
async function statusOf({ parts, figures, catalog }: Visit): Promise<ServiceStatus> {
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

async function contextOf({ parts, language, isChosen, siteName, fileNames }: Visit): Promise<PageContext> {
  return {
    language,
    isChosen,
    t: pageTexts(language),
    origin: ANY_ORIGIN,
    siteName,
    version: parts.version,
    assets: assetsOf(await fileNames()),
  };
}

function languageOf(request: Request, url: URL): Pick<PageContext, 'language' | 'isChosen'> {
  const chosen = PAGE_LANGUAGES.find((code) => code === url.searchParams.get('lang'));
  const accepted = request.headers.get('accept-language') ?? '';
  return { language: chosen ?? preferredLanguage(accepted), isChosen: chosen !== undefined };
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
  let isOpen: boolean | undefined;
  let until = 0;
  let asking: Promise<boolean> | undefined;
  const ask = async (): Promise<boolean> => {
    try {
      isOpen = (await readPublicPages(store)).open;
    } catch (cause) {
      // What was never read is not known to be closed: a page that may exist must not be called missing.
      if (isOpen === undefined)
        throw new Fault('service_unavailable', 'The store does not answer. Try again.', {
          retryAfterMs: 1_000,
          cause,
        });
    } finally {
      asking = undefined;
    }
    until = clock.now() + OPEN_MS;
    return isOpen;
  };
  return async () => (isOpen !== undefined && clock.now() < until ? isOpen : await (asking ??= ask()));
}

/**
 * May be cached for a minute by anybody; after that, a client that has the current version is told so and gets no body.
 */
async function respond(drawn: DrawnDocument, origin: string, incoming: IncomingRequest): Promise<Response> {
  const { request } = incoming;
  const { type, status = 200 } = drawn.document;
  const sent = drawn.at(origin);
  const headers = new Headers({
    ...PAGE_HEADERS,
    etag: sent.tag,
    vary: 'accept-encoding, accept-language, authorization',
    'cache-control': 'public, max-age=60',
    ...(incoming.origin.startsWith('https:') ? { 'strict-transport-security': STRICT_TRANSPORT } : {}),
  });
  if (status === 200 && request.headers.get('if-none-match') === sent.tag)
    return new Response(null, { status: 304, headers });
  headers.set('content-type', `${type}; charset=utf-8`);
  const encoding = encodingFor(request.headers.get('accept-encoding'));
  const bytes = encoding && (await sent.compressed(encoding));
  if (bytes && encoding) headers.set('content-encoding', encoding);
  return new Response(bytes ?? sent.bytes, { status, headers });
}

/** The price group of the visitor who is signed in; while the store cannot be read, nobody counts as signed in. */
async function visitorsGroup(
  { sessions, store }: PublicPageParts,
  incoming: IncomingRequest,
): Promise<string | undefined> {
  try {
    const user = await sessions.read(incoming.request.headers, authMeta(incoming));
    return user && (await priceGroupOf(store, user.accountId));
  } catch {
    // These pages are there in an outage too.
    return undefined;
  }
}

/** Where prices depend on who is signed in, nobody keeps what another one was shown. */
function shownTo(
  response: Response,
  { hasGroups, group }: { readonly hasGroups: boolean; readonly group: string | undefined },
): Response {
  if (hasGroups) response.headers.append('vary', 'cookie');
  if (group !== undefined) response.headers.set('cache-control', 'private, no-cache');
  return response;
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
