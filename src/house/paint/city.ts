import { addLight, blend, eachPixel, glow, stroke } from './canvas.ts';
import { adjust, mix, mixLight, scale, type Rgb } from './colour.ts';
import type { PaintContext } from './brief.ts';
import { polygon } from './figures.ts';
import { driftFog } from './land.ts';
import { between, pick, stir, wholeBetween, clamp01, lerp } from './random.ts';
import { fillBelow, paintSky } from './sky.ts';
import { paintLake } from './water.ts';

/** Towers in three or four distances, windows lit, all of it again in the water below. */
export function paintCity(context: PaintContext): void {
  const { canvas, brief, random } = context;
  const shore = Math.round(canvas.height * 0.7);
  const sun = paintSky(context, shore);
  fillBelow(canvas, shore, brief.palette.near);
  const layers = 4;
  const centre = between(random, 0.35, 0.65);
  for (let layer = 0; layer < layers; layer++) {
    const near = layer / (layers - 1);
    paintBlock(context, {
      near,
      shore,
      centre: centre + between(random, -0.08, 0.08),
      seed: stir(brief.seed + layer),
    });
    if (near < 1) {
      driftFog(context, {
        row: shore - canvas.unit * 0.02,
        thick: canvas.unit * 0.22,
        strength: lerp(0.6, 0.35, near),
      });
    }
  }
  paintQuay(context, shore);
  paintLake(context, shore, sun, 1.25);
}

interface Block {
  readonly near: number;
  readonly shore: number;
  readonly centre: number;
  readonly seed: number;
}

interface Tower {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly shore: number;
  readonly near: number;
  readonly seed: number;
}

function paintBlock(context: PaintContext, block: Block): void {
  const { canvas, random } = context;
  const wide = canvas.unit * lerp(0.034, 0.062, block.near);
  let x = -wide * random();
  while (x < canvas.width) {
    const width = wide * between(random, 0.7, 1.5);
    const across = (x + width / 2) / canvas.width;
    const bulge = Math.exp(-(((across - block.centre) / 0.27) ** 2));
    const tall =
      canvas.unit *
      (lerp(0.16, 0.05, block.near) +
        lerp(0.34, 0.24, block.near) * bulge * between(random, 0.35, 1) +
        0.05 * random());
    const gap = random() < 0.12 ? width * 0.5 : width * 0.04 * block.near;
    paintTower(context, {
      left: x,
      right: x + width,
      top: block.shore - tall,
      shore: block.shore,
      near: block.near,
      seed: stir(block.seed ^ Math.round(x * 13)),
    });
    x += width + gap;
  }
}

function paintTower(context: PaintContext, tower: Tower): void {
  const { brief, random } = context;
  const { palette } = brief;
  const day = brief.daytime === 'day' || brief.daytime === 'mist' || brief.daytime === 'golden';
  const distant = mix(palette.far, palette.sky[3], 0.35);
  const body = mix(distant, adjust(palette.near, { lightness: 0.05 }), lerp(0.15, 0.95, tower.near));
  const tint = mix(body, pick(random, palette.accents), 0.06);
  const setback = tower.near > 0.2 && random() < 0.4;
  const width = tower.right - tower.left;
  const crown = tower.top - (setback ? (tower.shore - tower.top) * between(random, 0.1, 0.22) : 0);
  paintWall(context, tower, tint, day);
  if (setback)
    paintWall(
      context,
      {
        ...tower,
        left: tower.left + width * 0.2,
        right: tower.right - width * 0.2,
        top: crown,
        shore: tower.top,
        seed: tower.seed + 1,
      },
      tint,
      day,
    );
  paintCrown(context, { ...tower, top: crown }, { colour: tint, setback });
}

