import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readTls } from '../../http/tls.ts';
import type { WebhookRules } from '../webhook-channel.ts';

export interface ReceivedWebhook {
  readonly path: string;
  readonly search: string;
  readonly headers: Record<string, string>;
  readonly body: string;
}

/** A receiver over real HTTPS, whose certificate is for `localhost`. It answers 204 unless told otherwise. */
export class WebhookReceiver {
  readonly received: ReceivedWebhook[] = [];
  readonly #server: ReturnType<typeof Bun.serve>;
  readonly #folder: string;
  readonly #ca: string;
  #answer: (received: ReceivedWebhook) => Response | Promise<Response> = () =>
    new Response(null, { status: 204 });

  private constructor(folder: string, tls: { cert: string; key: string }) {
    this.#folder = folder;
    this.#ca = tls.cert;
    this.#server = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      tls,
      fetch: async (request) => {
        const received = {
          path: new URL(request.url).pathname,
          search: new URL(request.url).search,
          headers: Object.fromEntries(request.headers),
          body: await request.text(),
        };
        this.received.push(received);
        return await this.#answer(received);
      },
    });
  }

  static async start(): Promise<WebhookReceiver> {
    const folder = mkdtempSync(join(tmpdir(), 'tollgate-receiver-'));
    const tls = await readTls({ kind: 'self-signed' }, folder);
    if (!tls) throw new Error('there is no certificate');
    return new WebhookReceiver(folder, tls);
  }

  answer(script: (received: ReceivedWebhook) => Response | Promise<Response>): void {
    this.#answer = script;
  }

  /** For one of the receiver's paths. */
  url(path = '/hook'): string {
    return `https://localhost:${this.#server.port}${path}`;
  }

  /** Lets messages reach it, as if it were public. */
  get rules(): Partial<WebhookRules> {
    return { lookup: () => Promise.resolve(['127.0.0.1']), isPrivate: () => false, ca: this.#ca };
  }

  async stop(): Promise<void> {
    await this.#server.stop(true);
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
