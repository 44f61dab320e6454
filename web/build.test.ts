import { beforeAll, expect, test } from 'bun:test';
import { gzipSync } from 'bun';
import { buildWeb, type WebFile } from './build.ts';

const MAX_INITIAL_GZIP = 250_000;

let files: Map<string, WebFile>;
let html: string;

beforeAll(async () => {
  files = await buildWeb({ minify: true });
  html = text('/index.html');
});

test('the first page weighs less than 250 kB of JavaScript', () => {
  const scripts = [...html.matchAll(/(?:src|href)="(\/assets\/[^"]+\.js)"/g)].map((match) => match[1] ?? '');
  const language = [...files].filter(([, file]) => isLanguage(file)).map(([path]) => path);
  const bytes = [...scripts, ...language.slice(0, 1)].reduce(
    (sum, path) => sum + gzipSync(bytesOf(path)).length,
    0,
  );
  expect(scripts.length).toBeGreaterThan(1);
  expect(bytes).toBeLessThan(MAX_INITIAL_GZIP);
});

test('what every page needs is one file, beside the one that chooses the theme', () => {
  expect(html.match(/\.js"/g)).toHaveLength(2);
});

test('the page has no inline script or style, and everything it names is there', () => {
  expect(html).not.toMatch(/<style|<script(?![^>]*\ssrc=)|\sstyle=|\son\w+=/i);
  for (const [, path = ''] of html.matchAll(/(?:src|href)="([^"]+)"/g))
    expect([...files.keys()]).toContain(path);
});

test('nothing is loaded from elsewhere or from data', () => {
  const sheets = [...files]
    .filter(([, file]) => file.mime.startsWith('text/css'))
    .map(([path]) => text(path));
  const urls = sheets.flatMap((sheet) =>
    [...sheet.matchAll(/url\(["']?([^"')]+)/g)].map((match) => match[1] ?? ''),
  );
  expect(urls.length).toBeGreaterThan(0);
  for (const url of urls) expect([...files.keys()]).toContain(url);
});

test('a browser without script gets the dark colours from a sheet of their own', () => {
  const dark = [...files.keys()].find((path) => path.startsWith('/assets/dark-')) ?? '';
  const light = [...files.keys()].find((path) => path.startsWith('/assets/styles-')) ?? '';
  const colours = (sheet: string) => new Set([...sheet.matchAll(/--c-[\w-]+(?=:)/g)].map(([name]) => name));
  expect(text(dark)).toStartWith(':root {');
  expect(colours(text(dark))).toEqual(colours(text(light)));
});

test('no script makes code out of text', () => {
  for (const [path, file] of files) {
    if (file.mime.startsWith('text/javascript')) expect(text(path)).not.toMatch(/\bnew Function\(|\beval\(/);
  }
});

test('no script writes markup but React, which is never asked to', () => {
  for (const [path, file] of files) {
    if (!file.mime.startsWith('text/javascript') || text(path).includes('dangerouslySetInnerHTML')) continue;
    expect(text(path)).not.toMatch(/\.(innerHTML|outerHTML)\s*=|insertAdjacentHTML/);
  }
});

test('only the page itself has a name that stays the same', () => {
  expect([...files].filter(([, file]) => !file.immutable).map(([path]) => path)).toEqual(['/index.html']);
});

function isLanguage(file: WebFile): boolean {
  return (
    file.mime.startsWith('text/javascript') &&
    new TextDecoder().decode(file.bytes).includes('Jede Ihrer Anfragen')
  );
}

function bytesOf(path: string): Uint8Array<ArrayBuffer> {
  const file = files.get(path);
  if (!file) throw new Error(`no file ${path}`);
  return file.bytes;
}

function text(path: string): string {
  return new TextDecoder().decode(bytesOf(path));
}
