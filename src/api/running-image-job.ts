import type { ImageJobStore } from '../activity/image-job-store.ts';
import type { Admitted } from '../relay/admission.ts';
import type { ImageCall, RelayParts } from '../relay/call.ts';
import type { ActiveHold } from '../relay/hold/active-hold.ts';
import type { ImageRecord } from '../relay/images.ts';
import { Fault } from '../std/fault.ts';
import type { RequestId } from '../std/ids.ts';
import type { GeneratedImage } from '../upstream/port.ts';
import type { ImageLinks } from './image-links.ts';
import { keptCallText, storeImages, type StoredImage } from './kept-call.ts';

export interface RunningImageJobParts {
  readonly store: ImageJobStore;
  readonly links: ImageLinks;
  readonly relay: RelayParts;
  readonly longestMs: () => number;
  /** Its backend has taken it as a job of its own. */
  readonly onAccepted: () => void;
}

/** One image job of this process. What is known of it is written to its row. */
export class RunningImageJob implements ImageRecord {
  readonly endsWithProcess = false;
  readonly #call: ImageCall;
  readonly #parts: RunningImageJobParts;
  #hold: ActiveHold | undefined;
  #isAtBackend = false;
  /** It was left for another process. */
  isLeft = false;

  constructor(call: ImageCall, parts: RunningImageJobParts) {
    this.#call = call;
    this.#parts = parts;
  }

  get requestId(): RequestId {
    return this.#call.requestId;
  }

  async held({ accountId }: Admitted, hold: ActiveHold): Promise<void> {
    const { store, relay, longestMs } = this.#parts;
    this.#hold = hold;
    const request = keptCallText(this.#call);
    await store.add({
      id: this.requestId,
      accountId,
      request,
      deadline: relay.clock.now() + longestMs(),
    });
  }

  /** In another process than the one that admitted it. */
  resumed(hold: ActiveHold): void {
    this.#hold = hold;
    this.#isAtBackend = true;
  }

  async started(upstream: string): Promise<void> {
    this.#isAtBackend = false;
    await this.#quietly(() => this.#parts.store.started(this.requestId, upstream));
  }

  async accepted(backendJob: string, lifeMs: number): Promise<void> {
    const { store, relay, onAccepted } = this.#parts;
    await this.#quietly(async () => {
      await store.accepted(this.requestId, backendJob, relay.clock.now() + lifeMs);
      this.#isAtBackend = true;
      onAccepted();
    });
  }

  async delivered(images: readonly GeneratedImage[]): Promise<void> {
    this.#isAtBackend = false;
    const { store, links } = this.#parts;
    const stored = await storeImages(images, { call: this.#call, links, once: true });
    await store.delivered(this.requestId, JSON.stringify(stored));
  }

  /** False: it is not at a backend that another process could ask for it. */
  leave(): boolean {
    if (!this.#isAtBackend || !this.#hold) return false;
    this.#isAtBackend = false;
    this.isLeft = true;
    this.#hold.leave(new Fault('service_unavailable', 'This node is shutting down. Retry.'));
    return true;
  }

  /** The job goes on: if it is interrupted now, it ends as one of a backend without jobs. */
  async #quietly(write: () => Promise<void>): Promise<void> {
    try {
      await write();
    } catch (error) {
      this.#parts.relay.log.warn('image_job_not_noted', { request: this.requestId, error });
    }
  }
}

/** The result of a row of jobs; `RunningImageJob` alone writes it. */
export function storedImagesOf(result: string | null): readonly StoredImage[] {
  return result === null ? [] : (JSON.parse(result) as StoredImage[]);
}
