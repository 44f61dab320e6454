import type { Usd } from '../contract.ts';
import type { PageLanguage } from './page-frame.ts';

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
  return formatter(language, { notation: 'compact', maximumFractionDigits: 1 }).format(count);
}

const PERCENT = { style: 'percent', maximumFractionDigits: 2 } as const;

/** A share below one is never shown as 100 %. */
export function shareText(share: number, language: PageLanguage): string {
  return formatter(language, PERCENT).format(share < 1 ? Math.min(share, 0.9999) : share);
}

/** Of failures: one that there was is never shown as 0 %. */
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
  const at = Date.UTC(Math.floor(day / 10_000), (Math.floor(day / 100) % 100) - 1, day % 100);
  return DAYS[language].format(at);
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
