import type { Server } from 'bun';
import { newRequestId } from '../std/ids.ts';
import { listenFailure } from '../std/startup-error.ts';
import { refuseConnections } from './client-sockets.ts';
import { Gate, type GateOptions } from './gate.ts';
import { guardConnections } from './idle-connections.ts';
import { faultResponse } from './response.ts';
import { TlsFront } from './tls-front.ts';
import type { TlsPair } from './tls.ts';

interface ServerOptions extends Omit<GateOptions, 'isSecure'> {
  readonly port: number;
  /** Other processes listen on the same port. */
  readonly shared: boolean;
  readonly tls: TlsPair | undefined;
}

export interface RunningServer {
  readonly url: string;
  readonly port: number;
  /** New connections get this certificate, where there is TLS. */
  useCertificate(tls: TlsPair): void;
  /** From now on each answer asks for its connection to be closed, so that a proxy keeps none that is about to end. */
  closeAfterAnswers(): void;
  /**
   * From now on new connections are refused; those that clients have begun to make are still accepted, and all are
   * served. Returns false where the system cannot do that.
   */
  refuseConnections(): boolean;
  /** From now on new connections are refused and idle ones closed; running requests go on. */
  closeListener(): void;
  stop(): Promise<void>;
}

/** A connection that has not finished its request is dropped after this many seconds without a byte. */
const IDLE_SECONDS = 30;
/** For clients that are still reading their last bytes. */
const LAST_BYTES_MS = 5_000;
/** An answer counts as finished a moment before its last bytes have been handed to the system. */
const WRITTEN_MS = 50;
/** Above our own limit, so that our own error says that a body is too large. */
const TRANSPORT_BODY_BYTES = 256 * 1_048_576;
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const gate = new Gate({ ...options, isSecure: options.tls !== undefined });
  const server = listen(options, gate);
  gate.server = server;
  const front = options.tls && (await openFront(options, options.tls, server));
  gate.front = front;
  // A second call of the runtime's `stop` resolves at once, whatever still runs.
  let finished: Promise<void> | undefined;
  const finish = (): Promise<void> => (finished ??= server.stop());
  const idle = guardConnections({
    port: server.port ?? options.port,
    front,
    portsInUse: () => gate.portsInUse(server),
  });
  return {
    url: `${front ? 'https' : 'http'}://${urlHost(options.host)}:${front?.port ?? server.port}`,
    port: front?.port ?? server.port ?? options.port,
    useCertificate: (tls) => front?.use(tls),
    closeAfterAnswers: () => gate.closeAfterAnswers(),
    refuseConnections: () => refuseConnections(front?.port ?? server.port ?? options.port),
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
function listen(options: ServerOptions, gate: Gate): Server<undefined> {
  const { host, port, shared } = options;
  try {
    return Bun.serve({
      ...(options.tls ? { hostname: '127.0.0.1', port: 0 } : { hostname: host, port, reusePort: shared }),
      idleTimeout: IDLE_SECONDS,
      maxRequestBodySize: TRANSPORT_BODY_BYTES,
      development: false,
      routes: gate.exactRoutes(),
      fetch: (request, bun) => gate.serve(request, bun),
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

function urlHost(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}
