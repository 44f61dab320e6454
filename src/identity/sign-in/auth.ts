import type { Notices } from '../../outbox/notices.ts';
import type { Clock } from '../../std/clock.ts';
import type { AccountId } from '../../std/ids.ts';
import type { Log } from '../../std/log.ts';
import type { Store } from '../../store/store.ts';
import { makeAccountMails, type AccountMails } from './account-mails.ts';
import { useInvite } from './invites.ts';
import type { AuthLibrary, SocialConfig } from './library.ts';
import { checkNewPassword, makePasswords, type Passwords } from './password.ts';
import { Fault, type FaultCode } from '../../std/fault.ts';
import { makeResetLinks, type ResetLinks } from './reset.ts';
import { authRoute, signUpSchema, type AuthRoute } from './routes.ts';
import {
  requireConfirmed,
  cookiePrefix,
  makeSessions,
  makeKnownDevices,
  type AuthMeta,
  type Sessions,
  type Visitor,
  type KnownDevices,
  ADDRESS_HEADER,
} from './session.ts';
import { makeSignInLimiter, type SignInGuess, type SignInLimiter } from './sign-in-limiter.ts';
import { signUpMode } from './site.ts';
import { makeThrottle, type Throttle } from './throttle.ts';
import { normalEmail, makeUsers, type Users } from './users.ts';

/** Signing in to the console. The caller has already checked that a request comes from our own pages. */
export interface Auth {
  readonly users: Users;
  readonly resetLinks: ResetLinks;
  readonly sessions: Sessions;
  readonly devices: KnownDevices;
  readonly mails: AccountMails;
  readonly throttle: Throttle;
  readonly socialProviders: readonly ('github' | 'google')[];
  /** POST /api/auth/{name} with its parsed JSON body. Throws an `Fault`. */
  post(name: string, body: unknown, call: AuthCall): Promise<Response>;
  /** GET /api/auth/callback/{provider}: where a social provider sends the browser back to. */
  callback(request: Request, meta: AuthMeta): Promise<Response>;
  /** Checks the password again for an existing session; returns until when the session counts as confirmed. */
  confirm(visitor: Visitor, password: string, meta: AuthMeta): Promise<number>;
  /** The device that is known for the email address and sent this request; `undefined`: a stranger, as far as is known. */
  knownDevice(email: string, headers: Headers, meta: AuthMeta): Promise<string | undefined>;
  /** Removes expired sessions, challenges and reset links; called periodically. */
  sweep(): Promise<void>;
  /** Removes attempts to sign in that no longer count; called more often, because anybody can make them. */
  sweepAttempts(): Promise<void>;
  /** Loads the sign-in library now: the first sign-in would do so between requests, and keep them all waiting. */
  load(): Promise<void>;
}

interface AuthCall {
  readonly headers: Headers;
  readonly meta: AuthMeta;
  readonly visitor: Visitor | undefined;
}

interface AuthParts {
  readonly store: Store;
  /** Signs cookies and encrypts second factors; the same on every node. */
  readonly secret: string;
  /** Of the hashes by which mailboxes are known again; unlike the secret it never changes. */
  readonly mailboxKey: Uint8Array;
  readonly clock: Clock;
  readonly log: Log;
  readonly social?: SocialConfig | undefined;
  readonly passwords?: Passwords | undefined;
  /** Where both are there and mail is configured, links are sent by mail. */
  readonly notices?: Notices | undefined;
  readonly publicUrl?: string | undefined;
}

