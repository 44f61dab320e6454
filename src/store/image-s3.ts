import { imagesUnavailable, type ImageObjects } from './image-objects.ts';

export interface S3Settings {
  readonly bucket: string;
  /** The address of a server that is not Amazon's. */
  readonly endpoint: string | undefined;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** How long one call may take. */
  readonly deadlineMs: number;
}

const FOLDER = 'tollgate/images';

/** Images in storage that speaks S3, shared by any number of servers. */
export class ImageBucket implements ImageObjects {
  readonly place = 's3';
  readonly address: string;
  readonly #client: Bun.S3Client;
  readonly #deadlineMs: number;

  constructor({ deadlineMs, endpoint, ...settings }: S3Settings) {
    this.address = `bucket ${settings.bucket} at ${endpoint ?? `Amazon S3, ${settings.region}`}`;
    this.#client = new Bun.S3Client({ ...settings, ...(endpoint !== undefined && { endpoint }) });
    this.#deadlineMs = deadlineMs;
  }

  async put(key: string, bytes: Uint8Array, type: string): Promise<void> {
    await this.#inTime(this.#client.write(`${FOLDER}/${key}`, new Uint8Array(bytes), { type }));
  }

  /** Bun's client reads a stream ahead of who takes it, so that the whole object would wait in memory for a slow reader. */
  async read(key: string, start: number, end: number): Promise<Uint8Array<ArrayBuffer> | undefined> {
    const read = this.#client.file(`${FOLDER}/${key}`).slice(start, end).bytes();
    return await this.#inTime(
      read.catch((error: unknown) => {
        if (codeOf(error) === 'NoSuchKey') return undefined;
        throw error;
      }),
    );
  }

  async delete(key: string): Promise<void> {
    await this.#inTime(this.#client.delete(`${FOLDER}/${key}`));
  }

  /** Bun's client cannot be aborted: a call that takes too long is left behind. */
  async #inTime<T>(call: Promise<T>): Promise<T> {
    const late = Promise.withResolvers<never>();
    const message = `the storage of images did not answer within ${this.#deadlineMs} ms`;
    const timer = setTimeout(() => late.reject(new Error(message)), this.#deadlineMs);
    try {
      return await Promise.race([call, late.promise]);
    } catch (error) {
      throw imagesUnavailable(withCode(error));
    } finally {
      clearTimeout(timer);
    }
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}

/** The message alone is often "an unexpected error has occurred". */
function withCode(error: unknown): unknown {
  const code = codeOf(error);
  return typeof code === 'string' && error instanceof Error
    ? new Error(`${code}: ${error.message}`, { cause: error })
    : error;
}
