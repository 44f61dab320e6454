import type { Clock } from '../../std/clock.ts';
import type { AccountId } from '../../std/ids.ts';
import type { Log } from '../../std/log.ts';
import type { Store } from '../../store/store.ts';
import { requireConfirmed } from './confirmation.ts';
import { normalEmail } from './email.ts';
import { useInvite } from './invites.ts';
import { ADDRESS_HEADER, makeLibrary, type AuthLibrary, type SocialConfig } from './library.ts';
import { checkNewPassword, makePasswords, type Passwords } from './password.ts';
import { makePeople, type People } from './people.ts';
import { makeResetLinks, type ResetLinks } from './reset.ts';
import { AuthRefusal, type RefusalCode } from './refusal.ts';
import { authRoute, signUpSchema, type AuthRoute } from './routes.ts';
import { makeSessions, type AuthMeta, type Sessions, type Visitor } from './session.ts';
import { signUpMode } from './site.ts';
import { makeThrottle, type SignInGuess, type Throttle } from './throttle.ts';

/** Signing in to the console. The caller has already made sure that a request comes from our own pages. */
export interface Auth {
  readonly people: People;
  readonly resetLinks: ResetLinks;
  readonly sessions: Sessions;
  readonly throttle: Throttle;
  readonly socialProviders: readonly ('github' | 'google')[];
  /** POST /api/auth/{name} with its parsed JSON body. Throws a `Refusal`. */
  post(name: string, body: unknown, call: AuthCall): Promise<Response>;
  /** GET /api/auth/callback/{provider}: where a social provider sends the browser back to. */
  callback(request: Request, meta: AuthMeta): Promise<Response>;
  /** The password of the person behind this session, entered again. */
  confirm(visitor: Visitor, password: string, meta: AuthMeta): Promise<number>;
  /** Removes sessions and challenges that have ended; main calls it now and then. */
  sweep(): Promise<void>;
}

export interface AuthCall {
  readonly headers: Headers;
  readonly meta: AuthMeta;
  readonly visitor: Visitor | undefined;
}

export interface AuthParts {
  readonly store: Store;
  /** Signs cookies and encrypts second factors; the same on every node. */
  readonly secret: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly social?: SocialConfig | undefined;
  readonly passwords?: Passwords | undefined;
}

export function makeAuth(parts: AuthParts): Auth {
  const { store, secret, clock, log, social = {} } = parts;
  const passwords = parts.passwords ?? makePasswords();
  const people = makePeople({ store, passwords, clock });
  const sessions = makeSessions({ store, secret, clock });
  const throttle = makeThrottle(clock);
  const libraryParts = { store, passwords, secret, social, clock, log };
  const made = new Map<boolean, AuthLibrary>();
  const library = (secure: boolean): AuthLibrary => {
    const existing = made.get(secure) ?? makeLibrary(libraryParts, secure);
    made.set(secure, existing);
    return existing;
  };
  const inner = { store, people, sessions, throttle, library, clock };

  return {
    people,
    resetLinks: makeResetLinks({ store, passwords, clock }),
    sessions,
    throttle,
    socialProviders: (['github', 'google'] as const).filter((name) => social[name] !== undefined),
    post: (name, body, call) =>
      name === 'sign-up/email' ? signUp(inner, body, call) : pass(inner, name, body, call),
    callback: (request, meta) => {
      const url = new URL(request.url);
      return library(meta.secure).handler(
        new Request(`${meta.origin}${url.pathname}${url.search}`, {
          headers: libraryHeaders(request.headers, meta),
        }),
      );
    },
    async confirm(visitor, password, meta) {
      await forgetIfReplaced(inner, 'own-password', visitor.accountId);
      const guess = throttle.guess('own-password', visitor.accountId, meta.address);
      if (!(await people.checkPassword(visitor.accountId, password))) {
        throw new AuthRefusal('invalid_credentials', 'This is not your password.', { param: 'password' });
      }
      guess.right();
      return sessions.confirm(visitor.sessionId);
    },
    async sweep() {
      const now = new Date(clock.now()).toISOString();
      await store.db.deleteFrom('auth_session').where('expiresAt', '<', now).execute();
      await store.db.deleteFrom('auth_verification').where('expiresAt', '<', now).execute();
      await store.db.deleteFrom('reset_link').where('expires_at', '<', clock.now()).execute();
    },
  };
}

