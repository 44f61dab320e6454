/** A seeded stream of numbers in [0, 1): the same seed paints the same picture, on every machine. */
export type RandomNumber = () => number;

/** Mulberry32: small, fast, and good enough for pictures. */
export function makeRandom(seed: number): RandomNumber {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** FNV-1a over the text's UTF-16 units, stirred once more so that near prompts have far seeds. */
export function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return stir(hash);
}

/** A well-spread hash of one integer; also the noise of the dither, where a generator per pixel would be slow. */
export function stir(value: number): number {
  let hash = value | 0;
  hash = Math.imul(hash ^ (hash >>> 16), 0x7feb352d);
  hash = Math.imul(hash ^ (hash >>> 15), 0x846ca68b);
  return (hash ^ (hash >>> 16)) >>> 0;
}

export function between(random: RandomNumber, low: number, high: number): number {
  return low + (high - low) * random();
}

export function wholeBetween(random: RandomNumber, low: number, high: number): number {
  return Math.floor(between(random, low, high + 1));
}

export function pick<T>(random: RandomNumber, options: readonly [T, ...T[]]): T {
  return options[Math.floor(random() * options.length)] ?? options[0];
}

/** Half of the numbers near zero, few near the ends: sizes and offsets in nature look like this. */
export function bell(random: RandomNumber): number {
  return random() + random() + random() - 1.5;
}
