import {
  ImageStandIn,
  isInteger,
  isOneOf,
  isText,
  wrongField,
  type ImageCallReceived,
} from './image-stand-in.ts';
import { fieldsOf, listOf, textOf, type Fields } from './stand-in.ts';

const GEMINI_RATIOS = isOneOf('1:1', '2:3', '3:2', '3:4', '4:3', '4:5', '5:4', '9:16', '16:9', '21:9');
const IMAGEN_RATIOS = isOneOf('1:1', '3:4', '4:3', '9:16', '16:9');
const isImagen = isOneOf(
  'imagen-4.0-generate-001',
  'imagen-4.0-fast-generate-001',
  'imagen-4.0-ultra-generate-001',
);
const isGemini = isOneOf('gemini-2.5-flash-image', 'gemini-3-pro-image');

/**
 * Images of Google's Gemini API: Imagen by `:predict` (https://ai.google.dev/gemini-api/docs/imagen), Gemini by
 * `:generateContent` (https://ai.google.dev/gemini-api/docs/image-generation), which makes one image a call.
 */
export class StrictGeminiImages extends ImageStandIn {
  get baseUrl(): string {
    return `${this.origin}/v1beta`;
  }

  protected answer({ headers, path, body, method }: ImageCallReceived): Response {
    if (headers.get('x-goog-api-key') !== this.key)
      return failed(400, 'API key not valid. Please pass a valid API key.');
    if (path === '/v1beta/models') return Response.json({ models: [] });
    const [, model = '', operation] = /^\/v1beta\/models\/([\w.-]+):(\w+)$/.exec(path) ?? [];
    if (method !== 'POST') return failed(404, 'Not found');
    if (operation === 'predict' && isImagen(model)) return this.#predict(model, body);
    if (operation === 'generateContent' && isGemini(model)) return this.#generate(model, body);
    return failed(404, `models/${model} is not found for API version v1beta`);
  }

  #predict(model: string, body: Fields): Response {
    const parameters = fieldsOf(body['parameters']);
    const [instance, ...others] = listOf(body['instances']);
    const wrong =
      wrongField(body, { instances: Array.isArray, parameters: (value) => typeof value === 'object' }) ??
      (others.length > 0 ? 'instances' : wrongField(instance ?? {}, { prompt: isText })) ??
      wrongField(parameters, {
        sampleCount: isInteger(1, 4),
        aspectRatio: IMAGEN_RATIOS,
        imageSize: isOneOf('1K', '2K'),
        personGeneration: isOneOf('dont_allow', 'allow_adult', 'allow_all'),
      });
    if (wrong !== undefined || instance?.['prompt'] === undefined)
      return failed(400, `Invalid value at '${wrong}'`);
    const outcomes = this.nextOutcomes(Number(parameters['sampleCount'] ?? 4));
    if (outcomes.every((one) => one === 'failed')) return failed(500, 'Internal error encountered.');
    const shown = outcomes.filter((one) => one !== 'failed' && one !== 'refused');
    this.bill(model, shown, textOf(parameters['aspectRatio']));
    const predictions = shown.map((one) => ({
      mimeType: 'image/png',
      bytesBase64Encoded: this.#base64(one),
    }));
    return Response.json(predictions.length === 0 ? {} : { predictions });
  }

  #generate(model: string, body: Fields): Response {
    const config = fieldsOf(body['generationConfig']);
    const wrong =
      wrongField(body, { contents: Array.isArray, generationConfig: (value) => typeof value === 'object' }) ??
      wrongField(config, {
        responseModalities: (value) => JSON.stringify(value) === '["IMAGE"]',
        imageConfig: (value) => wrongField(fieldsOf(value), { aspectRatio: GEMINI_RATIOS }) === undefined,
        seed: isInteger(0, 2 ** 31),
      });
    if (wrong !== undefined) return failed(400, `Invalid JSON payload received. Unknown name "${wrong}"`);
    const [outcome = 'made'] = this.nextOutcomes(1);
    if (outcome === 'failed') return failed(500, 'An internal error has occurred.');
    const usageMetadata = { promptTokenCount: 9, candidatesTokenCount: 1290, totalTokenCount: 1299 };
    if (outcome === 'refused')
      return Response.json({ candidates: [{ finishReason: 'IMAGE_SAFETY', index: 0 }], usageMetadata });
    this.bill(model, [outcome], '');
    const parts = [{ inlineData: { mimeType: 'image/png', data: this.#base64(outcome) } }];
    return Response.json({
      candidates: [{ content: { parts, role: 'model' }, finishReason: 'STOP', index: 0 }],
      usageMetadata,
    });
  }

  #base64(outcome: 'made' | 'cut' | 'gone' | 'endless'): string {
    const bytes = outcome === 'gone' ? Buffer.from('expired') : this.pictureFor(outcome);
    return Buffer.from(bytes).toString('base64');
  }
}

function failed(code: number, message: string): Response {
  const status = code === 400 ? 'INVALID_ARGUMENT' : code === 404 ? 'NOT_FOUND' : 'INTERNAL';
  return Response.json({ error: { code, message, status } }, { status: code });
}
