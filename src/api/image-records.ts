import type { ImageJobStore } from '../activity/image-job-store.ts';
import type { Admitted } from '../relay/admission.ts';
import type { Attempt } from '../ledger/port.ts';
import type { ImageCall, InputPicture, RelayParts } from '../relay/call.ts';
import type { ActiveHold } from '../relay/hold/active-hold.ts';
import { keptTerms, type ImageTerms, type KeptImageTerms } from '../relay/image-terms.ts';
import type { ImageInputCount } from '../relay/image-tokens.ts';
import type { ImageRecord } from '../relay/images.ts';
import { Fault } from '../std/fault.ts';
import type { RequestId } from '../std/ids.ts';
import type { GeneratedImage, ImagePart } from '../upstream/port.ts';
import type { ImageRequestWith } from '../wire/openai/images.ts';
import type { ImageLinks } from './image-links.ts';

interface RunningImageJobParts {
  readonly store: ImageJobStore;
  readonly links: ImageLinks;
  readonly relay: RelayParts;
  readonly longestMs: () => number;
  /** The backend has accepted it as a job of its own. */
  readonly onAccepted: () => void;
}

/** One image job of this process; its row is kept up to date. */
export class RunningImageJob implements ImageRecord {
  readonly endsWithProcess = false;
  readonly #call: ImageCall;
  readonly #kept: KeptCallText;
  readonly #parts: RunningImageJobParts;
  readonly createdAt: number;
  #hold: ActiveHold | undefined;
  #isAtBackend = false;
  /** It was left for another process. */
  isLeft = false;

  constructor(call: ImageCall, parts: RunningImageJobParts) {
    this.#call = call;
    this.#kept = new KeptCallText(call);
    this.#parts = parts;
    this.createdAt = parts.relay.clock.now();
  }

  get requestId(): RequestId {
    return this.#call.requestId;
  }

  async held({ accountId }: Admitted, { hold, terms }: Parameters<ImageRecord['held']>[1]): Promise<void> {
    const { store, relay, longestMs } = this.#parts;
    const { requestId: id, createdAt } = this;
    this.#hold = hold;
    const request = this.#kept.held(terms);
    await store.add({ id, accountId, request, createdAt, deadline: relay.clock.now() + longestMs() });
  }

  /** Continues in another process than the one that admitted it. */
  resumed(hold: ActiveHold): void {
    this.#hold = hold;
    this.#isAtBackend = true;
  }

  async started(upstream: string, { earlier }: Parameters<ImageRecord['started']>[1]): Promise<void> {
    this.#isAtBackend = false;
    const request = this.#kept.started(earlier);
    await this.#quietly(() => this.#parts.store.started(this.requestId, upstream, request));
  }

