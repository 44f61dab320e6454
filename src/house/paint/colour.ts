/** Linear-light red, green and blue; light adds up in this space, so glows and fog are computed in it. */
export type Rgb = readonly [red: number, green: number, blue: number];

/** Lightness, chroma, hue in degrees of OKLCH: the space palettes are thought in, because equal steps look equal. */
interface Lch {
  readonly l: number;
  readonly c: number;
  readonly h: number;
}

export function hex(code: string): Rgb {
  const value = Number.parseInt(code.slice(1), 16);
  return [toLinear((value >> 16) & 255), toLinear((value >> 8) & 255), toLinear(value & 255)];
}

export function toLch(rgb: Rgb): Lch {
  const [l, a, b] = toLab(rgb);
  return { l, c: Math.hypot(a, b), h: ((Math.atan2(b, a) * 180) / Math.PI + 360) % 360 };
}

/** A chroma the screen cannot show is lowered until it can, which keeps hue and lightness. */
export function fromLch({ l, c, h }: Lch): Rgb {
  const angle = (h * Math.PI) / 180;
  let chroma = c;
  for (let attempt = 0; attempt < 12; attempt++) {
    const rgb = fromLab(l, chroma * Math.cos(angle), chroma * Math.sin(angle));
    if (rgb.every((channel) => channel >= -0.001 && channel <= 1.001)) return clip(rgb);
    chroma *= 0.88;
  }
  return clip(fromLab(l, 0, 0));
}

/** Mixes as the eye sees it: no grey mud between blue and orange, no dark band between red and green. */
export function mix(from: Rgb, to: Rgb, t: number): Rgb {
  const [l1, a1, b1] = toLab(from);
  const [l2, a2, b2] = toLab(to);
  return clip(fromLab(l1 + (l2 - l1) * t, a1 + (a2 - a1) * t, b1 + (b2 - b1) * t));
}

/** A plain mix in linear light: per pixel the careful one would cost too much, and neighbours are near in hue. */
export function mixLight(from: Rgb, to: Rgb, t: number): Rgb {
  return [from[0] + (to[0] - from[0]) * t, from[1] + (to[1] - from[1]) * t, from[2] + (to[2] - from[2]) * t];
}

export function scale(rgb: Rgb, factor: number): Rgb {
  return [rgb[0] * factor, rgb[1] * factor, rgb[2] * factor];
}

export function adjust(rgb: Rgb, change: { lightness?: number; chroma?: number; hue?: number }): Rgb {
  const { l, c, h } = toLch(rgb);
  return fromLch({
    l: Math.min(1, Math.max(0, l + (change.lightness ?? 0))),
    c: c * (change.chroma ?? 1),
    h: h + (change.hue ?? 0),
  });
}

/** A smooth run of colours, read by position 0 … 1. Finely sampled and interpolated, so it shows no bands. */
export interface Ramp {
  readonly samples: Float32Array;
  readonly last: number;
}

export function makeRamp(stops: readonly (readonly [at: number, colour: Rgb])[], steps = 1024): Ramp {
  const samples = new Float32Array(steps * 3);
  for (let step = 0; step < steps; step++) {
    samples.set(colourAt(stops, step / (steps - 1)), step * 3);
  }
  return { samples, last: steps - 1 };
}

/** Writes the colour at `position` into `into`: called per pixel, so it allocates nothing. */
export function readRamp(ramp: Ramp, position: number, into: Float32Array): void {
  const scaled = (position < 0 ? 0 : position > 1 ? 1 : position) * ramp.last;
  const step = Math.min(Math.floor(scaled), ramp.last - 1);
  const part = scaled - step;
  const base = step * 3;
  for (let channel = 0; channel < 3; channel++) {
    const from = ramp.samples[base + channel] ?? 0;
    const to = ramp.samples[base + channel + 3] ?? 0;
    into[channel] = from + (to - from) * part;
  }
}

function colourAt(stops: readonly (readonly [at: number, colour: Rgb])[], position: number): Rgb {
  const first = stops[0];
  const last = stops.at(-1);
  if (!first || !last) throw new RangeError('a ramp needs at least one stop');
  if (position <= first[0]) return first[1];
  for (let index = 1; index < stops.length; index++) {
    const left = stops[index - 1];
    const right = stops[index];
    if (left && right && position <= right[0]) {
      const t = (position - left[0]) / Math.max(1e-6, right[0] - left[0]);
      // Easing takes the crease out of the place where two stretches meet.
      return mix(left[1], right[1], t * 0.5 + t * t * (3 - 2 * t) * 0.5);
    }
  }
  return last[1];
}

function toLab([r, g, b]: Rgb): readonly [number, number, number] {
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ];
}

function fromLab(lightness: number, a: number, b: number): Rgb {
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
}

function clip([r, g, b]: Rgb): Rgb {
  return [Math.max(0, r), Math.max(0, g), Math.max(0, b)];
}

export function toLinear(byte: number): number {
  const value = byte / 255;
  return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
}
