import { createHash, timingSafeEqual } from 'node:crypto';

/**
 * Whether somebody knows a secret. Both sides are compared by their digests: whatever is given, of any length and in any
 * characters, is compared in the same way, and the time it takes tells nothing about the secret.
 */
export function sameSecret(given: string | Uint8Array, secret: string | Uint8Array): boolean {
  return timingSafeEqual(digest(given), digest(secret));
}

function digest(value: string | Uint8Array): Buffer {
  return createHash('sha256').update(value).digest();
}
