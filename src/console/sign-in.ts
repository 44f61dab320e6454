import type { z } from 'zod';
import { writeAudit } from '../activity/audit.ts';
import { AUTH_ROUTES, signUpSchema, type AuthRoute, type AuthRouteName } from '../identity/sign-in/routes.ts';
import { Fault } from '../std/fault.ts';
import type { RouteParts } from './parts.ts';
import { authMeta, route, type RouteCall, type RouteDeclaration } from './route.ts';

/** Signing in, up and out, with passwords, second factors, passkeys and other providers. */
export const signInRoutes = [
  route('POST /api/auth/sign-up/email', {
    who: 'public',
    body: signUpSchema,
    handle: async (parts, call): Promise<{ accountId: string } | Response> =>
      await post(parts, 'sign-up/email', call),
  }),
  /** With `twoFactorRedirect` there is no session yet: ask for a code and send it to one of the two that verify it. */
  libraryRoute('sign-in/email'),
  /** Go to `url`. */
  libraryRoute('sign-in/social'),
  libraryRoute('sign-out'),
  /** Ends every session of this account, this one included. */
  libraryRoute('revoke-sessions'),
  libraryRoute('revoke-other-sessions'),
  /** Ends every other session. */
  libraryRoute('change-password'),
  /** Shows the secret (`otpauth://…` for a QR code) and the backup codes once; off until a code was verified. */
  libraryRoute('two-factor/enable'),
  /** Finishes enabling (with a session) or signing in (without one). */
  libraryRoute('two-factor/verify-totp'),
  libraryRoute('two-factor/verify-backup-code'),
  libraryRoute('two-factor/generate-backup-codes'),
  libraryRoute('two-factor/disable'),
  /** Adding a passkey: ask what to create, create it, send it back within five minutes. */
  libraryRoute('passkey/generate-register-options'),
  libraryRoute('passkey/verify-registration'),
  /** Signing in with one; it stands for password and second factor together. */
  libraryRoute('passkey/generate-authenticate-options'),
  libraryRoute('passkey/verify-authentication'),
  /** Where a social provider sends the browser back to; the library checks that the sign-in began here. */
  route('GET /api/auth/callback/{provider}', {
    who: 'public',
    async handle({ auth }, { request, meta, params }): Promise<Response> {
      if (!auth.socialProviders.some((name) => name === params.provider))
        throw new Fault('not_found', 'There is nothing at this path.');
      return await auth.callback(request, authMeta(meta));
    },
  }),
];

type PassedOn<Fields> = { [Field in keyof Fields]: Exclude<Fields[Field], undefined> };
type AnswerOf<Name extends AuthRouteName> = PassedOn<(typeof AUTH_ROUTES)[Name]['gives']>;

type LibraryRoute<Name extends AuthRouteName> = RouteDeclaration<
  `POST /api/auth/${Name}`,
  'public' | 'user',
  z.ZodUndefined,
  (typeof AUTH_ROUTES)[Name]['body'],
  AnswerOf<Name> | Response
>;

/** A route of the sign-in library, as its table declares it. */
function libraryRoute<const Name extends AuthRouteName>(name: Name): LibraryRoute<Name> {
  const declared: AuthRoute = AUTH_ROUTES[name];
  return {
    name: `POST /api/auth/${name}`,
    who: declared.who === 'user' ? 'user' : 'public',
    body: AUTH_ROUTES[name].body,
    handle: async (parts, call) => {
      const response = await post(parts, name, call);
      const { user } = call;
      if (declared.audit !== undefined && user?.role !== undefined) {
        const entry = { actor: user.accountId, action: declared.audit, target: user.accountId, detail: {} };
        await writeAudit(parts.store, entry, parts.clock.now());
      }
      return response;
    },
  };
}

async function post(
  { auth }: RouteParts,
  name: string,
  { request, meta, user, body }: Pick<RouteCall, 'request' | 'meta' | 'user' | 'body'>,
): Promise<Response> {
  return await auth.post(name, body, { headers: request.headers, meta: authMeta(meta), visitor: user });
}
