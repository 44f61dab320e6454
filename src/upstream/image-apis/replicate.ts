import { dimensionsOf, ratioFor } from '../aspect-ratio.ts';
import { dataAddress } from '../image-response.ts';
import {
  formatAt,
  mostPerCall,
  modelPath,
  seedOf,
  textIn,
  type ImageApiReading,
  type ImageApiRequest,
  type ImageApi,
  type ImageApiCall,
  type ImageState,
} from './image-api.ts';

/**
 * Replicate's predictions. Sources: https://replicate.com/docs/reference/http (predictions, models.predictions),
 * https://replicate.com/docs/topics/predictions/create-a-prediction (`Prefer: wait`), https://replicate.com/black-forest-labs/flux-dev/api/schema
 * (fields of a model).
 */
export const replicate: ImageApi = {
  kind: 'replicate',
  headers: (key) => ({ authorization: `Bearer ${key}`, accept: 'application/json' }),
  perCall: (call) => mostPerCall(call, formOf(call.model).most),
  request: requestFor,
  read: ({ json }) => readingOf(json),
  jobs: {
    isJob: (job) => /^[a-z0-9]{1,64}$/.test(job),
    status: (job) => ({ method: 'GET', path: `/predictions/${job}` }),
    read: ({ json }) => stateOf(json),
    cancel: (job) => ({ method: 'POST', path: `/predictions/${job}/cancel` }),
  },
  check: { path: '/account' },
};

/** Long enough for fast models, and short enough that a client that leaves is noticed. */
const WAIT_SECONDS = 10;

function requestFor(call: ImageApiCall, count: number): ImageApiRequest {
  const { model } = call;
  const input = inputOf(call, count);
  // With `wait`, the job's name comes only at the end of the request.
  const headers = { prefer: call.isResumable ? 'respond-async' : `wait=${WAIT_SECONDS}` };
  const version = /^[\w.-]+\/[\w.-]+:[0-9a-f]{64}$|^[0-9a-f]{64}$/.test(model) ? model : undefined;
  return version === undefined
    ? { method: 'POST', path: `/models/${modelPath(model)}/predictions`, json: { input }, headers }
    : { method: 'POST', path: '/predictions', json: { version, input }, headers };
}

interface ModelForm {
  readonly name: RegExp;
  readonly size: 'aspect_ratio' | 'custom_ratio' | 'dimensions';
  readonly most: number;
  readonly picture: 'image' | 'input_image';
}

/**
 * Each model has fields of its own. A model that is not in the table is treated as a Stable Diffusion, or as the
 * options say.
 */
const FORMS: readonly ModelForm[] = [
  { name: /kontext/, size: 'aspect_ratio', most: 1, picture: 'input_image' },
  { name: /flux-(?:schnell|dev)/, size: 'aspect_ratio', most: 4, picture: 'image' },
  { name: /flux.*pro/, size: 'custom_ratio', most: 1, picture: 'image' },
];
const USUAL_FORM = { size: 'dimensions', most: 4, picture: 'image' } as const;
const RATIOS = ['1:1', '16:9', '21:9', '3:2', '2:3', '4:5', '5:4', '3:4', '4:3', '9:16', '9:21'] as const;
const FORMATS = { png: 'png', jpeg: 'jpg', webp: 'webp' };

function formOf(model: string): Omit<ModelForm, 'name'> {
  return FORMS.find(({ name }) => name.test(model)) ?? USUAL_FORM;
}

function inputOf(call: ImageApiCall, count: number): Record<string, unknown> {
  const { request, model, options } = call;
  const form = formOf(model);
  const pictures = request.image?.map(dataAddress);
  return {
    prompt: request.prompt,
    ...sizeFields(call, options.get('image_size') ?? form.size),
    ...(count > 1 && { num_outputs: count }),
    ...(pictures && (pictures.length === 1 ? { [form.picture]: pictures[0] } : { input_images: pictures })),
    ...(request.mask && { mask: dataAddress(request.mask) }),
    seed: seedOf(call),
    negative_prompt: request['negative_prompt'],
    guidance: request['guidance'],
    guidance_scale: request['guidance_scale'],
    output_format: formatAt(call, FORMATS),
    output_quality: request.output_format === undefined ? undefined : request['output_compression'],
  };
}

function sizeFields(call: ImageApiCall, form: string): Record<string, unknown> {
  if (form === 'aspect_ratio') return { aspect_ratio: ratioFor(call, RATIOS) };
  return { ...(form === 'custom_ratio' && { aspect_ratio: 'custom' }), ...dimensionsOf(call.size) };
}

function readingOf(json: Readonly<Record<string, unknown>>): ImageApiReading {
  return { job: textIn(json['id']), state: stateOf(json) };
}

function stateOf({ status, output, error }: Readonly<Record<string, unknown>>): ImageState {
  switch (status) {
    case 'succeeded': {
      const images = (Array.isArray(output) ? output : [output]).filter((one) => typeof one === 'string');
      return images.length > 0
        ? { kind: 'images', images }
        : { kind: 'failed', message: 'succeeded without an image' };
    }
    case 'failed':
    case 'canceled':
    case 'aborted': {
      const message = textIn(error) ?? status;
      return REFUSED.test(message) ? { kind: 'refused' } : { kind: 'failed', message };
    }
    default:
      return { kind: 'working' };
  }
}

/** Words of models' safety checkers, and the code E005 of https://replicate.com/docs/topics/predictions/error-codes. */
const REFUSED = /NSFW|flagged as sensitive|\bE005\b|content (?:policy|moderation)/i;
