import type { Canvas } from './canvas.ts';
import { stir } from './random.ts';

export interface PictureFinish {
  /** How much light spills from the brightest places. */
  readonly bloom: number;
  /** How much the corners darken. */
  readonly vignette: number;
  /** Film grain in steps of the 8-bit scale. */
  readonly grain: number;
}

/** Develops the picture: spills light, darkens corners, rolls off highlights and dithers down to 8-bit sRGB. */
export function develop(canvas: Canvas, finish: PictureFinish): Uint8Array {
  if (finish.bloom > 0) spillLight(canvas, finish.bloom);
  const { width, height, data } = canvas;
  const bytes = new Uint8Array(width * height * 3);
  const centreX = width / 2;
  const centreY = height / 2;
  const reach = centreX * centreX + centreY * centreY;
  let at = 0;
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const away = ((x - centreX) ** 2 + (y - centreY) ** 2) / reach;
      const light = 1 - finish.vignette * away * away;
      // Two dice make triangular noise, which hides the 8-bit steps of a gradient completely.
      const dice = stir(y * width + x);
      const noise = ((dice & 0xffff) + (dice >>> 16)) / 65_536 - 1;
      const grain = noise * (0.5 + finish.grain);
      for (let channel = 0; channel < 3; channel++, at++) {
        bytes[at] = Math.max(0, Math.min(255, encode((data[at] ?? 0) * light) + grain + 0.5));
      }
    }
  }
  return bytes;
}

const CURVE_STEPS = 8192;
/** Linear values beyond this are plain white. */
const BRIGHTEST = 4;
const curve = makeCurve();

/** From linear light to 0 … 255 of sRGB, by table. The square root gives the dark end more entries. */
function encode(linear: number): number {
  const position = Math.sqrt(Math.min(BRIGHTEST, Math.max(0, linear)) / BRIGHTEST) * CURVE_STEPS;
  const step = Math.floor(position);
  const low = curve[step] ?? 255;
  return low + ((curve[step + 1] ?? 255) - low) * (position - step);
}

function makeCurve(): Float32Array {
  const table = new Float32Array(CURVE_STEPS + 2);
  for (let step = 0; step < table.length; step++) {
    const value = shoulder((step / CURVE_STEPS) ** 2 * BRIGHTEST);
    table[step] = 255 * (value <= 0.0031308 ? value * 12.92 : 1.055 * value ** (1 / 2.4) - 0.055);
  }
  return table;
}

/** Highlights bend towards white instead of being cut off. */
function shoulder(value: number): number {
  const knee = 0.72;
  return value <= knee ? value : knee + (1 - knee) * (1 - Math.exp(-(value - knee) / (1 - knee)));
}

/** What is brighter than paper white is blurred on a small copy and added back. */
function spillLight(canvas: Canvas, amount: number): void {
  const step = Math.max(2, Math.round(canvas.unit / 170));
  const columns = Math.ceil(canvas.width / step);
  const rows = Math.ceil(canvas.height / step);
  const small = brightParts(canvas, step, columns, rows);
  const spread = new Float32Array(small.length);
  for (let pass = 0; pass < 3; pass++) {
    blurRows(small, spread, { length: columns, count: rows, stride: 3, jump: columns * 3, radius: 5 });
    blurRows(spread, small, { length: rows, count: columns, stride: columns * 3, jump: 3, radius: 5 });
  }
  addBack(canvas, small, { step, columns, rows, amount });
}

function brightParts(canvas: Canvas, step: number, columns: number, rows: number): Float32Array {
  const small = new Float32Array(columns * rows * 3);
  const share = 1 / (step * step);
  for (let y = 0; y < canvas.height; y++) {
    const row = Math.floor(y / step) * columns;
    for (let x = 0; x < canvas.width; x++) {
      const from = (y * canvas.width + x) * 3;
      const r = canvas.data[from] ?? 0;
      const g = canvas.data[from + 1] ?? 0;
      const b = canvas.data[from + 2] ?? 0;
      const over = Math.max(r, g, b) - 0.62;
      if (over <= 0) continue;
      const weight = Math.min(1.6, over) * share;
      const to = (row + Math.floor(x / step)) * 3;
      small[to] = (small[to] ?? 0) + r * weight;
      small[to + 1] = (small[to + 1] ?? 0) + g * weight;
      small[to + 2] = (small[to + 2] ?? 0) + b * weight;
    }
  }
  return small;
}

interface BlurPlan {
  readonly length: number;
  readonly count: number;
  readonly stride: number;
  readonly jump: number;
  readonly radius: number;
}

/** One pass of a running mean along rows or columns; three passes are as good as a Gaussian. */
function blurRows(from: Float32Array, into: Float32Array, plan: BlurPlan): void {
  const share = 1 / (plan.radius * 2 + 1);
  for (let line = 0; line < plan.count; line++) {
    for (let channel = 0; channel < 3; channel++) {
      const start = line * plan.jump + channel;
      const read = (index: number): number =>
        from[start + Math.min(plan.length - 1, Math.max(0, index)) * plan.stride] ?? 0;
      let sum = 0;
      for (let index = -plan.radius; index <= plan.radius; index++) sum += read(index);
      for (let index = 0; index < plan.length; index++) {
        into[start + index * plan.stride] = sum * share;
        sum += read(index + plan.radius + 1) - read(index - plan.radius);
      }
    }
  }
}

function addBack(
  canvas: Canvas,
  small: Float32Array,
  grid: { step: number; columns: number; rows: number; amount: number },
): void {
  const { step, columns, rows, amount } = grid;
  for (let y = 0; y < canvas.height; y++) {
    const v = Math.min(rows - 1.001, Math.max(0, (y + 0.5) / step - 0.5));
    const row = Math.floor(v);
    for (let x = 0; x < canvas.width; x++) {
      const u = Math.min(columns - 1.001, Math.max(0, (x + 0.5) / step - 0.5));
      const column = Math.floor(u);
      const at = (row * columns + column) * 3;
      const to = (y * canvas.width + x) * 3;
      for (let channel = 0; channel < 3; channel++) {
        const top =
          (small[at + channel] ?? 0) * (1 - u + column) + (small[at + channel + 3] ?? 0) * (u - column);
        const below = at + columns * 3 + channel;
        const bottom = (small[below] ?? 0) * (1 - u + column) + (small[below + 3] ?? 0) * (u - column);
        canvas.data[to + channel] =
          (canvas.data[to + channel] ?? 0) + amount * (top * (1 - v + row) + bottom * (v - row));
      }
    }
  }
}