interface Inner {
  readonly store: Store;
  readonly people: People;
  readonly sessions: Sessions;
  readonly throttle: Throttle;
  readonly clock: Clock;
  library(secure: boolean): AuthLibrary;
}

/** Signing up is ours: person, account and invite in one transaction. */
async function signUp(inner: Inner, body: unknown, { headers, meta }: AuthCall): Promise<Response> {
  const { email, password, name, inviteCode } = signUpSchema.parse(body);
  const mode = await signUpMode(inner.store);
  if (mode === 'setup')
    throw new AuthRefusal(
      'setup_needed',
      'This installation is being set up. Accounts can be created once it has an administrator.',
    );
  if (mode === 'closed')
    throw new AuthRefusal('sign_up_closed', 'Sign-up is closed. Ask the operator for an account.');
  // Checked before it counts: a typing error does not use up an allowance.
  inner.throttle.act('new_password', meta.address);
  await checkNewPassword(password, normalEmail(email));
  inner.throttle.act('sign_up_address', meta.address);
  inner.throttle.act('sign_up_everybody', '');
  const accountId = await inner.people.create({ email, password, name, role: 'user' }, async (tx) => {
    if (mode === 'invite')
      await useInvite(tx, inviteCode, { by: normalEmail(email), now: inner.clock.now() });
  });
  return signedIn(inner.sessions, accountId, { headers, meta });
}

export async function signedIn(
  sessions: Sessions,
  accountId: AccountId,
  { headers, meta }: Pick<AuthCall, 'headers' | 'meta'>,
): Promise<Response> {
  const cookie = await sessions.start(accountId, headers, meta);
  return Response.json({ accountId }, { headers: { 'set-cookie': cookie, 'cache-control': 'no-store' } });
}

async function pass(inner: Inner, name: string, body: unknown, call: AuthCall): Promise<Response> {
  const route = authRoute(name);
  if (!route) throw new AuthRefusal('not_found', 'There is nothing here.');
  if (route.who === 'user' && !call.visitor) throw new AuthRefusal('unauthenticated', 'Sign in first.');
  if (route.confirmed && call.visitor) requireConfirmed(call.visitor, inner.clock);
  const fields: Record<string, unknown> = { ...route.body.parse(body), ...route.always };
  if (typeof fields['email'] === 'string') fields['email'] = normalEmail(fields['email']);
  if (typeof fields['newPassword'] === 'string') {
    inner.throttle.act('new_password', call.meta.address);
    await checkNewPassword(fields['newPassword'], call.visitor?.email ?? '');
  }
  if (route.makesChallenge) {
    inner.throttle.act('challenge_address', call.meta.address);
    inner.throttle.act('challenge_everybody', '');
  }
  const guess = await guessAt(inner, route, fields, call);
  const answer = await inner.library(call.meta.secure).handler(
    new Request(`${call.meta.origin}/api/auth/${name}`, {
      headers: libraryHeaders(call.headers, call.meta),
      ...(route.makesChallenge ? { method: 'GET' } : { method: 'POST', body: JSON.stringify(fields) }),
    }),
  );
  if (!answer.ok) throw await refusalOf(answer, route);
  guess?.right();
  if (name === 'change-password' && call.visitor) await endOldWays(inner.store, call.visitor.accountId);
  return answerOf(route, answer);
}

