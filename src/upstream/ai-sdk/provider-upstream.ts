import type { EmbeddingModelV4 } from '@ai-sdk/provider';
import type { UpstreamConfig } from '../../catalog/catalog.ts';
import { type Clock, systemClock } from '../../std/clock.ts';
import { kindOf, rejected } from '../response.ts';
import {
  type AnthropicNative,
  type ChatAnswer,
  type EmbeddingAnswer,
  type UpstreamChatCall,
  type UpstreamEmbeddingCall,
  type ImageAnswer,
  type UpstreamImageCall,
  type MessagesCall,
  type Upstream,
  type UpstreamHealth,
  UpstreamFailure,
} from '../port.ts';
import { RequestForms } from '../openai.ts';
import { completionOf } from './answer.ts';
import { outputCap, toCallOptions } from './call-options.ts';
import { embed } from './embeddings.ts';
import { asFailure } from './failure.ts';
import { generateImages } from './images.ts';
import type { ProviderAccess, ProviderLimits, Provider } from './provider.ts';
import { PROVIDERS } from './providers.ts';
import { streamEvents } from './stream-events.ts';
import { makeTransport } from './transport.ts';

/** The upstream for a configuration whose kind is in the table of providers; undefined for other kinds. */
export function makeProvider(config: UpstreamConfig, parts: ProviderParts = {}): Upstream | undefined {
  const provider = Object.hasOwn(PROVIDERS, config.kind) ? PROVIDERS[config.kind] : undefined;
  if (!provider) return undefined;
  const upstream = new ProviderUpstream(provider, config, parts.clock ?? systemClock);
  return {
    name: config.name,
    chat: (call) => upstream.chat(call),
    images: (call) => upstream.images(call),
    embed: (call) => upstream.embed(call),
    check: (signal) => upstream.check(signal),
    ...(provider.native && {
      messages: (call: MessagesCall) =>
        upstream.native(call, call.maxTokens, (native) => native.messages(call)),
      countTokens: (call: MessagesCall) =>
        upstream.native(call, undefined, (native) => native.countTokens(call)),
    }),
  };
}

interface ProviderParts {
  readonly clock?: Clock | undefined;
}

/** Secret options that a backend might repeat in its errors. */
const SECRET_OPTIONS = ['access_key_id', 'secret_access_key', 'session_token', 'resource'];
const NO_LIMITS: ProviderLimits = { maxTokens: undefined, midTurn: false };
const CHECK_TIMEOUT_MS = 10_000;

type AccessCall = Pick<UpstreamChatCall, 'signal' | 'trace'>;

class ProviderUpstream {
  readonly #provider: Provider;
  readonly #config: UpstreamConfig;
  readonly #clock: Clock;
  readonly #secrets: readonly string[];
  readonly #forms: RequestForms;

  constructor(provider: Provider, config: UpstreamConfig, clock: Clock) {
    this.#provider = provider;
    this.#config = config;
    this.#clock = clock;
    this.#forms = new RequestForms(config.options);
    const options = SECRET_OPTIONS.map((name) => config.options.get(name) ?? '');
    this.#secrets = [config.apiKey ?? '', ...config.headers.values(), ...options];
  }

