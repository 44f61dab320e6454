import type { OnDisconnect } from '../catalog/catalog.ts';
import type { Outcome, Settled } from '../ledger/port.ts';
import type { Usage } from '../ledger/price.ts';
import { Fault } from '../std/fault.ts';
import type { RequestId } from '../std/ids.ts';
import {
  finishedImages,
  mayBeBilled,
  UpstreamFailure,
  type ImageEvent,
  type ShownImageEvent,
  type Upstream,
} from '../upstream/port.ts';
import { withoutCost } from '../wire/openai/answer.ts';
import type { AttemptOptions } from './attempts.ts';
import type { ActiveRequest, AdmissionSummary, ImageCall, RelayParts } from './call.ts';
import { endImages, NOTHING_DELIVERED } from './image-ending.ts';
import { imagesMeasured } from './image-terms.ts';
import type { ImageInputCount } from './image-tokens.ts';
import { onImagesHeld, quoteImages, recordedCall, type ImageCallRecord, type ImageQuote } from './images.ts';
import type { MeteredUsage } from './stream/reported-usage.ts';
import { relay, type AdmittedCall, type AnsweredCall, type Operation } from './relay.ts';

/** Takes the images of a stream as they arrive. */
export interface ImageSink {
  /** Resolves when the next may come: at the client's pace, or at once if nobody reads any more. */
  take(event: ShownImageEvent, size: string): Promise<TakenImage>;
  /** Called once, after the request was settled. */
  end(settled: Settled | undefined, fault: Fault | undefined): void;
}

export interface TakenImage {
  /** It was delivered: sent before the client left, or stored in the account's gallery. */
  readonly isDelivered: boolean;
}

interface ImageStreamCall extends ImageCall {
  readonly sink: ImageSink;
}

interface ImageStreamReply {
  readonly summary: AdmissionSummary;
  /** The client is gone. */
  leave(): void;
}

/** The images of a call one by one, and what a backend shows of them before they are finished. */
export function relayImageStream(
  call: ImageStreamCall,
  parts: RelayParts,
  record: ImageCallRecord,
): Promise<ImageStreamReply> {
  return relay(recordedStream(record), call, parts);
}

/** A backend's images from the first event on, which has proved that it answers. */
interface StartedImages {
  readonly first: IteratorResult<ImageEvent, unknown>;
  readonly rest: AsyncIterator<ImageEvent, unknown>;
  /** Ends the backend's work. */
  readonly stop: AbortController;
}

type ImageStreamOperation = Operation<ImageStreamCall, ImageQuote, StartedImages, ImageStreamReply>;

function recordedStream(record: ImageCallRecord): ImageStreamOperation {
  return {
    quote: quoteImages,
    isStreamed: () => true,
    onHeld: (held, admission) => onImagesHeld(held, admission, record),
    callUpstream: (admitted, upstream, attempt) => startAt(upstream, admitted, { attempt, record }),
    deliver(answered) {
      const { call, summary, served, parts } = answered;
      const delivery = new ImageDelivery(answered);
      parts.activeRequests.add(delivery);
      if (call.connection.hasLeft) delivery.leave();
      void delivery.run(served.answer);
      return { summary, leave: () => delivery.leave() };
    },
  };
}

async function startAt(
  upstream: Upstream,
  admitted: AdmittedCall<ImageStreamCall, ImageQuote>,
  { attempt, record }: { readonly attempt: AttemptOptions; readonly record: ImageCallRecord },
): Promise<StartedImages> {
  const stop = new AbortController();
  const signal = AbortSignal.any([attempt.signal, stop.signal]);
  const call = await recordedCall(admitted, upstream, { attempt: { ...attempt, signal }, record });
  const { partialImages } = admitted.quote;
  const rest =
    partialImages > 0 && upstream.streamImages
      ? await upstream.streamImages({ ...call, partialImages })
      : finishedImages(await upstream.images(call));
  const first = await rest.next();
  if (first.done === true) throw new UpstreamFailure('protocol', 'the stream holds no image');
  return { first, rest, stop };
}

type AnsweredStream = AnsweredCall<ImageStreamCall, ImageQuote, StartedImages>;

/** Delivers the images of one call as they come, and settles it exactly once, whichever side ends it. */
class ImageDelivery implements ActiveRequest {
  readonly requestId: RequestId;
  readonly #answered: AnsweredStream;
  readonly #deadlineMs: number;
  #finished: FinishedImage[] = [];
  #partials = 0;
  /** Images that could neither be delivered nor kept: nobody pays for them, although they cost us. */
  #lost: FinishedImage[] = [];
  /** Images that the backend may have made and that did not arrive. */
  #unseen = 0;
  #quality: string | undefined;
  readonly #counting: Promise<ImageInputCount> | undefined;
  #input: ImageInputCount | undefined;
  #clientLeft = false;
  #cutBy: Fault | undefined;

  constructor(answered: AnsweredStream) {
    const { call, quote, served, parts } = answered;
    this.requestId = call.requestId;
    this.#answered = answered;
    this.#deadlineMs = parts.clock.now() + parts.upstreams.timeouts(served.upstream).totalMs;
    this.#counting = quote.countInputForCharge && this.#countInput(quote.countInputForCharge);
  }

