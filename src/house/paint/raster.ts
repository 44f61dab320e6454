import { readRgbaPng, type Extent, type Raster } from './png.ts';

/** Why a picture or a mask cannot be used; `message` is for the client. */
export class UnusablePicture extends Error {
  readonly param: 'image' | 'mask';

  constructor(param: 'image' | 'mask', message: string) {
    super(message);
    this.name = 'UnusablePicture';
    this.param = param;
  }
}

/** Four bytes of memory for each while the file is decoded. */
const MAX_PICTURE_PIXELS = 25_000_000;

/** The picture scaled to cover the whole extent; what is too much on two sides is cut off. */
export async function coveringRaster(
  file: Uint8Array,
  extent: Extent,
  param: 'image' | 'mask',
): Promise<Raster> {
  const size = await pictureExtent(file, param);
  const scale = Math.max(extent.width / size.width, extent.height / size.height);
  const scaled = {
    width: Math.max(extent.width, Math.round(size.width * scale)),
    height: Math.max(extent.height, Math.round(size.height * scale)),
  };
  // A picture that is a thousand times longer than high shows nothing.
  if (scaled.width * scaled.height > MAX_PICTURE_PIXELS)
    throw new UnusablePicture(param, `${param} is too long and narrow for the size of the image.`);
  const whole = await decoded(file, param, isSame(size, scaled) ? undefined : scaled);
  return isSame(whole, extent) ? whole : middleOf(whole, extent);
}

export async function pictureExtent(file: Uint8Array, param: 'image' | 'mask'): Promise<Extent> {
  const { width, height } = await orUnusable(param, () => opened(file).metadata());
  return { width, height };
}

function decoded(file: Uint8Array, param: 'image' | 'mask', size: Extent | undefined): Promise<Raster> {
  return orUnusable(param, async () => {
    const image = size ? opened(file).resize(size.width, size.height) : opened(file);
    // A file that is read again at once is not worth compressing.
    return readRgbaPng(await image.png({ compressionLevel: 1 }).bytes());
  });
}

function opened(file: Uint8Array): Bun.Image {
  return new Bun.Image(file, { maxPixels: MAX_PICTURE_PIXELS });
}

async function orUnusable<T>(param: 'image' | 'mask', work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    const code = thrown instanceof Error && 'code' in thrown ? thrown.code : undefined;
    const message =
      code === 'ERR_IMAGE_TOO_MANY_PIXELS'
        ? `${param} must have at most ${MAX_PICTURE_PIXELS / 1_000_000} megapixels.`
        : `${param} must be a PNG, JPEG, WebP or GIF file that can be decoded.`;
    throw new UnusablePicture(param, message);
  }
}

export function isSame(one: Extent, other: Extent): boolean {
  return one.width === other.width && one.height === other.height;
}

function middleOf(from: Raster, { width, height }: Extent): Raster {
  const left = Math.floor((from.width - width) / 2);
  const top = Math.floor((from.height - height) / 2);
  const rgba = new Uint8Array(width * height * 4);
  for (let y = 0; y < height; y++) {
    const start = ((top + y) * from.width + left) * 4;
    rgba.set(from.rgba.subarray(start, start + width * 4), y * width * 4);
  }
  return { width, height, rgba };
}

/** Enlarges by repeating pixels. */
export function enlarged(pixels: Uint8Array, from: Extent, { width, height }: Extent): Uint8Array {
  const large = new Uint8Array(width * height * 3);
  for (let y = 0, to = 0; y < height; y++) {
    const row = Math.floor((y * from.height) / height) * from.width;
    for (let x = 0; x < width; x++) {
      const at = (row + Math.floor((x * from.width) / width)) * 3;
      for (let channel = 0; channel < 3; channel++) large[to++] = pixels[at + channel] ?? 0;
    }
  }
  return large;
}

/** Enlarges by interpolating between pixels. */
export function smoothed(pixels: Uint8Array, from: Extent, { width, height }: Extent): Uint8Array {
  const large = new Uint8Array(width * height * 3);
  for (let y = 0, to = 0; y < height; y++) {
    const v = Math.min(from.height - 1, Math.max(0, ((y + 0.5) * from.height) / height - 0.5));
    const top = Math.floor(v) * from.width;
    const bottom = Math.min(from.height - 1, Math.floor(v) + 1) * from.width;
    for (let x = 0; x < width; x++) {
      const u = Math.min(from.width - 1, Math.max(0, ((x + 0.5) * from.width) / width - 0.5));
      const left = Math.floor(u);
      const right = Math.min(from.width - 1, left + 1);
      for (let channel = 0; channel < 3; channel++) {
        const read = (pixel: number): number => pixels[pixel * 3 + channel] ?? 0;
        const above = read(top + left) + (read(top + right) - read(top + left)) * (u - left);
        const below = read(bottom + left) + (read(bottom + right) - read(bottom + left)) * (u - left);
        large[to++] = above + (below - above) * (v - Math.floor(v)) + 0.5;
      }
    }
  }
  return large;
}

export function withoutAlpha(rgba: Uint8Array): Uint8Array {
  const rgb = new Uint8Array((rgba.length / 4) * 3);
  for (let at = 0, to = 0; at < rgba.length; at += 4)
    for (let channel = 0; channel < 3; channel++) rgb[to++] = rgba[at + channel] ?? 0;
  return rgb;
}
