import type { UsageChartRow } from '../lib/answers.ts';
import { shiftDay } from '../lib/time.ts';
import type { Bar, Series } from './StackedBars.tsx';

const NAMED = 7;
const OTHER = 'other';

interface Measure {
  readonly value: (row: UsageChartRow) => number;
  readonly format: (value: number) => string;
}

interface Frame {
  readonly days: readonly string[];
  readonly measure: Measure;
  readonly otherLabel: string;
  readonly emptyLabel?: string;
  readonly dayLabel: (day: string, style: 'short' | 'long') => string;
}

/**
 * Turns rows per day and model, endpoint or client into one bar per day: the largest series by name, the rest
 * combined. A row without a name is such a combination already.
 */
export function usageBars(rows: readonly UsageChartRow[], frame: Frame): { series: Series[]; bars: Bar[] } {
  const totals = new Map<string | null, number>();
  const byDay = new Map<string, Map<string | null, number>>();
  for (const row of rows) {
    const value = frame.measure.value(row);
    totals.set(row.name, (totals.get(row.name) ?? 0) + value);
    const day = byDay.get(row.day) ?? new Map<string | null, number>();
    day.set(row.name, (day.get(row.name) ?? 0) + value);
    byDay.set(row.day, day);
  }
  const present = [...totals].filter(([, total]) => total > 0);
  const ranked = present
    .flatMap(([name, total]) => (name === null ? [] : [{ name, total }]))
    .sort((a, b) => b.total - a.total);
  const named = ranked.slice(0, present.length === NAMED + 1 ? NAMED + 1 : NAMED).map(({ name }) => name);
  const series: Series[] = named.map((name, index) => ({
    id: idOf(name),
    label: name || (frame.emptyLabel ?? name),
    colour: index + 1,
  }));
  if (present.length > named.length) series.push({ id: OTHER, label: frame.otherLabel, colour: 8 });
  const bars = frame.days.map((day) => barOf(day, byDay.get(day) ?? new Map(), named, frame));
  return { series, bars };
}

/** Ids are kept in the address, which leaves out empty values. */
function idOf(name: string): string {
  return name || 'unnamed';
}

function barOf(
  day: string,
  values: ReadonlyMap<string | null, number>,
  named: readonly string[],
  frame: Frame,
): Bar {
  const { measure } = frame;
  let other = 0;
  let total = 0;
  for (const [name, value] of values) {
    total += value;
    if (name === null || !named.includes(name)) other += value;
  }
  const pieces = [
    ...named.map((name) => ({ series: idOf(name), value: values.get(name) ?? 0 })),
    { series: OTHER, value: other },
  ];
  return {
    id: day,
    label: frame.dayLabel(day, 'short'),
    longLabel: frame.dayLabel(day, 'long'),
    total: measure.format(total),
    parts: pieces
      .filter((piece) => piece.value > 0)
      .map((piece) => ({ ...piece, text: measure.format(piece.value) })),
  };
}

/** Only the chosen series; all of them if it is not among them. */
export function chosenBars(
  { series, bars }: { readonly series: readonly Series[]; readonly bars: readonly Bar[] },
  chosen: string | undefined,
): readonly Bar[] {
  if (!series.some(({ id }) => id === chosen)) return bars;
  return bars.map((bar) => {
    const parts = bar.parts.filter((part) => part.series === chosen);
    return { ...bar, parts, total: parts[0]?.text ?? '–' };
  });
}

/** Every day of a range, so that a day without traffic is a gap in the chart instead of missing from it. */
export function daysBetween(from: string, to: string): string[] {
  const days: string[] = [];
  for (let day = from; day <= to && days.length < 366; day = shiftDay(day, 1)) days.push(day);
  return days;
}
