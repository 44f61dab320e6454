import { z } from 'zod';
import { signedIn } from '../identity/sign-in/auth.ts';
import { rightsOfOperator } from '../identity/accounts/roles.ts';
import { Fault } from '../std/fault.ts';
import { CONFIRMED_MS, millis, type Visitor } from '../identity/sign-in/session.ts';
import { readPublicPages, readSite } from '../identity/sign-in/site.ts';
import { answer } from './answers.ts';
import type { RouteParts } from './parts.ts';
import { authMeta, route } from './route.ts';
import { rightsOf } from './team-view.ts';
import { spenderOf } from './token.ts';

const password = z.string().min(1).max(1_024);
/** From the link that the server printed: `/setup/{token}`. */
const setupToken = z.string().max(100);
const setupSchema = z.strictObject({
  token: setupToken,
  email: z.string().max(512),
  password,
  name: z.string().max(100).optional(),
});

/** The current session, its confirmation, the list of sessions, and the first run. */
export const sessionRoutes = [
  /** The first call of every page; needs no session and never answers 401. */
  route('GET /api/console/session', {
    who: 'public',
    async handle(parts, { request, meta, user }) {
      const state = await sessionState(parts, user);
      // Every page begins with this call, so a session in use is extended here.
      const cookie = user && (await parts.auth.sessions.prolong(request.headers, authMeta(meta)));
      return cookie === undefined ? state : answer(state, meta.requestId, { 'set-cookie': cookie });
    },
  }),
  route('POST /api/console/confirm', {
    who: 'user',
    body: z.strictObject({ password }),
    handle: async ({ auth }, { user, body, meta }) => ({
      confirmedUntil: await auth.confirm(user, body.password, authMeta(meta)),
    }),
  }),
  route('GET /api/console/sessions', {
    who: 'user',
    handle: async (parts, { user }) => ({ items: await sessionItems(parts, user) }),
  }),
  route('DELETE /api/console/sessions/{id}', {
    who: 'user',
    async handle(parts, { user, params }) {
      const { numDeletedRows } = await parts.store.db
        .deleteFrom('auth_session')
        .where('id', '=', params.id)
        .where('userId', '=', user.accountId)
        .executeTakeFirstOrThrow();
      if (numDeletedRows === 0n) throw new Fault('not_found', 'There is no such session.');
      return {};
    },
  }),
  /** Whether the link is still good; 404 once an admin exists. */
  route('GET /api/console/setup', {
    who: 'setup',
    query: z.strictObject({ token: setupToken.optional() }),
    async handle({ auth, setup }, { query, meta }) {
      auth.throttle.act('setup', meta.address);
      const expiresAt = await setup.check(query.token ?? '');
      return { valid: expiresAt !== undefined, expiresAt: expiresAt ?? null };
    },
  }),
  route('POST /api/console/setup', {
    who: 'setup',
    body: setupSchema,
    async handle(
      { auth, setup },
      { request, body: { token, ...person }, meta },
    ): Promise<{ accountId: string } | Response> {
      auth.throttle.act('setup', meta.address);
      const accountId = await setup.consume(token, person);
      const user = { accountId, email: person.email };
      return signedIn(auth, user, { headers: request.headers, meta: authMeta(meta) });
    },
  }),
];

async function sessionState(parts: RouteParts, user: Visitor | undefined) {
  const [site, publicPages, setupNeeded] = await Promise.all([
    readSite(parts.store),
    readPublicPages(parts.store),
    parts.setup.needed(),
  ]);
  return {
    /** No admin exists yet: only the setup page makes sense. */
    setupNeeded,
    signUp: site.signUp,
    /** Whether this server sends mail: then a forgotten password can be reset without the operator. */
    sendsMail: parts.auth.mails.areSent,
    socialProviders: [...parts.auth.socialProviders],
    site: {
      name: site.siteName,
      version: parts.version,
      /** Where customers reach this server; `null`: where the page came from. */
      publicUrl: parts.publicUrl ?? null,
      /** How to top up an account; plain text, may be empty. */
      topUpHint: site.topUpHint,
      /** How to reach the operator: an email address, an https address or plain text; may be empty. */
      contact: site.contact,
      currency: site.currency,
      /** Whether there are /models, /status, /llms.txt and what belongs to them. */
      publicPages: publicPages.open,
    },
    user: user ? await signedInUser(parts, user) : null,
  };
}

async function signedInUser(parts: RouteParts, user: Visitor) {
  const { store } = parts;
  const [team, preference, credential, person] = await Promise.all([
    ownTeamName(parts, user),
    store.db.selectFrom('preference').selectAll().where('account_id', '=', user.accountId).executeTakeFirst(),
    store.db
      .selectFrom('auth_account')
      .select('id')
      .where('userId', '=', user.accountId)
      .where('providerId', '=', 'credential')
      .executeTakeFirst(),
    store.db
      .selectFrom('auth_user')
      .select('emailVerified')
      .where('id', '=', user.accountId)
      .executeTakeFirst(),
  ]);
  return {
    accountId: user.accountId,
    email: user.email,
    name: user.name,
    /** The operator's role; null: a customer. */
    role: user.role ?? null,
    rights: user.role === undefined ? [] : rightsOfOperator(user.role),
    twoFactor: user.twoFactor,
    /** Whether a link that was sent to the address was used. */
    emailVerified: Boolean(person?.emailVerified),
    /** False for a user who has only signed in through a social provider. */
    hasPassword: credential !== undefined,
    /** Until when sensitive actions need no password; in the past: POST /api/console/confirm first. */
    confirmedUntil: user.provedAt + CONFIRMED_MS,
    language: preference?.language ?? null,
    theme: preference?.theme ?? 'system',
    /** The team they are in; null: none. */
    team,
  };
}

async function ownTeamName(parts: RouteParts, user: Visitor) {
  const { team } = await spenderOf(parts, user);
  return team && { ...team, rights: rightsOf(team.role) };
}

const MAX_SESSIONS = 100;

/** The places where the account is signed in. */
async function sessionItems({ store, clock }: RouteParts, user: Visitor) {
  const rows = await store.db
    .selectFrom('auth_session')
    .select(['id', 'createdAt', 'updatedAt', 'expiresAt', 'ipAddress', 'userAgent'])
    .where('userId', '=', user.accountId)
    .where('expiresAt', '>', new Date(clock.now()).toISOString())
    .orderBy('updatedAt', 'desc')
    .limit(MAX_SESSIONS)
    .execute();
  return rows.map((row) => ({
    id: row.id,
    current: row.id === user.sessionId,
    createdAt: millis(row.createdAt),
    updatedAt: millis(row.updatedAt),
    expiresAt: millis(row.expiresAt),
    address: row.ipAddress === '' ? null : row.ipAddress,
    userAgent: row.userAgent === '' ? null : row.userAgent,
  }));
}
