import { createHmac } from 'node:crypto';
import type { Clock } from '../../std/clock.ts';
import { randomPart, type AccountId } from '../../std/ids.ts';
import { sameSecret } from '../../std/same-secret.ts';
import type { OperatorRole } from '../../store/schema-services.ts';
import type { Store } from '../../store/store.ts';
import { Fault } from '../../std/fault.ts';

/** The user of a session cookie, read for every request, so that a changed role or a disabled account applies at once. */
export interface Visitor {
  readonly accountId: AccountId;
  readonly email: string;
  readonly name: string;
  /** The operator's role; `undefined`: a customer. */
  readonly role: OperatorRole | undefined;
  readonly twoFactor: boolean;
  readonly sessionId: string;
  /** When the user last authenticated: by signing in, or by entering the password again. */
  readonly provedAt: number;
}

/** How a request arrived, as determined by `http/`, which knows the trusted proxies. */
export interface AuthMeta {
  readonly address: string;
  /** Over HTTPS, directly or through a trusted proxy. */
  readonly secure: boolean;
  /** `https://host:port` as the browser sees it. */
  readonly origin: string;
}

export interface Sessions {
  read(headers: Headers, meta: AuthMeta): Promise<Visitor | undefined>;
  /** Signs in a user who has just been created; returns the `Set-Cookie` line. */
  start(accountId: AccountId, headers: Headers, meta: AuthMeta): Promise<string>;
  /** Extends a session that was last extended more than a day ago; returns a `Set-Cookie` line if it did. */
  prolong(headers: Headers, meta: AuthMeta): Promise<string | undefined>;
  confirm(sessionId: string): Promise<number>;
  /** The user who has entered the right password here and still has to enter a code. */
  awaitingCode(headers: Headers, meta: AuthMeta): Promise<Pick<Visitor, 'accountId' | 'email'> | undefined>;
}

export const SESSION_SECONDS = 7 * 86_400;
export const SESSION_REFRESH_SECONDS = 86_400;
/** Even a session in constant use ends after a month. */
const MAX_SESSION_MS = 30 * 86_400_000;
/** How long after a password was entered sensitive actions do not ask for it again. */
export const CONFIRMED_MS = 15 * 60_000;

/** In it `auth.ts` passes the client's address to the library; a client's own header of that name is dropped. */
export const ADDRESS_HEADER = 'x-tollgate-address';

/** `__Host-` binds a cookie to this very host and to HTTPS; a browser refuses that name over plain HTTP. */
export function cookiePrefix(secure: boolean): string {
  return secure ? '__Host-tollgate' : 'tollgate';
}

/**
 * Reads the library's session cookie with one query of our own: the library takes a hundred times longer, and every console
 * request needs it. The library still ends sessions and handles second factors.
 */
export function makeSessions(parts: SessionParts): Sessions {
  return {
    async read(headers, meta) {
      const row = await find(parts, headers, meta);
      return (
        row && {
          accountId: row.accountId as AccountId,
          email: row.email,
          name: row.name,
          role: row.role === 'admin' ? 'owner' : (row.operatorRole ?? undefined),
          twoFactor: Boolean(row.twoFactorEnabled),
          sessionId: row.id,
          provedAt: Math.max(row.createdAt, row.confirmedAt ?? 0),
        }
      );
    },
    async start(accountId, headers, meta) {
      const row = newSession(accountId, headers, meta, parts.clock.now());
      await parts.store.db.insertInto('auth_session').values(row).execute();
      return cookieLine(row.token, meta, parts.secret);
    },
    prolong: (headers, meta) => prolong(parts, headers, meta),
    async confirm(sessionId) {
      const now = parts.clock.now();
      const { db } = parts.store;
      await db.updateTable('auth_session').set({ confirmedAt: now }).where('id', '=', sessionId).execute();
      return now + CONFIRMED_MS;
    },
    awaitingCode: (headers, meta) => findAwaitingCode(parts, headers, meta),
  };
}

interface SessionParts {
  readonly store: Store;
  readonly secret: string;
  readonly clock: Clock;
}

async function find({ store, secret, clock }: SessionParts, headers: Headers, meta: AuthMeta) {
  const token = signedCookie(headers, `${cookiePrefix(meta.secure)}.session_token`, secret);
  if (token === undefined) return undefined;
  const row = await sessionQuery(store, token).executeTakeFirst();
  if (!row || !maySignIn(row) || row.role === 'system') return undefined;
  const createdAt = millis(row.createdAt);
  const endsAt = Math.min(millis(row.expiresAt), createdAt + MAX_SESSION_MS);
  return endsAt > clock.now() ? { ...row, role: row.role, token, createdAt, endsAt } : undefined;
}

/** A paused account can spend nothing, but its owner may sign in and read why. */
export function maySignIn(account: {
  readonly status: string;
  readonly paused_reason: string | null;
}): boolean {
  return account.status === 'active' || account.paused_reason !== null;
}

function newSession(accountId: AccountId, headers: Headers, meta: AuthMeta, now: number) {
  const at = new Date(now).toISOString();
  return {
    id: randomPart(24),
    token: randomPart(43),
    userId: accountId,
    expiresAt: new Date(now + SESSION_SECONDS * 1000).toISOString(),
    createdAt: at,
    updatedAt: at,
    ipAddress: meta.address,
    userAgent: headers.get('user-agent')?.slice(0, 200) ?? null,
  };
}

