import { join } from 'node:path';
import { encodeFrames } from '../../../src/upstream/ai-sdk/testing/event-stream.ts';

/** How one provider's recorded answers look on the wire. */
export interface Wire {
  readonly kind: string;
  readonly model: string;
  readonly streamType: string;
  error(status: number, message: string): unknown;
}

const SSE = 'text/event-stream; charset=utf-8';

export const WIRES: readonly Wire[] = [
  {
    kind: 'anthropic',
    model: 'claude-sonnet-4-5',
    streamType: SSE,
    error: (_, message) => ({ type: 'error', error: { type: 'invalid_request_error', message } }),
  },
  {
    kind: 'google',
    model: 'gemini-2.5-flash',
    streamType: SSE,
    error: (status, message) => ({ error: { code: status, message, status: 'ANY' } }),
  },
  {
    kind: 'bedrock',
    model: 'anthropic.claude-sonnet-4-20250514-v1:0',
    streamType: 'application/vnd.amazon.eventstream',
    error: (_, message) => ({ message }),
  },
  {
    kind: 'azure',
    model: 'gpt-4.1',
    streamType: SSE,
    error: (_, message) => ({ error: { message, type: 'invalid_request_error', param: null, code: null } }),
  },
  {
    kind: 'mistral',
    model: 'mistral-large-latest',
    streamType: SSE,
    error: (_, message) => ({
      object: 'error',
      message,
      type: 'invalid_request_error',
      param: null,
      code: null,
    }),
  },
  {
    kind: 'cohere',
    model: 'command-a-03-2025',
    streamType: SSE,
    error: (_, message) => ({ id: 'e1', message }),
  },
];

export async function readFixture(kind: string, name: string): Promise<string> {
  return Bun.file(join(import.meta.dir, kind, name)).text();
}

/** The bytes of a recorded stream as the provider would send them. */
export async function streamFixture(wire: Wire, name: string): Promise<Uint8Array<ArrayBuffer>> {
  const framed = wire.streamType !== SSE;
  const text = await readFixture(wire.kind, `${name}.${framed ? 'jsonl' : 'sse'}`);
  return framed ? new Uint8Array(encodeFrames(text)) : new TextEncoder().encode(text);
}
