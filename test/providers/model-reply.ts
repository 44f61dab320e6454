/** What a request asks of a model, in no provider's words. */
export interface AskedOfModel {
  readonly model: string;
  readonly stream: boolean;
  /** The most tokens of output, reasoning included. */
  readonly cap: number | undefined;
  /** The tools that may be called; empty where none are offered, or none may be. */
  readonly tools: readonly string[];
  /** Whether several tools may be called in one turn. */
  readonly parallel: boolean;
  /** The conversation ends in the results of tools. */
  readonly hasResults: boolean;
  readonly pictures: number;
  readonly json: boolean;
  /** Whether the model thinks before it answers. */
  readonly thinks: boolean;
  /** Characters of the conversation. */
  readonly characters: number;
}

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** JSON. */
  readonly input: string;
}

export interface ModelReply {
  readonly model: string;
  readonly thought: string | undefined;
  readonly words: readonly string[];
  readonly calls: readonly ToolCall[];
  readonly finish: 'stop' | 'length' | 'tool_calls';
  readonly bill: ChatBill;
}

/** What one chat costs its sender, as the provider counts it. */
export interface ChatBill {
  readonly kind: 'chat';
  readonly model: string;
  /** Includes `cached`. */
  readonly input: number;
  readonly cached: number;
  /** Includes `reasoning`. */
  readonly output: number;
  readonly reasoning: number;
}

const WORDS = 'Twelve plain words that every whole answer of this provider will hold.'.split(/(?= )/);
export const WHOLE_ANSWER = WORDS.join('');
export const PICTURE_ANSWER = 'One picture of one pixel.';
export const JSON_ANSWER = '{"city":"Oslo"}';
export const THOUGHT = 'Let me think.';
export const CALL_INPUT = '{"city":"Oslo"}';

const CALL_TOKENS = 9;
/** Far below what any provider takes for a picture, and so below every hold. */
const PICTURE_TOKENS = 85;

/** The answer of the only model that all stand-ins share: it depends on nothing but the request. */
export function replyTo(asked: AskedOfModel, reasoningTokens: number): ModelReply {
  const cap = asked.cap ?? Infinity;
  // Reasoning is written first and counts against the cap: a low one leaves no room for words.
  const reasoning = asked.thinks ? Math.min(reasoningTokens, cap) : 0;
  const calls = callsFor(asked);
  const all = calls.length > 0 ? [] : wordsFor(asked);
  const words = all.slice(0, Math.max(0, cap - reasoning));
  const finish = calls.length > 0 ? 'tool_calls' : words.length < all.length ? 'length' : 'stop';
  const input = 3 + Math.ceil(asked.characters / 5) + asked.pictures * PICTURE_TOKENS;
  return {
    model: asked.model,
    thought: reasoning > 0 ? THOUGHT : undefined,
    words,
    calls,
    finish,
    bill: {
      kind: 'chat',
      model: asked.model,
      input,
      // "Cached prefixes" begin at 1,024 tokens and grow by 128.
      cached: input < 1024 ? 0 : Math.floor(input / 2 / 128) * 128,
      output: reasoning + words.length + calls.length * CALL_TOKENS,
      reasoning,
    },
  };
}

function callsFor({ tools, parallel, hasResults }: AskedOfModel): ToolCall[] {
  if (hasResults) return [];
  return tools
    .slice(0, parallel ? tools.length : 1)
    .map((name, index) => ({ id: `call_${index}${name.slice(0, 8)}`, name, input: CALL_INPUT }));
}

function wordsFor({ json, pictures }: AskedOfModel): readonly string[] {
  if (json) return JSON_ANSWER.split(/(?=:)/);
  return pictures > 0 ? PICTURE_ANSWER.split(/(?= )/) : WORDS;
}
