import { addLight, blend, disc, eachPixel, glow, makeField, put, span, wholeCanvas } from './canvas.ts';
import { adjust, fromLch, makeRamp, mix, readRamp, scale, type Rgb } from './colour.ts';
import type { PaintContext } from './brief.ts';
import { between, pick, clamp01, smoothstep } from './random.ts';

/** A planet in front of glowing dust, stars behind both. */
export function paintSpace(context: PaintContext): void {
  const { random, canvas } = context;
  const colours = cosmicColours(context);
  paintNebula(context, colours);
  paintStarfield(context);
  const right = random() < 0.5;
  const radius = canvas.unit * between(random, 0.2, 0.29);
  const planet: Planet = {
    x: canvas.width * (right ? between(random, 0.6, 0.68) : between(random, 0.32, 0.4)),
    y: canvas.height * between(random, 0.54, 0.62),
    radius,
    tilt: between(random, -0.45, 0.45),
    light: unit([right ? -0.72 : 0.72, -0.5, 0.42]),
    colours,
  };
  const ringed = context.brief.details.has('rings') || random() < 0.45;
  if (ringed) paintRing(context, planet, 'behind');
  paintPlanet(context, planet);
  if (ringed) paintRing(context, planet, 'before');
  const moon = {
    ...planet,
    x: canvas.width - planet.x * between(random, 0.85, 1.05),
    y: canvas.height * between(random, 0.18, 0.32),
    radius: radius * between(random, 0.12, 0.2),
  };
  paintPlanet(context, moon);
}

interface CosmicColours {
  readonly void: Rgb;
  readonly dust: readonly [Rgb, Rgb, Rgb];
  readonly land: readonly [Rgb, Rgb, Rgb];
}

function cosmicColours({ brief, random }: PaintContext): CosmicColours {
  if (brief.colours.length > 0) {
    const { accents } = brief.palette;
    const read = (from: number): Rgb => accents.at(from) ?? accents[0];
    // The last colour word colours the planet, the first one the dust behind it.
    return {
      void: scale(adjust(read(0), { lightness: -0.36 }), 0.35),
      dust: [read(0), read(2), read(-1)],
      land: accents.length > 5 ? [read(-4), read(-3), read(-1)] : [read(0), read(1), read(3)],
    };
  }
  const hue = between(random, 190, 350);
  return {
    void: fromLch({ l: 0.1, c: 0.03, h: hue }),
    dust: [
      fromLch({ l: 0.5, c: 0.17, h: hue }),
      fromLch({ l: 0.62, c: 0.16, h: hue + 70 }),
      fromLch({ l: 0.75, c: 0.13, h: hue + 135 }),
    ],
    land: [
      fromLch({ l: 0.4, c: 0.1, h: hue + 160 }),
      fromLch({ l: 0.66, c: 0.11, h: hue + 190 }),
      fromLch({ l: 0.86, c: 0.07, h: hue + 215 }),
    ],
  };
}

function paintNebula({ canvas, noise, random }: PaintContext, colours: CosmicColours): void {
  const shift = random() * 100;
  const slant = between(random, -0.9, 0.9);
  const dust = (seed: number, reach: number) =>
    makeField(canvas, 2, (x, y) => {
      const u = x / canvas.unit - 0.5;
      const v = y / canvas.unit - 0.5;
      const warpU = noise.fbm(u * 1.5 + seed, v * 1.5, 3);
      const warpV = noise.fbm(u * 1.5, v * 1.5 + seed, 3);
      const band = Math.exp(-(((v - u * slant) / reach) ** 2));
      return (
        clamp01(0.5 + 0.75 * noise.fbm(u * 1.9 + warpU * 0.9 + seed, v * 1.9 + warpV * 0.9, 5)) *
        (0.3 + 0.7 * band)
      );
    });
  const fields = [dust(shift, 0.5), dust(shift + 31, 0.32)] as const;
  const lanes = makeField(canvas, 2, (x, y) =>
    noise.ridged((x / canvas.unit) * 1.7 + shift, (y / canvas.unit) * 1.7, 5),
  );
  eachPixel(canvas, wholeCanvas(canvas), (x, y, at) => {
    const broad = fields[0].read(x, y);
    const tight = fields[1].read(x, y);
    const dark = 1 - 0.65 * smoothstep(0.45, 0.85, lanes.read(x, y));
    put(canvas.data, at, colours.void);
    addLight(canvas.data, at, colours.dust[0], broad ** 2 * 1.05 * dark);
    addLight(canvas.data, at, colours.dust[1], tight ** 2.5 * 1.35 * dark);
    addLight(canvas.data, at, colours.dust[2], (broad * tight) ** 3 * 2.4);
  });
}

function paintStarfield({ canvas, random }: PaintContext): void {
  const count = Math.round(((canvas.width * canvas.height) / canvas.unit ** 2) * 1500);
  for (let star = 0; star < count; star++) {
    const rare = random() ** 18;
    const spot = {
      x: random() * canvas.width,
      y: random() * canvas.height,
      radius: canvas.unit * (0.0006 + 0.0019 * rare),
    };
    const colour = pick<Rgb>(random, [
      [1, 0.84, 0.66],
      [0.72, 0.83, 1],
      [1, 1, 1],
      [0.86, 0.92, 1],
    ]);
    disc(canvas, spot, {
      colour: scale(colour, 0.6 + rare),
      alpha: 0.15 + 0.8 * random() ** 3,
      softness: 1.3,
    });
    if (rare < 0.7) continue;
    glow(canvas, { ...spot, radius: spot.radius * 14 }, { colour, strength: 0.3, falloff: 3 });
    const arm = spot.radius * 16 * rare;
    eachPixel(
      canvas,
      { left: spot.x - arm, right: spot.x + arm, top: spot.y - arm, bottom: spot.y + arm },
      (x, y, at) => {
        const across = Math.min(Math.abs(x - spot.x), Math.abs(y - spot.y));
        const along = Math.max(Math.abs(x - spot.x), Math.abs(y - spot.y)) / arm;
        if (along < 1 && across < 1.5)
          addLight(canvas.data, at, colour, 0.5 * (1 - along) ** 3 * (1 - across / 1.5));
      },
    );
  }
}