async function prolong(parts: SessionParts, headers: Headers, meta: AuthMeta): Promise<string | undefined> {
  const row = await find(parts, headers, meta);
  if (!row || readCookie(headers, `${cookiePrefix(meta.secure)}.dont_remember`) !== undefined)
    return undefined;
  const now = parts.clock.now();
  const recentMs = (SESSION_SECONDS - SESSION_REFRESH_SECONDS) * 1000;
  if (row.endsAt - now > recentMs) return undefined;
  await parts.store.db
    .updateTable('auth_session')
    .set({
      expiresAt: new Date(now + SESSION_SECONDS * 1000).toISOString(),
      updatedAt: new Date(now).toISOString(),
    })
    .where('id', '=', row.id)
    .execute();
  return cookieLine(row.token, meta, parts.secret);
}

function sessionQuery(store: Store, token: string) {
  return store.db
    .selectFrom('auth_session')
    .innerJoin('auth_user', 'auth_user.id', 'auth_session.userId')
    .innerJoin('account', 'account.id', 'auth_session.userId')
    .leftJoin('operator', 'operator.account_id', 'account.id')
    .select([
      'auth_session.id',
      'auth_session.createdAt',
      'auth_session.expiresAt',
      'auth_session.confirmedAt',
      'auth_user.name',
      'auth_user.twoFactorEnabled',
      'account.id as accountId',
      'account.email',
      'account.role',
      'operator.role as operatorRole',
      'account.status',
      'account.paused_reason',
    ])
    .where('auth_session.token', '=', token);
}

export function millis(moment: string | Date): number {
  return new Date(moment).getTime();
}

/** The library keeps a sign-in that waits for its code as a verification, named by a cookie. */
async function findAwaitingCode({ store, secret, clock }: SessionParts, headers: Headers, meta: AuthMeta) {
  const name = signedCookie(headers, `${cookiePrefix(meta.secure)}.two_factor`, secret);
  if (name === undefined) return undefined;
  const row = await store.db
    .selectFrom('auth_verification')
    .innerJoin('account', 'account.id', 'auth_verification.value')
    .select(['account.id', 'account.email', 'auth_verification.expiresAt'])
    .where('auth_verification.identifier', '=', name)
    .executeTakeFirst();
  if (!row || millis(row.expiresAt) <= clock.now()) return undefined;
  return { accountId: row.id as AccountId, email: row.email };
}

/** A cookie is `value.signature`: a value copied from the database is worth nothing without the secret. */
function signedCookie(headers: Headers, name: string, secret: string): string | undefined {
  const value = readCookie(headers, name);
  const dot = value?.lastIndexOf('.') ?? -1;
  if (value === undefined || dot < 1 || value.length > 256) return undefined;
  const token = value.slice(0, dot);
  const signature = Buffer.from(value.slice(dot + 1), 'base64');
  const expected = createHmac('sha256', secret).update(token).digest();
  return sameSecret(signature, expected) ? token : undefined;
}

function cookieLine(token: string, meta: AuthMeta, secret: string): string {
  const signature = createHmac('sha256', secret).update(token).digest('base64');
  const name = `${cookiePrefix(meta.secure)}.session_token`;
  const value = encodeURIComponent(`${token}.${signature}`);
  const secure = meta.secure ? '; Secure' : '';
  return `${name}=${value}; Max-Age=${SESSION_SECONDS}; Path=/; HttpOnly${secure}; SameSite=Lax`;
}

function readCookie(headers: Headers, name: string): string | undefined {
  for (const pair of (headers.get('cookie') ?? '').split(';')) {
    const equals = pair.indexOf('=');
    if (pair.slice(0, equals).trim() !== name) continue;
    try {
      return decodeURIComponent(pair.slice(equals + 1).trim());
    } catch {
      // Not valid percent-encoding, so not one of our cookies.
      return undefined;
    }
  }
  return undefined;
}

/** An unattended session must not be enough to replace a token, to add a sign-in method or to move money. */
export function requireConfirmed(visitor: Visitor, clock: Clock): void {
  if (clock.now() - visitor.provedAt <= CONFIRMED_MS) return;
  throw new Fault('confirmation_required', 'Enter your password again to do this.');
}

/**
 * A browser in which somebody has signed in is a known device of that person: whatever strangers guess elsewhere, its own
 * attempts are counted on their own. The cookie gives no access and names nobody. See "Slow Down Online Guessing Attacks
 * with Device Cookies" of OWASP, whose protocol this is.
 */
export interface KnownDevices {
  /** The `Set-Cookie` line that makes this browser a known device of the email address. */
  cookie(email: string, meta: AuthMeta): string;
  /**
   * The device's id; `undefined`: not known for this email address, or from before its password was set. Whoever knew an
   * earlier password could have made as many devices as they liked.
   */
  find(headers: Headers, meta: AuthMeta, who: DeviceOwner): string | undefined;
  /** Whether the browser says that it is a known device, of whomever. */
  has(headers: Headers, meta: AuthMeta): boolean;
}

interface DeviceOwner {
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
      if (!sameSecret(given, signature(email, issuedAt, id))) return undefined;
      const age = clock.now() - Number(issuedAt);
      return Number(issuedAt) >= passwordSetAt && age < DEVICE_SECONDS * 1000 ? id : undefined;
    },
    has: (headers, meta) => COOKIE.test(readCookie(headers, cookieName(meta)) ?? ''),
  };
}

function cookieName(meta: AuthMeta): string {
  return `${cookiePrefix(meta.secure)}.device`;
}
