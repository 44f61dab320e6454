import type { EmbeddingModelV4 } from '@ai-sdk/provider';
import type { EmbeddingRequest } from '../../wire/openai/embeddings.ts';
import { nextTurn } from '../../std/turns.ts';
import type { EmbeddingAnswer, UpstreamEmbeddingCall } from '../port.ts';
import type { Provider } from './provider.ts';
import { rejected } from '../response.ts';
import { canonicalUsage, count, sum } from './usage.ts';

/** Embeddings in OpenAI's shape, in as many calls as the backend's own limit requires. */
export async function embed(
  open: () => Promise<EmbeddingModelV4>,
  call: UpstreamEmbeddingCall,
  provider: Provider,
): Promise<EmbeddingAnswer> {
  const batches = split(textsOf(call.request), await perCall(await open()));
  const vectors: string[] = [];
  const tokens: (number | undefined)[] = [];
  for (const values of batches) {
    const model = await open();
    const result = await model.doEmbed({
      values,
      abortSignal: call.signal,
      ...dimensionsOf(call.request, provider),
    });
    await nextTurn();
    for (const vector of result.embeddings) vectors.push(itemOf(vector, vectors.length, call.request));
    tokens.push(count(result.usage, 'tokens'));
  }
  return answerOf(vectors, sum(...tokens));
}

function textsOf({ input }: EmbeddingRequest): string[] {
  const texts = typeof input === 'string' ? [input] : input.filter((item) => typeof item === 'string');
  if (typeof input !== 'string' && texts.length !== input.length)
    throw rejected('This model takes text as input, not token numbers.');
  return texts;
}

async function perCall(model: EmbeddingModelV4): Promise<number> {
  return Math.min(MAX_PER_CALL, Math.max(1, (await model.maxEmbeddingsPerCall) ?? MAX_PER_CALL));
}

/** Packages parse an answer in one go, so it may not have more vectors, whatever the backend would take. */
const MAX_PER_CALL = 100;
const MAX_CALLS = 64;

function split(texts: readonly string[], most: number): string[][] {
  if (texts.length > most * MAX_CALLS) throw rejected(`This model takes at most ${most * MAX_CALLS} inputs.`);
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

/** The vectors are text already: written all at once, they would keep others waiting. */
function answerOf(vectors: readonly string[], tokens: number | undefined): EmbeddingAnswer {
  const counted = canonicalUsage({ input: tokens, cached: undefined, output: 0 });
  const usage = counted && { prompt_tokens: counted.prompt_tokens, total_tokens: counted.total_tokens };
  return {
    usage,
    text: (changed) => {
      const rest = JSON.stringify({ ...(usage && { usage }), ...changed });
      return `{"object":"list","data":[${vectors.join()}],${rest.slice(1)}`;
    },
  };
}

function itemOf(vector: number[], index: number, { encoding_format: format }: EmbeddingRequest): string {
  const embedding = format === 'base64' ? base64(vector) : vector;
  return JSON.stringify({ object: 'embedding', index, embedding });
}

/** OpenAI's compact form: little-endian 32-bit floats. */
function base64(vector: readonly number[]): string {
  return Buffer.from(new Float32Array(vector).buffer).toString('base64');
}
