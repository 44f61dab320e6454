import { describe, expect, test } from 'bun:test';
import type { ImageAbilityList, ModelItem } from '../../../lib/answers.ts';
import { imageFileName } from '../../images/fileName.ts';
import { imageAsCode } from './imageCode.ts';
import { bodyOf, controlsOf, draftOf, sizeOf, withSeed, wrongSize, type ImageDraft } from './order.ts';

const NOTHING: ImageAbilityList = {
  sizes: ['512x512'],
  size_range: null,
  shapes: [],
  max_n: 1,
  quality: [],
  background: [],
  output_format: [],
  output_compression: false,
  moderation: [],
  style: [],
  seed: false,
  negative_prompt: false,
  reference_images: 0,
  mask: false,
  partial_images: 0,
};

function modelWith(abilities: Partial<ImageAbilityList> | null, sizes = ['1024x1024', '512x512']): ModelItem {
  return {
    endpoint: 'e',
    endpointName: 'E',
    type: 'image_generation',
    model: 'm',
    isDemo: false,
    next: null,
    displayName: 'M',
    list: 'l',
    price: { kind: 'images', bySize: [], others: [] },
    free: false,
    contextTokens: 0,
    maxOutput: 0,
    sizes,
    abilities: abilities && { ...NOTHING, ...abilities },
    vision: false,
    files: false,
    tools: false,
    reasoning: false,
    unavailable: null,
  };
}

const ABLE = modelWith({
  shapes: [
    { size: '1024x1024', aspect_ratio: '1:1', resolution: null },
    { size: '1792x1024', aspect_ratio: '16:9', resolution: null },
  ],
  max_n: 4,
  style: ['vivid', 'natural'],
  output_format: ['png'],
  output_compression: true,
  seed: true,
  negative_prompt: true,
  partial_images: 3,
});
const draft = (values: ImageDraft['values'], prompt = 'a gate'): ImageDraft => ({
  choice: 'e m',
  prompt,
  values,
});

describe('the controls of a model', () => {
  test('are those that it has, and no others', () => {
    expect(controlsOf(modelWith({}))).toMatchObject({
      // The server converts to these formats, whatever a model makes.
      lists: [{ field: 'output_format', values: ['png', 'jpeg', 'webp'] }],
      seed: false,
      negativePrompt: false,
      mostImages: 1,
      mostPartials: 0,
      mostReferences: 0,
      mask: false,
    });
    expect(controlsOf(ABLE).lists.map(({ field }) => field)).toEqual([
      'aspect_ratio',
      'style',
      'output_format',
    ]);
    expect(controlsOf(ABLE)).toMatchObject({
      seed: true,
      negativePrompt: true,
      mostImages: 4,
      mostPartials: 3,
    });
  });

  test('say how much is lost only for a format that loses something', () => {
    expect(controlsOf(ABLE, {}).compression).toBe(false);
    expect(controlsOf(ABLE, { output_format: 'jpeg' }).compression).toBe(true);
  });
});

describe('a request', () => {
  test('holds what was chosen, and of the rest only the size and the number', () => {
    expect(bodyOf(draft({}), ABLE)).toEqual({
      endpoint: 'e',
      model: 'm',
      prompt: 'a gate',
      size: '1024x1024',
      n: 1,
    });
    const chosen = { style: 'vivid', n: '3', seed: '7', negative_prompt: 'fog', partial_images: '2' };
    expect(bodyOf(draft(chosen), ABLE)).toMatchObject({ ...chosen, n: 3, seed: 7, partial_images: 2 });
  });

  test('leaves out what another model had and this one has not', () => {
    const chosen = {
      style: 'vivid',
      n: '9',
      seed: '7',
      size: '2048x2048',
      partial_images: '2',
      aspect_ratio: '1:1',
    };
    expect(bodyOf(draft(chosen), modelWith({}))).toEqual({
      endpoint: 'e',
      model: 'm',
      prompt: 'a gate',
      size: '1024x1024',
      n: 1,
    });
  });

  test('names an aspect ratio instead of the size that it stands for', () => {
    const wide = draft({ aspect_ratio: '16:9', size: '512x512' });
    expect(bodyOf(wide, ABLE)).toMatchObject({ aspect_ratio: '16:9' });
    expect(bodyOf(wide, ABLE)).not.toHaveProperty('size');
    expect(sizeOf(wide, ABLE)).toBe('1792x1024');
  });

  test('of a model with a seed always has one, so that it can be repeated', () => {
    expect(withSeed(bodyOf(draft({}), ABLE), ABLE, () => 0.5)['seed']).toBe(2 ** 30);
    expect(withSeed(bodyOf(draft({ seed: '0' }), ABLE), ABLE)['seed']).toBe(0);
    expect(withSeed(bodyOf(draft({}), modelWith({})), modelWith({}))).not.toHaveProperty('seed');
  });

  test('is the same again after it went through the form', () => {
    const body = withSeed(bodyOf(draft({ style: 'natural', n: '2', negative_prompt: 'fog' }), ABLE), ABLE);
    expect(bodyOf(draftOf(body), ABLE)).toEqual(body);
  });
});

test.each([
  ['1024', '512', undefined],
  ['1000', '512', 'step'],
  ['128', '512', 'edge'],
  ['', '512', 'edge'],
  ['2048', '256', 'ratio'],
  ['2048', '2048', 'pixels'],
] as const)('a size of %s × %s is checked before it is sent: %s', (width, height, problem) => {
  const size_range = {
    step: 16,
    min_edge: 256,
    max_edge: 2048,
    max_ratio: 3,
    min_pixels: 1,
    max_pixels: 3_000_000,
  };
  expect(wrongSize(draft({ size: 'custom', width, height }), modelWith({ size_range }))).toBe(problem);
});

test('a file is named after its prompt, and two of the same prompt differ', () => {
  expect(imageFileName('Ein Tor, früh am Morgen / im Nebel, leise', 'img_0123456789', 'image/jpeg')).toBe(
    'ein-tor-fruh-am-morgen-im-456789.jpg',
  );
  expect(imageFileName('…', 'img_abcdef', 'image/webp')).toBe('image-abcdef.webp');
});

test.each(['curl', 'python', 'javascript'] as const)(
  'the code in %s names model, fields and files',
  (dialect) => {
    const body = { ...bodyOf(draft({ seed: '7', style: 'vivid' }, "it's a gate"), ABLE), partial_images: 2 };
    const plain = imageAsCode(dialect, 'https://host', { body, pictures: 0, hasMask: false });
    expect(plain).toContain('e/m');
    expect(plain).toContain('https://host/v1');
    expect(plain).not.toContain('partial_images');
    expect(plain).toContain('7');
    const edit = imageAsCode(dialect, 'https://host', { body, pictures: 2, hasMask: true });
    for (const name of ['picture-1.png', 'picture-2.png', 'mask.png']) expect(edit).toContain(name);
  },
);
