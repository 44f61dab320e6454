import { blend, disc, eachInBar, eachPixel, put, stroke, wholeCanvas, type Box } from './canvas.ts';
import { adjust, fromLch, makeRamp, mix, mixLight, readRamp, scale, type Ramp, type Rgb } from './colour.ts';
import type { PaintContext } from './brief.ts';
import { bell, between, pick, wholeBetween, clamp01, smoothstep } from './random.ts';

/** Blossoms close up before a garden that is out of focus. */
export function paintFlowers(context: PaintContext): void {
  const { canvas, random, brief } = context;
  paintGarden(context);
  const left = random() < 0.5;
  const across = (share: number): number => canvas.width * (left ? share : 1 - share);
  const spots = [
    { x: across(between(random, 0.84, 0.94)), y: canvas.height * between(random, 0.2, 0.3), size: 0.15 },
    { x: across(between(random, 0.06, 0.16)), y: canvas.height * between(random, 0.14, 0.26), size: 0.12 },
    { x: across(between(random, 0.76, 0.86)), y: canvas.height * between(random, 0.72, 0.82), size: 0.2 },
    { x: across(between(random, 0.36, 0.44)), y: canvas.height * between(random, 0.44, 0.52), size: 0.34 },
  ];
  const main = pick(random, KINDS);
  const [first, second] = bouquetColours(context);
  for (const spot of spots) paintStem(context, spot, left);
  for (const [index, spot] of spots.entries()) {
    const hero = index === spots.length - 1;
    const kind = hero || random() < 0.6 ? main : pick(random, KINDS);
    paintBlossom(context, {
      x: spot.x,
      y: spot.y,
      radius: canvas.unit * spot.size * between(random, 0.9, 1.05),
      kind,
      colour: hero || index === 1 ? first : second,
      turn: random() * 6.3,
      squash: hero ? between(random, 0.86, 0.97) : between(random, 0.66, 0.9),
      lean: bell(random) * 0.6,
      // What is behind the hero is a little out of the light.
      dim: hero ? 0 : 0.16 + 0.1 * (3 - index) * 0.5,
    });
  }
  paintPollen(context, brief.palette.sun);
}

interface BlossomKind {
  readonly rings: number;
  readonly petals: number;
  /** Width of a petal for its length, and where along it is widest. */
  readonly wide: number;
  readonly belly: number;
  /** Share of the radius that the heart takes. */
  readonly heart: number;
  readonly ruffle: number;
}

const KINDS: readonly [BlossomKind, ...BlossomKind[]] = [
  { rings: 7, petals: 15, wide: 0.3, belly: 0.62, heart: 0.05, ruffle: 0.1 },
  { rings: 3, petals: 19, wide: 0.19, belly: 0.6, heart: 0.24, ruffle: 0.05 },
  { rings: 5, petals: 8, wide: 0.72, belly: 0.7, heart: 0.06, ruffle: 0.3 },
  { rings: 2, petals: 6, wide: 0.8, belly: 0.68, heart: 0.17, ruffle: 0.34 },
];

interface Blossom {
  readonly x: number;
  readonly y: number;
  readonly radius: number;
  readonly kind: BlossomKind;
  readonly colour: Rgb;
  readonly turn: number;
  readonly squash: number;
  readonly lean: number;
  readonly dim: number;
}

function bouquetColours({ brief, random }: PaintContext): readonly [Rgb, Rgb] {
  const { accents } = brief.palette;
  if (brief.colours.length > 0) {
    const other = brief.palette.accents[brief.palette.accents.length - 2] ?? accents[0];
    return [adjust(accents[0], { chroma: 1.3, lightness: 0.12 }), other];
  }
  const [hue, companion] = pick(random, HUES);
  return [fromLch({ l: 0.7, c: 0.18, h: hue }), fromLch({ l: 0.8, c: 0.12, h: companion })];
}

/** Pairs that grow together in gardens. */
const HUES: readonly [HuePair, ...HuePair[]] = [
  [8, 60],
  [25, 85],
  [355, 300],
  [320, 20],
  [300, 350],
  [60, 15],
  [85, 30],
  [275, 340],
];

