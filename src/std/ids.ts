import { randomBytes } from 'node:crypto';

export type AccountId = string & { readonly __id: 'account' };
export type RequestId = string & { readonly __id: 'request' };
export type TokenHash = string & { readonly __id: 'token-hash' };

export const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** `req_` + 8 characters of time + 16 random: sorts by time, so the request log pages by primary key. */
export function newRequestId(nowMs: number): RequestId {
  return `req_${timePart(nowMs)}${randomPart(16)}` as RequestId;
}

export function newAccountId(nowMs: number): AccountId {
  return `acc_${timePart(nowMs)}${randomPart(8)}` as AccountId;
}

/** The smallest and exclusive largest request id of a time range, for paging by time over the primary key. */
export function requestIdAt(nowMs: number): RequestId {
  return `req_${timePart(nowMs)}` as RequestId;
}

let latest = { ms: -1, text: '' };

/** Eight Base62 digits of milliseconds last until the year 8888 and compare as text in byte order. */
function timePart(nowMs: number): string {
  if (nowMs === latest.ms) return latest.text;
  let rest = nowMs;
  let text = '';
  for (let digit = 0; digit < 8; digit++) {
    text = BASE62.charAt(rest % 62) + text;
    rest = Math.floor(rest / 62);
  }
  latest = { ms: nowMs, text };
  return text;
}

/** All pairs of characters, so that an id is put together from half as many pieces. */
const PAIRS = Array.from(BASE62, (first) => Array.from(BASE62, (second) => first + second)).flat();
/** The largest multiple of their number: values above would favour the first pairs. */
const FAIR = 65_536 - (65_536 % PAIRS.length);
const POOL_BYTES = 4096;
let pool = new Uint16Array(0);
let used = 0;

/** Random bytes are drawn in blocks: one call to the generator serves a few hundred ids. `length` is even. */
export function randomPart(length: number): string {
  let text = '';
  while (text.length < length) {
    if (used >= pool.length) {
      const bytes = randomBytes(POOL_BYTES);
      pool = new Uint16Array(bytes.buffer, bytes.byteOffset, POOL_BYTES / 2).slice();
      used = 0;
    }
    const value = pool[used++] ?? FAIR;
    if (value < FAIR) text += PAIRS[value % PAIRS.length];
  }
  return text;
}
