import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

/**
 * Which files a test can reach. A type that is imported is left out, since it does not run; a path in any other text
 * counts as an import, because workers and processes are started by their path.
 */
export class ImportGraph {
  readonly #root: string;
  readonly #named = new Map<string, readonly string[]>();
  readonly #reached = new Map<string, ReadonlyMap<string, number>>();

  constructor(root: string) {
    this.#root = root;
  }

  /** How many imports lie between a test and a file; `undefined`: it does not reach it. */
  distance(test: string, file: string): number | undefined {
    const known = this.#reached.get(test) ?? this.#reachedFrom(test);
    this.#reached.set(test, known);
    return known.get(file);
  }

  #reachedFrom(start: string): Map<string, number> {
    const distances = new Map([[start, 0]]);
    // A map that grows is read to its new end: this goes through the files from the nearest to the farthest.
    for (const [file, distance] of distances)
      for (const next of this.#namedIn(file)) if (!distances.has(next)) distances.set(next, distance + 1);
    return distances;
  }

  #namedIn(file: string): readonly string[] {
    const known = this.#named.get(file);
    if (known) return known;
    const text = readFileSync(join(this.#root, file), 'utf8').replaceAll(TYPE_IMPORT, '');
    const paths = Array.from(text.matchAll(PATH), ([path]) => path);
    const candidates = paths.flatMap((path) => [normalize(join(dirname(file), path)), normalize(path)]);
    const named = [...new Set(candidates)].filter((path) => path !== file && this.#exists(path));
    this.#named.set(file, named);
    return named;
  }

  #exists(path: string): boolean {
    return !path.startsWith('..') && existsSync(join(this.#root, path));
  }
}

const TYPE_IMPORT = /^(?:import|export) type [^;]*? from '[^']*';/gm;
const PATH = /[\w./-]*(?:\.tsx?|bin\/tollgate)\b/g;
