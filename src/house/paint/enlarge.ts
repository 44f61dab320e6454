import type { Extent } from './read-png.ts';

/** Each pixel as often as the larger picture needs it. */
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

/** Between two pixels lies what is between them. */
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
