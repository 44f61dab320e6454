import * as fc from 'fast-check';
import type {
  ChatChunk,
  ChatCompletion,
  ChatDelta,
  ChatUsage,
  FinishReason,
} from '../../src/wire/openai/chat.ts';

/** An answer as a model means it, for tests of the dialects: the same whole and cut into chunks. */
export interface Answer {
  readonly reasoning: string;
  readonly text: string;
  readonly calls: readonly {
    readonly id: string;
    readonly name: string;
    readonly input: Record<string, unknown>;
  }[];
  readonly finish: FinishReason;
  readonly usage: ChatUsage;
}

const words = fc.string({ unit: 'grapheme', maxLength: 30 }).map((text) => text.toWellFormed());

export const jsonObject: fc.Arbitrary<Record<string, unknown>> = fc
  .dictionary(fc.stringMatching(/^[a-z]{1,8}$/), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 4 })
  // -0 does not survive JSON, and is not what these tests are about.
  .map((value) => JSON.parse(JSON.stringify(value)) as Record<string, unknown>);

export const answers: fc.Arbitrary<Answer> = fc
  .record({
    reasoning: words,
    text: words,
    calls: fc.uniqueArray(
      fc.record({
        id: fc.stringMatching(/^call_[a-z0-9]{1,12}$/),
        name: fc.stringMatching(/^[a-z_]{1,20}$/),
        input: jsonObject,
      }),
      { maxLength: 4, selector: (call) => call.id },
    ),
    length: fc.boolean(),
    prompt: fc.nat(100_000),
    cached: fc.nat(100_000),
    completion: fc.nat(10_000),
    thought: fc.nat(10_000),
  })
  .map(({ reasoning, text, calls, length, prompt, cached, completion, thought }) => ({
    reasoning,
    text,
    calls,
    finish: length ? 'length' : calls.length > 0 ? 'tool_calls' : 'stop',
    usage: {
      prompt_tokens: prompt,
      completion_tokens: completion,
      total_tokens: prompt + completion,
      prompt_tokens_details: { cached_tokens: Math.min(prompt, cached) },
      completion_tokens_details: { reasoning_tokens: Math.min(completion, thought) },
    },
  }));

export function completionOf(answer: Answer): ChatCompletion {
  const tool_calls = answer.calls.map(({ id, name, input }) => ({
    id,
    type: 'function' as const,
    function: { name, arguments: JSON.stringify(input) },
  }));
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1_700_000_000,
    model: 'backend-model',
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: answer.text === '' ? null : answer.text,
          ...(answer.reasoning === '' ? {} : { reasoning_content: answer.reasoning }),
          ...(tool_calls.length === 0 ? {} : { tool_calls }),
        },
        finish_reason: answer.finish,
      },
    ],
    usage: answer.usage,
  };
}

/** The answer as a stream: every piece cut anywhere. In `order`, as models do it, or with the pieces shuffled together. */
export function chunksOf(answer: Answer, order: 'sequential' | 'interleaved'): fc.Arbitrary<ChatChunk[]> {
  const lanes: fc.Arbitrary<ChatDelta[]>[] = [
    pieces(answer.reasoning).map((texts) => texts.map((text) => ({ reasoning_content: text }))),
    pieces(answer.text).map((texts) => texts.map((text) => ({ content: text }))),
    ...answer.calls.map((call, index) => callLane(call, index)),
  ];
  return fc
    .tuple(fc.tuple(...lanes), fc.infiniteStream(fc.nat()))
    .map(([deltas, picks]) =>
      asStream(answer, order === 'sequential' ? deltas.flat() : interleave(deltas, picks)),
    );
}

function asStream(answer: Answer, deltas: readonly ChatDelta[]): ChatChunk[] {
  const first = chunkOf({ role: 'assistant', content: '' });
  const usage = { ...chunkOf({}), choices: [], usage: answer.usage };
  return [first, ...deltas.map((delta) => chunkOf(delta)), chunkOf({}, answer.finish), usage];
}

export function chunkOf(delta: ChatDelta, finish: FinishReason | null = null): ChatChunk {
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1_700_000_000,
    model: 'backend-model',
    choices: [{ index: 0, delta, finish_reason: finish }],
  };
}

/** Deltas that no sane backend would send in this order: the grammar of a dialect must hold even so. */
export const anyChunks: fc.Arbitrary<ChatChunk[]> = fc.array(
  fc.oneof(
    words.map((content) => chunkOf({ content })),
    words.map((reasoning_content) => chunkOf({ reasoning_content })),
    words.map((refusal) => chunkOf({ refusal })),
    fc
      .record(
        {
          index: fc.nat(3),
          id: fc.stringMatching(/^c[0-9]$/),
          function: fc.record(
            { name: fc.constantFrom('f', 'g'), arguments: fc.constantFrom('{', '}', '{}', '"', '1', '') },
            { requiredKeys: [] },
          ),
        },
        { requiredKeys: ['index'] },
      )
      .map((call) => chunkOf({ tool_calls: [call] })),
    fc
      .constantFrom<FinishReason>('stop', 'length', 'tool_calls', 'content_filter')
      .map((reason) => chunkOf({}, reason)),
    fc.constant({
      ...chunkOf({}),
      choices: [],
      usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
    }),
  ),
  { maxLength: 30 },
);

function callLane(call: Answer['calls'][number], index: number): fc.Arbitrary<ChatDelta[]> {
  const name: ChatDelta = {
    tool_calls: [{ index, id: call.id, type: 'function', function: { name: call.name, arguments: '' } }],
  };
  const delta = (text: string): ChatDelta => ({ tool_calls: [{ index, function: { arguments: text } }] });
  return pieces(JSON.stringify(call.input)).map((texts) => [name].concat(texts.map(delta)));
}

/** Cut between characters, never within one: a JSON string cannot hold half of it. */
function pieces(text: string): fc.Arbitrary<string[]> {
  const characters = Array.from(text);
  return fc.array(fc.nat(characters.length), { maxLength: 5 }).map((positions) => {
    const cuts = [0, ...positions.sort((a, b) => a - b), characters.length];
    return cuts.slice(1).map((end, i) => characters.slice(cuts[i], end).join(''));
  });
}

function interleave(lanes: readonly ChatDelta[][], picks: Iterator<number>): ChatDelta[] {
  const left = lanes.map((lane) => [...lane]).filter((lane) => lane.length > 0);
  const merged: ChatDelta[] = [];
  while (left.length > 0) {
    const at = Number(picks.next().value) % left.length;
    const delta = left[at]?.shift();
    if (delta) merged.push(delta);
    if (left[at]?.length === 0) left.splice(at, 1);
  }
  return merged;
}
