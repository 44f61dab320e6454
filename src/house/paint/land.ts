import { blend, makeField, type Canvas } from './canvas.ts';
import { adjust, mix, mixLight, type Rgb } from './colour.ts';
import type { PaintContext } from './brief.ts';
import { between, clamp01, smoothstep } from './random.ts';
import type { Sun } from './sky.ts';

type LandKind = 'rock' | 'hill';

/** One layer of land: its crest per column, and how near it is (0 at the horizon, 1 at our feet). */
export interface Ridge {
  readonly kind: LandKind;
  readonly crest: Float32Array;
  readonly near: number;
  readonly lane: number;
  readonly foot: number;
}

/** Paints ridges from far to near. Each pixel is shaded once: a ridge stops where a nearer one hides it. */
export function paintRidges(
  context: PaintContext,
  ridges: readonly Ridge[],
  sun: Sun,
  afterEach?: (ridge: Ridge) => void,
): void {
  for (const [index, ridge] of ridges.entries()) {
    const hidden = nearestCrest(context.canvas, ridges.slice(index + 1));
    shadeSlope(context, ridge, hidden, sun);
    afterEach?.(ridge);
  }
}

interface RidgePlan {
  readonly kind: LandKind;
  /** Row of the layer's foot and its height above it, in pixels. */
  readonly foot: number;
  readonly tall: number;
  /** Peaks per picture width, roughly. */
  readonly peaks: number;
  readonly near: number;
  /** A single summit that the eye goes to, as a fraction of the width. */
  readonly hero?: number | undefined;
}

export function makeRidge({ canvas, noise, random }: PaintContext, plan: RidgePlan): Ridge {
  const lane = random() * 500;
  const crest = new Float32Array(canvas.width);
  for (let x = 0; x < canvas.width; x++) {
    const u = (x / canvas.unit) * plan.peaks;
    crest[x] = plan.foot - plan.tall * profile(plan, noise, { u, lane, across: x / canvas.width });
  }
  return { kind: plan.kind, crest, near: plan.near, lane, foot: plan.foot };
}

function profile(
  plan: RidgePlan,
  noise: PaintContext['noise'],
  at: { u: number; lane: number; across: number },
): number {
  const broad = 0.5 + 0.5 * noise.at(at.u * 0.45, at.lane);
  if (plan.kind === 'hill') return 0.2 + 0.55 * broad + 0.25 * noise.fbm(at.u, at.lane, 4);
  const jagged = noise.ridged(at.u * 0.55, at.lane, 7);
  const rough = noise.fbm(at.u * 5, at.lane, 4) * 0.05;
  const usual = jagged * (0.45 + 0.4 * broad) + rough;
  if (plan.hero === undefined) return usual;
  const away = Math.abs(at.across - plan.hero + noise.at(at.u * 1.3, at.lane + 9) * 0.02);
  const summit = Math.max(0, 1 - away * 2.6) ** 1.25;
  return usual * 0.5 * (1 - summit * 0.4) + summit * (0.86 + 0.22 * (jagged - 0.5));
}

export function nearestCrest(canvas: Canvas, nearer: readonly Pick<Ridge, 'crest'>[]): Float32Array {
  const rows = new Float32Array(canvas.width).fill(canvas.height);
  for (const ridge of nearer) {
    for (let x = 0; x < rows.length; x++) rows[x] = Math.min(rows[x] ?? 0, ridge.crest[x] ?? 0);
  }
  return rows;
}

/** What the air does to land at a distance: it takes on the colour of the sky above the horizon. */
export function airy({ brief }: Pick<PaintContext, 'brief'>, near: number): Rgb {
  const { far, near: close, sky } = brief.palette;
  const distant = mix(far, sky[3], 0.42);
  return mix(distant, close, smoothstep(0, 1, near) * 0.97);
}

interface Slope {
  readonly base: Rgb;
  readonly lit: Rgb;
  readonly shade: Rgb;
  readonly snowLit: Rgb;
  readonly snowShade: Rgb;
  readonly mist: Rgb;
}

function slopeColours(context: PaintContext, near: number): Slope {
  const { palette } = context.brief;
  const base = airy(context, near);
  const air = 1 - near;
  return {
    base,
    lit: mix(mix(base, palette.sun, 0.26 + 0.1 * near), palette.sky[3], air * 0.25),
    shade: mix(adjust(base, { lightness: -0.045 }), palette.sky[0], 0.22),
    snowLit: mix(mix([0.94, 0.95, 0.98], palette.sun, 0.35), palette.sky[3], air * 0.35),
    snowShade: mix(mix([0.42, 0.5, 0.68], palette.sky[1], 0.5), palette.sky[3], air * 0.35),
    mist: mix(palette.sky[3], palette.sky[2], 0.3),
  };
}

