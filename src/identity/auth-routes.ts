import { z } from 'zod';

/**
 * The library's routes that are open, and what each takes and gives. Everything else it offers stays shut: its past
 * advisories were in routes that nobody needed.
 */
export interface AuthRoute {
  readonly body: z.ZodType<Record<string, unknown>>;
  /** Whether it needs a session; `either`: it works with and without. */
  readonly who: 'public' | 'user' | 'either';
  /** What the body proves by guessing, if anything: tries at it are counted and slowed down. */
  readonly guesses?: 'password' | 'own-password' | 'code';
  /** Fields that are always sent along. */
  readonly always?: Readonly<Record<string, unknown>>;
  /** Fields of the library's answer that are passed on. */
  readonly gives: readonly string[];
}

const text = (max: number) => z.string().min(1).max(max);
/** Longer than any password may be, so that the limit is told by our own rule; still no way to send a megabyte. */
const password = text(1_024);
const nothing = z.strictObject({});
/** A path on this origin: one slash, then no other slash or backslash that a browser would take for a host. */
const localPath = z
  .string()
  .max(512)
  .regex(/^\/(?![/\\])[^\\\s]*$/, { error: 'must be a path on this site' });

export const AUTH_ROUTES = {
  'sign-in/email': {
    who: 'public',
    guesses: 'password',
    body: z.strictObject({ email: text(512), password, rememberMe: z.boolean().optional() }),
    gives: ['twoFactorRedirect'],
  },
  'sign-in/social': {
    who: 'public',
    body: z.strictObject({
      provider: z.enum(['github', 'google']),
      callbackURL: localPath,
      errorCallbackURL: localPath.optional(),
    }),
    always: { disableRedirect: true },
    gives: ['url'],
  },
  'sign-out': { who: 'either', body: nothing, gives: ['success'] },
  'revoke-sessions': { who: 'user', body: nothing, gives: ['status'] },
  'revoke-other-sessions': { who: 'user', body: nothing, gives: ['status'] },
  'change-password': {
    who: 'user',
    guesses: 'own-password',
    body: z.strictObject({ currentPassword: password, newPassword: password }),
    always: { revokeOtherSessions: true },
    gives: ['status'],
  },
  'two-factor/enable': {
    who: 'user',
    guesses: 'own-password',
    body: z.strictObject({ password }),
    gives: ['totpURI', 'backupCodes'],
  },
  'two-factor/verify-totp': {
    who: 'either',
    guesses: 'code',
    body: z.strictObject({ code: text(16), trustDevice: z.boolean().optional() }),
    gives: ['status'],
  },
  'two-factor/verify-backup-code': {
    who: 'either',
    guesses: 'code',
    body: z.strictObject({ code: text(64) }),
    gives: ['status'],
  },
  'two-factor/generate-backup-codes': {
    who: 'user',
    guesses: 'own-password',
    body: z.strictObject({ password }),
    gives: ['backupCodes'],
  },
  'two-factor/disable': {
    who: 'user',
    guesses: 'own-password',
    body: z.strictObject({ password }),
    gives: ['status'],
  },
} as const satisfies Record<string, AuthRoute>;

export type AuthRouteName = keyof typeof AUTH_ROUTES;

export function authRoute(name: string): AuthRoute | undefined {
  return Object.hasOwn(AUTH_ROUTES, name) ? AUTH_ROUTES[name as AuthRouteName] : undefined;
}

export const signUpSchema = z.strictObject({
  email: text(512),
  password,
  name: z.string().max(100).optional(),
  inviteCode: z.string().max(64).optional(),
});
