import {
  ImageStandIn,
  isOneOf,
  isText,
  wrongField,
  type FieldRule,
  type ImageCallReceived,
} from './image-stand-in.ts';
import { textOf } from './stand-in.ts';

type Rules = Readonly<Record<string, FieldRule>>;

const RATIOS = isOneOf('16:9', '1:1', '21:9', '2:3', '3:2', '4:5', '5:4', '9:16', '9:21');
const STYLES =
  `3d-model analog-film anime cinematic comic-book digital-art enhance fantasy-art isometric line-art low-poly
  modeling-compound neon-punk origami photographic pixel-art tile-texture`.split(/\s+/);
/** Everything in a form is text. */
const isSeed: FieldRule = (value) => /^\d+$/.test(textOf(value)) && Number(value) <= 4_294_967_294;
const isFile: FieldRule = (value) => value instanceof Blob && value.size > 0;
const isStrength: FieldRule = (value) => Number(value) >= 0 && Number(value) <= 1;
const COMMON: Rules = { prompt: isText, negative_prompt: isText, aspect_ratio: RATIOS, seed: isSeed };
const FORMATS = isOneOf('jpeg', 'png', 'webp');

/** From https://platform.stability.ai/docs/api-reference, "Generate": ultra, core, Stable Diffusion 3.5. */
const SERVICES: Readonly<Record<string, Rules>> = {
  core: { ...COMMON, style_preset: isOneOf(...STYLES), output_format: FORMATS },
  ultra: { ...COMMON, image: isFile, strength: isStrength, output_format: FORMATS },
  sd3: {
    ...COMMON,
    mode: isOneOf('text-to-image', 'image-to-image'),
    image: isFile,
    strength: isStrength,
    model: isOneOf('sd3.5-large', 'sd3.5-large-turbo', 'sd3.5-medium', 'sd3.5-flash'),
    output_format: isOneOf('jpeg', 'png'),
  },
};

/** Stability AI: a form in, the bytes of one picture out; "you are not charged for failed generations". */
export class StrictStability extends ImageStandIn {
  get baseUrl(): string {
    return this.origin;
  }

  protected answer(call: ImageCallReceived): Response {
    const { method, path, headers, body } = call;
    if (headers.get('authorization') !== `Bearer ${this.key}`)
      return failed(401, 'unauthorized', 'missing or invalid authorization header');
    if (path === '/v1/user/account') return Response.json({ id: 'user-1', organizations: [] });
    const service = /^\/v2beta\/stable-image\/generate\/(\w+)$/.exec(path)?.[1] ?? '';
    const rules = SERVICES[service];
    if (!rules || method !== 'POST') return failed(404, 'not_found', 'no such service');
    const wrong = this.#refusal(call, rules);
    if (wrong) return wrong;
    const [outcome = 'made'] = this.nextOutcomes(1);
    if (outcome === 'failed') return failed(500, 'internal_error', 'An unexpected server error has occurred');
    if (outcome === 'refused') return failed(403, 'content_moderation', FLAGGED);
    this.bill(service === 'sd3' ? textOf(body['model']) : service, [outcome], textOf(body['aspect_ratio']));
    const bytes = outcome === 'gone' ? Buffer.from('expired') : this.pictureFor(outcome);
    return new Response(bytes, {
      headers: { 'content-type': 'image/png', 'finish-reason': 'SUCCESS', seed: '42' },
    });
  }

  #refusal({ headers, body }: ImageCallReceived, rules: Rules): Response | undefined {
    if (!headers.get('content-type')?.startsWith('multipart/form-data'))
      return failed(400, 'bad_request', 'content-type: must be multipart/form-data');
    if (!['image/*', 'application/json'].includes(headers.get('accept') ?? ''))
      return failed(400, 'bad_request', "accept: must be 'image/*' or 'application/json'");
    const wrong = wrongField(body, rules) ?? (body['prompt'] === undefined ? 'prompt' : undefined);
    if (wrong !== undefined) return failed(400, 'bad_request', `${wrong}: is not valid`);
    const hasPicture = body['image'] !== undefined;
    if (hasPicture !== (body['strength'] !== undefined))
      return failed(400, 'bad_request', 'strength: required with image');
    const isEdit = body['mode'] === 'image-to-image';
    return rules['mode'] && (hasPicture !== isEdit || (isEdit && body['aspect_ratio'] !== undefined))
      ? failed(400, 'bad_request', 'mode: does not fit the other fields')
      : undefined;
  }
}

const FLAGGED =
  'Your request was flagged by our content moderation system, as a result your request was denied.';

function failed(status: number, name: string, error: string): Response {
  return Response.json({ id: 'a7f0', name, errors: [error] }, { status });
}
