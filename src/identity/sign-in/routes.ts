// What browsers and servers tell each other about passkeys has its shape from the WebAuthn standard.
import type {
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from '@simplewebauthn/browser';
import { z } from 'zod';

/**
 * The library's routes that are exposed, and what each accepts and returns. Everything else stays closed: the library's
 * past security advisories were in routes that this console does not need.
 */
export interface AuthRoute {
  readonly body: z.ZodType<Record<string, unknown>>;
  /** Whether it needs a session; `either`: it works with and without. */
  readonly who: 'public' | 'user' | 'either';
  /** The secret that the body could guess, if any: attempts are counted and slowed down. */
  readonly guesses?: 'password' | 'own-password' | 'code' | 'passkey';
  /** It stores a challenge, so it is rate-limited and is a POST here, even where the library has a GET. */
  readonly makesChallenge?: true;
  /** The password must have been entered within the last minutes. */
  readonly confirmed?: true;
  /** Its name in the audit log when an admin does it. */
  readonly audit?: string;
  /** Fields that are always added. */
  readonly always?: Readonly<Record<string, unknown>>;
  /** Fields of the library's response that are passed on, each with its default. */
  readonly gives: object;
}

const text = (max: number) => z.string().min(1).max(max);
/** Longer than any password may be, so that our own rule reports the limit; still far less than a megabyte. */
const password = text(1_024);
const nothing = z.strictObject({});
/** A path on this origin: one slash, then no other slash or backslash that a browser would take for a host. */
const localPath = z
  .string()
  .max(512)
  .regex(/^\/(?![/\\])[^\\\s]*$/, { error: 'must be a path on this site' });

/** The authenticator's response, bytes as Base64url. A credential's id has at most 1,023 bytes. */
const bytes = (max: number) =>
  z
    .string()
    .max(max)
    .regex(/^[\w-]*$/);
const credential = {
  id: bytes(1_364),
  rawId: bytes(1_364),
  type: z.literal('public-key'),
  authenticatorAttachment: z.enum(['platform', 'cross-platform']).optional(),
  // No extension is asked for; what a browser says about one all the same is dropped.
  clientExtensionResults: z
    .custom<object>((value) => typeof value === 'object' && value !== null)
    .transform(() => ({})),
};
const clientDataJSON = bytes(4_096);
const registration = z.strictObject({
  ...credential,
  response: z.strictObject({
    clientDataJSON,
    attestationObject: bytes(16_384),
    // Browsers repeat three parts of the attestation in readable form. They are taken and not used.
    authenticatorData: bytes(16_384).optional(),
    publicKey: bytes(4_096).optional(),
    publicKeyAlgorithm: z.int().optional(),
    transports: z
      .array(
        z
          .string()
          .max(32)
          .regex(/^[a-z-]+$/),
      )
      .max(8)
      .optional(),
  }),
});
const assertion = z.strictObject({
  ...credential,
  response: z.strictObject({
    clientDataJSON,
    authenticatorData: bytes(4_096),
    signature: bytes(4_096),
    userHandle: bytes(128).optional(),
  }),
});
export const passkeyName = z.string().trim().min(1).max(100);

/** The fields of an answer, each with what is sent where the library has none. */
function fields<Answer extends object>(defaults: Defaults<Answer>): Defaults<Answer> {
  return defaults;
}

type Defaults<Answer> = { readonly [Field in keyof Answer]: Answer[Field] | undefined };

const STATUS = fields<{ status: boolean }>({ status: true });

export const AUTH_ROUTES = {
  'sign-in/email': {
    who: 'public',
    guesses: 'password',
    body: z.strictObject({ email: text(512), password, rememberMe: z.boolean().optional() }),
    gives: fields<{ twoFactorRedirect: boolean }>({ twoFactorRedirect: false }),
  },
  'sign-in/social': {
    who: 'public',
    body: z.strictObject({
      provider: z.enum(['github', 'google']),
      callbackURL: localPath,
      errorCallbackURL: localPath.optional(),
    }),
    always: { disableRedirect: true },
    gives: fields<{ url: string }>({ url: undefined }),
  },
  'sign-out': { who: 'either', body: nothing, gives: fields<{ success: boolean }>({ success: true }) },
  'revoke-sessions': { who: 'user', body: nothing, gives: STATUS },
  'revoke-other-sessions': { who: 'user', body: nothing, gives: STATUS },
  'change-password': {
    who: 'user',
    guesses: 'own-password',
    body: z.strictObject({ currentPassword: password, newPassword: password }),
    always: { revokeOtherSessions: true },
    gives: STATUS,
  },
  'two-factor/enable': {
    who: 'user',
    guesses: 'own-password',
    body: z.strictObject({ password }),
    gives: fields<{ totpURI: string; backupCodes: string[] }>({ totpURI: undefined, backupCodes: undefined }),
  },
  'two-factor/verify-totp': {
    who: 'either',
    guesses: 'code',
    body: z.strictObject({ code: text(16), trustDevice: z.boolean().optional() }),
    gives: STATUS,
  },
  'two-factor/verify-backup-code': {
    who: 'either',
    guesses: 'code',
    body: z.strictObject({ code: text(64) }),
    gives: STATUS,
  },
  'two-factor/generate-backup-codes': {
    who: 'user',
    guesses: 'own-password',
    body: z.strictObject({ password }),
    gives: fields<{ backupCodes: string[] }>({ backupCodes: undefined }),
  },
  'two-factor/disable': {
    who: 'user',
    guesses: 'own-password',
    body: z.strictObject({ password }),
    gives: STATUS,
  },
  'passkey/generate-register-options': {
    who: 'user',
    confirmed: true,
    makesChallenge: true,
    body: nothing,
    gives: fields<PublicKeyCredentialCreationOptionsJSON>({
      challenge: undefined,
      rp: undefined,
      user: undefined,
      pubKeyCredParams: undefined,
      timeout: undefined,
      excludeCredentials: [],
      authenticatorSelection: undefined,
    }),
  },
  'passkey/verify-registration': {
    who: 'user',
    confirmed: true,
    audit: 'passkey.add',
    body: z.strictObject({ name: passkeyName, response: registration }),
    gives: fields<{ id: string }>({ id: undefined }),
  },
  'passkey/generate-authenticate-options': {
    who: 'public',
    makesChallenge: true,
    body: nothing,
    gives: fields<PublicKeyCredentialRequestOptionsJSON>({
      challenge: undefined,
      rpId: undefined,
      timeout: undefined,
      allowCredentials: [],
    }),
  },
  'passkey/verify-authentication': {
    who: 'public',
    guesses: 'passkey',
    body: z.strictObject({ response: assertion }),
    gives: STATUS,
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
