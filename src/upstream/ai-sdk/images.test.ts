import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import type { ImageRequest } from '../../wire/openai/images.ts';
import { UpstreamFailure, type ImageAnswer } from '../port.ts';
import { PNG } from './testing/requests.ts';
import { startScriptedServer, type ScriptedServer } from './testing/scripted-server.ts';
import { readFixture, wireConfig, WIRES } from './testing/wires.ts';
import { makeProvider } from './provider-upstream.ts';

let server: ScriptedServer;

beforeEach(() => {
  server = startScriptedServer();
});

afterEach(() => server.stop());

describe('images', () => {
  test('google: one call per image, the size as the nearest aspect ratio', async () => {
    server.answer(async () => json(await readFixture('google', 'image.json')));
    const { images, usage } = await paint(
      'google',
      'gemini-2.5-flash-image',
      { prompt: 'A fox', n: 2 },
      '1792x1024',
    );
    expectPngs({ images }, 2);
    expect(usage).toEqual({ input_tokens: 18, output_tokens: 2580, total_tokens: 2598 });
    expect(server.requests).toHaveLength(2);
    expect(server.requests[0]?.path).toBe('/v1beta/models/gemini-2.5-flash-image:generateContent');
    expect(server.requests[0]?.body).toMatchObject({
      contents: [{ role: 'user', parts: [{ text: 'A fox' }] }],
      generationConfig: { responseModalities: ['IMAGE'], imageConfig: { aspectRatio: '16:9' } },
    });
  });

  test('bedrock: several images in one call', async () => {
    server.answer(async () => json(await readFixture('bedrock', 'image.json')));
    expectPngs(
      await paint(
        'bedrock',
        'amazon.nova-canvas-v1:0',
        { prompt: 'A fox', n: 2, quality: 'premium' },
        '512x256',
      ),
      2,
    );
    expect(server.requests[0]?.path).toBe('/model/amazon.nova-canvas-v1%3A0/invoke');
    expect(server.requests[0]?.body).toEqual({
      taskType: 'TEXT_IMAGE',
      textToImageParams: { text: 'A fox' },
      imageGenerationConfig: { width: 512, height: 256, numberOfImages: 2, quality: 'premium' },
    });
  });

  test('azure: size and quality are passed on, the revised prompt is returned', async () => {
    server.answer(async () => json(await readFixture('azure', 'image.json')));
    const answer = await paint('azure', 'gpt-image-1', { prompt: 'A fox', quality: 'high' }, '1024x1024');
    expectPngs(answer, 1);
    expect(answer.images[0]?.revisedPrompt).toBe('A red fox in snow.');
    expect(answer.usage).toEqual({ input_tokens: 9, output_tokens: 1056, total_tokens: 1065 });
    expect(server.requests[0]?.body).toEqual({
      model: 'gpt-image-1',
      prompt: 'A fox',
      n: 1,
      size: '1024x1024',
      quality: 'high',
    });
  });

  test('the images that arrived are the answer when another call failed', async () => {
    let calls = 0;
    server.answer(async () =>
      ++calls === 1 ? json(await readFixture('google', 'image.json')) : json('{}', 500),
    );
    expectPngs(await paint('google', 'gemini-2.5-flash-image', { prompt: 'A fox', n: 3 }, '1024x1024'), 1);
  });

  test('without any image it fails like the first call', async () => {
    server.answer(() =>
      json(JSON.stringify({ error: { code: 429, message: 'slow down', status: 'RESOURCE_EXHAUSTED' } }), 429),
    );
    const failure = await paint(
      'google',
      'gemini-2.5-flash-image',
      { prompt: 'A fox', n: 2 },
      '1024x1024',
    ).catch((error: unknown) => error);
    expect(failure).toMatchObject({ kind: 'rate_limited' });
  });

  test('an image withheld by the backend’s filter is a rejected prompt', async () => {
    server.answer(() =>
      json(JSON.stringify({ candidates: [{ finishReason: 'IMAGE_SAFETY', index: 0 }], usageMetadata: {} })),
    );
    const failure = await paint('google', 'gemini-2.5-flash-image', { prompt: 'A fox' }, '1024x1024').catch(
      (error: unknown) => error,
    );
    expect(failure).toMatchObject({ kind: 'rejected', publicMessage: 'The backend refused this prompt.' });
  });

  test.each(['anthropic', 'mistral', 'cohere'])('%s refuses image requests', async (kind) => {
    const failure = await paint(kind, 'any', { prompt: 'A fox' }, '1024x1024').catch(
      (error: unknown) => error,
    );
    expect(failure).toBeInstanceOf(UpstreamFailure);
    expect(failure).toMatchObject({ kind: 'rejected', publicMessage: 'This backend does not make images.' });
  });
});

async function paint(
  kind: string,
  model: string,
  fields: Omit<ImageRequest, 'model'>,
  size: string,
): Promise<ImageAnswer> {
  const wire = WIRES.find((candidate) => candidate.kind === kind);
  const upstream = wire && makeProvider(wireConfig(wire, server.url));
  if (!upstream) throw new Error(`no provider ${kind}`);
  // Spreading a loose type loses its field types.
  const request = { model, ...fields } as ImageRequest;
  return upstream.images({ model, request, size, signal: new AbortController().signal, requestId: 'req_1' });
}

function expectPngs({ images }: ImageAnswer, count: number): void {
  expect(images).toHaveLength(count);
  for (const image of images) {
    expect(image.mime).toBe('image/png');
    expect(Buffer.from(image.bytes).toString('base64')).toBe(PNG);
  }
}

function json(text: string, status = 200): Response {
  return new Response(text, { status, headers: { 'content-type': 'application/json' } });
}
