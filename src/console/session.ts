import { z } from 'zod';
import { signedIn } from '../identity/sign-in/auth.ts';
import { AuthRefusal } from '../identity/sign-in/refusal.ts';
import { CONFIRMED_MS, millis, type Visitor } from '../identity/sign-in/session.ts';
import { readSite } from '../identity/sign-in/site.ts';
import { answer } from './answers.ts';
import type { SessionItem, SessionState, SignedInUser } from './contract.ts';
import type { RouteParts } from './parts.ts';
import { authMeta, type RouteHandlers } from './visit.ts';

type SessionRoutes =
  | 'GET /api/console/session'
  | 'POST /api/console/confirm'
  | 'GET /api/console/sessions'
  | 'DELETE /api/console/sessions/{id}'
  | 'GET /api/console/setup'
  | 'POST /api/console/setup';

const password = z.string().min(1).max(1_024);
const setupToken = z.string().max(100);
const setupSchema = z.strictObject({
  token: setupToken,
  email: z.string().max(512),
  password,
  name: z.string().max(100).optional(),
});

/** The current session, its confirmation, the list of sessions, and the first run. */
export function sessionRoutes(parts: RouteParts): Pick<RouteHandlers, SessionRoutes> {
  const { auth, setup } = parts;
  return {
    'GET /api/console/session': {
      async handle({ request, meta, visitor }) {
        const state = await sessionState(parts, visitor);
        // Every page begins with this call, so a session in use is extended here.
        const cookie = visitor && (await auth.sessions.prolong(request.headers, authMeta(meta)));
        return cookie === undefined ? state : answer(state, meta.requestId, { 'set-cookie': cookie });
      },
    },
    'POST /api/console/confirm': {
      body: z.strictObject({ password }),
      handle: async ({ visitor, body, meta }) => ({
        confirmedUntil: await auth.confirm(visitor, body.password, authMeta(meta)),
      }),
    },
    'GET /api/console/sessions': {
      handle: async ({ visitor }) => ({ items: await sessionItems(parts, visitor) }),
    },
    'DELETE /api/console/sessions/{id}': {
      async handle({ visitor, params }) {
        const { numDeletedRows } = await parts.store.db
          .deleteFrom('auth_session')
          .where('id', '=', params.id)
          .where('userId', '=', visitor.accountId)
          .executeTakeFirstOrThrow();
        if (numDeletedRows === 0n) throw new AuthRefusal('not_found', 'There is no such session.');
        return {};
      },
    },
    'GET /api/console/setup': {
      query: z.strictObject({ token: setupToken.optional() }),
      async handle({ query, meta }) {
        auth.throttle.act('setup', meta.address);
        const expiresAt = await setup.check(query.token ?? '');
        return { valid: expiresAt !== undefined, expiresAt: expiresAt ?? null };
      },
    },
    'POST /api/console/setup': {
      body: setupSchema,
      async handle({ request, body: { token, ...person }, meta }) {
        auth.throttle.act('setup', meta.address);
        const accountId = await setup.consume(token, person);
        return signedIn(auth.sessions, accountId, { headers: request.headers, meta: authMeta(meta) });
      },
    },
  };
}

async function sessionState(parts: RouteParts, visitor: Visitor | undefined): Promise<SessionState> {
  const [site, setupNeeded] = await Promise.all([readSite(parts.store), parts.setup.needed()]);
  return {
    setupNeeded,
    signUp: site.signUp,
    socialProviders: [...parts.auth.socialProviders],
    site: {
      name: site.siteName,
      version: parts.version,
      topUpHint: site.topUpHint,
      contact: site.contact,
      currency: site.currency,
    },
    user: visitor ? await signedInUser(parts, visitor) : null,
  };
}

async function signedInUser({ store }: RouteParts, visitor: Visitor): Promise<SignedInUser> {
  const [preference, credential] = await Promise.all([
    store.db
      .selectFrom('preference')
      .selectAll()
      .where('account_id', '=', visitor.accountId)
      .executeTakeFirst(),
    store.db
      .selectFrom('auth_account')
      .select('id')
      .where('userId', '=', visitor.accountId)
      .where('providerId', '=', 'credential')
      .executeTakeFirst(),
  ]);
  return {
    accountId: visitor.accountId,
    email: visitor.email,
    name: visitor.name,
    role: visitor.role,
    twoFactor: visitor.twoFactor,
    hasPassword: credential !== undefined,
    confirmedUntil: visitor.provedAt + CONFIRMED_MS,
    language: preference?.language ?? null,
    theme: preference?.theme ?? 'system',
  };
}

const MAX_SESSIONS = 100;

async function sessionItems({ store, clock }: RouteParts, visitor: Visitor): Promise<SessionItem[]> {
  const rows = await store.db
    .selectFrom('auth_session')
    .select(['id', 'createdAt', 'updatedAt', 'expiresAt', 'ipAddress', 'userAgent'])
    .where('userId', '=', visitor.accountId)
    .where('expiresAt', '>', new Date(clock.now()).toISOString())
    .orderBy('updatedAt', 'desc')
    .limit(MAX_SESSIONS)
    .execute();
  return rows.map((row) => ({
    id: row.id,
    current: row.id === visitor.sessionId,
    createdAt: millis(row.createdAt),
    updatedAt: millis(row.updatedAt),
    expiresAt: millis(row.expiresAt),
    address: row.ipAddress === '' ? null : row.ipAddress,
    userAgent: row.userAgent === '' ? null : row.userAgent,
  }));
}
