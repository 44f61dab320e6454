import { ratioFor } from '../aspect-ratio.ts';
import { rejected } from '../response.ts';
import {
  formatAt,
  isRecord,
  seedOf,
  type ImageApiReading,
  type ImageApiAnswer,
  type ImageApiRequest,
  type ImageApi,
  type ImageApiCall,
} from './image-api.ts';

/**
 * Stability AI's Stable Image. Source: https://platform.stability.ai/docs/api-reference (Generate: ultra, core,
 * Stable Diffusion 3.5; a form goes out, the picture itself comes back).
 */
export const stability: ImageApi = {
  kind: 'stability',
  headers: (key) => ({ authorization: `Bearer ${key}`, accept: 'image/*' }),
  perCall: () => 1,
  request: requestFor,
  read: readingOf,
  // "Your request was flagged by our content moderation system": 403, which is a key without rights elsewhere.
  refusal: ({ status, json }) =>
    status === 403 && json['name'] === 'content_moderation' ? 'The backend refused this prompt.' : undefined,
  check: { path: '/v1/user/account' },
};

const RATIOS = ['1:1', '16:9', '21:9', '2:3', '3:2', '4:5', '5:4', '9:16', '9:21'] as const;
const FORMATS = { png: 'png', jpeg: 'jpeg', webp: 'webp' };
const SD3_FORMATS = { png: 'png', jpeg: 'jpeg' };
const SERVICES: Readonly<Record<string, string>> = {
  core: 'core',
  'stable-image-core': 'core',
  ultra: 'ultra',
  'stable-image-ultra': 'ultra',
};

function requestFor(call: ImageApiCall): ImageApiRequest {
  const { model, request } = call;
  const service = SERVICES[model] ?? 'sd3';
  const fields: Record<string, unknown> = {
    prompt: request.prompt,
    negative_prompt: request['negative_prompt'],
    seed: seedOf(call),
    output_format: formatAt(call, service === 'sd3' ? SD3_FORMATS : FORMATS),
    ...(service === 'sd3' && { model }),
    ...(service === 'core' && { style_preset: request.style }),
  };
  const form = new FormData();
  for (const [name, value] of Object.entries({ ...fields, ...sourceFields(call, service) }))
    if (typeof value === 'string' || typeof value === 'number') form.set(name, String(value));
  const [picture] = request.image ?? [];
  if (picture) form.set('image', new Blob([picture.bytes], { type: picture.mime }), 'image.png');
  return { method: 'POST', path: `/v2beta/stable-image/generate/${service}`, form };
}

/** How far a given picture may be changed; the API requires it. */
const STRENGTH = 0.7;

function sourceFields(call: ImageApiCall, service: string): Record<string, unknown> {
  const { request } = call;
  const shape = { aspect_ratio: ratioFor(call, RATIOS) };
  if (!request.image) return shape;
  if (request.mask) throw rejected('This model takes no mask.', 'mask');
  if (service === 'core' || request.image.length > 1)
    throw rejected(`This model takes ${service === 'core' ? 'no image' : 'one image'}.`, 'image');
  return service === 'sd3'
    ? { mode: 'image-to-image', strength: STRENGTH }
    : { ...shape, strength: STRENGTH };
}

/** A picture that was filtered is blurred, and its header tells. */
function readingOf({ headers, image, json }: ImageApiAnswer): ImageApiReading {
  if (headers.get('finish-reason') === 'CONTENT_FILTERED') return { state: { kind: 'refused' } };
  if (image) return { state: { kind: 'images', images: [image] } };
  const message = isRecord(json) && Array.isArray(json['errors']) ? json['errors'].join(' ') : 'no picture';
  return { state: { kind: 'failed', message } };
}
