import type { ImageFormat } from '../catalog/catalog.ts';
import type { ImageDialect } from '../catalog/catalog-data.ts';
import { parseEvent } from '../std/json-answer.ts';
import { SseOverflow, SseReader, type SseEvent } from '../std/sse.ts';
import type { ImageRequest, UploadedImage } from '../wire/openai/images.ts';
import { ANSWER } from './answer-rules.ts';
import { dimensionsOf, ratioFor } from './aspect-ratio.ts';
import { dataAddress, sniffMime } from './image-response.ts';
import { connectionFailure, UpstreamFailure, type ImageEvent, type UpstreamImageCall } from './port.ts';
import { rejected } from './response.ts';

/** A request for images as it goes out: JSON or a form. */
export interface ImageMessage {
  readonly path: string;
  readonly json?: Readonly<Record<string, unknown>>;
  readonly form?: FormData;
  /** Whether the request has a `response_format`, which not every server knows. */
  readonly isFormatSent: boolean;
}

export interface ImageStreaming {
  readonly stream: true | undefined;
  readonly partial_images: number | undefined;
}

/**
 * The client gets its images in the format it wants either way, so the backend is asked for the one without a link. Most
 * models that edit do not accept the field.
 */
export function imageMessage(
  call: UpstreamImageCall,
  imageFormat: ImageFormat | undefined,
  dialect: ImageDialect | undefined,
  streaming: ImageStreaming = NOT_STREAMED,
): ImageMessage {
  if (dialect) return dialectMessage(call, dialect);
  const { image, mask, ...rest } = call.request;
  const format = imageFormat ?? (image ? 'default' : 'b64_json');
  const json = {
    ...rest,
    model: call.model,
    size: call.size,
    response_format: format === 'default' ? undefined : format,
    output_format: NO_FORMATS.test(call.model) ? undefined : rest.output_format,
    ...streaming,
  };
  const isFormatSent = format !== 'default';
  if (!image) return { path: '/images/generations', json, isFormatSent };
  return { path: '/images/edits', form: editForm(json, image, mask), isFormatSent };
}

/** The answer is read as a whole unless events are requested: unexpected events would look like a failing backend. */
const NOT_STREAMED: ImageStreaming = { stream: undefined, partial_images: undefined };

/** `output_format` "is only supported for the GPT image models"; https://developers.openai.com/api/reference. */
const NO_FORMATS = /^dall-e-/i;

function editForm(
  fields: Readonly<Record<string, unknown>>,
  image: readonly UploadedImage[],
  mask: UploadedImage | undefined,
): FormData {
  const form = new FormData();
  for (const [key, value] of Object.entries(fields))
    if (value !== undefined) form.set(key, typeof value === 'string' ? value : JSON.stringify(value));
  for (const one of image) form.append(image.length === 1 ? 'image' : 'image[]', asFile(one), 'image.png');
  if (mask) form.set('mask', asFile(mask), 'mask.png');
  return form;
}

function asFile(image: UploadedImage): Blob {
  return new Blob([image.bytes], { type: image.mime });
}

function dialectMessage(call: UpstreamImageCall, dialect: ImageDialect): ImageMessage {
  const { image, mask, prompt, n } = call.request;
  if (mask) throw rejected("This model's provider takes no mask.", 'mask');
  const pictures = image?.map(dataAddress);
  const json = {
    model: call.model,
    prompt,
    n,
    ...sizeFields(call, dialect),
    ...takenFields(call.request, dialect),
    response_format: dialect.inline,
    ...(pictures && pictureFields(pictures, dialect)),
  };
  const isEdit = pictures !== undefined && dialect.edits === 'objects';
  return { path: isEdit ? '/images/edits' : '/images/generations', json, isFormatSent: true };
}

function sizeFields(call: UpstreamImageCall, { size: form, ratios }: ImageDialect): Record<string, unknown> {
  const [first, ...others] = ratios ?? [];
  if (form === 'dimensions' || first === undefined) return dimensionsOf(call.size);
  return { aspect_ratio: ratioFor(call, [first, ...others]) };
}

