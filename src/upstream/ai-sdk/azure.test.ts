import { afterEach, beforeEach, expect, test } from 'bun:test';
import type { RequestForm } from '../../catalog/catalog.ts';
import type { ChatRequest } from '../../wire/openai/chat.ts';
import { startScriptedServer, type ScriptedServer } from './testing/scripted-server.ts';
import { readFixture, wireConfig, WIRES } from './testing/wires.ts';
import { makeProvider } from './provider-upstream.ts';

/** A deployment's name need not tell what it runs, so the operator can say it. */

let server: ScriptedServer;

beforeEach(() => void (server = startScriptedServer()));
afterEach(() => server.stop());

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
])(
  'the output cap arrives under the name that is right: %j',
  async ({ model, option, form, sent, arrives }) => {
    server.answer(async () => json(await readFixture('azure', 'text.json')));
    const request = { model, messages: [{ role: 'user', content: 'hi' }], ...sent } as ChatRequest;
    await upstream(option === undefined ? {} : { cap_field: option }).chat({ model, form, request, ...CALL });
    const { max_tokens, max_completion_tokens } = server.requests[0]?.body ?? {};
    expect(JSON.stringify({ max_tokens, max_completion_tokens })).toBe(JSON.stringify(arrives));
  },
);

test.each([
  ['our-painter', {}, { imageFormat: 'default' }, undefined],
  ['our-painter', { image_format: 'default' }, undefined, undefined],
  ['our-painter', {}, undefined, 'b64_json'],
  ['gpt-image-2', {}, undefined, undefined],
  ['gpt-image-ours', {}, { imageFormat: 'b64_json' }, 'b64_json'],
] as const)(
  'images of deployment %s with options %j and entry %j are asked for in format %p',
  async (model, options, form, format) => {
    server.answer(async () => json(await readFixture('azure', 'image.json')));
    const request = { model, prompt: 'A fox' };
    await upstream(options).images({ model, form, request, size: '1024x1024', ...CALL });
    expect(server.requests[0]?.body['response_format']).toBe(format);
  },
);

test('a chat’s own response_format is not taken for the format of images', async () => {
  server.answer(async () => json(await readFixture('azure', 'text.json')));
  const form: RequestForm = { imageFormat: 'default' };
  const messages = [{ role: 'user' as const, content: 'hi' }];
  const request = { model: 'm', messages, response_format: { type: 'json_object' } } as ChatRequest;
  await upstream({}).chat({ model: 'm', form, request, ...CALL });
  expect(server.requests[0]?.body['response_format']).toEqual({ type: 'json_object' });
});

const CALL = { signal: new AbortController().signal, requestId: 'req_1' };

function upstream(options: Record<string, string>) {
  const wire = WIRES.find(({ kind }) => kind === 'azure');
  const made =
    wire && makeProvider({ ...wireConfig(wire, server.url), options: new Map(Object.entries(options)) });
  if (!made) throw new Error('no provider azure');
  return made;
}

function json(text: string): Response {
  return new Response(text, { headers: { 'content-type': 'application/json' } });
}
