import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { Gateway } from '../support/gateway.ts';
import { RecordingProxy } from './recording-proxy.ts';

/**
 * A mistyped or replaced key fails at once. The Claude Agent SDK retries a 401 for minutes, unless `x-should-retry` says
 * not to.
 */

let gateway: Gateway;
/** Right in form; no account has it any more. */
let replaced: string;

beforeAll(async () => {
  gateway = await Gateway.start();
  const account = await gateway.account('1');
  replaced = account.token;
  await gateway.tollgate.services.accounts.replaceToken(account.id);
});
afterAll(async () => {
  await gateway.stop();
});

const messages = [{ role: 'user', content: 'hi' }];
const model = 'house-echo';
/** Every path of the API that looks at a token; `open` ones work without. */
const ROUTES = [
  { path: '/api/public/v1/chat/completions', body: { endpoint: 'svc_chat', model, messages } },
  { path: '/api/public/v1/images/generations', body: { endpoint: 'svc_tgter', model, prompt: 'a gate' } },
  { path: '/api/public/v1/models', open: true },
  { path: '/api/public/v1/endpoints/svc_chat/models', open: true },
  { path: '/api/public/v1/account' },
  { path: '/api/public/v1/requests/req_000000000000000000000000' },
  { path: '/v1/models' },
  { path: '/v1/models/house-echo' },
  { path: '/v1/chat/completions', body: { model, messages } },
  { path: '/v1/images/generations', body: { model: 'house-paint', prompt: 'a gate' } },
  { path: '/v1/images/edits', body: { model: 'house-paint', prompt: 'a gate' } },
  { path: '/v1/responses', body: { model, input: 'hi' } },
  { path: '/v1/embeddings', body: { model, input: 'hi' } },
  { path: '/v1/messages', body: { model, messages, max_tokens: 10 } },
  { path: '/v1/messages', body: { model, messages, max_tokens: 10, stream: true } },
  { path: '/v1/messages/count_tokens', body: { model, messages } },
] as const;

describe.each(ROUTES.map((route) => ({ body: undefined, open: false, ...route })))(
  '$path',
  ({ path, body, open }) => {
    const send = (token: string | undefined): Promise<Response> =>
      body === undefined
        ? gateway.fetch(path, token === undefined ? {} : { token })
        : gateway.post(path, token, body);

    test('a 401 tells clients not to retry', async () => {
      for (const token of ['sk-mistyped', replaced, ...(open ? [] : [undefined])]) {
        const response = await send(token);
        const shouldRetry = response.headers.get('x-should-retry');
        expect({ token, status: response.status, shouldRetry }).toEqual({
          token,
          status: 401,
          shouldRetry: 'false',
        });
        expect(response.headers.get('retry-after')).toBeNull();
        await response.body?.cancel();
      }
    });
  },
);

describe('a mistyped key in an SDK', () => {
  test.each([
    {
      name: 'anthropic',
      ask: (url: string) =>
        new Anthropic({ baseURL: url, apiKey: 'sk-mistyped' }).messages.create({
          model,
          max_tokens: 10,
          messages: [{ role: 'user', content: 'hi' }],
        }),
    },
    {
      name: 'openai',
      ask: (url: string) =>
        new OpenAI({ baseURL: `${url}/v1`, apiKey: 'sk-mistyped' }).responses.create({ model, input: 'hi' }),
    },
  ])('$name: one request, and the error carries the header', async ({ ask }) => {
    const proxy = new RecordingProxy(gateway.url);
    try {
      const thrown: unknown = await ask(proxy.url).then(
        () => undefined,
        (error: unknown) => error,
      );
      expect(thrown).toMatchObject({ status: 401 });
      const { headers } = thrown as { headers: Headers };
      expect(headers.get('x-should-retry')).toBe('false');
      expect(proxy.statuses).toEqual([401]);
    } finally {
      await proxy.stop();
    }
  });
});

test('an invalid request gets no such header: the SDKs do not retry it anyway', async () => {
  const { token } = await gateway.account('1');
  const response = await gateway.post('/v1/messages', token, { model: 7 });
  expect(response.status).toBe(400);
  expect(response.headers.get('x-should-retry')).toBeNull();
});