function paintCrown(context: PaintContext, tower: Tower, look: { colour: Rgb; setback: boolean }): void {
  const { canvas, random } = context;
  const inset = look.setback ? 0.2 : 0;
  const width = tower.right - tower.left;
  const left = tower.left + width * inset;
  const right = tower.right - width * inset;
  const middle = (left + right) / 2;
  const kind = random();
  if (kind < 0.16) {
    polygon(
      canvas,
      [
        [left, tower.top + 1],
        [right, tower.top + 1],
        [middle, tower.top - width * 0.7],
      ],
      { colour: look.colour },
    );
  } else if (kind < 0.3) {
    polygon(
      canvas,
      [
        [left, tower.top + 1],
        [right, tower.top + 1],
        [right, tower.top - width * 0.4],
      ],
      { colour: look.colour },
    );
  }
  if (random() < 0.3) {
    const mast = canvas.unit * between(random, 0.02, 0.07);
    stroke(
      canvas,
      {
        x1: middle,
        y1: tower.top,
        x2: middle,
        y2: tower.top - mast - width * 0.3,
        from: canvas.unit * 0.0016,
        to: canvas.unit * 0.0006,
      },
      { colour: look.colour },
    );
    const lamp = { x: middle, y: tower.top - mast - width * 0.3, radius: canvas.unit * 0.012 };
    if (tower.near > 0.3) glow(canvas, lamp, { colour: [1, 0.15, 0.1], strength: 0.9, falloff: 3 });
  }
}

/** One face of a tower with its grid of windows; a window is a few pixels with soft edges. */
function paintWall(context: PaintContext, tower: Tower, colour: Rgb, day: boolean): void {
  const { canvas, brief } = context;
  const pane = canvas.unit * lerp(0.0055, 0.0074, tower.near);
  const storey = pane * 1.35;
  const busy = (day ? 0.14 : 0.42) * (0.5 + (stir(tower.seed) % 100) / 100);
  const warm: Rgb = mix([1, 0.72, 0.36], brief.palette.sun, 0.25);
  const cool: Rgb = [0.75, 0.9, 1];
  const tinted = brief.palette.accents[stir(tower.seed + 7) % brief.palette.accents.length] ?? warm;
  const glass = mix(colour, brief.palette.sky[2], 0.18);
  const tall = Math.max(1, tower.shore - tower.top);
  const neon = brief.colours.length > 0 || brief.daytime === 'night' ? 0.14 : 0.05;
  eachPixel(
    canvas,
    { left: tower.left - 1, right: tower.right + 1, top: tower.top - 1, bottom: tower.shore },
    (x, y, at) => {
      const inside =
        clamp01(x - tower.left + 0.5) * clamp01(tower.right - x + 0.5) * clamp01(y - tower.top + 0.5);
      if (inside <= 0) return;
      const side = clamp01((x - tower.left) / (tower.right - tower.left));
      const wall = mixLight(colour, glass, 0.55 * side + 0.3 * (1 - (y - tower.top) / tall));
      blend(canvas.data, at, wall, inside);
      const column = Math.floor((x - tower.left) / pane);
      const row = Math.floor((y - tower.top) / storey);
      const u = (x - tower.left) / pane - column;
      const v = (y - tower.top) / storey - row;
      const window =
        clamp01((0.36 - Math.abs(u - 0.5)) * pane + 0.5) * clamp01((0.3 - Math.abs(v - 0.5)) * storey + 0.5);
      if (window <= 0 || x > tower.right - pane * 0.4 || row < 1) return;
      const dice = stir(tower.seed ^ (row * 7919 + column * 104729));
      // Whole storeys are lit or dark together more often than chance has it.
      const storeyLit = (stir(tower.seed + row * 31) % 100) / 100;
      if ((dice % 1000) / 1000 > busy * (0.45 + storeyLit)) return;
      const hue = (dice >>> 12) % 100;
      const light = hue < neon * 100 ? tinted : hue < 78 ? warm : cool;
      addLight(
        canvas.data,
        at,
        light,
        window * inside * (0.35 + ((dice >>> 20) % 100) / 110) * lerp(0.3, 1, tower.near),
      );
    },
  );
}

/** The embankment: a dark line with street lamps, so that the towers stand on something. */
function paintQuay(context: PaintContext, shore: number): void {
  const { canvas, brief, random } = context;
  const colour = scale(brief.palette.near, 0.7);
  const tall = canvas.unit * 0.012;
  eachPixel(canvas, { left: 0, right: canvas.width, top: shore - tall, bottom: shore }, (_x, y, at) => {
    blend(canvas.data, at, colour, clamp01(y - shore + tall));
  });
  const lamps = wholeBetween(random, 16, 26);
  for (let lamp = 0; lamp < lamps; lamp++) {
    const x = ((lamp + 0.5) / lamps) * canvas.width;
    glow(
      canvas,
      { x, y: shore - tall * 1.2, radius: canvas.unit * 0.016 },
      { colour: mix([1, 0.75, 0.4], brief.palette.sun, 0.3), strength: 1.1, falloff: 3 },
    );
  }
}
