import { describe, expect, test } from 'bun:test';
import * as fc from 'fast-check';
import {
  answers,
  anyChunks,
  chunkOf,
  chunksOf,
  completionOf,
  type Answer,
} from '../../../test/wire/answers.ts';
import { Fault } from '../../std/fault.ts';
import { chatToMessages, type AnswerBlock } from './answer.ts';
import { closeMessages, openMessages, reduceMessages, type MessagesEvent } from './stream.ts';
import type { ChatChunk } from '../openai/chat.ts';

const labels = { id: 'req_1', model: 'svc_chat/tiny' };

function eventsOf(chunks: readonly ChatChunk[]): MessagesEvent[] {
  const state = openMessages(labels, 7);
  return [...chunks.flatMap((chunk) => reduceMessages(state, chunk)), ...closeMessages(state)];
}

/** Message_start, then blocks one after another, each start-deltas-stop with the next index, then delta and stop. */
function checkGrammar(events: readonly MessagesEvent[]): void {
  const rest = events.filter((event) => event.type !== 'ping').map((event) => event.type);
  expect(rest.join(' ')).toMatch(
    /^message_start( content_block_start( content_block_delta)* content_block_stop)* message_delta message_stop$/,
  );
  let open = -1;
  for (const event of events) {
    if (event.type === 'content_block_start') expect(event.index).toBe(++open);
    if (event.type === 'content_block_delta' || event.type === 'content_block_stop')
      expect(event.index).toBe(open);
  }
  const [first] = events.flatMap((event, at) => (event.type === 'content_block_start' ? [at] : []));
  const pings = events.flatMap((event, at) => (event.type === 'ping' ? [at] : []));
  expect(pings).toEqual(first === undefined ? [] : [first + 1]);
}

/** Assembles the events like a client. */
function accumulate(events: readonly MessagesEvent[]): AnswerBlock[] {
  const blocks: AnswerBlock[] = [];
  let json = '';
  for (const event of events) {
    if (event.type === 'content_block_start') blocks.push({ ...event.content_block });
    const block = blocks.at(-1);
    if (event.type === 'content_block_stop' && block?.type === 'tool_use') {
      if (json !== '') block.input = JSON.parse(json) as Record<string, unknown>;
      json = '';
    }
    if (event.type !== 'content_block_delta') continue;
    if (event.delta.type === 'text_delta' && block?.type === 'text') block.text += event.delta.text;
    else if (event.delta.type === 'thinking_delta' && block?.type === 'thinking')
      block.thinking += event.delta.thinking;
    else if (event.delta.type === 'signature_delta' && block?.type === 'thinking')
      block.signature = event.delta.signature;
    else if (event.delta.type === 'input_json_delta' && block?.type === 'tool_use')
      json += event.delta.partial_json;
    else throw new Error(`${event.delta.type} in a ${block?.type} block`);
  }
  return blocks;
}

const texts = (blocks: readonly AnswerBlock[]) =>
  blocks.map((block) => (block.type === 'text' ? block.text : '')).join('');
const thoughts = (blocks: readonly AnswerBlock[]) =>
  blocks.map((block) => (block.type === 'thinking' ? block.thinking : '')).join('');
const calls = (blocks: readonly AnswerBlock[]) => blocks.filter((block) => block.type === 'tool_use');

const byId = (a: { id: string }, b: { id: string }) => (a.id < b.id ? -1 : 1);

const callNumberZero = (id: string) =>
  chunkOf({ tool_calls: [{ index: 0, id, function: { name: 'f', arguments: `{"id":"${id}"}` } }] });

const streamed = (order: 'sequential' | 'interleaved') =>
  answers.chain((answer) => fc.tuple(fc.constant(answer), chunksOf(answer, order)));

describe('Messages stream', () => {
  test('an answer streamed in order equals the whole answer, however it is split', () => {
    fc.assert(
      fc.property(streamed('sequential'), ([answer, chunks]) => {
        const events = eventsOf(chunks);
        checkGrammar(events);
        const whole = chatToMessages(completionOf(answer), labels);
        expect(accumulate(events)).toEqual(whole.content);
        const end = events.find((event) => event.type === 'message_delta');
        expect(end?.delta.stop_reason ?? null).toBe(whole.stop_reason);
        expect(end?.usage).toEqual(whole.usage);
      }),
    );
  });

  test('interleaved pieces are complete and never overlap', () => {
    fc.assert(
      fc.property(streamed('interleaved'), ([answer, chunks]: [Answer, ChatChunk[]]) => {
        const events = eventsOf(chunks);
        checkGrammar(events);
        const blocks = accumulate(events);
        expect(texts(blocks)).toBe(answer.text);
        expect(thoughts(blocks)).toBe(answer.reasoning);
        expect(calls(blocks).sort(byId)).toEqual(
          answer.calls
            .map(({ id, name, input }) => ({ type: 'tool_use' as const, id, name, input }))
            .sort(byId),
        );
      }),
    );
  });

  test('the order of events is valid for any chunks', () => {
    fc.assert(fc.property(anyChunks, (chunks) => checkGrammar(eventsOf(chunks))));
  });

  test('a second call is streamed at once if the first is complete, and waits otherwise', () => {
    const state = openMessages(labels, 7);
    const call = (index: number, id: string, text: string) =>
      reduceMessages(
        state,
        chunkOf({ tool_calls: [{ index, id, function: { name: 'f', arguments: text } }] }),
      );
    call(0, 'a', '{"x":');
    expect(call(1, 'b', '{"y"')).toEqual([]);
    expect(call(0, 'a', '{}}').map((event) => event.type)).toEqual([
      'content_block_delta',
      'content_block_stop',
      'content_block_start',
      'content_block_delta',
    ]);
  });

  test('calls that all have index 0 but different ids stay apart', () => {
    expect(accumulate(eventsOf([callNumberZero('a'), callNumberZero('b')]))).toEqual([
      { type: 'tool_use', id: 'a', name: 'f', input: { id: 'a' } },
      { type: 'tool_use', id: 'b', name: 'f', input: { id: 'b' } },
    ]);
  });

  test('thinking keeps the signature its backend gave it', () => {
    const signed = { reasoning_content: '', reasoning_signature: 'c2ln' };
    const events = eventsOf([
      chunkOf({ reasoning_content: 'hm' }),
      chunkOf(signed),
      chunkOf({ content: 'yes' }),
    ]);
    expect(accumulate(events)).toEqual([
      { type: 'thinking', thinking: 'hm', signature: 'c2ln' },
      { type: 'text', text: 'yes' },
    ]);
  });

  test('a tool call that its backend ended with «stop» still tells the agent to continue', () => {
    const call = chunkOf({ tool_calls: [{ index: 0, id: 'a', function: { name: 'f', arguments: '{}' } }] });
    const events = eventsOf([call, chunkOf({}, 'stop')]);
    expect(events.find((event) => event.type === 'message_delta')?.delta.stop_reason).toBe('tool_use');
  });

  test('tool arguments without end are cut off', () => {
    const state = openMessages(labels, 0);
    const long = chunkOf({
      tool_calls: [{ index: 0, id: 'a', function: { name: 'f', arguments: 'x'.repeat(1_000_000) } }],
    });
    expect(() => {
      for (let i = 0; i < 20; i++) reduceMessages(state, long);
    }).toThrow(Fault);
  });
});
