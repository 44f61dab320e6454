import { Fault } from '../../std/fault.ts';
import type { ChatUsage, FinishReason } from './chat.ts';
import { isAbsent } from '../field-table.ts';

/** One part of a chunk's first choice. The other dialects have no second choice. */
export type ChunkPart =
  | { readonly kind: 'reasoning'; readonly text: string }
  | { readonly kind: 'signature'; readonly signature: string }
  | { readonly kind: 'encrypted'; readonly data: string }
  | { readonly kind: 'text'; readonly text: string; readonly logprobs?: readonly unknown[] | undefined }
  | { readonly kind: 'annotations'; readonly annotations: readonly unknown[] }
  | { readonly kind: 'refusal'; readonly text: string }
  | CallPart
  | { readonly kind: 'finish'; readonly reason: FinishReason }
  | { readonly kind: 'usage'; readonly tokens: TokenCounts };

export interface CallPart {
  readonly kind: 'call';
  /** The index of the call in the answer, in order of appearance. */
  readonly call: number;
  readonly id: string | undefined;
  readonly name: string | undefined;
  readonly arguments: string;
}

/** Splits the chunks of one stream, or one whole answer, into parts and keeps its tool calls apart. */
export class ChunkReader {
  /** The call that a backend's index currently refers to. */
  readonly #calls = new Map<number, { call: number; id: string | undefined }>();
  #count = 0;

  read(chunk: Answer): ChunkPart[] {
    const parts: ChunkPart[] = [];
    for (const choice of chunk.choices ?? []) {
      if ((choice.index ?? 0) !== 0) continue;
      const delta = choice.delta ?? choice.message;
      if (delta) this.#readDelta(delta, contentLogprobs(choice.logprobs), parts);
      if (!isAbsent(choice.finish_reason))
        parts.push({ kind: 'finish', reason: finishReason(choice.finish_reason) });
    }
    if (chunk.usage) parts.push({ kind: 'usage', tokens: tokensOf(chunk.usage) });
    return parts;
  }

  #readDelta(delta: Delta, logprobs: unknown[] | undefined, parts: ChunkPart[]): void {
    const reasoning = filled(delta.reasoning_content) ?? filled(delta.reasoning);
    if (reasoning) parts.push({ kind: 'reasoning', text: reasoning });
    const signature = filled(delta.reasoning_signature);
    if (signature) parts.push({ kind: 'signature', signature });
    for (const data of encryptedThoughts(delta.reasoning_details)) parts.push({ kind: 'encrypted', data });
    const text = contentText(delta.content);
    if (text) parts.push({ kind: 'text', text, logprobs });
    if (Array.isArray(delta.annotations) && delta.annotations.length > 0)
      parts.push({ kind: 'annotations', annotations: delta.annotations });
    const refusal = filled(delta.refusal);
    if (refusal) parts.push({ kind: 'refusal', text: refusal });
    for (const [place, call] of (delta.tool_calls ?? []).entries())
      parts.push(this.#readCall(call, call.index ?? place));
  }

  #readCall(delta: CallDelta, index: number): CallPart {
    const id = filled(delta.id);
    const entry = this.#entryOf(index, id);
    entry.id ??= id;
    return {
      kind: 'call',
      call: entry.call,
      id,
      name: filled(delta.function?.name),
      arguments: argumentsText(delta.function?.arguments),
    };
  }

  /** Some backends number all parallel calls 0; then a new id marks a new call. */
  #entryOf(index: number, id: string | undefined): { call: number; id: string | undefined } {
    const known = this.#calls.get(index);
    if (known && (id === undefined || known.id === undefined || known.id === id)) return known;
    if (this.#count >= MAX_CALLS)
      throw new Fault('upstream_error', 'The backend made too many tool calls in one answer.');
    const entry = { call: this.#count++, id };
    this.#calls.set(index, entry);
    return entry;
  }
}

/** Far above any real answer; each open call costs memory. */
const MAX_CALLS = 1_000;

/**
 * A chunk or a whole answer, which has the same parts, each in one piece. Backends need not send more than this; some
 * add another name for the reasoning (`reasoning`) and a signature.
 */
