import type { EndpointKind } from '../contract.ts';
import type { ModelItem } from '../models.ts';
import { html, type Markup } from './html.ts';
import { pageHref, type PageContent, type PageContext } from './page-frame.ts';
import {
  compactText,
  countText,
  momentText,
  priceText,
  featureBadges,
  PLAIN_BUTTON,
  PRIMARY_BUTTON,
  priceLines,
} from './page-parts.ts';
import type { SoldModel } from './sold-models.ts';

const PAGE_ROWS = 100;
const FIELD =
  'h-9 w-full min-w-0 rounded-md border border-field bg-surface px-3 text-base font-normal text-ink max-sm:text-lg';

/** Every model that is sold, a page of them at a time; or, where some were chosen, those side by side. */
export function modelListPage(
  context: PageContext,
  sold: ReadonlyMap<string, SoldModel>,
  query: ModelQuery,
): PageContent {
  const { t, siteName } = context;
  const chosen = query.compare.flatMap((id) => sold.get(id) ?? []);
  if (chosen.length > 0) return comparePage(context, chosen);
  const found = matching(sold, query);
  const pages = Math.max(1, Math.ceil(found.length / PAGE_ROWS));
  const page = Math.min(query.page, pages);
  const shown = found.slice((page - 1) * PAGE_ROWS, page * PAGE_ROWS);
  return {
    title: page > 1 ? `${t.listTitle}, ${t.page(page, pages)}` : t.listTitle,
    description: t.listDescription(siteName, sold.size),
    path: listHref({ ...query, page }),
    current: 'models',
    isIndexed: !hasFilter(query),
    main: html`<h1 class="text-xl font-semibold tracking-tight">${t.listTitle}</h1>
      <p class="mt-0.5 max-w-[68ch] text-ink-3">${t.listLead(siteName)}</p>
      ${announced(context, sold)}${filterForm(context, query)}
      <p class="mt-5 mb-2 text-sm text-ink-3" role="status">
        ${t.count(found.length, countText(found.length, context.language))}
      </p>
      ${shown.length > 0 ? listTable(context, shown) : emptyList(context, sold.size)}
      ${pager(context, query, { page, pages })}`,
  };
}

/** A notice that prices will change, with the date; each model's row and page show the new prices. */
function announced({ t, language }: PageContext, sold: ReadonlyMap<string, SoldModel>): Markup | undefined {
  const changing = [...sold.values()].flatMap(({ offers }) => offers.find(({ next }) => next !== null) ?? []);
  const from = changing[0]?.next?.from;
  if (from === undefined) return undefined;
  return html`<p class="mt-4 rounded-md border border-warn-line bg-warn-soft px-4 py-3 text-warn">
    ${t.pricesChange(changing.length, momentText(from, language))}
  </p>`;
}

function filterForm(context: PageContext, query: ModelQuery): Markup {
  const { t, isChosen, language } = context;
  const option = (value: string, label: string, current: string) =>
    html`<option value="${value}" ${value === current ? html` selected` : undefined}>${label}</option>`;
  const feature = (name: 'vision' | 'tools' | 'reasoning' | 'free') =>
    html`<label class="inline-flex h-9 items-center gap-2 text-ink-2"
      ><input
        type="checkbox"
        name="${name}"
        value="1"
        class="size-4 accent-accent"
        ${query[name] ? html` checked` : undefined}
      />${t[name]}</label
    >`;
  return html`<form
    method="get"
    action="/models"
    role="search"
    class="mt-5 flex flex-wrap items-end gap-x-3 gap-y-3"
  >
    ${isChosen ? html`<input type="hidden" name="lang" value="${language}" />` : undefined}
    <label class="flex min-w-0 flex-1 basis-64 flex-col gap-1.5 text-sm font-medium text-ink-2"
      >${t.search}<input type="search" name="q" value="${query.q}" maxlength="200" class="${FIELD}"
    /></label>
    <label class="flex flex-col gap-1.5 text-sm font-medium text-ink-2"
      >${t.kind}<select name="kind" class="${FIELD}">
        ${option('', t.anyKind, query.kind)}${Object.entries(t.kinds).map(([value, label]) => option(value, label, query.kind))}
      </select></label
    >
    <label class="flex flex-col gap-1.5 text-sm font-medium text-ink-2"
      >${t.sort}<select name="sort" class="${FIELD}">
        ${Object.entries(t.sorts).map(([value, label]) => option(value, label, query.sort))}
      </select></label
    >
    <fieldset class="flex flex-wrap items-center gap-x-4">
      <legend class="sr-only">${t.features}</legend>
      ${(['vision', 'tools', 'reasoning', 'free'] as const).map(feature)}
    </fieldset>
    <span class="flex gap-2"
      ><button type="submit" class="${PRIMARY_BUTTON}">${t.show}</button
      >${hasFilter(query) ? html`<a href="${pageHref(context, '/models')}" class="${PLAIN_BUTTON}">${t.reset}</a>` : undefined}</span
    >
  </form>`;
}

