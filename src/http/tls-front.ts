import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { createServer, type Server, type TLSSocket } from 'node:tls';
import type { TlsPair } from './tls.ts';

interface TlsFrontOptions {
  readonly host: string;
  readonly port: number;
  /** Other processes listen on the same port. */
  readonly shared: boolean;
  readonly tls: TlsPair;
  /** Where the server behind it listens, on loopback. */
  readonly innerPort: number;
  /** For tests. */
  readonly handshakeTimeoutMs?: number | undefined;
}

/** A client, as its own connection shows it. */
interface FrontPeer {
  readonly address: string;
  readonly port: number;
}

const HANDSHAKE_TIMEOUT_MS = 10_000;
const INNER_HOST = '127.0.0.1';

/**
 * Terminates TLS in front of Bun's server, because only here can a certificate be replaced: `server.reload` keeps the
 * old one, and changing listeners loses connections. Each client connection has one of its own to the server behind, by
 * whose port the client's address is looked up.
 */
export class TlsFront {
  readonly #options: TlsFrontOptions;
  readonly #server: Server;
  readonly #clients = new Set<TLSSocket>();
  /** The clients, by the port of their connection to the server behind. */
  readonly #peers = new Map<number, FrontPeer>();

  private constructor(options: TlsFrontOptions) {
    this.#options = options;
    this.#server = createServer({
      ...options.tls,
      handshakeTimeout: options.handshakeTimeoutMs ?? HANDSHAKE_TIMEOUT_MS,
      ALPNProtocols: ['http/1.1'],
    });
    this.#server.on('secureConnection', (client) => this.#accept(client));
    // A failed handshake concerns only its client, which sees the error.
    this.#server.on('tlsClientError', (_, socket) => socket.destroy());
  }

  /** Throws the system's error if it cannot listen. */
  static async listen(options: TlsFrontOptions): Promise<TlsFront> {
    const front = new TlsFront(options);
    const { host, port, shared } = options;
    const listening = once(front.#server, 'listening');
    front.#server.listen({ host, port, reusePort: shared });
    await listening;
    return front;
  }

  get port(): number {
    const address = this.#server.address();
    return typeof address === 'object' && address !== null ? address.port : this.#options.port;
  }

  /** The client behind a connection; `undefined` for one that did not come through here. */
  peerOf(innerClientPort: number): FrontPeer | undefined {
    return this.#peers.get(innerClientPort);
  }

  /** New connections get this certificate; open ones go on with theirs. */
  use(tls: TlsPair): void {
    this.#server.setSecureContext({ ...tls });
  }

  closeListener(): void {
    this.#server.close();
  }

  /** Ends what is still open. */
  stop(): void {
    this.#server.close();
    for (const client of this.#clients) client.destroy();
  }

  #accept(client: TLSSocket): void {
    const peer = { address: client.remoteAddress ?? '', port: client.remotePort ?? 0 };
    const inner = connect({ host: INNER_HOST, port: this.#options.innerPort, noDelay: true });
    this.#clients.add(client);
    inner.once('connect', () => {
      const { localPort } = inner;
      const innerPort = localPort ?? 0;
      this.#peers.set(innerPort, peer);
      inner.once('close', () => this.#peers.delete(innerPort));
      client.pipe(inner);
      inner.pipe(client);
    });
    endTogether(client, inner);
    client.once('close', () => this.#clients.delete(client));
  }
}

/** What a client loses, the server loses too; what the server ends was sent to the end before. */
function endTogether(client: Socket, inner: Socket): void {
  client.on('error', () => inner.destroy());
  inner.on('error', () => client.destroy());
  client.once('close', () => inner.destroy());
  inner.once('close', () => client.end());
}
