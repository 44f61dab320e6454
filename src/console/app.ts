import { Hono } from 'hono';
import { writeAudit } from '../activity/audit.ts';
import { makeReader } from '../activity/reader.ts';
import { AuthRefusal } from '../identity/sign-in/refusal.ts';
import type { Visitor } from '../identity/sign-in/session.ts';
import { authRoute } from '../identity/sign-in/routes.ts';
import { accountActRoutes } from './admin/account-acts.ts';
import { adminAccountRoutes } from './admin/accounts.ts';
import { backendRoutes } from './admin/backends.ts';
import { catalogRoutes } from './admin/catalog.ts';
import { codeRoutes } from './admin/codes.ts';
import { moneyRoutes } from './admin/money.ts';
import { adminOverviewRoutes } from './admin/overview.ts';
import { adminRequestRoutes } from './admin/requests.ts';
import { siteRoutes } from './admin/site.ts';
import { answer, withApiHeaders, errorResponse } from './answers.ts';
import { billingRoutes } from './billing.ts';
import { readConsoleBody } from './body.ts';
import { requireConfirmed } from '../identity/sign-in/confirmation.ts';
import type { ConsoleRoute } from './contract.ts';
import { imageRoutes } from './images.ts';
import { modelRoutes } from './models.ts';
import { overviewRoutes } from './overview.ts';
import type { ConsoleParts, RouteParts } from './parts.ts';
import { passkeyRoutes } from './passkeys.ts';
import { passwordResetRoutes } from './password-reset.ts';
import { playgroundRoutes } from './playground.ts';
import { requestRoutes } from './requests.ts';
import { ROUTES, type RouteRule } from './routes.ts';
import { requireOwnPage } from './security.ts';
import { sessionRoutes } from './session.ts';
import { settingsRoutes } from './settings.ts';
import { tokenRoutes } from './token.ts';
import { usageRoutes } from './usage.ts';
import { authMeta, type ConsoleMeta, type RouteHandlers } from './visit.ts';

/** The console's API: everything under /api/console and /api/auth. */
export interface Console {
  fetch(request: Request, meta: ConsoleMeta): Promise<Response>;
  close(): Promise<void>;
}

interface Env {
  Bindings: { meta: ConsoleMeta };
}

export function makeConsole(parts: ConsoleParts): Console {
  const reader = makeReader(parts.store);
  const app = consoleApp({ ...parts, reader });
  return {
    fetch: async (request, meta) => await app.fetch(request, { meta }),
    close: () => reader.close(),
  };
}

/** Built from the route table: a route that is not in it does not exist. */
export function consoleApp(parts: RouteParts): Hono<Env> {
  const app = new Hono<Env>();
  const endpoints = allEndpoints(parts);
  for (const key of Object.keys(ROUTES) as ConsoleRoute[]) {
    const [method = '', path = ''] = key.split(' ');
    app.on(method, path.replaceAll(/\{(\w+)\}/g, ':$1'), (context) =>
      serve(
        parts,
        { rule: ROUTES[key], endpoint: endpoints[key] },
        {
          request: context.req.raw,
          meta: context.env.meta,
          params: context.req.param(),
          query: context.req.query(),
        },
      ),
    );
  }
  app.post('/api/auth/*', (context) => serveAuth(parts, context.req.raw, context.env.meta));
  app.get('/api/auth/callback/:provider', (context) =>
    serveCallback(parts, context.req.raw, context.env.meta, context.req.param('provider')),
  );
  app.notFound((context) => errorResponse(notFound(), context.env.meta.requestId, parts.log));
  app.onError((error, context) => errorResponse(error, context.env.meta.requestId, parts.log));
  return app;
}

function allEndpoints(parts: RouteParts): RouteHandlers {
  return {
    ...sessionRoutes(parts),
    ...passwordResetRoutes(parts),
    ...modelRoutes(parts),
    ...overviewRoutes(parts),
    ...tokenRoutes(parts),
    ...usageRoutes(parts),
    ...requestRoutes(parts),
    ...imageRoutes(parts),
    ...billingRoutes(parts),
    ...settingsRoutes(parts),
    ...passkeyRoutes(parts),
    ...playgroundRoutes(parts),
    ...adminOverviewRoutes(parts),
    ...adminAccountRoutes(parts),
    ...accountActRoutes(parts),
    ...moneyRoutes(parts),
    ...adminRequestRoutes(parts),
    ...codeRoutes(parts),
    ...catalogRoutes(parts),
    ...backendRoutes(parts),
    ...siteRoutes(parts),
  };
}

interface IncomingCall {
  readonly request: Request;
  readonly meta: ConsoleMeta;
  readonly params: Record<string, string>;
  readonly query: Record<string, string>;
}