type HuePair = readonly [own: number, companion: number];

function paintBlossom(context: PaintContext, blossom: Blossom): void {
  const { kind, radius } = blossom;
  for (let ring = 0; ring < kind.rings; ring++) {
    const inward = ring / kind.rings;
    const reach = radius * (1 - inward * 0.86);
    const ramp = petalRamp(context, blossom, inward);
    const count = Math.max(5, Math.round(kind.petals * (1 - inward * 0.35)));
    const offset = blossom.turn + ring * 2.39996;
    shadowUnder(context, blossom, reach);
    for (let petal = 0; petal < count; petal++) {
      // Every second petal lies behind its neighbours, as in life.
      const place = ((petal * 2) % count) + (count % 2 === 0 && petal * 2 >= count ? 1 : 0);
      const angle = offset + (place / count) * Math.PI * 2 + bell(context.random) * 0.05;
      paintPetal(context, blossom, {
        angle,
        length: reach * (1 + bell(context.random) * 0.05),
        ramp,
        seed: context.random() * 90,
      });
    }
  }
  if (kind.heart > 0.1) paintHeart(context, blossom);
}

function petalRamp({ brief }: PaintContext, blossom: Blossom, inward: number): Ramp {
  const dim = blossom.dim;
  const tip = adjust(blossom.colour, { lightness: 0.1 - inward * 0.06 - dim });
  const body = adjust(blossom.colour, { lightness: -0.02 - inward * 0.05 - dim, chroma: 1.08 });
  const root = mix(adjust(blossom.colour, { lightness: -0.2 - dim, hue: -14 }), brief.palette.near, 0.25);
  return makeRamp(
    [
      [0, root],
      [0.3, mix(root, body, 0.6)],
      [0.62, body],
      [1, tip],
    ],
    256,
  );
}

function shadowUnder({ canvas, brief }: PaintContext, blossom: Blossom, reach: number): void {
  disc(
    canvas,
    { x: blossom.x + reach * 0.03, y: blossom.y + reach * 0.06, radius: reach * 0.7 },
    { colour: scale(brief.palette.near, 0.5), alpha: 0.38, softness: reach * 0.62 },
  );
}

interface Petal {
  readonly angle: number;
  readonly length: number;
  readonly ramp: Ramp;
  readonly seed: number;
}

function paintPetal({ canvas, noise, brief }: PaintContext, blossom: Blossom, petal: Petal): void {
  const { kind } = blossom;
  const cos = Math.cos(petal.angle);
  const sin = Math.sin(petal.angle);
  const half = petal.length * kind.wide * 0.5;
  const tone = new Float32Array(3);
  const light = mix(brief.palette.sun, [1, 1, 1], 0.4);
  const outline = petalOutline(kind, (along) => noise.at(along * 3 + petal.seed, petal.seed));
  // Light comes from the upper left: petals that point there are brighter.
  const facing = 0.5 - 0.5 * (cos * 0.6 + sin * 0.8);
  eachPixel(canvas, petalBox(blossom, { cos, sin, length: petal.length, half: half * 1.15 }), (x, y, at) => {
    const dx = x - blossom.x - (y - blossom.y) * blossom.lean * 0.2;
    const dy = (y - blossom.y) / blossom.squash;
    const along = (dx * cos + dy * sin) / petal.length;
    if (along < 0.02 || along > 1.04) return;
    const across = (-dx * sin + dy * cos) / half;
    if (Math.abs(across) > 1.12) return;
    const width = outline[Math.round(along * OUTLINE_STEPS)] ?? 0;
    const inside = clamp01((width - Math.abs(across)) * half + 0.5);
    if (inside <= 0) return;
    const streak = noise.at(across * 9 + petal.seed, along * 1.6) * 0.06;
    const fold = across * 0.11 * (sin - cos) - Math.exp(-across * across * 60) * 0.06 * (1 - along);
    readRamp(petal.ramp, along + streak + fold + (facing - 0.5) * 0.22, tone);
    const rim = smoothstep(0.7, 1, Math.abs(across) / Math.max(0.05, width)) * 0.16 * along;
    const shine = clamp01(rim + facing * 0.1 * along);
    blend(canvas.data, at, [tone[0] ?? 0, tone[1] ?? 0, tone[2] ?? 0], inside);
    blend(canvas.data, at, light, inside * shine);
    // A thin dark seam keeps neighbours of one colour apart.
    const seam = smoothstep(half * 0.06 + 1.2, 0, (width - Math.abs(across)) * half) * 0.2;
    blend(canvas.data, at, brief.palette.near, inside * seam);
  });
}

