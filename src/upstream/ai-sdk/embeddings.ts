import type { EmbeddingModelV4 } from '@ai-sdk/provider';
import type { EmbeddingRequest } from '../../wire/openai/embeddings.ts';
import type { UpstreamEmbeddingCall } from '../port.ts';
import type { Provider } from './provider.ts';
import { rejected } from '../response.ts';
import { canonicalUsage, count, sum } from './usage.ts';

/** Embeddings in OpenAI's shape, in as many calls as the backend's own limit requires. */
export async function embed(
  open: () => Promise<EmbeddingModelV4>,
  call: UpstreamEmbeddingCall,
  provider: Provider,
): Promise<Uint8Array> {
  const batches = split(textsOf(call.request), await perCall(await open()));
  const vectors: number[][] = [];
  const tokens: (number | undefined)[] = [];
  for (const values of batches) {
    const model = await open();
    const result = await model.doEmbed({
      values,
      abortSignal: call.signal,
      ...dimensionsOf(call.request, provider),
    });
    vectors.push(...result.embeddings);
    tokens.push(count(result.usage, 'tokens'));
  }
  return new TextEncoder().encode(JSON.stringify(answerOf(call, vectors, sum(...tokens))));
}

function textsOf({ input }: EmbeddingRequest): string[] {
  const texts = typeof input === 'string' ? [input] : input.filter((item) => typeof item === 'string');
  if (typeof input !== 'string' && texts.length !== input.length)
    throw rejected('This model takes text as input, not token numbers.');
  return texts;
}

async function perCall(model: EmbeddingModelV4): Promise<number> {
  return Math.max(1, (await model.maxEmbeddingsPerCall) ?? MAX_PER_CALL);
}

const MAX_PER_CALL = 2048;
const MAX_CALLS = 64;

function split(texts: readonly string[], most: number): string[][] {
  if (texts.length > most * MAX_CALLS)
    throw rejected(`This model takes at most ${most * MAX_CALLS} inputs at once.`);
  return Array.from({ length: Math.ceil(texts.length / most) }, (_, index) =>
    texts.slice(index * most, (index + 1) * most),
  );
}

/** Not every package accepts the standard field yet; some have it only as an option of their own. */
function dimensionsOf(
  { dimensions }: EmbeddingRequest,
  provider: Provider,
): Partial<Parameters<EmbeddingModelV4['doEmbed']>[0]> {
  if (dimensions === undefined) return {};
  const { dimensionsOption, namespace } = provider;
  return {
    dimensions,
    ...(dimensionsOption !== undefined && {
      providerOptions: { [namespace]: { [dimensionsOption]: dimensions } },
    }),
  };
}

function answerOf(
  { model, request }: UpstreamEmbeddingCall,
  vectors: readonly number[][],
  tokens: number | undefined,
): unknown {
  const asBase64 = request.encoding_format === 'base64';
  const data = vectors.map((vector, index) => ({
    object: 'embedding',
    index,
    embedding: asBase64 ? base64(vector) : vector,
  }));
  const usage = canonicalUsage({ input: tokens, cached: undefined, output: 0 });
  return {
    object: 'list',
    data,
    model,
    ...(usage && { usage: { prompt_tokens: usage.prompt_tokens, total_tokens: usage.total_tokens } }),
  };
}

/** OpenAI's compact form: little-endian 32-bit floats. */
function base64(vector: readonly number[]): string {
  return Buffer.from(new Float32Array(vector).buffer).toString('base64');
}