const HEAD_CELL =
  'px-2 py-2 sm:px-3 text-xs font-medium whitespace-nowrap text-ink-3 first:pl-3 last:pr-3 sm:first:pl-5 sm:last:pr-5';
const BODY_CELL = 'px-2 py-2.5 align-middle first:pl-3 last:pr-3 sm:px-3 sm:first:pl-5 sm:last:pr-5';

function listTable(context: PageContext, shown: readonly SoldModel[]): Markup {
  const { t, isChosen, language } = context;
  const head = (label: string, more: string) =>
    html`<th scope="col" class="${HEAD_CELL} ${more}">${label}</th>`;
  return html`<form method="get" action="/models">
    ${isChosen ? html`<input type="hidden" name="lang" value="${language}" />` : undefined}
    <div class="rounded-lg border border-line bg-surface">
      <div role="region" aria-label="${t.models}" tabindex="0" class="thin-scroll overflow-x-auto">
        <table class="w-full border-collapse text-sm">
          <thead>
            <tr class="border-b border-line">
              <th scope="col" class="${HEAD_CELL}"><span class="sr-only">${t.compare}</span></th>
              ${head(t.model, 'text-left')}${head(t.features, 'text-left max-md:hidden')}${head(t.offeredBy, 'text-left max-md:hidden')}${head(t.context, 'text-right max-sm:hidden')}${head(t.input, 'text-right')}${head(t.output, 'text-right')}
            </tr>
          </thead>
          <tbody>
            ${shown.map((model) => keptRow(context, model))}
          </tbody>
        </table>
      </div>
    </div>
    <p class="mt-4 flex flex-wrap items-center gap-3">
      <button type="submit" class="${PLAIN_BUTTON}">${t.compare}</button
      ><span class="text-sm text-ink-3">${t.compareHint}</span>
    </p>
  </form>`;
}

/** What a row depends on beside its model. */
type RowContext = Pick<PageContext, 't' | 'language' | 'isChosen'>;

const keptRows = new WeakMap<SoldModel, Map<string, Markup>>();

/** Made once for a model in each language: formatting its numbers takes most of the time that a list takes. */
function keptRow(context: RowContext, model: SoldModel): Markup {
  const rows = keptRows.get(model) ?? new Map<string, Markup>();
  keptRows.set(model, rows);
  const name = `${context.language} ${context.isChosen}`;
  const row = rows.get(name) ?? listRow(context, model);
  rows.set(name, row);
  return row;
}

