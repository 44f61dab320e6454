import { dimensionsOf, ratioFor } from '../aspect-ratio.ts';
import { dataAddress } from '../image-response.ts';
import {
  formatAt,
  mostPerCall,
  objectsIn,
  modelPath,
  seedOf,
  textIn,
  type ImageApiReading,
  type ImageApi,
  type ImageApiCall,
  type ImageState,
} from './image-api.ts';

/**
 * fal's queue. Sources: https://docs.fal.ai/documentation/model-apis/inference/queue (submit, status, response, cancel),
 * https://fal.ai/docs/documentation/model-apis/errors.md, https://fal.ai/models/fal-ai/flux/dev/api (fields of a model).
 */
export const fal: ImageApi = {
  kind: 'fal',
  headers: (key) => ({ authorization: `Key ${key}`, accept: 'application/json' }),
  perCall: (call) => mostPerCall(call, 4),
  request: (call, count) => ({
    method: 'POST',
    path: `/${modelPath(call.model)}`,
    json: bodyOf(call, count),
  }),
  read: ({ json }) => readingOf(json),
  jobs: {
    // The address leaves out what follows the app in a model's name: fal-ai/flux/dev is fal-ai/flux.
    isJob: (job) => /^(?:\/[\w-][\w.-]*){2,}\/requests\/[\w-]+$/.test(job),
    status: (job) => ({ method: 'GET', path: `${job}/status` }),
    read: ({ json }) => (json['status'] === 'COMPLETED' ? { kind: 'finished' } : { kind: 'working' }),
    result: (job) => ({ method: 'GET', path: job }),
    cancel: (job) => ({ method: 'PUT', path: `${job}/cancel` }),
  },
  check: { path: '/', keyless: true },
};

const FORMATS = { png: 'png', jpeg: 'jpeg' };
const RATIOS = ['1:1', '21:9', '16:9', '4:3', '3:2', '2:3', '3:4', '9:16', '9:21'] as const;
/**
 * Models that take an aspect ratio instead of a size; https://fal.ai/models/fal-ai/flux-pro/v1.1-ultra/api and others
 * like it.
 */
const BY_RATIO = /ultra|kontext|imagen|nano-banana/;

function bodyOf(call: ImageApiCall, count: number): Record<string, unknown> {
  const { model, request, size, options } = call;
  const shape = options.get('image_size') ?? (BY_RATIO.test(model) ? 'aspect_ratio' : 'dimensions');
  const pictures = request.image?.map(dataAddress);
  return {
    prompt: request.prompt,
    ...(shape === 'aspect_ratio'
      ? { aspect_ratio: ratioFor(call, RATIOS) }
      : { image_size: dimensionsOf(size) }),
    ...(count > 1 && { num_images: count }),
    ...(pictures && (pictures.length === 1 ? { image_url: pictures[0] } : { image_urls: pictures })),
    ...(request.mask && { mask_url: dataAddress(request.mask) }),
    seed: seedOf(call),
    negative_prompt: request['negative_prompt'],
    guidance_scale: request['guidance_scale'],
    output_format: formatAt(call, FORMATS),
  };
}

/** The answer to a submission, or a result. */
function readingOf(json: Readonly<Record<string, unknown>>): ImageApiReading {
  const address = textIn(json['response_url']);
  if (address === undefined || !URL.canParse(address)) return { state: resultOf(json) };
  return { job: new URL(address).pathname, state: { kind: 'working' } };
}

/** A picture that the safety checker blacked out does not count. */
function resultOf(json: Readonly<Record<string, unknown>>): ImageState {
  const flags = Array.isArray(json['has_nsfw_concepts']) ? json['has_nsfw_concepts'] : [];
  const found = objectsIn(json['images'] ?? [json['image']]).map(({ url }) => textIn(url));
  const images = found.filter((url, index): url is string => url !== undefined && flags[index] !== true);
  if (images.length > 0) return { kind: 'images', images };
  return flags.includes(true) ? { kind: 'refused' } : { kind: 'failed', message: 'a result without images' };
}
