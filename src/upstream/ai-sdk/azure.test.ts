import { afterEach, beforeEach, expect, test } from 'bun:test';
import { testedConfig, testedKind } from './testing/kinds.ts';
import { startScriptedServer, type ScriptedServer } from './testing/scripted-server.ts';
import { makeProvider } from './provider-upstream.ts';

let server: ScriptedServer;

beforeEach(() => void (server = startScriptedServer()));
afterEach(() => server.stop());

test.each([
  ['our-painter', {}, { imageFormat: 'default' }, undefined],
  ['our-painter', { image_format: 'default' }, undefined, undefined],
  ['our-painter', {}, undefined, 'b64_json'],
  ['gpt-image-2', {}, undefined, undefined],
  ['gpt-image-ours', {}, { imageFormat: 'b64_json' }, 'b64_json'],
] as const)(
  'images of deployment %s with options %j and entry %j are asked for in format %p',
  async (model, options, form, format) => {
    const call = { request: { model, prompt: 'A fox' }, size: '1024x1024', requestId: 'req_1', signal };
    await upstream(options)
      ?.images({ model, form, ...call })
      .catch(() => undefined);
    expect(server.requests[0]?.body['response_format']).toBe(format);
  },
);

test('with the older addresses its list of models has a version', async () => {
  server.answer(() => Response.json({ data: [] }));
  expect(await upstream({ deployment_urls: 'true' })?.check(signal)).toMatchObject({ ok: true });
  expect(server.requests.map(({ path }) => path)).toEqual(['/openai/models?api-version=2024-10-21']);
});

const { signal } = new AbortController();

function upstream(options: Record<string, string>) {
  const config = testedConfig(testedKind('azure'), server.url);
  return makeProvider({ ...config, options: new Map(Object.entries(options)) });
}
