import { blend, eachPixel, type Canvas } from './canvas.ts';
import type { Rgb } from './colour.ts';
import type { PaintContext } from './brief.ts';
import type { Ridge } from './land.ts';
import { airy } from './land.ts';
import { mix } from './colour.ts';
import { bell, between, type RandomNumber, clamp01 } from './random.ts';

interface Conifer {
  readonly x: number;
  /** Row of the foot. */
  readonly foot: number;
  readonly tall: number;
  readonly colour: Rgb;
  /** What the foot fades into: the mist on the ground. */
  readonly haze: Rgb;
  readonly hazy: number;
}

/** A spruce: drooping tiers that widen towards the ground, ragged on both sides in its own way. */
function paintConifer(canvas: Canvas, tree: Conifer, random: RandomNumber): void {
  const tiers = Math.round(between(random, 9, 15));
  const wide = tree.tall * between(random, 0.15, 0.21);
  const droop = between(random, 0.25, 0.5);
  // Left edges first, then right ones.
  const ragged = Float32Array.from({ length: (tiers + 2) * 2 }, () => 0.72 + random() * 0.5);
  const lean = bell(random) * 0.02;
  const top = tree.foot - tree.tall;
  const trunk = Math.max(0.5, tree.tall * 0.012);
  eachPixel(
    canvas,
    { left: tree.x - wide * 1.4, right: tree.x + wide * 1.4, top, bottom: tree.foot },
    (x, y, at) => {
      const height = (y - top) / tree.tall;
      const across = x - tree.x - lean * (tree.foot - y);
      const aside = Math.abs(across);
      // No tier reaches this far: most of the box is air.
      if (aside > wide * height * 1.3 + trunk + 1) return;
      const bent = height - (aside / tree.tall) * droop;
      if (bent < 0) return;
      const row = Math.round(bent * CURVE_STEPS);
      const step = (TIERS[row] ?? 1) * tiers;
      const tier = Math.floor(step);
      const edge = ragged[across < 0 ? tier : tier + tiers + 2] ?? 1;
      const half = wide * (TAPER[row] ?? 1) * (0.42 + 0.58 * (step - tier)) * edge;
      const crown = height < 0.965 ? clamp01(half - aside + 0.5) : 0;
      const stem = clamp01(trunk * (0.3 + height) - aside + 0.5);
      const inside = Math.max(crown, stem);
      if (inside <= 0) return;
      const low = clamp01((height - 0.35) / 0.65);
      const mist = tree.hazy * low * low;
      // Two layers that weigh together as much as one mixed colour, without making one per pixel.
      const misty = inside * mist;
      blend(canvas.data, at, tree.colour, (inside - misty) / Math.max(1e-6, 1 - misty));
      if (misty > 0) blend(canvas.data, at, tree.haze, misty);
    },
  );
}

/** Powers by table: raising a number per pixel costs more than the rest of the tree. */
const CURVE_STEPS = 2048;
const TIERS = Float32Array.from({ length: CURVE_STEPS + 1 }, (_, step) => (step / CURVE_STEPS) ** 0.82);
const TAPER = Float32Array.from({ length: CURVE_STEPS + 1 }, (_, step) => (step / CURVE_STEPS) ** 0.9);

interface Wood {
  /** Trees per picture width. */
  readonly count: number;
  readonly tall: number;
  readonly hazy: number;
  /** How far the stand reaches below the crest, as a share of a tree. */
  readonly depth: number;
  /** Where trees stand, 0 … 1 over the width; left out means everywhere. */
  readonly where?: (across: number) => number;
}

/** A stand of conifers along the crest of a ridge. */
export function paintWood(context: PaintContext, ridge: Ridge, wood: Wood): void {
  const { canvas, brief, random, noise } = context;
  const colour = airy(context, Math.min(1, ridge.near + 0.16));
  const haze = mix(brief.palette.sky[3], brief.palette.sky[2], 0.3);
  const count = Math.round((wood.count * canvas.width) / canvas.unit);
  const feet = Array.from({ length: count }, () => random()).map((across) => ({ across, back: random() }));
  // Trees further down the slope stand in front.
  feet.sort((a, b) => a.back - b.back);
  for (const { across, back } of feet) {
    const x = across * canvas.width;
    const density = wood.where ? wood.where(across) : 1;
    if (random() > density) continue;
    const clump = 0.75 + 0.35 * noise.at((x / canvas.unit) * 4, ridge.lane);
    const tall = wood.tall * clump * (0.8 + 0.5 * random()) * Math.max(0.35, density);
    const crest = ridge.crest[Math.min(canvas.width - 1, Math.max(0, Math.floor(x)))] ?? 0;
    const shade = mix(colour, brief.palette.near, 0.25 * back + 0.1 * random());
    paintConifer(
      canvas,
      { x, foot: crest + tall * (0.12 + wood.depth * back), tall, colour: shade, haze, hazy: wood.hazy },
      random,
    );
  }
}