export function makeAuth(parts: AuthParts): Auth {
  const { store, secret, mailboxKey, clock, log, social = {} } = parts;
  const passwords = parts.passwords ?? makePasswords();
  const users = makeUsers({ store, passwords, clock });
  const sessions = makeSessions({ store, secret, clock });
  const devices = makeKnownDevices({ secret, clock });
  const throttle = makeThrottle(clock);
  const limiter = makeSignInLimiter({ store, secret, clock, throttle });
  const resetLinks = makeResetLinks({ store, passwords, clock });
  const { notices, publicUrl } = parts;
  const mails = makeAccountMails({ store, secret, mailboxKey, clock, resetLinks, notices, publicUrl });
  const libraryParts = { store, passwords, secret, mailboxKey, social, clock, log };
  const libraries = new Map<boolean, Promise<AuthLibrary>>();
  // Loading it takes a third of a server's start, and a server without console users never needs it.
  const library = (secure: boolean): Promise<AuthLibrary> => {
    const existing =
      libraries.get(secure) ??
      import('./library.ts').then(({ makeLibrary }) => makeLibrary(libraryParts, secure));
    libraries.set(secure, existing);
    return existing;
  };
  const load = async (): Promise<void> => {
    await import('./library.ts');
  };
  const context = { store, users, sessions, devices, mails, throttle, limiter, library, load, clock, log };

  return {
    users,
    resetLinks,
    sessions,
    devices,
    mails,
    throttle,
    socialProviders: (['github', 'google'] as const).filter((name) => social[name] !== undefined),
    post: (name, body, call) =>
      name === 'sign-up/email' ? signUp(context, body, call) : forwardToLibrary(context, name, body, call),
    async callback(request, meta) {
      const url = new URL(request.url);
      const { body, status, headers } = await (
        await library(meta.secure)
      ).handler(
        new Request(`${meta.origin}${url.pathname}${url.search}`, {
          headers: libraryHeaders(request.headers, meta),
        }),
      );
      const response = new Response(body, { status, headers });
      return await rememberDevice(context, response, { headers: request.headers, meta, visitor: undefined });
    },
    async confirm(visitor, password, meta) {
      const guess = await guessOwnPassword(context, visitor, meta);
      if (!(await users.checkPassword(visitor.accountId, password))) {
        throw new Fault('invalid_credentials', 'This is not your password.', { param: 'password' });
      }
      await guess.right();
      return sessions.confirm(visitor.sessionId);
    },
    knownDevice: (email, headers, meta) => knownDevice(context, email, { headers, meta }),
    async sweep() {
      const now = new Date(clock.now()).toISOString();
      await store.db.deleteFrom('auth_session').where('expiresAt', '<', now).execute();
      await store.db.deleteFrom('auth_verification').where('expiresAt', '<', now).execute();
      await store.db.deleteFrom('reset_link').where('expires_at', '<', clock.now()).execute();
    },
    sweepAttempts: () => limiter.sweep(),
    load,
  };
}

interface AuthContext {
  readonly store: Store;
  readonly users: Users;
  readonly sessions: Sessions;
  readonly devices: KnownDevices;
  readonly mails: AccountMails;
  readonly throttle: Throttle;
  readonly limiter: SignInLimiter;
  readonly clock: Clock;
  readonly log: Log;
  library(secure: boolean): Promise<AuthLibrary>;
  /** Of the library's code. */
  load(): Promise<void>;
}

/** Signing up bypasses the library: user, account and invite are written in one transaction. */
async function signUp(context: AuthContext, body: unknown, { headers, meta }: AuthCall): Promise<Response> {
  const { email, password, name, inviteCode } = signUpSchema.parse(body);
  const mode = await signUpMode(context.store);
  if (mode === 'setup')
    throw new Fault(
      'setup_needed',
      'This installation is being set up. Accounts can be created once it has an administrator.',
    );
  if (mode === 'closed')
    throw new Fault('sign_up_closed', 'Sign-up is closed. Ask the operator for an account.');
  // Checked before the attempt is counted, so that a typing error does not use up the allowance.
  context.throttle.act('new_password', meta.address);
  await checkNewPassword(password, normalEmail(email));
  context.throttle.act('sign_up', meta.address);
  const address = normalEmail(email);
  const accountId = await context.users.create(
    { email, password, name, role: 'user' },
    async (tx) => {
      if (mode === 'invite') await useInvite(tx, inviteCode, { by: address, now: context.clock.now() });
    },
    (tx, id) =>
      context.mails.sendVerification(tx, { accountId: id, email: address }, wantedLanguage(headers)),
  );
  return signedIn(context, { accountId, email }, { headers, meta });
}

