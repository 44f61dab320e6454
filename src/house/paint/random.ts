import { createNoise2D } from 'simplex-noise';

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

/** Smooth random fields over the plane, seeded. All values lie in about −1 … 1 unless said otherwise. */
export interface Noise {
  at(x: number, y: number): number;
  /** Octaves of finer and weaker noise: clouds, haze, paper. */
  fbm(x: number, y: number, octaves: number): number;
  /** 0 … 1 with sharp crests: rock, lightning, water. */
  ridged(x: number, y: number, octaves: number): number;
}

export function makeNoise(random: RandomNumber): Noise {
  const at = createNoise2D(random);
  return {
    at,
    fbm(x, y, octaves) {
      let sum = 0;
      let total = 0;
      let weight = 1;
      for (let octave = 0; octave < octaves; octave++) {
        sum += weight * at(x, y);
        total += weight;
        weight *= 0.5;
        // Turning each octave hides the grid that every lattice noise has.
        const turned = x * 1.62 - y * 1.18;
        y = x * 1.18 + y * 1.62 + 17.3;
        x = turned + 5.1;
      }
      return sum / total;
    },
    ridged(x, y, octaves) {
      let sum = 0;
      let total = 0;
      let weight = 1;
      let carry = 1;
      for (let octave = 0; octave < octaves; octave++) {
        const crest = 1 - Math.abs(at(x, y));
        const sharp = crest * crest * carry;
        sum += weight * sharp;
        total += weight;
        carry = Math.min(1, sharp * 1.6);
        weight *= 0.52;
        const turned = x * 1.62 - y * 1.18;
        y = x * 1.18 + y * 1.62 + 31.7;
        x = turned + 11.9;
      }
      return sum / total;
    },
  };
}

export function clamp01(value: number): number {
  return value < 0 ? 0 : value > 1 ? 1 : value;
}

export function smoothstep(low: number, high: number, value: number): number {
  const t = clamp01((value - low) / (high - low));
  return t * t * (3 - 2 * t);
}

export function lerp(from: number, to: number, t: number): number {
  return from + (to - from) * t;
}