  async accepted(submitted: readonly ImagePart[], lifeMs: number): Promise<void> {
    const { store, relay, onAccepted } = this.#parts;
    await this.#quietly(async () => {
      const request = await this.#kept.accepted(submitted);
      const deadline = relay.clock.now() + lifeMs;
      await store.accepted(this.requestId, { backendJob: jobsOf(submitted), deadline, request });
      this.#isAtBackend = true;
      onAccepted();
    });
  }

  async delivered(images: readonly GeneratedImage[]): Promise<void> {
    // Whoever adopts it delivers all of them.
    if (this.isLeft) throw leftToAnother();
    this.#isAtBackend = false;
    const { store, links } = this.#parts;
    const stored = await storeImages(images, { call: this.#call, links, once: true });
    await store.delivered(this.requestId, JSON.stringify(stored));
  }

  /** Leaves it to another process. False: no backend has it as a job that another process could ask for. */
  leave(): boolean {
    if (!this.#isAtBackend || !this.#hold) return false;
    this.#isAtBackend = false;
    this.isLeft = true;
    this.#hold.leave(leftToAnother());
    return true;
  }

  /** A failed write does not stop the job: if it is interrupted now, it ends like one whose backend has no jobs. */
  async #quietly(write: () => Promise<void>): Promise<void> {
    try {
      await write();
    } catch (error) {
      this.#parts.relay.log.warn('image_job_not_noted', { request: this.requestId, error });
    }
  }
}

function leftToAnother(): Fault {
  return new Fault('service_unavailable', 'This node is shutting down. Try again.');
}

/** The jobs in the form that older versions of Tollgate read. */
function jobsOf(submitted: readonly ImagePart[]): string {
  return submitted.flatMap(({ job }) => job ?? []).join(' ');
}

/** The images in a job's row; only `RunningImageJob` writes them. */
export function storedImagesOf(result: string | null): readonly StoredImage[] {
  return result === null ? [] : (JSON.parse(result) as StoredImage[]);
}

interface PlainImageRecordParts {
  readonly store: ImageJobStore;
  readonly links: ImageLinks;
  readonly relay: RelayParts;
}

/**
 * An image request whose client waits for it. While a backend works on it as a job of its own, or may bill it, it has a
 * row among the jobs: if this process dies, another one fetches that job's images into the gallery, or books the cost.
 */
export class PlainImageRecord implements ImageRecord {
  readonly endsWithProcess = true;
  /** The images that its client gets links to. */
  stored: readonly StoredImage[] = [];
  readonly #call: ImageCall;
  readonly #kept: KeptCallText;
  readonly #parts: PlainImageRecordParts;
  #accountId = '';
  #upstream = '';
  #hasRow = false;

  constructor(call: ImageCall, parts: PlainImageRecordParts) {
    this.#call = call;
    this.#kept = new KeptCallText(call, true);
    this.#parts = parts;
  }

  /** A client that has left finds its images in the gallery. */
  get isInline(): boolean {
    return this.#call.request.response_format === 'b64_json' && !this.#call.connection.hasLeft;
  }

  held({ accountId }: Admitted, { terms }: Parameters<ImageRecord['held']>[1]): Promise<void> {
    this.#accountId = accountId;
    this.#kept.held(terms);
    return Promise.resolve();
  }

  async started(upstream: string, attempt: Parameters<ImageRecord['started']>[1]): Promise<void> {
    const { mayCost, earlier } = attempt;
    this.#upstream = upstream;
    const request = this.#kept.started(earlier);
    if (this.#hasRow)
      await this.#quietly(({ store }) => store.started(this.#call.requestId, upstream, request));
    else if (mayCost || earlier.some(({ cost }) => cost !== undefined))
      await this.#quietly(({ relay }) =>
        this.#add({ request, deadline: relay.clock.now() + relay.upstreams.timeouts(upstream).totalMs }),
      );
  }

  async accepted(submitted: readonly ImagePart[], lifeMs: number): Promise<void> {
    await this.#quietly(async ({ store, relay }) => {
      const request = await this.#kept.accepted(submitted);
      const accepted = { request, backendJob: jobsOf(submitted), deadline: relay.clock.now() + lifeMs };
      if (this.#hasRow) await store.accepted(this.#call.requestId, accepted);
      else await this.#add(accepted);
    });
  }

  async #add(job: { request: string; deadline: number; backendJob?: string }): Promise<void> {
    const { requestId: id } = this.#call;
    const { store, relay } = this.#parts;
    const about = { id, accountId: this.#accountId, backend: this.#upstream };
    await store.add({ ...job, ...about, createdAt: relay.clock.now() });
    this.#hasRow = true;
  }

  async delivered(images: readonly GeneratedImage[]): Promise<void> {
    const { links } = this.#parts;
    const { isKeyed = false } = this.#call;
    const store = () => storeImages(images, { call: this.#call, links, once: this.#hasRow || isKeyed });
    if (!this.isInline) this.stored = await store();
    // Its client may come back when the answer itself is no longer kept.
    else if (isKeyed) await this.#quietly(async () => void (await store()), 'image_not_kept');
  }

  /** Ends the record: the request was answered. */
  async end(): Promise<void> {
    if (this.#hasRow) await this.#quietly(({ store }) => store.forget(this.#call.requestId));
  }

  /** A failed write does not stop the request: if it is interrupted now, it ends like one whose backend has no jobs. */
  async #quietly(
    write: (parts: PlainImageRecordParts) => Promise<void>,
    event = 'image_job_not_noted',
  ): Promise<void> {
    try {
      await write(this.#parts);
    } catch (error) {
      this.#parts.relay.log.warn(event, { request: this.#call.requestId, error });
    }
  }
}

/** The part of a call that another process needs to continue it, without uploads: the backend has those by then. */
interface KeptCall extends Pick<ImageCall, 'selector' | 'label' | 'client'> {
  readonly request: ImageRequestWith<Pick<InputPicture, 'mime'>>;
  /** Its client waited for the answer and did not ask for a job. */
  readonly isPlain?: boolean | undefined;
  /** Absent from what earlier versions wrote, as all below. */
  readonly terms?: KeptImageTerms | undefined;
  /** The attempts before the backend that has it now. */
  readonly earlier?: readonly Attempt[] | undefined;
  /** All that was submitted to that backend, once it has accepted some of it as jobs. */
  readonly submitted?: readonly ImagePart[] | undefined;
}

/** The stored text of a call, which is extended as the call proceeds. */
class KeptCallText {
  readonly #call: ImageCall;
  readonly #isPlain: true | undefined;
  #terms: ImageTerms | undefined;
  #earlier: readonly Attempt[] = [];

  constructor(call: ImageCall, isPlain?: true) {
    this.#call = call;
    this.#isPlain = isPlain;
  }

  held(terms: ImageTerms): string {
    this.#terms = terms;
    return this.#text();
  }

  started(earlier: readonly Attempt[]): string {
    this.#earlier = [...earlier];
    return this.#text();
  }

  /** Stores our own count of the input too, because its pictures are only in this process. */
  async accepted(submitted: readonly ImagePart[]): Promise<string> {
    return this.#text(submitted, await this.#terms?.countInputForCharge?.());
  }

  #text(submitted?: readonly ImagePart[], input?: ImageInputCount): string {
    const { selector, label, client, request } = this.#call;
    const terms = this.#terms && keptTerms(this.#terms, input);
    const [isPlain, earlier] = [this.#isPlain, this.#earlier];
    const kept: KeptCall = { selector, label, client, request, isPlain, terms, earlier, submitted };
    return JSON.stringify(kept);
  }
}

/** Written by `KeptCallText` alone. */
export function keptCallOf(text: string | null): KeptCall {
  return JSON.parse(text ?? '{}') as KeptCall;
}

interface StoredImage {
  readonly id: string;
  readonly revisedPrompt?: string | undefined;
}

/** More tries for a job, since nobody waits for its answer. */
const SAVE_TRIES = { job: 5, plain: 3 };
const SAVE_PAUSE_MS = 100;
/** No further try begins after this long. */
const SAVE_PATIENCE_MS = 10_000;

/**
 * Stores the images of a call, with retries: images must not be lost to a store that is unavailable for a moment. With
 * `once`, another process that continues the call does not store any of them again.
 */
export async function storeImages(
  images: readonly GeneratedImage[],
  { call, links, once }: { readonly call: ImageCall; readonly links: ImageLinks; readonly once: boolean },
): Promise<StoredImage[]> {
  const stored: StoredImage[] = [];
  const until = performance.now() + SAVE_PATIENCE_MS;
  const most = once ? SAVE_TRIES.job : SAVE_TRIES.plain;
  for (const [index, image] of images.entries()) {
    const id = once ? imageIdOf(call.requestId, index) : undefined;
    for (let tries = 1; ; tries++) {
      try {
        stored.push({ id: await links.store(image, call, id), revisedPrompt: image.revisedPrompt });
        break;
      } catch (thrown) {
        if (tries === most || performance.now() > until) throw thrown;
        await Bun.sleep(SAVE_PAUSE_MS * 2 ** tries);
      }
    }
  }
  return stored;
}

function imageIdOf(requestId: RequestId, index: number): string {
  return `img_${requestId.slice('req_'.length)}${index}`;
}
