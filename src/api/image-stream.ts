import { earlyEventStream, eventStreamAnswer } from '../http/response.ts';
import type { ImageCall, RelayParts } from '../relay/call.ts';
import { relayImageStream, type ImageSink, type TakenImage } from '../relay/image-stream.ts';
import { asFault, type Fault } from '../std/fault.ts';
import type { RequestMemory } from '../std/held-memory.ts';
import { encodeEvent, SSE_COMMENT } from '../std/sse.ts';
import type { GeneratedImage, ShownImageEvent } from '../upstream/port.ts';
import { faultBody } from '../wire/fault-body.ts';
import type { ImageLinks } from './image-links.ts';
import { storeImages, type PlainImageRecord } from './image-records.ts';

/** What a stream of images needs beside its call. */
interface ImageStreamParts {
  readonly relay: RelayParts;
  readonly links: ImageLinks;
  readonly origin: string;
  readonly record: PlainImageRecord;
  /** The memory of the request, which holds the call's pictures until the stream ends. */
  readonly memory: Pick<RequestMemory, 'keep'>;
}

/**
 * Proxies close a connection that is silent for some time, and an image may take minutes: so after a while the answer
 * begins before the backend's does, and comment lines keep it open. Until it begins, a failure still has its own
 * status.
 */
export async function answerImageStream(call: ImageCall, parts: ImageStreamParts): Promise<Response> {
  const writer = new ImageEventWriter(call, parts);
  const relayed = relayImageStream({ ...call, sink: writer }, parts.relay, parts.record);
  writer.onLeft = () =>
    void relayed.then(
      (reply) => reply.leave(),
      () => undefined,
    );
  const begun = await Promise.race([
    relayed,
    writer.firstSilence(() => call.requestRecord?.isHeld === true),
  ]).catch((thrown: unknown) => {
    writer.end(undefined, undefined);
    throw thrown;
  });
  if (begun) return eventStreamAnswer(writer.body, begun.summary);
  relayed.catch((thrown: unknown) => {
    const fault = asFault(thrown);
    const { code, status, detail, cause } = fault;
    if (status >= 500)
      parts.relay.log.error('request_failed', { request: call.requestId, code, detail, cause });
    writer.end(undefined, fault);
  });
  return earlyEventStream(writer.body, call.requestId);
}

const COMMENT_MS = 15_000;
/** A client that reads nothing for this long is taken to have left. */
const STALLED_READER_MS = 60_000;
const PIECE_BYTES = 65_536;

/**
 * The response body, in OpenAI's events
 * (https://developers.openai.com/api/reference/resources/images/generation-streaming-events). Finished images are kept in
 * the gallery whether or not anybody still reads.
 */
class ImageEventWriter implements ImageSink {
  readonly body: ReadableStream<Uint8Array>;
  onLeft: () => void = () => undefined;
  readonly #call: ImageCall;
  readonly #parts: ImageStreamParts;
  readonly #timer: Timer;
  readonly #releaseMemory: () => void;
  readonly #silence = Promise.withResolvers<undefined>();
  #mayBegin: () => boolean = () => false;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  #drained: PromiseWithResolvers<void> | undefined;
  #waitingSinceMs = 0;
  #isSending = false;
  #isOver = false;