function listRow(context: RowContext, model: SoldModel): Markup {
  const { t, language } = context;
  const { best, offers } = model;
  const hasContext = best.type !== 'image_generation' && best.contextTokens > 0;
  return html`<tr class="border-b border-line last:border-b-0">
    <td class="${BODY_CELL} w-8">
      <input
        type="checkbox"
        name="compare"
        value="${model.id}"
        aria-label="${t.compareOne(best.displayName)}"
        class="block size-4 accent-accent"
      />
    </td>
    <td class="${BODY_CELL}">
      <a href="${pageHref(context, model.path)}" class="font-medium hover:text-accent hover:underline"
        >${best.displayName}</a
      ><span class="block font-mono text-xs break-words [overflow-wrap:anywhere] text-ink-3">${model.id}</span
      >${nextPrice(context, best)}
    </td>
    <td class="${BODY_CELL} max-md:hidden">${featureBadges(best, context)}</td>
    <td class="${BODY_CELL} text-ink-2 max-md:hidden">
      ${offers.length === 1 ? best.endpointName : t.endpoints(offers.length)}
    </td>
    <td class="${BODY_CELL} text-right tabular-nums max-sm:hidden">
      ${hasContext ? compactText(best.contextTokens, language) : '–'}
    </td>
    <td class="${BODY_CELL} text-right tabular-nums">${lowestPrice(context, offers, 'input')}</td>
    <td class="${BODY_CELL} text-right tabular-nums">${lowestPrice(context, offers, 'output')}</td>
  </tr>`;
}

/** What the first offer costs from a date on. */
function nextPrice({ t, language }: RowContext, { next }: ModelItem): Markup | undefined {
  if (!next) return undefined;
  const date = momentText(next.from, language);
  const { price } = next;
  const amounts =
    price?.kind === 'tokens'
      ? [price.inputUsd, price.outputUsd]
      : (price?.bySize.slice(0, 1) ?? []).map(({ imageUsd }) => imageUsd);
  const shown = next.free ? t.free : amounts.map((amount) => priceText(amount, language)).join(' / ');
  return html`<span class="block text-xs text-warn"
    >${price ? `${t.pricesFrom(date)}: ${shown}` : t.goneFrom(date)}</span
  >`;
}

/** The lowest one, and that there are others. A kind of price that a model does not have is a dash, not zero. */
function lowestPrice(
  { t, language }: RowContext,
  offers: readonly ModelItem[],
  part: 'input' | 'output',
): Markup | string {
  if (offers.some(({ free }) => free))
    return part === 'input' ? html`<span class="text-accent">${t.free}</span>` : '–';
  const amounts = offers.flatMap((offer) => pricesOf(offer, part)).toSorted((a, b) => Number(a) - Number(b));
  const [lowest] = amounts;
  if (lowest === undefined) return '–';
  const shown = priceText(lowest, language);
  const text = lowest === amounts.at(-1) ? shown : t.from(shown);
  const isImage = offers[0]?.price.kind === 'images';
  return isImage ? html`${text} <span class="text-ink-3">${t.perImage}</span>` : text;
}

function pricesOf({ price, type }: ModelItem, part: 'input' | 'output'): string[] {
  if (type === 'embedding' && part === 'output') return [];
  if (price.kind === 'images') return part === 'output' ? price.bySize.map(({ imageUsd }) => imageUsd) : [];
  return [part === 'input' ? price.inputUsd : price.outputUsd];
}

function emptyList({ t }: PageContext, sold: number): Markup {
  return html`<div class="rounded-lg border border-line bg-surface px-5 py-12 text-center">
    <p class="font-medium">${sold === 0 ? t.nothing : t.none}</p>
    ${sold === 0 ? undefined : html`<p class="text-ink-3">${t.noneLead}</p>`}
  </div>`;
}

function pager(
  context: PageContext,
  query: ModelQuery,
  { page, pages }: { readonly page: number; readonly pages: number },
): Markup | undefined {
  if (pages === 1) return undefined;
  const { t } = context;
  const to = (label: string, rel: 'prev' | 'next', target: number) =>
    target < 1 || target > pages
      ? undefined
      : html`<a
          rel="${rel}"
          href="${pageHref(context, listHref({ ...query, page: target }))}"
          class="${PLAIN_BUTTON}"
          >${label}</a
        >`;
  return html`<nav aria-label="${t.page(page, pages)}" class="mt-5 flex items-center gap-3">
    ${to(t.previous, 'prev', page - 1)}<span class="text-sm text-ink-3">${t.page(page, pages)}</span
    >${to(t.next, 'next', page + 1)}
  </nav>`;
}

