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

/** Eight Base62 digits of milliseconds last until the year 8888 and compare as text in byte order. */
function timePart(nowMs: number): string {
  let rest = nowMs;
  let text = '';
  for (let digit = 0; digit < 8; digit++) {
    text = BASE62.charAt(rest % 62) + text;
    rest = Math.floor(rest / 62);
  }
  return text;
}

const POOL_BYTES = 4096;
let pool = Buffer.alloc(0);
let used = 0;

/** Random bytes are drawn in blocks: one call to the generator serves a few hundred ids. */
export function randomPart(length: number): string {
  let text = '';
  while (text.length < length) {
    if (used >= pool.length) {
      pool = randomBytes(POOL_BYTES);
      used = 0;
    }
    const byte = pool[used++] ?? 255;
    // 248 = 4 × 62: larger values would favour the first characters.
    if (byte < 248) text += BASE62.charAt(byte % 62);
  }
  return text;
}
