import { createHash, randomBytes } from 'node:crypto';

export type AccountId = string & { readonly __id: 'account' };
export type RequestId = string & { readonly __id: 'request' };
export type TokenHash = string & { readonly __id: 'token-hash' };

export const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** `req_` + 8 characters of time + 16 random: sorts by time, so the request log pages by primary key. */
export function newRequestId(nowMs: number, random: Random = systemRandom): RequestId {
  // One flat text: every request looks for it in several maps.
  requestIdBytes.write(timePart(nowMs), 4, 'latin1');
  requestIdBytes.write(random.text(16), 12, 'latin1');
  return requestIdBytes.toString('latin1') as RequestId;
}

const requestIdBytes = Buffer.from('req_'.padEnd(28, '0'));

export function newAccountId(nowMs: number, random: Random = systemRandom): AccountId {
  return `acc_${timePart(nowMs)}${random.text(8)}` as AccountId;
}

/** Sorts after the ids of all other accounts: a team is locked after those that spend its balance. */
export function newTeamId(nowMs: number, random: Random = systemRandom): AccountId {
  return `team_${timePart(nowMs)}${random.text(8)}` as AccountId;
}

/** The same for the same key: what was begun under it by a process that died is found by whoever sends the key again. */
export function keyedAccountId(key: string): AccountId {
  return `acc_${keyedPart(key)}` as AccountId;
}

export function keyedTeamId(key: string): AccountId {
  return `team_${keyedPart(key)}` as AccountId;
}

/** As long as time and randomness are together. */
export function keyedPart(key: string): string {
  const hash = createHash('sha256').update(key).digest().subarray(0, 16);
  return Array.from(hash, (byte) => BASE62[byte % BASE62.length]).join('');
}

/** Of a token with which a program operates; it names the token in the books and in the audit log. */
export function newOperatorTokenId(nowMs: number, random: Random = systemRandom): string {
  return `opt_${timePart(nowMs)}${random.text(8)}`;
}

/** `msg_` + time + random: sorts by time, and a receiver may use it to tell a repetition. */
export function newOutboxId(nowMs: number, random: Random = systemRandom): string {
  return `msg_${timePart(nowMs)}${random.text(16)}`;
}

/** The smallest request id of a moment: the inclusive lower or exclusive upper bound of a time range on the primary key. */
export function requestIdAt(nowMs: number): RequestId {
  return `req_${timePart(nowMs)}` as RequestId;
}

/** The time in a request id, in milliseconds; the opposite of {@link requestIdAt}. */
export function requestTime(id: string): number {
  let ms = 0;
  for (let place = 4; place < 12; place++) ms = ms * 62 + BASE62.indexOf(id.charAt(place));
  return ms;
}

let latest = { ms: -1, text: '' };
const timeDigits = Buffer.alloc(8);

/** Eight Base62 digits of milliseconds last until the year 8888 and compare as text in byte order. */
function timePart(nowMs: number): string {
  if (nowMs === latest.ms) return latest.text;
  let rest = nowMs;
  for (let place = 7; place >= 0; place--) {
    timeDigits[place] = BASE62.charCodeAt(rest % 62);
    rest = Math.floor(rest / 62);
  }
  const text = timeDigits.toString('latin1');
  latest = { ms: nowMs, text };
  return text;
}

/** Randomness is passed in as a parameter, so that tests control it. */
export interface Random {
  /** Base62 characters. */
  readonly text: (length: number) => string;
  readonly bytes: (length: number) => Uint8Array;
}

export const systemRandom: Random = { text: (length) => randomPart(length), bytes: randomBytes };

const POOL_BYTES = 4096;
let pool = '';
let used = 0;

/** Random characters are generated in blocks: one call to the generator serves hundreds of ids. */
export function randomPart(length: number): string {
  if (used + length > pool.length) {
    for (pool = ''; pool.length < length;) pool += randomText();
    used = 0;
  }
  used += length;
  return pool.slice(used - length, used);
}

function randomText(): string {
  const drawn = randomBytes(POOL_BYTES);
  let length = 0;
  // 248 = 4 × 62: accepting larger values would favour the first characters.
  for (const byte of drawn) if (byte < 248) drawn[length++] = BASE62.charCodeAt(byte % 62);
  return drawn.toString('latin1', 0, length);
}
