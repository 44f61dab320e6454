import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { MAX_COUNT } from '../../ledger/price.ts';
import { nanoUsd } from '../../std/money.ts';
import { mediaIn, readImageUsage, readUsage, reportedCost, usageOf } from './reported-usage.ts';

const plain = { cached: 0, reasoning: 0, images: 0 };

test('sound and pictures that a message shows are counted, and nothing else is', () => {
  expect(mediaIn({ audio: { data: 'AAAAAAAA' } })).toEqual({ soundBytes: 6, pictures: 0 });
  expect(mediaIn({ audio: null, images: [{}, {}] })).toEqual({ soundBytes: 0, pictures: 2 });
  expect(mediaIn({ audio: { data: 'AAAA' }, images: [{}] })).toEqual({ soundBytes: 3, pictures: 1 });
  for (const none of [undefined, 'AAAA', {}, { audio: 'AAAA' }, { audio: { data: 7 } }, { images: 'one' }])
    expect(mediaIn(none)).toBeUndefined();
});

describe('the usage that a backend reports', () => {
  test.each([
    [
      { prompt_tokens: 3, completion_tokens: 5 },
      { ...plain, input: 3, output: 5 },
    ],
    [
      { prompt_tokens: 0, completion_tokens: 0 },
      { ...plain, input: 0, output: 0 },
    ],
    [
      { prompt_tokens: MAX_COUNT, completion_tokens: 1 },
      { ...plain, input: MAX_COUNT, output: 1 },
    ],
    [
      { prompt_tokens: 9, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 4 } },
      { ...plain, input: 9, output: 5, cached: 4 },
    ],
    // Reasoning within the completion, and beside it.
    [
      { prompt_tokens: 9, completion_tokens: 5, completion_tokens_details: { reasoning_tokens: 4 } },
      { ...plain, input: 9, output: 5, reasoning: 4 },
    ],
    [
      {
        prompt_tokens: 9,
        completion_tokens: 5,
        total_tokens: 18,
        completion_tokens_details: { reasoning_tokens: 4 },
      },
      { ...plain, input: 9, output: 9, reasoning: 4 },
    ],
    [
      {
        prompt_tokens: 9,
        completion_tokens: 5,
        total_tokens: 14,
        completion_tokens_details: { reasoning_tokens: 7 },
      },
      { ...plain, input: 9, output: 5, reasoning: 5 },
    ],
  ])('is read: %j', (raw, usage) => {
    expect(readUsage(raw)).toEqual(usage);
  });

  test.each([
    undefined,
    null,
    'usage',
    {},
    { prompt_tokens: 1 },
    { completion_tokens: 1 },
    { prompt_tokens: -1, completion_tokens: 1 },
    { prompt_tokens: 1, completion_tokens: -1 },
    { prompt_tokens: 1.5, completion_tokens: 1 },
    { prompt_tokens: '1', completion_tokens: 1 },
    { prompt_tokens: MAX_COUNT + 1, completion_tokens: 1 },
    { prompt_tokens: 1, completion_tokens: MAX_COUNT + 1 },
    // Reasoning beside the completion, more together than there can be.
    {
      prompt_tokens: 1,
      completion_tokens: MAX_COUNT,
      total_tokens: MAX_COUNT + 2,
      completion_tokens_details: { reasoning_tokens: 1 },
    },
  ])('is not taken where it cannot be true: %j', (raw) => {
    expect(readUsage(raw)).toBeUndefined();
  });

  test('tells every kind that has a price of its own by its own name', () => {
    const usage = readUsage({
      prompt_tokens: 1_000,
      completion_tokens: 500,
      prompt_tokens_details: {
        cached_tokens: 1,
        cache_write_tokens: 2,
        cache_write_1h_tokens: 3,
        audio_tokens: 4,
        image_tokens: 5,
      },
      completion_tokens_details: { reasoning_tokens: 6, audio_tokens: 7, image_tokens: 8 },
      server_tool_use: { web_search_requests: 9 },
      service_tier: 'priority',
    });
    expect(usage).toEqual({
      input: 1_000,
      output: 500,
      cached: 1,
      reasoning: 6,
      images: 0,
      extra: {
        cacheWrite: 2,
        cacheWrite1h: 3,
        audioInput: 4,
        imageInput: 5,
        audioOutput: 7,
        imageOutput: 8,
        webSearches: 9,
        serviceTier: 'priority',
      },
    });
  });

  test('has parts that never exceed their side together', () => {
    const count = fc.nat({ max: 100 });
    const details = fc.record({
      cached_tokens: count,
      cache_write_tokens: count,
      cache_write_1h_tokens: count,
      audio_tokens: count,
      image_tokens: count,
    });
    fc.assert(
      fc.property(count, count, details, details, (input, output, ofInput, ofOutput) => {
        const usage = readUsage({
          prompt_tokens: input,
          completion_tokens: output,
          prompt_tokens_details: ofInput,
          completion_tokens_details: ofOutput,
        });
        const { cacheWrite = 0, cacheWrite1h = 0, audioInput = 0, imageInput = 0 } = usage?.extra ?? {};
        const { audioOutput = 0, imageOutput = 0 } = usage?.extra ?? {};
        const inputParts = (usage?.cached ?? 0) + cacheWrite + cacheWrite1h + audioInput + imageInput;
        const { cached_tokens, cache_write_tokens, cache_write_1h_tokens } = ofInput;
        const reported =
          cached_tokens +
          cache_write_tokens +
          cache_write_1h_tokens +
          ofInput.audio_tokens +
          ofInput.image_tokens;
        expect(inputParts).toBe(Math.min(input, reported));
        expect(audioOutput + imageOutput).toBe(
          Math.min(output, ofOutput.audio_tokens + ofOutput.image_tokens),
        );
      }),
    );
  });

  test.each(['default', 'standard', 'auto', 'standard_only', 'on_demand', 'two words', '', 7, null])(
    'is of the ordinary tier where the tier is %j',
    (tier) => {
      expect(
        readUsage({ prompt_tokens: 1, completion_tokens: 1, service_tier: tier })?.extra,
      ).toBeUndefined();
    },
  );

  test('is of the tier that stands beside it, before the one in it', () => {
    const raw = { prompt_tokens: 1, completion_tokens: 1, service_tier: 'batch' };
    expect(readUsage(raw, 'flex')?.extra).toEqual({ serviceTier: 'flex' });
    expect(readUsage(raw, 'default')?.extra).toBeUndefined();
    expect(readUsage(raw)?.extra).toEqual({ serviceTier: 'batch' });
  });
});

