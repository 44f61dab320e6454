import { dayStart } from '../../std/calendar.ts';
import { uptimeOf, type FigureDay } from '../../activity/model-figures.ts';
import type { Usd } from '../contract.ts';
import type { EndpointItem, ModelItem, OtherPrice } from '../models.ts';
import { html, type Markup } from './html.ts';
import type { PageContext, PageLanguage } from './page-frame.ts';

export const CARD = 'min-w-0 rounded-lg border border-line bg-surface p-5';
export const PRIMARY_BUTTON =
  'inline-flex h-9 items-center justify-center gap-2 rounded-md bg-accent px-4 font-medium whitespace-nowrap text-on-accent transition-colors hover:bg-accent-strong';
export const PLAIN_BUTTON =
  'inline-flex h-9 items-center justify-center gap-2 rounded-md border border-line bg-surface px-4 font-medium whitespace-nowrap text-ink transition-colors hover:bg-hover';

export function cardTitle(text: string): Markup {
  return html`<h2 class="text-base font-semibold tracking-tight">${text}</h2>`;
}

/** Label …………… value, as on a paper receipt. */
export function ledgerLine(label: string, value: Markup | string): Markup {
  return html`<div class="flex items-baseline gap-2">
    <dt class="leader flex min-w-0 flex-1 items-baseline gap-2 text-ink-2">${label}</dt>
    <dd class="tabular-nums">${value}</dd>
  </div>`;
}

/** State is shown by shape as well as colour, as in the console. */
export function stateDot(state: EndpointItem['status'], { t }: PageContext): Markup {
  const shapes = {
    up: 'size-2 rounded-full bg-accent',
    degraded: 'size-2.5 rotate-45 rounded-[1px] bg-warn',
    down: 'h-1 w-3 rounded-[1px] bg-bad',
  };
  return html`<span
    role="img"
    aria-label="${t.states[state]}"
    title="${t.states[state]}"
    class="inline-grid size-3 shrink-0 place-items-center"
    ><span class="block ${shapes[state]}"></span
  ></span>`;
}

export function featureBadges(item: ModelItem, { t }: Pick<PageContext, 't'>): Markup {
  const names = [
    t.kinds[item.type],
    ...(item.vision ? [t.vision] : []),
    ...(item.tools ? [t.tools] : []),
    ...(item.reasoning ? [t.reasoning] : []),
    ...(item.free ? [t.free] : []),
  ];
  return html`<span class="flex flex-wrap gap-1"
    >${names.map(
      (name) =>
        html`<span
          class="inline-flex h-5.5 items-center rounded-sm bg-hover px-1.5 text-xs font-medium whitespace-nowrap text-ink-2"
          >${name}</span
        >`,
    )}</span
  >`;
}

/** Every dimension of a price, as label and amount. */
export function priceLines(item: ModelItem, { t, language }: PageContext): (readonly [string, string])[] {
  if (item.free) return [[t.prices, t.free]];
  const { price } = item;
  const amount = (text: string): string => priceText(text, language);
  const others = price.others.map((other) => [otherLabel(other, t, language), amount(other.usd)] as const);
  if (price.kind === 'images') {
    const sizes = price.bySize.map(({ size, imageUsd }) => [size, amount(imageUsd)] as const);
    return [...sizes, ...others];
  }
  const tiers = price.tiers.map(({ tier, factor }) => [t.tier(tier), `× ${factor}`] as const);
  return [
    [t.items.input, amount(price.inputUsd)],
    [t.items.cached_input, amount(price.cachedInputUsd)],
    [t.items.output, amount(price.outputUsd)],
    ...others,
    ...tiers,
  ];
}

// oxlint-disable-next-line max-params -- a price, and how to say it
function otherLabel(
  { item, above, quality }: OtherPrice,
  t: PageContext['t'],
  language: PageContext['language'],
): string {
  const names: Readonly<Record<string, string>> = t.items;
  const label = names[item] ?? item;
  if (quality !== null) return `${label} ${quality}`;
  return above === null ? label : t.above(label, countText(above, language));
}

/** A day is good as long as hardly anything failed. */
const GOOD = 0.99;
const FAIR = 0.95;
const CELL = 4;
const HEIGHT = 28;

/** The days as a row of cells, with a sentence for those who do not see it. */
export function uptimeStrip(days: readonly FigureDay[], context: PageContext): Markup {
  const { t } = context;
  const cells = days.map((day, place) => cell(day, place, context));
  return html`<svg
      viewBox="0 0 ${days.length * CELL} ${HEIGHT}"
      preserveAspectRatio="none"
      role="img"
      aria-label="${stripText(days, context)}"
      class="h-7 w-full"
    >
      ${cells}
    </svg>
    <p aria-hidden="true" class="mt-1 flex justify-between text-xs text-ink-3">
      <span>${t.daysAgo}</span><span>${t.today}</span>
    </p>`;
}

