import type { Server } from 'bun';
import { isLoopback } from '../std/addresses.ts';
import type { Clock } from '../std/clock.ts';
import type { EventLoop } from '../std/event-loop.ts';
import { Fault } from '../std/fault.ts';
import { newRequestId, type Random } from '../std/ids.ts';
import { loggedPath, type AccessLog } from '../std/access-log.ts';
import type { Log } from '../std/log.ts';
import type { RequestEnd, RequestRecord } from '../std/request-record.ts';
import { clientIdOf, traceOf, type TraceContext } from '../std/trace.ts';
import { TransientMap } from '../std/transient-map.ts';
import type { CallerAuth } from './caller-auth.ts';
import { guardConnections } from './idle-connections.ts';
import { pathOf, type IncomingRequest, type HttpRoute, type Router } from './router.ts';
import { SMALL_BODY_BYTES } from './json-body.ts';
import { listenFailure } from '../std/startup-error.ts';
import { baseHeaders, faultResponse } from './response.ts';
import { TlsFront } from './tls-front.ts';
import type { TlsPair } from './tls.ts';

interface ServerOptions {
  readonly host: string;
  readonly port: number;
  /** Where clients reach this server; absent, the address that each has used. */
  readonly publicUrl?: string | undefined;
  /** Other processes listen on the same port. */
  readonly shared: boolean;
  readonly tls: TlsPair | undefined;
  readonly router: Router;
  /** Everything that is not an API path: the console and its API. `undefined` if it has no such path either. */
  readonly site: (incoming: IncomingRequest) => Promise<Response | undefined>;
  readonly callerAuth: CallerAuth;
  readonly clock: Clock;
  /** For request ids. */
  readonly random: Random;
  readonly log: Log;
  readonly eventLoop: Pick<EventLoop, 'began'>;
  readonly accessLog: Pick<AccessLog, 'isOn' | 'answered'>;
  readonly metrics: { answered(path: string, status: number): void };
}

export interface RunningServer {
  readonly url: string;
  readonly port: number;
  /** New connections get this certificate, where there is TLS. */
  useCertificate(tls: TlsPair): void;
  /** From now on each answer asks for its connection to be closed, so that a proxy keeps none that is about to end. */
  closeAfterAnswers(): void;
  /** From now on new connections are refused and idle ones closed; running requests go on. */
  closeListener(): void;
  stop(): Promise<void>;
}

/** A connection that has not finished its request is dropped after this many seconds without a byte. */
const IDLE_SECONDS = 30;
/**
 * The same once the request is answered or being answered: longer than any stream is silent and than a reader may
 * stall. Without it, such a connection would stay open as long as its client likes.
 */
const ANSWER_IDLE_SECONDS = 90;
/** Sent only with our own TLS; a proxy that terminates TLS sends its own. */
const ONE_YEAR = 'max-age=31536000';
/** For clients that are still reading their last bytes. */
const LAST_BYTES_MS = 5_000;
/** An answer counts as finished a moment before its last bytes have been handed to the system. */
const WRITTEN_MS = 50;
/** Above our own limit, so that our own error says that a body is too large. */
const TRANSPORT_BODY_BYTES = 256 * 1_048_576;
/** Served over plain HTTP too, because they carry no token, and not in the access log. */
const PROBES = new Set(['/healthz', '/readyz', '/metrics']);

export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const http = new HttpServer(options);
  const server = listen(options, http);
  const front = options.tls && (await openFront(options, options.tls, server));
  http.front = front;
  // A second call of the runtime's `stop` resolves at once, whatever still runs.
  let finished: Promise<void> | undefined;
  const finish = (): Promise<void> => (finished ??= server.stop());
  const idle = guardConnections({
    port: server.port ?? options.port,
    front,
    portsInUse: () => http.portsInUse(server),
  });
  return {
    url: `${front ? 'https' : 'http'}://${urlHost(options.host)}:${front?.port ?? server.port}`,
    port: front?.port ?? server.port ?? options.port,
    useCertificate: (tls) => front?.use(tls),
    closeAfterAnswers: () => http.closeAfterAnswers(),
    closeListener: () => {
      front?.closeListener();
      void finish();
    },
    stop: async () => {
      idle.stop();
      const isFinished = await Promise.race([finish().then(() => true), Bun.sleep(LAST_BYTES_MS)]);
      // Ending a connection by force resets it, and its client loses the last bytes that it has not read yet.
      if (isFinished === true) await Bun.sleep(WRITTEN_MS);
      else await server.stop(true);
      front?.stop();
    },
  };
}

