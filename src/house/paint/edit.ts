import type { Canvas } from './canvas.ts';
import { toLinear } from './colour.ts';
import { clamp01, type Noise } from './random.ts';
import type { Background } from './brief.ts';
import type { Extent, Raster } from './png.ts';
import type { Sources } from './sources.ts';

/** How much of a painted picture is the one that was given, and how far that takes on the painting's colours. */
const PICTURE_SHARE = 0.65;
const TINT = 0.4;

const LINEAR = Float32Array.from({ length: 256 }, (_, byte) => toLinear(byte));

/** Shows a given picture in the light of the painted scene, which is whole where the picture is transparent. */
export function showPicture(canvas: Canvas, picture: Raster): void {
  const { width, height, data } = canvas;
  const tint = meanTint(data);
  for (let y = 0, at = 0; y < height; y++) {
    const row = Math.floor(((y + 0.5) * picture.height) / height) * picture.width;
    for (let x = 0; x < width; x++, at += 3) {
      const from = (row + Math.floor(((x + 0.5) * picture.width) / width)) * 4;
      const share = (PICTURE_SHARE * (picture.rgba[from + 3] ?? 0)) / 255;
      const red = LINEAR[picture.rgba[from] ?? 0] ?? 0;
      const green = LINEAR[picture.rgba[from + 1] ?? 0] ?? 0;
      const blue = LINEAR[picture.rgba[from + 2] ?? 0] ?? 0;
      const light = lightOf(red, green, blue) * TINT;
      data[at] = mixed(data[at], red * (1 - TINT) + light * tint[0], share);
      data[at + 1] = mixed(data[at + 1], green * (1 - TINT) + light * tint[1], share);
      data[at + 2] = mixed(data[at + 2], blue * (1 - TINT) + light * tint[2], share);
    }
  }
}

function mixed(below: number | undefined, above: number, share: number): number {
  return (below ?? 0) * (1 - share) + above * share;
}

function lightOf(red: number, green: number, blue: number): number {
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** The mean colour of the scene at a light of one. */
function meanTint(data: Float32Array): readonly [number, number, number] {
  const sums: [number, number, number] = [0, 0, 0];
  for (let at = 0; at < data.length; at += 3) {
    sums[0] += data[at] ?? 0;
    sums[1] += data[at + 1] ?? 0;
    sums[2] += data[at + 2] ?? 0;
  }
  const light = Math.max(1e-6, lightOf(...sums));
  return [sums[0] / light, sums[1] / light, sums[2] / light];
}

/**
 * The painting with its transparency: what a mask keeps is not touched, not even in its last bit. On an opaque background
 * what is transparent lies on white.
 */
export function composed(
  painted: Uint8Array,
  extent: Extent,
  { sources, background, noise }: { sources: Sources; background: Background; noise: Noise },
): Uint8Array {
  const { shown, kept } = sources;
  const shape = background === 'transparent' ? alphaOf(extent, shown, noise) : undefined;
  const rgba = new Uint8Array(extent.width * extent.height * 4);
  for (let pixel = 0, at = 0; at < rgba.length; pixel++, at += 4) {
    for (let channel = 0; channel < 3; channel++) rgba[at + channel] = painted[pixel * 3 + channel] ?? 0;
    rgba[at + 3] = shape?.[pixel] ?? 255;
    const share = (kept?.mask.rgba[at + 3] ?? 0) / 255;
    if (kept && share > 0) {
      for (let channel = 0; channel < 4; channel++) {
        const old = kept.picture.rgba[at + channel] ?? 0;
        const fresh = rgba[at + channel] ?? 0;
        rgba[at + channel] = Math.round(fresh + (old - fresh) * share);
      }
    }
    if (background === 'opaque') layOnWhite(rgba, at);
  }
  return rgba;
}

function layOnWhite(rgba: Uint8Array, at: number): void {
  const alpha = (rgba[at + 3] ?? 255) / 255;
  if (alpha === 1) return;
  for (let channel = 0; channel < 3; channel++)
    rgba[at + channel] = Math.round(255 + ((rgba[at + channel] ?? 0) - 255) * alpha);
  rgba[at + 3] = 255;
}

/** The outline of the picture that is shown, if it has one; otherwise that of a patch painted with a broad brush. */
function alphaOf(extent: Extent, shown: Raster | undefined, noise: Noise): Uint8Array {
  const { width, height } = extent;
  const alpha = new Uint8Array(width * height);
  let isOpaque = true;
  for (let pixel = 0; pixel < alpha.length; pixel++) {
    alpha[pixel] = shown?.rgba[pixel * 4 + 3] ?? 255;
    if (alpha[pixel] !== 255) isOpaque = false;
  }
  if (isOpaque)
    for (let y = 0, pixel = 0; y < height; y++)
      for (let x = 0; x < width; x++, pixel++)
        alpha[pixel] = patchAlpha((x + 0.5) / width, (y + 0.5) / height, noise);
  return alpha;
}

function patchAlpha(u: number, v: number, noise: Noise): number {
  const across = Math.abs(u * 2 - 1) ** 4;
  const down = Math.abs(v * 2 - 1) ** 4;
  const ragged = noise.fbm(u * 5, v * 16, 3) * 0.09;
  const distance = Math.sqrt(Math.sqrt(across + down)) + ragged;
  return Math.round(255 * clamp01((0.9 - distance) * 26));
}

/** Whether any pixel can be seen through. */
export function hasTransparency(rgba: Uint8Array): boolean {
  for (let at = 3; at < rgba.length; at += 4) if (rgba[at] !== 255) return true;
  return false;
}
