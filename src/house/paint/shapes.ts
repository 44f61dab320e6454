import { blend, eachPixel, put, span, wholeCanvas } from './canvas.ts';
import { mix, type Rgb } from './colour.ts';
import type { PaintContext } from './paint-context.ts';
import { clamp01 } from './noise.ts';
import { pick, wholeBetween } from './random.ts';

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
