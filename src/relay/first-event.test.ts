import { describe, expect, test } from 'bun:test';
import type { ChatCompletion } from '../wire/openai/chat.ts';
import type { ChatAnswer } from '../upstream/port.ts';
import { NOBODY_LEAVES } from './call.ts';
import { readFirstEvent } from './chat.ts';

/** What counts as an answer while another backend could still be called. */

const read = async (answer: ChatAnswer) =>
  await readFirstEvent(answer, new AbortController().signal, NOBODY_LEAVES);
const COMPLETION: ChatCompletion = {
  id: 'c',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Grüße' }, finish_reason: 'stop' }],
};

describe('a whole answer', () => {
  test('is the backend’s text unchanged, and parsed', async () => {
    const text = ` ${JSON.stringify(COMPLETION)}\n`;
    const json = { text, value: JSON.parse(text) as unknown };
    expect(await read({ kind: 'whole', json })).toEqual({
      kind: 'whole',
      text,
      completion: COMPLETION,
    });
    expect(await read({ kind: 'completion', completion: COMPLETION })).toEqual({
      kind: 'whole',
      text: JSON.stringify(COMPLETION),
      completion: COMPLETION,
    });
  });

  test.each(['{"error":"no"}', '{"choices":[]}', '{"choices":[{}]}', '[]', 'null', '"ok"'])(
    'that is no completion is a failure, and the next backend is called: %s',
    async (text) => {
      const json = { text, value: JSON.parse(text) as unknown };
      const thrown = await read({ kind: 'whole', json }).catch((error: unknown) => error);
      expect(thrown).toMatchObject({ name: 'UpstreamFailure', kind: 'protocol', retryable: true });
    },
  );
});
