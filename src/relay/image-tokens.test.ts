import { expect, test } from 'bun:test';
import { countImageOutput } from './image-tokens.ts';

/** By quality, then for 1024×1024, 1024×1536 and 1536×1024: https://platform.openai.com/docs/guides/image-generation */
test.each([
  ['low', 272, 408, 400],
  ['medium', 1056, 1584, 1568],
  ['high', 4160, 6240, 6208],
])(
  'an image of %s quality has as many tokens as OpenAI publishes',
  (quality, square, portrait, landscape) => {
    const tokens = (size: string) =>
      countImageOutput({ images: 2, partialImages: 3, size, quality, maxOutput: 10_000 });
    expect(tokens('1024x1024')).toBe(2 * square + 300);
    expect(tokens('1024x1536')).toBe(2 * portrait + 300);
    expect(tokens('1536x1024')).toBe(2 * landscape + 300);
  },
);

test('an image that is in no table has as many as the model declares, and no image has more', () => {
  const one = { images: 1, partialImages: 0, maxOutput: 300 };
  expect(countImageOutput({ ...one, size: '640x480', quality: 'low' })).toBe(300);
  expect(countImageOutput({ ...one, size: '1024x1024', quality: undefined })).toBe(300);
  expect(countImageOutput({ ...one, size: '1024x1024', quality: 'low' })).toBe(272);
  expect(countImageOutput({ ...one, size: '1024x1024', quality: 'high' })).toBe(300);
});
