import { afterAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ChatChunk, ChatCompletion, ChatRequest } from '../../wire/openai/chat.ts';
import { eventData } from '../testing/event-data.ts';
import { UpstreamFailure, type ChatAnswer, type Upstream } from '../port.ts';
import { makeGguf } from './gguf.ts';
import type { LlamaChunk, LlamaGenerateOptions, LlamaHistoryItem, LlamaPackage } from './llama.ts';

const folder = mkdtempSync(join(tmpdir(), 'tollgate-gguf-'));
const path = join(folder, 'tiny.gguf');
writeFileSync(path, 'GGUF');

afterAll(() => rmSync(folder, { recursive: true }));

const REQUEST: ChatRequest = {
  model: 'any',
  messages: [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'Hi' },
  ],
  max_tokens: 20,
  temperature: 0.3,
  stop: 'END',
};

/** Messages are one token a word and eight for the template: 2 + 8 and 1 + 8. */
const INPUT = 19;

describe('a local GGUF model', () => {
  test('without node-llama-cpp, check and chat say what to install', async () => {
    const upstream = makeGguf(config({ path }));
    expect(await upstream.check(quiet())).toMatchObject({
      ok: false,
      detail: expect.stringContaining('npm install node-llama-cpp'),
    });
    const failure = await ask(upstream, REQUEST).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(UpstreamFailure);
    expect(failure).toMatchObject({
      kind: 'connect',
      message: expect.stringContaining('npm install node-llama-cpp'),
    });
  });

  test('check looks for the file without loading it', async () => {
    const llama = scriptedLlama(['never']);
    expect(await makeGguf(config({}), llama).check(quiet())).toMatchObject({
      ok: false,
      detail: 'options.path is not set',
    });
    const missing = await makeGguf(config({ path: join(folder, 'none.gguf') }), llama).check(quiet());
    expect(missing).toMatchObject({ ok: false, detail: expect.stringContaining('there is no file') });
    expect(await makeGguf(config({ path }), llama).check(quiet())).toMatchObject({ ok: true });
    expect(llama.loads).toEqual([]);
  });

  test('a whole answer with thoughts, finish and the model’s own token counts', async () => {
    const llama = scriptedLlama([
      { type: 'segment', segmentType: 'thought', text: 'Hm.', tokens: [1] },
      'Hello',
      ' you',
    ]);
    const completion = await whole(
      await ask(
        makeGguf(config({ path, context_size: '64', threads: '2', gpu_layers: '0' }), llama),
        REQUEST,
      ),
    );
    expect(completion).toMatchObject({
      object: 'chat.completion',
      choices: [
        {
          message: { role: 'assistant', content: 'Hello you', reasoning_content: 'Hm.' },
          finish_reason: 'stop',
        },
      ],
      usage: { prompt_tokens: INPUT, completion_tokens: 3, total_tokens: INPUT + 3 },
    });
    expect(llama.loads).toEqual([{ modelPath: path, gpuLayers: 0, contextSize: 64, threads: 2 }]);
    expect(llama.calls[0]?.history).toEqual([
      { type: 'system', text: 'Be brief.' },
      { type: 'user', text: 'Hi' },
      { type: 'model', response: [] },
    ]);
    expect(llama.calls[0]?.options).toMatchObject({
      maxTokens: 20,
      temperature: 0.3,
      customStopTriggers: ['END'],
    });
  });

  test('a stream sends each piece as it comes and ends in usage and [DONE]', async () => {
    const llama = scriptedLlama(['Hello', ' you'], 'maxTokens');
    const answer = await ask(makeGguf(config({ path }), llama), { ...REQUEST, stream: true });
    const events = await eventData(answer);
    expect(events.at(-1)).toBe('[DONE]');
    const chunks = events.slice(0, -1).map((data) => JSON.parse(data) as ChatChunk);
    expect(chunks.map(({ choices }) => choices[0]?.delta.content)).toEqual([
      'Hello',
      ' you',
      undefined,
      undefined,
    ]);
    expect(chunks[2]?.choices[0]?.finish_reason).toBe('length');
    expect(chunks[3]?.usage).toMatchObject({ prompt_tokens: INPUT, completion_tokens: 2 });
  });

  test('the model is loaded once, and a failed load is retried', async () => {
    const llama = scriptedLlama(['Hi']);
    llama.failLoads = 1;
    const upstream = makeGguf(config({ path }), llama);
    expect(await ask(upstream, REQUEST).catch((error: unknown) => error)).toMatchObject({ kind: 'connect' });
    await ask(upstream, REQUEST);
    await ask(upstream, REQUEST);
    expect(llama.loads).toHaveLength(2);
  });

  test('one generation at a time; the queue is bounded, and a client that leaves it frees its place', async () => {
    const llama = scriptedLlama(['Hi']);
    const gate = Promise.withResolvers<void>();
    llama.gate = gate.promise;
    const upstream = makeGguf(config({ path }), llama);
    const patience = new AbortController();
    const running = ask(upstream, REQUEST);
    const leaving = ask(upstream, REQUEST, patience.signal).catch((error: unknown) => error);
    const waiting = Array.from({ length: 7 }, () => ask(upstream, REQUEST));
    expect(await ask(upstream, REQUEST).catch((error: unknown) => error)).toMatchObject({
      kind: 'rate_limited',
      retryAfterMs: 5000,
    });
    patience.abort(new UpstreamFailure('timeout', 'no patience'));
    expect(await leaving).toMatchObject({ kind: 'timeout' });
    waiting.push(ask(upstream, REQUEST));
    gate.resolve();
    await Promise.all([running, ...waiting]);
    expect(llama.mostAtOnce).toBe(1);
    expect(llama.calls).toHaveLength(9);
  });

  test('when the client leaves a stream, generation stops and the next has its turn', async () => {
    const llama = scriptedLlama(['Hello', ' you']);
    llama.gate = new Promise<void>(() => undefined);
    llama.gateAfter = 1;
    const upstream = makeGguf(config({ path }), llama);
    const answer = await ask(upstream, { ...REQUEST, stream: true });
    if (answer.kind !== 'events') throw new Error('not a stream');
    await answer.events.cancel();
    llama.gate = Promise.resolve();
    expect((await whole(await ask(upstream, REQUEST))).choices[0]?.message.content).toBe('Hello you');
  });

  test('a generation that fails in mid-stream ends in an error event', async () => {
    const llama = scriptedLlama(['Hello']);
    llama.failAfter = true;
    const events = await eventData(
      await ask(makeGguf(config({ path }), llama), { ...REQUEST, stream: true }),
    );
    expect(JSON.parse(events.at(-1) ?? '')).toMatchObject({ error: { message: expect.any(String) } });
  });

  test('the cap never exceeds the rest of the context, and messages that do not fit are refused', async () => {
    const llama = scriptedLlama(['Hi']);
    await ask(makeGguf(config({ path, context_size: '24' }), llama), REQUEST);
    expect(llama.calls[0]?.options.maxTokens).toBe(24 - INPUT);
    const failure = await ask(makeGguf(config({ path, context_size: '19' }), llama), REQUEST).catch(
      (error: unknown) => error,
    );
    expect(failure).toMatchObject({
      kind: 'rejected',
      publicMessage: expect.stringContaining('context of 19 tokens'),
    });
  });

  test('JSON is enforced by a grammar', async () => {
    const llama = scriptedLlama(['{}']);
    const upstream = makeGguf(config({ path }), llama);
    await ask(upstream, { ...REQUEST, response_format: { type: 'json_object' } });
    await ask(upstream, {
      ...REQUEST,
      response_format: { type: 'json_schema', json_schema: { schema: { type: 'object' } } },
    });
    expect(llama.calls.map(({ options }) => options.grammar)).toEqual([
      { for: 'json' },
      { schema: { type: 'object' } },
    ]);
  });

  test('tools, images and several choices are refused with an explanation', async () => {
    const upstream = makeGguf(config({ path }), scriptedLlama(['Hi']));
    const refused: Partial<ChatRequest>[] = [
      { tools: [{ type: 'function', function: { name: 'x' } }] },
      { n: 2 },
      {
        messages: [
          {
            role: 'user',
            content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } }],
          },
        ],
      },
      { messages: [{ role: 'tool', tool_call_id: 'a', content: 'x' }] },
    ];
    for (const fields of refused) {
      const failure = await ask(upstream, { ...REQUEST, ...fields }).catch((error: unknown) => error);
      expect(failure).toMatchObject({ kind: 'rejected', publicMessage: expect.any(String) });
    }
  });
});

