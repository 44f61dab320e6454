import { describe, readBrief, type Brief, type PaintOrder } from './brief.ts';
import { paintOver } from './brush.ts';
import { makeCanvas } from './canvas.ts';
import type { PaintContext } from './paint-context.ts';
import { develop, type PictureFinish } from './finish.ts';
import { paintFlowers } from './flowers.ts';
import { makeNoise } from './noise.ts';
import { encodePng } from './png.ts';
import { makeRandom } from './random.ts';
import { paintCity } from './city.ts';
import { paintDunes } from './dunes.ts';
import { paintRibbons } from './ribbons.ts';
import { paintForest, paintMountains, paintSeascape } from './scapes.ts';
import { paintShapes } from './shapes.ts';
import { paintSilk } from './silk.ts';
import { paintSpace } from './space.ts';
import type { Scene } from './words.ts';

export interface Painting {
  readonly png: Uint8Array<ArrayBuffer>;
  readonly description: string;
}

/** Paints one picture. Pure: the same order gives the same bytes. */
export function paint(order: PaintOrder): Painting {
  const brief = readBrief(order);
  const studio = STUDIOS[brief.scene];
  const { width, height, coarseness = 1 } = order;
  const coarse = (side: number): number =>
    coarseness === 1 ? side : Math.min(side, Math.max(MIN_SIDE, Math.ceil(side / coarseness)));
  const context = setUp(brief, coarse(width), coarse(height));
  if (brief.details.has('brush')) {
    const { canvas } = context;
    const sketch = setUp(brief, Math.ceil(canvas.width * SKETCH), Math.ceil(canvas.height * SKETCH));
    studio.paint(sketch);
    paintOver(context, sketch.canvas);
  } else {
    studio.paint(context);
  }
  const pixels = develop(context.canvas, studio.finish);
  return {
    png: encodePng(
      coarseness === 1 ? pixels : enlarged(pixels, context.canvas, { width, height }),
      width,
      height,
    ),
    description: describe(brief),
  };
}

/** The scenes need so many pixels on each side. */
const MIN_SIDE = 16;

/** Each pixel as often as the larger picture needs it. */
function enlarged(pixels: Uint8Array, from: Extent, { width, height }: Extent): Uint8Array {
  const large = new Uint8Array(width * height * 3);
  for (let y = 0, to = 0; y < height; y++) {
    const row = Math.floor((y * from.height) / height) * from.width;
    for (let x = 0; x < width; x++) {
      const at = (row + Math.floor((x * from.width) / width)) * 3;
      for (let channel = 0; channel < 3; channel++) large[to++] = pixels[at + channel] ?? 0;
    }
  }
  return large;
}

interface Extent {
  readonly width: number;
  readonly height: number;
}

/** A picture that is painted over needs no more detail than a brush can follow. */
const SKETCH = 0.4;

function setUp(brief: Brief, width: number, height: number): PaintContext {
  return {
    canvas: makeCanvas(width, height),
    brief,
    random: makeRandom(brief.seed ^ 0x9e3779b9),
    noise: makeNoise(makeRandom(brief.seed ^ 0x51ed270b)),
  };
}

interface Studio {
  readonly paint: (context: PaintContext) => void;
  readonly finish: PictureFinish;
}

const OUTDOORS: PictureFinish = { bloom: 0.35, vignette: 0.2, grain: 0.4 };
const LIGHTS: PictureFinish = { bloom: 0.5, vignette: 0.22, grain: 0.4 };
const INDOORS: PictureFinish = { bloom: 0.2, vignette: 0.24, grain: 0.4 };
const PAPER: PictureFinish = { bloom: 0, vignette: 0.05, grain: 1.2 };

const STUDIOS: Readonly<Record<Scene, Studio>> = {
  mountains: { paint: paintMountains, finish: OUTDOORS },
  dunes: { paint: paintDunes, finish: OUTDOORS },
  forest: { paint: paintForest, finish: OUTDOORS },
  sea: { paint: paintSeascape, finish: OUTDOORS },
  city: { paint: paintCity, finish: LIGHTS },
  flowers: { paint: paintFlowers, finish: INDOORS },
  space: { paint: paintSpace, finish: LIGHTS },
  ribbons: { paint: paintRibbons, finish: PAPER },
  silk: { paint: paintSilk, finish: INDOORS },
  shapes: { paint: paintShapes, finish: PAPER },
};