const OUTLINE_STEPS = 512;

/** Half the petal's width along its length, 1 at the belly, a little wavy. */
function petalOutline(kind: BlossomKind, wave: (along: number) => number): Float32Array {
  const power = kind.belly / (1 - kind.belly);
  const peak = kind.belly ** power * (1 - kind.belly);
  return Float32Array.from({ length: OUTLINE_STEPS + 1 }, (_, step) => {
    const along = step / OUTLINE_STEPS;
    return ((along ** power * (1 - along)) / peak) ** 0.62 * (1 + kind.ruffle * 0.3 * wave(along));
  });
}

/** The petal's corners as they lie in the picture, after squash and lean. */
function petalBox(blossom: Blossom, petal: { cos: number; sin: number; length: number; half: number }): Box {
  const xs: number[] = [];
  const ys: number[] = [];
  for (const along of [0, petal.length * 1.04]) {
    for (const across of [-petal.half, petal.half]) {
      const y = (along * petal.sin + across * petal.cos) * blossom.squash;
      ys.push(blossom.y + y);
      xs.push(blossom.x + along * petal.cos - across * petal.sin + y * blossom.lean * 0.2);
    }
  }
  return {
    left: Math.min(...xs) - 1,
    right: Math.max(...xs) + 1,
    top: Math.min(...ys) - 1,
    bottom: Math.max(...ys) + 1,
  };
}

/** Florets in a golden spiral, as in a sunflower. */
function paintHeart({ canvas, random, brief }: PaintContext, blossom: Blossom): void {
  const radius = blossom.radius * blossom.kind.heart;
  const dark = mix(brief.palette.near, fromLch({ l: 0.35, c: 0.09, h: 55 }), 0.5);
  const bright = mix(fromLch({ l: 0.82, c: 0.16, h: 88 }), brief.palette.sun, 0.15);
  disc(
    canvas,
    { x: blossom.x, y: blossom.y, radius: radius * 1.15 },
    { colour: dark, alpha: 0.5, softness: radius * 0.4 },
  );
  disc(canvas, { x: blossom.x, y: blossom.y, radius }, { colour: dark, softness: radius * 0.1 });
  const florets = 420;
  for (let floret = 0; floret < florets; floret++) {
    const out = Math.sqrt(floret / florets);
    const angle = floret * 2.399963;
    const x = blossom.x + Math.cos(angle) * out * radius;
    const y = blossom.y + Math.sin(angle) * out * radius * blossom.squash;
    const lit = 0.35 + 0.65 * out - 0.25 * Math.sin(angle) * out;
    disc(
      canvas,
      { x, y, radius: radius * 0.034 * (0.7 + 0.5 * out) },
      { colour: mix(dark, bright, clamp01(lit * between(random, 0.6, 1.1))), alpha: 0.95 },
    );
  }
}

function paintGarden(context: PaintContext): void {
  const { canvas, brief, noise, random } = context;
  const { palette } = brief;
  const green = fromLch({ l: 0.42, c: 0.085, h: between(random, 140, 185) });
  const deep = mix(palette.near, green, 0.55);
  const soft = mix(mix(palette.sky[2], green, 0.4), palette.sky[3], 0.35);
  const ramp = makeRamp([
    [0, scale(deep, 0.75)],
    [0.35, deep],
    [0.7, mix(deep, soft, 0.6)],
    [1, soft],
  ]);
  const tone = new Float32Array(3);
  const shift = random() * 60;
  eachPixel(canvas, wholeCanvas(canvas), (x, y, at) => {
    const u = x / canvas.unit;
    const v = y / canvas.unit;
    const shade = 0.78 - 0.6 * (y / canvas.height) + 0.34 * noise.at(u * 1.3 + shift, v * 1.3);
    readRamp(ramp, shade, tone);
    put(canvas.data, at, tone);
  });
  const [first, second] = bouquetColours(context);
  const lights = wholeBetween(random, 26, 40);
  for (let light = 0; light < lights; light++) {
    const radius = canvas.unit * between(random, 0.015, 0.075);
    const colour = pick(random, [first, second, palette.sun, soft, first] as const);
    disc(
      canvas,
      { x: random() * canvas.width, y: random() ** 1.3 * canvas.height, radius },
      { colour, alpha: between(random, 0.06, 0.26), softness: radius * between(random, 0.12, 0.9) },
    );
  }
}

