import type { Server } from 'bun';
import { isLoopback } from '../std/addresses.ts';
import type { Clock } from '../std/clock.ts';
import { Fault } from '../std/fault.ts';
import { newRequestId, type Random } from '../std/ids.ts';
import type { Log } from '../std/log.ts';
import type { CallerAuth, Exchange } from './caller.ts';
import { listenFailure } from './listen-failure.ts';
import { baseHeaders, faultResponse } from './respond.ts';
import { pathOf, type HttpRoute, type Router } from './router.ts';

export interface ServerOptions {
  readonly host: string;
  readonly port: number;
  /** Other processes listen on the same port. */
  readonly shared: boolean;
  readonly tls: { readonly cert: string; readonly key: string } | undefined;
  readonly router: Router;
  /** Everything that is not an API path: the console and its own API. `undefined`: not its business either. */
  readonly site: (exchange: Exchange) => Promise<Response | undefined>;
  readonly callerAuth: CallerAuth;
  readonly clock: Clock;
  /** Of request ids. */
  readonly random: Random;
  readonly log: Log;
}

export interface RunningServer {
  readonly url: string;
  readonly port: number;
  /** From now on new requests are told to go elsewhere. */
  drain(): void;
  stop(): Promise<void>;
}

/** Seconds without a byte after which a connection that never finished its request is dropped. */
const IDLE_SECONDS = 30;
/**
 * Seconds without a byte after which a connection is dropped once its request is answered, or being answered: longer
 * than a stream is ever silent and than a reader may stall. It would otherwise stay for as long as its client likes.
 */
const SILENCE_SECONDS = 90;
const LAST_BYTES_MS = 1_000;
/** Above our own limit, so that it is we who say in our words that a body is too large. */
const TRANSPORT_BODY_BYTES = 256 * 1_048_576;
/** Paths that answer while everything else is told to go away. */
const ALWAYS = new Set(['/healthz', '/readyz', '/metrics']);

export function startServer(options: ServerOptions): RunningServer {
  const http = new HttpServer(options);
  const server = listen(options, http);
  return {
    url: `${options.tls ? 'https' : 'http'}://${shownHost(options.host)}:${server.port}`,
    port: server.port ?? options.port,
    drain: () => http.drain(),
    stop: async () => {
      // Last bytes may still be on their way; idle connections would keep us waiting for ever.
      await Promise.race([server.stop(), Bun.sleep(LAST_BYTES_MS)]);
      await server.stop(true);
    },
  };
}

function listen(options: ServerOptions, http: HttpServer): Server<undefined> {
  try {
    return Bun.serve({
      hostname: options.host,
      port: options.port,
      reusePort: options.shared,
      ...(options.tls ? { tls: options.tls } : {}),
      idleTimeout: IDLE_SECONDS,
      maxRequestBodySize: TRANSPORT_BODY_BYTES,
      development: false,
      routes: http.hotRoutes(),
      fetch: (request, bun) => http.serve(request, bun),
      error: (thrown) =>
        faultResponse(thrown, newRequestId(options.clock.now(), options.random), options.log),
    });
  } catch (error) {
    throw listenFailure(error, options);
  }
}

/** Bun's own router knows the paths without parameters; everything else, slashes too many included, is found by ours. */
class HttpServer {
  readonly #o: ServerOptions;
  readonly #isPublic: boolean;
  #draining = false;

  constructor(options: ServerOptions) {
    this.#o = options;
    this.#isPublic = !isLoopback(options.host);
  }

  drain(): void {
    this.#draining = true;
  }

  hotRoutes(): Record<
    string,
    Record<string, (request: Request, server: Server<unknown>) => Promise<Response>>
  > {
    const table: ReturnType<HttpServer['hotRoutes']> = {};
    for (const route of this.#o.router.routes) {
      if (route.path.includes('*')) continue;
      (table[route.path] ??= {})[route.method] = (request, server) =>
        this.#handle(route, [], request, server);
    }
    return table;
  }

