import { join } from 'node:path';
import type { BuildConfig, BunPlugin } from 'bun';
import { commitOf } from '../../src/std/release.ts';
import { buildWeb, type WebFile } from '../../web/build.ts';

export const ROOT = join(import.meta.dir, '../..');

/**
 * How the server is bundled, for the binary and the npm package alike: with the console's pages and the commit inside. The
 * bundler of the pages is replaced by its own output, so that neither needs sources.
 */
export async function serverBundle() {
  const pages = await buildWeb({ minify: true });
  const embedded: BunPlugin = {
    name: 'embedded console',
    setup(build) {
      build.onLoad({ filter: /web\/pages\.ts$/ }, () => ({ contents: pagesModule(pages), loader: 'js' }));
    },
  };
  return {
    // Threads are entry points of their own; their common root with the program is `src`.
    entrypoints: ['src/main/main.ts', 'src/house/paint-worker.ts', 'src/tokenizer/count-worker.ts'].map(
      (path) => join(ROOT, path),
    ),
    root: join(ROOT, 'src'),
    target: 'bun',
    format: 'esm',
    minify: { syntax: true, whitespace: true },
    plugins: [embedded],
    // Installed by who wants it, found at run time.
    external: ['node-llama-cpp'],
    define: { BUILD_COMMIT: JSON.stringify(commitOf(ROOT) ?? '') },
  } satisfies BuildConfig;
}

function pagesModule(pages: ReadonlyMap<string, WebFile>): string {
  const entries = [...pages].map(([path, { bytes, mime, immutable, gzip }]) => ({
    path,
    mime,
    immutable,
    bytes: Buffer.from(bytes).toString('base64'),
    gzip: gzip && Buffer.from(gzip).toString('base64'),
  }));
  return `const entries = ${JSON.stringify(entries)};
const unpacked = (text) => text && new Uint8Array(Buffer.from(text, 'base64'));
export async function loadPages() {
  return new Map(entries.map(({ path, bytes, gzip, ...file }) => [path, { ...file, bytes: unpacked(bytes), gzip: unpacked(gzip) }]));
}`;
}
