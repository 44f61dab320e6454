import { access, constants, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { randomPart } from '../std/ids.ts';
import { imagesUnavailable, type ImageObjects } from './image-objects.ts';

export const IMAGE_FOLDER = 'images';
/** No account has this name. */
const PARTIAL_FOLDER = 'partial';
/** A file that is still being written after this time belongs to a process that is gone. */
const PARTIAL_MS = 600_000;
const MOST_PARTIALS = 100;

/** Images as files in the data folder, for a server that has the folder to itself. */
export class ImageFiles implements ImageObjects {
  readonly place = 'files';
  readonly address: string;

  constructor(dataDir: string) {
    this.address = join(dataDir, IMAGE_FOLDER);
  }

  /** A file gets its name only when it is whole and on the disk: what a crash leaves behind has another name. */
  async put(key: string, bytes: Uint8Array): Promise<void> {
    const path = this.#pathOf(key);
    const partial = join(this.address, PARTIAL_FOLDER, randomPart(16));
    try {
      await this.#makeFolder(dirname(partial));
      await this.#makeFolder(dirname(path));
      await writeSynced(partial, bytes);
      await rename(partial, path);
      await sync(dirname(path));
    } catch (error) {
      await rm(partial, { force: true }).catch(() => undefined);
      throw imagesUnavailable(error);
    }
  }

  async read(key: string, start: number, end: number): Promise<Uint8Array<ArrayBuffer> | undefined> {
    const path = this.#pathOf(key);
    return await unlessMissing(async () => await Bun.file(path).slice(start, end).bytes());
  }

  async file(key: string): Promise<Blob | undefined> {
    const path = this.#pathOf(key);
    return await unlessMissing(async () => {
      await access(path, constants.R_OK);
      return Bun.file(path);
    });
  }

  async delete(key: string): Promise<void> {
    try {
      await rm(this.#pathOf(key), { force: true });
    } catch (error) {
      throw imagesUnavailable(error);
    }
  }

  /** Deletes a bounded number of files that killed processes left unfinished. */
  async sweepPartials(nowMs: number): Promise<number> {
    const folder = join(this.address, PARTIAL_FOLDER);
    const names = await readdir(folder).catch(() => []);
    let deleted = 0;
    for (const name of names.slice(0, MOST_PARTIALS)) {
      const path = join(folder, name);
      const found = await stat(path).catch(() => undefined);
      if (!found || nowMs - found.mtimeMs < PARTIAL_MS) continue;
      await rm(path, { force: true });
      deleted++;
    }
    return deleted;
  }

  /** The key is from our database; whoever can write there must still not reach other files. */
  #pathOf(key: string): string {
    if (!/^\w+\/[\w-]+$/.test(key)) throw new Error(`not the key of an image: ${key}`);
    return join(this.address, key);
  }

  async #makeFolder(path: string): Promise<void> {
    const made = await mkdir(path, { recursive: true, mode: 0o700 });
    if (made !== undefined) await sync(dirname(made));
  }
}

async function writeSynced(path: string, bytes: Uint8Array): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  try {
    await file.writeFile(bytes);
    await file.sync();
  } finally {
    await file.close();
  }
}

async function sync(folder: string): Promise<void> {
  const opened = await open(folder, 'r');
  try {
    await opened.sync();
  } finally {
    await opened.close();
  }
}

async function unlessMissing<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw imagesUnavailable(error);
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
