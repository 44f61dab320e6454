import { passkey } from '@better-auth/passkey';
import { betterAuth, type BetterAuthOptions } from 'better-auth';
import { APIError } from 'better-auth/api';
import { twoFactor } from 'better-auth/plugins';
import type { Clock } from '../../std/clock.ts';
import { newAccountId, randomPart } from '../../std/ids.ts';
import type { Log } from '../../std/log.ts';
import type { Store } from '../../store/store.ts';
import { normalEmail, insertAccount } from './users.ts';
import { MAX_PASSWORD, MIN_PASSWORD, type Passwords } from './password.ts';
import { MAX_PASSKEYS, passkeysOf } from './passkey.ts';
import { Fault } from '../../std/fault.ts';
import {
  ADDRESS_HEADER,
  cookiePrefix,
  maySignIn,
  SESSION_REFRESH_SECONDS,
  SESSION_SECONDS,
} from './session.ts';
import { signUpMode } from './site.ts';
import { giveWelcomeCredit } from './welcome-credit.ts';

/** The configured sign-in library as a request handler; `auth.ts` decides which requests reach it. */
export interface AuthLibrary {
  handler(request: Request): Promise<Response>;
}

interface LibraryParts {
  readonly store: Store;
  readonly passwords: Passwords;
  readonly secret: string;
  readonly mailboxKey: Uint8Array;
  readonly social: SocialConfig;
  readonly clock: Clock;
  readonly log: Log;
}

export interface SocialConfig {
  readonly github?: { readonly clientId: string; readonly clientSecret: string } | undefined;
  readonly google?: { readonly clientId: string; readonly clientSecret: string } | undefined;
}

/** Cookies differ between HTTP and HTTPS, and the library fixes them at creation: there is one instance for each. */
export function makeLibrary(parts: LibraryParts, secure: boolean): AuthLibrary {
  return betterAuth(libraryOptions(parts, secure));
}

export function libraryOptions(parts: LibraryParts, secure: boolean) {
  const { store, secret, clock, log } = parts;
  return {
    appName: 'Tollgate',
    // From the request, as the browser sees it; otherwise the library reads it from the environment.
    baseURL: { allowedHosts: ['*'], protocol: secure ? 'https' : 'http' },
    basePath: '/api/auth',
    secret,
    database: { db: store.db, type: store.backend.kind },
    emailAndPassword: passwordOptions(parts.passwords),
    socialProviders: socialProviders(parts.social),
    user: {
      modelName: 'auth_user',
      validateUserInfo: async ({ source }) => {
        const closed = source.action === 'create-user' && (await signUpMode(store)) !== 'open';
        return closed ? { error: 'sign_up_closed', errorDescription: 'Sign-up is not open.' } : undefined;
      },
    },
    session: {
      modelName: 'auth_session',
      expiresIn: SESSION_SECONDS,
      updateAge: SESSION_REFRESH_SECONDS,
      // `auth.ts` decides what needs a fresh session, since it knows when the password was confirmed.
      freshAge: 0,
    },
    // Signing up with another person's address must not give access to their account when they later use a provider.
    account: { modelName: 'auth_account', accountLinking: { enabled: false }, encryptOAuthTokens: true },
    verification: { modelName: 'auth_verification' },
    plugins: [
      twoFactor({
        issuer: 'Tollgate',
        twoFactorTable: 'auth_two_factor',
        // It would lock out the owner too; `sign-in-limiter.ts` counts by account and network.
        accountLockout: { enabled: false },
      }),
      passkeyPlugin(store, clock),
    ],
    databaseHooks: databaseHooks(parts),
    rateLimit: { enabled: false },
    telemetry: { enabled: false },
    onAPIError: { errorURL: '/sign-in' },
    logger: { level: 'error', log: (level, message) => log.warn('sign_in_library', { level, message }) },
    advanced: {
      // Our prefix already begins with `__Host-`; the library's option would put `__Secure-` before it.
      cookiePrefix: cookiePrefix(secure),
      useSecureCookies: false,
      defaultCookieAttributes: { secure, httpOnly: true, sameSite: 'lax', path: '/' },
      ipAddress: { ipAddressHeaders: [ADDRESS_HEADER] },
      database: {
        validateSchema: false,
        generateId: ({ model }) => (model === 'user' ? newAccountId(clock.now()) : randomPart(24)),
      },
    },
  } satisfies BetterAuthOptions;
}

