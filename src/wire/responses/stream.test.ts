import { describe, expect, test } from 'bun:test';
import * as fc from 'fast-check';
import { answers, anyChunks, chunkOf, chunksOf, completionOf } from '../../../test/wire/answers.ts';
import { Fault } from '../../std/fault.ts';
import type { ChatChunk } from '../openai/chat.ts';
import type { OutputItem, ResponseContext, ResponseObject } from './answer.ts';
import type { ResponsesEvent } from './items.ts';
import { responsesRequestSchema } from './request.ts';
import { chatToResponse, openResponse, reduceResponse, responsesEncoder } from './stream.ts';

const contextOf = (fields: Record<string, unknown> = {}): ResponseContext => ({
  id: 'req_1',
  model: 'svc_chat/tiny',
  created: 1_700_000_000,
  request: responsesRequestSchema.parse({ model: 'svc_chat/tiny', input: 'hi', stream: true, ...fields }),
  isStored: false,
});

function eventsOf(chunks: readonly ChatChunk[], context = contextOf()): ResponsesEvent[] {
  const encoder = responsesEncoder(context);
  const text = [...chunks.map((chunk) => encoder.chunk('', chunk)), encoder.done()].join('');
  return text.split('\n').flatMap((line) => (line.startsWith('data: ') ? [JSON.parse(line.slice(6))] : []));
}

function finalOf(events: readonly ResponsesEvent[]): ResponseObject {
  const last = events.at(-1);
  if (!last || !('response' in last)) throw new Error('no response in the last event');
  return last.response;
}

/** What each event may follow within its own item, by the item's index. */
const WITHIN_ITEM: Record<OutputItem['type'], RegExp> = {
  message: /^added( part\+( delta)+ text= part=)+ done$/,
  reasoning: /^added part\+( delta)+ text= part= done$/,
  function_call: /^added( delta)* text= done$/,
  custom_tool_call: /^added delta text= done$/,
};

function wordOf(type: string): string {
  if (type === 'response.output_item.added') return 'added';
  if (type === 'response.output_item.done') return 'done';
  if (type.endsWith('part.added')) return 'part+';
  if (type.endsWith('part.done')) return 'part=';
  return type.endsWith('.delta') ? 'delta' : 'text=';
}

function checkGrammar(events: readonly ResponsesEvent[]): void {
  expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, at) => at));
  expect(events.slice(0, 2).map((event) => event.type)).toEqual(['response.created', 'response.in_progress']);
  expect(['response.completed', 'response.incomplete']).toContain(events.at(-1)?.type ?? '');
  const items = new Map<number, string[]>();
  for (const event of events.slice(2, -1)) {
    if (!('output_index' in event)) throw new Error(`${event.type} between the items`);
    if (event.type === 'response.output_item.added') expect(event.output_index).toBe(items.size);
    const words = items.get(event.output_index) ?? [];
    items.set(event.output_index, [...words, wordOf(event.type)]);
  }
  const { output } = finalOf(events);
  expect(output).toHaveLength(items.size);
  for (const [index, item] of output.entries())
    expect(items.get(index)?.join(' ')).toMatch(WITHIN_ITEM[item.type]);
}

/** Assembles the deltas like a client, by item. */
function accumulate(events: readonly ResponsesEvent[]): string[] {
  const texts: string[] = [];
  for (const event of events) {
    if (event.type === 'response.output_item.added') texts.push('');
    if ('delta' in event) texts[event.output_index] += event.delta;
  }
  return texts;
}

function contentOf(item: OutputItem): string {
  switch (item.type) {
    case 'message':
      return item.content.map((part) => (part.type === 'output_text' ? part.text : part.refusal)).join('');
    case 'reasoning':
      return item.summary.map((part) => part.text).join('');
    case 'function_call':
      return item.arguments;
    case 'custom_tool_call':
      return item.input;
  }
}

const textOf = (output: readonly OutputItem[], type: OutputItem['type']): string =>
  output.map((item) => (item.type === type ? contentOf(item) : '')).join('');

