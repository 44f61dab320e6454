import { eachPixel, stroke, wholeCanvas, type Canvas } from './canvas.ts';
import { adjust, mix, type Rgb } from './colour.ts';
import type { PaintContext } from './brief.ts';
import { between, pick, type RandomNumber } from './random.ts';

/** Bands of colour that follow one invisible current and never touch. */
export function paintRibbons(context: PaintContext): void {
  const { canvas, brief, random, noise } = context;
  const dark = brief.daytime === 'night' || brief.daytime === 'dusk' || brief.daytime === 'storm';
  const ground = dark ? brief.palette.ink : brief.palette.paper;
  paintGround(context, ground, dark);
  const taken = makeTaken(canvas);
  const bend = between(random, 0.55, 1.15);
  const lean = random() * Math.PI * 2;
  const calm = between(random, 0.7, 1.25);
  const field = (x: number, y: number): number =>
    lean +
    Math.PI *
      bend *
      (noise.at((x / canvas.unit) * calm, (y / canvas.unit) * calm) +
        0.25 * noise.at((x / canvas.unit) * 2.3 + 9, (y / canvas.unit) * 2.3));
  for (const class_ of WIDTHS) {
    for (let attempt = 0; attempt < class_.attempts; attempt++) {
      const half = canvas.unit * class_.half * between(random, 0.85, 1.15);
      const path = follow(
        { canvas, taken, field, half, most: class_.most },
        random() * canvas.width,
        random() * canvas.height,
      );
      if (path.length < class_.least) continue;
      drawRibbon(context, path, { half, colour: ribbonColour(context, path, dark), dark });
      for (const point of path) taken.mark(point, half + canvas.unit * 0.0035);
    }
  }
}

/** From the broadest to the finest; each finds the room that is left. */
const WIDTHS = [
  { half: 0.034, attempts: 30, least: 9, most: 70 },
  { half: 0.019, attempts: 90, least: 12, most: 110 },
  { half: 0.0105, attempts: 260, least: 14, most: 160 },
  { half: 0.0052, attempts: 700, least: 14, most: 220 },
  { half: 0.0024, attempts: 1500, least: 16, most: 300 },
] as const;

interface Spot {
  readonly x: number;
  readonly y: number;
}

interface Taken {
  free(spot: Spot, half: number): boolean;
  mark(spot: Spot, half: number): void;
}

/** Which parts of the picture are painted already, on a grid of two pixels. */
function makeTaken(canvas: Canvas): Taken {
  const cell = 2;
  const columns = Math.ceil(canvas.width / cell);
  const rows = Math.ceil(canvas.height / cell);
  const cells = new Uint8Array(columns * rows);
  const visit = (spot: Spot, half: number, each: (at: number) => boolean): boolean => {
    const reach = Math.max(1, half / cell);
    const [cx, cy] = [spot.x / cell, spot.y / cell];
    for (let row = Math.max(0, Math.floor(cy - reach)); row <= Math.min(rows - 1, cy + reach); row++) {
      for (
        let column = Math.max(0, Math.floor(cx - reach));
        column <= Math.min(columns - 1, cx + reach);
        column++
      ) {
        if ((column - cx) ** 2 + (row - cy) ** 2 <= reach * reach && !each(row * columns + column))
          return false;
      }
    }
    return true;
  };
  return {
    free: (spot, half) => visit(spot, half, (at) => cells[at] === 0),
    mark: (spot, half) => {
      visit(spot, half, (at) => {
        cells[at] = 1;
        return true;
      });
    },
  };
}

interface Walk {
  readonly canvas: Canvas;
  readonly taken: Taken;
  readonly field: (x: number, y: number) => number;
  readonly half: number;
  readonly most: number;
}

/** Walks with the current from a start, both ways, until something is in the way. */
function follow(walk: Walk, x: number, y: number): Spot[] {
  if (!walk.taken.free({ x, y }, walk.half)) return [];
  const forward = oneWay(walk, { x, y }, 1);
  const backward = oneWay(walk, { x, y }, -1).toReversed();
  return [...backward, { x, y }, ...forward];
}

