import type { Server } from 'bun';
import { callerKey } from '../ledger/decide.ts';
import type { Caller } from '../ledger/port.ts';
import { isLoopback, networkOf } from '../std/addresses.ts';
import { loggedPath, type AccessLog, type RequestSpans } from '../std/access-log.ts';
import type { Clock } from '../std/clock.ts';
import type { EventLoop } from '../std/event-loop.ts';
import { Fault } from '../std/fault.ts';
import { HeldMemory, RequestMemory } from '../std/held-memory.ts';
import { newRequestId, type Random } from '../std/ids.ts';
import type { Log } from '../std/log.ts';
import type { RequestEnd, RequestRecord } from '../std/request-record.ts';
import { clientIdOf, traceOf, type TraceContext } from '../std/trace.ts';
import type { RequestSlots } from '../std/request-slots.ts';
import type { CallerAuth } from './caller-auth.ts';
import { Deadlines, rejectEntry, type Deadline } from '../std/deadlines.ts';
import { LinkedList, type ListItem } from '../std/linked-list.ts';
import { Turns } from '../std/turns.ts';
import { ARRIVAL_MS, BodyReader, NO_BODY, SMALL_BODY_BYTES, type BodySender } from './request-body.ts';
import { baseHeaders, faultResponse, MethodFault, PLAIN_ERRORS } from './response.ts';
import { methodsOf, pathOf, type Door, type HttpRoute, type IncomingRequest, type Router } from './router.ts';
import type { TlsFront } from './tls-front.ts';

export interface GateOptions {
  readonly host: string;
  /** Where clients reach this server; absent, the address that each has used. */
  readonly publicUrl?: string | undefined;
  /** TLS ends in this process. */
  readonly isSecure: boolean;
  /** Everything that is answered. */
  readonly router: Router;
  readonly callerAuth: CallerAuth;
  readonly requestSlots: RequestSlots;
  /** Requests that continue after their answer has begun. */
  readonly activeRequests: { has(requestId: IncomingRequest['requestId']): boolean };
  readonly clock: Clock;
  /** For request ids. */
  readonly random: Random;
  readonly log: Log;
  readonly eventLoop: Pick<EventLoop, 'began'>;
  readonly accessLog: Pick<AccessLog, 'isOn' | 'answered'>;
  readonly metrics: { answered(path: string, status: number): void };
  /** Absent unless spans are collected. */
  readonly spans?: RequestSpans | undefined;
  /** False: a client's trace is not taken over. */
  readonly takesTrace?: boolean | undefined;
}

const MEGABYTE = 1_048_576;
/** A body is in memory several times: as bytes, as text, parsed, and as what is sent to the backend. An account may have three of the largest. */
const MEMORY = { total: 200 * MEGABYTE, ofAccount: 60 * MEGABYTE };
/**
 * Once a request is answered or being answered, its connection is dropped after this many seconds without a byte: longer
 * than any stream is silent and than a reader may stall. Without it, it would stay open as long as its client likes.
 */
const ANSWER_IDLE_SECONDS = 90;
/** The same where the rest of a body would have to come first: nobody waits for it. */
const OWED_BODY_SECONDS = 16;
/** Sent only with our own TLS; a proxy that terminates TLS sends its own. */
const ONE_YEAR = 'max-age=31536000';
/** When an answer must have begun. The public API has the deadlines of its backends instead. */
const ANSWER_MS: Readonly<Record<Door, number | undefined>> = {
  api: undefined,
  console: 60_000,
  signed: 30_000,
  probe: 30_000,
};

/** For a handler that is told that its time is over to say so. */
const LAST_WORDS_MS = 2_000;

const NO_PARAMETERS: readonly string[] = [];

function answerMs({ door, withinMs }: HttpRoute): number | undefined {
  return withinMs ?? ANSWER_MS[door];
}

type AnswerDeadline = Deadline<AnswerDeadline>;

const answers = new Deadlines<AnswerDeadline>((entries, now) => {
  for (const entry of entries) if (entry.endsAt <= now) rejectEntry(entry, tookTooLong());
});

/** A function of its own: what an inner one captured would be made for each request that waits for no turn. */
async function handleAfter(turn: Promise<void>, route: HttpRoute, incoming: BunRequest): Promise<Response> {
  await turn;
  return await route.handle(incoming);
}

async function within<T>(work: Promise<T>, deadline: AnswerDeadline): Promise<T> {
  try {
    return await answers.within(work, deadline);
  } finally {
    answers.end(deadline);
  }
}

/**
 * What every request passes, whatever it asks for: it finds the route, refuses what may not come in, bounds what the
 * request takes (its slot, its memory, its time), and makes every error an answer in the form that its clients read.
 *
 * Bun's own router serves paths without parameters; all others, including those with extra slashes, are found by ours.
 */
