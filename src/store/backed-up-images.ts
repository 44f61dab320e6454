import type { Database } from 'bun:sqlite';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Puts the images that are files into the rows of a copy of the database, so that the copy is one file and needs no
 * other. An image that was deleted since the copy was made is not in it.
 */
export function takeInImageFiles(copy: Database, folder: string): void {
  const hasTable = copy
    .query(`SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'image_object'`)
    .get();
  if (hasTable === null) return;
  const next = copy.query<{ id: string; object: string }, [string]>(
    `SELECT image.id, image.object FROM image JOIN image_object ON image_object.id = image.object
      WHERE image_object.place = 'files' AND image.id > ? ORDER BY image.id LIMIT 1`,
  );
  const take = copy.query(`UPDATE image SET bytes = ?, object = NULL WHERE id = ?`);
  for (let row = next.get(''); row !== null; row = next.get(row.id)) {
    const bytes = fileOf(join(folder, row.object));
    if (bytes) take.run(bytes, row.id);
    else forget(copy, row.id);
  }
  copy.run(`DELETE FROM image_object WHERE place = 'files'`);
}

function fileOf(path: string): Uint8Array | undefined {
  try {
    return readFileSync(path);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

function forget(copy: Database, id: string): void {
  copy.run('DELETE FROM image_thumbnail WHERE image_id = ?', [id]);
  copy.run('DELETE FROM image WHERE id = ?', [id]);
}
