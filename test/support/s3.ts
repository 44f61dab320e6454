import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import S3rver from '@20minutes/s3rver';
import { startFaultProxy, type FaultProxy } from './fault-proxy.ts';

const BUCKET = 'tollgate-test';
/** The one key that the server knows; a signature by any other is refused. */
const KEY = 'S3RVER';

/** A server that speaks S3 and checks signatures, behind a proxy that can be frozen or closed. */
export class TestS3 {
  readonly #server: S3rver;
  readonly #folder: string;
  readonly #port: number;
  #proxy: FaultProxy;

  private constructor(server: S3rver, folder: string, port: number, proxy: FaultProxy) {
    this.#server = server;
    this.#folder = folder;
    this.#port = port;
    this.#proxy = proxy;
  }

  static async start(): Promise<TestS3> {
    const folder = mkdtempSync(join(tmpdir(), 'tollgate-s3-'));
    const address = '127.0.0.1';
    const configureBuckets = [{ name: BUCKET }];
    const server = new S3rver({ port: 0, address, silent: true, directory: folder, configureBuckets });
    const { port } = await server.run();
    return new TestS3(server, folder, port, await startFaultProxy(port));
  }

  get env(): Record<string, string> {
    return {
      TOLLGATE_S3_BUCKET: BUCKET,
      TOLLGATE_S3_ENDPOINT: `http://127.0.0.1:${this.#proxy.port}`,
      TOLLGATE_S3_ACCESS_KEY_ID: KEY,
      TOLLGATE_S3_SECRET_ACCESS_KEY: KEY,
    };
  }

  /** Every object under the account, by the file that the server keeps of it. */
  objectsOf(accountId: string): string[] {
    const folder = join(this.#folder, BUCKET, 'tollgate', 'images', accountId);
    if (!existsSync(folder)) return [];
    return readdirSync(folder).filter((name) => name.endsWith('_object'));
  }

  /** Behind the back of whoever put them there. */
  deleteObjects(accountId: string): void {
    rmSync(join(this.#folder, BUCKET, 'tollgate', 'images', accountId), { recursive: true, force: true });
  }

  freeze(): void {
    this.#proxy.freeze();
  }

  thaw(): void {
    this.#proxy.thaw();
  }

  /** Connections are refused until it is up again. */
  async down(): Promise<void> {
    await this.#proxy.close();
  }

  async up(): Promise<void> {
    this.#proxy = await startFaultProxy(this.#port, undefined, this.#proxy.port);
  }

  async stop(): Promise<void> {
    await this.#proxy.close().catch(() => undefined);
    await this.#server.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
