import { deserialize, serialize } from 'bun:jsc';
import { existsSync } from 'node:fs';
import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { WebFile } from './build.ts';

const ROOT = join(import.meta.dir, '..');
const KEPT = join(ROOT, 'node_modules/.cache/tollgate');
const KEPT_MS = 7 * 86_400_000;
const BUNDLE_MS = 120_000;

let loaded: Promise<ReadonlyMap<string, WebFile>> | undefined;

/**
 * The console's pages for a server that runs from its sources. They are bundled by a separate process, because the
 * bundler's memory would otherwise stay with the server, and cached under a hash of all their inputs, so that the next
 * start finds them ready. Servers of one process, as tests start them by the hundred, share what the first has loaded.
 */
export function loadPages(): Promise<ReadonlyMap<string, WebFile>> {
  loaded ??= readPages().catch((error: unknown) => {
    loaded = undefined;
    throw error;
  });
  return loaded;
}

async function readPages(): Promise<ReadonlyMap<string, WebFile>> {
  const file = join(KEPT, `${await fingerprint()}.pages`);
  if (!existsSync(file)) await bundleInto(file);
  // Safe to deserialise: only this program writes to that folder.
  return deserialize(await Bun.file(file).arrayBuffer()) as Map<string, WebFile>;
}

/** The content of everything that can change a page: sources, guides, the versions of packages and of the bundler. */
async function fingerprint(): Promise<string> {
  const hasher = new Bun.CryptoHasher('sha256');
  hasher.update(Bun.version);
  const files = await Promise.all(
    ['web', 'docs', 'src/console/public'].map((folder) => filesIn(join(ROOT, folder))),
  );
  for (const path of [...files.flat().sort(), join(ROOT, 'package-lock.json')]) {
    hasher.update(`\n${relative(ROOT, path)}\n`);
    hasher.update(await Bun.file(path).arrayBuffer());
  }
  return hasher.digest('hex').slice(0, 32);
}

async function filesIn(folder: string): Promise<string[]> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true });
  return found.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

async function bundleInto(file: string): Promise<void> {
  await mkdir(KEPT, { recursive: true });
  await forgetOld();
  const child = Bun.spawn([process.execPath, import.meta.path, file], {
    stdio: ['ignore', 'inherit', 'inherit'],
    timeout: BUNDLE_MS,
  });
  if ((await child.exited) !== 0) throw new Error('the bundler failed');
}

async function forgetOld(): Promise<void> {
  for (const name of await readdir(KEPT)) {
    const path = join(KEPT, name);
    const { mtimeMs } = await stat(path);
    if (Date.now() - mtimeMs > KEPT_MS) await rm(path, { force: true });
  }
}

if (import.meta.main) {
  // Imported only here: the server does not need the bundler.
  const { buildWeb } = await import('./build.ts');
  const file = process.argv[2] ?? '';
  const whole = `${file}.${process.pid}`;
  await Bun.write(whole, serialize(await buildWeb({ minify: true })));
  // Other processes may be looking for this file, so it appears only when it is complete.
  await rename(whole, file);
}
