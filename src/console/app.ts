import type { z } from 'zod';
import { writeAudit } from '../activity/audit.ts';
import { makeReader } from '../activity/reader.ts';
import { NO_BODY, type BodyRule } from '../http/request-body.ts';
import type { HttpRoute, IncomingRequest, Method } from '../http/router.ts';
import { requireConfirmed, type Visitor } from '../identity/sign-in/session.ts';
import { issueText } from '../http/issue-text.ts';
import { Fault } from '../std/fault.ts';
import { TurnsByCaller } from '../std/turns.ts';
import type { Operator } from '../identity/accounts/operators.ts';
import type { TeamRight } from '../identity/accounts/roles.ts';
import type { ErrorFormat } from '../http/response.ts';
import { keyedAccountId, type AccountId } from '../std/ids.ts';
import { answer, CONSOLE_ERRORS, listAnswer, withApiHeaders } from './answers.ts';
import {
  isInOperatorApi,
  operatorPath,
  OPERATOR_ERRORS,
  tokenOperator,
  operatorDocument,
} from './operator-document.ts';
import { operate, requireOperation } from './operation.ts';
import type { ConsoleParts, RouteParts } from './parts.ts';
import { authMeta, type RouteDeclaration } from './route.ts';
import { ROUTES } from './routes.ts';
import { requireOwnPage } from './security.ts';
import { requireTeamRight } from './team-view.ts';

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
  const turns = new TurnsByCaller();
  const operations = (ROUTES as readonly RouteDeclaration[]).flatMap((route) => [
    served(parts, { route, door: CONSOLE, turns }),
    ...(isInOperatorApi(route) ? [served(parts, { route, door: OPERATOR_API, turns })] : []),
  ]);
  return [...operations, documentRoute(parts)];
}

/** The document contains nothing that is not in the published sources, so it needs no token. */
function documentRoute(parts: RouteParts): HttpRoute {
  // Made on first request, because it takes longer than the rest of the startup.
  let document: Promise<object> | undefined;
  return {
    method: 'GET',
    path: operatorPath('/api/console/admin/openapi.json'),
    door: 'console',
    body: NO_BODY,
    errors: OPERATOR_ERRORS,
    handle: async ({ request, requestId }) =>
      await listAnswer(await (document ??= operatorDocument(ROUTES, parts.version)), requestId, request),
  };
}

/** The way by which a call comes: what it is asked for, and how its errors look. */
interface ConsoleDoor {
  pathOf(path: string): string;
  readonly errors: ErrorFormat;
  /** Throws unless the caller may use the route. The account is always the session's, or the token's, never one from the request. */
  callerOf(parts: RouteParts, route: RouteDeclaration, incoming: IncomingRequest): Promise<RouteCaller>;
}

const CONSOLE: ConsoleDoor = {
  pathOf: (path) => path,
  errors: CONSOLE_ERRORS,
  callerOf: sessionCaller,
};

const OPERATOR_API: ConsoleDoor = {
  pathOf: operatorPath,
  errors: OPERATOR_ERRORS,
  callerOf: async (parts, _route, incoming) => ({ operator: await tokenOperator(parts, incoming) }),
};

function served(parts: RouteParts, declared: Omit<NamedRoute, 'names'>): HttpRoute {
  const { route, door } = declared;
  const [method, path = ''] = route.name.split(' ');
  const names = Array.from(path.matchAll(/\{(\w+)\}/g), ([, name = '']) => name);
  return {
    method: method as Method,
    path: door.pathOf(path).replaceAll(/\{\w+\}/g, '*'),
    door: 'console',
    body: bodyRule(route),
    withinMs: route.withinMs,
    errors: door.errors,
    handle: (incoming) => serve(parts, { ...declared, names }, incoming),
  };
}

const MAX_BYTES = 65_536;

function bodyRule({ body, maxBytes = MAX_BYTES }: RouteDeclaration): BodyRule {
  return body ? { kind: 'json', maxBytes, mustSayJson: true, mayBeEmpty: true } : NO_BODY;
}

interface NamedRoute {
  readonly route: RouteDeclaration;
  /** The names of the path's parameters. */
  readonly names: readonly string[];
  readonly door: ConsoleDoor;
  readonly turns: TurnsByCaller;
}

interface RouteCaller {
  readonly user?: Visitor | undefined;
  readonly operator?: Operator | undefined;
}