/** Signs in somebody whose account has just been created. */
export async function signedIn(
  { sessions, devices, load }: Pick<Auth, 'sessions' | 'devices' | 'load'>,
  user: { readonly accountId: AccountId; readonly email: string },
  { headers, meta }: Pick<AuthCall, 'headers' | 'meta'>,
): Promise<Response> {
  const response = Response.json({ accountId: user.accountId }, { headers: { 'cache-control': 'no-store' } });
  response.headers.append('set-cookie', await sessions.start(user.accountId, headers, meta));
  response.headers.append('set-cookie', devices.cookie(normalEmail(user.email), meta));
  // Now, because it keeps the event loop: the first who signs in later may do so when the server is busy, and is told if it fails.
  setImmediate(() => void load().catch(() => undefined));
  return response;
}

async function forwardToLibrary(
  context: AuthContext,
  name: string,
  body: unknown,
  call: AuthCall,
): Promise<Response> {
  const route = authRoute(name);
  if (!route) throw new Fault('not_found', 'There is nothing here.');
  if (route.who === 'user' && !call.visitor) throw new Fault('unauthenticated', 'Sign in first.');
  if (route.confirmed && call.visitor) requireConfirmed(call.visitor, context.clock);
  const fields: Record<string, unknown> = { ...route.body.parse(body), ...route.always };
  if (typeof fields['email'] === 'string') fields['email'] = normalEmail(fields['email']);
  if (typeof fields['newPassword'] === 'string') {
    context.throttle.act('new_password', call.meta.address);
    await checkNewPassword(fields['newPassword'], call.visitor?.email ?? '');
  }
  if (route.makesChallenge) context.throttle.act('challenge', call.meta.address, call.visitor?.accountId);
  const guess = await countGuess(context, route, fields, call);
  const library = await context.library(call.meta.secure);
  const response = await library.handler(
    new Request(`${call.meta.origin}/api/auth/${name}`, {
      headers: libraryHeaders(call.headers, call.meta),
      ...(route.makesChallenge ? { method: 'GET' } : { method: 'POST', body: JSON.stringify(fields) }),
    }),
  );
  if (!response.ok) throw await refusalOf(response, route);
  await guess?.right();
  if (name === 'change-password' && call.visitor) await endOldAccess(context.store, call.visitor.accountId);
  return await rememberDevice(context, await clientResponse(route, response), call);
}

/** Counts an attempt against whose secret it could guess and where it comes from. */
async function countGuess(
  context: AuthContext,
  { guesses: kind }: AuthRoute,
  fields: Record<string, unknown>,
  call: AuthCall,
): Promise<SignInGuess | undefined> {
  const { limiter, users } = context;
  const { address } = call.meta;
  if (kind === undefined) return undefined;
  switch (kind) {
    case 'own-password':
      // Such a route needs a session.
      return call.visitor && (await guessOwnPassword(context, call.visitor, call.meta));
    case 'passkey': {
      const owner = await passkeyOwner(context, fields, call);
      const device = owner && (await knownDevice(context, owner, call));
      return await limiter.guess({ kind, subject: device && owner, address, device });
    }
    case 'code': {
      // Codes can be guessed only by a user who is signed in or has just entered the right password.
      const owner = call.visitor ?? (await context.sessions.awaitingCode(call.headers, call.meta));
      const device = owner && (await knownDevice(context, owner.email, call));
      return await limiter.guess({ kind, subject: owner?.accountId, address, device });
    }
    case 'password': {
      const email = String(fields['email']);
      const device = await knownDevice(context, email, call);
      // Failures with a password that has been replaced since, on whichever node, no longer count.
      const secretSetAt = () => users.passwordSetAt({ email });
      return await limiter.guess({ kind, subject: email, address, device, secretSetAt });
    }
  }
}

/** Counted for the session: whoever has none cannot guess here, and must not be able to keep its owner waiting. */
async function guessOwnPassword(
  { limiter, users }: AuthContext,
  { accountId, sessionId }: Visitor,
  { address }: AuthMeta,
): Promise<SignInGuess> {
  const secretSetAt = () => users.passwordSetAt({ accountId });
  return await limiter.guess({
    kind: 'own-password',
    subject: accountId,
    address,
    device: sessionId,
    secretSetAt,
  });
}

