import { expect, test } from 'bun:test';
import { Glob } from 'bun';
import { join } from 'node:path';

const WEB = join(import.meta.dir, '../../web');
/** Where a request may be sent from, and why not through `send`. */
const FETCHES = {
  'lib/api.ts': 'it is send',
  'lib/connection.ts': 'it finds out whether the server answers',
  'pages/docs/useTry.ts': 'calls the public API with the reader’s token, and shows whatever comes',
  'pages/docs/requestCode.ts': 'writes code for the reader',
  'pages/images/Lightbox.tsx': 'reads a picture that is on the screen',
};

async function filesWith(pattern: RegExp): Promise<string[]> {
  const found: string[] = [];
  for await (const path of new Glob('**/*.{ts,tsx}').scan(WEB)) {
    if (path.endsWith('.test.ts')) continue;
    if (pattern.test(await Bun.file(join(WEB, path)).text())) found.push(path);
  }
  return found.sort();
}

test('every call of the console waits for the connection and the session, because one function sends it', async () => {
  expect(await filesWith(/(?<![.\w])fetch\(/)).toEqual(Object.keys(FETCHES).sort());
});

test('every part that is loaded later waits for the connection and survives an update', async () => {
  expect(await filesWith(/\blazy\(/)).toEqual(['lib/chunk.ts']);
});