/** In this order: who calls, what their role may, query and body, fresh confirmation for sensitive actions, then the work. */
async function serve(
  parts: RouteParts,
  { route, names, door, turns }: NamedRoute,
  incoming: IncomingRequest,
): Promise<Response> {
  const { request, requestId, requestRecord, origin, address } = incoming;
  const { user, operator } = await door.callerOf(parts, route, incoming);
  const callerId = user?.accountId ?? operator?.id;
  if (callerId !== undefined) {
    requestRecord.account = callerId;
    // A token has no account: what it takes counts for itself.
    incoming.identify({ kind: 'account', id: callerId as AccountId });
  }
  const params = Object.fromEntries(names.map((name, index) => [name, incoming.parameters[index] ?? '']));
  const operation = operator && { route, operator, params };
  if (operation) await requireOperation(parts, operation);
  if (route.takesSlot) incoming.takeSlot();
  const query = route.query && checked(route.query, queryOf(new URL(request.url)));
  const { value, size } = route.body ? await incoming.body.json() : NOTHING;
  const body = route.body && checked(route.body, value);
  if (route.confirmed && user) requireConfirmed(user, parts.clock);
  const meta = { requestId, requestRecord, origin, address };
  const call = { request, meta, user, operator, params, query, body, size };
  const work = async (once: string): Promise<Response> => {
    const result = await route.handle(parts, {
      ...call,
      once,
      get deadline() {
        return incoming.deadline;
      },
      get memory() {
        return incoming.memory;
      },
    });
    if (result instanceof Response) return withApiHeaders(result, requestId);
    return route.compressed && typeof result === 'object' && result !== null
      ? await listAnswer(result, requestId, request)
      : answer(result, requestId);
  };
  const { audit: action, team: right } = route;
  const recorded = async (): Promise<Response> => {
    if (operation) return await operate(parts, { ...operation, incoming, body }, work);
    if (!user || action === undefined || right === undefined) return await work('');
    const made = route.makesAccount ? keyedAccountId(requestId) : undefined;
    const change = { action, right, user, about: params['id'] ?? made, body };
    return await loggedInTeam(parts, change, () => work(''));
  };
  return await (callerId === undefined || hasOwnBounds(route) ? recorded() : turns.run(callerId, recorded));
}

/** What waits for somebody else must not keep the caller's pages waiting. */
function hasOwnBounds({ takesSlot, withinMs }: RouteDeclaration): boolean {
  return takesSlot === true || withinMs !== undefined;
}

const NOTHING = { value: {}, size: { bytes: 0, characters: 0 } };

/** The first thing that is wrong is told with its field. */
function checked<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const { success, data, error } = schema.safeParse(value);
  if (success) return data;
  const [issue] = error.issues;
  const unknown = issue?.code === 'unrecognized_keys' ? issue.keys[0] : undefined;
  const param = [...(issue?.path ?? []).map(String), ...(unknown === undefined ? [] : [unknown])].join('.');
  const text = issue && issueText(issue, param);
  throw new Fault('invalid_field', text ?? issue?.message ?? 'This is not valid.', { param });
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

/** A page of our own, with the session that the route asks for. */
async function sessionCaller(
  { auth, setup }: RouteParts,
  { who }: RouteDeclaration,
  incoming: IncomingRequest,
): Promise<RouteCaller> {
  requireOwnPage(incoming.request, incoming.origin);
  const user = await auth.sessions.read(incoming.request.headers, authMeta(incoming));
  if (who === 'setup' && !(await setup.needed())) throw incoming.nothingHere();
  if (!user && (who === 'user' || who === 'operator')) throw new Fault('unauthenticated', 'Sign in first.');
  if (!user || who !== 'operator') return { user };
  if (user.role === undefined) throw new Fault('not_allowed', 'This is for those who operate this server.');
  return {
    user,
    operator: { kind: 'person', id: user.accountId, role: user.role, personId: user.accountId },
  };
}

interface TeamChange {
  readonly action: string;
  readonly right: TeamRight;
  readonly user: Visitor;
  /** The account or invitation that is changed. */
  readonly about: string | undefined;
  readonly body: unknown;
}

/**
 * Recorded before it is done, for the team's owners; a refusal adds a second entry. Whoever may not change anything leaves
 * none: entries are kept for ever.
 */
async function loggedInTeam<Result>(
  parts: RouteParts,
  { action, right, user, about = '', body }: TeamChange,
  work: () => Promise<Result>,
): Promise<Result> {
  const { teamId } = await requireTeamRight(parts, user, right);
  parts.auth.throttle.act('team', user.accountId);
  const entry = { actor: user.accountId, target: teamId };
  const { store, clock } = parts;
  await writeAudit(store, { ...entry, action, detail: { account: about, ...recordable(body) } }, clock.now());
  try {
    return await work();
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'internal_error';
    await writeAudit(store, { ...entry, action: `${action}.refused`, detail: { code } }, clock.now());
    throw error;
  }
}

/** Not what an app is called: an entry cannot be changed, and an app can be anybody's. */
function recordable(body: unknown): Record<string, unknown> {
  const { name: _, ...said } = { name: undefined, ...(body as object | undefined) };
  return said;
}
