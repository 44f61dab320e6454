import { describe, expect, test } from 'bun:test';
import type { EndpointType } from './catalog.ts';
import { findRoute } from './find.ts';
import { parseCatalog } from './parse.ts';

const CATALOG = parseCatalog(
  `upstreams: { house: { kind: house } }
lists:
  shared: [{ model: shared, free: true }]
  own: [{ model: own, free: true }, { model: vendor/own, free: true }, { model: chat/odd, free: true }]
  paint: [{ model: paint, free: true, sizes: [64x64] }, { model: shared, free: true, sizes: [64x64] }]
  vectors: [{ model: vector, input: 0.02, output: 0 }]
endpoints:
  chat: { name: Chat, type: chat_completion, lists: [shared, own], upstreams: [house] }
  chat2: { name: Chat 2, type: chat_completion, lists: [shared], upstreams: [house] }
  draw: { name: Draw, type: image_generation, lists: [paint], upstreams: [house] }
  embed: { name: Embed, type: embedding, lists: [vectors], upstreams: [house] }
  closed: { name: Closed, type: chat_completion, lists: [own], upstreams: [house], unavailable: Set SOME_KEY. }
aliases: { gpt-4o: chat2/shared, short: chat/vendor/own }
`,
  { fileName: 'test', env: {} },
);

function find(name: string, type: EndpointType = 'chat_completion'): string {
  const { endpoint, model } = findRoute(CATALOG, name, type);
  return `${endpoint.code} ${model.id}`;
}

describe('a model name of a /v1 client', () => {
  test.each([
    ['chat2/shared', 'chat2 shared'],
    ['own', 'chat own'],
    ['vendor/own', 'chat vendor/own'],
    ['chat/vendor/own', 'chat vendor/own'],
    ['chat/odd', 'chat chat/odd'],
    ['chat/chat/odd', 'chat chat/odd'],
    ['gpt-4o', 'chat2 shared'],
    ['short', 'chat vendor/own'],
  ])('%s finds %s', (name, found) => {
    expect(find(name)).toBe(found);
  });

  test('a bare name is looked up among endpoints of the requested kind', () => {
    expect(find('shared', 'image_generation')).toBe('draw shared');
    expect(find('vector', 'embedding')).toBe('embed vector');
  });

  test.each([
    [
      'shared',
      'chat_completion',
      'unsupported_model',
      "Several endpoints have 'shared'; ask for one of: chat/shared, chat2/shared.",
    ],
    [
      'nothing',
      'chat_completion',
      'unsupported_model',
      "There is no model 'nothing'. Ask for one from the model list, such as 'chat/shared'.",
    ],
    ['paint', 'chat_completion', 'unsupported_model', "Model 'paint' is for another kind of request."],
    [
      'draw/paint',
      'chat_completion',
      'unsupported_endpoint',
      "Endpoint 'draw' does not do chat completions.",
    ],
    ['chat/nothing', 'chat_completion', 'unsupported_model', "Endpoint 'chat' has no model 'nothing'."],
    ['closed/own', 'chat_completion', 'unsupported_endpoint', 'Set SOME_KEY.'],
    [
      '',
      'chat_completion',
      'unsupported_model',
      "There is no model ''. Ask for one from the model list, such as 'chat/shared'.",
    ],
  ] as const)('%s for %s is refused as %s', (name, type, code, message) => {
    expect(() => find(name, type)).toThrow(expect.objectContaining({ code, message }));
  });

  test('a name of any length gives a short message', () => {
    expect(() => find('x'.repeat(100_000))).toThrow(
      expect.objectContaining({ message: expect.stringMatching(/^.{1,300}$/s) }),
    );
  });
});
