import { clamp01 } from './random.ts';
import type { Rgb } from './colour.ts';

/** A picture in the making: linear-light floats, so that many soft layers add up without steps. */
export interface Canvas {
  readonly width: number;
  readonly height: number;
  /** The shorter side in pixels; every length is a fraction of it, so a picture looks alike in every size. */
  readonly unit: number;
  /** Red, green, blue per pixel, row by row. */
  readonly data: Float32Array;
}

export function makeCanvas(width: number, height: number): Canvas {
  return { width, height, unit: Math.min(width, height), data: new Float32Array(width * height * 3) };
}

/** Lays a colour over one pixel. */
export function blend(data: Float32Array, at: number, colour: Rgb, alpha: number): void {
  const keep = 1 - alpha;
  data[at] = (data[at] ?? 0) * keep + colour[0] * alpha;
  data[at + 1] = (data[at + 1] ?? 0) * keep + colour[1] * alpha;
  data[at + 2] = (data[at + 2] ?? 0) * keep + colour[2] * alpha;
}

export function addLight(data: Float32Array, at: number, colour: Rgb, amount: number): void {
  data[at] = (data[at] ?? 0) + colour[0] * amount;
  data[at + 1] = (data[at + 1] ?? 0) + colour[1] * amount;
  data[at + 2] = (data[at + 2] ?? 0) + colour[2] * amount;
}

/** Replaces a pixel; `tone` holds three channels. */
export function put(data: Float32Array, at: number, tone: ArrayLike<number>): void {
  data[at] = tone[0] ?? 0;
  data[at + 1] = tone[1] ?? 0;
  data[at + 2] = tone[2] ?? 0;
}

/** Math.hypot guards against overflow, which costs more than the whole pixel. */
export function span(dx: number, dy: number): number {
  return Math.sqrt(dx * dx + dy * dy);
}

