import { SseOverflow, SseReader, type SseEvent } from '../std/sse.ts';
import { sniffMime } from './image-response.ts';
import { connectionFailure, UpstreamFailure, type ImageEvent } from './port.ts';
import { redactMessage } from './response.ts';

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
        const image = imageEvent(event);
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

function imageEvent({ data }: SseEvent): ImageEvent | undefined {
  if (data === '[DONE]') return undefined;
  const fields = parsed(data);
  const { type, error } = fields;
  if (type === 'error' || (typeof error === 'object' && error !== null)) throw failedEvent(fields);
  if (typeof type !== 'string' || !/^image_(?:generation|edit)\.(?:partial_image|completed)$/.test(type))
    return undefined;
  const bytes =
    typeof fields['b64_json'] === 'string' ? Buffer.from(fields['b64_json'], 'base64') : undefined;
  const mime = bytes && sniffMime(bytes);
  // What is no image is not shown, and not charged.
  if (!bytes || mime === undefined) return undefined;
  const image = { bytes, mime };
  if (type.endsWith('.partial_image')) {
    const { partial_image_index: index } = fields;
    return { kind: 'partial', image, index: Number.isSafeInteger(index) ? (index as number) : 0 };
  }
  const { usage, quality } = fields;
  return { kind: 'completed', image, usage, quality: typeof quality === 'string' ? quality : undefined };
}

function parsed(data: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(data);
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>;
  } catch (cause) {
    throw new UpstreamFailure('protocol', 'an event of the stream is not JSON', { cause });
  }
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
    ? new UpstreamFailure('rejected', message, { publicMessage: redactMessage(message) })
    : new UpstreamFailure('server', message);
}
