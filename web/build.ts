import { mkdir, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { BunPlugin } from 'bun';
import tailwind from 'bun-plugin-tailwind';
import { guidesPlugin } from './guides-plugin.ts';

export interface WebFile {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly mime: string;
  /** The name contains a hash of the content, so it may be cached forever. */
  readonly immutable: boolean;
  /** The same, compressed once at build time; absent if compressing saves nothing (fonts). */
  readonly gzip?: Uint8Array<ArrayBuffer>;
}

export interface BuildWebOptions {
  readonly minify: boolean;
  /** Also written here, for inspection; the map is what is served. */
  readonly outdir?: string | undefined;
}

/**
 * Bundles the console. Keys of the map are URL paths (`/index.html`, `/assets/…`); every other path of the console is
 * answered with `/index.html`. The page has no inline script or style, so the strict content policy holds.
 */
export async function buildWeb(options: BuildWebOptions): Promise<Map<string, WebFile>> {
  const application = await bundle(['main.tsx'], options.minify);
  // The theme is chosen before the first paint, by a classic blocking script of its own: modules run too late.
  const theme = await bundle(['theme-boot.ts'], options.minify, 'iife');
  const icon = await asset(join(ROOT, 'icon.svg'));

  const fonts = await Promise.all(FONTS.map(async (font) => ({ ...font, asset: await asset(font.file) })));
  const style = await stylesheet(application, fonts);
  const dark = await darkColours();

  const files = new Map<string, WebFile>();
  for (const output of [...application, ...theme]) {
    if (!output.path.endsWith('.js')) continue;
    files.set(urlOf(output), fileOf(await bytesOf(output), 'js', true));
  }
  for (const { url, file } of [icon, style, dark, ...fonts.map((font) => font.asset)]) files.set(url, file);
  const preloaded = fonts.filter((font) => font.preload).map((font) => font.asset.url);
  const html = await page({ application, theme, icon: icon.url, style: style.url, fonts: preloaded });
  files.set('/index.html', fileOf(new TextEncoder().encode(html), 'html', false));
  if (options.outdir) await write(files, options.outdir);
  return files;
}

const ROOT = import.meta.dir;
const MODULES = join(ROOT, '../node_modules/@fontsource-variable');

/**
 * The bundler would inline fonts into the stylesheet, which the content policy forbids and which defeats caching; so
 * `styles/fonts.css` names them `/fonts/…`, and these names are replaced by hashed ones.
 */
const FONTS = [
  {
    name: '/fonts/inter-latin.woff2',
    file: join(MODULES, 'inter/files/inter-latin-wght-normal.woff2'),
    preload: true,
  },
  {
    name: '/fonts/inter-latin-ext.woff2',
    file: join(MODULES, 'inter/files/inter-latin-ext-wght-normal.woff2'),
    preload: false,
  },
  {
    name: '/fonts/inter-cyrillic.woff2',
    file: join(MODULES, 'inter/files/inter-cyrillic-wght-normal.woff2'),
    preload: false,
  },
  {
    name: '/fonts/mono-latin.woff2',
    file: join(MODULES, 'jetbrains-mono/files/jetbrains-mono-latin-wght-normal.woff2'),
    preload: false,
  },
];

/**
 * In browsers, the Markdown parser decodes `&amp;` through innerHTML, which the content policy forbids: one entity in
 * a model's answer would break the page. Its other version uses a table.
 */
const withoutMarkup: BunPlugin = {
  name: 'without-markup',
  setup(build) {
    build.onResolve({ filter: /^decode-named-character-reference$/ }, ({ path }) => ({
      path: join(ROOT, '../node_modules', path, 'index.js'),
    }));
  },
};

type Output = Bun.BuildArtifact;

interface Asset {
  readonly url: string;
  readonly file: WebFile;
}

async function bundle(
  entries: readonly string[],
  minify: boolean,
  format: 'esm' | 'iife' = 'esm',
): Promise<Output[]> {
  const result = await Bun.build({
    entrypoints: entries.map((entry) => join(ROOT, entry)),
    target: 'browser',
    format,
    splitting: format === 'esm',
    // Every chunk is a request: small ones travel with another that is loaded whenever they are.
    ...(format === 'esm' && { minChunkSize: 4_096 }),
    minify,
    sourcemap: 'none',
    plugins: format === 'esm' ? [tailwind, guidesPlugin(join(ROOT, '../docs')), withoutMarkup] : [],
    external: ['/fonts/*'],
    publicPath: '/assets/',
    naming: { entry: '[name]-[hash].[ext]', chunk: 'chunk-[hash].[ext]', asset: '[name]-[hash].[ext]' },
    loader: { '.md': 'text' },
    define: { 'process.env.NODE_ENV': JSON.stringify(minify ? 'production' : 'development') },
  });
  return result.outputs;
}

async function stylesheet(
  application: readonly Output[],
  fonts: readonly { name: string; asset: Asset }[],
): Promise<Asset> {
  const output = application.find((candidate) => candidate.path.endsWith('.css'));
  if (!output) throw new Error('the bundler gave no stylesheet');
  let text = await output.text();
  for (const { name, asset: font } of fonts) text = text.replaceAll(name, font.url);
  return hashed('styles.css', new TextEncoder().encode(text));
}

/** For pages without script, where nothing sets the theme: here the dark colours apply to the whole page. */
async function darkColours(): Promise<Asset> {
  const tokens = await Bun.file(join(ROOT, 'styles/tokens.css')).text();
  const [, colours] = /^\[data-theme='dark'\] (\{[^}]*\})/m.exec(tokens) ?? [];
  if (colours === undefined) throw new Error('there are no dark colours');
  return hashed('dark.css', new TextEncoder().encode(`:root ${colours}\n`));
}

