import type { Fault } from '../../std/fault.ts';
import { faultBody } from '../faults.ts';
import { relabeller } from './relabel.ts';
import type { ChatChunk, ChatCompletion, ChatUsage } from './chat.ts';

/**
 * Turns the canonical events of a stream into the text a client's dialect expects. One encoder serves one stream; an
 * empty string means that the client gets nothing for this event.
 */
export interface ChatEncoder {
  /** `data` is the event as the backend sent it, `chunk` the same parsed. */
  chunk(data: string, chunk: ChatChunk): string;
  error(fault: Fault): string;
  done(): string;
  /** Chunks that differ in one string give texts that differ in that string alone, so that one can show how to make the others. */
  readonly isUniform?: boolean;
}

/** OpenAI's own dialect: the backend's text with id and model renamed, usage only for those who asked for it. */
export function openAiEncoder(labels: { id: string; model: string }, includeUsage: boolean): ChatEncoder {
  const rename = relabeller(labels);
  return {
    chunk: (data, chunk) => (isUsageOnly(chunk) && !includeUsage ? '' : `data: ${rename(data, chunk)}\n\n`),
    error: (fault) => `data: ${JSON.stringify(faultBody(fault))}\n\n`,
    done: () => 'data: [DONE]\n\n',
    isUniform: true,
  };
}

/** A usage chunk of our own, for backends that send none. */
export function usageChunk(
  labels: { id: string; model: string },
  usage: ChatUsage,
  nowMs: number,
): ChatChunk {
  return {
    ...labels,
    object: 'chat.completion.chunk',
    created: Math.floor(nowMs / 1000),
    choices: [],
    usage,
  };
}

/** OpenAI's usage chunk: no choices, only numbers. */
function isUsageOnly(chunk: ChatChunk): boolean {
  return chunk.usage != null && (chunk.choices?.length ?? 0) === 0;
}

/** What one event of a backend's stream means. Shape is checked by hand: a schema per chunk would cost more than the rest. */
export type StreamEvent =
  | { readonly kind: 'chunk'; readonly chunk: ChatChunk }
  | { readonly kind: 'done' }
  | { readonly kind: 'error'; readonly message: string }
  | { readonly kind: 'garbage' };

export function readStreamEvent(data: string): StreamEvent {
  if (data === '[DONE]') return { kind: 'done' };
  const parsed = parseObject(data);
  if (!parsed) return { kind: 'garbage' };
  if (parsed.error != null) return { kind: 'error', message: errorText(parsed.error) };
  if (!Array.isArray(parsed.choices) && parsed.usage == null) return { kind: 'garbage' };
  return { kind: 'chunk', chunk: parsed as unknown as ChatChunk };
}

/** A whole answer, or `undefined` when it is not one. */
export function readCompletion(text: string): ChatCompletion | undefined {
  const parsed = parseObject(text);
  return parsed &&
    Array.isArray(parsed.choices) &&
    parsed.choices.length > 0 &&
    parsed.choices.every(isChoice)
    ? (parsed as unknown as ChatCompletion)
    : undefined;
}

function isChoice(choice: unknown): boolean {
  return isObject(choice) && isObject(choice.message);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    // Not JSON is an ordinary outcome here: the caller decides what it means.
    return undefined;
  }
}

function errorText(error: unknown): string {
  if (typeof error === 'object' && error !== null && 'message' in error) return String(error.message);
  return typeof error === 'string' ? error : 'error';
}
