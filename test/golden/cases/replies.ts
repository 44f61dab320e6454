import type { Reply } from '../backend.ts';

/** Answers of a server that speaks OpenAI's API. */

const HEAD = { id: 'chatcmpl-backend', created: 1_700_000_000, model: 'backend-model' };
export const USAGE = { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13 };

export function jsonReply(value: unknown, status = 200, headers: Record<string, string> = {}): Reply {
  const body = typeof value === 'string' ? value : JSON.stringify(value);
  return { status, headers: { 'content-type': 'application/json', ...headers }, body };
}

export function eventsReply(body: string, after: Reply['after'] = 'end'): Reply {
  return { headers: { 'content-type': 'text/event-stream' }, body, after };
}

export function completion(
  message: Record<string, unknown>,
  finish = 'stop',
  more: Record<string, unknown> = { usage: USAGE },
): Reply {
  const choices = [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: finish }];
  return jsonReply({ ...HEAD, object: 'chat.completion', choices, ...more });
}

export function chunk(delta: Record<string, unknown>, finish: string | null = null, index = 0): string {
  return event({ choices: [{ index, delta, finish_reason: finish }] });
}

export function event(more: Record<string, unknown>): string {
  return `data: ${JSON.stringify({ ...HEAD, object: 'chat.completion.chunk', ...more })}\n\n`;
}

export const DONE = 'data: [DONE]\n\n';
export const USAGE_EVENT = event({ choices: [], usage: USAGE });
export const FIRST = chunk({ role: 'assistant', content: '' });

/** A stream of these deltas from the role to the usage. */
export function streamed(
  deltas: readonly Record<string, unknown>[],
  finish = 'stop',
  tail = USAGE_EVENT + DONE,
): Reply {
  const chunks = deltas.map((delta) => chunk(delta)).join('');
  return eventsReply(FIRST + chunks + chunk({}, finish) + tail);
}

export function failure(status: number, message: string, headers: Record<string, string> = {}): Reply {
  return jsonReply({ error: { message, type: 'server_error', param: null, code: null } }, status, headers);
}

const call = (id: string, name: string, args: string) => ({
  id,
  type: 'function',
  function: { name, arguments: args },
});
const callStart = (index: number, id: string, name: string) => ({
  tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }],
});
const callMore = (index: number, args: string) => ({
  tool_calls: [{ index, function: { arguments: args } }],
});

const WORDS = ['Hello', ' there', ', friend — ünïcode ✓ "quoted"\n'];
const OSLO = '{"city":"Oslo"}';

/** What a model may say, whole and as a stream. */
export const ANSWERS = {
  text: {
    whole: completion({ content: WORDS.join('') }),
    stream: streamed(WORDS.map((content) => ({ content }))),
  },
  tool: {
    whole: completion({ content: null, tool_calls: [call('call_1', 'get_weather', OSLO)] }, 'tool_calls'),
    stream: streamed(
      [callStart(0, 'call_1', 'get_weather'), callMore(0, '{"city":'), callMore(0, '"Oslo"}')],
      'tool_calls',
    ),
  },
  'parallel-tools': {
    whole: completion(
      {
        content: 'Let me look.',
        tool_calls: [call('call_1', 'get_weather', OSLO), call('call_2', 'get_time', '{}')],
      },
      'tool_calls',
    ),
    stream: streamed(
      [
        { content: 'Let me look.' },
        callStart(0, 'call_1', 'get_weather'),
        callMore(0, OSLO),
        callStart(1, 'call_2', 'get_time'),
        callMore(1, '{}'),
      ],
      'tool_calls',
    ),
  },
  reasoning: {
    whole: completion({ content: '42', reasoning_content: 'Six times seven.' }, 'stop', {
      usage: {
        prompt_tokens: 100,
        completion_tokens: 40,
        total_tokens: 140,
        prompt_tokens_details: { cached_tokens: 60 },
        completion_tokens_details: { reasoning_tokens: 30 },
      },
    }),
    stream: streamed(
      [{ reasoning_content: 'Six times' }, { reasoning_content: ' seven.' }, { content: '42' }],
      'stop',
      event({
        choices: [],
        usage: {
          prompt_tokens: 100,
          completion_tokens: 40,
          total_tokens: 140,
          prompt_tokens_details: { cached_tokens: 60 },
          completion_tokens_details: { reasoning_tokens: 30 },
        },
      }) + DONE,
    ),
  },
  length: {
    whole: completion({ content: 'Once upon a' }, 'length'),
    stream: streamed([{ content: 'Once upon a' }], 'length'),
  },
  refusal: {
    whole: completion({ content: null, refusal: 'I cannot help with that.' }),
    stream: streamed([{ refusal: 'I cannot' }, { refusal: ' help with that.' }]),
  },
  filtered: {
    whole: completion({ content: '' }, 'content_filter'),
    stream: streamed([], 'content_filter'),
  },
  uncounted: {
    whole: completion({ content: 'Nobody counts me.' }, 'stop', {}),
    stream: streamed([{ content: 'Nobody' }, { content: ' counts me.' }], 'stop', DONE),
  },
  json: {
    whole: completion({ content: OSLO }),
    stream: streamed([{ content: '{"city":' }, { content: '"Oslo"}' }]),
  },
} as const satisfies Record<string, { whole: Reply; stream: Reply }>;

export type AnswerName = keyof typeof ANSWERS;

export const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