function cell(day: FigureDay, place: number, { t, language }: PageContext): Markup {
  const uptime = uptimeOf([day]);
  const fill =
    uptime === undefined
      ? 'fill-line'
      : uptime >= GOOD
        ? 'fill-accent'
        : uptime >= FAIR
          ? 'fill-warn'
          : 'fill-bad';
  // Nothing, good, fair and bad differ in height too.
  const top = { 'fill-line': 12, 'fill-accent': 0, 'fill-warn': 6, 'fill-bad': 9 }[fill];
  const words = uptime === undefined ? t.noRequests : shareText(uptime, language);
  return html`<rect
    x="${place * CELL}"
    y="${top}"
    width="${CELL - 1}"
    height="${HEIGHT - top}"
    class="${fill}"
    ><title>${shownDay(day.day, language)}: ${words}</title></rect
  >`;
}

const MOST_NAMED = 5;

function stripText(days: readonly FigureDay[], { t, language }: PageContext): string {
  const uptime = uptimeOf(days);
  if (uptime === undefined) return `${t.uptime}: ${t.noRequests}`;
  const worst = days
    .filter(({ failures }) => failures > 0)
    .toSorted((a, b) => b.failures / b.requests - a.failures / a.requests)
    .slice(0, MOST_NAMED)
    .map((day) => `${shownDay(day.day, language)} ${shareText(uptimeOf([day]) ?? 1, language)}`);
  const sentence = t.uptimeStrip(shareText(uptime, language));
  return worst.length === 0 ? sentence : `${sentence} ${t.worstDays(worst.join(', '))}`;
}

const LOCALES: Record<PageLanguage, string> = { en: 'en-US', de: 'de-DE' };

/** Formatters are expensive to make. */
const formatters = new Map<string, Intl.NumberFormat>();

function formatter(language: PageLanguage, options: Intl.NumberFormatOptions): Intl.NumberFormat {
  const key = language + JSON.stringify(options);
  const known = formatters.get(key) ?? new Intl.NumberFormat(LOCALES[language], options);
  formatters.set(key, known);
  return known;
}

const PRICE = {
  style: 'currency',
  currency: 'USD',
  currencyDisplay: 'narrowSymbol',
  minimumFractionDigits: 2,
  maximumFractionDigits: 15,
} as const;

/** Every digit of a price. Amounts are decimal text, which is formatted without becoming a float. */
export function priceText(usd: Usd, language: PageLanguage): string {
  return formatter(language, PRICE).format(usd as `${number}`);
}

export function countText(count: number, language: PageLanguage): string {
  return formatter(language, {}).format(count);
}

/** 128000 → 128K */
export function compactText(count: number, language: PageLanguage): string {
  return formatter(language, { notation: 'compact', maximumSignificantDigits: 3 }).format(count);
}

const PERCENT = { style: 'percent', maximumFractionDigits: 2 } as const;

/** A share below one is never shown as 100 %. */
export function shareText(share: number, language: PageLanguage): string {
  return formatter(language, PERCENT).format(share < 1 ? Math.min(share, 0.9999) : share);
}

/** A share of failures; one above zero is never shown as 0 %. */
export function failedText(share: number, language: PageLanguage): string {
  return formatter(language, PERCENT).format(share > 0 ? Math.max(share, 0.0001) : 0);
}

/** Two digits that count: 0.42 s, 8.3 s, 12 s. */
export function secondsText(ms: number, language: PageLanguage): string {
  return `${formatter(language, { maximumSignificantDigits: 2 }).format(ms / 1000)}\u00A0s`;
}

export function speedText(perSecond: number, language: PageLanguage): string {
  return formatter(language, { maximumSignificantDigits: 2 }).format(perSecond);
}

/** A day given as yyyymmdd. */
export function shownDay(day: number, language: PageLanguage): string {
  const at = dayStart(day);
  return DAYS[language].format(at);
}

/** A moment, to the minute, in UTC. */
export function momentText(at: number, language: PageLanguage): string {
  const time = new Date(at).toISOString().slice(11, 16);
  return `${DAYS[language].format(at)}, ${time} UTC`;
}

/** A page has hundreds of days. */
const DAYS: Record<PageLanguage, Intl.DateTimeFormat> = { en: dayFormat('en'), de: dayFormat('de') };

function dayFormat(language: PageLanguage): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat(LOCALES[language], {
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    timeZone: 'UTC',
  });
}