interface PageParts {
  readonly application: readonly Output[];
  readonly theme: readonly Output[];
  readonly icon: string;
  readonly style: string;
  readonly fonts: readonly string[];
}

async function page({ application, theme, icon, style, fonts }: PageParts): Promise<string> {
  const entry = application.find((output) => output.kind === 'entry-point' && output.path.endsWith('.js'));
  const boot = theme[0];
  if (!entry || !boot) throw new Error('the bundler gave no entry point');
  const head = [
    `<link rel="icon" type="image/svg+xml" href="${icon}">`,
    `<script src="${urlOf(boot)}"></script>`,
    `<link rel="stylesheet" href="${style}">`,
    ...fonts.map((font) => `<link rel="preload" as="font" type="font/woff2" crossorigin href="${font}">`),
    ...(await staticImports(entry, application)).map((url) => `<link rel="modulepreload" href="${url}">`),
    `<script type="module" src="${urlOf(entry)}"></script>`,
  ];
  const template = await Bun.file(join(ROOT, 'index.html')).text();
  return template.replace('<!-- head -->', () => head.join('\n    '));
}

/** Chunks the entry needs at once: named in the page so that they load in parallel, not one after the other. */
async function staticImports(entry: Output, all: readonly Output[]): Promise<string[]> {
  const byUrl = new Map(all.map((output) => [urlOf(output), output]));
  const found = new Set<string>();
  const visit = async (output: Output): Promise<void> => {
    const imports = new Bun.Transpiler({ loader: 'js' }).scanImports(await output.text());
    for (const { kind, path } of imports) {
      const url = path.startsWith('/') ? path : `/assets/${path.replace(/^\.\//, '')}`;
      const target = byUrl.get(url);
      if (kind !== 'import-statement' || !target || found.has(url)) continue;
      found.add(url);
      await visit(target);
    }
  };
  await visit(entry);
  return [...found];
}

async function asset(path: string): Promise<Asset> {
  return hashed(basename(path), new Uint8Array(await Bun.file(path).arrayBuffer()));
}

function hashed(name: string, bytes: Uint8Array<ArrayBuffer>): Asset {
  const extension = name.slice(name.lastIndexOf('.') + 1);
  const url = `/assets/${name.slice(0, -extension.length - 1)}-${Bun.hash(bytes).toString(36)}.${extension}`;
  return { url, file: fileOf(bytes, extension, true) };
}

function fileOf(bytes: Uint8Array<ArrayBuffer>, extension: string, immutable: boolean): WebFile {
  const mime = MIMES[extension];
  if (!mime) throw new Error(`no MIME type for .${extension}`);
  return { bytes, mime, immutable, ...(extension === 'woff2' ? {} : { gzip: smallest(bytes) }) };
}

/** Compressed once, sent thousands of times. */
function smallest(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  return Bun.gzipSync(bytes, { library: 'libdeflate', level: 12 });
}

async function bytesOf(output: Output): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await output.arrayBuffer());
}

function urlOf(output: Output): string {
  return `/assets/${output.path.replace(/^\.?\//, '')}`;
}

const MIMES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  woff2: 'font/woff2',
  svg: 'image/svg+xml',
};

async function write(files: ReadonlyMap<string, WebFile>, outdir: string): Promise<void> {
  for (const [path, file] of files) {
    const target = join(outdir, path);
    await mkdir(dirname(target), { recursive: true });
    await writeFile(target, file.bytes);
  }
}
