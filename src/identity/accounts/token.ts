import { randomBytes } from 'node:crypto';
import { BASE62, type TokenHash } from '../../std/ids.ts';

/**
 * An API token: `sk-`, 43 Base62 characters of 256 random bits, 6 characters of checksum. The checksum lets us, and
 * secret scanners, tell a typo from a token without asking a database; the store knows only the keyed hash, so that a
 * stolen copy of it authenticates nobody. Published pattern: `sk-[0-9A-Za-z]{49}`.
 */
export interface NewToken {
  readonly token: string;
  readonly hash: TokenHash;
  /** What the console shows afterwards: `sk-…a1b2`. */
  readonly hint: string;
}

const PREFIX = 'sk-';
const BODY = 43;
const CHECKSUM = 6;
const PATTERN = /^sk-[0-9A-Za-z]{49}$/;

export function newToken(pepper: Uint8Array, random: (bytes: number) => Uint8Array = randomBytes): NewToken {
  const body = base62(BigInt(`0x${Buffer.from(random(32)).toString('hex')}`), BODY);
  const token = `${PREFIX}${body}${checksum(body)}`;
  return { token, hash: hash(token, pepper), hint: `${PREFIX}…${token.slice(-4)}` };
}

/**
 * Remembers the hashes of the tokens that were shown lately: hashing costs more than finding the account, and the same
 * few tokens are shown again and again. A hash depends on nothing but the token, so it cannot become wrong; whether it
 * is still somebody's is for the store to say.
 */
export function tokenHasher(pepper: Uint8Array): (shown: string) => TokenHash | undefined {
  const known = new Map<string, TokenHash>();
  return (shown) => {
    const before = known.get(shown);
    if (before !== undefined) return before;
    const found = hashToken(shown, pepper);
    if (found === undefined) return undefined;
    if (known.size >= MAX_KNOWN) known.clear();
    known.set(shown, found);
    return found;
  };
}

const MAX_KNOWN = 10_000;

/** The hash of something shown as a token, or `undefined` when it cannot be one: no store is asked for a typo. */
export function hashToken(shown: string, pepper: Uint8Array): TokenHash | undefined {
  if (!PATTERN.test(shown)) return undefined;
  const body = shown.slice(PREFIX.length, PREFIX.length + BODY);
  return shown.endsWith(checksum(body)) ? hash(shown, pepper) : undefined;
}

/** Fast on purpose: 256 random bits cannot be guessed, and a slow hash would only slow us down. */
function hash(token: string, pepper: Uint8Array): TokenHash {
  return new Bun.CryptoHasher('sha256', pepper).update(token).digest('hex') as TokenHash;
}

/** Checked for every request, so in plain numbers: 32 bits fit into them. */
function checksum(body: string): string {
  let rest = Bun.hash.crc32(body);
  let text = '';
  for (let digit = 0; digit < CHECKSUM; digit++) {
    text = BASE62.charAt(rest % 62) + text;
    rest = Math.floor(rest / 62);
  }
  return text;
}

function base62(value: bigint, length: number): string {
  let rest = value;
  let text = '';
  for (let digit = 0; digit < length; digit++) {
    text = BASE62.charAt(Number(rest % 62n)) + text;
    rest /= 62n;
  }
  return text;
}
