import type { ImageJobStore } from '../activity/image-job-store.ts';
import type { Admitted } from '../relay/admission.ts';
import type { ImageCall, RelayParts } from '../relay/call.ts';
import type { ActiveHold } from '../relay/hold/active-hold.ts';
import type { ImageJobRecord } from '../relay/image-job.ts';
import { Fault } from '../std/fault.ts';
import type { RequestId } from '../std/ids.ts';
import type { GeneratedImage } from '../upstream/port.ts';
import type { ImageLinks } from './image-links.ts';

/** What is kept of a call, for a process that goes on with it; uploads have reached the backend by then. */
export type KeptCall = Pick<ImageCall, 'selector' | 'label' | 'client' | 'request'>;

export interface StoredImage {
  readonly id: string;
  readonly revisedPrompt?: string | undefined;
}

export interface RunningImageJobParts {
  readonly store: ImageJobStore;
  readonly links: ImageLinks;
  readonly relay: RelayParts;
  readonly longestMs: () => number;
  /** Its backend has taken it as a job of its own. */
  readonly onAccepted: () => void;
}

const SAVE_TRIES = 5;
const SAVE_PAUSE_MS = 100;

/** One image job of this process. What is known of it is written to its row. */
export class RunningImageJob implements ImageJobRecord {
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
    const { selector, label, client, request } = this.#call;
    const kept: KeptCall = { selector, label, client, request };
    const text = JSON.stringify(kept, (_, value: unknown) =>
      value instanceof Uint8Array ? undefined : value,
    );
    await store.add({
      id: this.requestId,
      accountId,
      request: text,
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

  /** A store that is unavailable for a moment must not cost images that are there. */
  async delivered(images: readonly GeneratedImage[]): Promise<void> {
    this.#isAtBackend = false;
    for (let tries = 1; ; tries++) {
      try {
        return await this.#save(images);
      } catch (thrown) {
        if (tries === SAVE_TRIES) throw thrown;
        await Bun.sleep(SAVE_PAUSE_MS * 2 ** tries);
      }
    }
  }

  /** False: it is not at a backend that another process could ask for it. */
  leave(): boolean {
    if (!this.#isAtBackend || !this.#hold) return false;
    this.#isAtBackend = false;
    this.isLeft = true;
    this.#hold.leave(new Fault('service_unavailable', 'This node is shutting down. Retry.'));
    return true;
  }

  async #save(images: readonly GeneratedImage[]): Promise<void> {
    const { store, links } = this.#parts;
    const stored: StoredImage[] = [];
    for (const [index, image] of images.entries()) {
      const id = `img_${this.requestId.slice('req_'.length)}${index}`;
      stored.push({ id: await links.store(image, this.#call, id), revisedPrompt: image.revisedPrompt });
    }
    await store.delivered(this.requestId, JSON.stringify(stored));
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
