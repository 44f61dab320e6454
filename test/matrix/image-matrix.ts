import { PICTURE, type ImageStandIn } from '../providers/image-stand-in.ts';
import { Gateway } from '../support/gateway.ts';
import { ASYNC, endOfJob, type SeenJob } from '../support/image-jobs.ts';
import { IMAGE_BACKENDS, imageCases, outcomesOf, type ImageBackend, type ImageCase } from './image-cases.ts';

const IMAGE_NANO = 40_000_000;
const KEY = 'key-of-the-operator';

/**
 * A gateway before the stand-ins of all providers of images. Each case has an upstream of its own, so that what fails in one
 * does not let the backend rest in the next.
 */
export class ImageMatrix {
  readonly #gateway: Gateway;
  readonly #standIns: ReadonlyMap<string, ImageStandIn>;
  readonly #cases: readonly ImageCase[];

  private constructor(
    gateway: Gateway,
    standIns: ReadonlyMap<string, ImageStandIn>,
    cases: readonly ImageCase[],
  ) {
    this.#gateway = gateway;
    this.#standIns = standIns;
    this.#cases = cases;
  }

  static async start(cases: readonly ImageCase[]): Promise<ImageMatrix> {
    const standIns = new Map(IMAGE_BACKENDS.map((backend) => [backend.name, backend.start()]));
    for (const standIn of standIns.values()) standIn.picture = await largerPicture();
    const gateway = await Gateway.start({ yaml: catalogFor(cases, standIns), env: { KEY } });
    return new ImageMatrix(gateway, standIns, cases);
  }

  /** What was wrong with the cases of one backend. */
  async run(backend: string): Promise<string[]> {
    const wrong: string[] = [];
    for (const [index, one] of this.#cases.entries()) {
      if (one.backend !== backend) continue;
      const found = await this.#runCase(one, index).catch((error: unknown) => String(error));
      if (found !== undefined) wrong.push(`${Object.values(one).join(' ')}: ${found}`);
    }
    return wrong;
  }

  async stop(): Promise<readonly unknown[]> {
    const { breaches } = await this.#gateway.verify();
    await this.#gateway.stop();
    for (const standIn of this.#standIns.values()) await standIn.stop();
    return breaches;
  }

  async #runCase(one: ImageCase, index: number): Promise<string | undefined> {
    const standIn = this.#standIns.get(one.backend)!;
    const account = await this.#gateway.account('1');
    const before = await this.#gateway.money(account);
    standIn.outcomes = outcomesOf(one);
    const { status: answered, data } = await this.#ask(one, `c${index}`, account.token);
    await this.#gateway.settled(account);
    const paid = before.balance - (await this.#gateway.money(account)).balance;
    const made = outcomesOf(one).filter((outcome) => outcome === 'made').length;
    if (paid !== made * IMAGE_NANO) return `charged ${paid} nano-dollars for ${made} images`;
    const status = made > 0 ? 200 : one.cause === 'refused' ? 400 : 500;
    if (answered !== status) return `status ${answered}`;
    if (data.length !== made) return `${data.length} images of ${made}`;
    return await this.#wrongImages(data, one);
  }

  async #ask(one: ImageCase, endpoint: string, token: string): Promise<SeenImages> {
    const body = {
      endpoint_code: endpoint,
      model: 'painter',
      n: one.count,
      response_format: one.wish,
      ...(one.format === 'none' ? {} : { output_format: one.format }),
    };
    switch (one.way) {
      case 'plain': {
        const response = await this.#gateway.image(token, body);
        const { data = [] } = (await response.json()) as { data?: SeenImage[] };
        return { status: response.status, data };
      }
      case 'streamed': {
        const response = await this.#gateway.image(token, { ...body, stream: true });
        return { status: response.status, data: finishedIn(await response.text()) };
      }
      case 'async': {
        const response = await this.#gateway.image(token, body, { headers: ASYNC });
        const { id } = (await response.json()) as SeenJob;
        const { status, data = [], error } = await endOfJob(this.#gateway.url, token, id);
        return { status: status === 'done' ? 200 : error?.code === 'invalid_field' ? 400 : 500, data };
      }
    }
  }

  async #wrongImages(data: readonly SeenImage[], one: ImageCase): Promise<string | undefined> {
    for (const { url, b64_json } of data) {
      // Whoever asks for a job gets links.
      const wantsLink = one.wish === 'url' || one.way === 'async';
      if (wantsLink !== (url !== undefined)) return 'not in the shape that was asked for';
      if (url !== undefined && !url.startsWith(this.#gateway.url)) return `a link to ${url}`;
      const bytes =
        url === undefined ? Buffer.from(b64_json ?? '', 'base64') : await (await fetch(url)).bytes();
      const { format, width } = await new Bun.Image(bytes).metadata();
      const wanted = one.format === 'none' ? 'png' : one.format;
      if (format !== wanted || width !== SIDE) return `an image of ${width} in ${format}`;
    }
    return undefined;
  }
}

interface SeenImage {
  readonly url?: string;
  readonly b64_json?: string;
}

interface SeenImages {
  readonly status: number;
  readonly data: readonly SeenImage[];
}

/** Of a stream that failed before its first image there is an ordinary error, which has none. */
function finishedIn(text: string): SeenImage[] {
  return text.split('\n\n').flatMap((block) => {
    const [, data] = /^event: image_generation\.completed\ndata: (.*)$/.exec(block) ?? [];
    return data === undefined ? [] : [JSON.parse(data) as SeenImage];
  });
}

/** Every case; prints what is wrong and a count. Returns the exit code. */
export async function runImageMatrix(): Promise<number> {
  const cases = imageCases();
  const matrix = await ImageMatrix.start(cases);
  const wrong = (await Promise.all(IMAGE_BACKENDS.map(({ name }) => matrix.run(name)))).flat();
  const breaches = await matrix.stop();
  for (const line of wrong) console.log(line);
  console.log(`${cases.length} cases: ${wrong.length} wrong; ${breaches.length} breaches in the books`);
  return wrong.length + breaches.length === 0 ? 0 : 1;
}

const SIDE = 48;

async function largerPicture(): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await new Bun.Image(PICTURE).resize(SIDE, SIDE).png().bytes());
}

function catalogFor(cases: readonly ImageCase[], standIns: ReadonlyMap<string, ImageStandIn>): string {
  const backendOf = (one: ImageCase): ImageBackend =>
    IMAGE_BACKENDS.find(({ name }) => name === one.backend)!;
  return [
    'upstreams:',
    ...cases.map((one, index) => {
      const address = standIns.get(one.backend)?.baseUrl;
      return `  u${index}: { ${backendOf(one).entry}, base_url: "${address}", api_key: "\${KEY}" }`;
    }),
    'lists:',
    ...cases.map((one, index) => {
      const { model, modelEntry = '' } = backendOf(one);
      return `  l${index}: [{ model: painter, image: 0.04, sizes: [1024x1024], upstream_models: { u${index}: "${model}" }${modelEntry} }]`;
    }),
    'endpoints:',
    ...cases.map(
      (_, index) =>
        `  c${index}: { name: c${index}, type: image_generation, lists: [l${index}], upstreams: [u${index}] }`,
    ),
  ].join('\n');
}