const settled = (response: ResponseObject) => ({
  ...response,
  // A stream closes an item before it learns that the answer was cut off.
  output: response.output.map((item) => ({ ...item, status: '' })),
});

const byId = (a: { call_id: string }, b: { call_id: string }) => (a.call_id < b.call_id ? -1 : 1);

const callChunk = (index: number, name: string, text: string) =>
  chunkOf({ tool_calls: [{ index, id: `c${index}`, function: { name, arguments: text } }] });

const streamed = (order: 'sequential' | 'interleaved') =>
  answers.chain((answer) => fc.tuple(fc.constant(answer), chunksOf(answer, order)));

describe('Responses stream', () => {
  test('an answer streamed in order equals the whole answer, however it is split', () => {
    fc.assert(
      fc.property(streamed('sequential'), ([answer, chunks]) => {
        const events = eventsOf(chunks);
        checkGrammar(events);
        const final = finalOf(events);
        expect(accumulate(events)).toEqual(final.output.map(contentOf));
        const whole = chatToResponse(completionOf(answer), contextOf());
        expect(settled(final)).toEqual(settled(whole));
        expect(final.usage?.total_tokens).toBe(answer.usage.total_tokens);
      }),
    );
  });

  test('interleaved pieces are complete', () => {
    fc.assert(
      fc.property(streamed('interleaved'), ([answer, chunks]) => {
        const events = eventsOf(chunks);
        checkGrammar(events);
        const { output } = finalOf(events);
        expect(accumulate(events)).toEqual(output.map(contentOf));
        expect(textOf(output, 'message')).toBe(answer.text);
        expect(textOf(output, 'reasoning')).toBe(answer.reasoning);
        const calls = output.flatMap((item) => (item.type === 'function_call' ? [item] : []));
        expect(
          calls
            .map(({ call_id, name, arguments: text }) => ({
              call_id,
              name,
              input: JSON.parse(text) as unknown,
            }))
            .sort(byId),
        ).toEqual(answer.calls.map(({ id, name, input }) => ({ call_id: id, name, input })).sort(byId));
      }),
    );
  });

  test('the order of events is valid for any chunks', () => {
    fc.assert(fc.property(anyChunks, (chunks) => checkGrammar(eventsOf(chunks))));
  });

  test('each call in a sequence is closed before the next begins', () => {
    const types = eventsOf([0, 1].map((index) => callChunk(index, 'f', '{"x":1}'))).flatMap((event) =>
      'output_index' in event ? [`${event.output_index} ${wordOf(event.type)}`] : [],
    );
    expect(types).toEqual([
      '0 added',
      '0 delta',
      '0 text=',
      '0 done',
      '1 added',
      '1 delta',
      '1 text=',
      '1 done',
    ]);
  });

  test('a call of a custom tool or of a namespace has the form of the request', () => {
    const context = contextOf({
      tools: [
        {
          type: 'custom',
          name: 'apply_patch',
          format: { type: 'grammar', syntax: 'lark', definition: 'start: "x"' },
        },
        { type: 'namespace', name: 'github', tools: [{ type: 'function', name: 'search', parameters: {} }] },
      ],
    });
    const events = eventsOf(
      [
        callChunk(0, 'apply_patch', '{"input":"*** Begin\\n'),
        callChunk(0, '', 'x"}'),
        callChunk(1, 'github__search', '{}'),
      ],
      context,
    );
    checkGrammar(events);
    expect(finalOf(events).output).toMatchObject([
      { type: 'custom_tool_call', call_id: 'c0', name: 'apply_patch', input: '*** Begin\nx' },
      { type: 'function_call', call_id: 'c1', name: 'search', namespace: 'github', arguments: '{}' },
    ]);
  });

  test('an answer without end is cut off', () => {
    const state = openResponse(contextOf());
    const long = chunkOf({ content: 'x'.repeat(1_000_000) });
    expect(() => {
      for (let i = 0; i < 20; i++) reduceResponse(state, long);
    }).toThrow(Fault);
  });
});