/** Rock and grass: light falls from the sun's side on a relief of ridged noise; fog gathers at the foot. */
function shadeSlope(context: PaintContext, ridge: Ridge, hidden: Float32Array, sun: Sun): void {
  const { canvas, noise, brief } = context;
  const colours = slopeColours(context, ridge.near);
  const rock = ridge.kind === 'rock';
  const fine = ((rock ? 5.5 : 4) * (1.35 - ridge.near * 0.7)) / canvas.unit;
  const snowy = rock && ridge.near < (brief.details.has('snow') ? 0.7 : 0.45) ? 1 : 0;
  const fog = (brief.details.has('fog') || brief.daytime === 'mist' ? 1 : 0.72) * (1 - ridge.near * 0.55);
  const highest = ridge.crest.reduce((top, row) => Math.min(top, row), Infinity);
  const span = Math.max(1, ridge.foot - highest);
  const relief = makeField(canvas, 2, (x, y) => {
    const crest = ridge.crest[Math.min(canvas.width - 1, x)] ?? 0;
    const seen = y > crest - 6 && y < (hidden[Math.min(canvas.width - 1, x)] ?? 0) + 6;
    return seen
      ? noise.ridged(x * fine + ridge.lane, (y * 0.72 + (y - crest) * 0.5) * fine, rock ? 5 : 3)
      : 0.5;
  });
  const apart = 0.11 / fine;
  for (let x = 0; x < canvas.width; x++) {
    const crest = ridge.crest[x] ?? 0;
    const end = Math.min(canvas.height - 1, Math.ceil(hidden[x] ?? 0) + 1);
    const side = Math.tanh((sun.x - x) / (canvas.unit * 0.25));
    for (let y = Math.max(0, Math.floor(crest)); y <= end; y++) {
      const cover = clamp01(y - crest + 0.5);
      const down = (y - crest) / span;
      const u = x * fine + ridge.lane;
      const v = (y * 0.72 + (y - crest) * 0.5) * fine;
      const here = relief.read(x, y);
      const there = relief.read(x + side * apart, y - apart * 0.3);
      const light = clamp01(0.46 + (here - there) * (rock ? 1.9 : 1) - down * 0.15);
      let tone =
        light < 0.5
          ? mixLight(colours.shade, colours.base, light * 2)
          : mixLight(colours.base, colours.lit, light * 2 - 1);
      if (snowy > 0) {
        const line = (y - highest) / span + (here - 0.5) * 0.22 + noise.at(u * 2, v * 2) * 0.05;
        const amount = smoothstep(0.62, 0.3, line) * smoothstep(0.18, 0.5, light + 0.12);
        tone = mixLight(
          tone,
          mixLight(colours.snowShade, colours.snowLit, smoothstep(0.3, 0.72, light)),
          amount * 0.92,
        );
      }
      const low = smoothstep(0.15, 1.05, (y - highest) / span);
      tone = mixLight(tone, colours.mist, low * low * fog);
      blend(canvas.data, (y * canvas.width + x) * 3, tone, cover);
    }
  }
}

/** Drifting fog between two layers of land. */
export function driftFog(
  context: PaintContext,
  band: { row: number; thick: number; strength: number },
): void {
  const { canvas, noise, brief, random } = context;
  const colour = mix(brief.palette.sky[3], brief.palette.sky[2], 0.25);
  const shift = between(random, 0, 90);
  const top = Math.max(0, Math.floor(band.row - band.thick));
  const bottom = Math.min(canvas.height - 1, Math.ceil(band.row + band.thick));
  for (let y = top; y <= bottom; y++) {
    const height = 1 - Math.abs(y - band.row) / band.thick;
    for (let x = 0; x < canvas.width; x++) {
      const wisps =
        noise.at((x / canvas.unit) * 1.3 + shift, (y / canvas.unit) * 7) * 0.7 +
        noise.at((x / canvas.unit) * 3.1, (y / canvas.unit) * 17 + shift) * 0.3;
      const amount = band.strength * height * height * clamp01(0.55 + 0.75 * wisps);
      if (amount > 0.002) blend(canvas.data, (y * canvas.width + x) * 3, colour, amount);
    }
  }
}
