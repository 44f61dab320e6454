import { randomBytes } from 'node:crypto';
import { BASE62, type TokenHash } from '../../std/ids.ts';
import { remembered } from '../../std/remembered.ts';

/**
 * An API token: `sk-`, 43 Base62 characters of 256 random bits, 6 characters of checksum. The checksum lets us, and
 * secret scanners, tell a typo from a token without a database lookup; the store has only the keyed hash, so that a
 * stolen copy is useless for authentication. Published pattern: `sk-[0-9A-Za-z]{49}`. A token of a program that operates
 * is made alike and begins with `op-`.
 */
interface NewToken {
  readonly token: string;
  readonly hash: TokenHash;
  /** The form in which the console shows it afterwards: `sk-…a1b2`. */
  readonly hint: string;
}

/** `sk-`: an account's token; `op-`: the token of an operator's program. */
type TokenPrefix = 'sk-' | 'op-';

const BODY = 43;
const CHECKSUM = 6;
const PATTERN = /^(?:sk|op)-[0-9A-Za-z]{49}$/;

export function newToken(
  pepper: Uint8Array,
  random: (bytes: number) => Uint8Array = randomBytes,
  prefix: TokenPrefix = 'sk-',
): NewToken {
  const body = base62(BigInt(`0x${Buffer.from(random(32)).toString('hex')}`), BODY);
  const token = `${prefix}${body}${checksum(body)}`;
  return { token, hash: hash(token, pepper), hint: `${prefix}…${token.slice(-4)}` };
}

/**
 * Caches the hashes of recently used tokens: hashing costs more than finding the account, and the same few tokens are used
 * again and again. A hash depends only on the token, so it cannot become stale; whether an account still has it is checked
 * in the store.
 */
export function tokenHasher(pepper: Uint8Array): (token: string) => TokenHash | undefined {
  return remembered((token) => hashToken(token, pepper), MAX_CACHED);
}

const MAX_CACHED = 10_000;

/** The hash of a presented token, or `undefined` when it cannot be one: a typo needs no store lookup. */
export function hashToken(
  token: string,
  pepper: Uint8Array,
  prefix: TokenPrefix = 'sk-',
): TokenHash | undefined {
  if (!PATTERN.test(token) || !token.startsWith(prefix)) return undefined;
  const body = token.slice(prefix.length, prefix.length + BODY);
  return token.endsWith(checksum(body)) ? hash(token, pepper) : undefined;
}

/** Fast on purpose: 256 random bits cannot be guessed, so a slow hash would add nothing. */
function hash(token: string, pepper: Uint8Array): TokenHash {
  return new Bun.CryptoHasher('sha256', pepper).update(token).digest('hex') as TokenHash;
}

/** Computed for every request, so with plain numbers instead of big integers: 32 bits fit. */
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
