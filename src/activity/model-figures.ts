import type { Kysely } from 'kysely';
import { DAY_MS, dayOf } from '../std/calendar.ts';
import type { Schema } from '../store/schema.ts';
import {
  FIGURE_DAYS,
  addCounts,
  quantileOf,
  SPEED_BOUNDS,
  totalOf,
  WAIT_BOUNDS_MS,
  type BucketCounts,
} from './model-days.ts';

/** Speeds are of the last days only: what was slow in summer may be fast now. */
const SPEED_DAYS = 30;
/** Fewer say nothing. */
export const LEAST_MEASURED = 20;

/** How a model, or all models of an endpoint, did lately. */
export interface ModelFigures {
  /** The oldest day first, today last. */
  readonly days: readonly FigureDay[];
  /** The share of requests that did not fail; `undefined`: there were none. */
  readonly uptime: number | undefined;
  /** Until the first token of a stream, or until an image is there; `undefined`: too few requests. */
  readonly wait: Quantiles | undefined;
  /** Output tokens per second; p95: 95 of 100 streams are at least as fast. */
  readonly speed: Quantiles | undefined;
}

export interface FigureDay {
  /** yyyymmdd. */
  readonly day: number;
  readonly requests: number;
  readonly failures: number;
}

export interface Quantiles {
  readonly p50: number;
  readonly p95: number;
  readonly measured: number;
}

/** The figures of one model of an endpoint: a few rows by their key. */
export async function modelFigures(
  db: Kysely<Schema>,
  { endpoint, model }: { readonly endpoint: string; readonly model: string },
  now: number,
): Promise<ModelFigures> {
  const rows = await db
    .selectFrom('model_day')
    .selectAll()
    .where('endpoint', '=', endpoint)
    .where('model', '=', model)
    .where('day', '>=', firstDay(now, FIGURE_DAYS))
    .execute();
  return figuresOf(rows, now);
}

interface StoredDay extends FigureDay {
  readonly waits: string;
  readonly speeds: string;
}

function figuresOf(rows: readonly StoredDay[], now: number): ModelFigures {
  const byDay = new Map(rows.map((row) => [row.day, row]));
  const days = lastDays(now).map((day) => ({
    day,
    requests: byDay.get(day)?.requests ?? 0,
    failures: byDay.get(day)?.failures ?? 0,
  }));
  const recent = rows.filter(({ day }) => day >= firstDay(now, SPEED_DAYS));
  const waits = sumOf(recent.map((row) => row.waits));
  const speeds = sumOf(recent.map((row) => row.speeds));
  return {
    days,
    uptime: uptimeOf(days),
    wait: quantiles(waits, WAIT_BOUNDS_MS, 0.95),
    speed: quantiles(speeds, SPEED_BOUNDS, 0.05),
  };
}

export function uptimeOf(days: readonly FigureDay[]): number | undefined {
  const requests = days.reduce((sum, day) => sum + day.requests, 0);
  const failures = days.reduce((sum, day) => sum + day.failures, 0);
  return requests === 0 ? undefined : 1 - failures / requests;
}

function quantiles(counts: BucketCounts, bounds: readonly number[], slow: number): Quantiles | undefined {
  const measured = totalOf(counts);
  if (measured < LEAST_MEASURED) return undefined;
  return { p50: quantileOf(counts, bounds, 0.5), p95: quantileOf(counts, bounds, slow), measured };
}

/** Only `countModelDays` writes these columns. */
function sumOf(texts: readonly string[]): BucketCounts {
  return texts.map((text) => JSON.parse(text) as BucketCounts).reduce(addCounts, []);
}

function lastDays(now: number): number[] {
  return Array.from({ length: FIGURE_DAYS }, (_, place) => dayOf(now - (FIGURE_DAYS - 1 - place) * DAY_MS));
}

function firstDay(now: number, days: number): number {
  return dayOf(now - (days - 1) * DAY_MS);
}
