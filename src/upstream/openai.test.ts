import { describe, expect, test } from 'bun:test';
import { formOfName, RequestForms } from './openai.ts';

describe('what a model’s name tells of the output cap', () => {
  test.each([
    'gpt-5',
    'gpt-5-mini',
    'gpt-5-mini-2025-08-07',
    'gpt-5-chat-latest',
    'gpt-5.1-codex',
    'gpt-6-astra',
    'gpt-6.1-sol',
    'gpt-10',
    'o1',
    'o1-preview-2024-09-12',
    'o3-mini',
    'o4-mini-2025-04-16',
    'GPT-5-Mini',
    'openai/gpt-5-mini',
    'openai/o3',
    'openrouter/openai/gpt-5-mini',
    'openai/gpt-5-mini:free',
    'azure/gpt-5-mini',
    'ft:gpt-5-mini-2025-08-07:team::id',
    'ft:o4-mini-2025-04-16:team:name:id',
  ])('%s takes max_completion_tokens only', (model) => {
    expect(formOfName(model)).toEqual({ capField: 'max_completion_tokens' });
  });

  test.each([
    'gpt-4o',
    'gpt-4o-mini-2024-07-18',
    'gpt-4.1',
    'gpt-4.5-preview',
    'gpt-3.5-turbo',
    'gpt-35-turbo',
    'gpt-50',
    'gpt-5turbo',
    'gpt-oss-120b',
    'openai/gpt-oss-20b',
    'gpt-oss:20b',
    'gpt-audio-mini',
    'chatgpt-4o-latest',
    'ft:gpt-4o-mini-2024-07-18:gpt-5:o3:id',
    'o',
    'oss',
    'o-something-else',
    'o1x',
    'o10-mini',
    'olmo-3',
    'marco-o1',
    'somebody/o1-mini',
    'somebody/gpt-5-distilled',
    'llama3.2',
    'my-gpt-5',
    '',
  ])('%s does not tell', (model) => {
    expect(formOfName(model)).toEqual({});
  });
});

test.each([
  ['gpt-image-1', 'default'],
  ['gpt-image-1-mini', 'default'],
  ['gpt-image-2.5-flare-2026-09-08', 'default'],
  ['chatgpt-image-latest', 'default'],
  ['openai/gpt-image-2', 'default'],
  ['dall-e-3', 'b64_json'],
  ['flux-1', undefined],
  ['stable-image-core', undefined],
] as const)('images of %s are asked for in format %p', (model, format) => {
  expect(formOfName(model).imageFormat).toBe(format);
});

describe('the model’s entry overrides the upstream’s options, and these override the name', () => {
  const options = new Map([
    ['cap_field', 'max_tokens'],
    ['image_format', 'b64_json'],
  ]);
  const plain = new RequestForms(new Map());
  const configured = new RequestForms(options);

  test.each([
    ['gpt-5-mini', plain, undefined, 'max_completion_tokens'],
    ['gpt-5-mini', plain, { capField: 'max_tokens' }, 'max_tokens'],
    ['gpt-5-mini', configured, undefined, 'max_tokens'],
    ['gpt-5-mini', configured, { capField: 'max_completion_tokens' }, 'max_completion_tokens'],
    ['gpt-5-mini', configured, { imageFormat: 'default' }, 'max_tokens'],
    ['any', plain, undefined, undefined],
    ['any', configured, undefined, 'max_tokens'],
  ] as const)('cap of %s', (model, forms, form, cap) => {
    // Twice: the second result comes from the cache, which an entry must not have changed.
    for (let round = 0; round < 2; round++) expect(forms.of({ model, form }).capField).toBe(cap);
  });

  test.each([
    ['gpt-image-2', plain, undefined, 'default'],
    ['gpt-image-2', configured, undefined, 'b64_json'],
    ['gpt-image-2', configured, { imageFormat: 'default' }, 'default'],
    ['any', plain, undefined, undefined],
  ] as const)('image format of %s', (model, forms, form, format) => {
    for (let round = 0; round < 2; round++) expect(forms.of({ model, form }).imageFormat).toBe(format);
  });
});
