import { betterAuth, type BetterAuthOptions } from 'better-auth';
import { APIError } from 'better-auth/api';
import { twoFactor } from 'better-auth/plugins';
import type { Clock } from '../../std/clock.ts';
import { newAccountId, randomPart } from '../../std/ids.ts';
import type { Log } from '../../std/log.ts';
import type { Store } from '../../store/store.ts';
import { normalEmail } from './email.ts';
import { MAX_PASSWORD, MIN_PASSWORD, type Passwords } from './password.ts';
import { passkeyPlugin } from './passkey.ts';
import { insertAccount } from './people.ts';
import { AuthRefusal } from './refusal.ts';
import { cookiePrefix, SESSION_REFRESH_SECONDS, SESSION_SECONDS } from './session.ts';
import { signUpMode } from './site.ts';

/** The sign-in library behind a request and a response, configured; `auth.ts` decides what reaches it. */
export interface AuthLibrary {
  handler(request: Request): Promise<Response>;
}

export interface LibraryParts {
  readonly store: Store;
  readonly passwords: Passwords;
  readonly secret: string;
  readonly social: SocialConfig;
  readonly clock: Clock;
  readonly log: Log;
}

export interface SocialConfig {
  readonly github?: { readonly clientId: string; readonly clientSecret: string } | undefined;
  readonly google?: { readonly clientId: string; readonly clientSecret: string } | undefined;
}

/** The header in which `auth.ts` tells the library the client's address; a client's own header of that name is dropped. */
export const ADDRESS_HEADER = 'x-tollgate-address';

/** Cookies differ between HTTP and HTTPS, and the library fixes them when it is made: there is one of it for each. */
export function makeLibrary(parts: LibraryParts, secure: boolean): AuthLibrary {
  return betterAuth(libraryOptions(parts, secure));
}

export function libraryOptions(parts: LibraryParts, secure: boolean) {
  const { store, secret, clock, log } = parts;
  return {
    appName: 'Tollgate',
    // The host of the request, which is where the browser is; anything else would come from the environment.
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
      // What needs a fresh session is for `auth.ts` to say, which knows about passwords entered again.
      freshAge: 0,
    },
    // Somebody who signed up with another person's address must not get hold of them when they sign in with a provider.
    account: { modelName: 'auth_account', accountLinking: { enabled: false }, encryptOAuthTokens: true },
    verification: { modelName: 'auth_verification' },
    plugins: [
      twoFactor({ issuer: 'Tollgate', twoFactorTable: 'auth_two_factor' }),
      passkeyPlugin(store, clock),
    ],
    databaseHooks: databaseHooks(store, clock),
    rateLimit: { enabled: false },
    telemetry: { enabled: false },
    onAPIError: { errorURL: '/sign-in' },
    logger: { level: 'error', log: (level, message) => log.warn('sign_in_library', { level, message }) },
    advanced: {
      // `__Host-` is our prefix's own beginning; the library's switch would put `__Secure-` before it.
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
    // Signing up makes an account of ours in the same transaction, so it is done by `people`, not here.
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

function databaseHooks(store: Store, clock: Clock): NonNullable<BetterAuthOptions['databaseHooks']> {
  return {
    user: {
      create: {
        // Only providers create people through the library.
        before: (user) => Promise.resolve({ data: { ...user, email: normalEmail(user.email) } }),
      },
    },
    session: {
      create: {
        before: async (session) => {
          await admitSession(store, session.userId, clock.now()).catch(asLibraryError);
        },
      },
    },
  };
}

/** A disabled account gets no session. Somebody new from a provider gets their account here, at the latest. */
async function admitSession(store: Store, userId: string, now: number): Promise<void> {
  const account = await store.db
    .selectFrom('account')
    .select('status')
    .where('id', '=', userId)
    .executeTakeFirst();
  if (account?.status === 'active') return;
  if (account) throw new AuthRefusal('forbidden', 'This account is disabled.');
  const user = await store.db
    .selectFrom('auth_user')
    .select('email')
    .where('id', '=', userId)
    .executeTakeFirstOrThrow();
  await store.db
    .transaction()
    .execute((tx) => insertAccount(tx, { id: userId, email: user.email, role: 'user', now }));
}

/** The library answers its own errors with their status and anything else with 500. */
function asLibraryError(error: unknown): never {
  if (!(error instanceof AuthRefusal)) throw error;
  const status = error.code === 'service_unavailable' ? 'SERVICE_UNAVAILABLE' : 'FORBIDDEN';
  throw new APIError(status, { code: error.code, message: error.message });
}
