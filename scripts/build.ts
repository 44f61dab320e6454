/**
 * `npm run build [FILE]`: one binary, `dist/tollgate` unless another file is named, with the console's pages inside. The
 * bundler of the pages is replaced by its own output, so that the binary needs no sources.
 */
import { mkdirSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import type { BunPlugin } from 'bun';
import { buildWeb } from '../web/build.ts';

const ROOT = join(import.meta.dir, '..');
const OUTFILE = resolve(process.argv[2] ?? join(ROOT, 'dist/tollgate'));

mkdirSync(dirname(OUTFILE), { recursive: true });
const pages = await buildWeb({ minify: true });

const embedded: BunPlugin = {
  name: 'embedded console',
  setup(build) {
    build.onLoad({ filter: /web\/pages\.ts$/ }, () => ({ contents: pagesModule(), loader: 'js' }));
  },
};

const result = await Bun.build({
  // Workers are entry points of their own; their common root with the program is `src`.
  entrypoints: ['src/main/main.ts', 'src/house/paint-worker.ts', 'src/tokenizer/count-worker.ts'].map(
    (path) => join(ROOT, path),
  ),
  root: join(ROOT, 'src'),
  target: 'bun',
  minify: { syntax: true, whitespace: true },
  plugins: [embedded],
  // Installed by who wants it, found at run time.
  external: ['node-llama-cpp'],
  compile: { outfile: OUTFILE },
  // Compiled ahead: a start parses nothing, and takes half as long.
  bytecode: true,
  format: 'esm',
});
if (!result.success) throw new AggregateError(result.logs, 'the binary could not be built');
const { size } = Bun.file(OUTFILE);
console.log(`${relative(process.cwd(), OUTFILE)}  ${(size / 1_048_576).toFixed(0)} MB`);

function pagesModule(): string {
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
