import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import type { EmbeddingRequest } from '../../wire/openai/embeddings.ts';
import { startScriptedServer, type Received, type ScriptedServer } from './testing/scripted-server.ts';
import { TESTED_KINDS, testedConfig } from './testing/kinds.ts';
import { makeProvider } from './provider-upstream.ts';

let server: ScriptedServer;

beforeEach(() => {
  server = startScriptedServer();
});

afterEach(() => server.stop());

interface EmbeddingWire {
  readonly kind: string;
  readonly model: string;
  /** The backend's answer to as many texts as the request has, one vector each. */
  answer(request: Received): unknown;
  readonly sent: unknown;
  readonly tokens: number | undefined;
}

const vectors = (texts: unknown): number[][] => (texts as unknown[]).map((_, index) => [index, 0.5]);

const EMBEDDING_WIRES: readonly EmbeddingWire[] = [
  {
    kind: 'azure',
    model: 'text-embedding-3-small',
    answer: ({ body }) => ({
      data: vectors(body.input).map((embedding) => ({ embedding })),
      usage: { prompt_tokens: 8 },
    }),
    sent: { model: 'text-embedding-3-small', input: ['a', 'b'], encoding_format: 'float', dimensions: 256 },
    tokens: 8,
  },
  {
    kind: 'mistral',
    model: 'mistral-embed',
    answer: ({ body }) => ({
      data: vectors(body.input).map((embedding) => ({ embedding })),
      usage: { prompt_tokens: 8 },
    }),
    sent: { model: 'mistral-embed', input: ['a', 'b'], encoding_format: 'float', output_dimension: 256 },
    tokens: 8,
  },
  {
    kind: 'cohere',
    model: 'embed-v4.0',
    answer: ({ body }) => ({
      embeddings: { float: vectors(body.texts) },
      meta: { billed_units: { input_tokens: 8 } },
    }),
    sent: {
      model: 'embed-v4.0',
      texts: ['a', 'b'],
      embedding_types: ['float'],
      input_type: 'search_query',
      output_dimension: 256,
    },
    tokens: 8,
  },
  {
    kind: 'google',
    model: 'gemini-embedding-001',
    answer: ({ body }) => ({ embeddings: vectors(body.requests).map((values) => ({ values })) }),
    sent: {
      requests: ['a', 'b'].map((text) => ({
        model: 'models/gemini-embedding-001',
        content: { role: 'user', parts: [{ text }] },
        outputDimensionality: 256,
      })),
    },
    tokens: undefined,
  },
];

describe('embeddings', () => {
  test.each(EMBEDDING_WIRES.map((wire) => [wire.kind, wire] as const))(
    '%s: vectors in order, with the backend’s count',
    async (_, wire) => {
      server.answer((request) => Response.json(wire.answer(request)));
      const answer = await embed(wire, { input: ['a', 'b'], dimensions: 256 });
      expect(answer).toEqual({
        object: 'list',
        model: wire.model,
        data: [
          { object: 'embedding', index: 0, embedding: [0, 0.5] },
          { object: 'embedding', index: 1, embedding: [1, 0.5] },
        ],
        ...(wire.tokens !== undefined && {
          usage: { prompt_tokens: wire.tokens, total_tokens: wire.tokens },
        }),
      });
      expect(server.requests[0]?.body).toEqual(wire.sent as Record<string, unknown>);
    },
  );

  test('more inputs than one call accepts are sent in several calls, and the counts add up', async () => {
    const wire = wireOf('mistral');
    server.answer((request) => Response.json(wire.answer(request)));
    const answer = await embed(wire, { input: Array.from({ length: 320 }, String) });
    expect(server.requests).toHaveLength(10);
    expect(answer.data.length).toBe(320);
    expect(answer.data[319]?.index).toBe(319);
    expect(answer.usage).toEqual({ prompt_tokens: 80, total_tokens: 80 });
  });

  test('a package is never given more vectors in one answer than it can parse without keeping others waiting', async () => {
    const wire = wireOf('azure');
    server.answer((request) => Response.json(wire.answer(request)));
    const answer = await embed(wire, { input: Array.from({ length: 250 }, String) });
    expect(server.requests).toHaveLength(3);
    expect(answer.data.map(({ index }) => index)).toEqual(Array.from({ length: 250 }, (_, index) => index));
  });

  test('base64 is OpenAI’s little-endian floats', async () => {
    const wire = wireOf('mistral');
    server.answer((request) => Response.json(wire.answer(request)));
    const { data } = await embed(wire, { input: 'a', encoding_format: 'base64' });
    expect([
      ...new Float32Array(new Uint8Array(Buffer.from(String(data[0]?.embedding), 'base64')).buffer),
    ]).toEqual([0, 0.5]);
  });

  test('token numbers are refused, and so are requests to a backend without embeddings', async () => {
    expect(await embed(wireOf('mistral'), { input: [1, 2] }).catch((error: unknown) => error)).toMatchObject({
      kind: 'rejected',
    });
    const none = { ...wireOf('mistral'), kind: 'anthropic' };
    expect(await embed(none, { input: 'a' }).catch((error: unknown) => error)).toMatchObject({
      kind: 'rejected',
      publicMessage: 'This backend has no embeddings.',
    });
  });
});

function wireOf(kind: string): EmbeddingWire {
  const wire = EMBEDDING_WIRES.find((candidate) => candidate.kind === kind);
  if (!wire) throw new Error(`no wire ${kind}`);
  return wire;
}

interface Answer {
  readonly object: string;
  readonly model: string;
  readonly data: { readonly object: string; readonly index: number; readonly embedding: unknown }[];
  readonly usage?: unknown;
}

async function embed(wire: EmbeddingWire, fields: Omit<EmbeddingRequest, 'model'>): Promise<Answer> {
  const kind = TESTED_KINDS.find((one) => one.kind === wire.kind);
  const upstream = kind && makeProvider(testedConfig(kind, server.url));
  // Spreading a loose type loses its field types.
  const request = { model: wire.model, ...fields } as EmbeddingRequest;
  const answer = await upstream?.embed?.({
    model: wire.model,
    request,
    signal: new AbortController().signal,
    requestId: 'r',
  });
  return JSON.parse(answer?.text({ model: wire.model }) ?? '') as Answer;
}
