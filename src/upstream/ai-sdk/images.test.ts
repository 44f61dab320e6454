import { afterEach, beforeEach, expect, test } from 'bun:test';
import type { ImageRequest } from '../../wire/openai/images.ts';
import { UpstreamFailure, type ImageAnswer } from '../port.ts';
import { testedConfig, testedKind } from './testing/kinds.ts';
import { PNG } from './testing/requests.ts';
import { startScriptedServer, type ScriptedServer } from './testing/scripted-server.ts';
import { makeProvider } from './provider-upstream.ts';

/** Images of Google's, whole and in part, are tried with all other backends of images in `test/matrix`. */

let server: ScriptedServer;

beforeEach(() => {
  server = startScriptedServer();
});

afterEach(() => server.stop());

test('bedrock: several images in one call', async () => {
  server.answer(() => Response.json({ images: [PNG, PNG] }));
  const { images } = await paint(
    'bedrock',
    'amazon.nova-canvas-v1:0',
    { n: 2, quality: 'premium' },
    '512x256',
  );
  expect(images.map(base64Of)).toEqual([PNG, PNG]);
  expect(server.requests[0]?.path).toBe('/model/amazon.nova-canvas-v1%3A0/invoke');
  expect(server.requests[0]?.body).toEqual({
    taskType: 'TEXT_IMAGE',
    textToImageParams: { text: 'A fox' },
    imageGenerationConfig: { width: 512, height: 256, numberOfImages: 2, quality: 'premium' },
  });
});

test('azure: size and quality are passed on, the revised prompt is returned', async () => {
  const usage = { input_tokens: 9, output_tokens: 1056, total_tokens: 1065 };
  const data = [{ b64_json: PNG, revised_prompt: 'A red fox in snow.' }];
  server.answer(() => Response.json({ created: 1_718_000_000, data, usage }));
  const answer = await paint('azure', 'gpt-image-1', { quality: 'high' }, '1024x1024');
  expect(answer.images.map(base64Of)).toEqual([PNG]);
  expect(answer.images[0]?.revisedPrompt).toBe('A red fox in snow.');
  expect(answer.usage).toEqual(usage);
  expect(server.requests[0]?.body).toEqual({
    model: 'gpt-image-1',
    prompt: 'A fox',
    n: 1,
    size: '1024x1024',
    quality: 'high',
  });
});

test.each(['anthropic', 'mistral', 'cohere'])('%s refuses image requests', async (kind) => {
  const failure = await paint(kind, 'any', {}, '1024x1024').catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(UpstreamFailure);
  expect(failure).toMatchObject({ kind: 'rejected', publicMessage: 'This backend does not make images.' });
});

async function paint(
  kind: string,
  model: string,
  fields: Partial<ImageRequest>,
  size: string,
): Promise<ImageAnswer> {
  const upstream = makeProvider(testedConfig(testedKind(kind), server.url));
  if (!upstream) throw new Error(`no provider ${kind}`);
  // Spreading a loose type loses its field types.
  const request = { model, prompt: 'A fox', ...fields } as ImageRequest;
  return upstream.images({ model, request, size, signal: new AbortController().signal, requestId: 'req_1' });
}

function base64Of({ bytes }: ImageAnswer['images'][number]): string {
  return Buffer.from(bytes).toString('base64');
}
