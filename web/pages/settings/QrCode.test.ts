import { expect, test } from 'bun:test';
import decodeQr from 'qr/decode.js';
import { createElement } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { QrCode } from './QrCode.tsx';

const SECRET = 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP';

test.each([
  ['a short text', 'hi'],
  ['the address of an authenticator secret', addressOf('ada@example.com')],
  ['an address with the longest email', addressOf(`${'a'.repeat(242)}@example.com`)],
  ['letters beyond ASCII', addressOf('jürgen@müller.example')],
])('a reader of another make understands what is drawn: %s', (_, text) => {
  expect(decodeQr(imageOf(text), { timeLimit: 60_000 })).toBe(text);
});

test('the code has the four light modules around it that readers need', () => {
  const { width, height, data } = imageOf('hi');
  const dark = [...data.keys()].filter((at) => at % 4 === 0 && data[at] === 0).map((at) => at / 4);
  const columns = dark.map((at) => at % width);
  const rows = dark.map((at) => Math.floor(at / width));
  const quiet = 4 * SCALE;
  expect([Math.min(...columns), Math.min(...rows)]).toEqual([quiet, quiet]);
  expect([Math.max(...columns), Math.max(...rows)]).toEqual([width - quiet - 1, height - quiet - 1]);
});

test('a text that fits no code is refused', () => {
  expect(() => imageOf('x'.repeat(3_000))).toThrow('too long');
});

function addressOf(email: string): string {
  return `otpauth://totp/Tollgate:${email}?secret=${SECRET}&issuer=Tollgate&digits=6&period=30`;
}

const SCALE = 4;

/** The drawing as pixels, from its squares alone. */
function imageOf(text: string) {
  const markup = renderToStaticMarkup(createElement(QrCode, { text, label: 'code' }));
  const modules = Number(/viewBox="0 0 (\d+) /.exec(markup)?.[1]);
  const side = modules * SCALE;
  const data = new Uint8ClampedArray(side * side * 4).fill(255);
  for (const [, x, y] of markup.matchAll(/M(\d+) (\d+)h1v1h-1z/g)) {
    for (let row = 0; row < SCALE; row++) {
      const start = ((Number(y) * SCALE + row) * side + Number(x) * SCALE) * 4;
      for (let at = start; at < start + SCALE * 4; at += 4) data.fill(0, at, at + 3);
    }
  }
  return { width: side, height: side, data };
}