export interface Box {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

/** Visits the pixels of a box that are inside the picture; `at` is the pixel's place in the data. */
export function eachPixel(canvas: Canvas, box: Box, visit: (x: number, y: number, at: number) => void): void {
  const left = Math.max(0, Math.floor(box.left));
  const right = Math.min(canvas.width - 1, Math.ceil(box.right));
  const bottom = Math.min(canvas.height - 1, Math.ceil(box.bottom));
  for (let y = Math.max(0, Math.floor(box.top)); y <= bottom; y++) {
    let at = (y * canvas.width + left) * 3;
    for (let x = left; x <= right; x++, at += 3) visit(x, y, at);
  }
}

export function wholeCanvas(canvas: Canvas): Box {
  return { left: 0, top: 0, right: canvas.width - 1, bottom: canvas.height - 1 };
}

/** A turned rectangle: `along` is half its length in the direction (cos, sin), `across` half its width. */
interface Bar {
  readonly x: number;
  readonly y: number;
  readonly cos: number;
  readonly sin: number;
  readonly along: number;
  readonly across: number;
}

/** Visits the pixels of a turned rectangle row by row: for a slim slanting stroke its box would be mostly empty. */
export function eachInBar(canvas: Canvas, bar: Bar, visit: (x: number, y: number, at: number) => void): void {
  const tall = Math.abs(bar.sin) * bar.along + Math.abs(bar.cos) * bar.across;
  const bottom = Math.min(canvas.height - 1, Math.ceil(bar.y + tall));
  for (let y = Math.max(0, Math.floor(bar.y - tall)); y <= bottom; y++) {
    const dy = y - bar.y;
    const [from1, to1] = interval(bar.cos, -dy * bar.sin, bar.along);
    const [from2, to2] = interval(-bar.sin, -dy * bar.cos, bar.across);
    const left = Math.max(0, Math.floor(bar.x + Math.max(from1, from2)));
    const right = Math.min(canvas.width - 1, Math.ceil(bar.x + Math.min(to1, to2)));
    let at = (y * canvas.width + left) * 3;
    for (let x = left; x <= right; x++, at += 3) visit(x, y, at);
  }
}

/** All d with |slope · d − offset| ≤ half. */
function interval(slope: number, offset: number, half: number): readonly [number, number] {
  if (Math.abs(slope) < 1e-6) return Math.abs(offset) <= half ? [-Infinity, Infinity] : [1, 0];
  const one = (offset - half) / slope;
  const other = (offset + half) / slope;
  return one < other ? [one, other] : [other, one];
}

interface Spot {
  readonly x: number;
  readonly y: number;
  readonly radius: number;
}

/** A disc with an edge as wide as one pixel, or as `softness` says. */
export function disc(
  canvas: Canvas,
  spot: Spot,
  paint: { colour: Rgb; alpha?: number; softness?: number },
): void {
  const soft = Math.max(1, paint.softness ?? 1);
  const reach = spot.radius + soft;
  const alpha = paint.alpha ?? 1;
  eachPixel(canvas, around(spot, reach), (x, y, at) => {
    const distance = span(x - spot.x, y - spot.y);
    const inside = clamp01((spot.radius - distance) / soft + 0.5);
    if (inside > 0) blend(canvas.data, at, paint.colour, inside * alpha);
  });
}

/** Light that falls off from a point: sun haze, a lamp, a star. */
export function glow(
  canvas: Canvas,
  spot: Spot,
  light: { colour: Rgb; strength: number; falloff?: number },
): void {
  const falloff = light.falloff ?? 2;
  eachPixel(canvas, around(spot, spot.radius), (x, y, at) => {
    const rest = 1 - span(x - spot.x, y - spot.y) / spot.radius;
    if (rest > 0) addLight(canvas.data, at, light.colour, light.strength * rest ** falloff);
  });
}

interface Segment {
  readonly x1: number;
  readonly y1: number;
  readonly x2: number;
  readonly y2: number;
  /** Half the width at each end: branches and blades taper. */
  readonly from: number;
  readonly to: number;
}

/** A line with round ends whose width may change along it. */
export function stroke(canvas: Canvas, line: Segment, paint: { colour: Rgb; alpha?: number }): void {
  const reach = Math.max(line.from, line.to) + 1;
  const dx = line.x2 - line.x1;
  const dy = line.y2 - line.y1;
  const lengthSquared = Math.max(1e-6, dx * dx + dy * dy);
  const alpha = paint.alpha ?? 1;
  const box = {
    left: Math.min(line.x1, line.x2) - reach,
    right: Math.max(line.x1, line.x2) + reach,
    top: Math.min(line.y1, line.y2) - reach,
    bottom: Math.max(line.y1, line.y2) + reach,
  };
  eachPixel(canvas, box, (x, y, at) => {
    const t = clamp01(((x - line.x1) * dx + (y - line.y1) * dy) / lengthSquared);
    const distance = span(x - line.x1 - dx * t, y - line.y1 - dy * t);
    const half = line.from + (line.to - line.from) * t;
    // A line thinner than a pixel is drawn as a fainter one, never as a broken one.
    const strength = half < 0.5 ? half * 2 : 1;
    const inside = clamp01(Math.max(half, 0.5) - distance + 0.5);
    if (inside > 0) blend(canvas.data, at, paint.colour, inside * alpha * strength);
  });
}

function around(spot: Spot, reach: number): Box {
  return { left: spot.x - reach, right: spot.x + reach, top: spot.y - reach, bottom: spot.y + reach };
}

/** A soft field computed on a coarser grid and read smoothly in between: clouds need a quarter of the work. */
export interface Field {
  read(x: number, y: number): number;
}

export function makeField(canvas: Canvas, step: number, value: (x: number, y: number) => number): Field {
  const columns = Math.ceil(canvas.width / step) + 2;
  const rows = Math.ceil(canvas.height / step) + 2;
  const values = new Float32Array(columns * rows);
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++)
      values[row * columns + column] = value(column * step, row * step);
  }
  return {
    read(x, y) {
      const column = Math.min(columns - 2, Math.max(0, Math.floor(x / step)));
      const row = Math.min(rows - 2, Math.max(0, Math.floor(y / step)));
      const u = x / step - column;
      const v = y / step - row;
      const at = row * columns + column;
      const top = (values[at] ?? 0) * (1 - u) + (values[at + 1] ?? 0) * u;
      const bottom = (values[at + columns] ?? 0) * (1 - u) + (values[at + columns + 1] ?? 0) * u;
      return top * (1 - v) + bottom * v;
    },
  };
}