/** The device that is known for the email address and sent this; see `KnownDevices`. */
async function knownDevice(
  { devices, users }: Pick<AuthContext, 'devices' | 'users'>,
  email: string,
  { headers, meta }: Pick<AuthCall, 'headers' | 'meta'>,
): Promise<string | undefined> {
  // Strangers have no cookie that is signed for the address, so that their attempts take no query here.
  if (devices.find(headers, meta, { email, passwordSetAt: undefined }) === undefined) return undefined;
  return devices.find(headers, meta, { email, passwordSetAt: await users.passwordSetAt({ email }) });
}

/** The email address whose passkey this says it is; asked only for a browser in which somebody has signed in. */
async function passkeyOwner(
  { store, devices }: AuthContext,
  fields: Record<string, unknown>,
  { headers, meta }: AuthCall,
): Promise<string | undefined> {
  const { id } = fields['response'] as { id?: unknown };
  if (typeof id !== 'string' || !devices.has(headers, meta)) return undefined;
  const row = await store.db
    .selectFrom('auth_passkey')
    .innerJoin('auth_user', 'auth_user.id', 'auth_passkey.userId')
    .select('auth_user.email')
    .where('auth_passkey.credentialID', '=', id)
    .executeTakeFirst();
  return row?.email;
}

/** Any answer that starts a session makes this browser a known device. */
async function rememberDevice(
  context: AuthContext,
  response: Response,
  { headers, meta, visitor: before }: AuthCall,
): Promise<Response> {
  const { sessions, devices } = context;
  const cookie = response.headers
    .getSetCookie()
    .find((line) => line.startsWith(`${cookiePrefix(meta.secure)}.session_token=`));
  const visitor =
    cookie === undefined
      ? undefined
      : await sessions.read(new Headers({ cookie: cookie.split(';')[0] ?? '' }), meta);
  if (!visitor) return response;
  response.headers.append('set-cookie', devices.cookie(visitor.email, meta));
  const isKnown =
    devices.find(headers, meta, { email: visitor.email, passwordSetAt: undefined }) !== undefined;
  if (!before) await keepLanguage(context, visitor, headers);
  if (!before && !isKnown) await tellNewDevice(context, visitor, { headers, meta });
  return response;
}

/**
 * Emails are in the language in which the console greets a person, until another one is chosen in the settings. It is
 * kept with its region, if the browser says one: the console follows each browser, and adopts what was chosen alone.
 */
async function keepLanguage(
  { store, log }: AuthContext,
  { accountId }: Visitor,
  headers: Headers,
): Promise<void> {
  const language = LANGUAGE.exec(headers.get('accept-language') ?? '')?.[1];
  if (language === undefined) return;
  await store.db
    .insertInto('preference')
    .values({ account_id: accountId, language, theme: 'system' })
    .onConflict((conflict) =>
      conflict.column('account_id').doUpdateSet({ language }).where('preference.language', 'is', null),
    )
    .execute()
    .catch((error: unknown) => log.warn('language_not_kept', { account: accountId, error }));
}

const LANGUAGE = /^\s*([a-z]{2,3}(?:-[A-Za-z0-9]{2,8})?)(?![A-Za-z0-9-])/i;

/** Signing in must not fail because a mail cannot be written. */
async function tellNewDevice(
  { mails, log }: AuthContext,
  { accountId, sessionId }: Visitor,
  { headers, meta }: Pick<AuthCall, 'headers' | 'meta'>,
): Promise<void> {
  const userAgent = headers.get('user-agent') ?? undefined;
  await mails
    .tellNewDevice({ accountId, sessionId, address: meta.address, userAgent })
    .catch((error: unknown) => log.warn('sign_in_email_failed', { account: accountId, error }));
}

/** The browser's first language. */
export function wantedLanguage(headers: Headers): string | undefined {
  return /^\s*([a-z]{2,3})\b/i.exec(headers.get('accept-language') ?? '')?.[1];
}

/** Only the headers that the library needs, so that a client cannot influence it with others. */
function libraryHeaders(headers: Headers, meta: AuthMeta): Headers {
  const clean = new Headers({
    'content-type': 'application/json',
    host: new URL(meta.origin).host,
    origin: meta.origin,
    [ADDRESS_HEADER]: meta.address,
  });
  const cookie = headers.get('cookie');
  if (cookie !== null) clean.set('cookie', cookie);
  const agent = headers.get('user-agent');
  if (agent !== null) clean.set('user-agent', agent.slice(0, 200));
  return clean;
}

