import type { UploadedImage } from '../../wire/openai/images.ts';
import { dimensionsOf, reducedRatio } from '../aspect-ratio.ts';
import { rejected } from '../response.ts';
import {
  formatAt,
  isRecord,
  modelPath,
  seedOf,
  textIn,
  type ImageApi,
  type ImageApiCall,
  type ImageState,
} from './image-api.ts';

/**
 * Black Forest Labs. Sources: https://docs.bfl.ai/api-reference (one page for each model),
 * https://docs.bfl.ai/api_integration/integration_guidelines (the polling address must be the one that was answered; a
 * result's link lives ten minutes).
 */
export const bfl: ImageApi = {
  kind: 'bfl',
  headers: (key) => ({ 'x-key': key, accept: 'application/json' }),
  perCall: () => 1,
  request: (call) => ({ method: 'POST', path: `/${modelPath(call.model)}`, json: bodyOf(call) }),
  read: ({ json }) => ({ job: textIn(json['polling_url']), state: { kind: 'working' } }),
  jobs: {
    // The answer names the region that has the job, such as api.eu2.bfl.ai.
    isOwnHost: (host, baseHost) => baseHost.endsWith('.bfl.ai') && host.endsWith('.bfl.ai'),
    isJob: (job) => /^https?:\/\/[^/]+\/v1\/get_result\?id=[\w-]+$/.test(job),
    status: (job) => ({ method: 'GET', path: job }),
    read: ({ json }) => stateOf(json),
  },
  check: { path: '/credits' },
};

const FORMATS = { png: 'png', jpeg: 'jpeg' };
/** These take a ratio between 21:9 and 9:21 instead of a size. */
const BY_RATIO = /ultra|kontext/;
const FILL = /-fill/;

function bodyOf(call: ImageApiCall): Record<string, unknown> {
  const { model, request, size, shape } = call;
  return {
    prompt: request.prompt,
    ...(FILL.test(model)
      ? {}
      : BY_RATIO.test(model)
        ? { aspect_ratio: shape?.aspectRatio ?? reducedRatio(size) }
        : dimensionsOf(size)),
    ...(request.image && picturesFor(model, request.image, request.mask)),
    seed: seedOf(call),
    prompt_upsampling: request['prompt_upsampling'],
    output_format: formatAt(call, FORMATS),
  };
}

/** `flux-pro-1.0-fill` paints into a mask; the others take references, numbered from the second on. */
function picturesFor(
  model: string,
  pictures: readonly UploadedImage[],
  mask: UploadedImage | undefined,
): Record<string, string> {
  const [first] = pictures;
  if (FILL.test(model) && first) return { image: base64Of(first), ...(mask && { mask: base64Of(mask) }) };
  if (mask) throw rejected('This model takes no mask.', 'mask');
  return Object.fromEntries(
    pictures.map((picture, index) => [
      index === 0 ? 'input_image' : `input_image_${index + 1}`,
      base64Of(picture),
    ]),
  );
}

function base64Of({ bytes }: UploadedImage): string {
  return Buffer.from(bytes).toString('base64');
}

function stateOf({ status, result }: Readonly<Record<string, unknown>>): ImageState {
  switch (status) {
    case 'Ready': {
      const sample = isRecord(result) ? textIn(result['sample']) : undefined;
      return sample === undefined
        ? { kind: 'failed', message: 'ready without a sample' }
        : { kind: 'images', images: [sample] };
    }
    case 'Request Moderated':
    case 'Content Moderated':
      return { kind: 'refused' };
    case 'Error':
    case 'Failed':
    case 'Task not found':
      return { kind: 'failed', message: status };
    default:
      return { kind: 'working' };
  }
}
