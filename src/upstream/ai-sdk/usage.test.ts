import { describe, expect, test } from 'bun:test';
import * as fc from 'fast-check';
import type { ChatUsage } from '../../wire/openai/chat.ts';
import { anthropicUsage, messageStartUsage, openAiUsage } from './usage.ts';
import { bedrockUsage } from './bedrock.ts';
import { cohereUsage, googleUsage, mistralUsage } from './providers.ts';

interface Normaliser {
  readonly name: string;
  readonly usage: (raw: unknown) => ChatUsage | undefined;
  /** A raw object with these counts: fresh input, read from cache, written to cache, output. */
  readonly raw: (fresh: unknown, read: unknown, written: number, output: unknown) => unknown;
}

const NORMALISERS: readonly Normaliser[] = [
  {
    name: 'anthropic',
    usage: anthropicUsage,
    raw: (fresh, read, written, output) => ({
      input_tokens: fresh,
      cache_read_input_tokens: read,
      cache_creation_input_tokens: written,
      output_tokens: output,
    }),
  },
  {
    name: 'bedrock',
    usage: bedrockUsage,
    raw: (fresh, read, written, output) => ({
      inputTokens: fresh,
      cacheReadInputTokens: read,
      cacheWriteInputTokens: written,
      outputTokens: output,
    }),
  },
  {
    name: 'google',
    usage: googleUsage,
    raw: (fresh, read, written, output) => ({
      promptTokenCount: plus(fresh, read, written),
      cachedContentTokenCount: read,
      candidatesTokenCount: output,
    }),
  },
  {
    name: 'openai shape',
    usage: openAiUsage,
    raw: (fresh, read, written, output) => ({
      prompt_tokens: plus(fresh, read, written),
      prompt_tokens_details: { cached_tokens: read },
      completion_tokens: output,
    }),
  },
  {
    name: 'mistral',
    usage: mistralUsage,
    raw: (fresh, read, written, output) => ({
      prompt_tokens: plus(fresh, read, written),
      num_cached_tokens: read,
      completion_tokens: output,
    }),
  },
  {
    name: 'cohere',
    usage: cohereUsage,
    raw: (fresh, read, written, output) => ({
      tokens: { input_tokens: plus(fresh, read, written), output_tokens: output },
      cached_tokens: read,
      billed_units: { input_tokens: 1, output_tokens: 1 },
    }),
  },
];

const HOSTILE = [-1, 1.5, Number.NaN, Infinity, 2 ** 53, 1e12, '12', {}, [], true];

for (const { name, usage, raw } of NORMALISERS) {
  describe(name, () => {
    test('input is all of the input, cached is part of it', () => {
      expect(usage(raw(10, 1000, 200, 7))).toMatchObject({
        prompt_tokens: 1210,
        completion_tokens: 7,
        total_tokens: 1217,
        prompt_tokens_details: { cached_tokens: 1000 },
      });
    });

    test('zero is a count', () => {
      expect(usage(raw(0, 0, 0, 0))).toMatchObject({
        prompt_tokens: 0,
        completion_tokens: 0,
        total_tokens: 0,
      });
    });

    test('an invalid count makes the whole usage invalid', () => {
      for (const value of HOSTILE) {
        expect(usage(raw(10, 0, 0, value))).toBeUndefined();
        expect(usage(raw(value, 0, 0, 7))).toBeUndefined();
      }
    });

    test('anything but a usage object is no usage', () => {
      for (const value of [undefined, null, 'usage', 7, [], {}]) expect(usage(value)).toBeUndefined();
    });

    test('whatever a backend reports, the counts are integers, not negative, and add up', () => {
      const anything = fc.oneof(
        fc.integer(),
        fc.double(),
        fc.string(),
        fc.constant(null),
        fc.constant(undefined),
      );
      fc.assert(
        fc.property(anything, anything, fc.nat(), anything, (fresh, read, written, output) => {
          const result = usage(raw(fresh, read, written, output));
          if (!result) return;
          const { prompt_tokens, completion_tokens, total_tokens, prompt_tokens_details } = result;
          for (const value of [prompt_tokens, completion_tokens])
            expect(Number.isSafeInteger(value) && value >= 0).toBe(true);
          expect(total_tokens).toBe(prompt_tokens + completion_tokens);
          expect(prompt_tokens_details?.cached_tokens ?? 0).toBeLessThanOrEqual(prompt_tokens);
        }),
      );
    });
  });
}

test('Gemini counts thoughts and its own tools beside prompt and answer', () => {
  const raw = {
    promptTokenCount: 100,
    toolUsePromptTokenCount: 20,
    candidatesTokenCount: 5,
    thoughtsTokenCount: 50,
  };
  expect(googleUsage(raw)).toEqual({
    prompt_tokens: 120,
    completion_tokens: 55,
    total_tokens: 175,
    prompt_tokens_details: { cached_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 50 },
  });
});

test('Anthropic’s compaction is counted; another model’s iterations are not', () => {
  const iterations = [
    { type: 'compaction', input_tokens: 1000, output_tokens: 100 },
    { type: 'message', input_tokens: 200, output_tokens: 20 },
    { type: 'advisor_message', input_tokens: 9999, output_tokens: 9999 },
  ];
  const raw = { input_tokens: 200, output_tokens: 20, cache_read_input_tokens: null, iterations };
  expect(anthropicUsage(raw)).toMatchObject({ prompt_tokens: 1200, completion_tokens: 120 });
});

test('Mistral’s older names of cached tokens are read too', () => {
  const raw = { prompt_tokens: 10, completion_tokens: 1 };
  expect(mistralUsage({ ...raw, prompt_tokens_details: { cached_tokens: 4 } })).toMatchObject({
    prompt_tokens_details: { cached_tokens: 4 },
  });
  expect(mistralUsage({ ...raw, prompt_token_details: { cached_tokens: 5 } })).toMatchObject({
    prompt_tokens_details: { cached_tokens: 5 },
  });
});

/** Backends whose total includes the cache: a sum where there is one, the hostile value where there is not. */
function plus(fresh: unknown, read: unknown, written: number): unknown {
  return typeof fresh === 'number' && typeof read === 'number' ? fresh + read + written : fresh;
}

test('the first event of a stream of Claude reports input, caches and tier, and no other event does', () => {
  const usage = {
    input_tokens: 5,
    cache_creation_input_tokens: 7,
    output_tokens: 1,
    service_tier: 'priority',
  };
  expect(messageStartUsage({ type: 'message_start', message: { usage } })).toMatchObject({
    prompt_tokens: 12,
    prompt_tokens_details: { cache_write_tokens: 7 },
    service_tier: 'priority',
  });
  for (const event of [{ type: 'message_delta', usage }, { type: 'message_start' }, undefined])
    expect(messageStartUsage(event)).toBeUndefined();
});
