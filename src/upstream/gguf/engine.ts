import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';
import type { ChatMessage, ChatRequest } from '../../wire/openai/chat.ts';
import { outputCap } from '../ai-sdk/call-options.ts';
import { isObject } from '../ai-sdk/json.ts';
import { contentText } from '../ai-sdk/parts.ts';
import { UpstreamFailure } from '../port.ts';
import { rejected } from '../response.ts';
import {
  INSTALL_HINT,
  type Llama,
  type LlamaChunk,
  type LlamaContext,
  type LlamaGenerateOptions,
  type LlamaGrammar,
  type LlamaHistoryItem,
  type LlamaModel,
  type LlamaPackage,
  type LlamaSequence,
} from './llama.ts';

type Emit = (part: LanguageModelV4StreamPart) => void;

interface EngineOptions {
  readonly path: string;
  readonly contextSize: number | undefined;
  readonly threads: number | undefined;
  readonly gpuLayers: number | undefined;
  readonly load: () => Promise<LlamaPackage>;
}

/** One model in memory, loaded on first use. The caller ensures that it generates one answer at a time. */
export class Engine {
  readonly #options: EngineOptions;
  #loaded: Promise<LoadedModel> | undefined;

  constructor(options: EngineOptions) {
    this.#options = options;
  }

  /** Generates one answer and emits its parts as they come; the last one is a finish. */
  async generate(request: ChatRequest, signal: AbortSignal, emit: Emit): Promise<void> {
    const history = toHistory(request);
    const loaded = await this.#load();
    signal.throwIfAborted();
    const input = countTokens(loaded.model, history);
    const room = loaded.context.contextSize - input;
    // The package would silently drop the oldest messages instead.
    if (room <= 0)
      throw rejected(
        `The messages are longer than this model's context of ${loaded.context.contextSize} tokens.`,
      );
    const maxTokens = Math.min(outputCap(request) ?? room, room);
    let output = 0;
    const onResponseChunk = (chunk: LlamaChunk): void => {
      output += chunk.tokens.length;
      if (chunk.text !== '') emit(partOf(chunk));
    };
    const grammar = await grammarFor(request, loaded.llama);
    const options = { ...sampling(request), ...(grammar && { grammar }), signal, maxTokens, onResponseChunk };
    const stopReason = await this.#respond(loaded, history, options);
    signal.throwIfAborted();
    emit(finishPart(stopReason, input, output));
  }

  async #respond(
    loaded: LoadedModel,
    history: LlamaHistoryItem[],
    options: LlamaGenerateOptions,
  ): Promise<string> {
    const chat = new loaded.package.LlamaChat({
      contextSequence: loaded.sequence,
      autoDisposeSequence: false,
    });
    try {
      const response = await chat.generateResponse([...history, { type: 'model', response: [] }], options);
      return response.metadata.stopReason;
    } finally {
      chat.dispose({ disposeSequence: false });
    }
  }

  /** A failed load is retried by the next request: the file may exist by then. */
  #load(): Promise<LoadedModel> {
    this.#loaded ??= load(this.#options).catch((error: unknown) => {
      this.#loaded = undefined;
      throw error;
    });
    return this.#loaded;
  }
}

interface LoadedModel {
  readonly package: LlamaPackage;
  readonly llama: Llama;
  readonly model: LlamaModel;
  readonly context: LlamaContext;
  readonly sequence: LlamaSequence;
}

async function load({
  path,
  contextSize,
  threads,
  gpuLayers,
  load: importPackage,
}: EngineOptions): Promise<LoadedModel> {
  const llamaPackage = await importPackage().catch((cause: unknown) => {
    throw new UpstreamFailure('connect', INSTALL_HINT, { cause });
  });
  try {
    const llama = await llamaPackage.getLlama({ logLevel: 'error' });
    const model = await llama.loadModel({ modelPath: path, ...(gpuLayers !== undefined && { gpuLayers }) });
    const context = await contextOf(model, { contextSize, threads });
    return { package: llamaPackage, llama, model, context, sequence: context.getSequence() };
  } catch (cause) {
    throw new UpstreamFailure(
      'connect',
      `cannot load ${path}: ${cause instanceof Error ? cause.message : String(cause)}`,
      { cause },
    );
  }
}

