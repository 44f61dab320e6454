import type { UpstreamImageCall } from '../port.ts';

/**
 * A provider of images that does not speak OpenAI's API, as data: how a request is written and an answer is read. What all
 * have in common (limits, polling, cancelling, fetching links, several calls for several images) is in
 * `image-api-upstream.ts`.
 */
export interface ImageApi {
  readonly kind: string;
  /** The models that use this API, where the kind has another one too. */
  readonly models?: RegExp;
  headers(key: string): Readonly<Record<string, string>>;
  /** The most images that one call makes. */
  perCall(call: ImageApiCall): number;
  /** The call for `count` images; throws a `rejected` failure for what the model cannot do. */
  request(call: ImageApiCall, count: number): ImageApiRequest;
  read(answer: ImageApiAnswer): ImageApiReading;
  readonly jobs?: ImageApiJobs;
  /** The words for a client whose content was refused, where the status alone does not tell; undefined: another failure. */
  refusal?(failed: FailedAnswer): string | undefined;
  /** A cheap GET that verifies address and, unless `keyless`, the key. */
  readonly check: { readonly path: string; readonly keyless?: true };
}

/** How a backend's jobs are asked about. `job` is what `read` returned: a path below the base address, or an address. */
interface ImageApiJobs {
  /** Hosts other than that of the base address that get the key, because the documentation says so. */
  isOwnHost?(host: string, baseHost: string): boolean;
  isJob(job: string): boolean;
  status(job: string): ImageApiRequest;
  read(answer: ImageApiAnswer): ImageState;
  /** Where the images of a finished job are, if the status does not tell. */
  result?(job: string): ImageApiRequest;
  cancel?(job: string): ImageApiRequest;
}

export interface ImageApiCall extends Pick<
  UpstreamImageCall,
  'model' | 'request' | 'size' | 'shape' | 'convertTo'
> {
  readonly options: ReadonlyMap<string, string>;
  /** The caller stores the names of jobs, to continue after a restart: they must be known at once. */
  readonly isResumable: boolean;
}

export interface ImageApiRequest {
  readonly method: 'GET' | 'POST' | 'PUT';
  /** Below the base address, or a whole address from `job`. */
  readonly path: string;
  readonly json?: Readonly<Record<string, unknown>>;
  readonly form?: FormData;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface ImageApiAnswer {
  readonly headers: Headers;
  /** An empty object if the answer is no JSON object. */
  readonly json: Readonly<Record<string, unknown>>;
  /** The image itself, if the answer is one. */
  readonly image: Uint8Array | undefined;
}

interface FailedAnswer {
  readonly status: number;
  readonly json: Readonly<Record<string, unknown>>;
}

export interface ImageApiReading {
  /** The job that was accepted; absent where the answer is final. */
  readonly job?: string | undefined;
  readonly state: ImageState;
}

export type ImageState =
  | { readonly kind: 'working' }
  /** Done; the images are at `jobs.result`. */
  | { readonly kind: 'finished' }
  /** Links, `data:` addresses or the bytes. */
  | { readonly kind: 'images'; readonly images: readonly (string | Uint8Array)[] }
  /** The content was refused; `message` is for the client. */
  | { readonly kind: 'refused'; readonly message?: string | undefined }
  | { readonly kind: 'failed'; readonly message: string };

/** The backend's name of the format that the client wants; what it does not have is made from PNG, which loses nothing. */
export function formatAt(call: ImageApiCall, names: Readonly<Record<string, string>>): string | undefined {
  const wanted = call.request.output_format;
  if (wanted === undefined) return call.convertTo === undefined ? undefined : names['png'];
  return names[wanted] ?? names['png'];
}

export function seedOf({ request }: ImageApiCall): number | undefined {
  const { seed } = request;
  return typeof seed === 'number' && Number.isSafeInteger(seed) && seed >= 0 ? seed : undefined;
}

/** Options that the operator sets where a model's name does not tell. */
export function mostPerCall({ options }: ImageApiCall, usual: number): number {
  const given = Number(options.get('images_per_call') ?? usual);
  return Number.isInteger(given) && given > 0 ? given : usual;
}

/** A model's name as part of a path. */
export function modelPath(model: string): string {
  return model.split('/').map(encodeURIComponent).join('/');
}

/** A member that is a list of objects; nothing for anything else. */
export function objectsIn(value: unknown): Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function textIn(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
