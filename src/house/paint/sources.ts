import type { PaintOrder } from './brief.ts';
import { clamp01 } from './random.ts';
import { coveringRaster, isSame, pictureExtent, UnusablePicture } from './raster.ts';
import type { Extent, Raster } from './png.ts';

/** The decoded pictures of an edit, in the size of the image. */
export interface Sources {
  /** What the painting shows. */
  readonly shown?: Raster | undefined;
  /** With a mask: what stays as it is where the mask is not transparent. */
  readonly kept?: { readonly picture: Raster; readonly mask: Raster } | undefined;
}

/** Throws an `UnusablePicture`. One file is decoded at a time. */
export async function readSources(order: PaintOrder): Promise<Sources> {
  const { pictures = [], mask } = order;
  const [first, ...others] = pictures;
  if (!first) return {};
  if (!mask) return { shown: await sideBySide([first, ...others], order) };
  const [size, maskSize] = [await pictureExtent(first, 'image'), await pictureExtent(mask, 'mask')];
  if (!isSame(size, maskSize))
    throw new UnusablePicture(
      'mask',
      `mask must have the size of the first image, ${size.width}x${size.height}, not ${maskSize.width}x${maskSize.height}.`,
    );
  const hole = await coveringRaster(mask, order, 'mask');
  if (!hasHole(hole))
    throw new UnusablePicture(
      'mask',
      'mask must be transparent where the image is to change; it is nowhere.',
    );
  const picture = await coveringRaster(first, order, 'image');
  const shown = others.length > 0 ? await sideBySide(others, order) : undefined;
  return { shown, kept: { picture, mask: hole } };
}

function hasHole({ rgba }: Raster): boolean {
  for (let at = 3; at < rgba.length; at += 4) if ((rgba[at] ?? 255) < 255) return true;
  return false;
}

/** How much of a picture's width fades into the one before it. */
const FADE = 0.12;

/** Each picture in an upright part of its own, fading into its neighbours. */
async function sideBySide(files: readonly Uint8Array[], extent: Extent): Promise<Raster> {
  const { width, height } = extent;
  const part = width / files.length;
  const rgba = new Uint8Array(width * height * 4);
  for (const [index, file] of files.entries()) {
    const fade = index === 0 ? 0 : Math.round(part * FADE);
    const left = Math.round(index * part) - fade;
    const right = Math.round((index + 1) * part);
    const picture = await coveringRaster(file, { width: right - left, height }, 'image');
    if (files.length === 1) return picture;
    lay(picture, { rgba, width, left, fade });
  }
  return { width, height, rgba };
}

function lay(
  picture: Raster,
  { rgba, width, left, fade }: { rgba: Uint8Array; width: number; left: number; fade: number },
): void {
  for (let y = 0; y < picture.height; y++) {
    for (let x = 0; x < picture.width; x++) {
      const share = fade === 0 ? 1 : clamp01((x + 0.5) / fade);
      const from = (y * picture.width + x) * 4;
      const to = (y * width + left + x) * 4;
      for (let channel = 0; channel < 4; channel++) {
        const below = rgba[to + channel] ?? 0;
        rgba[to + channel] = Math.round(below + ((picture.rgba[from + channel] ?? 0) - below) * share);
      }
    }
  }
}
