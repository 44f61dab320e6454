import { describe, expect, test } from 'bun:test';
import type { Model } from '../catalog/catalog.ts';
import type { ImageAbilities } from '../catalog/image-abilities.ts';
import type { AskedImages, InputPicture } from './call.ts';
import { fitToModel } from './image-request.ts';

/** A request that the model cannot serve is refused with what the model has, before anything is held. */

const ABLE: ImageAbilities = {
  values: { quality: ['low', 'high'], output_format: ['png'] },
  takes: new Set(['seed']),
  maxImages: 4,
  referenceImages: 2,
  mask: true,
  partialImages: 3,
  shapes: [
    { size: '1024x1024', aspectRatio: '1:1', resolution: '1K' },
    { size: '1536x1024', aspectRatio: '3:2', resolution: '1K' },
    { size: '2048x2048', aspectRatio: '1:1', resolution: '2K' },
  ],
};
const NO_ABILITY: ImageAbilities = {
  values: {},
  takes: new Set(),
  maxImages: 1,
  referenceImages: 0,
  mask: false,
  partialImages: 0,
  shapes: [],
};
const SIZES = ['1024x1024', '1536x1024', '2048x2048'];
const picture: InputPicture = { mime: 'image/png', load: () => Promise.reject(new Error('not yet')) };

function fit(asked: Partial<AskedImages>, abilities: ImageAbilities | 'unknown' = ABLE) {
  const model = { sizes: SIZES, ...(abilities !== 'unknown' && { abilities }) } as unknown as Model;
  return fitToModel({ model: 'm', prompt: 'x', ...asked }, model);
}

function refusal(asked: Partial<AskedImages>, abilities?: ImageAbilities) {
  try {
    fit(asked, abilities);
  } catch (fault) {
    return fault as { code: string; param: string; message: string };
  }
  throw new Error('it was not refused');
}

describe('the size', () => {
  test('is the first of the model if none is asked for', () => {
    expect(fit({}).size).toBe('1024x1024');
    expect(fit({ size: 'auto' }).size).toBe('1024x1024');
    expect(fit({ size: '2048x2048' })).toMatchObject({ size: '2048x2048', shape: undefined });
  });

  test('is one of the model’s, or the refusal lists them', () => {
    expect(refusal({ size: '3x3' })).toMatchObject({
      code: 'invalid_field',
      param: 'size',
      message: 'size must be one of 1024x1024, 1536x1024, 2048x2048.',
    });
  });

  test('can be named by its ratio, its resolution, or both', () => {
    expect(fit({ aspect_ratio: '3:2' }).size).toBe('1536x1024');
    expect(fit({ resolution: '2K' }).size).toBe('2048x2048');
    expect(fit({ aspect_ratio: '1:1', resolution: '2K' })).toMatchObject({
      size: '2048x2048',
      shape: { aspectRatio: '1:1', resolution: '2K' },
    });
    expect(fit({ aspect_ratio: '1:1', size: 'auto' }).size).toBe('1024x1024');
  });

  test('named twice, or by a name that the model does not have, is refused with those it has', () => {
    expect(refusal({ aspect_ratio: '1:1', size: '1024x1024' }).message).toBe(
      'size and aspect_ratio both say how large the image is. Use one of them.',
    );
    expect(refusal({ resolution: '1K', size: '1024x1024' }).message).toContain('size and resolution both');
    expect(refusal({ aspect_ratio: '9:16' })).toMatchObject({
      param: 'aspect_ratio',
      message: 'aspect_ratio must be one of 1:1, 3:2.',
    });
    expect(refusal({ aspect_ratio: '3:2', resolution: '2K' }).message).toBe(
      'aspect_ratio must be one of 1:1.',
    );
    expect(refusal({ resolution: '4K', aspect_ratio: '1:1' })).toMatchObject({
      param: 'resolution',
      message: 'resolution must be one of 1K, 2K.',
    });
    expect(refusal({ aspect_ratio: '1:1' }, NO_ABILITY).message).toBe(
      'aspect_ratio is not supported by this model. Use size instead.',
    );
  });
});

describe('what the model can do', () => {
  const LIST = 'n, size, aspect_ratio, resolution, quality, output_format, seed, mask, partial_images';
  test.each<[Partial<AskedImages>, string, string]>([
    [{ quality: 'best' }, 'quality', 'quality must be one of low, high.'],
    [{ style: 'vivid' }, 'style', `style is not supported by this model, which takes ${LIST}.`],
    [
      { negative_prompt: 'no' },
      'negative_prompt',
      `negative_prompt is not supported by this model, which takes ${LIST}.`,
    ],
    [{ output_format: 'gif' }, 'output_format', 'output_format must be one of png.'],
    [{ n: 5 }, 'n', 'n must be at most 4 for this model.'],
    [{ image: [picture, picture, picture] }, 'image', 'This model takes at most 2 images.'],
  ])('is told where %j asks for more', (asked, param, message) => {
    expect(refusal(asked)).toMatchObject({ code: 'invalid_field', param, message });
  });

  test.each<[Partial<AskedImages>, string, string]>([
    [{ image: [picture] }, 'image', 'This model makes images from words only; it takes no images.'],
    [{ mask: picture }, 'mask', 'mask is not supported by this model, which takes n, size.'],
    [{ seed: 1 }, 'seed', 'seed is not supported by this model, which takes n, size.'],
    [{ n: 2 }, 'n', 'n must be at most 1 for this model.'],
  ])('of one that can little is told too: %j', (asked, param, message) => {
    expect(refusal(asked, NO_ABILITY)).toMatchObject({ param, message });
  });

  test('is used to its end', () => {
    const most = {
      quality: 'high',
      seed: 1,
      n: 4,
      image: [picture, picture],
      mask: picture,
      partial_images: 3,
    };
    const { request } = fit(most);
    expect(request).toEqual({
      model: 'm',
      prompt: 'x',
      quality: 'high',
      seed: 1,
      n: 4,
      image: [picture, picture],
      mask: picture,
    });
    expect(fit({ partial_images: 0, n: 1 }, NO_ABILITY).request).toEqual({ model: 'm', prompt: 'x', n: 1 });
  });

  test('where nothing is said about it, the backend decides', () => {
    const { request, convertTo } = fit({ style: 'vivid', n: 9, output_format: 'webp' }, 'unknown');
    expect(request).toMatchObject({ style: 'vivid', n: 9 });
    expect(convertTo).toBeUndefined();
  });
});

describe('what the backend does not get', () => {
  test('“auto” says no more than its absence', () => {
    const { request, convertTo } = fit({ style: 'auto', quality: 'auto', output_format: 'png' });
    expect(JSON.parse(JSON.stringify(request))).toEqual({ model: 'm', prompt: 'x', output_format: 'png' });
    expect(convertTo).toBeUndefined();
  });

  test('a format that it does not make is made from what it makes', () => {
    const { request, convertTo } = fit({ output_format: 'webp' });
    expect(JSON.parse(JSON.stringify(request))).toEqual({ model: 'm', prompt: 'x' });
    expect(convertTo).toBe('webp');
    expect(fit({ output_format: 'png' }).convertTo).toBeUndefined();
  });
});