  /** Beside the stream: if this process dies, what was counted until then is what the input costs. */
  async #countInput(count: () => Promise<ImageInputCount>): Promise<ImageInputCount> {
    return (this.#input = await count());
  }

  /** Never rejects: what fails on the way ends the stream. */
  async run({ first, rest }: StartedImages): Promise<void> {
    try {
      for (let event = first; event.done !== true; event = await rest.next())
        await this.#deliver(event.value);
      await this.#end(this.#finished.length > 0 ? 'completed' : 'upstream_failed', undefined);
    } catch (thrown) {
      this.#answered.served.answer.stop.abort();
      await this.#end('upstream_failed', thrown);
    }
  }

  delivered(): Usage {
    return this.#measured().usage;
  }

  tick(nowMs: number): void {
    if (nowMs > this.#deadlineMs)
      this.cut(new Fault('upstream_timeout', 'The images took too long and were cut.'));
  }

  cut(fault: Fault): void {
    this.#cutBy ??= fault;
    this.#answered.served.answer.stop.abort(fault);
  }

  /** What comes from the backend until it ends is charged, and kept for the account. */
  leave(): void {
    if (this.#clientLeft) return;
    this.#clientLeft = true;
    if (this.#whenLeft() === 'stop') this.#answered.served.answer.stop.abort();
  }

  /**
   * Nobody can know what a half-made image costs at the backend, so it is finished unless the catalog says otherwise.
   */
  #whenLeft(): OnDisconnect {
    const { quote } = this.#answered;
    const { onDisconnect, finishesForReport } = quote.route.model;
    return onDisconnect === 'finish' || finishesForReport ? 'finish' : 'stop';
  }

  /** Images beyond the requested and paid ones are neither shown nor charged. */
  async #deliver(event: ImageEvent): Promise<void> {
    const { quote, call } = this.#answered;
    if (event.kind === 'lost') {
      this.#unseen += event.images;
      return;
    }
    if (event.kind === 'partial') {
      if (this.#partials === quote.partialImages * quote.count) return;
      this.#partials++;
      await call.sink.take(event, quote.fitting.size);
      return;
    }
    this.#quality = event.quality ?? this.#quality;
    const { usage } = event;
    if (this.#finished.length + this.#lost.length === quote.count) {
      if (usage !== undefined) this.#finished.at(-1)?.usages.push(usage);
      return;
    }
    const image: FinishedImage = { usages: usage === undefined ? [] : [usage], isDelivered: false };
    try {
      const shown = { ...event, usage: withoutCost(usage) };
      const { isDelivered } = await call.sink.take(shown, quote.fitting.size);
      this.#finished.push({ ...image, isDelivered });
    } catch (thrown) {
      this.#lost.push(image);
      throw thrown;
    }
  }

  #measured(finished: readonly FinishedImage[] = this.#finished): MeteredUsage {
    const { quote } = this.#answered;
    return imagesMeasured(quote, {
      images: finished.length,
      partialImages: this.#partials,
      usages: finished.flatMap(({ usages }) => usages),
      quality: this.#quality,
      input: this.#input,
    });
  }

  async #end(how: Outcome, thrown: unknown): Promise<void> {
    const { call, hold, served, quote: terms } = this.#answered;
    const failed = how === 'completed' ? undefined : brokenOff(thrown);
    // Once the client has left, the way the backend ended matters only for the meter.
    const [outcome, fault] = this.#clientLeft
      ? (['client_left', undefined] as const)
      : [this.#cutBy ? 'cut_short' : how, this.#cutBy ?? failed];
    if (this.#clientLeft) this.#loseUndelivered();
    if (this.#finished.every(({ usages }) => usages.length === 0)) await this.#counting;
    const made = this.#measured([...this.#finished, ...this.#lost]);
    const hasNothing = this.#lost.length > 0 && this.#finished.length + this.#partials === 0;
    const delivered = hasNothing ? NOTHING_DELIVERED : this.#measured();
    const end = { ...served, terms, outcome, fault, delivered, made, unseen: this.#unseenAfter(thrown) };
    const settled = await hold.voidOnFailure(() => endImages(hold, end)).catch(() => undefined);
    call.sink.end(settled, fault);
  }

  /** A client that left did not get them, and its account cannot find them in the gallery. */
  #loseUndelivered(): void {
    this.#lost.push(...this.#finished.filter(({ isDelivered }) => !isDelivered));
    this.#finished = this.#finished.filter(({ isDelivered }) => isDelivered);
  }

  /** A backend that was stopped, or broke off, may have made all the others. */
  #unseenAfter(thrown: unknown): number {
    const isTold = thrown instanceof UpstreamFailure && !mayBeBilled(thrown);
    if (thrown === undefined || isTold) return this.#unseen;
    return this.#answered.quote.count - this.#finished.length - this.#lost.length;
  }
}

interface FinishedImage {
  readonly usages: unknown[];
  readonly isDelivered: boolean;
}

function brokenOff(cause: unknown): Fault {
  if (cause instanceof Fault) return cause;
  const detail = cause instanceof Error ? cause.message : 'no image came';
  return new Fault('upstream_error', 'The backend broke off before its images were finished.', {
    cause,
    detail,
  });
}
