import { formatters } from './numbers.ts';
import { useSyncExternalStore } from 'react';

const DAY_MS = 86_400_000;

export type TimeStyle = 'full' | 'short' | 'date' | 'clock';

const STYLES: Record<TimeStyle, Intl.DateTimeFormatOptions> = {
  full: { dateStyle: 'medium', timeStyle: 'medium' },
  short: { month: 'short', day: 'numeric', hour: 'numeric', minute: '2-digit', second: '2-digit' },
  date: { dateStyle: 'medium' },
  clock: { hour: 'numeric', minute: '2-digit', second: '2-digit' },
};

export const dateFormatter = formatters(
  (language, options: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat(language, options),
);

const relativeFormatter = formatters(
  (language, options: Intl.RelativeTimeFormatOptions) => new Intl.RelativeTimeFormat(language, options),
);

/** In the reader's own zone; pair it with {@link utcText} in a title. */
export function formatTime(at: number, language: string, style: TimeStyle): string {
  return dateFormatter(language, STYLES[style]).format(at);
}

/** A future day: `December 3`, with the year if it is not the current one. */
export function formatDate(at: number, now: number, language: string): string {
  const isThisYear = new Date(at).getFullYear() === new Date(now).getFullYear();
  const year = isThisYear ? {} : ({ year: 'numeric' } as const);
  return dateFormatter(language, { month: 'long', day: 'numeric', ...year }).format(at);
}

export function utcText(at: number): string {
  return `${new Date(at).toISOString().replace('T', ' ').slice(0, 19)} UTC`;
}

/** "3 minutes ago", up to a week; anything older is shown as a date. */
export function formatRelative(at: number, now: number, language: string): string {
  const relative = relativeFormatter(language, { numeric: 'auto' });
  const seconds = Math.round((at - now) / 1000);
  const distance = Math.abs(seconds);
  if (distance < 45) return relative.format(0, 'second');
  if (distance < 3600) return relative.format(Math.round(seconds / 60), 'minute');
  if (distance < 86_400) return relative.format(Math.round(seconds / 3600), 'hour');
  if (distance < 7 * 86_400) return relative.format(Math.round(seconds / 86_400), 'day');
  return formatTime(at, language, 'date');
}

const DAY_STYLES = {
  short: { month: 'short', day: 'numeric' },
  long: { weekday: 'short', month: 'long', day: 'numeric', year: 'numeric' },
  date: STYLES.date,
} as const satisfies Record<string, Intl.DateTimeFormatOptions>;

/** Rollups are kept by UTC day, so the name of a day must not shift with the reader's time zone. */
export function formatUtcDay(
  day: string | number,
  language: string,
  style: 'short' | 'long' | 'date' = 'short',
): string {
  const at = typeof day === 'number' ? day * DAY_MS : Date.parse(`${day}T00:00:00Z`);
  return dateFormatter(language, { ...DAY_STYLES[style], timeZone: 'UTC' }).format(at);
}

/** In the reader's own time zone, with its name: when clocks are set back, an hour occurs twice. */
export function formatHour(at: number, language: string): string {
  const options: Intl.DateTimeFormatOptions = {
    weekday: 'short',
    month: 'short',
    day: 'numeric',
    hour: 'numeric',
    minute: '2-digit',
    timeZoneName: 'shortOffset',
  };
  return dateFormatter(language, options).format(at);
}

/** `2026-10` → October 2026 */
export function formatUtcMonth(month: string, language: string): string {
  const options: Intl.DateTimeFormatOptions = { month: 'long', year: 'numeric', timeZone: 'UTC' };
  return dateFormatter(language, options).format(Date.parse(`${month}-01T00:00:00Z`));
}

function utcDayOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}

/** The day (`YYYY-MM-DD`) that is `days` after another, or before it if negative. */
export function shiftDay(day: string, days: number): string {
  return utcDayOf(Date.parse(`${day}T00:00:00Z`) + days * DAY_MS);
}

/** Today where the reader is. */
export function localToday(): string {
  const date = new Date();
  return utcDayOf(date.getTime() - date.getTimezoneOffset() * 60_000);
}

const TICK_MS = 15_000;
let now = Date.now();
let timer: ReturnType<typeof setInterval> | undefined;
const listeners = new Set<() => void>();

/** The current time, as one clock for the whole page that advances every few seconds. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => now);
}

export function useToday(): string {
  return utcDayOf(useNow());
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(tick, TICK_MS);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

function tick(): void {
  now = Date.now();
  for (const listener of listeners) listener();
}
