/** The name under which everything without a series of its own is counted. */
export const OTHER = 'other';
const MAX_SERIES = 200;

/** The first names get a series each; later ones share one. */
export class BoundedNames {
  readonly #max: number;
  readonly #names = new Set<string>();

  constructor(max: number) {
    this.#max = max;
  }

  bounded(name: string): string {
    if (this.#names.has(name)) return name;
    if (this.#names.size >= this.#max) return OTHER;
    this.#names.add(name);
    return name;
  }
}

/** Counts by up to three labels. Beyond a number of combinations the rest is counted together. */
export class BoundedCounter {
  readonly labels: readonly string[];
  readonly #series: Series[] = [];
  /** Nested by label: building a joint key takes longer than three lookups. */
  readonly #found: Level<Level<Level<Series>>> = new Map();

  constructor(labels: readonly string[]) {
    this.labels = labels;
  }

  add(first: string, second = '', third = ''): void {
    const known = this.#found.get(first)?.get(second)?.get(third);
    if (known) known.count++;
    else if (this.#series.length < MAX_SERIES) this.#begin(first, second, third).count++;
    else this.#other().count++;
  }

  /** The counts, by the values of the labels. */
  *entries(): IterableIterator<readonly [values: Readonly<Record<string, string>>, count: number]> {
    for (const { values, count } of this.#series)
      yield [Object.fromEntries(this.labels.map((label, index) => [label, values[index] ?? ''])), count];
  }

  #begin(first: string, second: string, third: string): Series {
    const series = { values: [first, second, third], count: 0 };
    this.#series.push(series);
    levelOf(levelOf(this.#found, first), second).set(third, series);
    return series;
  }

  #other(): Series {
    const [first = '', second = '', third = ''] = this.labels.map(() => OTHER);
    return this.#found.get(first)?.get(second)?.get(third) ?? this.#begin(first, second, third);
  }
}

interface Series {
  readonly values: readonly string[];
  count: number;
}

type Level<Next> = Map<string, Next>;

function levelOf<Next>(level: Level<Level<Next>>, name: string): Level<Next> {
  const known = level.get(name) ?? new Map<string, Next>();
  level.set(name, known);
  return known;
}
