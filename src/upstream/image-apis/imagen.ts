import { ratioFor } from '../aspect-ratio.ts';
import {
  objectsIn,
  modelPath,
  textIn,
  type ImageApi,
  type ImageApiCall,
  type ImageState,
} from './image-api.ts';

/**
 * Imagen of Google's Gemini API, which the AI SDK's package has no longer. Source:
 * https://ai.google.dev/gemini-api/docs/imagen (REST, "Imagen configuration").
 */
export const imagen: ImageApi = {
  kind: 'google',
  models: /^imagen-/,
  headers: (key) => ({ 'x-goog-api-key': key, accept: 'application/json' }),
  perCall: () => 4,
  request: (call, count) => ({
    method: 'POST',
    path: `/models/${modelPath(call.model)}:predict`,
    json: { instances: [{ prompt: call.request.prompt }], parameters: parametersOf(call, count) },
  }),
  read: ({ json }) => ({ state: stateOf(json) }),
  check: { path: '/models?pageSize=1' },
};

const RATIOS = ['1:1', '3:4', '4:3', '9:16', '16:9'] as const;

function parametersOf(call: ImageApiCall, count: number): Record<string, unknown> {
  return { sampleCount: count, aspectRatio: ratioFor(call, RATIOS) };
}

/** Images that the filter held back are missing from the list. */
function stateOf({ predictions }: Readonly<Record<string, unknown>>): ImageState {
  const pictures = objectsIn(predictions).flatMap((one) => textIn(one['bytesBase64Encoded']) ?? []);
  const images = pictures.map((text) => Buffer.from(text, 'base64'));
  return images.length > 0 ? { kind: 'images', images } : { kind: 'refused' };
}
