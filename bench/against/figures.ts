import { median, percentile } from '../harness/statistics.ts';
import { table } from '../harness/table.ts';

/** What a comparison runs in turn: the older commit and this tree. */
export interface Pair<T> {
  readonly before: T;
  readonly after: T;
}

/** One row of the result: the values of each round, side by side. */
export interface Figure {
  readonly name: string;
  readonly unit: string;
  readonly rounds: readonly Pair<number>[];
}

/** Each goes first in half of the rounds: a machine that gets warmer or busier must not favour one of them. */
export async function inTurn<T, R>(
  { before, after }: Pair<T>,
  rounds: number,
  measure: (one: T) => Promise<R>,
): Promise<Pair<R>[]> {
  const pairs: Pair<R>[] = [];
  for (let round = 0; round < rounds; round++) {
    if (round % 2 === 0) {
      const first = await measure(before);
      pairs.push({ before: first, after: await measure(after) });
    } else {
      const first = await measure(after);
      pairs.push({ before: await measure(before), after: first });
    }
  }
  return pairs;
}

export function figureOf<R>(
  name: string,
  unit: string,
  rounds: readonly Pair<R>[],
  read: (result: R) => number,
): Figure {
  return {
    name,
    unit,
    rounds: rounds.map(({ before, after }) => ({ before: read(before), after: read(after) })),
  };
}

/** A ratio above 1 means that this tree has more of it. */
export function figuresTable(figures: readonly Figure[]): string {
  const head = ['figure', 'before', 'after', 'median of the ratios', 'lowest – highest', 'rounds'];
  return table(head, figures.map(rowOf));
}

function rowOf({ name, unit, rounds }: Figure): string[] {
  const ratios = rounds.map(({ before, after }) => after / before);
  const middle = (of: keyof Pair<number>): string =>
    `${median(rounds.map((pair) => pair[of])).toLocaleString('en', { maximumSignificantDigits: 4 })} ${unit}`;
  return [
    name,
    middle('before'),
    middle('after'),
    median(ratios).toFixed(2),
    `${percentile(ratios, 0).toFixed(2)} – ${percentile(ratios, 1).toFixed(2)}`,
    String(rounds.length),
  ];
}