function comparePage(context: PageContext, chosen: readonly SoldModel[]): PageContent {
  const { t, siteName } = context;
  const shown = chosen.slice(0, MOST_COMPARED);
  const query = new URLSearchParams(shown.map(({ id }) => ['compare', id]));
  return {
    title: t.compareTitle,
    description: t.listDescription(siteName, shown.length),
    path: `/models?${query.toString()}`,
    current: 'models',
    isIndexed: false,
    main: html`<h1 class="text-xl font-semibold tracking-tight">${t.compareTitle}</h1>
      <p class="mt-0.5 text-ink-3">
        <a href="${pageHref(context, '/models')}" class="text-accent underline-offset-2 hover:underline"
          >${t.allModels}</a
        >${chosen.length > MOST_COMPARED ? ` · ${t.compareMore}` : undefined}
      </p>
      <div
        role="region"
        aria-label="${t.compareTitle}"
        tabindex="0"
        class="thin-scroll mt-5 overflow-x-auto rounded-lg border border-line bg-surface"
      >
        <table class="w-full border-collapse text-sm">
          <thead>
            <tr class="border-b border-line">
              <td class="${HEAD_CELL}"></td>
              ${shown.map((model) => html`<th scope="col" class="min-w-40 px-3 py-3 text-left align-top last:pr-5"><a href="${pageHref(context, model.path)}" class="text-base font-semibold hover:text-accent hover:underline">${model.best.displayName}</a><span class="block font-mono text-xs font-normal break-all text-ink-3">${model.id}</span></th>`)}
            </tr>
          </thead>
          <tbody>
            ${compareRows(context, shown).map(
              ({ label, values }) =>
                html`<tr class="border-b border-line last:border-b-0">
                  <th
                    scope="row"
                    class="px-3 py-2.5 pl-5 text-left align-top font-medium whitespace-nowrap text-ink-3"
                  >
                    ${label}
                  </th>
                  ${values.map((value) => html`<td class="px-3 py-2.5 align-top tabular-nums last:pr-5">${value}</td>`)}
                </tr>`,
            )}
          </tbody>
        </table>
      </div>`,
  };
}

const MOST_COMPARED = 4;

interface ComparedRow {
  readonly label: string;
  readonly values: readonly (Markup | string)[];
}

/** A table that compares models, each by its best offer. */
function compareRows(context: PageContext, models: readonly SoldModel[]): ComparedRow[] {
  const { t, language } = context;
  const tokens = ({ best }: SoldModel, part: 'contextTokens' | 'maxOutput'): string =>
    best.type === 'image_generation' || best[part] === 0 ? '–' : t.tokens(countText(best[part], language));
  const prices = models.map(({ best }) => new Map(priceLines(best, context)));
  const labels = [...new Set(prices.flatMap((lines) => [...lines.keys()]))];
  return [
    { label: t.features, values: models.map(({ best }) => featureBadges(best, context)) },
    { label: t.context, values: models.map((model) => tokens(model, 'contextTokens')) },
    { label: t.maxOutput, values: models.map((model) => tokens(model, 'maxOutput')) },
    ...labels.map((label) => ({ label, values: prices.map((lines) => lines.get(label) ?? '–') })),
    {
      label: t.offeredBy,
      values: models.map(({ offers }) => offers.map(({ endpointName }) => endpointName).join(', ')),
    },
  ];
}

const SORTS = ['catalog', 'name', 'input', 'output', 'context'] as const;
const FLAGS = ['vision', 'tools', 'reasoning', 'free'] as const;
const KINDS = ['chat_completion', 'image_generation', 'embedding', 'moderation'] as const;

