import { describe, expect, test } from 'bun:test';
import { inProcessCounter } from '../tokenizer/testing/in-process-counter.ts';
import type { ImageCall, RelayParts } from './call.ts';
import { countImageInput, countImageOutput } from './image-tokens.ts';

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

/** As much of a PNG as tells its size. */
function picture(width: number, height: number): Uint8Array {
  const bytes = Buffer.alloc(24);
  bytes.write('\x89PNG', 0, 'latin1');
  bytes.write('IHDR', 12, 'latin1');
  bytes.writeUInt32BE(width, 16);
  bytes.writeUInt32BE(height, 20);
  return bytes;
}

describe('a picture of the input counts 65 tokens and 129 for each tile of 512 pixels', () => {
  const tokens = async (...sizes: [number, number][]): Promise<number> => {
    const image = sizes.map(([width, height]) => ({ load: async () => picture(width, height) }));
    const call = { request: { prompt: 'x', image }, caller: { kind: 'account', id: 'acc_1' } };
    const parts = { tokens: inProcessCounter, countWaitMs: 50 } as unknown as RelayParts;
    return (await countImageInput(call as unknown as ImageCall, {} as never, parts)).pictures;
  };

  test.each<[number, number, number]>([
    [1, 1, 1],
    [512, 512, 1],
    [1_024, 256, 2],
    [1_025, 512, 3],
    [512, 1_025, 3],
  ])('of %d × %d as it is', async (width, height, tiles) => {
    expect(await tokens([width, height])).toBe(65 + 129 * tiles);
  });

  test.each<[number, number, number]>([
    [4_000, 4_000, 1],
    [2_048, 1_024, 2],
    [1_024, 2_049, 3],
  ])('of %d × %d after its shorter side was scaled to 512', async (width, height, tiles) => {
    expect(await tokens([width, height])).toBe(65 + 129 * tiles);
  });

  test('of one whose size cannot be read, as of one tile', async () => {
    expect(await tokens([0, 0])).toBe(65 + 129);
  });

  test('and several count as many times', async () => {
    expect(await tokens([512, 512], [1_024, 512])).toBe(2 * 65 + 3 * 129);
  });
});
