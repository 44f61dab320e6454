/** A picture that an edit starts from. */
export interface Reference {
  readonly key: string;
  /** A `data:` URL, or the path of an image of the gallery. */
  readonly src: string;
  readonly name: string;
  readonly width: number;
  readonly height: number;
  readonly bytes: number;
}

export const REFERENCE_TYPES = ['image/png', 'image/jpeg', 'image/webp'];
/** A request may have 20 MB, and Base64 makes a picture a third larger than its file. */
export const MAX_REFERENCE_BYTES = 14 * 1024 * 1024;

export type ReferenceProblem = 'type' | 'tooLarge' | 'unreadable' | 'maskType' | 'maskSize';

let nextKey = 1;

/** Reads a file that the user chose; a string says why it cannot be used. */
export async function readReference(file: File): Promise<Reference | ReferenceProblem> {
  if (!REFERENCE_TYPES.includes(file.type)) return 'type';
  if (file.size > MAX_REFERENCE_BYTES) return 'tooLarge';
  return await referenceTo(await dataUrlOf(file), file.name, file.size);
}

/** A picture of the gallery needs no upload: the server knows it by its path. */
export async function galleryReference(src: string, name: string): Promise<Reference | ReferenceProblem> {
  return await referenceTo(src, name, src.length);
}

/** A mask covers its picture pixel by pixel, and only PNG can leave places transparent without loss. */
export async function readMask(file: File, over: Reference): Promise<ReadMask> {
  if (file.type !== 'image/png') return { problem: 'maskType' };
  const read = await readReference(file);
  if (typeof read === 'string') return { problem: read };
  const isAsLarge = read.width === over.width && read.height === over.height;
  return isAsLarge ? { mask: read.src } : { problem: 'maskSize' };
}

type ReadMask = { readonly mask: string; readonly problem?: never } | { readonly problem: ReferenceProblem };

export function totalBytes(references: readonly Reference[], mask: string | undefined): number {
  return references.reduce((sum, { bytes }) => sum + bytes, 0) + ((mask?.length ?? 0) * 3) / 4;
}

async function referenceTo(src: string, name: string, bytes: number): Promise<Reference | ReferenceProblem> {
  try {
    const { naturalWidth: width, naturalHeight: height } = await loadImage(src);
    return { key: `reference-${nextKey++}`, src, name, width, height, bytes };
  } catch {
    return 'unreadable';
  }
}

async function loadImage(src: string): Promise<HTMLImageElement> {
  const image = new Image();
  image.src = src;
  await image.decode();
  return image;
}

async function dataUrlOf(file: Blob): Promise<string> {
  return await new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener('load', () => resolve(typeof reader.result === 'string' ? reader.result : ''));
    reader.addEventListener('error', () => reject(reader.error ?? new Error('the file cannot be read')));
    reader.readAsDataURL(file);
  });
}
