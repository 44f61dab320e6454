import {
  describe,
  readBrief,
  type Brief,
  type PaintOrder,
  type PaintQuality,
  type PaintContext,
} from './brief.ts';
import { paintOver } from './brush.ts';
import { makeCanvas } from './canvas.ts';
import { develop, type PictureFinish } from './finish.ts';
import { paintFlowers } from './flowers.ts';
import { composed, hasTransparency, showPicture } from './edit.ts';
import { enlarged, smoothed, withoutAlpha, isSame } from './raster.ts';
import { makeRandom, makeNoise, type Noise } from './random.ts';
import { encodePng } from './png.ts';
import { paintCity } from './city.ts';
import { paintDunes } from './dunes.ts';
import { paintRibbons } from './ribbons.ts';
import { paintForest, paintMountains, paintSeascape } from './scapes.ts';
import { paintShapes, paintSilk } from './abstract.ts';
import { paintSpace } from './space.ts';
import type { Sources } from './sources.ts';
import type { Scene } from './words.ts';

interface Painting {
  readonly png: Uint8Array<ArrayBuffer>;
  readonly description: string;
}

/** Paints one picture. Pure: the same order with the same sources gives the same bytes. */
export function paint(order: PaintOrder, sources: Sources = {}): Painting {
  const brief = readBrief(order);
  const { width, height, coarseness, quality = 'high' } = order;
  const detail = (coarseness ?? 1) * COARSENESS_OF[quality];
  const coarse = (side: number): number =>
    detail === 1 ? side : Math.min(side, Math.max(MIN_SIDE, Math.ceil(side / detail)));
  const context = setUp(brief, coarse(width), coarse(height));
  const { finish } = STUDIOS[brief.scene];
  paintScene(context, sources);
  const developed = develop(context.canvas, finish);
  const pixels = isSame(context.canvas, order)
    ? developed
    : (coarseness === undefined ? smoothed : enlarged)(developed, context.canvas, order);
  return {
    png: encodePng(withBackground(pixels, order, sources, context.noise), width, height),
    description: describe(brief, sources),
  };
}

/** How many times less detail each side has. */
const COARSENESS_OF: Readonly<Record<PaintQuality, number>> = { low: 3, medium: 1.5, high: 1 };

function paintScene(context: PaintContext, { shown }: Sources): void {
  const { canvas, brief } = context;
  const isBrushed = brief.details.has('brush');
  const scene = isBrushed
    ? setUp(brief, Math.ceil(canvas.width * SKETCH), Math.ceil(canvas.height * SKETCH))
    : context;
  STUDIOS[brief.scene].paint(scene);
  if (shown) showPicture(scene.canvas, shown);
  if (isBrushed) paintOver(context, scene.canvas);
}

/** A file without a transparent pixel gets no alpha channel. */
function withBackground(painted: Uint8Array, order: PaintOrder, sources: Sources, noise: Noise): Uint8Array {
  const background = order.format === 'jpeg' ? 'opaque' : (order.background ?? 'auto');
  if (background !== 'transparent' && !sources.kept) return painted;
  const rgba = composed(painted, order, { sources, background, noise });
  return hasTransparency(rgba) ? rgba : withoutAlpha(rgba);
}

/** The scenes need at least this many pixels on each side. */
const MIN_SIDE = 16;

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
