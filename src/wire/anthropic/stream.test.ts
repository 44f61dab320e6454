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
import {
  closeMessages,
  messagesEncoder,
  openMessages,
  reduceMessages,
  type MessagesEvent,
} from './stream.ts';
import type { ChatChunk } from '../openai/chat.ts';
import { SseReader } from '../../std/sse.ts';

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
      { numRuns: 300 },
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
      { numRuns: 500 },
    );
  });

  test('the order of events is valid for any chunks', () => {
    fc.assert(
      fc.property(anyChunks, (chunks) => checkGrammar(eventsOf(chunks))),
      { numRuns: 500 },
    );
  });

  test('text is sent with its own chunk', () => {
    const state = openMessages(labels, 7);
    reduceMessages(state, chunkOf({ role: 'assistant', content: '' }));
    const deltas = ['Hel', 'lo'].map((content) => reduceMessages(state, chunkOf({ content })).at(-1));
    expect(deltas).toEqual([
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hel' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'lo' } },
    ]);
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

  test('the start has our estimate of the input, the end what the backend counted, with cached tokens separate', () => {
    const usage = {
      prompt_tokens: 100,
      completion_tokens: 5,
      total_tokens: 105,
      prompt_tokens_details: { cached_tokens: 90 },
      completion_tokens_details: { reasoning_tokens: 3 },
    };
    const events = eventsOf([
      chunkOf({ content: 'hi' }),
      chunkOf({}, 'stop'),
      { ...chunkOf({}), choices: [], usage },
    ]);
    expect(events.find((event) => event.type === 'message_start')?.message).toMatchObject({
      id: 'msg_1',
      model: 'svc_chat/tiny',
      usage: { input_tokens: 7, output_tokens: 0 },
    });
    expect(events.find((event) => event.type === 'message_delta')?.usage).toEqual({
      input_tokens: 10,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 90,
      output_tokens: 5,
      output_tokens_details: { thinking_tokens: 3 },
    });
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

  test('a refusal is text with its own reason to stop', () => {
    const events = eventsOf([chunkOf({ refusal: 'No.' }), chunkOf({}, 'stop')]);
    expect(accumulate(events)).toEqual([{ type: 'text', text: 'No.' }]);
    expect(events.find((event) => event.type === 'message_delta')?.delta.stop_reason).toBe('refusal');
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

const read = (text: string) => new SseReader().push(new TextEncoder().encode(text));

describe('Messages stream as text', () => {
  test('each event is named by its type, and the stream never says [DONE]', () => {
    const encoder = messagesEncoder(labels, 7);
    const text =
      encoder.chunk('', chunkOf({ content: 'Größe 👍' })) +
      encoder.chunk('', chunkOf({}, 'stop')) +
      encoder.done();
    const events = read(text);
    expect(events.map((event) => event.event)).toEqual(
      events.map((event) => (JSON.parse(event.data) as { type: string }).type),
    );
    expect(events.at(-1)?.event).toBe('message_stop');
    expect(text).not.toContain('[DONE]');
  });

  test('an error in the middle is one error event with type, code and request id', () => {
    const encoder = messagesEncoder(labels, 7);
    encoder.chunk('', chunkOf({ content: 'Hal' }));
    const [event, ...others] = read(encoder.error(new Fault('upstream_timeout', 'Too slow.')));
    expect(others).toEqual([]);
    expect(event?.event).toBe('error');
    expect(JSON.parse(event?.data ?? '')).toEqual({
      type: 'error',
      error: { type: 'timeout_error', message: 'Too slow.', details: { error_code: 'upstream_timeout' } },
      request_id: 'req_1',
    });
  });
});
