import type { UsageRow } from '../../src/console/contract.ts';
import { shiftDay } from '../lib/time.ts';
import type { Bar, Series } from './StackedBars.tsx';

const NAMED = 7;
const OTHER = 'other';

export interface Measure {
  readonly value: (row: UsageRow) => number;
  readonly format: (value: number) => string;
}

interface Frame {
  readonly days: readonly string[];
  readonly measure: Measure;
  readonly otherLabel: string;
  readonly dayLabel: (day: string, style: 'short' | 'long') => string;
}

/**
 * Rows per day, endpoint and model → one bar per day, the largest models by name and the rest as one. A row without a
 * model already stands for many.
 */
export function barsByModel(rows: readonly UsageRow[], frame: Frame): { series: Series[]; bars: Bar[] } {
  const totals = new Map<string, number>();
  const byDay = new Map<string, Map<string, number>>();
  for (const row of rows) {
    const value = frame.measure.value(row);
    totals.set(row.model, (totals.get(row.model) ?? 0) + value);
    const day = byDay.get(row.day) ?? new Map<string, number>();
    day.set(row.model, (day.get(row.model) ?? 0) + value);
    byDay.set(row.day, day);
  }
  const present = [...totals].filter(([, total]) => total > 0);
  const ranked = present.filter(([model]) => model !== '').sort((a, b) => b[1] - a[1]);
  const named = ranked.slice(0, present.length === NAMED + 1 ? NAMED + 1 : NAMED).map(([model]) => model);
  const series: Series[] = named.map((model, index) => ({ id: model, label: model, colour: index + 1 }));
  if (present.length > named.length) series.push({ id: OTHER, label: frame.otherLabel, colour: 8 });
  const bars = frame.days.map((day) => barOf(day, byDay.get(day) ?? new Map(), named, frame));
  return { series, bars };
}

function barOf(
  day: string,
  models: ReadonlyMap<string, number>,
  named: readonly string[],
  frame: Frame,
): Bar {
  const { measure } = frame;
  let other = 0;
  let total = 0;
  for (const [model, value] of models) {
    total += value;
    if (!named.includes(model)) other += value;
  }
  const pieces = [
    ...named.map((model) => ({ series: model, value: models.get(model) ?? 0 })),
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

/** Every day of a range, so that a day without traffic is a gap in the chart and not missing from it. */
export function daysBetween(from: string, to: string): string[] {
  const days: string[] = [];
  for (let day = from; day <= to && days.length < 366; day = shiftDay(day, 1)) days.push(day);
  return days;
}
