import {
  addLight,
  blend,
  disc,
  eachPixel,
  glow,
  makeField,
  put,
  span,
  type Canvas,
  type Field,
} from './canvas.ts';
import { makeRamp, mix, mixLight, readRamp, scale, type Rgb } from './colour.ts';
import type { PaintContext } from './brief.ts';
import { between, clamp01, smoothstep } from './random.ts';

/** Where the light comes from, in pixels. */
export interface Sun {
  readonly x: number;
  readonly y: number;
  readonly radius: number;
}

/** Paints the heavens from the top edge down to `horizon` (a row) and a little below, and says where the sun stands. */
export function paintSky(context: PaintContext, horizon: number): Sun {
  const sun = placeSun(context, horizon);
  paintAir(context, horizon, sun);
  if (isNight(context)) paintStars(context, horizon);
  if (context.brief.details.has('aurora')) paintAurora(context, horizon);
  paintDisc(context, sun);
  paintClouds(context, horizon, sun);
  return sun;
}

export function isNight({ brief }: PaintContext): boolean {
  return brief.daytime === 'night' || brief.details.has('stars') || brief.details.has('aurora');
}

function placeSun({ canvas, random, brief }: PaintContext, horizon: number): Sun {
  const side = random() < 0.5 ? between(random, 0.24, 0.4) : between(random, 0.6, 0.76);
  const high = { dawn: 0.22, day: 0.62, golden: 0.2, dusk: 0.12, night: 0.6, mist: 0.42, storm: 0.4 }[
    brief.daytime
  ];
  return {
    x: canvas.width * side,
    y: horizon - horizon * high * between(random, 0.85, 1.15),
    radius: canvas.unit * between(random, 0.034, 0.052) * (brief.details.has('moon') ? 1.35 : 1),
  };
}

function paintAir(context: PaintContext, horizon: number, sun: Sun): void {
  const { canvas, brief, noise } = context;
  const [zenith, upper, lower, rim] = brief.palette.sky;
  const ramp = makeRamp([
    [0, zenith],
    [0.38, upper],
    [0.76, lower],
    [1, rim],
  ]);
  const tone = new Float32Array(3);
  const wide = canvas.unit * 0.3;
  const tight = canvas.unit * 0.1;
  // Far from the sun its light has been through more air and has the colour of the low sky.
  const scattered = mix(brief.palette.sky[2], brief.palette.sun, 0.25);
  const strength = brief.daytime === 'night' ? 0.22 : brief.daytime === 'day' ? 0.3 : 0.42;
  const light = brief.palette.sun;
  const bottom = Math.min(canvas.height - 1, horizon + canvas.unit * 0.1);
  eachPixel(canvas, { left: 0, top: 0, right: canvas.width, bottom }, (x, y, at) => {
    const sway = noise.at((x / canvas.unit) * 0.9, (y / canvas.unit) * 1.6) * 0.03;
    readRamp(ramp, y / horizon + sway, tone);
    put(canvas.data, at, tone);
    const away = span(x - sun.x, (y - sun.y) * 1.15);
    addLight(canvas.data, at, scattered, strength * 0.7 * Math.exp(-away / wide));
    addLight(canvas.data, at, light, strength * 0.8 * Math.exp(-away / tight));
  });
}

function paintDisc(context: PaintContext, sun: Sun): void {
  const { canvas, brief, noise, random } = context;
  if (brief.daytime === 'storm') return;
  const moon = isNight(context) || brief.details.has('moon');
  const bright = moon ? 1.05 : 1.9;
  glow(
    canvas,
    { ...sun, radius: sun.radius * 5 },
    { colour: brief.palette.sun, strength: moon ? 0.22 : 0.4, falloff: 3 },
  );
  disc(canvas, sun, { colour: scale(brief.palette.sun, bright), softness: moon ? 1 : 1.6 });
  if (!moon) return;
  const offset = random() * 50;
  eachPixel(canvas, box(sun), (x, y, at) => {
    const away = span(x - sun.x, y - sun.y) / sun.radius;
    if (away > 1) return;
    const seas = smoothstep(
      -0.05,
      0.5,
      noise.fbm((x / sun.radius) * 0.9 + offset, (y / sun.radius) * 0.9, 4),
    );
    const limb = away ** 4 * 0.25;
    blend(canvas.data, at, brief.palette.sky[1], (seas * 0.32 + limb) * clamp01((1 - away) * sun.radius));
  });
}

function box(sun: Sun) {
  return {
    left: sun.x - sun.radius,
    right: sun.x + sun.radius,
    top: sun.y - sun.radius,
    bottom: sun.y + sun.radius,
  };
}

