import { blend, eachInBar, eachPixel, put, span, wholeCanvas, type Canvas } from './canvas.ts';
import type { Rgb } from './colour.ts';
import type { PaintContext } from './brief.ts';
import { between, clamp01 } from './random.ts';

/** Paints `model` again with a brush, broad strokes first, then fine ones where there is detail. */
export function paintOver(context: PaintContext, model: Canvas): void {
  const { canvas, random } = context;
  const ground: Ground = { model, ratio: model.unit / canvas.unit, bristles: makeBristles(context) };
  eachPixel(canvas, wholeCanvas(canvas), (x, y, at) => put(canvas.data, at, colourAt(ground, x, y)));
  for (const pass of PASSES) {
    const gap = canvas.unit * pass.gap;
    const columns = Math.ceil(canvas.width / gap);
    const rows = Math.ceil(canvas.height / gap);
    for (let spot = 0; spot < columns * rows; spot++) {
      // A large odd step visits every cell once in an order without rows.
      const cell = (spot * 7919) % (columns * rows);
      const x = ((cell % columns) + random()) * gap;
      const y = (Math.floor(cell / columns) + random()) * gap;
      layStroke(context, ground, {
        x,
        y,
        half: canvas.unit * pass.half * between(random, 0.7, 1.2),
        length: canvas.unit * pass.length,
        fine: pass.fine,
      });
    }
  }
}

const PASSES = [
  { gap: 0.026, half: 0.016, length: 0.11, fine: 0 },
  { gap: 0.0135, half: 0.0078, length: 0.06, fine: 0.02 },
  { gap: 0.008, half: 0.0048, length: 0.04, fine: 0.09 },
] as const;

/** The image to paint from, and how thick the paint is under each hair of the brush. */
interface Ground {
  readonly model: Canvas;
  /** Pixels of the model per pixel of the picture: strokes hide detail, so a smaller model is enough. */
  readonly ratio: number;
  readonly bristles: Float32Array;
}

/** Sixty-four hairs, sixteen places along the stroke. */
function makeBristles({ noise }: PaintContext): Float32Array {
  return Float32Array.from({ length: 64 * 16 }, (_, index) =>
    noise.at((index >> 4) * 0.43, (index & 15) * 0.35),
  );
}

interface Touch {
  readonly x: number;
  readonly y: number;
  readonly half: number;
  readonly length: number;
  /** Contrast below which this pass leaves the broader stroke alone. */
  readonly fine: number;
}

function layStroke(context: PaintContext, ground: Ground, touch: Touch): void {
  const { canvas, noise, random } = context;
  const slope = slopeAt(ground, touch.x, touch.y, Math.max(2, touch.half));
  if (slope.steep < touch.fine) return;
  const drift = noise.at((touch.x / canvas.unit) * 1.8, (touch.y / canvas.unit) * 1.8) * 1.3;
  // Strokes run along edges; in even places they follow a slow current.
  const angle = slope.steep > 0.03 ? slope.along : drift;
  const colour = vary(meanColour(ground, touch), random());
  const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
  const long = touch.length * between(random, 0.5, 1);
  const bristle = Math.floor(random() * 64);
  const curve = noise.at(touch.y / canvas.unit, touch.x / canvas.unit) * 0.7;
  const bar = {
    x: touch.x,
    y: touch.y,
    cos,
    sin,
    along: long / 2,
    across: touch.half * (1 + Math.abs(curve)),
  };
  eachInBar(canvas, bar, (x, y, at) => {
    const along = ((x - touch.x) * cos + (y - touch.y) * sin) / (long / 2);
    const across = (-(x - touch.x) * sin + (y - touch.y) * cos) / touch.half + curve * along * along;
    const edge = clamp01((1 - Math.abs(across)) * touch.half + 0.5) * clamp01((1 - Math.abs(along)) * 6);
    if (edge <= 0) return;
    const hair =
      ground.bristles[
        (Math.floor((across + 1.5) * 12 + bristle) & 63) * 16 + (Math.floor((along + 1.5) * 4 + bristle) & 15)
      ] ?? 0;
    const body = 1 + hair * 0.09;
    blend(
      canvas.data,
      at,
      [colour[0] * body, colour[1] * body, colour[2] * body],
      edge * clamp01(0.82 + hair * 0.5),
    );
  });
}

function slopeAt(ground: Ground, x: number, y: number, reach: number): { along: number; steep: number } {
  const dx = lightAt(ground, x + reach, y) - lightAt(ground, x - reach, y);
  const dy = lightAt(ground, x, y + reach) - lightAt(ground, x, y - reach);
  return { along: Math.atan2(dx, -dy), steep: span(dx, dy) };
}

/** Perceived brightness: the root makes dark places as readable as light ones. */
function lightAt(ground: Ground, x: number, y: number): number {
  const [r, g, b] = colourAt(ground, x, y);
  return Math.sqrt(Math.max(0, 0.21 * r + 0.72 * g + 0.07 * b));
}

function colourAt({ model, ratio }: Ground, x: number, y: number): Rgb {
  const column = Math.min(model.width - 1, Math.max(0, Math.round(x * ratio)));
  const row = Math.min(model.height - 1, Math.max(0, Math.round(y * ratio)));
  const at = (row * model.width + column) * 3;
  return [model.data[at] ?? 0, model.data[at + 1] ?? 0, model.data[at + 2] ?? 0];
}

/** A brush cannot pick up a single bright point: it takes what lies under its width. */
function meanColour(ground: Ground, touch: Touch): Rgb {
  const reach = touch.half * 0.9;
  const sum = [0, 0, 0];
  for (const [dx, dy] of [
    [reach, reach],
    [reach, -reach],
    [-reach, reach],
    [-reach, -reach],
    [0, 0],
  ] as const) {
    const colour = colourAt(ground, touch.x + dx, touch.y + dy);
    for (let channel = 0; channel < 3; channel++)
      sum[channel] = (sum[channel] ?? 0) + (colour[channel] ?? 0) / 5;
  }
  return [sum[0] ?? 0, sum[1] ?? 0, sum[2] ?? 0];
}

/** Paint is never mixed twice the same: each stroke is a little warmer or cooler, lighter or darker. */
function vary([r, g, b]: Rgb, chance: number): Rgb {
  const light = 0.9 + chance * 0.2;
  const warm = ((chance * 7.3) % 1) - 0.5;
  return [r * light * (1 + warm * 0.12), g * light, b * light * (1 - warm * 0.12)];
}
