import type { PlaygroundMessage } from '../../../lib/answers.ts';
import { isRecord } from './schemaCheck.ts';

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** JSON, as the model wrote it. */
  readonly arguments: string;
  /** What the user sent back; undefined until then. */
  readonly result?: string;
}

interface ToolCallPart {
  readonly index: number;
  readonly id?: string | undefined;
  readonly name?: string | undefined;
  readonly arguments?: string | undefined;
}

const MAX_CALLS = 128;

export function withCallPart(calls: readonly ToolCall[], part: ToolCallPart): readonly ToolCall[] {
  // Some backends send no index, and no index may leave holes in the list or let it grow without end.
  const wanted = Number.isInteger(part.index) ? part.index : calls.length - (part.id ? 0 : 1);
  const index = Math.min(wanted, calls.length);
  if (index < 0 || index >= MAX_CALLS) return calls;
  const before = calls[index] ?? { id: '', name: '', arguments: '' };
  const after: ToolCall = {
    id: part.id ?? before.id,
    name: before.name + (part.name ?? ''),
    arguments: before.arguments + (part.arguments ?? ''),
  };
  return [...calls.slice(0, index), after, ...calls.slice(index + 1)];
}

export function isAnswered(calls: readonly ToolCall[] | undefined): boolean {
  return calls !== undefined && calls.length > 0 && calls.every(({ result }) => result !== undefined);
}

/** The answer that called tools, and their results; a call without one would be refused, so it is left out. */
export function callMessages(text: string, calls: readonly ToolCall[]): readonly PlaygroundMessage[] {
  if (!isAnswered(calls)) return text === '' ? [] : [{ role: 'assistant', content: text }];
  const tool_calls = calls.map(({ id, name, arguments: given }) => ({
    id,
    type: 'function' as const,
    function: { name, arguments: given },
  }));
  return [
    { role: 'assistant', content: text === '' ? null : text, tool_calls },
    ...calls.map(({ id, result = '' }) => ({ role: 'tool' as const, tool_call_id: id, content: result })),
  ];
}

/** Calls from a file, a link or the browser's storage. */
export function parseCalls(value: unknown): readonly ToolCall[] | undefined {
  if (!Array.isArray(value) || value.length === 0) return undefined;
  return value.slice(0, MAX_CALLS).flatMap((one: unknown): ToolCall[] => {
    if (!isRecord(one)) return [];
    const { id, name, arguments: given, result } = one;
    if (typeof id !== 'string' || typeof name !== 'string' || typeof given !== 'string') return [];
    return [{ id, name, arguments: given, ...(typeof result === 'string' && { result }) }];
  });
}
