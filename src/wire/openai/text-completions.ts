import { z } from 'zod';
import { Fault } from '../../std/fault.ts';
import { CAP_SYNONYMS, CHOICES_SYNONYMS, NESTED_REQUESTS } from '../../std/held-fields.ts';
import { faultBody } from '../fault-body.ts';
import { fieldRules, pricedUnless, refusedBecause, type FieldRules } from '../field-table.ts';
import { withCost, withoutCost, type ChatEncoder } from './answer.ts';
import { chatRequestSchema, type ChatRequest, type ChatCompletion, type ChatUsage } from './chat.ts';
import { contentLogprobs, visibleText } from './chunk-parts.ts';

const BY_CATALOG = 'the catalog decides which model and backend serve a request.';

/**
 * OpenAI's older completions (https://platform.openai.com/docs/api-reference/completions/create), which editors and test
 * tools still use. Every backend gets them as a chat of one message.
 */
export const TEXT_COMPLETION_FIELDS: FieldRules = fieldRules({
  harmless: [
    'model prompt stream stream_options user metadata',
    // The hold is computed from max_tokens and n; the others are checked below.
    'max_tokens n best_of echo suffix logprobs',
    'temperature top_p frequency_penalty presence_penalty seed stop logit_bias',
    // Sampling and formats of vLLM, SGLang, llama.cpp and Ollama, as for chats.
    'top_k min_p typical_p repetition_penalty repeat_penalty stop_token_ids',
    'include_stop_str_in_output skip_special_tokens guided_json guided_regex guided_choice guided_grammar',
    'grammar response_format',
    'prompt_cache_key safety_identifier cache_prompt cache_salt session_id',
  ],
  costly: {
    service_tier: pricedUnless(['auto', 'default', 'standard'], (tier) => `service_tiers.${tier}`),
    models: refusedBecause(BY_CATALOG),
    provider: refusedBecause(BY_CATALOG),
  },
  synonyms: {
    max_completion_tokens: 'max_tokens',
    ...Object.fromEntries(CAP_SYNONYMS.map((field) => [field, 'max_tokens'])),
    ...Object.fromEntries(
      CHOICES_SYNONYMS.filter((field) => field !== 'best_of').map((field) => [field, 'n']),
    ),
    ...Object.fromEntries(NESTED_REQUESTS.map((field) => [field, 'the fields of the request itself'])),
  },
});

const promptText = z
  .string({ error: 'must be text; token numbers are not taken' })
  .min(1, 'must not be empty');

const MOST_TOP_LOGPROBS = 5;
const chatFields = chatRequestSchema.shape;

export const textCompletionRequestSchema = z.looseObject({
  model: chatFields.model,
  prompt: z.union([
    promptText,
    z
      .array(promptText)
      .length(1, 'must hold one text; send one request for each prompt, and no token numbers'),
  ]),
  max_tokens: chatFields.max_tokens.describe('16 when absent, as in the reference.'),
  temperature: chatFields.temperature,
  top_p: chatFields.top_p,
  frequency_penalty: chatFields.frequency_penalty,
  presence_penalty: chatFields.presence_penalty,
  n: chatFields.n,
  best_of: chatFields.n.describe('Must be the same as n.'),
  stop: chatFields.stop,
  stream: chatFields.stream,
  stream_options: chatFields.stream_options,
  echo: z.boolean().nullish(),
  suffix: z.string().nullish().describe('Refused, unless it is empty.'),
  logprobs: z.int().min(0).max(MOST_TOP_LOGPROBS).nullish(),
  seed: chatFields.seed,
  user: chatFields.user,
  metadata: chatFields.metadata,
});

type Parsed = z.infer<typeof textCompletionRequestSchema>;

/** After parsing, a field that was null is absent. */
export type TextCompletionRequest = { [K in keyof Parsed]: Exclude<Parsed[K], null> };

const DEFAULT_MAX_TOKENS = 16;

/** The prompt as the only message of a chat. What a chat cannot do is refused with the reason. */
export function textCompletionToChat(request: TextCompletionRequest): ChatRequest {
  refuseUnsupported(request);
  const { prompt: _, suffix: _suffix, echo: _echo, best_of: _bestOf, logprobs, ...same } = request;
  return {
    ...same,
    max_tokens: request.max_tokens ?? DEFAULT_MAX_TOKENS,
    messages: [{ role: 'user', content: promptOf(request) }],
    ...(logprobs === undefined ? {} : { logprobs: true, top_logprobs: logprobs }),
  };
}

function promptOf({ prompt }: TextCompletionRequest): string {
  return typeof prompt === 'string' ? prompt : (prompt[0] ?? '');
}

function refuseUnsupported({ suffix, best_of, n, echo, logprobs }: TextCompletionRequest): void {
  if (suffix !== undefined && suffix !== '')
    throw unsupported('suffix', 'the backends are asked in chats, which only write on at the end.');
  if (best_of !== undefined && best_of !== (n ?? 1))
    throw unsupported('best_of', 'answers that are not shown would be charged. Give it the value of n.');
  if (echo === true && logprobs !== undefined)
    throw unsupported('echo', 'the backends give no logprobs of the prompt. Leave out echo or logprobs.');
}

function unsupported(param: string, reason: string): Fault {
  return new Fault('invalid_field', `${param} is not supported here: ${reason}`, { param });
}

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
