/**
 * The backend of the attack run, in a process of its own: it answers `m` as a backend should, and the other models as the
 * attacker needs it. Prints its port and ends with its standard input.
 */
import { randomBytes } from 'node:crypto';
import { completion, images, PIXEL_BASE64, usage } from '../../support/scripted-backend.ts';
import { TELLING } from './attacker-words.ts';

/** Statuses that a request can draw by its own content. */
const REFUSALS = [403, 404, 409, 415];
const RANDOM_BYTES = 10_000;
const PIECE_BYTES = 1_048_576;
const BOMB_BYTES = 9_000_000;

/** Nine megabytes that unpack to about nine hundred: gzip may be joined, and each piece is mostly zeros. */
function bomb(): Uint8Array<ArrayBuffer> {
  const piece = new Uint8Array(PIECE_BYTES);
  crypto.getRandomValues(piece.subarray(0, RANDOM_BYTES));
  const packed = Bun.gzipSync(piece);
  const all = new Uint8Array(Math.ceil(BOMB_BYTES / packed.length) * packed.length);
  for (let at = 0; at < all.length; at += packed.length) all.set(packed, at);
  return all;
}

const BOMB = bomb();
const BRACKETS = new Uint8Array(4_000_000).fill(0x5b);
/** An image of twelve megabytes. */
const LARGE_IMAGE = JSON.stringify({
  created: 1,
  data: [
    {
      b64_json: Buffer.concat([Buffer.from(PIXEL_BASE64, 'base64'), randomBytes(12_000_000)]).toString(
        'base64',
      ),
    },
  ],
});
/** How long an edit takes, so that several are under way. */
const EDIT_MS = 2_000;
let refused = 0;

function answer(model: string): Response {
  if (model === 'limited')
    return Response.json(
      { error: { message: 'slow down' } },
      { status: 429, headers: { 'retry-after': '120' } },
    );
  if (model === 'refused')
    return Response.json({ error: { message: 'no' } }, { status: REFUSALS[refused++ % REFUSALS.length]! });
  if (model === 'bomb')
    return new Response(BOMB, {
      headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
    });
  if (model === 'brackets')
    return new Response(BRACKETS, { headers: { 'content-type': 'application/json' } });
  if (model === 'telling') return Response.json({ error: { message: TELLING } }, { status: 400 });
  if (model === 'large')
    return new Response(LARGE_IMAGE, { headers: { 'content-type': 'application/json' } });
  return model === 'p' ? images(1) : completion('ok', usage(1, 1));
}

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  maxRequestBodySize: 100_000_000,
  async fetch(request) {
    if (!request.url.endsWith('/images/edits'))
      return answer(((await request.json()) as { model: string }).model);
    await request.arrayBuffer();
    await Bun.sleep(EDIT_MS);
    return images(1);
  },
});
console.log(server.port);
for await (const _ of Bun.stdin.stream());
process.exit(0);
