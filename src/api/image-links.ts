import { createHmac } from 'node:crypto';
import type { ImageStore, KeptImage } from '../activity/image-store.ts';
import type { ImageCall } from '../relay/call.ts';
import type { Clock } from '../std/clock.ts';
import { Fault } from '../std/fault.ts';
import { sameSecret } from '../std/same-secret.ts';
import type { GeneratedImage } from '../upstream/port.ts';
import { baseHeaders, storedFileAnswer } from '../http/response.ts';

interface ImageLinksOptions {
  readonly store: ImageStore;
  readonly key: Uint8Array;
  readonly clock: Clock;
  /** Where links lead; by default the address that the request was sent to. */
  readonly publicUrl?: string | undefined;
}

const LINK_LIFE_MS = 3_600_000;

/**
 * Links to generated images: signed, valid for an hour, and usable without a token, so that they can be embedded in a
 * page.
 */
export class ImageLinks {
  readonly #options: ImageLinksOptions;
  readonly #store: ImageStore;
  readonly #key: Uint8Array;
  readonly #clock: Clock;

  constructor(options: ImageLinksOptions) {
    this.#options = options;
    this.#store = options.store;
    this.#key = options.key;
    this.#clock = options.clock;
  }

  /** For the console's pages, which may load pictures from their own origin only. */
  onOwnAddress(): ImageLinks {
    return new ImageLinks({ ...this.#options, publicUrl: undefined });
  }

  /** Stores the image and returns its id; see {@link ImageStore} for the one that is given. */
  async store(image: GeneratedImage, call: ImageCall, id?: string): Promise<string> {
    const { requestId, request } = call;
    const parameters = parametersOf(call);
    return await this.#store.save({ image, requestId, prompt: request.prompt, parameters, id });
  }

  /** By id, from the account's own gallery. */
  async findAllOwn(accountId: string, ids: readonly string[]): Promise<ReadonlyMap<string, KeptImage>> {
    return await this.#store.findAllOwn(accountId, ids);
  }

  /** See {@link ImageStore.findOfRequest}. */
  async findOfRequest(accountId: string, requestId: string): Promise<ReadonlyMap<string, KeptImage>> {
    return await this.#store.findOfRequest(accountId, requestId);
  }

  now(): number {
    return this.#clock.now();
  }

  link(id: string, origin: string): string {
    const expires = Math.floor((this.#clock.now() + LINK_LIFE_MS) / 1000);
    return `${this.#options.publicUrl ?? origin}/api/public/v1/images/${id}?expires=${expires}&signature=${this.#sign(id, expires)}`;
  }

  /** The id in an address of one of our images, or of the console's; `undefined` for any other address. */
  idIn(address: string, origin: string): string | undefined {
    const own = this.#options.publicUrl ?? origin;
    if (!URL.canParse(address, own)) return undefined;
    const url = new URL(address, own);
    if (url.origin !== new URL(own).origin && url.origin !== new URL(origin).origin) return undefined;
    return /^\/api\/(?:public\/v1|console)\/images\/(img_\w{1,64})$/.exec(url.pathname)?.[1];
  }

  async serve(request: Request, requestId: string, id: string): Promise<Response> {
    const query = new URL(request.url).searchParams;
    const expires = Number(query.get('expires'));
    const alive = Number.isSafeInteger(expires) && expires * 1000 > this.#clock.now();
    if (!alive || !sameSecret(query.get('signature') ?? '', this.#sign(id, expires))) throw gone();
    const image = await this.#store.find(id);
    const answer =
      image &&
      (await storedFileAnswer(image, request, {
        ...baseHeaders(requestId),
        'content-type': image.mime,
        'cache-control': 'private, max-age=3600, immutable',
        'content-security-policy': "default-src 'none'",
        'content-disposition': 'inline',
      }));
    if (!answer) throw gone();
    return answer;
  }

  #sign(id: string, expires: number): string {
    return createHmac('sha256', this.#key).update(`${id}.${expires}`).digest('hex');
  }
}

/** What the request said beside its prompt and its pictures, so that it can be made again. */
function parametersOf({ selector, request }: ImageCall): string {
  // A field that was taken out of the body is still there as `undefined`, and must not replace its known value.
  const said = Object.entries(request).filter(
    ([name, value]) => value !== undefined && !NOT_REPEATED.has(name),
  );
  const pictures = request.image && { pictures: request.image.length };
  const parameters = {
    endpoint: selector.code,
    model: selector.model,
    ...Object.fromEntries(said),
    ...pictures,
  };
  return JSON.stringify(parameters);
}

const NOT_REPEATED: ReadonlySet<string> = new Set([
  'model',
  'prompt',
  'image',
  'mask',
  'n',
  'response_format',
  'stream',
  'partial_images',
  'user',
]);

function gone(): Fault {
  return new Fault('not_found', 'There is no such image, or its link has expired.');
}
