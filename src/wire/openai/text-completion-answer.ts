import { faultBody } from '../fault-body.ts';
import { withCost, withoutCost, type ChatEncoder } from './answer.ts';
import type { ChatCompletion, ChatUsage } from './chat.ts';
import { contentLogprobs, visibleText } from './chunk-parts.ts';
import { promptOf, type TextCompletionRequest } from './text-completions.ts';

/** What an answer needs: our request id, the model as the client named it, and the request. */
export interface TextCompletionContext {
  readonly id: string;
  readonly model: string;
  /** Seconds since 1970. */
  readonly created: number;
  readonly request: TextCompletionRequest;
}

interface TextCompletion {
  id: string;
  object: 'text_completion';
  created: number;
  model: string;
  choices: readonly TextChoice[];
  usage?: ChatUsage | undefined;
}

interface TextChoice {
  text: string;
  index: number;
  logprobs: TextLogprobs | null;
  finish_reason: 'stop' | 'length' | 'content_filter' | null;
}

/** In lists with one entry for each token. */
interface TextLogprobs {
  tokens: string[];
  token_logprobs: number[];
  top_logprobs: Record<string, number>[];
  text_offset: number[];
}

export function chatToTextCompletion(
  { choices, usage }: Pick<ChatCompletion, 'choices' | 'usage'>,
  context: TextCompletionContext,
): TextCompletion {
  const texts = new ChoiceTexts(context.request);
  const shown = choices.map((choice, place) => texts.read(choice, choice.message, choice.index ?? place));
  return { ...envelope(context), choices: shown, usage };
}

/** Chunks of text, the usage in a chunk of its own if it was asked for, and `[DONE]`. */
export function textCompletionEncoder(context: TextCompletionContext): ChatEncoder {
  const texts = new ChoiceTexts(context.request);
  const includeUsage = context.request.stream_options?.include_usage === true;
  let usage: ChatUsage | undefined;
  const usageEvent = (charged?: Parameters<typeof withCost>[1]): string => {
    const last = usage;
    usage = undefined;
    return last === undefined
      ? ''
      : `data: ${withCost(JSON.stringify({ ...envelope(context), choices: [], usage: last }), charged)}\n\n`;
  };
  return {
    chunk(_data, chunk) {
      if (includeUsage && chunk.usage != null) usage = withoutCost(chunk.usage);
      const choices = (chunk.choices ?? [])
        .map((choice) => texts.read(choice, choice.delta, choice.index ?? 0))
        .filter(({ text, finish_reason: finish }) => text !== '' || finish !== null);
      return choices.length === 0 ? '' : `data: ${JSON.stringify({ ...envelope(context), choices })}\n\n`;
    },
    error: (fault) => `${usageEvent()}data: ${JSON.stringify(faultBody(fault))}\n\n`,
    done: (charged) => `${usageEvent(charged)}data: [DONE]\n\n`,
    // Offsets in the text differ from chunk to chunk.
    isUniform: context.request.logprobs === undefined,
  };
}

function envelope({ id, model, created }: TextCompletionContext): Omit<TextCompletion, 'choices' | 'usage'> {
  return { id, object: 'text_completion', created, model };
}

/** The texts of an answer's choices: each may begin with the prompt, and each counts its own offsets. */
class ChoiceTexts {
  readonly #prompt: string;
  readonly #begun = new Set<number>();
  readonly #lengths = new Map<number, number>();

  constructor(request: TextCompletionRequest) {
    this.#prompt = request.echo === true ? promptOf(request) : '';
  }

  read(
    choice: { readonly finish_reason?: unknown; readonly logprobs?: unknown },
    said: unknown,
    index: number,
  ): TextChoice {
    const finish = finishReason(choice.finish_reason);
    const text = visibleText(said);
    return {
      text: text === '' && finish === null ? '' : this.#beginning(index) + text,
      index,
      logprobs: this.#logprobs(choice.logprobs, index),
      finish_reason: finish,
    };
  }

  #beginning(index: number): string {
    if (this.#begun.has(index)) return '';
    this.#begun.add(index);
    return this.#prompt;
  }

  #logprobs(given: unknown, index: number): TextLogprobs | null {
    const entries = contentLogprobs(given)?.filter(isTokenLogprob);
    if (!entries || entries.length === 0) return null;
    let offset = this.#lengths.get(index) ?? 0;
    const offsets = entries.map(({ token }) => {
      const start = offset;
      offset += token.length;
      return start;
    });
    this.#lengths.set(index, offset);
    return {
      tokens: entries.map(({ token }) => token),
      token_logprobs: entries.map(({ logprob }) => logprob),
      top_logprobs: entries.map(({ top_logprobs: top }) => logprobsByToken(top)),
      text_offset: offsets,
    };
  }
}

interface TokenLogprob {
  readonly token: string;
  readonly logprob: number;
  readonly top_logprobs?: unknown;
}

function isTokenLogprob(value: unknown): value is TokenLogprob {
  if (typeof value !== 'object' || value === null) return false;
  return 'token' in value && typeof value.token === 'string' && 'logprob' in value;
}

function logprobsByToken(top: unknown): Record<string, number> {
  const entries = Array.isArray(top) ? top.filter(isTokenLogprob) : [];
  return Object.fromEntries(entries.map(({ token, logprob }) => [token, logprob]));
}

/** This dialect has no tools, and no other ends. */
function finishReason(reason: unknown): TextChoice['finish_reason'] {
  if (reason === null || reason === undefined) return null;
  return reason === 'length' || reason === 'content_filter' ? reason : 'stop';
}