function pictureFields(pictures: readonly string[], { edits }: ImageDialect): Record<string, unknown> {
  const [first] = pictures;
  if (edits === 'addresses')
    return pictures.length === 1 ? { image_url: first } : { reference_images: pictures };
  const objects = pictures.map((url) => ({ url, type: 'image_url' }));
  return objects.length === 1 ? { image: objects[0] } : { images: objects };
}

/** Fields that every request has are written separately; hints change no image. */
const WRITTEN = new Set(
  'model prompt n size response_format output_format image mask stream partial_images user'.split(' '),
);

function takenFields(
  request: ImageRequest,
  { fields, outputFormats }: ImageDialect,
): Record<string, unknown> {
  const taken: Record<string, unknown> = {};
  for (const [field, value] of Object.entries(request)) {
    if (value === undefined) continue;
    if (fields.includes(field)) taken[field] = value;
    else if (!WRITTEN.has(field) && value !== 'auto')
      throw rejected(`This model's provider does not take ${field}.`, field);
  }
  const { output_format } = request;
  const isMade = output_format === undefined || outputFormats.includes(output_format);
  return { ...taken, output_format: isMade ? output_format : outputFormats[0] };
}

/** An image of 20 MB in base64, with the JSON around it. */
const MAX_IMAGE_EVENT_LENGTH = 28 * 1_048_576;

/**
 * The events of a streamed image in OpenAI's shape
 * (https://developers.openai.com/api/reference/resources/images/generation-streaming-events): `image_generation.*` of
 * generations and `image_edit.*` of edits. Others are skipped: there may be more of them one day.
 */
export async function* imageEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ImageEvent> {
  const reader = body.getReader();
  const events = new SseReader(MAX_IMAGE_EVENT_LENGTH);
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((cause: unknown) => {
        throw connectionFailure(cause);
      });
      const arrived = done ? events.end() : pushed(events, value);
      for (const event of arrived) {
        const image = await imageEvent(event);
        if (image) yield image;
      }
      if (done) return;
    }
  } finally {
    void reader.cancel().catch(() => undefined);
  }
}

function pushed(events: SseReader, bytes: Uint8Array): SseEvent[] {
  try {
    return events.push(bytes);
  } catch (cause) {
    if (cause instanceof SseOverflow) throw new UpstreamFailure('protocol', cause.message, { cause });
    throw cause;
  }
}

async function imageEvent({ data }: SseEvent): Promise<ImageEvent | undefined> {
  if (data === '[DONE]') return undefined;
  const fields = fieldsOf(await parseEvent(data, ANSWER));
  const { type, error } = fields;
  if (type === 'error' || (typeof error === 'object' && error !== null)) throw failedEvent(fields);
  if (typeof type !== 'string' || !/^image_(?:generation|edit)\.(?:partial_image|completed)$/.test(type))
    return undefined;
  const bytes =
    typeof fields['b64_json'] === 'string' ? Buffer.from(fields['b64_json'], 'base64') : undefined;
  const mime = bytes && sniffMime(bytes);
  const isPartial = type.endsWith('.partial_image');
  // Anything else than an image is neither shown nor charged.
  if (!bytes || mime === undefined) return isPartial ? undefined : { kind: 'lost', images: 1 };
  const image = { bytes, mime };
  if (isPartial) {
    const { partial_image_index: index } = fields;
    return { kind: 'partial', image, index: Number.isSafeInteger(index) ? (index as number) : 0 };
  }
  const { usage, quality } = fields;
  return { kind: 'completed', image, usage, quality: typeof quality === 'string' ? quality : undefined };
}

function fieldsOf(value: unknown): Record<string, unknown> {
  if (typeof value === 'object' && value !== null) return value as Record<string, unknown>;
  throw new UpstreamFailure('protocol', 'an event of the stream is no object');
}

/** Refused content comes as an event, too: "moderation_blocked" of `image_generation_user_error`. */
function failedEvent(fields: Record<string, unknown>): UpstreamFailure {
  const { error } = fields;
  const told = (typeof error === 'object' && error !== null ? error : fields) as Record<string, unknown>;
  const message = typeof told['message'] === 'string' ? told['message'] : 'an error without a message';
  const isRefusal =
    /user_error|invalid_request/.test(String(told['type'])) || told['code'] === 'moderation_blocked';
  return isRefusal
    ? new UpstreamFailure('rejected', message, { publicMessage: message })
    : new UpstreamFailure('server', message);
}