interface Target {
  readonly rule: RouteRule;
  readonly endpoint: UntypedHandler;
}

/** A route handler without its types: `serve` checks at run time what they say at compile time. */
interface UntypedHandler {
  readonly query?: { parse(value: unknown): unknown };
  readonly body?: { parse(value: unknown): unknown };
  handle(call: unknown): Promise<unknown>;
}

/** In this order: own page, access, query and body, fresh confirmation for sensitive actions, then the work. */
async function serve(
  parts: RouteParts,
  { rule, endpoint }: Target,
  incoming: IncomingCall,
): Promise<Response> {
  const { request, meta, params } = incoming;
  requireOwnPage(request, meta.origin);
  const visitor = await requireAccess(parts, rule, incoming);
  const query = endpoint.query ? endpoint.query.parse(incoming.query) : {};
  const body = endpoint.body
    ? endpoint.body.parse((await readConsoleBody(request, rule.maxBytes)).value)
    : undefined;
  if (rule.confirmed && visitor) requireConfirmed(visitor, parts.clock);
  const work = () => endpoint.handle({ request, meta, visitor, params, query, body });
  const result =
    rule.audit !== undefined && visitor
      ? await runAudited(parts, { action: rule.audit, visitor, params, body }, work)
      : await work();
  return result instanceof Response ? withApiHeaders(result, meta.requestId) : answer(result, meta.requestId);
}

/** Throws unless the caller may use the route. The account is always the session's, never one from the request. */
async function requireAccess(
  { auth, setup }: RouteParts,
  rule: RouteRule,
  { request, meta }: IncomingCall,
): Promise<Visitor | undefined> {
  const visitor = await auth.sessions.read(request.headers, authMeta(meta));
  switch (rule.who) {
    case 'public':
      return visitor;
    case 'setup':
      if (!(await setup.needed())) throw notFound();
      return visitor;
    case 'user':
    case 'admin':
      if (!visitor) throw new AuthRefusal('unauthenticated', 'Sign in first.');
      if (rule.who === 'admin' && visitor.role !== 'admin')
        throw new AuthRefusal('forbidden', 'This is for admins.');
      return visitor;
    default:
      return rule.who satisfies never;
  }
}

interface AuditedAction {
  readonly action: string;
  readonly visitor: Visitor;
  readonly params: Record<string, string>;
  readonly body: unknown;
}

/** Recorded before it is done, so that nothing is done without a record; a refusal adds a second entry. */
async function runAudited(
  parts: RouteParts,
  act: AuditedAction,
  work: () => Promise<unknown>,
): Promise<unknown> {
  const entry = {
    actor: act.visitor.accountId,
    target: act.params['id'] ?? '',
    detail: withoutSecrets(act.body),
  };
  await writeAudit(parts.store, { ...entry, action: act.action }, parts.clock.now());
  try {
    return await work();
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'internal_error';
    const refused = { ...entry, action: `${act.action}.refused`, detail: { code } };
    await writeAudit(parts.store, refused, parts.clock.now());
    throw error;
  }
}

const SECRET_FIELDS = new Set(['password', 'value', 'yaml', 'once']);

function withoutSecrets(body: unknown): Record<string, unknown> {
  if (typeof body !== 'object' || body === null) return {};
  return Object.fromEntries(Object.entries(body).filter(([name]) => !SECRET_FIELDS.has(name)));
}

async function serveAuth(parts: RouteParts, request: Request, meta: ConsoleMeta): Promise<Response> {
  requireOwnPage(request, meta.origin);
  const { value } = await readConsoleBody(request);
  const visitor = await parts.auth.sessions.read(request.headers, authMeta(meta));
  const name = new URL(request.url).pathname.slice('/api/auth/'.length);
  const result = await parts.auth.post(name, value, {
    headers: request.headers,
    meta: authMeta(meta),
    visitor,
  });
  const audit = authRoute(name)?.audit;
  if (audit !== undefined && visitor?.role === 'admin') {
    const entry = { actor: visitor.accountId, action: audit, target: visitor.accountId, detail: {} };
    await writeAudit(parts.store, entry, parts.clock.now());
  }
  return withApiHeaders(result, meta.requestId);
}

/** Where a social provider sends the browser back to; the library checks that the sign-in began here. */
async function serveCallback(
  { auth }: RouteParts,
  request: Request,
  meta: ConsoleMeta,
  provider: string,
): Promise<Response> {
  if (!auth.socialProviders.some((name) => name === provider)) throw notFound();
  return withApiHeaders(await auth.callback(request, authMeta(meta)), meta.requestId);
}

function notFound(): AuthRefusal {
  return new AuthRefusal('not_found', 'There is nothing here.');
}