/** With TLS it is reached through the front alone, at a port of loopback that nobody needs to know. */
function listen(options: ServerOptions, http: HttpServer): Server<undefined> {
  const { host, port, shared } = options;
  try {
    return Bun.serve({
      ...(options.tls ? { hostname: '127.0.0.1', port: 0 } : { hostname: host, port, reusePort: shared }),
      idleTimeout: IDLE_SECONDS,
      maxRequestBodySize: TRANSPORT_BODY_BYTES,
      development: false,
      routes: http.exactRoutes(),
      fetch: (request, bun) => http.serve(request, bun),
      error: (thrown) =>
        faultResponse(thrown, newRequestId(options.clock.now(), options.random), options.log),
    });
  } catch (error) {
    throw listenFailure(error, options);
  }
}

async function openFront(options: ServerOptions, tls: TlsPair, inner: Server<undefined>): Promise<TlsFront> {
  try {
    return await TlsFront.listen({ ...options, tls, innerPort: inner.port ?? 0 });
  } catch (error) {
    await inner.stop(true);
    throw listenFailure(error, options);
  }
}

/**
 * Bun's own router serves paths without parameters; all others, including those with extra slashes, are found by ours.
 */
class HttpServer {
  readonly #options: ServerOptions;
  readonly #isPublic: boolean;
  readonly #isSecure: boolean;
  /** Terminates TLS, if this server has it. */
  front: TlsFront | undefined;
  #closing = false;
  /** Requests whose answer has not begun. */
  readonly #open = new TransientMap<string, Request>();

  constructor(options: ServerOptions) {
    this.#options = options;
    this.#isPublic = !isLoopback(options.host);
    this.#isSecure = options.tls !== undefined;
  }

  closeAfterAnswers(): void {
    this.#closing = true;
  }

  /** The ports from which requests came whose answer has not begun. */
  portsInUse(server: Server<unknown>): Set<number> {
    const ports = [...this.#open.values()].map((request) => server.requestIP(request)?.port);
    return new Set(ports.filter((port) => port !== undefined));
  }

  exactRoutes(): Record<
    string,
    Record<string, (request: Request, server: Server<unknown>) => Promise<Response>>
  > {
    const table: ReturnType<HttpServer['exactRoutes']> = {};
    for (const route of this.#options.router.routes) {
      if (route.path.includes('*')) continue;
      (table[route.path] ??= {})[route.method] = (request, server) =>
        this.#handle(route, [], request, server);
    }
    return table;
  }

  async serve(request: Request, server: Server<unknown>): Promise<Response> {
    if (!URL.canParse(request.url)) return await this.#handle(INVALID_HOST, [], request, server);
    const path = pathOf(request.url);
    const found = this.#options.router.find(request.method, path);
    if (found.kind === 'route') return await this.#handle(found.route, found.parameters, request, server);
    if (found.kind === 'wrong_method' && request.method === 'OPTIONS') return this.#preflight(found.allowed);
    const route = this.#fallbackRoute(path, found.kind === 'wrong_method' ? found.allowed : undefined);
    return await this.#handle(route, [], request, server);
  }

  #fallbackRoute(path: string, allowed: readonly string[] | undefined): HttpRoute {
    const { router, site, publicUrl } = this.#options;
    const likely = router.likelyPath(path);
    const faults = router.faultsAt(likely ?? path);
    return {
      method: 'GET',
      path: '**',
      handle: async (incoming) => {
        if (allowed) throw new Fault('method_not_allowed', `This path takes ${allowed.join(', ')}.`);
        const answer = await site(incoming);
        if (answer) return answer;
        throw new Fault('not_found', nothingThere(likely, publicUrl ?? incoming.origin));
      },
      ...(faults && { faults }),
    };
  }

