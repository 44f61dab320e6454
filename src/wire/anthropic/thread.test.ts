import { expect, test } from 'bun:test';
import { Fault } from '../../std/fault.ts';
import { messagesErrorBody } from './answer.ts';
import { withoutThread } from './to-chat.ts';

test('a request that starts a thread is a whole request, and the field is not sent on', () => {
  expect(withoutThread({ model: 'm', thread: { type: 'create' } })).toEqual({ model: 'm' });
  expect(withoutThread({ model: 'm' })).toEqual({ model: 'm' });
  for (const odd of [null, 'continue', 7, []]) expect(withoutThread({ thread: odd })).toEqual({});
});

test('a continued thread is not found, with the error at which SDKs send the whole conversation', () => {
  let thrown: unknown;
  try {
    withoutThread({ thread: { type: 'continue', previous_message_id: 'msg_1' } });
  } catch (error) {
    thrown = error;
  }
  if (!(thrown instanceof Fault)) throw new Error('nothing was refused');
  expect(thrown.status).toBe(404);
  expect(messagesErrorBody(thrown, 'req_1').error).toMatchObject({
    type: 'not_found_error',
    details: { error_code: 'thread_not_found' },
  });
});