function passwordOptions(passwords: Passwords) {
  return {
    enabled: true,
    // Signing up also creates the account in the same transaction, so it is done in `users.ts`, not here.
    disableSignUp: true,
    minPasswordLength: MIN_PASSWORD,
    maxPasswordLength: 4 * MAX_PASSWORD,
    password: {
      hash: (password: string) => passwords.hash(password).catch(asLibraryError),
      verify: ({ password, hash }: { password: string; hash: string }) =>
        passwords.verify(password, hash).catch(asLibraryError),
    },
  };
}

function socialProviders({ github, google }: SocialConfig) {
  return { ...(github ? { github: { ...github } } : {}), ...(google ? { google: { ...google } } : {}) };
}

function databaseHooks(parts: LibraryParts): NonNullable<BetterAuthOptions['databaseHooks']> {
  return {
    user: {
      create: {
        // Only social providers create users through the library.
        before: (user) => Promise.resolve({ data: { ...user, email: normalEmail(user.email) } }),
      },
    },
    session: {
      create: {
        before: async (session) => {
          await admitSession(parts, session.userId).catch(asLibraryError);
        },
      },
    },
  };
}

/** A disabled account gets no session. A new user from a provider gets the account here, if not before. */
async function admitSession({ store, mailboxKey, clock }: LibraryParts, userId: string): Promise<void> {
  const account = await store.db
    .selectFrom('account')
    .select(['status', 'paused_reason'])
    .where('id', '=', userId)
    .executeTakeFirst();
  if (account && maySignIn(account)) return;
  if (account) throw new Fault('forbidden', 'This account is disabled.');
  const user = await store.db
    .selectFrom('auth_user')
    .select(['email', 'emailVerified'])
    .where('id', '=', userId)
    .executeTakeFirstOrThrow();
  const now = clock.now();
  await store.db.transaction().execute(async (tx) => {
    await insertAccount(tx, { id: userId, email: user.email, role: 'user', now });
    // The provider has confirmed the address.
    if (user.emailVerified) await giveWelcomeCredit(tx, userId, { mailboxKey, now });
  });
}

/** The library answers its own errors with their status and anything else with 500. */
function asLibraryError(error: unknown): never {
  if (!(error instanceof Fault)) throw error;
  const status = error.code === 'service_unavailable' ? 'SERVICE_UNAVAILABLE' : 'FORBIDDEN';
  throw new APIError(status, { code: error.code, message: error.message });
}

/**
 * Signing in without a password. A passkey belongs to the host of the request, as cookies do. It replaces password and
 * second factor together, so the device must have verified its user (by fingerprint, face or PIN): the library only
 * prefers that, here it is required.
 */
function passkeyPlugin(store: Store, clock: Clock) {
  return passkey({
    rpName: 'Tollgate',
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    advanced: { webAuthnChallengeCookie: 'passkey' },
    schema: { passkey: { modelName: 'auth_passkey' } },
    registration: {
      afterVerification: async ({ verification, user }) => {
        requireUserVerified(verification.registrationInfo?.userVerified);
        if ((await passkeysOf(store, user.id)).length >= MAX_PASSKEYS)
          throw new APIError('CONFLICT', {
            code: 'conflict',
            message: 'There are too many passkeys already.',
          });
      },
    },
    authentication: {
      afterVerification: async ({ verification, clientData }) => {
        requireUserVerified(verification.authenticationInfo.userVerified);
        await store.db
          .updateTable('auth_passkey')
          .set({ usedAt: clock.now() })
          .where('credentialID', '=', clientData.id)
          .execute();
      },
    },
  });
}

function requireUserVerified(checked: boolean | undefined): void {
  if (checked === true) return;
  throw new APIError('UNAUTHORIZED', {
    code: 'invalid_credentials',
    message: 'The device did not check who is using it.',
  });
}