/** What a visitor of the list of models asks for; anything that makes no sense counts as not asked for. */
interface ModelQuery extends Readonly<Record<(typeof FLAGS)[number], boolean>> {
  readonly q: string;
  readonly kind: EndpointKind | '';
  readonly sort: (typeof SORTS)[number];
  readonly page: number;
  readonly compare: readonly string[];
}

const MOST_TEXT = 200;
const MOST_CHOSEN = 20;

export function modelQuery(asked: URLSearchParams): ModelQuery {
  const page = Number(asked.get('page') ?? 1);
  return {
    q: (asked.get('q') ?? '').trim().slice(0, MOST_TEXT),
    kind: KINDS.find((kind) => kind === asked.get('kind')) ?? '',
    sort: SORTS.find((sort) => sort === asked.get('sort')) ?? 'catalog',
    vision: asked.get('vision') === '1',
    tools: asked.get('tools') === '1',
    reasoning: asked.get('reasoning') === '1',
    free: asked.get('free') === '1',
    page: Number.isSafeInteger(page) && page > 0 ? page : 1,
    compare: [...new Set(asked.getAll('compare').slice(0, MOST_CHOSEN))],
  };
}

/** A list that many ask for, by its filters; `undefined`: one of what a visitor wrote or chose, which nobody else asks for. */
export function listName({ q, compare, ...query }: ModelQuery, sold: number): string | undefined {
  if (q !== '' || compare.length > 0) return undefined;
  const page = Math.min(query.page, Math.max(1, Math.ceil(sold / PAGE_ROWS)));
  return listHref({ ...query, page, q, compare });
}

function hasFilter(query: ModelQuery): boolean {
  return listHref({ ...query, page: 1 }) !== '/models';
}

/** The address of a list, with what differs from the whole one. */
function listHref(query: ModelQuery): string {
  const { q, kind, sort, page } = query;
  const asked = new URLSearchParams();
  if (q !== '') asked.set('q', q);
  if (kind !== '') asked.set('kind', kind);
  for (const flag of FLAGS) if (query[flag]) asked.set(flag, '1');
  if (sort !== 'catalog') asked.set('sort', sort);
  if (page > 1) asked.set('page', String(page));
  return asked.size === 0 ? '/models' : `/models?${asked.toString()}`;
}

/** The models that fit, in the order that was asked for. All words of the search have to be found. */
function matching(sold: ReadonlyMap<string, SoldModel>, query: ModelQuery): SoldModel[] {
  const words = query.q.toLowerCase().split(/\s+/).filter(Boolean);
  const flags = FLAGS.filter((flag) => query[flag]);
  const found = [...sold.values()].filter(
    ({ searched, offers }) =>
      words.every((word) => searched.includes(word)) &&
      offers.some(
        (offer) => (query.kind === '' || offer.type === query.kind) && flags.every((flag) => offer[flag]),
      ),
  );
  const keyOf = SORT_KEYS[query.sort];
  if (!keyOf) return found;
  return found
    .map((model) => ({ model, key: keyOf(model.best) }))
    .sort((a, b) => compareKeys(a.key, b.key))
    .map(({ model }) => model);
}

/** The value by which each order sorts, read once per model instead of once per comparison. */
const SORT_KEYS: Record<ModelQuery['sort'], ((item: ModelItem) => string | number) | undefined> = {
  catalog: undefined,
  name: ({ displayName }) => displayName.toLowerCase(),
  input: (item) => priceOrder(item, 'inputUsd'),
  output: (item) => priceOrder(item, 'outputUsd'),
  context: ({ contextTokens }) => -contextTokens,
};

/** Comparing by the rules of a language takes much longer for thousands of names. */
function compareKeys(a: string | number, b: string | number): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** Models without a price for tokens come last. Only compared, never shown. */
function priceOrder({ price, free }: ModelItem, part: 'inputUsd' | 'outputUsd'): number {
  if (free) return 0;
  return price.kind === 'tokens' ? Number(price[part]) : Number.MAX_VALUE;
}
