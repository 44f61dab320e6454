import { imageRefusal, isGptImage } from './openai-rules.ts';
import { openAiError } from './openai-wire.ts';
import {
  ImageStandIn,
  isInteger,
  isNumber,
  isOneOf,
  isText,
  wrongField,
  type FieldRule,
  type ImageCallReceived,
  type ImageOutcome,
} from './image-stand-in.ts';
import { fieldsOf, listOf, textOf, type Fields, type Refusal } from './stand-in.ts';

/** Images in OpenAI's shape: a list with a link or base64 each, from one call. */
abstract class ListedImages extends ImageStandIn {
  get baseUrl(): string {
    return `${this.origin}/v1`;
  }

  protected abstract refusal(call: ImageCallReceived): Refusal | undefined;
  protected abstract inline(body: Fields): boolean;
  protected abstract more(body: Fields, item: Fields): Fields;
  protected envelope(_body: Fields): Fields {
    return {};
  }

  protected answer(call: ImageCallReceived): Response {
    const { body, headers, method, path } = call;
    if (headers.get('authorization') !== `Bearer ${this.key}`)
      return refuse({ status: 401, message: 'Incorrect API key provided.', code: 'invalid_api_key' });
    if (path === '/v1/models') return Response.json({ object: 'list', data: [] });
    const refusal = method === 'POST' ? this.refusal(call) : { status: 404, message: 'Not found' };
    if (refusal) return refuse(refusal);
    const model = textOf(body['model']);
    const outcomes = this.nextOutcomes(Number(body['n'] ?? 1));
    if (outcomes.every((one) => one === 'failed'))
      return refuse({ status: 500, message: 'The server had an error.' });
    const shown = outcomes.filter((one) => one !== 'failed' && one !== 'refused');
    if (shown.length === 0) return refuse({ status: 400, message: MODERATED, code: 'moderation_blocked' });
    this.bill(model, shown, textOf(body['size']));
    const isInline = this.inline(body);
    const data = shown.map((one) => this.more(body, this.#item(one, isInline)));
    return Response.json({ created: 1_741_569_952, data, ...this.envelope(body) });
  }

  #item(outcome: ImageOutcome, isInline: boolean): Fields {
    if (!isInline) return { url: this.pictureLink(outcome) };
    const bytes = outcome === 'gone' ? Buffer.from('expired') : this.pictureFor(outcome);
    return { b64_json: Buffer.from(bytes).toString('base64') };
  }
}

const MODERATED = 'Your request was rejected by the safety system.';

function refuse(refusal: Refusal): Response {
  return Response.json(openAiError({ param: null, code: null, ...refusal }), { status: refusal.status });
}

/** OpenAI's, by the rules of `openai-rules.ts`. */
export class StrictOpenAiImages extends ListedImages {
  protected refusal({ body, path }: ImageCallReceived): Refusal | undefined {
    if (path === '/v1/images/generations') return imageRefusal(body, 'generation');
    return path === '/v1/images/edits' ? imageRefusal(body, 'edit') : { status: 404, message: 'Not found' };
  }

  protected inline(body: Fields): boolean {
    return isGptImage(textOf(body['model'])) || body['response_format'] === 'b64_json';
  }

  protected more(body: Fields, item: Fields): Fields {
    return body['model'] === 'dall-e-3' ? { ...item, revised_prompt: 'in detail' } : item;
  }

  protected override envelope(body: Fields): Fields {
    const usage = { input_tokens: 9, output_tokens: 1056, total_tokens: 1065 };
    return isGptImage(textOf(body['model'])) ? { output_format: 'png', quality: 'high', usage } : {};
  }
}

const XAI_RATIOS = '1:1 3:4 4:3 9:16 16:9 2:3 3:2 9:19.5 19.5:9 9:20 20:9 1:2 2:1 auto'.split(' ');
const isPictureObject: FieldRule = (value) => textOf(fieldsOf(value)['url']).startsWith('data:image/');
const XAI: Readonly<Record<string, FieldRule>> = {
  model: isOneOf('grok-imagine-image', 'grok-imagine-image-quality'),
  prompt: isText,
  n: isInteger(1, 10),
  aspect_ratio: isOneOf(...XAI_RATIOS),
  resolution: isOneOf('1k', '2k'),
  quality: isOneOf('low', 'medium', 'high'),
  response_format: isOneOf('url', 'b64_json'),
  user: isText,
};

/**
 * xAI's images, from https://docs.x.ai/docs/api-reference#image-generations: no `size` and no `style`; an edit is JSON
 * with the pictures as objects, "the OpenAI SDK's `images.edit()` is not supported".
 */
export class StrictXaiImages extends ListedImages {
  protected refusal({ body, path }: ImageCallReceived): Refusal | undefined {
    const isEdit = path === '/v1/images/edits';
    if (!isEdit && path !== '/v1/images/generations') return { status: 404, message: 'Not found' };
    const { image, images, ...rest } = body;
    const pictures = [...(image === undefined ? [] : [image]), ...listOf(images)];
    if (isEdit !== pictures.length > 0 || !pictures.every(isPictureObject))
      return { status: 400, message: 'Invalid image' };
    const wrong = wrongField(rest, XAI) ?? (body['prompt'] === undefined ? 'prompt' : undefined);
    return wrong === undefined ? undefined : { status: 400, message: `Argument not supported: ${wrong}` };
  }

  protected inline(body: Fields): boolean {
    return body['response_format'] === 'b64_json';
  }

  protected more(_body: Fields, item: Fields): Fields {
    return { ...item, revised_prompt: '', mime_type: 'image/jpeg' };
  }
}

const TOGETHER: Readonly<Record<string, FieldRule>> = {
  model: isOneOf('black-forest-labs/FLUX.1-schnell', 'black-forest-labs/FLUX.1-kontext-pro'),
  prompt: isText,
  steps: isInteger(1, 50),
  image_url: isText,
  reference_images: (value) => Array.isArray(value) && value.every(isText),
  seed: isInteger(0, 2 ** 53),
  n: isInteger(1, 4),
  width: isInteger(64, 1792, 16),
  height: isInteger(64, 1792, 16),
  negative_prompt: isText,
  response_format: isOneOf('base64', 'url'),
  guidance_scale: isNumber(0, 20),
  output_format: isOneOf('jpeg', 'png'),
};

/** Together's, from https://github.com/togethercomputer/openapi/blob/main/openapi.yaml (`/images/generations`). */
export class StrictTogetherImages extends ListedImages {
  protected refusal({ body, path }: ImageCallReceived): Refusal | undefined {
    if (path !== '/v1/images/generations') return { status: 404, message: 'Not found' };
    const wrong = wrongField(body, TOGETHER) ?? (body['prompt'] === undefined ? 'prompt' : undefined);
    return wrong === undefined ? undefined : { status: 422, message: `Input validation error: ${wrong}` };
  }

  protected inline(body: Fields): boolean {
    return body['response_format'] === 'base64';
  }

  protected more(_body: Fields, item: Fields): Fields {
    return { ...item, index: 0, type: item['url'] === undefined ? 'b64_json' : 'url' };
  }
}
