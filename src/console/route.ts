import { z } from 'zod';
import type { AuditedState } from '../activity/audit.ts';
import type { JsonBody } from '../http/request-body.ts';
import type { IncomingRequest, Method } from '../http/router.ts';
import type { OperatorRight, TeamRight } from '../identity/accounts/roles.ts';
import type { Operator } from '../identity/accounts/operators.ts';
import type { AuthMeta, Visitor } from '../identity/sign-in/session.ts';
import type { RequestId } from '../std/ids.ts';
import type { RequestRecord } from '../std/request-record.ts';
import type { RouteParts } from './parts.ts';

/** Method and path; `{name}` in the path is a parameter. */
export type RouteName = `${Exclude<Method, 'HEAD'>} /api/${'console' | 'auth'}/${string}`;

/** Who may call a route. `setup`: anyone, but only until the first admin exists. `operator`: an {@link Operation}. */
export type RouteAccess = 'public' | 'setup' | 'user' | 'operator';

/**
 * What operators do. It is declared once and has two doors: the console, with a session, and the operators' API, with a
 * token. Both decide by the same row of the table of rights, count the same keys and write the same records.
 */
interface Operation {
  readonly may: OperatorRight;
  /** In the document of the operators' API. */
  readonly summary: string;
  /** Only people in the console may do it: a token makes no tokens. */
  readonly consoleOnly?: true;
  /** It adds or takes money: an Idempotency-Key must come with it, and `once` is what the ledger books it under. */
  readonly money?: true;
  /** Its answer contains a secret that is shown once, so it is not kept under the Idempotency-Key. */
  readonly secret?: true;
  /** Fields of the body that the audit log has although they are left out elsewhere: here they name nobody. */
  readonly recorded?: readonly string[];
  /** With `secret`: the same `once` makes the same answer again, so a repetition is answered although no answer is kept. */
  readonly repeats?: true;
  /** What it changes, in words and amounts, as the audit log tells it before and after. */
  state?(parts: RouteParts, id: string): Promise<AuditedState>;
}

/** One route of the console's API. Server, authorisation test and the types of the pages' client are made from it. */
export interface RouteDeclaration<
  Name extends RouteName = RouteName,
  Who extends RouteAccess = RouteAccess,
  Query extends z.ZodType = z.ZodType,
  Body extends z.ZodType = z.ZodType,
  Answer = unknown,
> extends Partial<Operation> {
  readonly name: Name;
  readonly who: Who;
  /** The password must have been entered within the last minutes. */
  readonly confirmed?: true;
  /** Its name in the audit log. Every operation that changes something has one. */
  readonly audit?: string;
  /** With `audit`: it changes the caller's team. Roles without this right leave no entry; the others' name the team, and its owners see them. */
  readonly team?: TeamRight;
  /** With `team`: it makes an account, with an id from its request's, so that its entry names the account. */
  readonly makesAccount?: true;
  /** Its answer is compressed: a list, never anything with a token or another secret in it. */
  readonly compressed?: true;
  /** How large the body may be, where the usual limit is too small. Only for routes that need a session. */
  readonly maxBytes?: number;
  /** When its answer must have begun, if it asks somebody else; its handler's `deadline` ends then. */
  readonly withinMs?: number;
  /** It does as much work as a request of the public API, so it takes one of the same request slots. */
  readonly takesSlot?: true;
  /** It is about the caller's own money or their team's; of the team's only for roles with this right. */
  readonly wallet?: TeamRight;
  /** Both schemas refuse fields that they do not have. */
  readonly query?: Query;
  readonly body?: Body;
  /** Its result is sent as JSON, or as it is if it is a `Response`. */
  handle(parts: RouteParts, call: RouteCall<Name, Who, Query, Body>): Promise<Answer>;
}

/** One checked call of a route, as its handler gets it. */
export interface RouteCall<
  Name extends RouteName = RouteName,
  Who extends RouteAccess = RouteAccess,
  Query extends z.ZodType = z.ZodType,
  Body extends z.ZodType = z.ZodType,
> {
  readonly request: Request;
  readonly meta: ConsoleMeta;
  /** Who is signed in. */
  readonly user: Who extends 'user' ? Visitor : Visitor | undefined;
  readonly operator: Who extends 'operator' ? Operator : undefined;
  /** Set for an operation about money: what the ledger books under it counts once. */
  readonly once: string;
  readonly params: Readonly<Record<ParamName<Name>, string>>;
  readonly query: z.output<Query>;
  readonly body: z.output<Body>;
  /** How large the body was. */
  readonly size: JsonBody['size'];
  /** Aborted when the client leaves or the route's time is over. */
  readonly deadline: AbortSignal;
  /** The memory of the request, where everything that it loads counts. */
  readonly memory: IncomingRequest['memory'];
}

export type ParamName<Name extends string> = Name extends `${string}{${infer Param}}${infer Rest}`
  ? Param | ParamName<Rest>
  : never;

/** How a request arrived, as determined by `http/`. */
export interface ConsoleMeta {
  readonly requestId: RequestId;
  /** What is known of the request so far, for its log lines. */
  readonly requestRecord?: RequestRecord | undefined;
  /** Scheme and host as the browser sees them, also through trusted proxies. */
  readonly origin: string;
  readonly address: string;
}

/** Declares a route. Without a schema there is no query or body to read. */
export function route<
  const Name extends RouteName,
  Who extends RouteAccess,
  Answer,
  Query extends z.ZodType = z.ZodUndefined,
  Body extends z.ZodType = z.ZodUndefined,
>(
  name: Name,
  declaration: Omit<RouteDeclaration<Name, Who, Query, Body, Answer>, 'name'> &
    (Who extends 'operator' ? Operation : unknown),
): RouteDeclaration<Name, Who, Query, Body, Answer> {
  return { name, ...declaration };
}

export const MEGABYTE = 1_048_576;

/** The body of a route that takes no input. */
export const emptyBody = z.strictObject({});

export function authMeta({ origin, address }: ConsoleMeta): AuthMeta {
  return { origin, address, secure: origin.startsWith('https:') };
}