describe('the usage of an image answer', () => {
  test('counts output as image tokens unless it is said to be text', () => {
    const raw = {
      input_tokens: 50,
      output_tokens: 900,
      input_tokens_details: { text_tokens: 10, image_tokens: 40 },
      output_tokens_details: { text_tokens: 100 },
    };
    expect(
      readImageUsage(raw, { images: 2, quality: 'high', pixels: 7, inputImages: 1, partialImages: 3 }),
    ).toEqual({
      input: 50,
      output: 900,
      cached: 0,
      reasoning: 0,
      images: 2,
      extra: {
        imageInput: 40,
        imageOutput: 800,
        quality: 'high',
        pixels: 7,
        inputImages: 1,
        partialImages: 3,
      },
    });
  });

  test('is what was made alone, where none is reported or it cannot be true', () => {
    for (const raw of [undefined, null, 'x', {}, { input_tokens: -1, output_tokens: 1.5 }])
      expect(readImageUsage(raw, { images: 1 })).toEqual({ ...plain, input: 0, output: 0, images: 1 });
  });
});

describe('the cost that a provider reports', () => {
  test.each([
    [{ cost: 0.25 }, 250_000_000],
    [{ cost: 0 }, 0],
    [{ cost: 100_000 }, 100_000_000_000_000],
    [{ cost: { total_cost: 0.5 } }, 500_000_000],
    [{ estimated_cost: 0.125 }, 125_000_000],
    [{ cost: 0.1, is_byok: true, cost_details: { upstream_inference_cost: 0.2 } }, 300_000_000],
    [{ cost: 0.1, is_byok: true, cost_details: {} }, 100_000_000],
    [{ cost: 0.1, is_byok: false, cost_details: { upstream_inference_cost: 0.2 } }, 100_000_000],
  ])('is read: %j', (raw, nano) => {
    expect(reportedCost(raw)).toBe(nanoUsd(nano));
  });

  test.each([
    undefined,
    null,
    'cost',
    {},
    { cost: -0.5 },
    { cost: '1' },
    { cost: 100_001 },
    { cost: { total_cost: -1 } },
  ])('is not taken where it cannot be true: %j', (raw) => {
    expect(reportedCost(raw)).toBeUndefined();
  });
});

test('usage that we counted ourselves is told in the wire format, and what the backend reported is not told twice', () => {
  const usage = { input: 10, cached: 0, output: 20, reasoning: 0, images: 0 };
  expect(usageOf({ usage, source: 'upstream' })).toBeUndefined();
  const own = { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 };
  expect(usageOf({ usage, source: 'counted' })).toEqual(own);
  expect(usageOf({ usage: { ...usage, cached: 4, reasoning: 5 }, source: 'counted' })).toEqual({
    ...own,
    prompt_tokens_details: { cached_tokens: 4 },
    completion_tokens_details: { reasoning_tokens: 5 },
  });
});
