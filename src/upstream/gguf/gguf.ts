import type { LanguageModelV4GenerateResult, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import type { UpstreamConfig } from '../../catalog/catalog.ts';
import { BoundedQueue } from '../../std/bounded-queue.ts';
import { type Clock, systemClock } from '../../std/clock.ts';
import { completionOf } from '../ai-sdk/answer.ts';
import { asFailure } from '../ai-sdk/failure.ts';
import { streamEvents } from '../ai-sdk/stream-events.ts';
import { openAiUsage } from '../ai-sdk/usage.ts';
import {
  UpstreamFailure,
  type ChatAnswer,
  type Upstream,
  type UpstreamChatCall,
  type UpstreamHealth,
} from '../port.ts';
import { rejected } from '../response.ts';
import { Engine } from './engine.ts';
import { importLlama, INSTALL_HINT, type LlamaPackage } from './llama.ts';

/** `kind: gguf`: a model file run inside this process by node-llama-cpp. Options: path, context_size, threads, gpu_layers. */
export function makeGguf(config: UpstreamConfig, parts: GgufParts = {}): Upstream {
  return new GgufUpstream(config, parts);
}

interface GgufParts {
  readonly clock?: Clock | undefined;
  /** Loads the package; replaced in tests. */
  readonly load?: (() => Promise<LlamaPackage>) | undefined;
}

/** How many requests may wait for the model; at the usual seconds per answer, more would wait in vain. */
/** A model in memory has one context, and two generations at once would each take twice as long. */
const MAX_WAITING = 8;
const FULL_RETRY_AFTER_MS = 5_000;

class GgufUpstream implements Upstream {
  readonly name: string;
  readonly #path: string;
  readonly #engine: Engine;
  readonly #queue: BoundedQueue;
  readonly #clock: Clock;
  readonly #load: () => Promise<LlamaPackage>;

  constructor(config: UpstreamConfig, parts: GgufParts) {
    this.name = config.name;
    this.#path = config.options.get('path') ?? '';
    this.#clock = parts.clock ?? systemClock;
    this.#load = parts.load ?? importLlama;
    this.#queue = new BoundedQueue({ parallel: 1, waiting: MAX_WAITING });
    this.#engine = new Engine({
      path: this.#path,
      contextSize: wholeNumber(config, 'context_size') || undefined,
      gpuLayers: wholeNumber(config, 'gpu_layers'),
      threads: wholeNumber(config, 'threads') || undefined,
      load: this.#load,
    });
  }

  async chat(call: UpstreamChatCall): Promise<ChatAnswer> {
    try {
      const stream = await this.#parts(call);
      const labels = this.#labels(call);
      if (call.request.stream) return { kind: 'events', events: await streamEvents(stream, labels) };
      return { kind: 'completion', completion: completionOf(await collectParts(stream), labels) };
    } catch (error) {
      call.signal.throwIfAborted();
      throw asFailure(error, []);
    }
  }

  async images(): Promise<never> {
    throw rejected('This backend does not make images.');
  }

  /** Reports whether the model could be loaded, without loading gigabytes to find out. */
  async check(): Promise<UpstreamHealth> {
    const startedAt = this.#clock.now();
    const health = (ok: boolean, detail: string): UpstreamHealth => ({
      ok,
      detail,
      latencyMs: this.#clock.now() - startedAt,
    });
    if (this.#path === '') return health(false, 'options.path is not set');
    if (!(await Bun.file(this.#path).exists())) return health(false, `there is no file ${this.#path}`);
    const installed = await this.#load().then(
      () => true,
      () => false,
    );
    return installed ? health(true, 'package installed, file present') : health(false, INSTALL_HINT);
  }

  /**
   * The answer as it is generated. Generation does not wait for a slow reader, because others wait for the model; how
   * far it can run ahead is bounded by the output cap.
   */
  async #parts(call: UpstreamChatCall): Promise<ReadableStream<LanguageModelV4StreamPart>> {
    const turn = this.#queue.enter(call.signal);
    if (!turn) {
      throw new UpstreamFailure('rate_limited', 'too many requests wait for this model', {
        retryAfterMs: FULL_RETRY_AFTER_MS,
      });
    }
    const leave = await turn;
    const stop = new AbortController();
    const signal = AbortSignal.any([call.signal, stop.signal]);
    return new ReadableStream<LanguageModelV4StreamPart>({
      start: (controller) => {
        const emit = (part: LanguageModelV4StreamPart): void => {
          if (!signal.aborted) controller.enqueue(part);
        };
        const work = this.#engine.generate(call.request, signal, emit).then(
          () => controller.close(),
          (error: unknown) => controller.error(error),
        );
        // A cancelled stream can be neither closed nor failed; the turn is released anyway.
        void work.catch(() => undefined).finally(leave);
      },
      cancel: () => stop.abort(),
    });
  }

  #labels({ requestId, model, signal }: UpstreamChatCall) {
    return {
      id: `chatcmpl-${requestId}`,
      model,
      created: Math.floor(this.#clock.now() / 1000),
      signal,
      usage: openAiUsage,
      failure: (thrown: unknown) => asFailure(thrown, []),
    };
  }
}

function wholeNumber(config: UpstreamConfig, name: string): number | undefined {
  const value = Number(config.options.get(name) ?? Number.NaN);
  return Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

/** Collects a stream of parts into a whole result. */
async function collectParts(
  stream: ReadableStream<LanguageModelV4StreamPart>,
): Promise<LanguageModelV4GenerateResult> {
  let text = '';
  let reasoning = '';
  for await (const part of stream) {
    if (part.type === 'text-delta') text += part.delta;
    if (part.type === 'reasoning-delta') reasoning += part.delta;
    if (part.type !== 'finish') continue;
    const content: LanguageModelV4GenerateResult['content'] = [{ type: 'text', text }];
    if (reasoning !== '') content.unshift({ type: 'reasoning', text: reasoning });
    return { content, finishReason: part.finishReason, usage: part.usage, warnings: [] };
  }
  throw new UpstreamFailure('protocol', 'the generation ended without a finish');
}
