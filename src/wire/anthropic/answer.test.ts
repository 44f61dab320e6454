import { describe, expect, test } from 'bun:test';
import { FAULTS, Fault, type FaultCode } from '../../std/fault.ts';
import { chatToMessages, messagesErrorBody } from './answer.ts';

const call = (text: unknown) => ({
  tool_calls: [{ type: 'function', function: { name: 'f', arguments: text } }],
});

describe('a whole answer', () => {
  const labels = { id: 'req_1', model: 'svc_chat/tiny' };
  const completion = (
    message: Record<string, unknown>,
    finish_reason: 'stop' | 'length' | 'tool_calls' | 'content_filter' = 'stop',
  ) =>
    chatToMessages(
      {
        id: 'x',
        object: 'chat.completion',
        created: 1,
        model: 'b',
        choices: [{ index: 0, message: { role: 'assistant', content: null, ...message }, finish_reason }],
        usage: {
          prompt_tokens: 10,
          completion_tokens: 4,
          total_tokens: 14,
          prompt_tokens_details: { cached_tokens: 6 },
        },
      },
      labels,
    );

  test('has thinking, text and tool use in this order, and our id and model', () => {
    const calls = [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }];
    expect(completion({ content: 'Hi', reasoning_content: 'hm', tool_calls: calls }, 'tool_calls')).toEqual({
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'svc_chat/tiny',
      content: [
        { type: 'thinking', thinking: 'hm', signature: '' },
        { type: 'text', text: 'Hi' },
        { type: 'tool_use', id: 'c1', name: 'f', input: { a: 1 } },
      ],
      stop_reason: 'tool_use',
      stop_sequence: null,
      usage: {
        input_tokens: 4,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 6,
        output_tokens: 4,
        output_tokens_details: { thinking_tokens: 0 },
      },
    });
  });

  test('has the reason why it stopped', () => {
    expect(completion({ content: 'a' }, 'length').stop_reason).toBe('max_tokens');
    expect(completion({ content: 'a' }, 'content_filter').stop_reason).toBe('refusal');
    expect(completion({ content: 'a' }).stop_reason).toBe('end_turn');
  });

  test('shows broken tool arguments instead of failing on them', () => {
    expect(completion(call('{"a":')).content).toEqual([
      { type: 'tool_use', id: 'toolu_1_0', name: 'f', input: { invalid_arguments: '{"a":' } },
    ]);
    expect(completion(call('')).content).toMatchObject([{ input: {} }]);
    expect(completion(call({ a: 1 })).content).toMatchObject([{ input: { a: 1 } }]);
  });

  test('may have its text in parts, as some backends write it', () => {
    expect(
      completion({
        content: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ],
      }).content,
    ).toEqual([{ type: 'text', text: 'ab' }]);
  });
});

describe('errors', () => {
  test('every fault has a type of this dialect that matches its status', () => {
    const types: Record<number, string[]> = {
      400: ['invalid_request_error'],
      401: ['authentication_error'],
      402: ['billing_error'],
      404: ['not_found_error'],
      405: ['invalid_request_error'],
      429: ['rate_limit_error'],
      500: ['api_error', 'timeout_error', 'overloaded_error'],
    };
    for (const code of Object.keys(FAULTS) as FaultCode[]) {
      const fault = new Fault(code, 'words');
      expect(types[fault.status]).toContain(messagesErrorBody(fault, 'req_1').error.type);
    }
  });

  test('what a program needs is in the details', () => {
    const fault = new Fault('payment_required', 'Top up.', {
      extra: { reason: 'insufficient_balance', available_usd: 0.1 },
    });
    expect(messagesErrorBody(fault, 'req_1')).toEqual({
      type: 'error',
      error: {
        type: 'billing_error',
        message: 'Top up.',
        details: { error_code: 'payment_required', reason: 'insufficient_balance', available_usd: 0.1 },
      },
      request_id: 'req_1',
    });
  });
});
