import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { Gateway, type TestAccount } from '../support/gateway.ts';

/** The order of a stream's events, which strict clients of each dialect rely on. */

let gateway: Gateway;
let account: TestAccount;

interface Event {
  readonly name: string | undefined;
  readonly data: Record<string, unknown>;
}

const MODEL = 'svc_chat/house-echo';
const TOOL = { name: 'add', description: 'Adds.', parameters: { type: 'object' } };
const PROMPT = '/think\n/tool add {"a":1}\n/tool add {"b":2}';

beforeAll(async () => {
  gateway = await Gateway.start();
  account = await gateway.account('10');
});
afterAll(async () => {
  await gateway.stop();
});

/** A stream as text, and as events, comments left out. */
async function stream(
  path: string,
  body: Record<string, unknown>,
): Promise<{ text: string; events: Event[] }> {
  const text = await (
    await gateway.post(path, account.token, { model: MODEL, stream: true, ...body })
  ).text();
  const blocks = text.split('\n\n').filter((block) => block.includes('data: {'));
  const events = blocks.map((block) => ({
    name: /^event: (.*)$/m.exec(block)?.[1],
    data: JSON.parse(/^data: (.*)$/m.exec(block)?.[1] ?? '') as Record<string, unknown>,
  }));
  return { text, events };
}

/** Consecutive events of the same type count as one. */
function order(events: readonly Event[]): string[] {
  return events.map(({ data }) => String(data['type'])).filter((type, place, all) => type !== all[place - 1]);
}

const user = (content: string) => [{ role: 'user', content }];

describe('messages', () => {
  const messages = async (prompt: string, more: Record<string, unknown> = {}) =>
    await stream('/v1/messages', { max_tokens: 500, messages: user(prompt), ...more });

  test('text', async () => {
    const { text, events } = await messages('one two three');
    expect(order(events)).toEqual([
      'message_start',
      'content_block_start',
      'ping',
      'content_block_delta',
      'content_block_stop',
      'message_delta',
      'message_stop',
    ]);
    expect(text).not.toContain('[DONE]');
    for (const { name, data } of events) expect(name).toBe(String(data['type']));
    expect(events[0]?.data).toMatchObject({
      message: {
        type: 'message',
        role: 'assistant',
        content: [],
        stop_reason: null,
        usage: { input_tokens: expect.any(Number) },
      },
    });
    expect(events.at(-2)?.data).toMatchObject({
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: { output_tokens: expect.any(Number) },
    });
  });

  test('thinking and two tools: blocks one after the other, numbered, each closed before the next', async () => {
    const { events } = await messages(PROMPT, {
      tools: [{ name: TOOL.name, input_schema: TOOL.parameters }],
    });
    const open = new Set<unknown>();
    const kinds: unknown[] = [];
    for (const { data } of events) {
      if (data['type'] === 'content_block_start') {
        expect([...open]).toEqual([]);
        expect(data['index']).toBe(kinds.length);
        open.add(data['index']);
        kinds.push((data['content_block'] as { type: string }).type);
      }
      if (data['type'] === 'content_block_delta') expect(open.has(data['index'])).toBe(true);
      if (data['type'] === 'content_block_stop') open.delete(data['index']);
    }
    expect(kinds).toEqual(['thinking', 'tool_use', 'tool_use']);
    expect(events.at(-2)?.data).toMatchObject({ delta: { stop_reason: 'tool_use' } });
  });

  test('an error is the last event, and there is no [DONE] after it', async () => {
    const { text, events } = await messages('/error stream\none two three four five six');
    expect(events.at(-1)?.name).toBe('error');
    expect(events.at(-1)?.data).toMatchObject({
      type: 'error',
      error: { type: 'api_error', details: { error_code: 'upstream_error' } },
      request_id: expect.stringMatching(/^req_/),
    });
    expect(text).not.toContain('[DONE]');
    expect(text).not.toContain('message_stop');
  });
});

describe('responses', () => {
  const responses = async (prompt: string, more: Record<string, unknown> = {}) =>
    await stream('/v1/responses', { input: prompt, ...more });

  test('text', async () => {
    const { text, events } = await responses('one two three');
    expect(order(events)).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.completed',
    ]);
    expect(text).not.toContain('[DONE]');
    expect(events.map(({ data }) => data['sequence_number'])).toEqual(events.map((_, place) => place));
    for (const { name, data } of events) expect(name).toBe(String(data['type']));
  });

  test('thoughts and two tools', async () => {
    const { events } = await responses(PROMPT, { tools: [{ type: 'function', ...TOOL }] });
    const call = [
      'response.output_item.added',
      'response.function_call_arguments.delta',
      'response.function_call_arguments.done',
      'response.output_item.done',
    ];
    expect(order(events)).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.reasoning_summary_part.added',
      'response.reasoning_summary_text.delta',
      'response.reasoning_summary_text.done',
      'response.reasoning_summary_part.done',
      'response.output_item.done',
      ...call,
      ...call,
      'response.completed',
    ]);
    const { response } = events.at(-1)?.data as {
      response: { output: { type: string; id: string }[]; usage: unknown };
    };
    expect(response.output.map(({ type }) => type)).toEqual(['reasoning', 'function_call', 'function_call']);
    const added = events
      .filter(({ name }) => name === 'response.output_item.added')
      .map(({ data }) => (data['item'] as { id: string }).id);
    expect(response.output.map(({ id }) => id)).toEqual(added);
    expect(response.usage).toMatchObject({ output_tokens_details: { reasoning_tokens: expect.any(Number) } });
  });

  test('cut by its cap', async () => {
    const { events } = await responses('/long 50', { max_output_tokens: 5 });
    expect(events.at(-1)?.data).toMatchObject({
      type: 'response.incomplete',
      response: { status: 'incomplete' },
    });
  });

  test('an error, and then the response that failed by it', async () => {
    const { events } = await responses('/error stream\none two three four five six');
    expect(events.slice(-2).map(({ name }) => name)).toEqual(['error', 'response.failed']);
    expect(events.at(-1)?.data).toMatchObject({
      response: { status: 'failed', error: { code: 'upstream_error' } },
    });
  });
});

describe('chat', () => {
  const chat = async (prompt: string, more: Record<string, unknown> = {}) =>
    await stream('/v1/chat/completions', { messages: user(prompt), ...more });

  test('one id, the role first, the finish last, then [DONE]', async () => {
    const { text, events } = await chat('one two three', { stream_options: { include_usage: true } });
    expect(text).toEndWith('data: [DONE]\n\n');
    expect(new Set(events.map(({ data }) => data['id'])).size).toBe(1);
    for (const { data } of events) expect(Array.isArray(data['choices'])).toBe(true);
    expect(events[0]?.data).toMatchObject({ choices: [{ delta: { role: 'assistant' } }] });
    expect(events.at(-2)?.data).toMatchObject({ choices: [{ finish_reason: 'stop' }] });
    expect(events.at(-1)?.data).toMatchObject({ choices: [], usage: { total_tokens: expect.any(Number) } });
  });

  test('an error is the last event', async () => {
    const { text, events } = await chat('/error stream\none two three four five six');
    expect(events.at(-1)?.data).toMatchObject({
      error: { code: 'upstream_error', type: 'server_error', param: null },
    });
    expect(text).not.toContain('[DONE]');
  });
});