/** If the context does not fit into memory, the model must not stay there. */
async function contextOf(
  model: LlamaModel,
  { contextSize, threads }: Pick<EngineOptions, 'contextSize' | 'threads'>,
): Promise<LlamaContext> {
  try {
    return await model.createContext({
      ...(contextSize !== undefined && { contextSize }),
      ...(threads !== undefined && { threads }),
    });
  } catch (error) {
    await model.dispose();
    throw error;
  }
}

function sampling(
  request: ChatRequest,
): Pick<LlamaGenerateOptions, 'temperature' | 'topP' | 'seed' | 'repeatPenalty' | 'customStopTriggers'> {
  const { temperature, top_p: topP, seed, stop, frequency_penalty, presence_penalty } = request;
  return {
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { topP }),
    ...(seed !== undefined && { seed }),
    ...(stop !== undefined && { customStopTriggers: typeof stop === 'string' ? [stop] : stop }),
    repeatPenalty: {
      ...(frequency_penalty !== undefined && { frequencyPenalty: frequency_penalty }),
      ...(presence_penalty !== undefined && { presencePenalty: presence_penalty }),
    },
  };
}

async function grammarFor(
  { response_format: format }: ChatRequest,
  llama: Llama,
): Promise<LlamaGrammar | undefined> {
  if (!isObject(format) || format.type === 'text') return undefined;
  if (format.type === 'json_object') return llama.getGrammarFor('json');
  const schema = isObject(format.json_schema) ? format.json_schema.schema : undefined;
  if (!isObject(schema)) throw rejected('response_format is not understood.');
  return llama.createGrammarForJsonSchema(schema).catch((cause: unknown) => {
    throw rejected(
      `This model cannot follow that JSON schema: ${cause instanceof Error ? cause.message : 'not supported'}`,
    );
  });
}

/** What the template adds around a message differs by model; this is an upper bound. */
const TOKENS_PER_MESSAGE = 8;

function countTokens(model: LlamaModel, history: readonly LlamaHistoryItem[]): number {
  return history.reduce((sum, item) => {
    const text = item.type === 'model' ? item.response.join('') : item.text;
    return sum + TOKENS_PER_MESSAGE + model.tokenize(text).length;
  }, 0);
}

function partOf(chunk: LlamaChunk): LanguageModelV4StreamPart {
  if (chunk.type !== 'segment') return { type: 'text-delta', id: 'text', delta: chunk.text };
  return { type: 'reasoning-delta', id: 'thought', delta: chunk.text };
}

function finishPart(stopReason: string, input: number, output: number): LanguageModelV4StreamPart {
  return {
    type: 'finish',
    finishReason: { unified: stopReason === 'maxTokens' ? 'length' : 'stop', raw: stopReason },
    usage: {
      inputTokens: { total: input, noCache: input, cacheRead: undefined, cacheWrite: undefined },
      outputTokens: { total: output, text: output, reasoning: undefined },
      raw: { prompt_tokens: input, completion_tokens: output },
    },
  };
}

/**
 * The conversation in the format of the model's own template. Text only: anything else is refused with an explanation.
 */
function toHistory(request: ChatRequest): LlamaHistoryItem[] {
  if ((request.n ?? 1) > 1)
    throw rejected('This model gives one choice per request; leave out n, or send the request again.');
  if ((request.tools ?? []).length > 0) throw rejected('This local model does not take tools.');
  if (request.logprobs === true) throw rejected('This model does not give logprobs.');
  return request.messages.map(itemOf);
}

function itemOf(message: ChatMessage): LlamaHistoryItem {
  const text = contentText(message.content ?? message.refusal, '\n');
  switch (message.role) {
    case 'system':
    case 'developer':
      return { type: 'system', text };
    case 'user':
      return { type: 'user', text };
    case 'assistant':
      return { type: 'model', response: [text] };
    case 'tool':
    case 'function':
      break;
  }
  throw rejected('This local model does not take tools.');
}
