import { blend, eachPixel, put, span, wholeCanvas, addLight, makeField } from './canvas.ts';
import { mix, type Rgb, fromLch, makeRamp, readRamp } from './colour.ts';
import type { PaintContext } from './brief.ts';
import { pick, wholeBetween, clamp01, between } from './random.ts';

/** A poster: a grid of plain forms cut from coloured paper. */
export function paintShapes(context: PaintContext): void {
  const { canvas, brief, random } = context;
  const { palette } = brief;
  const cells = wholeBetween(random, 4, 6);
  const size = canvas.unit / cells;
  const columns = Math.ceil(canvas.width / size);
  const rows = Math.ceil(canvas.height / size);
  paintPaper(context);
  const colours: readonly [Rgb, ...Rgb[]] = [...palette.accents, mix(palette.ink, palette.accents[0], 0.25)];
  const taken = new Set<string>();
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      if (taken.has(`${column},${row}`)) continue;
      const roomy = column + 1 < columns && row + 1 < rows && !taken.has(`${column + 1},${row}`);
      const span = roomy && random() < 0.2 ? 2 : 1;
      for (let x = 0; x < span; x++) for (let y = 0; y < span; y++) taken.add(`${column + x},${row + y}`);
      const back = pick(random, colours);
      const fore = pick(random, colours.filter((colour) => colour !== back) as [Rgb, ...Rgb[]]);
      paintCell(context, {
        left: column * size,
        top: row * size,
        size: size * span,
        back,
        fore,
        paper: palette.paper,
      });
    }
  }
}

interface Cell {
  readonly left: number;
  readonly top: number;
  readonly size: number;
  readonly back: Rgb;
  readonly fore: Rgb;
  readonly paper: Rgb;
}

/** A form as a signed distance in cell units: negative inside. `u` and `v` run from 0 to 1. */
type Form = (u: number, v: number) => number;

const FORMS: readonly [Form, ...Form[]] = [
  (u, v) => span(u - 0.5, v - 0.5) - 0.42,
  (u, v) => span(u, v) - 1,
  (u, v) => span(u - 0.5, v - 1) - 0.5,
  (u, v) => Math.abs(span(u, v) - 0.68) - 0.16,
  (u, v) => (u + v - 1) * Math.SQRT1_2,
  (u, v) => Math.max(span(u, v) - 1, span(u - 1, v - 1) - 1),
  (u, v) =>
    Math.abs(((span(u - 0.5, v - 0.5) * 5 + 0.25) % 1) - 0.5) / 5 -
    0.05 +
    (span(u - 0.5, v - 0.5) > 0.45 ? 1 : 0),
  (_u, v) => Math.abs(((v * 4) % 1) - 0.5) / 4 - 0.0625,
  // A gate: an arch over two posts.
  (u, v) => (v < 0.55 ? span(u - 0.5, v - 0.55) - 0.34 : Math.abs(u - 0.5) - 0.34),
  (u, v) => span(((u * 3) % 1) - 0.5, ((v * 3) % 1) - 0.5) / 3 - 0.09,
];

/** Forms that stay whole when they are set small into another one. */
const INLAYS: readonly [Form, ...Form[]] = [FORMS[0], FORMS[6] ?? FORMS[0]];

function paintCell(context: PaintContext, cell: Cell): void {
  const { canvas, random, noise } = context;
  const form = pick(random, FORMS);
  const turns = Math.floor(random() * 4);
  const second = random() < 0.25 ? pick(random, INLAYS) : undefined;
  const bare = random() < 0.18;
  const ground = bare ? cell.paper : cell.back;
  const top = mix(cell.fore, cell.paper, 0.85);
  eachPixel(
    canvas,
    { left: cell.left, right: cell.left + cell.size - 1, top: cell.top, bottom: cell.top + cell.size - 1 },
    (x, y, at) => {
      const [u, v] = turned((x + 0.5 - cell.left) / cell.size, (y + 0.5 - cell.top) / cell.size, turns);
      // Paper is never quite flat: a breath of tone keeps large areas alive.
      const tone = 1 + noise.at((x / canvas.unit) * 3, (y / canvas.unit) * 3) * 0.03;
      blend(canvas.data, at, [ground[0] * tone, ground[1] * tone, ground[2] * tone], 0.97);
      const inside = clamp01(0.5 - form(u, v) * cell.size);
      blend(canvas.data, at, [cell.fore[0] * tone, cell.fore[1] * tone, cell.fore[2] * tone], inside);
      if (second)
        blend(
          canvas.data,
          at,
          top,
          clamp01(0.5 - second((u - 0.5) * 2.2 + 0.5, (v - 0.5) * 2.2 + 0.5) * cell.size * 0.45) *
            (Math.max(Math.abs(u - 0.5), Math.abs(v - 0.5)) < 0.227 ? 1 : 0),
        );
    },
  );
}