  constructor(call: ImageCall, parts: ImageStreamParts) {
    this.#call = call;
    this.#parts = parts;
    this.#releaseMemory = parts.memory.keep();
    this.body = new ReadableStream<Uint8Array>({
      start: (controller) => void (this.#controller = controller),
      pull: () => this.#drained?.resolve(),
      cancel: () => this.#leave(),
    });
    this.#timer = setInterval(() => this.#onSilence(), parts.relay.commentMs ?? COMMENT_MS);
  }

  /** Resolves after the first silence in which the answer may begin. */
  firstSilence(mayBegin: () => boolean): Promise<undefined> {
    this.#mayBegin = mayBegin;
    return this.#silence.promise;
  }

  async take(event: ShownImageEvent, size: string): Promise<TakenImage> {
    if (this.#isOver && event.kind === 'partial') return { isDelivered: false };
    const shown = await this.#shown(event, size);
    const isSent = await this.#send(shown.text);
    return { isDelivered: (await shown.kept) || isSent };
  }

  /**
   * At the client's pace, and in pieces: a stream tells when it takes the next one, and not how much of a large one has
   * been sent. True once all is on its way, so that a client that leaves later has it.
   */
  async #send(text: string): Promise<boolean> {
    const bytes = encoder.encode(text);
    this.#isSending = true;
    for (let from = 0; from < bytes.length && !this.#isOver; from += PIECE_BYTES) {
      this.#controller?.enqueue(bytes.subarray(from, from + PIECE_BYTES));
      await this.#taken();
    }
    this.#isSending = false;
    return !this.#isOver;
  }

  async #taken(): Promise<void> {
    if ((this.#controller?.desiredSize ?? 0) > 0) return;
    this.#drained = Promise.withResolvers<void>();
    this.#waitingSinceMs = performance.now();
    await this.#drained.promise;
    this.#drained = undefined;
  }

  end(_settled: unknown, fault: Fault | undefined): void {
    void this.#parts.record.end();
    this.#releaseMemory();
    if (fault) this.#write(encodeEvent(JSON.stringify({ type: 'error', ...faultBody(fault) }), 'error'));
    clearInterval(this.#timer);
    if (this.#isOver) return;
    this.#isOver = true;
    this.#controller?.close();
  }

  #leave(): void {
    clearInterval(this.#timer);
    this.#isOver = true;
    this.#drained?.resolve();
    this.onLeft();
  }

  #onSilence(): void {
    if (this.#mayBegin()) this.#silence.resolve(undefined);
    if (this.#drained && performance.now() - this.#waitingSinceMs > STALLED_READER_MS) return this.#stalled();
    if (!this.#isSending && (this.#controller?.desiredSize ?? 0) > 0) this.#write(SSE_COMMENT);
  }

  #stalled(): void {
    this.#controller?.error(new Error('the client takes nothing any more'));
    this.#leave();
  }

  #write(text: string): void {
    if (!this.#isOver) this.#controller?.enqueue(encoder.encode(text));
  }

  async #shown(
    event: ShownImageEvent,
    size: string,
  ): Promise<{ text: string; kept: Promise<boolean> | boolean }> {
    const { request } = this.#call;
    const prefix = request.image ? 'image_edit' : 'image_generation';
    const type = `${prefix}.${event.kind === 'partial' ? 'partial_image' : 'completed'}`;
    const common = {
      type,
      created_at: Math.floor(this.#parts.links.now() / 1000),
      size,
      quality: (event.kind === 'completed' ? event.quality : undefined) ?? request.quality ?? 'auto',
      background: request.background ?? 'auto',
      output_format: event.image.mime.replace('image/', ''),
    };
    const written = (fields: object): string =>
      encodeEvent(JSON.stringify({ ...fields, ...common, ...more }), type);
    const more =
      event.kind === 'partial' ? { partial_image_index: event.index } : { usage: event.usage ?? NO_TOKENS };
    if (event.kind === 'partial') return { text: written({ b64_json: base64(event.image) }), kept: false };
    const { fields, kept } = await this.#finished(event.image);
    return { text: written(fields), kept };
  }

  /** Throws if the client wants a link, or is gone, and the image cannot be kept: then it does not pay for it. */
  async #finished(image: GeneratedImage): Promise<{ fields: object; kept: Promise<boolean> | boolean }> {
    const { links, origin } = this.#parts;
    const revised = image.revisedPrompt === undefined ? {} : { revised_prompt: image.revisedPrompt };
    if (this.#call.request.response_format === 'b64_json' && !this.#isOver) {
      // A client that gets the bytes does not wait for the gallery.
      return { fields: { b64_json: base64(image), ...revised }, kept: this.#keepQuietly(image) };
    }
    const [stored] = await storeImages([image], { call: this.#call, links, once: false });
    return { fields: { url: links.link(stored?.id ?? '', origin), ...revised }, kept: true };
  }

  async #keepQuietly(image: GeneratedImage): Promise<boolean> {
    const { links, relay } = this.#parts;
    try {
      await links.store(image, this.#call);
      return true;
    } catch (error) {
      relay.log.warn('image_not_kept', { request: this.#call.requestId, error });
      return false;
    }
  }
}

const encoder = new TextEncoder();

function base64({ bytes }: GeneratedImage): string {
  return Buffer.from(bytes).toString('base64');
}

/** OpenAI's clients read usage from every such event. */
const NO_TOKENS = {
  input_tokens: 0,
  output_tokens: 0,
  total_tokens: 0,
  input_tokens_details: { image_tokens: 0, text_tokens: 0 },
};