function oneWay(walk: Walk, start: Spot, direction: 1 | -1): Spot[] {
  const step = Math.max(2, walk.half * 0.45, walk.canvas.unit * 0.003);
  const path: Spot[] = [];
  let { x, y } = start;
  while (path.length < walk.most) {
    const angle = walk.field(x, y);
    x += Math.cos(angle) * step * direction;
    y += Math.sin(angle) * step * direction;
    const margin = walk.half * 2;
    if (x < -margin || y < -margin || x > walk.canvas.width + margin || y > walk.canvas.height + margin)
      break;
    if (!walk.taken.free({ x, y }, walk.half)) break;
    path.push({ x, y });
  }
  return path;
}

function ribbonColour(context: PaintContext, path: readonly Spot[], dark: boolean): Rgb {
  const { brief, random, noise, canvas } = context;
  const { accents } = brief.palette;
  const start = path[0] ?? { x: 0, y: 0 };
  // Neighbours tend to share a colour; now and then one breaks out.
  const place = 0.5 + 0.5 * noise.at((start.x / canvas.unit) * 1.1 + 70, (start.y / canvas.unit) * 1.1);
  const near = accents[Math.min(accents.length - 1, Math.floor(place * accents.length))] ?? accents[0];
  const colour = random() < 0.68 ? near : pick(random, accents);
  return adjust(colour, { lightness: between(random, -0.04, 0.04) + (dark ? 0.04 : 0) });
}

function drawRibbon(
  context: PaintContext,
  path: readonly Spot[],
  look: { half: number; colour: Rgb; dark: boolean },
): void {
  const { canvas, brief, random } = context;
  const end = mix(look.colour, pick(random, brief.palette.accents), 0.28);
  const shade = adjust(look.colour, { lightness: -0.12 });
  if (!look.dark && look.half > canvas.unit * 0.008) castShadow(canvas, path, look.half);
  const steps = path.length - 1;
  for (let index = 0; index < steps; index++) {
    const [from, to] = [path[index], path[index + 1]];
    if (!from || !to) continue;
    stroke(
      canvas,
      { x1: from.x, y1: from.y, x2: to.x, y2: to.y, from: look.half, to: look.half },
      { colour: mix(look.colour, end, index / steps) },
    );
  }
  if (look.half > canvas.unit * 0.008) engrave(canvas, path, { half: look.half, colour: shade, random });
}

function castShadow(canvas: Canvas, path: readonly Spot[], half: number): void {
  const drop = canvas.unit * 0.005;
  for (let index = 0; index + 2 < path.length; index += 2) {
    const [from, to] = [path[index], path[index + 2]];
    if (!from || !to) continue;
    stroke(
      canvas,
      {
        x1: from.x + drop,
        y1: from.y + drop * 1.5,
        x2: to.x + drop,
        y2: to.y + drop * 1.5,
        from: half,
        to: half,
      },
      { colour: [0.05, 0.04, 0.06], alpha: 0.09 },
    );
  }
}

/** Fine lines along a broad ribbon, like the grain of cut paper. */
function engrave(
  canvas: Canvas,
  path: readonly Spot[],
  look: { half: number; colour: Rgb; random: RandomNumber },
): void {
  const lines = Math.max(2, Math.round(look.half / (canvas.unit * 0.004)));
  for (let line = 0; line < lines; line++) {
    const aside =
      ((line + 0.5) / lines - 0.5) * 2 * look.half * 0.86 + (look.random() - 0.5) * look.half * 0.1;
    const alpha = between(look.random, 0.08, 0.3);
    for (let index = 0; index + 1 < path.length; index++) {
      const [from, to] = [path[index], path[index + 1]];
      if (!from || !to) continue;
      const angle = Math.atan2(to.y - from.y, to.x - from.x) + Math.PI / 2;
      const [dx, dy] = [Math.cos(angle) * aside, Math.sin(angle) * aside];
      stroke(
        canvas,
        {
          x1: from.x + dx,
          y1: from.y + dy,
          x2: to.x + dx,
          y2: to.y + dy,
          from: canvas.unit * 0.0006,
          to: canvas.unit * 0.0006,
        },
        { colour: look.colour, alpha },
      );
    }
  }
}

function paintGround({ canvas, noise }: PaintContext, ground: Rgb, dark: boolean): void {
  eachPixel(canvas, wholeCanvas(canvas), (x, y, at) => {
    const light = 1 + noise.fbm((x / canvas.unit) * 1.4, (y / canvas.unit) * 1.4, 3) * (dark ? 0.25 : 0.035);
    canvas.data[at] = ground[0] * light;
    canvas.data[at + 1] = ground[1] * light;
    canvas.data[at + 2] = ground[2] * light;
  });
}