function turned(u: number, v: number, turns: number): readonly [number, number] {
  switch (turns) {
    case 1:
      return [v, 1 - u];
    case 2:
      return [1 - u, 1 - v];
    case 3:
      return [1 - v, u];
    default:
      return [u, v];
  }
}

function paintPaper({ canvas, brief }: PaintContext): void {
  eachPixel(canvas, wholeCanvas(canvas), (_x, _y, at) => put(canvas.data, at, brief.palette.paper));
}

/** Noise folded into itself twice, lit from one side: cloth, smoke or stone, as the palette has it. */
export function paintSilk(context: PaintContext): void {
  const { canvas, noise, random, brief } = context;
  const shift = random() * 200;
  const zoom = between(random, 0.75, 1.15);
  const turn = random() * Math.PI;
  const [cos, sin] = [Math.cos(turn), Math.sin(turn)];
  const height = makeField(canvas, 1, (x, y) => {
    const a = ((x / canvas.unit - 0.5) * cos + (y / canvas.unit - 0.5) * sin) * zoom;
    const b = ((y / canvas.unit - 0.5) * cos - (x / canvas.unit - 0.5) * sin) * zoom * 0.8;
    const u = noise.fbm(a * 1.1 + shift, b * 1.1, 2);
    const v = noise.fbm(a * 1.1, b * 1.1 + shift, 2);
    const folded = noise.at(a * 1.2 + u * 1.5 + 3, b * 1.2 + v * 1.5 + 7);
    return 0.5 + 0.5 * Math.sin(folded * 5.2 + u * 2.4 + a * 2.2);
  });
  const hue = makeField(
    canvas,
    4,
    (x, y) => 0.5 + 0.6 * noise.fbm((x / canvas.unit) * 0.8 + shift, (y / canvas.unit) * 0.8 + 50, 2),
  );
  const ramp = silkRamp(context);
  const shine = mix(brief.palette.sun, [1, 1, 1], 0.3);
  const tone = new Float32Array(3);
  const reach = Math.max(1, canvas.unit / 340);
  eachPixel(canvas, wholeCanvas(canvas), (x, y, at) => {
    const here = height.read(x, y);
    const slopeX = ((height.read(x + reach, y) - height.read(x - reach, y)) / reach) * canvas.unit * 0.032;
    const slopeY = ((height.read(x, y + reach) - height.read(x, y - reach)) / reach) * canvas.unit * 0.032;
    const length = Math.sqrt(slopeX * slopeX + slopeY * slopeY + 1);
    const facing = (-slopeX * 0.55 - slopeY * 0.62 + 0.56) / length;
    readRamp(ramp, clamp01(hue.read(x, y) * 0.72 + here * 0.28), tone);
    const light = 0.3 + 1 * clamp01(facing) ** 1.3 + 0.12 * here;
    canvas.data[at] = (tone[0] ?? 0) * light;
    canvas.data[at + 1] = (tone[1] ?? 0) * light;
    canvas.data[at + 2] = (tone[2] ?? 0) * light;
    addLight(canvas.data, at, shine, Math.max(0, facing) ** 14 * 0.16);
  });
}

/** Where dark shades still look rich; dark yellow and green look like mud. */
const SILK_HUES = [8, 25, 195, 230, 255, 275, 300, 325, 345] as const;

function silkRamp({ brief, random }: PaintContext) {
  const { accents } = brief.palette;
  if (brief.colours.length > 0) {
    // Every second shade: with two colour words both are in it, from dark to light.
    const own = accents.filter((_, index) => index % 2 === 0);
    return makeRamp(own.map((colour, index) => [index / Math.max(1, own.length - 1), colour] as const));
  }
  const hue = pick(random, SILK_HUES);
  const way = random() < 0.5 ? 1 : -1;
  return makeRamp([
    [0, fromLch({ l: 0.3, c: 0.12, h: hue })],
    [0.35, fromLch({ l: 0.52, c: 0.17, h: hue + way * 25 })],
    [0.68, fromLch({ l: 0.72, c: 0.14, h: hue + way * 62 })],
    [1, fromLch({ l: 0.92, c: 0.06, h: hue + way * 95 })],
  ]);
}
