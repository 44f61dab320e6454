import { blend, stroke } from './canvas.ts';
import { mix, mixLight } from './colour.ts';
import type { PaintContext } from './brief.ts';
import { nearestCrest } from './land.ts';
import { between, wholeBetween, type RandomNumber, clamp01, lerp, smoothstep } from './random.ts';
import { addLife } from './scapes.ts';
import { fillBelow, paintSky, type Sun } from './sky.ts';

/** Dune behind dune in low light: every crest runs down towards us and parts a lit face from a shaded one. */
export function paintDunes(context: PaintContext): void {
  const { canvas, brief, random } = context;
  const horizon = canvas.height * 0.5;
  const sun = paintSky(context, horizon);
  fillBelow(canvas, horizon, mix(brief.palette.sky[3], brief.palette.far, 0.4));
  const count = wholeBetween(random, 5, 6);
  const dunes = Array.from({ length: count }, (_, layer) => makeDune(context, layer / (count - 1)));
  for (const [index, dune] of dunes.entries()) {
    shadeDune(context, dune, nearestCrest(canvas, dunes.slice(index + 1)), sun);
  }
  paintGrass(context, dunes.at(-1));
  addLife(context, horizon);
}

interface Summit {
  readonly x: number;
  readonly tall: number;
  readonly wide: number;
  /** The crest's way down: how far it drifts aside and how it winds. */
  readonly drift: number;
  readonly wind: number;
  readonly phase: number;
}

interface Dune {
  readonly crest: Float32Array;
  readonly near: number;
  readonly lane: number;
  readonly summits: readonly Summit[];
}

function makeDune(context: PaintContext, near: number): Dune {
  const { canvas, noise, random } = context;
  const foot = canvas.height * lerp(0.53, 1.02, near ** 1.2);
  const tall = canvas.unit * lerp(0.045, 0.3, near);
  const count = Math.round(lerp(5, 1.4, near) * (canvas.width / canvas.unit));
  const lane = random() * 300;
  const summits = Array.from({ length: count }, (_, index) =>
    makeSummit(random, { canvasWidth: canvas.width, slot: (index + 0.5) / count, count, tall }),
  );
  const crest = new Float32Array(canvas.width);
  for (let x = 0; x < canvas.width; x++) {
    const rise = summits.reduce((highest, summit) => Math.max(highest, riseOf(summit, x)), 0);
    const sway = noise.at((x / canvas.unit) * 1.3, lane) * tall * 0.14;
    crest[x] = foot - tall * 0.4 - rise - sway;
  }
  return { crest, near, lane, summits };
}

function makeSummit(
  random: RandomNumber,
  place: { canvasWidth: number; slot: number; count: number; tall: number },
): Summit {
  return {
    x: place.canvasWidth * (place.slot + between(random, -0.3, 0.3) / place.count),
    tall: place.tall * between(random, 0.55, 1),
    wide: (place.canvasWidth / place.count) * between(random, 0.42, 0.62),
    drift: between(random, -0.9, 0.9),
    wind: between(random, 0.05, 0.16),
    phase: random() * 6,
  };
}

/** A summit with a sharp top and long flanks. */
function riseOf(summit: Summit, x: number): number {
  return summit.tall * Math.exp(-((Math.abs(x - summit.x) / summit.wide) ** 1.25));
}

function shadeDune(context: PaintContext, dune: Dune, hidden: Float32Array, sun: Sun): void {
  const { canvas, noise, brief } = context;
  const { palette } = brief;
  const air = (1 - dune.near) * 0.6;
  const sand = mix(palette.far, palette.sun, 0.42);
  const lit = mix(mix(sand, palette.sky[3], 0.35), palette.sky[3], air);
  const middle = mix(mix(sand, palette.near, 0.3), palette.sky[3], air);
  const dark = mix(mix(palette.near, palette.far, 0.3), palette.sky[3], air);
  const towards = sun.x < canvas.width / 2 ? -1 : 1;
  for (let x = 0; x < canvas.width; x++) {
    const crest = dune.crest[x] ?? 0;
    const end = Math.min(canvas.height - 1, Math.ceil(hidden[x] ?? 0) + 1);
    for (let y = Math.max(0, Math.floor(crest)); y <= end; y++) {
      const down = (y - crest) / canvas.unit;
      const face = faceAt(dune, canvas.unit, x, y) * towards;
      const u = x / canvas.unit;
      const ripples =
        noise.at(u * 9 + noise.at(u * 4, down * 9) * 1.5, down * 95 + u * 22) *
        0.06 *
        dune.near *
        clamp01(down * 9);
      const grade = face + ripples + noise.at(u * 3, down * 6 + dune.lane) * 0.05;
      const tone =
        grade > 0
          ? mixLight(middle, lit, smoothstep(0, 0.85, grade))
          : mixLight(middle, dark, smoothstep(0, 0.85, -grade));
      blend(canvas.data, (y * canvas.width + x) * 3, tone, clamp01(y - crest + 0.5));
    }
  }
}

/** +1 just right of a crest line, −1 just left of it, fading to 0 away from it. */
function faceAt(dune: Dune, unit: number, x: number, y: number): number {
  let nearest = Infinity;
  let face = 0;
  for (const summit of dune.summits) {
    const top = dune.crest[Math.min(dune.crest.length - 1, Math.max(0, Math.round(summit.x)))] ?? 0;
    const down = Math.max(0, y - top);
    const line =
      summit.x + down * summit.drift + Math.sin(down / (unit * 0.09) + summit.phase) * summit.wind * down;
    const away = (x - line) / summit.wide;
    if (Math.abs(away) >= nearest) continue;
    nearest = Math.abs(away);
    const sharp = Math.min(1, Math.abs(x - line) / (1 + down * 0.06));
    face = Math.sign(away) * sharp * Math.exp(-Math.abs(away) * 1.5);
  }
  return face;
}

/** A few tufts at our feet give the eye a measure of how large the dunes are. */
function paintGrass(context: PaintContext, dune: Dune | undefined): void {
  const { canvas, brief, random } = context;
  if (!dune) return;
  for (let tuft = 0; tuft < 7; tuft++) {
    const x = canvas.width * between(random, 0.05, 0.95);
    const ground = (dune.crest[Math.floor(x)] ?? canvas.height) + canvas.unit * between(random, 0.02, 0.18);
    const blades = wholeBetween(random, 9, 18);
    for (let blade = 0; blade < blades; blade++) {
      const tall = canvas.unit * between(random, 0.012, 0.04);
      const lean = between(random, -0.5, 0.8) * tall;
      const root = x + between(random, -0.3, 0.3) * canvas.unit * 0.02;
      stroke(
        canvas,
        { x1: root, y1: ground, x2: root + lean, y2: ground - tall, from: canvas.unit * 0.0011, to: 0.2 },
        { colour: brief.palette.near, alpha: 0.8 },
      );
    }
  }
}
