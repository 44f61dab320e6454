import { addLight, type Canvas } from './canvas.ts';
import { mix, type Rgb } from './colour.ts';
import type { PaintContext } from './brief.ts';
import { between, clamp01, smoothstep } from './random.ts';
import type { Sun } from './sky.ts';

/** A still lake from `shore` down: the picture above, upside down, broken by ripples that grow towards us. */
export function paintLake(context: PaintContext, shore: number, sun: Sun, calm = 1): void {
  const { canvas, noise, brief, random } = context;
  const deep = mix(brief.palette.sky[0], brief.palette.near, 0.45);
  const shift = between(random, 0, 80);
  const row = Math.ceil(shore);
  for (let y = row; y < canvas.height; y++) {
    const down = (y - row) / Math.max(1, canvas.height - row);
    const far = 1 / (down + 0.06);
    const amp = canvas.unit * (0.002 + 0.016 * down) * calm;
    for (let x = 0; x < canvas.width; x++) {
      const u = ((x - canvas.width / 2) / canvas.unit) * far;
      const ripple = noise.at(u * 1.7 + shift, far * 7) + 0.5 * noise.at(u * 4.2, far * 19 + shift);
      const sourceY = row - 1 - (y - row) * 0.94 + ripple * amp * 1.4;
      const sourceX = x + ripple * amp * 0.35;
      copyTinted(canvas, { sourceX, sourceY, row }, (y * canvas.width + x) * 3, {
        deep,
        share: 0.2 + 0.38 * down,
      });
      sparkle(context, { x, y, at: (y * canvas.width + x) * 3 }, { ripple, down, sun });
    }
  }
}

function copyTinted(
  canvas: Canvas,
  source: { sourceX: number; sourceY: number; row: number },
  at: number,
  tint: { deep: Rgb; share: number },
): void {
  // The mirrored row may lie above the picture: it turns back instead of smearing the edge.
  const folded = source.sourceY < 0 ? -source.sourceY : source.sourceY;
  const y = Math.min(source.row - 1, Math.max(0, folded));
  const x = Math.min(canvas.width - 1, Math.max(0, source.sourceX));
  const top = Math.floor(y);
  const from = (top * canvas.width + Math.round(x)) * 3;
  const below = Math.min(source.row - 1, top + 1) * canvas.width * 3 + Math.round(x) * 3;
  const part = y - top;
  const brightest = Math.max(canvas.data[from] ?? 0, canvas.data[from + 1] ?? 0, canvas.data[from + 2] ?? 0);
  // The sun's mirror image is dimmed as a whole: cutting its channels one by one would change its colour.
  const dim = (brightest > 1 ? 1 / brightest : 1) * (1 - tint.share);
  for (let channel = 0; channel < 3; channel++) {
    const mirrored =
      (canvas.data[from + channel] ?? 0) * (1 - part) + (canvas.data[below + channel] ?? 0) * part;
    canvas.data[at + channel] = mirrored * dim + (tint.deep[channel] ?? 0) * tint.share;
  }
}

function sparkle(
  context: PaintContext,
  pixel: { x: number; y: number; at: number },
  light: { ripple: number; down: number; sun: Sun },
): void {
  const { canvas, brief } = context;
  const path = Math.abs(pixel.x - light.sun.x) / (canvas.unit * (0.05 + 0.22 * light.down));
  if (path > 2.4 || brief.daytime === 'storm') return;
  const strength = Math.exp(-path * path) * smoothstep(0.25, 1.1, light.ripple) * 0.42;
  addLight(canvas.data, pixel.at, brief.palette.sun, strength);
}

/** Open sea from the horizon down: long swell in perspective, sky in its slopes, and the sun's road on it. */
export function paintSea(context: PaintContext, horizon: number, sun: Sun): void {
  const { canvas, noise, brief, random } = context;
  const { palette } = brief;
  const deep = mix(mix(palette.sky[0], palette.near, 0.3), palette.sky[1], 0.25);
  const clear = mix(mix(palette.sky[1], palette.cloudShade, 0.3), palette.sky[2], 0.15);
  const shift = between(random, 0, 70);
  const row = Math.ceil(horizon);
  const road = brief.daytime === 'storm' ? 0.1 : brief.daytime === 'night' ? 0.75 : 1;
  for (let y = row; y < canvas.height; y++) {
    const down = (y - row) / Math.max(1, canvas.height - row);
    const far = 1 / (down * 0.9 + 0.012);
    const calm = smoothstep(0, 0.06, down);
    const width = canvas.unit * (0.035 + 0.3 * down ** 0.8);
    for (let x = 0; x < canvas.width; x++) {
      const at = (y * canvas.width + x) * 3;
      const u = ((x - canvas.width / 2) / canvas.unit) * far;
      const swell = waveAt(noise, u, far * 2.1 + shift, down);
      const next = waveAt(noise, u, far * 2.1 + shift - 0.1, down);
      const slope = (swell - next) * calm;
      const mirror = clamp01(0.62 - 0.56 * Math.sqrt(down) * 0.9 + slope * 1.4);
      const skyRow = Math.max(0, row - 2 - Math.abs((y - row) * 0.75 - slope * canvas.unit * 0.16));
      const from = (Math.floor(skyRow) * canvas.width + x) * 3;
      const body = clamp01(0.42 + slope * 2.4);
      for (let channel = 0; channel < 3; channel++) {
        const under = (deep[channel] ?? 0) * (1 - body) + (clear[channel] ?? 0) * body;
        canvas.data[at + channel] =
          under * (1 - mirror) + Math.min(1, canvas.data[from + channel] ?? 0) * mirror * 0.94;
      }
      const away = (x - sun.x) / width;
      const facet = smoothstep(0.02, 0.34, slope + 0.12 * noise.at(u * 9, far * 23));
      addLight(
        canvas.data,
        at,
        palette.sun,
        road * Math.exp(-away * away) * facet * (0.35 + 0.75 * (1 - down)),
      );
      const foam = smoothstep(0.72, 0.95, swell) * smoothstep(0.12, 0.5, down) * 0.35;
      if (foam > 0)
        addLight(canvas.data, at, palette.cloudLit, foam * clamp01(0.5 + noise.at(u * 14, far * 30)));
    }
  }
}

/** Broad swell with sharp tops and small chop on it; far away only the broad part is left, or it would flicker. */
function waveAt(noise: PaintContext['noise'], u: number, v: number, down: number): number {
  const broad = 1 - Math.abs(noise.at(u * 0.55, v));
  const middle = noise.at(u * 1.7 + 40, v * 2.3);
  const chop = down > 0.08 ? noise.at(u * 5.2, v * 6.1 + 7) * smoothstep(0.08, 0.4, down) : 0;
  return broad * broad * 0.62 + middle * 0.24 + chop * 0.14;
}
