import { describe, expect, test } from 'bun:test';
import { parseCatalog } from '../catalog/parse.ts';
import type { ChatRequest } from '../wire/openai/chat.ts';
import type { ChatCall, RelayParts } from './call.ts';
import { inputBound, quoteChatCall } from './chat.ts';

test('a byte is a token, besides attachments, which have their own', () => {
  const size = { characters: 1_000, bytes: 1_300 };
  expect(inputBound(size, 24, { characters: 0, tokens: 0 })).toBe(1_324);
  expect(inputBound(size, 24, { characters: 500, tokens: 70 })).toBe(894);
  expect(inputBound(size, 24, { characters: 5_000, tokens: 70 })).toBe(94);
});

describe('the quote of a chat', () => {
  const catalog = parseCatalog(
    `upstreams: { u: { kind: openai, base_url: "http://127.0.0.1:1/v1" } }
lists:
  l: [{ model: m, input: 1, output: 2, context: 1000, max_output: 100 }]
endpoints: { e: { name: e, type: chat_completion, lists: [l], upstreams: [u] } }`,
    { fileName: 'test', env: {} },
  );
  const parts = { catalog: () => catalog } as unknown as RelayParts;
  const quoteOf = (fields: object, more: Partial<ChatCall> = {}) => {
    const request = { model: 'm', messages: [{ role: 'user', content: 'hi' }], ...fields } as ChatRequest;
    const call = {
      selector: { type: 'chat_completion', code: 'e', model: 'm' },
      request,
      size: { bytes: 100, characters: 100 },
      cap: 'lowered',
      ...more,
    } as unknown as ChatCall;
    return quoteChatCall(call, parts);
  };

  test('holds more for whatever may cost more, each asked for alone', async () => {
    const asked: readonly [object, object | undefined][] = [
      [{}, undefined],
      [{ tools: [{ type: 'web_search', max_uses: 2 }] }, { webSearches: 2 }],
      [{ service_tier: 'priority' }, { serviceTier: 'priority' }],
      [{ modalities: ['audio'] }, { audioOutput: true }],
      [{ web_search_options: {} }, { webSearches: 10 }],
      [{ cache_control: { type: 'ephemeral' } }, { cacheWrite: true }],
    ];
    for (const [fields, extra] of asked)
      expect({ fields, extra: (await quoteOf(fields)).ceiling.extra }).toEqual({ fields, extra });
    const body = { messages: [], cache_control: { type: 'ephemeral', ttl: '1h' } };
    const native = await quoteOf({}, { nativeRequest: { body } });
    expect(native.ceiling.extra).toEqual({ cacheWrite: true, cacheWrite1h: true });
  });

  test('has as many choices as are asked for, and one where none are', async () => {
    expect((await quoteOf({})).ceiling).toMatchObject({ choices: 1, output: 100 });
    expect((await quoteOf({ n: 3, max_tokens: 7 })).ceiling).toMatchObject({ choices: 3, output: 7 });
  });

  test('takes a cap beyond that of the model as that, or refuses it by its name where the client wants no other', async () => {
    expect((await quoteOf({ max_tokens: 200 })).ceiling).toMatchObject({ output: 100 });
    expect((await quoteOf({ max_tokens: 100 }, { cap: 'strict' })).ceiling).toMatchObject({ output: 100 });
    for (const param of ['max_tokens', 'max_completion_tokens']) {
      const refused = async () => await quoteOf({ [param]: 101 }, { cap: 'strict' });
      expect(await refused().catch((error: unknown) => error)).toMatchObject({
        code: 'invalid_field',
        param,
      });
    }
  });

  test('knows whether anything is attached', async () => {
    expect(await quoteOf({})).toMatchObject({ hasAttachments: false });
  });

  test('asks for a count first where more than three bytes to a token would not fit the context', async () => {
    const withBytes = (bytes: number) => quoteOf({}, { size: { bytes, characters: bytes } });
    expect((await withBytes(2_000)).mayBeTooLong).toBe(false);
    expect((await withBytes(4_000)).mayBeTooLong).toBe(true);
  });
});
