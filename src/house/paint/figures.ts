import { blend, stroke, type Canvas } from './canvas.ts';
import { mix, type Rgb } from './colour.ts';
import type { PaintContext } from './brief.ts';
import { between } from './random.ts';

type Point = readonly [x: number, y: number];

const SUBROWS = 4;

/** Fills a simple polygon with smooth edges: exact across a row, four samples down. */
export function polygon(
  canvas: Canvas,
  points: readonly Point[],
  paint: { colour: Rgb; alpha?: number },
): void {
  const top = Math.max(0, Math.floor(Math.min(...points.map((point) => point[1]))));
  const bottom = Math.min(canvas.height - 1, Math.ceil(Math.max(...points.map((point) => point[1]))));
  const share = new Float32Array(canvas.width);
  for (let y = top; y <= bottom; y++) {
    share.fill(0);
    for (let sub = 0; sub < SUBROWS; sub++) addSpans(points, y + (sub + 0.5) / SUBROWS, share);
    for (let x = 0; x < canvas.width; x++) {
      const inside = share[x] ?? 0;
      if (inside > 0)
        blend(
          canvas.data,
          (y * canvas.width + x) * 3,
          paint.colour,
          Math.min(1, inside) * (paint.alpha ?? 1),
        );
    }
  }
}

function addSpans(points: readonly Point[], row: number, share: Float32Array): void {
  const crossings: number[] = [];
  for (const [index, [x1, y1]] of points.entries()) {
    const [x2, y2] = points[(index + 1) % points.length] ?? [x1, y1];
    if (y1 <= row !== y2 <= row) crossings.push(x1 + ((row - y1) / (y2 - y1)) * (x2 - x1));
  }
  crossings.sort((a, b) => a - b);
  for (let pair = 0; pair + 1 < crossings.length; pair += 2) {
    const from = Math.max(0, crossings[pair] ?? 0);
    const to = Math.min(share.length, crossings[pair + 1] ?? 0);
    for (let x = Math.floor(from); x < to; x++) {
      share[x] = (share[x] ?? 0) + Math.max(0, Math.min(to, x + 1) - Math.max(from, x)) / SUBROWS;
    }
  }
}

/** A sloop under sail, standing on `y`. */
export function paintBoat(context: PaintContext, boat: { x: number; y: number; tall: number }): void {
  const { canvas, brief, random } = context;
  const { x, y, tall } = boat;
  const lean = between(random, -0.05, 0.05) * tall;
  const hull = mix(brief.palette.near, brief.palette.sky[0], 0.2);
  const sail = mix(brief.palette.cloudLit, brief.palette.sun, 0.5);
  const shaded = mix(sail, brief.palette.cloudShade, 0.4);
  const top: Point = [x + lean, y - tall];
  polygon(
    canvas,
    [top, [x + tall * 0.34 + lean * 0.2, y - tall * 0.16], [x + tall * 0.03, y - tall * 0.14]],
    { colour: sail },
  );
  polygon(
    canvas,
    [
      [x + lean * 0.95, y - tall * 0.94],
      [x - tall * 0.03, y - tall * 0.14],
      [x - tall * 0.24, y - tall * 0.13],
    ],
    { colour: shaded },
  );
  polygon(
    canvas,
    [
      [x - tall * 0.3, y - tall * 0.09],
      [x + tall * 0.33, y - tall * 0.1],
      [x + tall * 0.22, y + tall * 0.01],
      [x - tall * 0.2, y + tall * 0.01],
    ],
    { colour: hull },
  );
  stroke(
    canvas,
    { x1: x, y1: y - tall * 0.08, x2: top[0], y2: top[1], from: tall * 0.012, to: tall * 0.006 },
    { colour: hull },
  );
}

/** A loose flock, each bird two curved wings. */
export function paintBirds(
  context: PaintContext,
  flock: { x: number; y: number; size: number; count: number },
): void {
  const { canvas, brief, random } = context;
  for (let bird = 0; bird < flock.count; bird++) {
    const x = flock.x + between(random, -1, 1) * flock.size * 9;
    const y = flock.y + between(random, -1, 1) * flock.size * 4;
    const span = flock.size * between(random, 0.5, 1.1);
    const lift = span * between(random, 0.2, 0.55);
    for (const side of [-1, 1]) {
      const elbowX = x + side * span * 0.5;
      stroke(
        canvas,
        { x1: x, y1: y, x2: elbowX, y2: y - lift, from: span * 0.07, to: span * 0.05 },
        { colour: brief.palette.near, alpha: 0.85 },
      );
      stroke(
        canvas,
        {
          x1: elbowX,
          y1: y - lift,
          x2: x + side * span,
          y2: y - lift * 0.55,
          from: span * 0.05,
          to: span * 0.015,
        },
        { colour: brief.palette.near, alpha: 0.85 },
      );
    }
  }
}
