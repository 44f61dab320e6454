/** What a client may ask for, and how a provider may fail. */
export const FEATURES = [
  'plain',
  'capped',
  'tools',
  'parallel tools',
  'image in',
  'JSON object',
  'JSON schema',
  'reasoning',
  '400',
  '401',
  '429',
  '500',
  'error in a stream',
] as const;

export type Feature = (typeof FEATURES)[number];

export const DIALECT_NAMES = ['chat', 'messages', 'responses'] as const;
export type DialectName = (typeof DIALECT_NAMES)[number];

export const MODES = ['whole', 'stream'] as const;
export type Mode = (typeof MODES)[number];

export interface MatrixCase {
  readonly provider: string;
  readonly dialect: DialectName;
  readonly mode: Mode;
  readonly feature: Feature;
}

/** Every case that can be asked: only a stream can break, and the Messages API has no JSON without a schema. */
export function allCases(providers: readonly string[]): MatrixCase[] {
  const cases = providers.flatMap((provider) =>
    DIALECT_NAMES.flatMap((dialect) =>
      MODES.flatMap((mode) => FEATURES.map((feature) => ({ provider, dialect, mode, feature }))),
    ),
  );
  return cases.filter(
    ({ dialect, mode, feature }) =>
      (feature !== 'error in a stream' || mode === 'stream') &&
      (feature !== 'JSON object' || dialect !== 'messages'),
  );
}

const FACTORS = ['provider', 'dialect', 'mode', 'feature'] as const;

/**
 * A selection in which every pair of values of two factors stands at least once, made by taking the case with the most
 * new pairs each time; the seed decides among equals.
 */
export function pairwise(cases: readonly MatrixCase[], seed: number): MatrixCase[] {
  const left = new Set(cases.flatMap(pairsOf));
  const candidates = shuffled(cases, seed);
  const chosen: MatrixCase[] = [];
  for (let wanted = pairsOf(candidates[0]!).length; wanted > 0; wanted--) {
    for (const one of candidates) {
      const fresh = pairsOf(one).filter((pair) => left.has(pair));
      if (fresh.length < wanted) continue;
      chosen.push(one);
      for (const pair of fresh) left.delete(pair);
    }
  }
  return chosen;
}

export function pairsOf(one: MatrixCase): string[] {
  return FACTORS.flatMap((first, index) =>
    FACTORS.slice(index + 1).map((second) => `${first}=${one[first]}&${second}=${one[second]}`),
  );
}

function shuffled(cases: readonly MatrixCase[], seed: number): MatrixCase[] {
  const copy = [...cases];
  let state = seed >>> 0;
  for (let last = copy.length - 1; last > 0; last--) {
    // A linear congruential generator: the order must only differ between seeds.
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    const other = state % (last + 1);
    [copy[last], copy[other]] = [copy[other]!, copy[last]!];
  }
  return copy;
}
