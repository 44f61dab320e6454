import { createNoise2D } from 'simplex-noise';
import type { RandomNumber } from './random.ts';

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