  async #handle(
    route: HttpRoute,
    parameters: readonly string[],
    request: Request,
    server: Server<unknown>,
  ): Promise<Response> {
    const requestId = newRequestId(this.#options.clock.now(), this.#options.random);
    this.#options.eventLoop.began(route.path, requestId);
    const incoming = new BunRequest({
      request,
      requestId,
      parameters,
      server,
      callerAuth: this.#options.callerAuth,
      front: this.front,
    });
    try {
      // Only this machine can reach a loopback address, unless a proxy forwards requests.
      if (this.#isPublic || this.#options.callerAuth.trustsProxies) this.#guard(incoming);
      // A long answer is not an idle connection; it has its own deadlines.
      server.timeout(request, 0);
      this.#open.set(requestId, request);
      return this.#finished(await route.handle(incoming), route, incoming);
    } catch (thrown) {
      const response = faultResponse(thrown, incoming, this.#options.log, route.faults);
      if (hasUnreadBody(request)) response.headers.set('connection', 'close');
      return this.#finished(response, route, incoming);
    } finally {
      this.#open.delete(requestId);
      incoming.answered();
      server.timeout(request, ANSWER_IDLE_SECONDS);
    }
  }

  #finished(response: Response, route: HttpRoute, incoming: BunRequest): Response {
    if (this.#isSecure || this.#closing) this.#mark(response);
    const { clientRequestId } = incoming;
    if (clientRequestId !== undefined) response.headers.set('x-client-request-id', clientRequestId);
    this.#options.metrics.answered(route.path, response.status);
    if (this.#options.accessLog.isOn && !PROBES.has(route.path)) this.#logAccess(response, route, incoming);
    return response;
  }

  #logAccess({ status }: Response, { path }: HttpRoute, incoming: BunRequest): void {
    this.#options.accessLog.answered(incoming, {
      method: incoming.request.method,
      path: path === '**' ? loggedPath(incoming.path) : path,
      status,
      address: incoming.address,
    });
  }

  #preflight(allowed: readonly string[]): Response {
    const response = preflight(allowed);
    if (this.#isSecure || this.#closing) this.#mark(response);
    return response;
  }

  #mark({ headers }: Response): void {
    if (this.#isSecure) headers.set('strict-transport-security', ONE_YEAR);
    if (this.#closing) headers.set('connection', 'close');
  }

  /** Probes carry no token and are always answered. */
  #guard(incoming: BunRequest): void {
    if (this.#isSecure || PROBES.has(incoming.path)) return;
    this.#options.callerAuth.requireSecure(incoming.peer, incoming.request);
  }
}

function nothingThere(likely: string | undefined, origin: string): string {
  if (likely === undefined) return 'There is nothing at this path.';
  return (
    `There is nothing at this path; ${likely} exists. The base URL is ${origin}/v1 for OpenAI's clients, ` +
    `and ${origin} for Anthropic's.`
  );
}

/** On an open connection the rest of a large body would be received, and kept, although nobody reads it. */
function hasUnreadBody(request: Request): boolean {
  return !request.bodyUsed && Number(request.headers.get('content-length') ?? 0) > SMALL_BODY_BYTES;
}

interface ConnectionInfo {
  readonly request: Request;
  readonly requestId: IncomingRequest['requestId'];
  readonly parameters: readonly string[];
  readonly server: Server<unknown>;
  readonly callerAuth: CallerAuth;
  readonly front: TlsFront | undefined;
}

/** A request with its connection. What few handlers need is computed on demand. */
class BunRequest implements IncomingRequest, RequestRecord {
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
  readonly #connection: ConnectionInfo;
  #whenAnswered: (() => void) | undefined;

  constructor(connection: ConnectionInfo) {
    this.#connection = connection;
    this.request = connection.request;
    this.requestId = connection.requestId;
    this.parameters = connection.parameters;
  }

  onAnswered(callback: () => void): void {
    this.#whenAnswered = callback;
  }

  answered(): void {
    this.#whenAnswered?.();
  }

  get requestRecord(): RequestRecord {
    return this;
  }

  get clientRequestId(): string | undefined {
    return clientIdOf(this.request.headers);
  }

  get trace(): TraceContext | undefined {
    return traceOf(this.request.headers);
  }

  get path(): string {
    return pathOf(this.request.url);
  }

  get signal(): AbortSignal {
    return this.request.signal;
  }

  get peer(): string {
    const { server, front } = this.#connection;
    const peer = server.requestIP(this.request);
    if (!peer) return '';
    return front ? (front.peerOf(peer.port)?.address ?? '') : peer.address;
  }

  get origin(): string {
    const { front, callerAuth } = this.#connection;
    const scheme = front || callerAuth.isSecure(this.peer, this.request) ? 'https' : 'http';
    return `${scheme}://${this.request.headers.get('host') ?? 'localhost'}`;
  }

  get address(): string {
    return this.#connection.callerAuth.clientAddress(this.peer, this.request);
  }
}

/** Links and sign-in use the host that the client names, so an invalid one is refused. */
const INVALID_HOST: HttpRoute = {
  method: 'GET',
  path: '**',
  handle: () =>
    Promise.reject(new Fault('invalid_field', 'The Host header is not valid.', { param: 'Host' })),
};

/** CORS preflight. The public routes accept any origin, because they authenticate by token, never by cookie. */
function preflight(allowed: readonly string[]): Response {
  return new Response(null, {
    status: 204,
    headers: {
      ...baseHeaders('preflight'),
      'access-control-allow-methods': [...allowed, 'OPTIONS'].join(', '),
      'access-control-allow-headers': '*, authorization, content-type, x-api-key, idempotency-key',
      'access-control-max-age': '86400',
    },
  });
}

function urlHost(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}
