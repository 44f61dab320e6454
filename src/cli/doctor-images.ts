import { randomPart } from '../std/ids.ts';
import type { ImageObjects } from '../store/image-objects.ts';

/** Writes, reads and deletes a small object where images are kept; says what failed. */
export async function checkImagePlace(
  place: ImageObjects,
): Promise<{ readonly ok: boolean; readonly line: string }> {
  const key = `doctor/${randomPart(16)}`;
  const bytes = new TextEncoder().encode('tollgate doctor');
  const where = place.place === 's3' ? place.address : `files in ${place.address}`;
  try {
    await place.put(key, bytes, 'text/plain');
    const found = await place.get(key);
    await place.delete(key);
    if (found && Buffer.from(found).equals(bytes))
      return { ok: true, line: `images: ${where}: written, read and deleted` };
    return { ok: false, line: `images: ${where}: what was read is not what was written` };
  } catch (error) {
    return { ok: false, line: `images: ${where}: ${reasonOf(error)}` };
  }
}

function reasonOf(error: unknown): string {
  const { cause } = error instanceof Error ? error : {};
  if (cause instanceof Error) return cause.message;
  return error instanceof Error ? error.message : String(error);
}
