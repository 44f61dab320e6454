import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import Anthropic from '@anthropic-ai/sdk';
import { GoogleGenAI } from '@google/genai';
import OpenAI from 'openai';
import { NOT_SUPPORTED_ROUTES } from '../../src/api/not-supported.ts';
import { Gateway, type TestAccount } from '../support/gateway.ts';

/** Whoever asks for something that is not served is told so in the form that it reads, and what to use instead. */

let gateway: Gateway;
let account: TestAccount;

beforeAll(async () => {
  gateway = await Gateway.start();
  account = await gateway.account('1');
});
afterAll(async () => {
  await gateway.stop();
});

const pathsOf = (beginning: RegExp) =>
  NOT_SUPPORTED_ROUTES.map(({ method, path }) => ({ method, path: path.replace('**', 'x/y') })).filter(
    ({ path }) => beginning.test(path),
  );

const send = (method: string, path: string) =>
  gateway.fetch(path, { method, token: account.token, ...(method === 'POST' && { body: '{"model":"m"}' }) });

async function told(method: string, path: string): Promise<unknown> {
  const response = await send(method, path);
  expect({ method, path, status: response.status }).toEqual({ method, path, status: 400 });
  expect(response.headers.get('x-request-id')).toStartWith('req_');
  return await response.json();
}

const instead = /(Use|Send|POST|GET|Offer|Create|Compare)\b/;

describe('every path that other servers have', () => {
  test('of OpenAI and servers like it', async () => {
    const paths = pathsOf(/^\/(?:v[12]\/(?!messages|complete)|rerank)/);
    expect(paths.length).toBeGreaterThan(30);
    for (const { method, path } of paths) {
      const { error } = (await told(method, path)) as { error: Record<string, string> };
      expect(error).toMatchObject({ code: 'not_supported', type: 'invalid_request_error', param: null });
      expect(error['message']).toMatch(instead);
    }
  });

  test('of Anthropic', async () => {
    const paths = pathsOf(/^\/v1\/(?:messages|complete)/);
    expect(paths.length).toBeGreaterThan(4);
    for (const { method, path } of paths) {
      const body = await told(method, path);
      expect(body).toMatchObject({
        type: 'error',
        error: { type: 'invalid_request_error', details: { error_code: 'not_supported' } },
      });
    }
  });

  test('of Gemini', async () => {
    const paths = pathsOf(/v1beta/);
    expect(paths.length).toBeGreaterThan(12);
    for (const { method, path } of paths) {
      const body = await told(method, path);
      expect(body).toMatchObject({
        error: { code: 400, status: 'UNIMPLEMENTED', details: [{ metadata: { code: 'not_supported' } }] },
      });
    }
  });

  test('of Ollama', async () => {
    const paths = pathsOf(/^\/api\//);
    expect(paths.length).toBeGreaterThan(10);
    for (const { method, path } of paths) {
      const body = (await told(method, path)) as { error: string; code: string };
      expect(body.code).toBe('not_supported');
      expect(body.error).toContain('/v1');
    }
  });
});

test('a client without a token is told the same', async () => {
  const response = await gateway.fetch('/v1/files');
  expect([response.status, (await response.json()).error.code]).toEqual([400, 'not_supported']);
});

test('a method that such a path never had is wrong, and a page may ask first', async () => {
  const wrong = await send('PUT', '/v1/batches');
  expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'GET, POST, DELETE, HEAD, OPTIONS']);
  expect((await gateway.fetch('/v1/batches', { method: 'OPTIONS' })).status).toBe(204);
});

describe('the real clients show it, and do not retry', () => {
  const refusal = (work: Promise<unknown>) =>
    work.then(
      () => 'nothing was thrown',
      (error: unknown) => String(error),
    );

  test('OpenAI', async () => {
    const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: account.token });
    expect(await refusal(Promise.resolve(client.batches.list()))).toContain('Batches are not supported');
    const speech = client.audio.speech.create({ model: 'm', voice: 'alloy', input: 'hi' });
    expect(await refusal(speech)).toContain('input_audio');
  });

  test('Anthropic', async () => {
    const client = new Anthropic({ baseURL: gateway.url, authToken: account.token, apiKey: null });
    const asked = Promise.resolve(client.messages.batches.list());
    expect(await refusal(asked)).toContain('Batches are not supported');
  });

  test('Google', async () => {
    const client = new GoogleGenAI({ apiKey: account.token, httpOptions: { baseUrl: gateway.url } });
    expect(await refusal(client.files.list())).toContain('Files are not kept here');
    const cached = client.caches.create({ model: 'svc_chat/house-guide', config: {} });
    expect(await refusal(cached)).toContain('Send all of it in contents');
  });
});
