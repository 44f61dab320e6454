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
import { fieldsOf } from './stand-in.ts';

const isNamedSize = isOneOf(
  'square_hd',
  'square',
  'portrait_4_3',
  'portrait_16_9',
  'landscape_4_3',
  'landscape_16_9',
);
const isSize: FieldRule = (value) =>
  isNamedSize(value) ||
  wrongField(fieldsOf(value), { width: isInteger(64, 14_142), height: isInteger(64, 14_142) }) === undefined;

const COMMON: Readonly<Record<string, FieldRule>> = {
  prompt: isText,
  seed: isInteger(0, 2 ** 53),
  sync_mode: isBoolean,
  num_images: isInteger(1, 4),
  enable_safety_checker: isBoolean,
  output_format: isOneOf('jpeg', 'png'),
};
const FLUX = {
  ...COMMON,
  image_size: isSize,
  num_inference_steps: isInteger(1, 50),
  guidance_scale: isNumber(1, 20),
  acceleration: isOneOf('none', 'regular', 'high'),
};

/** From https://fal.ai/models/fal-ai/flux/dev/api and the pages of the other models, "Schema, Input". */
const MODELS: Readonly<Record<string, Readonly<Record<string, FieldRule>>>> = {
  'fal-ai/flux/dev': FLUX,
  'fal-ai/flux/dev/image-to-image': { ...FLUX, image_url: isText, strength: isNumber(0, 1) },
  'fal-ai/flux-pro/v1.1-ultra': {
    ...COMMON,
    aspect_ratio: isOneOf('21:9', '16:9', '4:3', '3:2', '1:1', '2:3', '3:4', '9:16', '9:21'),
    safety_tolerance: isOneOf('1', '2', '3', '4', '5', '6'),
    raw: isBoolean,
  },
};

/**
 * fal's queue, from https://docs.fal.ai/documentation/model-apis/inference/queue. A model's input is checked by its
 * runner, so a wrong field is an answer of the result, not of the submission; a refusal is not billed.
 */
export class StrictFal extends ImageStandIn {
  readonly #wrong = new Map<string, string>();

  get baseUrl(): string {
    return this.origin;
  }

  protected answer(call: ImageCallReceived): Response {
    if (call.path === '/') return new Response('not found', { status: 404 });
    if (call.headers.get('authorization') !== `Key ${this.key}`)
      return Response.json(
        { detail: 'Cannot access application. Authentication is required.' },
        { status: 401 },
      );
    const asked = /^\/([\w.-]+\/[\w.-]+)\/requests\/(\w+)(\/status|\/cancel)?$/.exec(call.path);
    if (!asked) return this.#submit(call);
    const [, app = '', id = '', part] = asked;
    const job = this.jobs.get(id);
    if (!job || !job.model.startsWith(`${app}/`))
      return Response.json({ detail: 'Not found' }, { status: 404 });
    if (part === '/cancel') return call.method === 'PUT' ? this.#cancel(job) : wrongMethod();
    if (call.method !== 'GET') return wrongMethod();
    return part === '/status' ? this.#status(job) : this.#result(job);
  }

  #submit({ method, path, body }: ImageCallReceived): Response {
    const model = path.slice(1);
    const rules = MODELS[model];
    if (!rules || method !== 'POST')
      return Response.json({ detail: 'Application not found' }, { status: 404 });
    const job = this.begin(model, Number(body['num_images'] ?? 1));
    const wrong = wrongField(body, rules) ?? (body['prompt'] === undefined ? 'prompt' : undefined);
    if (wrong !== undefined) this.#wrong.set(job.id, wrong);
    const [owner, app] = model.split('/');
    const response_url = `${this.origin}/${owner}/${app}/requests/${job.id}`;
    const urls = { response_url, status_url: `${response_url}/status`, cancel_url: `${response_url}/cancel` };
    return Response.json({ request_id: job.id, ...urls, status: 'IN_QUEUE', queue_position: 0 });
  }

  #status(job: ImageJob): Response {
    const failure = this.pollFailures.shift();
    if (failure) return failure;
    const isWrong = this.#wrong.has(job.id);
    const isDone = isWrong || this.asked(job, '');
    const status = isDone ? 'COMPLETED' : job.polls === 0 ? 'IN_QUEUE' : 'IN_PROGRESS';
    return Response.json({ status, request_id: job.id }, { status: isDone ? 200 : 202 });
  }

  /** https://fal.ai/docs/documentation/model-apis/errors.md */
  #result(job: ImageJob): Response {
    const wrong = this.#wrong.get(job.id);
    if (wrong !== undefined)
      return failed(422, { type: 'extra_forbidden', loc: ['body', wrong], msg: 'Extra inputs' });
    if (job.polls < this.pollsBeforeDone)
      return Response.json({ detail: 'Request is still in progress' }, { status: 400 });
    if (job.outcomes.every((one) => one === 'failed'))
      return failed(500, { type: 'internal_server_error', loc: ['body'], msg: 'Internal server error' });
    if (job.outcomes.every((one) => one === 'refused'))
      return failed(422, { type: 'content_policy_violation', loc: ['body', 'prompt'], msg: FLAGGED });
    const shown = job.outcomes.filter((one) => one !== 'failed');
    return Response.json({
      images: shown.map((one) => ({
        url: this.pictureLink(one),
        width: 1,
        height: 1,
        content_type: 'image/png',
      })),
      timings: { inference: 1.5 },
      seed: 7,
      has_nsfw_concepts: shown.map((one) => one === 'refused'),
      prompt: 'a gate',
    });
  }

  #cancel(job: ImageJob): Response {
    if (job.polls >= this.pollsBeforeDone)
      return Response.json({ status: 'ALREADY_COMPLETED' }, { status: 400 });
    job.cancelled = true;
    return Response.json({ status: 'CANCELLATION_REQUESTED' }, { status: 202 });
  }
}

const FLAGGED =
  'The content could not be processed because it contained material flagged by a content checker.';

function failed(status: number, error: object): Response {
  return Response.json({ detail: [{ ...error, url: 'https://docs.fal.ai/errors', input: {} }] }, { status });
}

function wrongMethod(): Response {
  return Response.json({ detail: 'Method Not Allowed' }, { status: 405 });
}
