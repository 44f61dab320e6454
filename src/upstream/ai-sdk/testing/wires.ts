import { join } from 'node:path';
import type { UpstreamConfig } from '../../../catalog/catalog.ts';
import type { ChatUsage } from '../../../wire/openai/chat.ts';
import { encodeFrames } from './event-stream.ts';

/** How one provider looks on the wire: its path, and the format of its answers. */
export interface Wire {
  readonly kind: string;
  readonly model: string;
  readonly config: Partial<Pick<UpstreamConfig, 'apiKey'>> & { readonly options?: Record<string, string> };
  readonly path: { readonly whole: string; readonly stream: string; readonly check: string };
  /** The header that carries the key. */
  readonly key: { readonly header: string; readonly value: string };
  readonly streamType: string;
  /** Whether reasoning text is part of its answers. */
  readonly showsReasoning: boolean;
  readonly usage: Readonly<Record<'text' | 'tools' | 'reasoning' | 'cached', ChatUsage>>;
  readonly cap: (body: Record<string, unknown>) => unknown;
  error(status: number, message: string): unknown;
  /** The kind that a failure in the first event of a stream is reported as. */
  readonly firstEventFailure: string;
}

const KEY = 'key-of-the-operator-0123456789';

function usage(prompt: number, completion: number, cached?: number, reasoning?: number): ChatUsage {
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    ...(cached !== undefined && { prompt_tokens_details: { cached_tokens: cached } }),
    ...(reasoning !== undefined && { completion_tokens_details: { reasoning_tokens: reasoning } }),
  };
}

const SSE = 'text/event-stream; charset=utf-8';
const bearer = { header: 'authorization', value: `Bearer ${KEY}` };

export const WIRES: readonly Wire[] = [
  {
    kind: 'anthropic',
    model: 'claude-sonnet-4-5',
    config: { apiKey: KEY },
    path: { whole: '/v1/messages', stream: '/v1/messages', check: '/v1/models?limit=1' },
    key: { header: 'x-api-key', value: KEY },
    streamType: SSE,
    showsReasoning: true,
    usage: {
      text: usage(25, 12, 0),
      tools: usage(472, 89, 0),
      reasoning: usage(25, 40, 0, 30),
      cached: {
        ...usage(1210, 3),
        prompt_tokens_details: { cached_tokens: 1000, cache_write_tokens: 200 },
      },
    },
    cap: (body) => body.max_tokens,
    error: (_, message) => ({ type: 'error', error: { type: 'invalid_request_error', message } }),
    firstEventFailure: 'rate_limited',
  },
  {
    kind: 'google',
    model: 'gemini-2.5-flash',
    config: { apiKey: KEY },
    path: {
      whole: '/v1beta/models/gemini-2.5-flash:generateContent',
      stream: '/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse',
      check: '/v1beta/models?pageSize=1',
    },
    key: { header: 'x-goog-api-key', value: KEY },
    streamType: SSE,
    showsReasoning: true,
    usage: {
      text: usage(25, 12, 0, 0),
      tools: usage(472, 89, 0, 0),
      reasoning: usage(25, 40, 0, 30),
      cached: usage(1210, 3, 1000, 0),
    },
    cap: (body) => (body.generationConfig as Record<string, unknown>).maxOutputTokens,
    error: (status, message) => ({ error: { code: status, message, status: 'ANY' } }),
    firstEventFailure: 'rate_limited',
  },
  {
    kind: 'bedrock',
    model: 'anthropic.claude-sonnet-4-20250514-v1:0',
    config: { apiKey: KEY, options: { region: 'eu-west-1' } },
    path: {
      whole: '/model/anthropic.claude-sonnet-4-20250514-v1%3A0/converse',
      stream: '/model/anthropic.claude-sonnet-4-20250514-v1%3A0/converse-stream',
      check: '/foundation-models',
    },
    key: bearer,
    streamType: 'application/vnd.amazon.eventstream',
    showsReasoning: true,
    usage: {
      text: usage(25, 12, 0),
      tools: usage(472, 89, 0),
      reasoning: usage(25, 40, 0),
      cached: usage(1210, 3, 1000),
    },
    cap: (body) => (body.inferenceConfig as Record<string, unknown>).maxTokens,
    error: (_, message) => ({ message }),
    firstEventFailure: 'rate_limited',
  },
  {
    kind: 'azure',
    model: 'gpt-4.1',
    config: { apiKey: KEY },
    path: {
      whole: '/openai/v1/chat/completions',
      stream: '/openai/v1/chat/completions',
      check: '/openai/v1/models',
    },
    key: { header: 'api-key', value: KEY },
    streamType: SSE,
    showsReasoning: false,
    usage: {
      text: usage(25, 12, 0, 0),
      tools: usage(472, 89, 0, 0),
      reasoning: usage(25, 40, 0, 30),
      cached: usage(1210, 3, 1000, 0),
    },
    cap: (body) => body.max_tokens ?? body.max_completion_tokens,
    error: (_, message) => ({ error: { message, type: 'invalid_request_error', param: null, code: null } }),
    firstEventFailure: 'rate_limited',
  },
  {
    kind: 'mistral',
    model: 'mistral-large-latest',
    config: { apiKey: KEY },
    path: { whole: '/v1/chat/completions', stream: '/v1/chat/completions', check: '/v1/models' },
    key: bearer,
    streamType: SSE,
    showsReasoning: true,
    usage: {
      text: usage(25, 12),
      tools: usage(472, 89),
      reasoning: usage(25, 40, undefined, 30),
      cached: usage(1210, 3, 1000),
    },
    cap: (body) => body.max_tokens,
    error: (_, message) => ({
      object: 'error',
      message,
      type: 'invalid_request_error',
      param: null,
      code: null,
    }),
    firstEventFailure: 'protocol',
  },
  {
    kind: 'cohere',
    model: 'command-a-03-2025',
    config: { apiKey: KEY },
    path: { whole: '/v2/chat', stream: '/v2/chat', check: '/v1/models?page_size=1' },
    key: bearer,
    streamType: SSE,
    showsReasoning: true,
    usage: {
      text: usage(25, 12),
      tools: usage(472, 89),
      reasoning: usage(25, 40),
      cached: usage(1210, 3, 1000),
    },
    cap: (body) => body.max_tokens,
    error: (_, message) => ({ id: 'e1', message }),
    firstEventFailure: 'protocol',
  },
];

export function wireConfig(wire: Wire, baseUrl: string): UpstreamConfig {
  return {
    name: `my-${wire.kind}`,
    kind: wire.kind,
    baseUrl,
    apiKey: wire.config.apiKey,
    headers: new Map([['x-operator', 'tollgate']]),
    timeouts: { firstByteMs: 5_000, idleMs: 5_000, totalMs: 10_000 },
    options: new Map(Object.entries(wire.config.options ?? {})),
  };
}

export async function readFixture(kind: string, name: string): Promise<string> {
  return Bun.file(join(import.meta.dir, kind, name)).text();
}

/** The bytes of a recorded stream as the provider would send them. */
export async function streamFixture(wire: Wire, name: string): Promise<Uint8Array<ArrayBuffer>> {
  const framed = wire.streamType !== SSE;
  const text = await readFixture(wire.kind, `${name}.${framed ? 'jsonl' : 'sse'}`);
  return framed ? new Uint8Array(encodeFrames(text)) : new TextEncoder().encode(text);
}
