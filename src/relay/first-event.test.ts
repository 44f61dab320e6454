import { describe, expect, test } from 'bun:test';
import type { ChatCompletion } from '../wire/openai/chat.ts';
import { readFirstEvent } from './chat.ts';

/** What counts as an answer while another backend could still be called. */

const utf8 = new TextEncoder();
const signals = () => ({ signal: new AbortController().signal, client: new AbortController().signal });
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
    expect(await readFirstEvent({ kind: 'whole', body: utf8.encode(text) }, signals())).toEqual({
      kind: 'whole',
      text,
      completion: COMPLETION,
    });
    expect(await readFirstEvent({ kind: 'completion', completion: COMPLETION }, signals())).toEqual({
      kind: 'whole',
      text: JSON.stringify(COMPLETION),
      completion: COMPLETION,
    });
  });

  const broken = Buffer.from(JSON.stringify(COMPLETION).replace('Grüße', 'Gr?e'));
  broken[broken.indexOf('Gr?e') + 2] = 0xff;
  test.each([
    ['not UTF-8', broken],
    ['not JSON', utf8.encode('ok')],
    ['no completion', utf8.encode('{"error":"no"}')],
    ['empty', new Uint8Array()],
  ])('that is %s is a failure: the next backend is called', async (_, body) => {
    const thrown = await readFirstEvent({ kind: 'whole', body }, signals()).catch((error: unknown) => error);
    expect(thrown).toMatchObject({ name: 'UpstreamFailure', kind: 'protocol', retryable: true });
  });
});
