import { spanOf } from '../ledger/archive.ts';
import { dayOf } from '../std/calendar.ts';
import { DAY_MS } from './usage.ts';

/** A month in three parts, each named by its first day (yyyymmdd): ten days, ten more, and what is left. */

/** The part in which a day is. */
export function tenDaysOf(day: number): number {
  const part = Math.min(Math.floor(((day % 100) - 1) / 10), 2);
  return day - (day % 100) + 10 * part + 1;
}

/** Its first and last day. Rows of a month's 31st day are its, where there is one. */
export function spanOfTenDays(first: number): readonly [from: number, to: number] {
  return [first, first + (first % 100 === 21 ? 10 : 9)];
}

/** Days from a first to a last one, both included. */
export interface UsageSpan {
  readonly from: number;
  readonly to: number;
}

function daysIn({ from, to }: UsageSpan): number[] {
  const days: number[] = [];
  for (let at = spanOf(from).fromMs, day = from; day <= to; at += DAY_MS, day = dayOf(at)) days.push(day);
  return days;
}

/** The parts of which all days are in the range. */
export function wholeTenDays(span: UsageSpan): number[] {
  const parts = Map.groupBy(daysIn(span), tenDaysOf);
  return [...parts]
    .filter(([first, days]) => days[0] === first && tenDaysOf(dayAfter(days.at(-1) ?? first)) !== first)
    .map(([first]) => first);
}

function dayAfter(day: number): number {
  return dayOf(spanOf(day).fromMs + DAY_MS);
}

/** Beyond this it is quicker to read all days than to leave out those that are added up. */
export const MOST_SPANS = 60;

/** The runs of days that are not done. */
export function spansWithout(range: UsageSpan, isDone: (day: number) => boolean): UsageSpan[] {
  const spans: UsageSpan[] = [];
  let isRun = false;
  for (const day of daysIn(range)) {
    const last = spans.at(-1);
    if (isDone(day)) isRun = false;
    else if (isRun && last) spans[spans.length - 1] = { from: last.from, to: day };
    else {
      spans.push({ from: day, to: day });
      isRun = true;
    }
  }
  return spans;
}
