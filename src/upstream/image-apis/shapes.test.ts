import { expect, test } from 'bun:test';
import type { ImageRequest } from '../../wire/openai/images.ts';
import { bfl } from './bfl.ts';
import { fal } from './fal.ts';
import type { ImageApi } from './image-api.ts';
import { imagen } from './imagen.ts';
import { replicate } from './replicate.ts';
import { stability } from './stability.ts';

/** A ratio that a client asks for by its name reaches the backend, also where the size that is sold for it has another. */

const request = { model: 'm', prompt: 'a gate' } as ImageRequest;

function ratioAt(api: ImageApi, model: string, aspectRatio?: string): unknown {
  const size = '1024x640';
  const call = { model, request, size, shape: aspectRatio === undefined ? undefined : { size, aspectRatio } };
  const sent = api.request({ ...call, options: new Map(), isResumable: false }, 1);
  const json = (sent.json ?? {}) as Record<string, Record<string, unknown>>;
  return (
    json['aspect_ratio'] ??
    json['input']?.['aspect_ratio'] ??
    json['parameters']?.['aspectRatio'] ??
    sent.form?.get('aspect_ratio')
  );
}

test.each([
  ['bfl', bfl, 'flux-pro-1.1-ultra', '8:5'],
  ['fal', fal, 'fal-ai/flux-pro/v1.1-ultra', '3:2'],
  ['imagen', imagen, 'imagen-4.0-generate-001', '16:9'],
  ['replicate', replicate, 'black-forest-labs/flux-dev', '3:2'],
  ['stability', stability, 'stable-image-core', '3:2'],
])('%s', (_, api, model, nearest) => {
  expect(ratioAt(api, model)).toBe(nearest);
  expect(ratioAt(api, model, '16:9')).toBe('16:9');
  expect(ratioAt(api, model, '1:1')).toBe('1:1');
});
