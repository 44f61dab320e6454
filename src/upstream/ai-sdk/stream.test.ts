import { describe, expect, test } from 'bun:test';
import type { LanguageModelV4Usage } from '@ai-sdk/provider';
import type { ChatDelta } from '../../wire/openai/chat.ts';
import { reduce, STREAM_START, type Part, type StreamState } from './stream.ts';

const usage: LanguageModelV4Usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 1, text: 1, reasoning: undefined },
  raw: { counted: 'by the backend' },
};

const finish = (unified: 'stop' | 'other' | 'interrupted' | 'error', raw?: string): Part => ({
  type: 'finish',
  usage,
  finishReason: { unified, raw },
});

describe('a stream is a fold', () => {
  test('the first delta has the role, and only the first', () => {
    const { deltas } = run([
      { type: 'reasoning-delta', id: '0', delta: 'Hm' },
      { type: 'text-delta', id: '1', delta: 'Hi' },
    ]);
    expect(deltas).toEqual([{ role: 'assistant', reasoning_content: 'Hm' }, { content: 'Hi' }]);
  });

  test('a tool call whose input is streamed is not sent twice', () => {
    const { deltas } = run([
      { type: 'tool-input-start', id: 'a', toolName: 'one' },
      { type: 'tool-input-delta', id: 'a', delta: '{"x":' },
      { type: 'tool-input-delta', id: 'a', delta: '1}' },
      { type: 'tool-input-end', id: 'a' },
      { type: 'tool-call', toolCallId: 'a', toolName: 'one', input: '{"x":1}' },
    ]);
    expect(deltas).toHaveLength(3);
    expect(inputs(deltas)).toEqual(['{"x":1}']);
  });

  test('a tool call that arrives at once, or with its input at the end, is sent whole', () => {
    const { deltas } = run([
      { type: 'tool-call', toolCallId: 'a', toolName: 'one', input: '{"x":1}' },
      { type: 'tool-input-start', id: 'b', toolName: 'two' },
      { type: 'tool-call', toolCallId: 'b', toolName: 'two', input: '{"y":2}' },
    ]);
    expect(inputs(deltas)).toEqual(['{"x":1}', '{"y":2}']);
    expect(deltas[1]?.tool_calls?.[0]).toMatchObject({
      index: 1,
      id: 'b',
      type: 'function',
      function: { name: 'two' },
    });
  });

  test('interleaved calls keep their numbers', () => {
    const { deltas } = run([
      { type: 'tool-input-start', id: 'a', toolName: 'one' },
      { type: 'tool-input-start', id: 'b', toolName: 'two' },
      { type: 'tool-input-delta', id: 'b', delta: '2' },
      { type: 'tool-input-delta', id: 'a', delta: '1' },
    ]);
    expect(deltas.map(({ tool_calls }) => tool_calls?.[0]?.index)).toEqual([0, 1, 1, 0]);
  });

  test('calls of the backend’s own tools are not sent to the client', () => {
    const { deltas, state } = run([
      { type: 'tool-input-start', id: 'a', toolName: 'web_search', providerExecuted: true },
      { type: 'tool-input-delta', id: 'a', delta: '{}' },
      { type: 'tool-call', toolCallId: 'a', toolName: 'web_search', input: '{}', providerExecuted: true },
      finish('stop', 'end_turn'),
    ]);
    expect(deltas).toEqual([]);
    expect(state.end).toMatchObject({ kind: 'finish', reason: 'stop' });
  });

  test('a finish carries the backend’s own usage', () => {
    expect(run([finish('stop', 'end_turn')]).state.end).toEqual({
      kind: 'finish',
      reason: 'stop',
      usage: usage.raw,
    });
  });

  test('a finish without a reason of the backend is a cut, not an end', () => {
    for (const part of [finish('other'), finish('interrupted'), finish('error', 'MALFORMED_FUNCTION_CALL')]) {
      expect(run([part]).state.end).toMatchObject({ kind: 'error' });
    }
    expect(run([finish('other', 'SOMETHING_NEW')]).state.end).toMatchObject({
      kind: 'finish',
      reason: 'stop',
    });
  });

  test('a step does not change the previous state', () => {
    const before = run([{ type: 'tool-input-start', id: 'a', toolName: 'one' }]).state;
    reduce(before, { type: 'tool-input-start', id: 'b', toolName: 'two' });
    expect([...before.tools.keys()]).toEqual(['a']);
  });
});

function run(parts: readonly Part[]): { state: StreamState; deltas: ChatDelta[] } {
  let state = STREAM_START;
  const deltas: ChatDelta[] = [];
  for (const part of parts) {
    const step = reduce(state, part);
    state = step.state;
    deltas.push(...step.deltas);
  }
  return { state, deltas };
}

function inputs(deltas: readonly ChatDelta[]): string[] {
  const texts: string[] = [];
  for (const call of deltas.flatMap(({ tool_calls }) => tool_calls ?? [])) {
    texts[call.index] = (texts[call.index] ?? '') + (call.function?.arguments ?? '');
  }
  return texts;
}