  async serve(request: Request, server: Server<unknown>): Promise<Response> {
    if (!URL.canParse(request.url)) return await this.#handle(INVALID_HOST, [], request, server);
    const path = pathOf(request.url);
    const found = this.#o.router.find(request.method, path);
    if (found.kind === 'route') return await this.#handle(found.route, found.parameters, request, server);
    if (found.kind === 'wrong method' && request.method === 'OPTIONS') return preflight(found.allowed);
    return await this.#handle(
      this.#fallbackRoute(found.kind === 'wrong method' ? found.allowed : undefined),
      [],
      request,
      server,
    );
  }

  #fallbackRoute(allowed: readonly string[] | undefined): HttpRoute {
    return {
      method: 'GET',
      path: '**',
      handle: async (exchange) => {
        if (allowed) throw new Fault('method_not_allowed', `This path takes ${allowed.join(', ')}.`);
        const answer = await this.#o.site(exchange);
        if (answer) return answer;
        throw new Fault('not_found', 'There is nothing at this path.');
      },
    };
  }

  async #handle(
    route: HttpRoute,
    parameters: readonly string[],
    request: Request,
    server: Server<unknown>,
  ): Promise<Response> {
    const requestId = newRequestId(this.#o.clock.now(), this.#o.random);
    try {
      const incoming = new IncomingRequest({
        request,
        requestId,
        parameters,
        server,
        callerAuth: this.#o.callerAuth,
      });
      // Nobody but this machine can reach a loopback address, unless a proxy speaks for others.
      if (this.#isPublic || this.#draining || this.#o.callerAuth.trustsProxies) this.#guard(incoming);
      // A long answer is no idle connection; its own deadlines watch over it.
      server.timeout(request, 0);
      return await route.handle(incoming);
    } catch (thrown) {
      return faultResponse(thrown, requestId, this.#o.log, route.faults);
    } finally {
      server.timeout(request, SILENCE_SECONDS);
    }
  }

  /** Probes carry no token and must be answered whatever else is refused. */
  #guard(incoming: IncomingRequest): void {
    if (ALWAYS.has(incoming.path)) return;
    this.#o.callerAuth.requireSecure(incoming.peer, incoming.request);
    if (this.#draining) throw shuttingDown();
  }
}

interface ConnectionInfo {
  readonly request: Request;
  readonly requestId: Exchange['requestId'];
  readonly parameters: readonly string[];
  readonly server: Server<unknown>;
  readonly callerAuth: CallerAuth;
}

/** A request with its connection. What few handlers need is computed on demand. */
class IncomingRequest implements Exchange {
  readonly request: Request;
  readonly requestId: Exchange['requestId'];
  readonly parameters: readonly string[];
  readonly #connection: ConnectionInfo;

  constructor(connection: ConnectionInfo) {
    this.#connection = connection;
    this.request = connection.request;
    this.requestId = connection.requestId;
    this.parameters = connection.parameters;
  }

  get path(): string {
    return pathOf(this.request.url);
  }

  get signal(): AbortSignal {
    return this.request.signal;
  }

  get peer(): string {
    return this.#connection.server.requestIP(this.request)?.address ?? '';
  }

  get origin(): string {
    const scheme = this.#connection.callerAuth.isSecure(this.peer, this.request) ? 'https' : 'http';
    return `${scheme}://${this.request.headers.get('host') ?? 'localhost'}`;
  }

  get address(): string {
    return this.#connection.callerAuth.clientAddress(this.peer, this.request);
  }
}

/** Links and sign-in are made from the host that the client names; what is no host is none of ours. */
const INVALID_HOST: HttpRoute = {
  method: 'GET',
  path: '**',
  handle: () =>
    Promise.reject(new Fault('invalid_field', 'The Host header is not valid.', { param: 'Host' })),
};

/** Browsers ask before they send; the public routes take any origin, because a token and no cookie decides. */
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

function shuttingDown(): Fault {
  return new Fault('service_unavailable', 'This node is shutting down. Retry.', { retryAfterMs: 1_000 });
}

function shownHost(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}
