import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { z } from 'zod';
import { Gateway, type TestAccount } from '../support/gateway.ts';
import { PIXEL_BASE64 } from '../support/scripted-backend.ts';
import { ALL_CLIENTS } from './all-clients.ts';
import type { Tool } from './client.ts';

/** What every SDK can do here, unmodified, against the built-in catalog. */

let gateway: Gateway;
let account: TestAccount;

beforeAll(async () => {
  gateway = await Gateway.start();
  account = await gateway.account('10');
});
afterAll(async () => {
  await gateway.stop();
});

const PIXEL = new Uint8Array(Buffer.from(PIXEL_BASE64, 'base64'));

describe.each(ALL_CLIENTS)('%s', (name, make) => {
  const client = () => make({ url: gateway.url, token: account.token, model: 'svc_chat/house-echo' });

  describe.each(['ask', 'stream'] as const)('%s', (how) => {
    test('returns the text and its usage', async () => {
      const reply = await client()[how]({ prompt: 'Two words and some more of them.' });
      expect(reply.text).toBe('Two words and some more of them.');
      expect(reply.usage?.input).toBeGreaterThan(0);
      expect(reply.usage?.output).toBeGreaterThan(0);
      if (how === 'stream') expect(reply.pieces).toBeGreaterThan(1);
    });

    test('a tool is called, its result goes back, the answer uses it', async () => {
      const given: unknown[] = [];
      const weather: Tool = {
        name: 'get_weather',
        description: 'The weather of a city.',
        input: z.object({ city: z.string() }),
        run: (input) => {
          given.push(input);
          return `Rain in ${String(input['city'])}`;
        },
      };
      const reply = await client()[how]({ prompt: '/tool get_weather {"city":"Oslo"}', tool: weather });
      expect(given).toEqual([{ city: 'Oslo' }]);
      expect(reply.text).toBe('The tool get_weather answered: Rain in Oslo');
    });

    test('an image arrives unchanged', async () => {
      const reply = await client()[how]({ prompt: '/see', image: PIXEL });
      expect(reply.text).toContain(`image/png, 1x1, ${PIXEL.length} bytes`);
    });

    test('a JSON schema is followed', async () => {
      const schema = z.object({ name: z.string(), age: z.number().int(), tags: z.array(z.enum(['a', 'b'])) });
      const reply = await client()[how]({ prompt: 'A person, please.', schema });
      expect(schema.safeParse(JSON.parse(reply.text)).success).toBe(true);
    });

    test('reasoning is separate from the answer', async () => {
      const reply = await client()[how]({ prompt: '/think What is it?' });
      expect(reply.text).toBe('What is it?');
      // OpenAI's own chat API has no field for them, so this provider does not read them.
      if (name === 'ai + openai.chat') expect(reply.thoughts).toBe('');
      else expect(reply.thoughts).toContain('I am told to think first');
    });
  });
});