  chat(call: UpstreamChatCall): Promise<ChatAnswer> {
    return this.#guarded(call.signal, async () => {
      const { request, model, signal } = call;
      const options = toCallOptions(request, this.#provider);
      const midTurn = request.messages.at(-1)?.role === 'tool';
      const access = this.#access(call, {
        maxTokens: outputCap(request),
        form: this.#forms.of(call),
        midTurn,
      });
      const { chat } = await this.#provider.open(access);
      const chatModel = chat(model);
      const labels = this.#labels(call);
      if (request.stream) {
        const { stream } = await chatModel.doStream({
          ...options,
          abortSignal: signal,
          includeRawChunks: labels.earlyUsage !== undefined,
        });
        return { kind: 'events', events: await streamEvents(stream, labels) };
      }
      const result = await chatModel.doGenerate({ ...options, abortSignal: signal });
      return { kind: 'completion', completion: completionOf(result, labels) };
    });
  }

  images(call: UpstreamImageCall): Promise<ImageAnswer> {
    return this.#guarded(call.signal, async () => {
      const limits = { ...NO_LIMITS, form: this.#forms.of(call) };
      const { image } = await this.#provider.open(this.#access(call, limits));
      const model = image?.(call.model);
      if (!model)
        throw new UpstreamFailure('rejected', 'no image models', {
          publicMessage: 'This backend does not make images.',
        });
      const failure = (thrown: unknown) => asFailure(thrown, this.#secrets);
      return generateImages(model, call, { provider: this.#provider, asFailure: failure });
    });
  }

  embed(call: UpstreamEmbeddingCall): Promise<EmbeddingAnswer> {
    // A transport allows only a few requests, so each batch of inputs gets its own.
    const open = async (): Promise<EmbeddingModelV4> => {
      const { embedding } = await this.#provider.open(this.#access(call, NO_LIMITS));
      if (!embedding) throw rejected('This backend has no embeddings.');
      return embedding(call.model);
    };
    return this.#guarded(call.signal, () => embed(open, call, this.#provider));
  }

  native<Answer>(
    call: MessagesCall,
    maxTokens: number | undefined,
    use: (native: AnthropicNative) => Promise<Answer>,
  ): Promise<Answer> {
    return this.#guarded(call.signal, () => {
      const native = this.#provider.native?.(this.#access(call, { ...NO_LIMITS, maxTokens }));
      if (!native) throw new UpstreamFailure('rejected', 'not a Messages backend');
      return use(native);
    });
  }

  async check(signal: AbortSignal): Promise<UpstreamHealth> {
    const startedAt = this.#clock.now();
    const health = (ok: boolean, detail: string): UpstreamHealth => ({
      ok,
      detail,
      latencyMs: this.#clock.now() - startedAt,
    });
    try {
      const bounded = AbortSignal.any([signal, AbortSignal.timeout(CHECK_TIMEOUT_MS)]);
      const access = this.#access({ signal: bounded }, NO_LIMITS);
      const { url, headers } = this.#provider.check(access);
      const response = await access.fetch(url, { headers });
      await response.body?.cancel();
      if (response.ok) return health(true, 'reachable, key accepted');
      return health(false, `${kindOf(response.status)}: status ${response.status}`);
    } catch (error) {
      return health(false, asFailure(error, this.#secrets).message);
    }
  }

  /** Anything that a package throws is rethrown as an `UpstreamFailure`, an abort as its reason. */
  async #guarded<Answer>(signal: AbortSignal, work: () => Promise<Answer>): Promise<Answer> {
    try {
      signal.throwIfAborted();
      return await work();
    } catch (error) {
      signal.throwIfAborted();
      throw asFailure(error, this.#secrets);
    }
  }

  #access({ signal, trace }: AccessCall, limits: ProviderLimits): ProviderAccess {
    const config = this.#config;
    const problem = this.#provider.problem(config);
    if (problem !== undefined)
      throw new UpstreamFailure('unauthorized', `upstream '${config.name}': ${problem}`);
    const now = (): number => this.#clock.now();
    const fetch = makeTransport(this.#provider, { config, limits, signal, trace, now });
    return { config, apiKey: config.apiKey ?? '', headers: Object.fromEntries(config.headers), fetch };
  }

  #labels({ requestId, model, signal }: UpstreamChatCall) {
    return {
      id: `chatcmpl-${requestId}`,
      model,
      created: Math.floor(this.#clock.now() / 1000),
      signal,
      usage: (raw: unknown) => this.#provider.usage(raw),
      earlyUsage: this.#provider.earlyUsage,
      failure: (thrown: unknown) => asFailure(thrown, this.#secrets),
    };
  }
}