/** Whose secret is being tried: the address typed in, the account of the session, or the pending challenge's place. */
async function guessAt(
  inner: Inner,
  route: AuthRoute,
  fields: Record<string, unknown>,
  call: AuthCall,
): Promise<SignInGuess | undefined> {
  const { address } = call.meta;
  if (route.guesses === undefined) return undefined;
  const subjects = {
    password: String(fields['email']),
    'own-password': call.visitor?.accountId ?? '',
    code: call.visitor?.accountId ?? `from ${address}`,
    passkey: `from ${address}`,
  };
  const subject = subjects[route.guesses];
  if (route.guesses === 'password' || route.guesses === 'own-password')
    await forgetIfReplaced(inner, route.guesses, subject);
  return inner.throttle.guess(route.guesses, subject, address);
}

/**
 * Failures at a password that has been replaced since count no more. The store tells, because the replacement may have
 * come from another node, and it is asked only about somebody who would have to wait.
 */
async function forgetIfReplaced(
  { throttle, people }: Pick<Inner, 'throttle' | 'people'>,
  kind: 'password' | 'own-password',
  subject: string,
): Promise<void> {
  if (!throttle.waits(kind, subject)) return;
  const setAt = await people.passwordSetAt(kind === 'password' ? { email: subject } : { accountId: subject });
  if (setAt !== undefined) throttle.forget(kind, subject, setAt);
}

/** Only what the library needs, made by us: a client cannot speak to it in headers. */
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

async function answerOf(route: AuthRoute, answer: Response): Promise<Response> {
  const given = (await answer.json().catch(() => ({}))) as Record<string, unknown> | null;
  const shown = Object.fromEntries(
    Object.entries(route.gives).map(([field, otherwise]) => [field, given?.[field] ?? otherwise]),
  );
  const headers = new Headers({ 'cache-control': 'no-store' });
  for (const cookie of answer.headers.getSetCookie()) headers.append('set-cookie', cookie);
  return Response.json(shown, { headers });
}

/** The library's words become ours; which of e-mail and password was wrong is never told. */
async function refusalOf(answer: Response, route: AuthRoute): Promise<AuthRefusal> {
  const { code = '', message } = (await answer.json().catch(() => ({}))) as {
    code?: string;
    message?: string;
  };
  const known = KNOWN_ERRORS[code];
  if (known) return new AuthRefusal(known.code, known.message ?? message ?? 'Refused.');
  if (answer.status === 401 && route.who === 'user')
    return new AuthRefusal('unauthenticated', 'Sign in first.');
  if (answer.status >= 500)
    return new AuthRefusal('internal_error', 'Something went wrong on our side. Try again.');
  return new AuthRefusal('invalid_field', message ?? 'This did not work.');
}

const WRONG = {
  code: 'invalid_credentials',
  message: 'The e-mail address or the password is wrong.',
} as const;
const WRONG_CODE = { code: 'invalid_second_factor', message: 'This code is not right, or too old.' } as const;
const WRONG_PASSKEY = { code: 'invalid_credentials', message: 'This passkey opens nothing here.' } as const;
const KNOWN_ERRORS: Record<string, { code: RefusalCode; message?: string }> = {
  INVALID_EMAIL_OR_PASSWORD: WRONG,
  INVALID_EMAIL: WRONG,
  PASSWORD_TOO_LONG: WRONG,
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
    message: 'Too many tries. Sign in again.',
  },
  ACCOUNT_TEMPORARILY_LOCKED: {
    code: 'rate_limit_exceeded',
    message: 'Too many wrong codes. Wait a while and try again.',
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

/** A changed password ends every way in that was granted under the old one. */
async function endOldWays({ db }: Store, accountId: string): Promise<void> {
  await db
    .deleteFrom('auth_verification')
    .where('value', '=', accountId)
    .where('identifier', 'like', 'trust-device-%')
    .execute();
  await db.deleteFrom('reset_link').where('account_id', '=', accountId).execute();
}
