import { mix } from './colour.ts';
import type { PaintContext } from './brief.ts';
import { paintBirds, paintBoat } from './figures.ts';
import { driftFog, makeRidge, paintRidges, type Ridge } from './land.ts';
import { between, wholeBetween, lerp, smoothstep } from './random.ts';
import { fillBelow, isNight, paintSky } from './sky.ts';
import { paintWood } from './trees.ts';
import { paintLake, paintSea } from './water.ts';

/** Ranges behind ranges, with a summit, woods at our feet or a lake, as the words say. */
export function paintMountains(context: PaintContext): void {
  const { canvas, brief, random } = context;
  const lake = brief.details.has('water') || (!brief.details.has('trees') && random() < 0.4);
  const horizon = canvas.height * (lake ? 0.6 : 0.66);
  const sun = paintSky(context, horizon);
  fillBelow(canvas, horizon, mix(brief.palette.sky[3], brief.palette.far, 0.3));
  const count = wholeBetween(random, 4, 6);
  const hero = sun.x < canvas.width / 2 ? between(random, 0.58, 0.7) : between(random, 0.3, 0.42);
  const ridges: Ridge[] = [];
  for (let layer = 0; layer < count; layer++) {
    const near = layer / (count - 1);
    const end = lake ? 0.66 : 1.02;
    ridges.push(
      makeRidge(context, {
        kind: near > 0.8 && !brief.details.has('snow') ? 'hill' : 'rock',
        foot: canvas.height * lerp(0.62, end, near ** 1.3),
        tall: canvas.unit * (layer === 1 ? 0.46 : lerp(0.24, lake ? 0.04 : 0.3, near)),
        peaks: lerp(3.4, 1.8, near),
        near: lake ? near * 0.82 : near,
        hero: layer === 1 ? hero : undefined,
      }),
    );
  }
  paintRidges(context, ridges, sun, (ridge) => {
    if (ridge.near > 0.12 && ridge.near < 0.7) {
      driftFog(context, {
        row: ridge.foot - canvas.unit * 0.03,
        thick: canvas.unit * 0.09,
        strength: fogginess(context),
      });
    }
    if (ridge.near > 0.55 && ridge.kind === 'hill') standWood(context, ridge, lake);
  });
  if (lake) paintLake(context, canvas.height * 0.655, sun);
  addLife(context, horizon);
}

function standWood(context: PaintContext, ridge: Ridge, lake: boolean): void {
  const { canvas, brief, random } = context;
  const forest = brief.details.has('trees');
  const open = random() < 0.5 ? 1 : 0;
  paintWood(context, ridge, {
    count: forest ? 170 : 110,
    tall: canvas.unit * (lake ? 0.055 : 0.13),
    hazy: 0.12,
    depth: 0.9,
    // The stand opens to one side, so that the eye has a way into the picture.
    where: forest ? () => 1 : (across) => smoothstep(0.75, 0.2, Math.abs(across - open)),
  });
}

function fogginess({ brief }: PaintContext): number {
  const usual = brief.daytime === 'night' ? 0.22 : 0.42;
  return brief.details.has('fog') || brief.daytime === 'mist' ? 0.75 : usual;
}

/** Stands of spruce, one behind the other, each paler than the one before it. */
export function paintForest(context: PaintContext): void {
  const { canvas, brief, random } = context;
  const horizon = canvas.height * 0.62;
  const sun = paintSky(context, horizon);
  fillBelow(canvas, horizon, mix(brief.palette.sky[3], brief.palette.far, 0.2));
  const count = 6;
  const open = between(random, 0.35, 0.65);
  const ridges = Array.from({ length: count }, (_, layer) => {
    const near = layer / (count - 1);
    return makeRidge(context, {
      kind: 'hill',
      foot: canvas.height * lerp(0.58, 1.12, near ** 1.15),
      tall: canvas.unit * lerp(0.16, 0.2, near),
      peaks: lerp(2.6, 1.4, near),
      near,
    });
  });
  paintRidges(context, ridges, sun, (ridge) => {
    const glade = (across: number): number =>
      lerp(1, smoothstep(0.02, 0.4, Math.abs(across - open)), ridge.near);
    paintWood(context, ridge, {
      count: lerp(150, 46, ridge.near),
      tall: canvas.unit * lerp(0.085, 0.52, ridge.near ** 1.4),
      hazy: 0.75 * (1 - ridge.near * 0.7),
      depth: lerp(0.9, 0.35, ridge.near),
      where: glade,
    });
    if (ridge.near < 0.95) {
      driftFog(context, {
        row: ridge.foot - canvas.unit * 0.02,
        thick: canvas.unit * lerp(0.08, 0.16, ridge.near),
        strength: fogginess(context) * 1.1,
      });
    }
  });
  addLife(context, horizon);
}

/** The open sea, with islands on the horizon or a sail. */
export function paintSeascape(context: PaintContext): void {
  const { canvas, brief, random } = context;
  const horizon = Math.round(canvas.height * between(random, 0.5, 0.58));
  const sun = paintSky(context, horizon);
  const islands = random() < 0.65 || brief.details.has('trees');
  if (islands) {
    for (const near of [0.08, 0.3]) {
      const ridge = makeRidge(context, {
        kind: 'rock',
        foot: horizon + canvas.unit * 0.012,
        tall: canvas.unit * (0.1 - near * 0.1),
        peaks: 2.4,
        near,
      });
      const shift = between(random, 0.15, 0.85);
      for (let x = 0; x < canvas.width; x++) {
        const away = Math.abs(x / canvas.width - shift);
        const rise = (horizon - (ridge.crest[x] ?? 0)) * smoothstep(0.36, 0.08, away);
        ridge.crest[x] = horizon - rise + smoothstep(0.3, 0.36, away) * 4;
      }
      paintRidges(context, [ridge], sun);
    }
  }
  paintSea(context, horizon, sun);
  if (brief.details.has('boat') || random() < 0.35) {
    const tall = canvas.unit * between(random, 0.1, 0.15);
    const x =
      canvas.width * (sun.x < canvas.width / 2 ? between(random, 0.58, 0.74) : between(random, 0.26, 0.42));
    paintBoat(context, { x, y: horizon + canvas.unit * 0.035, tall });
  }
  addLife(context, horizon);
}

export function addLife(context: PaintContext, horizon: number): void {
  const { canvas, brief, random } = context;
  if (!brief.details.has('birds') && (isNight(context) || random() < 0.6)) return;
  paintBirds(context, {
    x: canvas.width * between(random, 0.25, 0.75),
    y: horizon * between(random, 0.3, 0.6),
    size: canvas.unit * 0.014,
    count: wholeBetween(random, 5, 9),
  });
}