function paintStars(
  { canvas, random, noise }: Pick<PaintContext, 'canvas' | 'random' | 'noise'>,
  horizon: number,
): void {
  const count = Math.round(((canvas.width * horizon) / (canvas.unit * canvas.unit)) * 900);
  for (let star = 0; star < count; star++) {
    const x = random() * canvas.width;
    const y = random() * horizon * 0.98;
    const band =
      0.35 +
      0.65 *
        smoothstep(-0.2, 0.6, noise.fbm((x + y * 1.4) / canvas.unit, ((y - x * 0.5) / canvas.unit) * 2.2, 3));
    const rare = random() ** 14;
    const fade = clamp01((horizon - y) / (horizon * 0.35));
    const tint: Rgb = random() < 0.3 ? [1, 0.86, 0.7] : [0.82, 0.9, 1];
    const radius = canvas.unit * (0.0007 + 0.0016 * rare);
    disc(
      canvas,
      { x, y, radius },
      {
        colour: scale(tint, 0.5 + rare * 2),
        alpha: (0.2 + 0.75 * random() ** 2) * fade * band,
        softness: 1.4,
      },
    );
    if (rare > 0.75)
      glow(canvas, { x, y, radius: radius * 9 }, { colour: tint, strength: 0.28 * fade, falloff: 3 });
  }
}

function paintAurora({ canvas, random, noise, brief }: PaintContext, horizon: number): void {
  const greens: Rgb =
    brief.colours.length > 0 ? (brief.palette.accents[1] ?? brief.palette.accents[0]) : [0.1, 0.9, 0.5];
  const tops: Rgb = brief.colours.length > 0 ? brief.palette.accents[0] : [0.45, 0.15, 0.8];
  const shift = random() * 40;
  for (let curtain = 0; curtain < 3; curtain++) {
    const base = horizon * (0.5 + 0.17 * curtain);
    const tall = horizon * between(random, 0.32, 0.5);
    const lane = shift + curtain * 9;
    for (let x = 0; x < canvas.width; x++) {
      const u = x / canvas.unit;
      const foot = base + noise.fbm(u * 1.1, lane, 3) * horizon * 0.22;
      const rays = 0.35 + 0.65 * smoothstep(-0.3, 0.9, noise.at(u * 13 + noise.at(u * 2, lane) * 2, lane));
      const power = rays * smoothstep(-0.35, 0.45, noise.at(u * 0.9, lane + 3)) * 0.42;
      if (power < 0.004) continue;
      const top = Math.max(0, Math.floor(foot - tall));
      for (let y = top; y < Math.min(horizon, foot + canvas.unit * 0.02); y++) {
        const up = (foot - y) / tall;
        const shape = up < 0 ? Math.exp(up * 60) : Math.exp(-up * 3.2) * (1 - up);
        addLight(
          canvas.data,
          (y * canvas.width + x) * 3,
          mixLight(greens, tops, clamp01(up * 1.5)),
          power * shape,
        );
      }
    }
  }
}

function paintClouds(context: PaintContext, horizon: number, sun: Sun): void {
  const { canvas, brief, random } = context;
  const clear = isNight(context) && !brief.details.has('clouds');
  const amount = cloudAmount(context);
  if (clear || amount <= 0) return;
  const density = cloudField(context, horizon, random() * 60);
  const reach = canvas.unit * 0.5;
  const lit = brief.palette.cloudLit;
  const shade = mix(brief.palette.cloudShade, brief.palette.sky[1], 0.35);
  const toSun = canvas.unit * 0.022;
  eachPixel(canvas, { left: 0, top: 0, right: canvas.width, bottom: horizon }, (x, y, at) => {
    const here = density.read(x, y);
    const thick = smoothstep(0.62 - amount, 1.12 - amount, here);
    if (thick <= 0.003) return;
    const away = Math.max(1, span(sun.x - x, sun.y - y));
    const there = density.read(x + ((sun.x - x) / away) * toSun, y + ((sun.y - y) / away) * toSun);
    const facing = clamp01(0.5 + (here - there) * 3.2);
    const near = Math.exp(-away / reach);
    const haze = clamp01((horizon - y) / (horizon * 0.3));
    const light = clamp01(facing * (0.55 + 0.6 * near) + 0.12);
    blend(canvas.data, at, mixLight(shade, lit, light), thick * (0.35 + 0.55 * haze));
    addLight(canvas.data, at, lit, thick * (1 - thick) * near * 0.55);
  });
}

function cloudAmount({ brief, random }: PaintContext): number {
  const usual = { dawn: 0.34, day: 0.42, golden: 0.36, dusk: 0.36, night: 0.2, mist: 0, storm: 0.5 }[
    brief.daytime
  ];
  return brief.details.has('clouds') ? Math.max(0.5, usual + 0.12) : usual * between(random, 0.75, 1.1);
}

/** Clouds lie on a ceiling above us, so they get smaller and denser towards the horizon. */
function cloudField({ canvas, noise }: PaintContext, horizon: number, shift: number): Field {
  return makeField(canvas, 2, (x, y) => {
    if (y > horizon) return 0;
    const far = 1 / ((horizon - y) / canvas.unit + 0.14);
    const u = ((x - canvas.width / 2) / canvas.unit) * far * 0.55 + shift;
    const v = far * 1.25;
    const bend = noise.at(u * 0.8, v * 0.8) * 0.35;
    return 0.5 + 0.5 * noise.fbm(u + bend, v * 1.35 + bend, 5);
  });
}

export function fillBelow(canvas: Canvas, row: number, colour: Rgb): void {
  eachPixel(canvas, { left: 0, top: row, right: canvas.width, bottom: canvas.height }, (_x, _y, at) => {
    put(canvas.data, at, colour);
  });
}
