import { Fault } from '../std/fault.ts';
import type { BodySize } from '../relay/call.ts';
import { imageRequestSchema, type ImageRequest, type UploadedImage } from '../wire/openai/images.ts';
import { readBody, parseBody } from '../http/json-body.ts';

const MAX_IMAGES = 16;

/** Reads `/images/edits`: a form with the fields of a generation and the pictures to start from. */
export async function readImageForm(request: Request): Promise<{ request: ImageRequest; size: BodySize }> {
  const bytes = new Uint8Array(await readBody(request));
  const form = await parseForm(bytes, request.headers.get('content-type') ?? '');
  const image = await Promise.all([...form.getAll('image'), ...form.getAll('image[]')].flatMap(uploads));
  if (image.length === 0) throw new Fault('missing_field', 'image is required.', { param: 'image' });
  if (image.length > MAX_IMAGES)
    throw new Fault('invalid_field', `At most ${MAX_IMAGES} images.`, { param: 'image' });
  const [mask] = await Promise.all(form.getAll('mask').flatMap(uploads));
  const fields = parseBody(imageRequestSchema, textFields(form)) as ImageRequest;
  return {
    request: { ...fields, image, ...(mask ? { mask } : {}) },
    size: { bytes: bytes.byteLength, characters: bytes.byteLength },
  };
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

/** Everything in a form is text; the two fields that are numbers are read as such. */
function textFields(form: FormData): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  for (const [key, value] of form) {
    if (typeof value !== 'string' || key.startsWith('image') || key === 'mask') continue;
    fields[key] = key === 'n' || key === 'output_compression' ? Number(value) : value;
  }
  return fields;
}
