import { afterAll, expect, test } from 'bun:test';
import { makeProvider } from '../../src/upstream/ai-sdk/provider-upstream.ts';
import type { ChatRequest } from '../../src/wire/openai/chat.ts';
import { StrictAzure } from './azure.ts';
import { configFor, SDK_KINDS } from './sdk-kinds.ts';

/** A deployment's name need not tell what it runs, so the operator can say it. */

const azure = new StrictAzure({
  'our-thinker': 'gpt-5-mini',
  'our-old-one': 'gpt-4o-mini',
  'our-own': 'gpt-4o-mini',
  'gpt-5-mini': 'gpt-5-mini',
  'gpt-5-chat-latest': 'gpt-5-mini',
});
afterAll(() => azure.stop());

const NEWER = { capField: 'max_completion_tokens' } as const;
const OLDER = { capField: 'max_tokens' } as const;
const OLDER_SENT = { max_tokens: 50 };
const NEWER_SENT = { max_completion_tokens: 50 };

test.each([
  { model: 'our-thinker', form: NEWER, sent: OLDER_SENT, arrives: NEWER_SENT },
  { model: 'our-thinker', option: 'max_completion_tokens', sent: OLDER_SENT, arrives: NEWER_SENT },
  { model: 'our-thinker', option: 'max_tokens', form: NEWER, sent: OLDER_SENT, arrives: NEWER_SENT },
  { model: 'our-old-one', form: OLDER, sent: NEWER_SENT, arrives: OLDER_SENT },
  { model: 'our-own', sent: OLDER_SENT, arrives: OLDER_SENT },
  { model: 'our-own', sent: NEWER_SENT, arrives: NEWER_SENT },
  { model: 'gpt-5-mini', sent: OLDER_SENT, arrives: NEWER_SENT },
  { model: 'gpt-5-chat-latest', sent: OLDER_SENT, arrives: NEWER_SENT },
])('the output cap arrives under the name that the deployment takes: %j', async (one) => {
  const { model, option, form, sent, arrives } = one;
  const request = { model, messages: [{ role: 'user', content: 'hi' }], ...sent } as ChatRequest;
  await upstream(option === undefined ? {} : { cap_field: option })?.chat({ model, form, request, ...CALL });
  const { body, refusal } = azure.received.at(-1)!;
  const { max_tokens, max_completion_tokens } = body;
  expect(refusal).toBeUndefined();
  expect(JSON.stringify({ max_tokens, max_completion_tokens })).toBe(JSON.stringify(arrives));
});

test('a chat’s own response_format is not taken for the format of images', async () => {
  const messages = [{ role: 'user' as const, content: 'A city, as JSON.' }];
  const request = { model: 'our-own', messages, response_format: { type: 'json_object' } } as ChatRequest;
  await upstream({})?.chat({ model: 'our-own', form: { imageFormat: 'default' }, request, ...CALL });
  expect(azure.received.at(-1)?.body['response_format']).toEqual({ type: 'json_object' });
});

const CALL = { signal: new AbortController().signal, requestId: 'req_1' };

function upstream(options: Record<string, string>) {
  const kind = SDK_KINDS.find((one) => one.kind === 'azure')!;
  return makeProvider({ ...configFor(kind, azure), options: new Map(Object.entries(options)) });
}
