import { PIXEL_BASE64 } from '../support/scripted-backend.ts';
import type { Fields, ImageBill } from './stand-in.ts';

/** How one image ends at the provider. */
export type ImageOutcome =
  | 'made'
  /** Its content is refused; nothing is billed. */
  | 'refused'
  /** The provider fails; nothing is billed. */
  | 'failed'
  /** Billed, and no picture: the bytes are cut off. */
  | 'cut'
  /** Billed, and its link answers 404. */
  | 'gone'
  /** It is never done. */
  | 'endless';

export interface ImageCallReceived {
  readonly method: string;
  readonly path: string;
  readonly headers: Headers;
  readonly body: Fields;
}

export const PICTURE = new Uint8Array(Buffer.from(PIXEL_BASE64, 'base64'));
/** The folder of the stand-in's pictures: `options.image_path` of an upstream in tests. */
export const PICTURE_PATH = '/pictures/';

export interface ImageJob {
  readonly id: string;
  readonly model: string;
  readonly outcomes: readonly ImageOutcome[];
  polls: number;
  cancelled: boolean;
}

/** A provider of images over real HTTP: as strict as its reference, with an invoice of its own. */
export abstract class ImageStandIn {
  readonly key = 'key-of-the-operator';
  readonly invoice: ImageBill[] = [];
  readonly received: ImageCallReceived[] = [];
  readonly jobs = new Map<string, ImageJob>();
  /** How the next images end, in order; after them every image is made. */
  outcomes: ImageOutcome[] = [];
  /** How often a job is asked about before it is done. */
  pollsBeforeDone = 1;
  /** Answers that come instead of the next polls. */
  pollFailures: Response[] = [];
  /** What becomes of an answer after the work was done and billed: it may come late, broken, or never. */
  onAnswer: ((answer: Response, call: ImageCallReceived) => Response | Promise<Response>) | undefined;
  picture: Uint8Array<ArrayBuffer> = PICTURE;
  #made = 0;
  #watchers: (() => void)[] = [];
  readonly #server: ReturnType<typeof Bun.serve>;

  constructor() {
    this.#server = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      idleTimeout: 0,
      fetch: async (request) => {
        const response = await this.#answer(request);
        for (const watch of this.#watchers) watch();
        return response;
      },
    });
  }

  get origin(): string {
    return `http://127.0.0.1:${this.#server.port}`;
  }

  abstract get baseUrl(): string;
  protected abstract answer(call: ImageCallReceived, url: URL): Response | Promise<Response>;

  async stop(): Promise<void> {
    await this.#server.stop(true);
  }

  /** Resolves once `condition` holds after an answer. */
  async until(condition: () => boolean): Promise<void> {
    if (condition()) return;
    await new Promise<void>((resolve) => this.#watchers.push(() => condition() && resolve()));
  }

  protected nextOutcomes(count: number): ImageOutcome[] {
    return Array.from({ length: count }, () => this.outcomes.shift() ?? 'made');
  }

  protected begin(model: string, count: number): ImageJob {
    const id = `job${(++this.#made).toString(36)}x${Bun.hash(model).toString(36)}`;
    const job = { id, model, outcomes: this.nextOutcomes(count), polls: 0, cancelled: false };
    this.jobs.set(id, job);
    return job;
  }

  /** Whether it is done at this question; the first one that finds it done bills it. */
  protected asked(job: ImageJob, size: string): boolean {
    if (job.outcomes.includes('endless')) return false;
    if (++job.polls < this.pollsBeforeDone) return false;
    if (job.polls === this.pollsBeforeDone) this.bill(job.model, job.outcomes, size);
    return true;
  }

  protected bill(model: string, outcomes: readonly ImageOutcome[], size: string): void {
    const images = outcomes.filter((one) => one === 'made' || one === 'cut' || one === 'gone').length;
    if (images > 0) this.invoice.push({ kind: 'images', model, images, size });
  }

  protected pictureLink(outcome: ImageOutcome): string {
    return `${this.origin}${PICTURE_PATH}${outcome}.png`;
  }

  /** The bytes of a picture, or what is left of it. */
  protected pictureFor(outcome: ImageOutcome): Uint8Array<ArrayBuffer> {
    return outcome === 'cut' ? this.picture.subarray(0, this.picture.length >> 1) : this.picture;
  }

  async #answer(request: Request): Promise<Response> {
    const url = new URL(request.url);
    if (url.pathname.startsWith(PICTURE_PATH)) return this.#pictureFile(request, url);
    const call = {
      method: request.method,
      path: url.pathname,
      headers: request.headers,
      body: await readBody(request),
    };
    this.received.push(call);
    const answer = await this.answer(call, url);
    return this.onAnswer ? await this.onAnswer(answer, call) : answer;
  }

  /** Links are public: a key that came with one would be in somebody else's logs. */
  #pictureFile({ headers }: Request, { pathname }: URL): Response {
    if (headers.has('authorization') || headers.has('x-key')) return new Response('a key', { status: 400 });
    const outcome = pathname.slice(PICTURE_PATH.length).replace('.png', '') as ImageOutcome;
    if (outcome === 'gone') return new Response('expired', { status: 404 });
    return new Response(this.pictureFor(outcome));
  }
}

async function readBody(request: Request): Promise<Fields> {
  const type = request.headers.get('content-type') ?? '';
  if (type.startsWith('application/json')) return (await request.json()) as Fields;
  if (!type.startsWith('multipart/form-data')) return {};
  const form = await request.formData();
  return Object.fromEntries([...form.keys()].map((key) => [key, form.get(key)]));
}

/** `['width', 'integer 256..1440 /32']`-like rules as functions: true if the value is documented. */
export type FieldRule = (value: unknown) => boolean;

export const isText: FieldRule = (value) => typeof value === 'string' && value !== '';
export const isBoolean: FieldRule = (value) => typeof value === 'boolean';
export const isOneOf =
  (...values: readonly unknown[]): FieldRule =>
  (value) =>
    values.includes(value);
export const isInteger =
  (least: number, most: number, step = 1): FieldRule =>
  (value) =>
    Number.isInteger(value) && Number(value) >= least && Number(value) <= most && Number(value) % step === 0;
export const isNumber =
  (least: number, most: number): FieldRule =>
  (value) =>
    typeof value === 'number' && value >= least && value <= most;

/** The first field that is unknown or has a value that the reference does not allow. */
export function wrongField(body: Fields, rules: Readonly<Record<string, FieldRule>>): string | undefined {
  return Object.keys(body).find((field) => rules[field]?.(body[field]) !== true);
}