function config(options: Record<string, string>) {
  return {
    name: 'local',
    kind: 'gguf',
    baseUrl: undefined,
    apiKey: undefined,
    headers: new Map<string, string>(),
    timeouts: { firstByteMs: 1000, idleMs: 1000, totalMs: 1000 },
    options: new Map(Object.entries(options)),
  };
}

/** A stand-in for the native package with its documented interface: the real model takes gigabytes. */
function scriptedLlama(script: readonly (string | LlamaChunk)[], stopReason = 'eogToken') {
  const state = {
    loads: [] as object[],
    calls: [] as { history: LlamaHistoryItem[]; options: LlamaGenerateOptions }[],
    failLoads: 0,
    failAfter: false,
    gate: Promise.resolve(),
    gateAfter: 0,
    atOnce: 0,
    mostAtOnce: 0,
    load: () => Promise.resolve(llamaPackage),
  };
  const respond = async (history: LlamaHistoryItem[], options: LlamaGenerateOptions): Promise<void> => {
    state.calls.push({ history, options });
    for (const [index, step] of script.entries()) {
      if (index >= state.gateAfter) await Promise.race([state.gate, aborted(options.signal)]);
      options.onResponseChunk(typeof step === 'string' ? { text: step, tokens: [index] } : step);
    }
    if (state.failAfter) throw new Error('out of memory');
  };
  class LlamaChat {
    async generateResponse(history: LlamaHistoryItem[], options: LlamaGenerateOptions) {
      state.mostAtOnce = Math.max(state.mostAtOnce, ++state.atOnce);
      try {
        await respond(history, options);
        return { metadata: { stopReason } };
      } finally {
        state.atOnce--;
      }
    }
    dispose(): void {}
  }
  const llamaPackage: LlamaPackage = {
    LlamaChat,
    getLlama: async () => ({
      getGrammarFor: async () => ({ for: 'json' }),
      createGrammarForJsonSchema: async (schema) => ({ schema }),
      loadModel: async (model) => ({
        tokenize: (text) => text.split(/\s+/).map((_, index) => index),
        dispose: async () => undefined,
        createContext: async (context) => {
          state.loads.push({ ...model, ...context });
          if (state.failLoads-- > 0) throw new Error('not a GGUF file');
          return { contextSize: context.contextSize ?? 4096, getSequence: () => ({}) };
        },
      }),
    }),
  };
  return state;
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) =>
    signal.addEventListener('abort', () => reject(signal.reason), { once: true }),
  );
}

function quiet(): AbortSignal {
  return new AbortController().signal;
}

function ask(upstream: Upstream, request: ChatRequest, signal = quiet()): Promise<ChatAnswer> {
  return upstream.chat({ model: 'tiny', request, signal, requestId: 'req_1' });
}

async function whole(answer: ChatAnswer): Promise<ChatCompletion> {
  if (answer.kind !== 'completion') throw new Error('not a whole answer');
  return answer.completion;
}
