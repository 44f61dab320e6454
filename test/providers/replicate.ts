import {
  ImageStandIn,
  isBoolean,
  isInteger,
  isNumber,
  isOneOf,
  isText,
  wrongField,
  type FieldRule,
  type ImageCallReceived,
  type ImageJob,
} from './image-stand-in.ts';
import { fieldsOf, textOf, type Fields } from './stand-in.ts';

type Rules = Readonly<Record<string, FieldRule>>;

const COMMON: Rules = {
  prompt: isText,
  seed: isInteger(0, 2 ** 53),
  output_format: isOneOf('webp', 'jpg', 'png'),
  output_quality: isInteger(0, 100),
};
const RATIOS = isOneOf('1:1', '16:9', '21:9', '3:2', '2:3', '4:5', '5:4', '3:4', '4:3', '9:16', '9:21');
const FLUX: Rules = {
  ...COMMON,
  aspect_ratio: RATIOS,
  num_outputs: isInteger(1, 4),
  num_inference_steps: isInteger(1, 50),
  disable_safety_checker: isBoolean,
  go_fast: isBoolean,
};
const SDXL_VERSION = '7762fd07cf82c948538e41f63f77d685e02b063e37e496e96eefd46c929f9bdc';

/** From the page "API, Schema" of each model, such as https://replicate.com/black-forest-labs/flux-dev/api/schema. */
const MODELS: Readonly<Record<string, Rules>> = {
  'black-forest-labs/flux-schnell': FLUX,
  'black-forest-labs/flux-dev': {
    ...FLUX,
    guidance: isNumber(0, 10),
    image: isText,
    prompt_strength: isNumber(0, 1),
  },
  'black-forest-labs/flux-1.1-pro': {
    ...COMMON,
    aspect_ratio: isOneOf('custom', '1:1', '16:9', '3:2', '2:3', '4:5', '5:4', '9:16', '3:4', '4:3'),
    width: isInteger(256, 1440),
    height: isInteger(256, 1440),
    safety_tolerance: isInteger(1, 6),
    prompt_upsampling: isBoolean,
  },
};
const VERSIONS: Readonly<Record<string, Rules>> = {
  [`stability-ai/sdxl:${SDXL_VERSION}`]: {
    prompt: isText,
    negative_prompt: isText,
    width: isInteger(1, 4096),
    height: isInteger(1, 4096),
    num_outputs: isInteger(1, 4),
    guidance_scale: isNumber(1, 50),
    seed: isInteger(0, 2 ** 53),
    image: isText,
    mask: isText,
  },
};

/** Replicate's predictions, from https://replicate.com/docs/reference/http. Only what succeeded is billed. */
export class StrictReplicate extends ImageStandIn {
  get baseUrl(): string {
    return `${this.origin}/v1`;
  }

  protected answer(call: ImageCallReceived): Response {
    const { method, path, headers } = call;
    if (headers.get('authorization') !== `Bearer ${this.key}`)
      return problem(401, 'Unauthenticated', 'You did not pass an authentication token');
    if (path === '/v1/account') return Response.json({ type: 'organization', username: 'acme' });
    const official = /^\/v1\/models\/([\w.-]+\/[\w.-]+)\/predictions$/.exec(path)?.[1];
    if (official !== undefined && method === 'POST') return this.#create(official, MODELS[official], call);
    if (path === '/v1/predictions' && method === 'POST') {
      const version = textOf(call.body['version']);
      return this.#create(version, VERSIONS[version] ?? MODELS[version], call);
    }
    const [, id = '', part] = /^\/v1\/predictions\/(\w+)(\/cancel)?$/.exec(path) ?? [];
    const job = this.jobs.get(id);
    if (!job) return problem(404, 'Not found', 'The requested resource could not be found.');
    if (part === '/cancel')
      return method === 'POST' ? this.#cancel(job) : problem(405, 'Method', 'Not allowed');
    return this.pollFailures.shift() ?? Response.json(this.#prediction(job));
  }

  #create(model: string, rules: Rules | undefined, { body, headers, path }: ImageCallReceived): Response {
    if (!rules) return problem(404, 'Not found', 'The requested resource could not be found.');
    const known = path.endsWith('/v1/predictions') ? ['version', 'input'] : ['input'];
    const extra = Object.keys(body).find(
      (field) => !['webhook', 'webhook_events_filter', ...known].includes(field),
    );
    if (extra !== undefined) return problem(422, 'Input validation failed', `- ${extra} is not allowed`);
    const input = fieldsOf(body['input']);
    const wrong = wrongField(input, rules) ?? (input['prompt'] === undefined ? 'prompt' : undefined);
    if (wrong !== undefined)
      return problem(422, 'Input validation failed', `- input.${wrong} is not valid\n`);
    const prefer = headers.get('prefer') ?? '';
    const seconds = Number(/^wait=(\d+)$/.exec(prefer)?.[1] ?? 60);
    if (!/^(?:|wait(?:=\d+)?|respond-async)$/.test(prefer) || seconds < 1 || seconds > 60)
      return problem(400, 'Bad request', `Prefer ${prefer} is not supported`);
    const job = this.begin(model, Number(input['num_outputs'] ?? 1));
    // A connection that waits is answered when the prediction is done, or as it is after that time.
    const isQuick = prefer.startsWith('wait') && this.pollsBeforeDone === 1;
    return Response.json(isQuick ? this.#prediction(job) : { ...this.#blank(job), status: 'starting' }, {
      status: isQuick ? 201 : 202,
    });
  }

  #blank({ id, model }: ImageJob): Fields {
    const get = `${this.baseUrl}/predictions/${id}`;
    return {
      id,
      model,
      input: {},
      logs: '',
      error: null,
      output: null,
      urls: { get, cancel: `${get}/cancel` },
    };
  }

  #prediction(job: ImageJob): Fields {
    if (job.cancelled) return { ...this.#blank(job), status: 'canceled' };
    if (!this.asked(job, '')) return { ...this.#blank(job), status: 'processing' };
    const made = job.outcomes.filter((one) => one !== 'failed' && one !== 'refused');
    if (made.length > 0) {
      const links = made.map((one) => this.pictureLink(one));
      return { ...this.#blank(job), status: 'succeeded', output: links.length === 1 ? links[0] : links };
    }
    const error = job.outcomes.includes('refused')
      ? 'NSFW content detected. Try running it again, or try a different prompt.'
      : 'CUDA out of memory';
    return { ...this.#blank(job), status: 'failed', error };
  }

  #cancel(job: ImageJob): Response {
    job.cancelled = true;
    return Response.json({ ...this.#blank(job), status: 'canceled' });
  }
}

function problem(status: number, title: string, detail: string): Response {
  return Response.json({ title, detail, status }, { status });
}
