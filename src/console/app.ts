import { writeAudit } from '../activity/audit.ts';
import { makeReader } from '../activity/reader.ts';
import { requireConfirmed, type Visitor } from '../identity/sign-in/session.ts';
import { Fault } from '../std/fault.ts';
import { authRoute } from '../identity/sign-in/routes.ts';
import { answer, errorResponse, listAnswer, withApiHeaders } from './answers.ts';
import { readConsoleBody } from './body.ts';
import type { ConsoleParts, RouteParts } from './parts.ts';
import { authMeta, type ConsoleMeta, type RouteDeclaration } from './route.ts';
import { matchRoute, type MatchedRoute } from './routes.ts';
import { requireOwnPage } from './security.ts';

/** The console's API: everything under /api/console and /api/auth. */
export interface Console {
  fetch(request: Request, meta: ConsoleMeta): Promise<Response>;
  close(): Promise<void>;
}

export function makeConsole(parts: ConsoleParts): Console {
  const reader = makeReader(parts.store);
  const routeParts = { ...parts, reader };
  return {
    async fetch(request, meta) {
      const response = await respond(routeParts, request, meta).catch((error: unknown) =>
        errorResponse(error, meta, parts.log),
      );
      return request.method === 'HEAD' ? new Response(null, response) : response;
    },
    close: () => reader.close(),
  };
}

interface ConsoleRequest {
  readonly request: Request;
  readonly meta: ConsoleMeta;
  readonly url: URL;
}

async function respond(parts: RouteParts, request: Request, meta: ConsoleMeta): Promise<Response> {
  // Without a usable Host header the request's URL is the path alone.
  const url = new URL(request.url, meta.origin);
  const { pathname } = url;
  const incoming = { request, meta, url };
  const method = request.method === 'HEAD' ? 'GET' : request.method;
  const matched = matchRoute(method, pathname);
  if (matched) return await serve(parts, matched, incoming);
  const [, authName] = /^\/api\/auth\/(.*)$/.exec(pathname) ?? [];
  if (authName !== undefined && method === 'POST') return await serveAuth(parts, incoming, authName);
  const [, provider] = /^callback\/([^/]+)$/.exec(authName ?? '') ?? [];
  if (provider !== undefined && method === 'GET') return await serveCallback(parts, incoming, provider);
  throw notFound();
}

/** In this order: own page, access, query and body, fresh confirmation for sensitive actions, then the work. */
async function serve(
  parts: RouteParts,
  { route, params }: MatchedRoute,
  incoming: ConsoleRequest,
): Promise<Response> {
  const { request, meta, url } = incoming;
  requireOwnPage(request, meta.origin);
  const user = await requireAccess(parts, route, incoming);
  if (user && meta.requestRecord) meta.requestRecord.account = user.accountId;
  const query = route.query?.parse(queryOf(url));
  const body = route.body?.parse((await readConsoleBody(request, route.maxBytes)).value);
  if (route.confirmed && user) requireConfirmed(user, parts.clock);
  const work = () => route.handle(parts, { request, meta, user, params, query, body });
  const result =
    route.audit !== undefined && user
      ? await runAudited(parts, { action: route.audit, user, params, body }, work)
      : await work();
  if (result instanceof Response) return withApiHeaders(result, meta.requestId);
  return route.compressed && typeof result === 'object' && result !== null
    ? await listAnswer(result, meta.requestId, request)
    : answer(result, meta.requestId);
}

/** If a name occurs twice, its first value counts. */
function queryOf({ searchParams }: URL): Record<string, string> {
  const query: Record<string, string> = {};
  for (const [name, value] of searchParams) {
    // Postgres takes no NUL in a text.
    if (value.includes('\0'))
      throw new Fault('invalid_field', 'A NUL character is in no name.', { param: name });
    query[name] ??= value;
  }
  return query;
}

/** Throws unless the caller may use the route. The account is always the session's, never one from the request. */
async function requireAccess(
  { auth, setup }: RouteParts,
  { who }: RouteDeclaration,
  { request, meta }: ConsoleRequest,
): Promise<Visitor | undefined> {
  const user = await auth.sessions.read(request.headers, authMeta(meta));
  switch (who) {
    case 'public':
      return user;
    case 'setup':
      if (!(await setup.needed())) throw notFound();
      return user;
    case 'user':
    case 'admin':
      if (!user) throw new Fault('unauthenticated', 'Sign in first.');
      if (who === 'admin' && user.role !== 'admin') throw new Fault('forbidden', 'This is for admins.');
      return user;
    default:
      return who satisfies never;
  }
}

interface AuditedAction {
  readonly action: string;
  readonly user: Visitor;
  readonly params: MatchedRoute['params'];
  readonly body: unknown;
}

/** Recorded before it is done, so that nothing is done without a record; a refusal adds a second entry. */
async function runAudited(
  parts: RouteParts,
  { action, user, params, body }: AuditedAction,
  work: () => Promise<unknown>,
): Promise<unknown> {
  const entry = { actor: user.accountId, target: params['id'] ?? '', detail: recordable(body) };
  await writeAudit(parts.store, { ...entry, action }, parts.clock.now());
  try {
    return await work();
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'internal_error';
    const refused = { ...entry, action: `${action}.refused`, detail: { code } };
    await writeAudit(parts.store, refused, parts.clock.now());
    throw error;
  }
}

/** Secrets, also in addresses, and who an account belongs to: the audit log is never changed, and an account may be removed. */
const UNRECORDED_FIELDS = new Set(['password', 'value', 'yaml', 'once', 'email', 'name', 'url']);

function recordable(body: unknown): Record<string, unknown> {
  if (typeof body !== 'object' || body === null) return {};
  return Object.fromEntries(Object.entries(body).filter(([name]) => !UNRECORDED_FIELDS.has(name)));
}

async function serveAuth(
  parts: RouteParts,
  { request, meta }: ConsoleRequest,
  name: string,
): Promise<Response> {
  requireOwnPage(request, meta.origin);
  const { value } = await readConsoleBody(request);
  const user = await parts.auth.sessions.read(request.headers, authMeta(meta));
  const result = await parts.auth.post(name, value, {
    headers: request.headers,
    meta: authMeta(meta),
    visitor: user,
  });
  const audit = authRoute(name)?.audit;
  if (audit !== undefined && user?.role === 'admin') {
    const entry = { actor: user.accountId, action: audit, target: user.accountId, detail: {} };
    await writeAudit(parts.store, entry, parts.clock.now());
  }
  return withApiHeaders(result, meta.requestId);
}

/** Where a social provider sends the browser back to; the library checks that the sign-in began here. */
async function serveCallback(
  { auth }: RouteParts,
  { request, meta }: ConsoleRequest,
  provider: string,
): Promise<Response> {
  if (!auth.socialProviders.some((name) => name === provider)) throw notFound();
  return withApiHeaders(await auth.callback(request, authMeta(meta)), meta.requestId);
}

function notFound(): Fault {
  return new Fault('not_found', 'There is nothing here.');
}
