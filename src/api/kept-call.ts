import type { ImageCall } from '../relay/call.ts';
import type { RequestId } from '../std/ids.ts';
import type { GeneratedImage } from '../upstream/port.ts';
import type { ImageLinks } from './image-links.ts';

/** What is kept of a call, for a process that goes on with it; uploads have reached the backend by then. */
export interface KeptCall extends Pick<ImageCall, 'selector' | 'label' | 'client' | 'request'> {
  /** Somebody waited for its answer, who did not ask for a job. */
  readonly isPlain?: boolean | undefined;
}

export function keptCallText(call: ImageCall, isPlain?: true): string {
  const { selector, label, client, request } = call;
  const kept: KeptCall = { selector, label, client, request, isPlain };
  return JSON.stringify(kept, (_, value: unknown) => (value instanceof Uint8Array ? undefined : value));
}

/** Written by `keptCallText` alone. */
export function keptCallOf(text: string | null): KeptCall {
  return JSON.parse(text ?? '{}') as KeptCall;
}

export interface StoredImage {
  readonly id: string;
  readonly revisedPrompt?: string | undefined;
}

/** Of a job nobody waits for the answer. */
const SAVE_TRIES = { job: 5, plain: 3 };
const SAVE_PAUSE_MS = 100;
/** After so long no further try begins. */
const SAVE_PATIENCE_MS = 10_000;

/**
 * Stores the images of a call. A store that is unavailable for a moment must not cost images that are there. With `once`,
 * another process that goes on with the call stores none of them a second time.
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
