import {
  ImageStandIn,
  isBoolean,
  isInteger,
  isOneOf,
  isText,
  wrongField,
  type FieldRule,
  type ImageCallReceived,
} from './image-stand-in.ts';
import { textOf, type Fields } from './stand-in.ts';

type Rules = Readonly<Record<string, FieldRule>>;

const COMMON: Rules = {
  prompt: isText,
  seed: isInteger(0, 2 ** 32),
  safety_tolerance: isInteger(0, 6),
  output_format: isOneOf('jpeg', 'png'),
  webhook_url: isText,
  webhook_secret: isText,
};
const SIDE = isInteger(256, 1440, 32);
const isRatio: FieldRule = (value) => {
  const [width = 0, height = 0] = textOf(value).split(':').map(Number);
  return /^\d+:\d+$/.test(textOf(value)) && width / height <= 21 / 9 && height / width <= 21 / 9;
};
const REFERENCES = Object.fromEntries(
  ['', '_2', '_3', '_4', '_5', '_6', '_7', '_8'].map((suffix) => [`input_image${suffix}`, isText]),
);

/**
 * The fields of each model, from its page below https://docs.bfl.ai/api-reference/models (`/v1/flux-pro-1.1` and so on,
 * the schemas of https://api.bfl.ai/openapi.json).
 */
const MODELS: Readonly<Record<string, Rules>> = {
  'flux-pro-1.1': {
    ...COMMON,
    width: SIDE,
    height: SIDE,
    prompt_upsampling: isBoolean,
    image_prompt: isText,
  },
  'flux-dev': {
    ...COMMON,
    width: SIDE,
    height: SIDE,
    prompt_upsampling: isBoolean,
    image_prompt: isText,
    steps: isInteger(1, 50),
  },
  'flux-pro-1.1-ultra': {
    ...COMMON,
    aspect_ratio: isRatio,
    raw: isBoolean,
    prompt_upsampling: isBoolean,
    image_prompt: isText,
  },
  'flux-kontext-pro': { ...COMMON, ...REFERENCES, aspect_ratio: isRatio, prompt_upsampling: isBoolean },
  'flux-2-pro': { ...COMMON, ...REFERENCES, width: isInteger(64, 2048, 16), height: isInteger(64, 2048, 16) },
};

/** Black Forest Labs: submit, then ask at the address that was answered. Nothing is billed before `Ready`. */
export class StrictBfl extends ImageStandIn {
  /** Where the answer says that the job is; a hostile provider names another host. */
  pollingBase: string | undefined;

  get baseUrl(): string {
    return `${this.origin}/v1`;
  }

  protected answer(call: ImageCallReceived, url: URL): Response {
    if (call.headers.get('x-key') !== this.key)
      return Response.json({ detail: 'Not authenticated - Invalid Authentication' }, { status: 403 });
    if (call.path === '/v1/credits') return Response.json({ credits: 900 });
    if (call.path === '/v1/get_result') return this.#result(url.searchParams.get('id') ?? '');
    return this.#submit(call);
  }

  #submit({ method, path, body }: ImageCallReceived): Response {
    const model = path.slice('/v1/'.length);
    const rules = MODELS[model];
    if (!rules || method !== 'POST') return Response.json({ detail: 'Not Found' }, { status: 404 });
    const wrong = wrongField(body, rules) ?? (body['prompt'] === undefined ? 'prompt' : undefined);
    if (wrong !== undefined) return checked(wrong);
    const { id } = this.begin(model, 1);
    const base = this.pollingBase ?? this.baseUrl;
    return Response.json({
      id,
      polling_url: `${base}/get_result?id=${id}`,
      cost: 4,
      input_mp: 0,
      output_mp: 1,
    });
  }

  #result(id: string): Response {
    const failure = this.pollFailures.shift();
    if (failure) return failure;
    const job = this.jobs.get(id);
    const blank = { id, result: null, progress: null, details: null, preview: null };
    if (!job) return Response.json({ ...blank, status: 'Task not found' }, { status: 404 });
    if (!this.asked(job, '')) return Response.json({ ...blank, status: 'Pending', progress: 0.5 });
    const [outcome = 'made'] = job.outcomes;
    const status = STATUSES[outcome] ?? 'Ready';
    const result: Fields | null = status === 'Ready' ? { sample: this.pictureLink(outcome), seed: 1 } : null;
    return Response.json({ ...blank, status, result });
  }
}

const STATUSES: Readonly<Record<string, string>> = { refused: 'Content Moderated', failed: 'Error' };

function checked(field: string): Response {
  const detail = [
    { type: 'extra_forbidden', loc: ['body', field], msg: 'Input should be valid', input: null },
  ];
  return Response.json({ detail }, { status: 422 });
}