async function clientResponse(route: AuthRoute, response: Response): Promise<Response> {
  const result = (await response.json().catch(() => ({}))) as Record<string, unknown> | null;
  const body = Object.fromEntries(
    Object.entries(route.gives).map(([field, fallback]) => [field, result?.[field] ?? fallback]),
  );
  const headers = new Headers({ 'cache-control': 'no-store' });
  for (const cookie of response.headers.getSetCookie()) headers.append('set-cookie', cookie);
  return Response.json(body, { headers });
}

/** Translates the library's errors; a client never learns whether the email or the password was wrong. */
async function refusalOf(response: Response, route: AuthRoute): Promise<Fault> {
  const { code = '', message } = (await response.json().catch(() => ({}))) as {
    code?: string;
    message?: string;
  };
  const known = KNOWN_ERRORS[code];
  if (known) return new Fault(known.code, known.message ?? message ?? 'Refused.');
  if (response.status === 401 && route.who === 'user') return new Fault('unauthenticated', 'Sign in first.');
  if (response.status >= 500)
    return new Fault('internal_error', 'Something went wrong on our side. Try again.');
  return new Fault('invalid_field', message ?? 'This did not work.');
}

const WRONG_CREDENTIALS = {
  code: 'invalid_credentials',
  message: 'The email address or the password is wrong.',
} as const;
const WRONG_CODE = { code: 'invalid_second_factor', message: 'This code is not right, or too old.' } as const;
const WRONG_PASSKEY = { code: 'invalid_credentials', message: 'This passkey opens nothing here.' } as const;
const KNOWN_ERRORS: Record<string, { code: FaultCode; message?: string }> = {
  INVALID_EMAIL_OR_PASSWORD: WRONG_CREDENTIALS,
  INVALID_EMAIL: WRONG_CREDENTIALS,
  PASSWORD_TOO_LONG: WRONG_CREDENTIALS,
  PASSWORD_TOO_SHORT: { code: 'weak_password' },
  INVALID_PASSWORD: { code: 'invalid_credentials', message: 'This is not your password.' },
  CREDENTIAL_ACCOUNT_NOT_FOUND: {
    code: 'conflict',
    message: 'This account signs in through a provider and has no password.',
  },
  INVALID_CODE: WRONG_CODE,
  INVALID_BACKUP_CODE: WRONG_CODE,
  INVALID_TWO_FACTOR_COOKIE: { code: 'invalid_second_factor', message: 'Sign in again: this took too long.' },
  TOO_MANY_ATTEMPTS_REQUEST_NEW_CODE: {
    code: 'invalid_second_factor',
    message: 'Too many attempts. Sign in again.',
  },
  TOTP_NOT_ENABLED: { code: 'conflict', message: 'A second factor is not set up.' },
  TOTP_ALREADY_ENABLED: { code: 'conflict', message: 'A second factor is set up already.' },
  BACKUP_CODES_NOT_ENABLED: { code: 'conflict', message: 'A second factor is not set up.' },
  CHALLENGE_NOT_FOUND: { code: 'invalid_credentials', message: 'This took too long. Try again.' },
  PASSKEY_NOT_FOUND: WRONG_PASSKEY,
  AUTHENTICATION_FAILED: WRONG_PASSKEY,
  FAILED_TO_VERIFY_REGISTRATION: { code: 'invalid_field', message: 'This passkey could not be checked.' },
  conflict: { code: 'conflict' },
  invalid_credentials: { code: 'invalid_credentials' },
  forbidden: { code: 'forbidden' },
  email_taken: { code: 'email_taken' },
  service_unavailable: { code: 'service_unavailable' },
};

/** A changed password ends trusted devices and reset links from before. */
async function endOldAccess({ db }: Store, accountId: string): Promise<void> {
  await db
    .deleteFrom('auth_verification')
    .where('value', '=', accountId)
    .where('identifier', 'like', 'trust-device-%')
    .execute();
  await db.deleteFrom('reset_link').where('account_id', '=', accountId).execute();
}
