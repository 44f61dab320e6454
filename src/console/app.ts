import type { z } from 'zod';
import { writeAudit } from '../activity/audit.ts';
import { makeReader } from '../activity/reader.ts';
import { NO_BODY, type BodyRule } from '../http/request-body.ts';
import type { HttpRoute, IncomingRequest, Method } from '../http/router.ts';
import { requireConfirmed, type Visitor } from '../identity/sign-in/session.ts';
import { Fault } from '../std/fault.ts';
import { answer, CONSOLE_ERRORS, listAnswer, withApiHeaders } from './answers.ts';
import type { ConsoleParts, RouteParts } from './parts.ts';
import { authMeta, type RouteDeclaration } from './route.ts';
import { ROUTES } from './routes.ts';
import { requireOwnPage } from './security.ts';

/** The console's API: everything under /api/console and /api/auth. */
export interface Console {
  readonly routes: readonly HttpRoute[];
  close(): Promise<void>;
}

export function makeConsole(parts: ConsoleParts): Console {
  const reader = makeReader(parts.store);
  return { routes: consoleRoutes({ ...parts, reader }), close: () => reader.close() };
}

export function consoleRoutes(parts: RouteParts): HttpRoute[] {
  return (ROUTES as readonly RouteDeclaration[]).map((route) => {
    const [method, path = ''] = route.name.split(' ');
    const names = Array.from(path.matchAll(/\{(\w+)\}/g), ([, name = '']) => name);
    return {
      method: method as Method,
      path: path.replaceAll(/\{\w+\}/g, '*'),
      door: 'console',
      body: bodyRule(route),
      withinMs: route.withinMs,
      errors: CONSOLE_ERRORS,
      handle: (incoming) => serve(parts, { route, names }, incoming),
    };
  });
}

const MAX_BYTES = 65_536;

function bodyRule({ body, maxBytes = MAX_BYTES }: RouteDeclaration): BodyRule {
  return body ? { kind: 'json', maxBytes, mustSayJson: true, mayBeEmpty: true } : NO_BODY;
}

interface NamedRoute {
  readonly route: RouteDeclaration;
  /** Of the path's parameters. */
  readonly names: readonly string[];
}

/** In this order: own page, access, query and body, fresh confirmation for sensitive actions, then the work. */
async function serve(
  parts: RouteParts,
  { route, names }: NamedRoute,
  incoming: IncomingRequest,
): Promise<Response> {
  const { request, requestId, requestRecord, origin, address } = incoming;
  requireOwnPage(request, origin);
  const user = await requireAccess(parts, route, incoming);
  if (user) {
    requestRecord.account = user.accountId;
    incoming.identify({ kind: 'account', id: user.accountId });
  }
  if (route.takesPlace) incoming.takePlace();
  const query = route.query && checked(route.query, queryOf(new URL(request.url)));
  const { value, size } = route.body ? await incoming.body.json() : NOTHING;
  const body = route.body && checked(route.body, value);
  if (route.confirmed && user) requireConfirmed(user, parts.clock);
  const params = Object.fromEntries(names.map((name, index) => [name, incoming.parameters[index] ?? '']));
  const meta = { requestId, requestRecord, origin, address };
  const call = { request, meta, user, params, query, body, size };
  const work = () =>
    route.handle(parts, {
      ...call,
      get deadline() {
        return incoming.deadline;
      },
      get memory() {
        return incoming.memory;
      },
    });
  const result =
    route.audit !== undefined && user
      ? await runAudited(parts, { action: route.audit, user, params, body }, work)
      : await work();
  if (result instanceof Response) return withApiHeaders(result, requestId);
  return route.compressed && typeof result === 'object' && result !== null
    ? await listAnswer(result, requestId, request)
    : answer(result, requestId);
}

const NOTHING = { value: {}, size: { bytes: 0, characters: 0 } };

/** The first thing that is wrong is told with its field. */
function checked<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const { success, data, error } = schema.safeParse(value);
  if (success) return data;
  const [issue] = error.issues;
  const unknown = issue?.code === 'unrecognized_keys' ? issue.keys[0] : undefined;
  const param = [...(issue?.path ?? []).map(String), ...(unknown === undefined ? [] : [unknown])].join('.');
  throw new Fault('invalid_field', issue?.message ?? 'This is not valid.', { param });
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
  incoming: IncomingRequest,
): Promise<Visitor | undefined> {
  const user = await auth.sessions.read(incoming.request.headers, authMeta(incoming));
  switch (who) {
    case 'public':
      return user;
    case 'setup':
      if (!(await setup.needed())) throw incoming.nothingHere();
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
  readonly params: Readonly<Record<string, string>>;
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
