import type { ImageJobStore } from '../activity/image-job-store.ts';
import type { Admitted } from '../relay/admission.ts';
import type { ImageCall, RelayParts } from '../relay/call.ts';
import type { ImageRecord } from '../relay/images.ts';
import type { GeneratedImage } from '../upstream/port.ts';
import type { ImageLinks } from './image-links.ts';
import { keptCallText, storeImages, type StoredImage } from './kept-call.ts';

export interface PlainImageRecordParts {
  readonly store: ImageJobStore;
  readonly links: ImageLinks;
  readonly relay: RelayParts;
}

/**
 * An image request whose client waits. It has a row among the jobs while a backend works on it by a job of its own, or may
 * send a bill: if this process dies, another one asks for that job, and the images are in the gallery; or it books the cost.
 */
export class PlainImageRecord implements ImageRecord {
  readonly endsWithProcess = true;
  /** What its client gets links to. */
  stored: readonly StoredImage[] = [];
  readonly #call: ImageCall;
  readonly #parts: PlainImageRecordParts;
  #accountId = '';
  #upstream = '';
  #hasRow = false;

  constructor(call: ImageCall, parts: PlainImageRecordParts) {
    this.#call = call;
    this.#parts = parts;
  }

  /** Whoever has left finds the images in the gallery. */
  get isInline(): boolean {
    return this.#call.request.response_format === 'b64_json' && !this.#call.signal.aborted;
  }

  held({ accountId }: Admitted): Promise<void> {
    this.#accountId = accountId;
    return Promise.resolve();
  }

  async started(upstream: string, mayCost: boolean): Promise<void> {
    this.#upstream = upstream;
    if (this.#hasRow) await this.#quietly(({ store }) => store.started(this.#call.requestId, upstream));
    else if (mayCost)
      await this.#quietly(({ relay }) =>
        this.#add(relay.clock.now() + relay.upstreams.timeouts(upstream).totalMs),
      );
  }

  async accepted(backendJob: string, lifeMs: number): Promise<void> {
    await this.#quietly(async ({ store, relay }) => {
      const deadline = relay.clock.now() + lifeMs;
      if (this.#hasRow) await store.accepted(this.#call.requestId, backendJob, deadline);
      else await this.#add(deadline, backendJob);
    });
  }

  async #add(deadline: number, backendJob?: string): Promise<void> {
    const id = this.#call.requestId;
    const job = { id, accountId: this.#accountId, request: keptCallText(this.#call, true), deadline };
    await this.#parts.store.add({ ...job, backend: this.#upstream, backendJob });
    this.#hasRow = true;
  }

  async delivered(images: readonly GeneratedImage[]): Promise<void> {
    if (this.isInline) return;
    const { links } = this.#parts;
    this.stored = await storeImages(images, { call: this.#call, links, once: this.#hasRow });
  }

  /** It was answered. */
  async end(): Promise<void> {
    if (this.#hasRow) await this.#quietly(({ store }) => store.forget(this.#call.requestId));
  }

  /** The request goes on: if it is interrupted now, it ends as one of a backend without jobs. */
  async #quietly(write: (parts: PlainImageRecordParts) => Promise<void>): Promise<void> {
    try {
      await write(this.#parts);
    } catch (error) {
      this.#parts.relay.log.warn('image_job_not_noted', { request: this.#call.requestId, error });
    }
  }
}
