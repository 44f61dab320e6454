import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../../std/clock.ts';
import { randomPart } from '../../std/ids.ts';
import { cookiePrefix, readCookie, type AuthMeta } from './session.ts';

/**
 * A browser in which somebody has signed in is a known device of that person: whatever strangers guess elsewhere, its own
 * attempts are counted on their own. The cookie gives no access and names nobody. See "Slow Down Online Guessing Attacks
 * with Device Cookies" of OWASP, whose protocol this is.
 */
export interface KnownDevices {
  /** The `Set-Cookie` line that makes this browser a known device of the e-mail address. */
  cookie(email: string, meta: AuthMeta): string;
  /**
   * The device's id; `undefined`: not known for this e-mail address, or from before its password was set. Whoever knew an
   * earlier password could have made as many devices as they liked.
   */
  find(headers: Headers, meta: AuthMeta, who: DeviceOwner): string | undefined;
}

export interface DeviceOwner {
  readonly email: string;
  readonly passwordSetAt: number | undefined;
}

const DEVICE_SECONDS = 180 * 86_400;
/** Time, id and signature. */
const COOKIE = /^(\d{1,16})\.([\w-]{1,64})\.([\w-]{43})$/;

export function makeKnownDevices({
  secret,
  clock,
}: {
  readonly secret: string;
  readonly clock: Clock;
}): KnownDevices {
  const signature = (email: string, issuedAt: string, id: string): string =>
    createHmac('sha256', secret)
      .update(JSON.stringify(['known device', email, issuedAt, id]))
      .digest('base64url');
  return {
    cookie(email, meta) {
      const issuedAt = String(clock.now());
      const id = randomPart(22);
      const value = `${issuedAt}.${id}.${signature(email, issuedAt, id)}`;
      const secure = meta.secure ? '; Secure' : '';
      return `${cookieName(meta)}=${value}; Max-Age=${DEVICE_SECONDS}; Path=/; HttpOnly${secure}; SameSite=Lax`;
    },
    find(headers, meta, { email, passwordSetAt = 0 }) {
      const [, issuedAt, id, given] = COOKIE.exec(readCookie(headers, cookieName(meta)) ?? '') ?? [];
      if (issuedAt === undefined || id === undefined || given === undefined) return undefined;
      const right = Buffer.from(signature(email, issuedAt, id));
      if (!timingSafeEqual(right, Buffer.from(given))) return undefined;
      const age = clock.now() - Number(issuedAt);
      return Number(issuedAt) >= passwordSetAt && age < DEVICE_SECONDS * 1000 ? id : undefined;
    },
  };
}

function cookieName(meta: AuthMeta): string {
  return `${cookiePrefix(meta.secure)}.device`;
}
