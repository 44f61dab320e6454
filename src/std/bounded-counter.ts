/** What has no series of its own counts under this name. */
export const OTHER = 'other';
const MAX_SERIES = 200;

/** The first names that come keep their own; later ones are one. */
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
  readonly #series = new Map<string, number>();

  constructor(labels: readonly string[]) {
    this.labels = labels;
  }

  add(first: string, second?: string, third?: string): void {
    let key = first;
    if (second !== undefined) key += `\n${second}`;
    if (third !== undefined) key += `\n${third}`;
    const count = this.#series.get(key);
    if (count !== undefined) this.#series.set(key, count + 1);
    else if (this.#series.size < MAX_SERIES) this.#series.set(key, 1);
    else this.#addOther();
  }

  /** By the values of the labels. */
  *entries(): IterableIterator<readonly [values: Readonly<Record<string, string>>, count: number]> {
    for (const [key, count] of this.#series) {
      const values = key.split('\n');
      yield [Object.fromEntries(this.labels.map((label, index) => [label, values[index] ?? ''])), count];
    }
  }

  #addOther(): void {
    const key = this.labels.map(() => OTHER).join('\n');
    this.#series.set(key, (this.#series.get(key) ?? 0) + 1);
  }
}