function paintStem(context: PaintContext, spot: { x: number; y: number; size: number }, left: boolean): void {
  const { canvas, random, brief } = context;
  const green = mix(fromLch({ l: 0.36, c: 0.08, h: 140 }), brief.palette.near, 0.35);
  const bend = (left ? 1 : -1) * between(random, 0.05, 0.2) * canvas.unit;
  let [x, y] = [spot.x, spot.y];
  const steps = 26;
  for (let step = 1; step <= steps; step++) {
    const t = step / steps;
    const nextX = spot.x + bend * t * t;
    const nextY = spot.y + (canvas.height * 1.05 - spot.y) * t;
    const half = canvas.unit * spot.size * 0.024 * (1 + 0.4 * t);
    stroke(canvas, { x1: x, y1: y, x2: nextX, y2: nextY, from: half, to: half }, { colour: green });
    stroke(
      canvas,
      { x1: x - half * 0.4, y1: y, x2: nextX - half * 0.4, y2: nextY, from: half * 0.25, to: half * 0.25 },
      { colour: mix(green, brief.palette.sky[3], 0.25), alpha: 0.5 },
    );
    [x, y] = [nextX, nextY];
  }
  for (const side of [-1, 1]) {
    const t = between(random, 0.35, 0.7);
    paintLeaf(context, {
      x: spot.x + bend * t * t,
      y: spot.y + (canvas.height - spot.y) * t,
      length: canvas.unit * spot.size * between(random, 0.8, 1.2),
      angle: -Math.PI / 2 + side * between(random, 0.7, 1.25),
      green,
    });
  }
}

function paintLeaf(
  { canvas, brief }: PaintContext,
  leaf: { x: number; y: number; length: number; angle: number; green: Rgb },
): void {
  const cos = Math.cos(leaf.angle);
  const sin = Math.sin(leaf.angle);
  const half = leaf.length * 0.17;
  const bright = mix(leaf.green, brief.palette.sky[3], 0.3);
  const middle = { x: leaf.x + (cos * leaf.length) / 2, y: leaf.y + (sin * leaf.length) / 2 };
  eachInBar(canvas, { ...middle, cos, sin, along: leaf.length / 2, across: half * 1.5 }, (x, y, at) => {
    const along = ((x - leaf.x) * cos + (y - leaf.y) * sin) / leaf.length;
    if (along <= 0 || along >= 1) return;
    const across = (-(x - leaf.x) * sin + (y - leaf.y) * cos) / half - Math.sin(along * 2.4) * 0.35;
    const width = Math.sin(Math.PI * along ** 0.8) ** 0.9;
    const inside = clamp01((width - Math.abs(across)) * half + 0.5);
    if (inside <= 0) return;
    const vein = Math.exp(-(across * across) * 300) * 0.5;
    const rib = 0.09 * Math.sin((along * 9 - Math.abs(across) * 2.2) * Math.PI * 2);
    const light = clamp01((across > 0 ? 0.22 : 0.5) + rib + 0.25 * along + vein);
    blend(canvas.data, at, mixLight(leaf.green, bright, light), inside);
  });
}

function paintPollen({ canvas, random }: PaintContext, colour: Rgb): void {
  for (let speck = 0; speck < 40; speck++) {
    const radius = canvas.unit * between(random, 0.001, 0.004);
    disc(
      canvas,
      { x: random() * canvas.width, y: random() * canvas.height, radius },
      { colour, alpha: between(random, 0.1, 0.5), softness: radius * 2 },
    );
  }
}