type Vector = readonly [number, number, number];

interface Planet {
  readonly x: number;
  readonly y: number;
  readonly radius: number;
  readonly tilt: number;
  readonly light: Vector;
  readonly colours: CosmicColours;
}

function unit([x, y, z]: Vector): Vector {
  const length = Math.hypot(x, y, z);
  return [x / length, y / length, z / length];
}

function paintPlanet({ canvas, noise, random }: PaintContext, planet: Planet): void {
  const banded = random() < 0.6;
  const shift = random() * 80;
  const ramp = makeRamp([
    [0, planet.colours.land[0]],
    [0.5, planet.colours.land[1]],
    [1, planet.colours.land[2]],
  ]);
  const air = mix(planet.colours.dust[1], planet.colours.land[2], 0.4);
  const tone = new Float32Array(3);
  const cos = Math.cos(planet.tilt);
  const sin = Math.sin(planet.tilt);
  const reach = planet.radius * 1.16;
  eachPixel(
    canvas,
    { left: planet.x - reach, right: planet.x + reach, top: planet.y - reach, bottom: planet.y + reach },
    (x, y, at) => {
      const dx = (x - planet.x) / planet.radius;
      const dy = (y - planet.y) / planet.radius;
      const square = dx * dx + dy * dy;
      const distance = Math.sqrt(square);
      const edge = dx * planet.light[0] + dy * planet.light[1];
      if (square < 1.35) {
        const halo = Math.exp(-Math.max(0, distance - 1) * 34) * clamp01(0.42 + edge * 0.75);
        if (distance > 0.985) addLight(canvas.data, at, air, halo * 0.55);
      }
      const inside = clamp01((1 - distance) * planet.radius + 0.5);
      if (inside <= 0) return;
      const dz = Math.sqrt(Math.max(0, 1 - square));
      const day = dx * planet.light[0] + dy * planet.light[1] + dz * planet.light[2];
      const px = dx * cos + dy * sin;
      const py = -dx * sin + dy * cos;
      // The sphere is unrolled by its own longitude, so that bands and lands curve with it.
      const longitude = Math.atan2(px, dz) + shift;
      const swirl = noise.fbm(longitude * 1.4, py * 3.2, 4);
      const height = banded
        ? 0.5 +
          0.34 * Math.sin(py * 15 + swirl * 1.7) * (0.6 + 0.4 * noise.at(py * 5, shift)) +
          0.22 * noise.fbm(longitude * 2, py * 11 + swirl, 4)
        : smoothstep(-0.5, 0.6, noise.fbm(longitude * 1.6, py * 2.4 + shift, 6));
      readRamp(ramp, height, tone);
      const light = smoothstep(-0.12, 0.9, day) * 1.05 + 0.012;
      const limb = 1 - 0.35 * (1 - dz) ** 2;
      blend(
        canvas.data,
        at,
        [(tone[0] ?? 0) * light * limb, (tone[1] ?? 0) * light * limb, (tone[2] ?? 0) * light * limb],
        inside,
      );
      const rim = (1 - dz) ** 3.5 * smoothstep(-0.25, 0.5, day);
      addLight(canvas.data, at, air, rim * 0.85 * inside);
    },
  );
}

/** A flat disc seen at a slant; the half behind the planet is painted before it, the other after it. */
function paintRing({ canvas, noise }: PaintContext, planet: Planet, half: 'behind' | 'before'): void {
  const slant = 0.24;
  const [inner, outer] = [planet.radius * 1.32, planet.radius * 2.15];
  const cos = Math.cos(planet.tilt);
  const sin = Math.sin(planet.tilt);
  const colour = mix(planet.colours.land[2], planet.colours.land[1], 0.4);
  eachPixel(
    canvas,
    { left: planet.x - outer, right: planet.x + outer, top: planet.y - outer, bottom: planet.y + outer },
    (x, y, at) => {
      const dx = x - planet.x;
      const dy = y - planet.y;
      const across = dx * cos + dy * sin;
      const depth = (-dx * sin + dy * cos) / slant;
      if (half === 'behind' ? depth > 0 : depth <= 0) return;
      const away = span(across, depth);
      const inside = clamp01((away - inner) * 0.5) * clamp01((outer - away) * 0.5);
      if (inside <= 0) return;
      const place = (away - inner) / (outer - inner);
      const grooves =
        0.55 + 0.45 * noise.at(place * 9, 3.3) * (1 - place * 0.3) + 0.2 * noise.at(place * 38, 8.1);
      const gap = 1 - 0.9 * Math.exp(-(((place - 0.62) / 0.025) ** 2));
      // The planet's shadow falls on the ring behind it.
      const shadow =
        half === 'behind' && planet.light[0] * across < 0 && Math.abs(depth * slant) < planet.radius * 0.9
          ? smoothstep(planet.radius * 0.9, planet.radius * 1.9, Math.abs(across))
          : 1;
      blend(canvas.data, at, scale(colour, 0.25 + 0.75 * shadow), clamp01(inside * grooves * gap * 0.82));
    },
  );
}