export class Gate {
  readonly #options: GateOptions;
  readonly #isPublic: boolean;
  readonly #surroundings: RequestSurroundings;
  #closing = false;
  /** The last one that was checked: nearly all clients name the same. */
  #validHost: string | undefined;
  /** Most of them read the store, which on SQLite takes time of this thread. */
  readonly #consoleTurns = new Turns();
  /** Requests whose answer has not begun. */
  readonly #open = new LinkedList<BunRequest>();

  constructor(options: GateOptions) {
    this.#options = options;
    this.#isPublic = !isLoopback(options.host);
    this.#surroundings = {
      server: undefined,
      front: undefined,
      callerAuth: options.callerAuth,
      memory: new HeldMemory(MEMORY),
      requestSlots: options.requestSlots,
      activeRequests: options.activeRequests,
      takesTrace: options.takesTrace !== false,
      newId: () => newRequestId(options.clock.now(), options.random),
      nothingAt: (incoming) => this.#nothingAt(incoming),
    };
  }

  set server(server: Server<unknown>) {
    this.#surroundings.server = server;
  }

  set front(front: TlsFront | undefined) {
    this.#surroundings.front = front;
  }

  closeAfterAnswers(): void {
    this.#closing = true;
  }

  /** The ports from which requests came whose answer has not begun. */
  portsInUse(server: Server<unknown>): Set<number> {
    const ports = [...this.#open].map(({ request }) => server.requestIP(request)?.port);
    return new Set(ports.filter((port) => port !== undefined));
  }

  exactRoutes(): Record<
    string,
    Record<string, (request: Request, server: Server<unknown>) => Promise<Response>>
  > {
    const table: ReturnType<Gate['exactRoutes']> = {};
    for (const route of this.#options.router.routes) {
      if (route.path.includes('*')) continue;
      (table[route.path] ??= {})[route.method] = (request, server) =>
        this.#pass(route, NO_PARAMETERS, request, server);
    }
    return table;
  }

  async serve(request: Request, server: Server<unknown>): Promise<Response> {
    const path = pathOf(request.url);
    const found = this.#options.router.find(request.method, path);
    if (found.kind === 'route') return await this.#pass(found.route, found.parameters, request, server);
    if (found.kind === 'wrong_method') {
      const allowed = methodsOf(found.routes);
      if (request.method === 'OPTIONS' && allowed.includes('OPTIONS')) return this.#preflight(allowed);
      return await this.#pass(this.#wrongMethod(found.routes, allowed), [], request, server);
    }
    return await this.#pass(this.#nowhere(request.method, path), [], request, server);
  }

  #wrongMethod(routes: readonly HttpRoute[], allowed: readonly string[]): HttpRoute {
    const [route] = routes;
    return {
      ...NOWHERE,
      ...(route && { door: route.door, errors: route.errors }),
      handle: () => Promise.reject(new MethodFault(allowed)),
    };
  }

  #nowhere(method: string, path: string): HttpRoute {
    const { router } = this.#options;
    const errors = router.errorsAt(router.likelyPath(method, path) ?? path);
    return errors ? { ...NOWHERE, errors } : NOWHERE;
  }

  #nothingAt({ request, path, origin }: IncomingRequest): Fault {
    const likely = this.#options.router.likelyPath(request.method, path);
    return new Fault('not_found', nothingThere(likely, this.#options.publicUrl ?? origin));
  }

  async #pass(
    route: HttpRoute,
    parameters: readonly string[],
    request: Request,
    server: Server<unknown>,
  ): Promise<Response> {
    const incoming = new BunRequest(request, route, parameters, this.#surroundings);
    this.#options.eventLoop.began(route.path, incoming.requestId);
    try {
      this.#guard(route, incoming);
      // A long answer is not an idle connection; it has its own deadlines.
      server.timeout(request, 0);
      this.#open.add(incoming);
      const turn = route.door === 'console' ? this.#consoleTurns.enter() : undefined;
      const work = turn ? handleAfter(turn, route, incoming) : route.handle(incoming);
      const { answerBy } = incoming;
      const response = await (answerBy === undefined ? work : within(work, answerBy));
      return this.#finished(response, route, incoming);
    } catch (thrown) {
      const response = faultResponse(thrown, incoming, this.#options.log, route.errors);
      if (incoming.hasUnreadBody) response.headers.set('connection', 'close');
      return this.#finished(response, route, incoming);
    } finally {
      this.#open.delete(incoming);
      incoming.answered();
      server.timeout(request, incoming.mayOweBody ? OWED_BODY_SECONDS : ANSWER_IDLE_SECONDS);
    }
  }

  #finished(response: Response, route: HttpRoute, incoming: BunRequest): Response {
    if (this.#options.isSecure || this.#closing) this.#mark(response);
    const { clientRequestId } = incoming;
    if (clientRequestId !== undefined) response.headers.set('x-client-request-id', clientRequestId);
    const { metrics, accessLog, spans } = this.#options;
    metrics.answered(route.path, response.status);
    if ((accessLog.isOn || spans) && route.door !== 'probe') this.#tellAnswered(response, route, incoming);
    return response;
  }

  /** A page's path is told without what is secret in it; of everything else, the route's. */
  #tellAnswered({ status }: Response, { path, door }: HttpRoute, incoming: BunRequest): void {
    const { accessLog, spans } = this.#options;
    const answer = {
      method: incoming.request.method,
      path: door === 'console' && path.includes('**') ? loggedPath(incoming.path) : path,
      status,
      address: incoming.address,
    };
    if (accessLog.isOn) accessLog.answered(incoming, answer);
    spans?.answered(incoming, answer);
  }

  #preflight(allowed: readonly string[]): Response {
    const response = preflight(allowed);
    if (this.#options.isSecure || this.#closing) this.#mark(response);
    return response;
  }

  #mark({ headers }: Response): void {
    if (this.#options.isSecure) headers.set('strict-transport-security', ONE_YEAR);
    if (this.#closing) headers.set('connection', 'close');
  }

  /** Links and sign-in use the host that the client names. Two are joined to an invalid one: a proxy may have looked at either. */
  #checkHost({ headers, url }: Request): void {
    const host = headers.get('host') ?? '';
    if (host === this.#validHost) return;
    if (host.includes(',') || !URL.canParse(url)) throw invalidHost();
    this.#validHost = host;
  }

  #guard({ door }: HttpRoute, incoming: BunRequest): void {
    const { request } = incoming;
    // Probes carry no token and are always answered.
    if (door === 'probe') return;
    this.#checkHost(request);
    const { callerAuth, isSecure } = this.#options;
    // Only this machine can reach a loopback address, unless a proxy forwards requests.
    if (isSecure || !(this.#isPublic || callerAuth.trustsProxies)) return;
    callerAuth.requireSecure(incoming.peer, request);
  }
}

/** What all requests of a server share. */
interface RequestSurroundings {
  server: Server<unknown> | undefined;
  /** Terminates TLS, if this server has it. */
  front: TlsFront | undefined;
  readonly callerAuth: CallerAuth;
  readonly memory: HeldMemory;
  readonly requestSlots: RequestSlots;
  readonly activeRequests: GateOptions['activeRequests'];
  readonly takesTrace: boolean;
  newId(): IncomingRequest['requestId'];
  nothingAt(incoming: IncomingRequest): Fault;
}

/** A request with its connection. What few handlers need is computed on demand. */
class BunRequest implements IncomingRequest, RequestRecord, BodySender, ListItem<BunRequest> {
  previous: BunRequest | undefined = undefined;
  next: BunRequest | undefined = undefined;
  readonly request: Request;
  readonly requestId: IncomingRequest['requestId'];
  readonly parameters: readonly string[];
  account: string | undefined;
  endpoint: string | undefined;
  model: string | undefined;
  askedEndpoint: unknown;
  askedModel: unknown;
  upstream: string | undefined;
  isHeld = false;
  end: RequestEnd | undefined;
  onEnd: (() => void) | undefined;
  readonly #route: HttpRoute;
  readonly #surroundings: RequestSurroundings;
  #caller: Caller | undefined;
  /** The account that has a slot for it. */
  #slotOf: string | undefined;
  #answerBy: AnswerDeadline | undefined;
  #body: BodyReader | undefined;
  #memory: RequestMemory | undefined;

  constructor(
    request: Request,
    route: HttpRoute,
    parameters: readonly string[],
    surroundings: RequestSurroundings,
  ) {
    this.request = request;
    this.requestId = surroundings.newId();
    this.parameters = parameters;
    this.#route = route;
    this.#surroundings = surroundings;
  }

  identify(caller: Caller): void {
    this.#caller = caller;
  }

  /** When it must have been answered; the time begins when its body is there. */
  get answerBy(): AnswerDeadline | undefined {
    const withinMs = answerMs(this.#route);
    if (withinMs === undefined) return undefined;
    const arrivalMs = this.#route.body.kind === 'none' ? 0 : ARRIVAL_MS.whole;
    const startedAt = performance.now();
    const endsAt = startedAt + arrivalMs + withinMs + LAST_WORDS_MS;
    return (this.#answerBy ??= {
      startedAt,
      endsAt,
      reject: undefined,
      previous: undefined,
      next: undefined,
    });
  }

  bodyArrived(): void {
    const withinMs = answerMs(this.#route);
    if (this.#answerBy && withinMs !== undefined)
      this.#answerBy.endsAt = performance.now() + withinMs + LAST_WORDS_MS;
  }

  takeSlot(): void {
    if (!this.#caller) throw new Error('slots are for known callers');
    const account = callerKey(this.#caller);
    this.#surroundings.requestSlots.enter(account);
    this.#slotOf = account;
  }

  /** Called when the answer is complete, or its stream has begun. */
  answered(): void {
    const { requestSlots, activeRequests } = this.#surroundings;
    if (this.#slotOf !== undefined)
      requestSlots.answered(this.requestId, this.#slotOf, activeRequests.has(this.requestId));
    this.#memory?.answered();
  }

  nothingHere(): Fault {
    return this.#surroundings.nothingAt(this);
  }

  get body(): BodyReader {
    return (this.#body ??= new BodyReader(this, this.#route.body));
  }

  /** On an open connection the rest of a large body would be received, and kept, although nobody reads it. */
  get hasUnreadBody(): boolean {
    return this.#body?.isCutOff === true || (this.mayOweBody && !(this.#declaredBytes() <= SMALL_BODY_BYTES));
  }

  /** Nobody has read its body, so some of it may still have to come. */
  get mayOweBody(): boolean {
    return !this.request.bodyUsed && this.#declaredBytes() !== 0;
  }

  /** NaN: it does not say. */
  #declaredBytes(): number {
    const { headers } = this.request;
    return Number(headers.get('content-length') ?? (headers.has('transfer-encoding') ? Number.NaN : 0));
  }

  get memory(): RequestMemory {
    return (this.#memory ??= new RequestMemory(async () =>
      this.#surroundings.memory.open(await this.#owner()),
    ));
  }

  /** Whose memory is taken: the account's, or the network's of somebody who has none. An unknown token has none to take. */
  async #owner(): Promise<string> {
    const caller = this.#caller;
    if (!caller) return networkOf(this.address);
    return caller.kind === 'account'
      ? caller.id
      : (await this.#surroundings.callerAuth.account(caller)).accountId;
  }

  holdMemory(bytes: number): Promise<void> {
    return this.memory.hold(bytes);
  }

  get requestRecord(): RequestRecord {
    return this;
  }

  get clientRequestId(): string | undefined {
    return clientIdOf(this.request.headers);
  }

  get trace(): TraceContext | undefined {
    return this.#surroundings.takesTrace ? traceOf(this.request.headers) : undefined;
  }

  get path(): string {
    return pathOf(this.request.url);
  }

  get signal(): AbortSignal {
    return this.request.signal;
  }

  get hasLeft(): boolean {
    return this.#surroundings.server?.requestIP(this.request) === null;
  }

  get deadline(): AbortSignal {
    const withinMs = answerMs(this.#route);
    return withinMs === undefined
      ? this.signal
      : AbortSignal.any([this.signal, AbortSignal.timeout(withinMs)]);
  }

  get peer(): string {
    const { front, server } = this.#surroundings;
    const peer = server?.requestIP(this.request);
    if (!peer) return '';
    return front ? (front.peerOf(peer.port)?.address ?? '') : peer.address;
  }

  get origin(): string {
    const { front, callerAuth } = this.#surroundings;
    const isSecure = front !== undefined || callerAuth.isSecure(this.peer, this.request);
    return `${isSecure ? 'https' : 'http'}://${this.request.headers.get('host') ?? 'localhost'}`;
  }

  get address(): string {
    return this.#surroundings.callerAuth.clientAddress(this.peer, this.request);
  }
}

/** An account has one token, so the token's hash stands for the account without a lookup. */
const NOWHERE: HttpRoute = {
  method: 'GET',
  path: '**',
  door: 'console',
  body: NO_BODY,
  errors: PLAIN_ERRORS,
  handle: (incoming) => Promise.reject(incoming.nothingHere()),
};

function tookTooLong(): Fault {
  return new Fault('service_unavailable', 'This took too long. Try again.', {
    retryAfterMs: 1_000,
    detail: 'the route did not answer before its deadline',
  });
}

function nothingThere(likely: string | undefined, origin: string): string {
  if (likely === undefined) return 'There is nothing at this path.';
  return (
    `There is nothing at this path; ${likely} exists. The base URL is ${origin}/v1 for OpenAI's clients, ` +
    `and ${origin} for Anthropic's.`
  );
}

function invalidHost(): Fault {
  return new Fault('invalid_field', 'The Host header is not valid.', { param: 'Host' });
}

/** CORS preflight. The public routes accept any origin, because they authenticate by token, never by cookie. */
function preflight(allowed: readonly string[]): Response {
  return new Response(null, {
    status: 204,
    headers: {
      ...baseHeaders('preflight'),
      'access-control-allow-methods': allowed.filter((method) => method !== 'HEAD').join(', '),
      'access-control-allow-headers': '*, authorization, content-type, x-api-key, idempotency-key',
      'access-control-max-age': '86400',
    },
  });
}
