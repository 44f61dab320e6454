import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BROWSER, customer } from '../../support/attacked-server.ts';
import { certificateFor } from '../../support/certificate.ts';
import type { NodeProcess } from '../../support/node-process.ts';

/** Public addresses, since a gateway calls no others of its customers. Nothing leaves this machine for them. */
const PROMPT = '9.9.9.8';
const SLOW = '9.9.9.7';
const OF_THIS_MACHINE = '127.0.0.1';
const DAY_MS = 86_400_000;

/**
 * Receivers of customers' webhooks: one that answers at once, and one that never does. Gateways reach them through a proxy for
 * their calls to https addresses, as behind the firewall of a company.
 */
export class WebhookReceivers {
  /** Of the one that answers, and of the one that does not. */
  readonly url = `https://${PROMPT}/hook`;
  readonly slowUrl = (name: string): string => `https://${SLOW}/${name}`;
  /** For gateways. */
  readonly env: Readonly<Record<string, string>>;
  readonly #folder: string;
  readonly #receiver: ReturnType<typeof Bun.serve>;
  readonly #proxy: Server;
  readonly #sockets = new Set<Socket>();
  #onReceived: () => void = () => undefined;
  /** How many calls have come for the one that does not answer. */
  slowCalls = 0;

  private constructor({ cert, key }: { readonly cert: string; readonly key: string }) {
    this.#folder = mkdtempSync(join(tmpdir(), 'tollgate-receivers-'));
    const trusted = join(this.#folder, 'cert.pem');
    writeFileSync(trusted, cert);
    this.#receiver = Bun.serve({
      hostname: OF_THIS_MACHINE,
      port: 0,
      tls: { cert, key },
      fetch: () => {
        this.#onReceived();
        return new Response(null, { status: 204 });
      },
    });
    this.#proxy = createServer((socket) => this.#connect(socket)).listen(0, OF_THIS_MACHINE);
    const { port } = this.#proxy.address() as AddressInfo;
    this.env = { HTTPS_PROXY: `http://${OF_THIS_MACHINE}:${port}`, NODE_EXTRA_CA_CERTS: trusted };
  }

  static async start(): Promise<WebhookReceivers> {
    const now = Date.now();
    return new WebhookReceivers(await certificateFor(PROMPT, { from: now - DAY_MS, until: now + DAY_MS }));
  }

  /** Resolves with the next message to the receiver that answers. */
  received(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onReceived = resolve;
    return promise;
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#proxy.close();
    await this.#receiver.stop(true);
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #connect(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => this.#sockets.delete(socket));
    socket.once('data', (head) => {
      if (!head.toString('latin1').startsWith(`CONNECT ${PROMPT}:443 `)) {
        this.slowCalls++;
        return;
      }
      const receiver = connect(this.#receiver.port ?? 0, OF_THIS_MACHINE, () => {
        socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
        socket.pipe(receiver).pipe(socket);
      });
      receiver.on('error', () => socket.destroy());
    });
  }
}

export interface MessageReport {
  readonly sent: number;
  readonly received: number;
  readonly slowestMs: number;
}

/** An account may replace its token ten times, and then once a minute. */
const MESSAGE_EVERY_MS = 10_000;
const PATIENCE_MS = 30_000;

/** How long events of a customer take to its receiver, which answers at once: from the answer to the call that causes them. */
export async function measureMessages(
  { url, cookie }: { readonly url: string; readonly cookie: string },
  receivers: WebhookReceivers,
  seconds: number,
): Promise<MessageReport> {
  const times: number[] = [];
  let sent = 0;
  for (const end = performance.now() + seconds * 1_000; performance.now() < end; sent++) {
    const next = Bun.sleep(MESSAGE_EVERY_MS);
    const received = receivers.received().then(() => performance.now());
    await post(`${url}/api/console/token`, cookie, {});
    const happenedAt = performance.now();
    const receivedAt = await Promise.race([received, Bun.sleep(PATIENCE_MS)]);
    if (typeof receivedAt === 'number') times.push(receivedAt - happenedAt);
    await next;
  }
  return { sent, received: times.length, slowestMs: Math.round(Math.max(0, ...times)) };
}

/** The session of a new customer, whose receivers are told about each token that it replaces. */
export async function customerWithWebhooks(
  node: NodeProcess,
  email: string,
  receivers: readonly string[],
): Promise<string> {
  const cookie = await customer(node, email);
  // The first replaces none.
  await post(`${node.url}/api/console/token`, cookie, {});
  for (const url of receivers)
    await post(`${node.url}/api/console/webhooks`, cookie, { url, events: ['token.replaced'] });
  return cookie;
}

async function post(url: string, cookie: string, body: object): Promise<void> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { ...BROWSER, cookie },
    body: JSON.stringify(body),
  });
  if (response.status !== 200) throw new Error(`${url}: ${response.status} ${await response.text()}`);
}