interface Answer {
  readonly choices?: readonly Choice[] | null | undefined;
  readonly usage?: ChatUsage | null | undefined;
}

interface Choice {
  readonly index?: number | undefined;
  readonly delta?: Delta | undefined;
  readonly message?: Delta | undefined;
  readonly finish_reason?: unknown;
  readonly logprobs?: unknown;
}

interface Delta {
  readonly content?: unknown;
  readonly reasoning_content?: unknown;
  readonly reasoning?: unknown;
  readonly reasoning_signature?: unknown;
  readonly reasoning_details?: unknown;
  readonly annotations?: unknown;
  readonly refusal?: unknown;
  readonly tool_calls?: readonly CallDelta[] | null | undefined;
}

interface CallDelta {
  readonly index?: number | undefined;
  readonly id?: unknown;
  readonly function?: { readonly name?: unknown; readonly arguments?: unknown } | undefined;
}

/** Token counts. `input` includes `cached`, `output` includes `reasoning`. */
export interface TokenCounts {
  readonly input: number;
  readonly cached: number;
  readonly output: number;
  readonly reasoning: number;
}

export const NO_TOKENS: TokenCounts = { input: 0, cached: 0, output: 0, reasoning: 0 };

function tokensOf(usage: ChatUsage): TokenCounts {
  const input = count(usage.prompt_tokens);
  const completion = count(usage.completion_tokens);
  const reasoning = count(usage.completion_tokens_details?.reasoning_tokens);
  // xAI counts reasoning beside the completion; its total tells.
  const isBeside = reasoning > 0 && usage.total_tokens === input + completion + reasoning;
  return {
    input,
    cached: Math.min(input, count(usage.prompt_tokens_details?.cached_tokens)),
    output: isBeside ? completion + reasoning : completion,
    reasoning,
  };
}

/** A backend's own names for an ordinary end count as `stop`. */
function finishReason(reason: unknown): FinishReason {
  switch (reason) {
    case 'length':
    case 'tool_calls':
    case 'content_filter':
      return reason;
    case 'function_call':
      return 'tool_calls';
    default:
      return 'stop';
  }
}

function count(value: unknown): number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : 0;
}

/** Arguments are JSON text, but some backends send the object itself. */
function argumentsText(value: unknown): string {
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : (filled(value) ?? '');
}

/** Arguments that are not a JSON object are passed to the tool, which then rejects them itself. */
export function argumentsObject(text: string): Record<string, unknown> {
  if (text.trim() === '') return {};
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value };
  } catch {
    // Models do write broken JSON; it is handled below.
  }
  return { invalid_arguments: text };
}

/**
 * Only white space can follow a whole JSON object, so a call with such arguments is complete, even though the canonical
 * form has no event for it.
 */
export function isWholeObject(text: string): boolean {
  if (!text.trimEnd().endsWith('}')) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    // A nested object ended, not the whole.
    return false;
  }
}

export function contentLogprobs(logprobs: unknown): unknown[] | undefined {
  if (typeof logprobs !== 'object' || logprobs === null || !('content' in logprobs)) return undefined;
  return Array.isArray(logprobs.content) ? logprobs.content : undefined;
}

/**
 * Thoughts that only their backend can read, in the form of OpenRouter
 * (https://openrouter.ai/docs/guides/best-practices/reasoning-tokens): `{ type: "reasoning.encrypted", data }`.
 */
function encryptedThoughts(details: unknown): string[] {
  if (!Array.isArray(details)) return [];
  return details.flatMap((detail: { type?: unknown; data?: unknown } | null) =>
    detail?.type === 'reasoning.encrypted' && typeof detail.data === 'string' ? [detail.data] : [],
  );
}

/** What a delta or a message says to its reader: its text, or why there is none. */
export function visibleText(said: unknown): string {
  if (typeof said !== 'object' || said === null) return '';
  const { content, refusal }: Delta = said;
  return contentText(content) + (filled(refusal) ?? '');
}

/** Text, or the text of parts, as some backends write a whole answer. */
function contentText(content: unknown): string {
  if (!Array.isArray(content)) return filled(content) ?? '';
  return content.map((part: { text?: unknown } | null) => filled(part?.text) ?? '').join('');
}

function filled(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
