import { addLight, eachPixel, makeField, wholeCanvas } from './canvas.ts';
import { fromLch, makeRamp, mix, readRamp } from './colour.ts';
import type { PaintContext } from './paint-context.ts';
import { clamp01 } from './noise.ts';
import { between, pick } from './random.ts';

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
