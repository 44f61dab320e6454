import { z } from 'zod';
import type { IncomingRequest } from '../http/incoming-request.ts';
import { readBody, type AdmitLargeBody, type JsonBody } from '../http/json-body.ts';
import type { Caller } from '../ledger/port.ts';
import { preferTokenError } from '../relay/admission.ts';
import { Fault } from '../std/fault.ts';
import { imageRequestSchema, type UploadedImage } from '../wire/openai/images.ts';
import { INFERENCE_ERRORS, OPENAI_ERRORS } from './errors.ts';
import { answerOrStart, IMAGE_ANSWER, readImageFields, v1ImageCall } from './images.ts';
import { callOf, largeBodyOf, MAX_COST_FIELD, placed } from './inference.ts';
import type { ApiOperation, ApiParts } from './operation.ts';

const MAX_IMAGES = 16;

const upload = z.string().meta({ contentMediaType: 'application/octet-stream' });

/** The fields as sent in the form; they are then checked by the schema of a generation. */
const imageForm = imageRequestSchema.extend({
  ...MAX_COST_FIELD,
  image: z
    .union([upload, z.array(upload).min(1).max(MAX_IMAGES)])
    .describe('The pictures to start from; image[] is the same field'),
  mask: upload.optional(),
});

/** An edit is a generation with input images, sent as a form. */
export const imageEdits: ApiOperation = {
  id: 'v1EditImage',
  method: 'POST',
  path: '/v1/images/edits',
  tag: 'OpenAI-compatible',
  summary: 'Paint images from pictures and a description',
  description: 'The model is named as GET /v1/models lists it.',
  token: 'required',
  respondAsync: true,
  request: { name: 'ImageForm', schema: imageForm, examples: {}, mediaType: 'multipart/form-data' },
  answer: IMAGE_ANSWER,
  errors: INFERENCE_ERRORS,
  dialect: OPENAI_ERRORS,
  handle: placed(edit),
};

async function edit(incoming: IncomingRequest, caller: Caller, parts: ApiParts): Promise<Response> {
  const { callerAuth } = parts;
  const call = await preferTokenError({ caller, rate: 'images' }, callerAuth.parts, async () => {
    const { value, size, image, mask } = await readImageForm(
      incoming.request,
      largeBodyOf(parts, incoming, caller),
    );
    const base = callOf(incoming, caller, { size, value });
    const { request, knobs } = readImageFields(value);
    return v1ImageCall(base, { request: { ...request, image, ...(mask ? { mask } : {}) }, knobs }, parts);
  });
  return await answerOrStart(call, parts, incoming);
}

interface ImageForm extends Pick<JsonBody, 'size' | 'value'> {
  readonly image: readonly UploadedImage[];
  readonly mask: UploadedImage | undefined;
}

async function readImageForm(request: Request, admitLarge: AdmitLargeBody): Promise<ImageForm> {
  const bytes = await readBody(request, admitLarge);
  const form = await parseForm(bytes, request.headers.get('content-type') ?? '');
  const image = await Promise.all([...form.getAll('image'), ...form.getAll('image[]')].flatMap(uploads));
  if (image.length === 0) throw new Fault('missing_field', 'image is required.', { param: 'image' });
  if (image.length > MAX_IMAGES)
    throw new Fault('invalid_field', `At most ${MAX_IMAGES} images.`, { param: 'image' });
  const [mask] = await Promise.all(form.getAll('mask').flatMap(uploads));
  const size = { bytes: bytes.byteLength, characters: bytes.byteLength };
  return { value: textFields(form), size, image, mask };
}

async function parseForm(bytes: Uint8Array<ArrayBuffer>, contentType: string): Promise<FormData> {
  try {
    return await new Response(bytes, { headers: { 'content-type': contentType } }).formData();
  } catch (cause) {
    throw new Fault('invalid_json', 'The body must be multipart/form-data.', { cause });
  }
}

function uploads(value: FormDataEntryValue): Promise<UploadedImage>[] {
  if (typeof value === 'string') return [];
  return [value.arrayBuffer().then((buffer) => ({ bytes: new Uint8Array(buffer), mime: value.type }))];
}

/** Everything in a form is text; the two numeric fields are converted. */
function textFields(form: FormData): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  for (const [key, value] of form) {
    if (typeof value !== 'string' || key.startsWith('image') || key === 'mask') continue;
    fields[key] = key === 'n' || key === 'output_compression' ? Number(value) : value;
  }
  return fields;
}
