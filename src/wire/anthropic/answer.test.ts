import { describe, expect, test } from 'bun:test';
import { FAULTS, Fault, type ApiFaultCode } from '../../std/fault.ts';
import { chatToMessages, messagesErrorBody } from './answer.ts';

const call = (text: unknown) => ({
  tool_calls: [{ type: 'function', function: { name: 'f', arguments: text } }],
});

describe('a whole answer', () => {
  const completion = (message: Record<string, unknown>) =>
    chatToMessages(
      {
        id: 'x',
        object: 'chat.completion',
        created: 1,
        model: 'b',
        choices: [
          { index: 0, message: { role: 'assistant', content: null, ...message }, finish_reason: 'stop' },
        ],
      },
      { id: 'req_1', model: 'svc_chat/tiny' },
    );

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
    for (const code of Object.keys(FAULTS) as ApiFaultCode[]) {
      const fault = new Fault(code, 'words');
      expect(types[fault.status]).toContain(messagesErrorBody(fault, 'req_1').error.type);
    }
  });
});
