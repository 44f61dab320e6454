import { describe, expect, test } from 'bun:test';
import { MAX_COUNT } from '../../ledger/price.ts';
import { vocabularyTokens as countTokens } from '../../tokenizer/testing/in-process-counter.ts';
import type { ChatChunk, ChatCompletion } from '../../wire/openai/chat.ts';
import { chatInput } from '../testing/chat-input.ts';
import { Meter, reportedWhole } from './meter.ts';
import { readUsage, usageOf } from './reported-usage.ts';

/** Which numbers are charged: the backend's as long as they can be true, otherwise our own. */

const usage = (prompt_tokens: unknown, completion_tokens: unknown, more: object = {}) => ({
  prompt_tokens,
  completion_tokens,
  ...more,
});

describe('a backend’s usage', () => {
  test('is read with its details, which never exceed their total', () => {
    const details = {
      prompt_tokens_details: { cached_tokens: 3 },
      completion_tokens_details: { reasoning_tokens: 2 },
    };
    expect(readUsage(usage(10, 5, details))).toEqual({
      input: 10,
      cached: 3,
      output: 5,
      reasoning: 2,
      images: 0,
    });
    expect(readUsage(usage(2, 1, details))).toMatchObject({ cached: 2, reasoning: 1 });
  });

  test('counts reasoning that stands beside the completion, as xAI reports it, and no other twice', () => {
    const completion_tokens_details = { reasoning_tokens: 317 };
    const beside = usage(12, 2, { total_tokens: 331, completion_tokens_details });
    expect(readUsage(beside)).toMatchObject({ input: 12, output: 319, reasoning: 317 });
    const within = usage(12, 320, { total_tokens: 332, completion_tokens_details });
    expect(readUsage(within)).toMatchObject({ output: 320, reasoning: 317 });
    expect(readUsage(usage(12, 320, { completion_tokens_details }))).toMatchObject({ output: 320 });
  });

  test.each([
    [undefined],
    [null],
    [7],
    [usage(undefined, 5)],
    [usage(5, undefined)],
    [usage('5', 5)],
    [usage(-1, 5)],
    [usage(5, -1)],
    [usage(1.5, 5)],
    [usage(5, Infinity)],
    [usage(MAX_COUNT + 1, 5)],
    [usage(5, MAX_COUNT + 1)],
  ])('is ignored entirely if a number in it cannot be true: %j', (raw) => {
    expect(readUsage(raw)).toBeUndefined();
  });

  test('may be zero, and as large as can be charged', () => {
    expect(readUsage(usage(0, 0))).toMatchObject({ input: 0, output: 0 });
    expect(readUsage(usage(MAX_COUNT, MAX_COUNT))).toMatchObject({ input: MAX_COUNT, output: MAX_COUNT });
  });

  test.each([[null], ['many'], [{}], [{ cached_tokens: -1 }], [{ cached_tokens: '3' }]])(
    'has no details where they make no sense: %j',
    (prompt_tokens_details) => {
      expect(readUsage(usage(10, 5, { prompt_tokens_details }))).toMatchObject({ input: 10, cached: 0 });
    },
  );
});

const said = (content: string, more: Partial<ChatChunk> = {}, finish: string | null = null): ChatChunk =>
  ({
    id: 'c',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta: { content }, finish_reason: finish }],
    ...more,
  }) as ChatChunk;
const told = (raw: object): ChatChunk => said('', { choices: [], usage: raw as never });

function measured(...chunks: ChatChunk[]) {
  const meter = new Meter(chatInput());
  for (const chunk of chunks) meter.observe(chunk);
  return meter.measure();
}

const INPUT = 4 + 3 + countTokens('hi');
const WORDS = 'three little words';
const COUNT = countTokens(WORDS);

test('the input is known once the backend has reported one that can be true', () => {
  const meter = new Meter(chatInput());
  expect(meter.hasReportedInput).toBe(false);
  meter.observe(told(usage(0, 5)));
  expect(meter.hasReportedInput).toBe(false);
  meter.observe(told(usage(50, 60)));
  expect(meter.hasReportedInput).toBe(true);
});

test('what is known so far is never below what was reported, nor below the least that the text has', () => {
  const delivered = (...chunks: ChatChunk[]) => {
    const meter = new Meter(chatInput());
    for (const chunk of chunks) meter.observe(chunk);
    return meter.delivered().output;
  };
  const least = delivered(said(WORDS));
  expect(least).toBeGreaterThan(0);
  expect(delivered(told(usage(5, 90)), said(WORDS))).toBe(90);
  expect(delivered(told(usage(5, 0)), said(WORDS))).toBe(least);
});

test('an input that was reported as none is what was counted of it', async () => {
  const input = chatInput();
  const meter = new Meter(input);
  meter.observe(told(usage(0, 5)));
  const counted = await input.chargedInput();
  expect(counted).toBeGreaterThan(0);
  expect(meter.delivered()).toMatchObject({ input: counted, output: 5 });
});

test('an input of one token is known as soon as it was reported', () => {
  const meter = new Meter(chatInput());
  meter.observe(told(usage(1, 5)));
  expect(meter.delivered().input).toBe(1);
});

describe('what is charged', () => {
  test('is the backend’s usage if it came after the text', async () => {
    expect(await measured(said(WORDS), told(usage(50, 60)))).toMatchObject({
      usage: { input: 50, output: 60 },
      source: 'upstream',
    });
  });

  test('is our count if the backend reports none', async () => {
    expect(await measured(said(WORDS))).toMatchObject({
      usage: { input: INPUT, output: COUNT },
      source: 'counted',
    });
  });

  test('has nothing beside tokens where nothing else was used, so that its receipt has no text of extras', async () => {
    const counted = await measured(said(WORDS));
    expect(Object.keys(counted.usage)).not.toContain('extra');
  });

  test('of a whole answer is the backend’s usage alone only if it reports input and output', () => {
    const whole = (reported: object) => reportedWhole({ usage: reported, choices: [] } as never);
    expect(whole(usage(3, 2))).toMatchObject({ usage: { input: 3, output: 2 }, source: 'upstream' });
    expect(whole(usage(0, 2))).toBeUndefined();
    expect(whole(usage(3, 0))).toBeUndefined();
  });

  test('is our input count if the backend’s is zero', async () => {
    expect(await measured(said(WORDS), told(usage(0, 60)))).toMatchObject({
      usage: { input: INPUT, output: 60 },
      source: 'mixed',
    });
  });

  test('is our output count if the backend’s is zero although there is text', async () => {
    expect(await measured(said(WORDS), told(usage(50, 0)))).toMatchObject({
      usage: { input: 50, output: COUNT },
      source: 'mixed',
    });
    expect(await measured(said(WORDS), told(usage(50, 0)), told(usage(50, 0)))).toMatchObject({
      usage: { input: 50, output: COUNT },
    });
  });

  test('is the backend’s zero if there is no text', async () => {
    expect(await measured(told(usage(50, 0)))).toMatchObject({
      usage: { input: 50, output: 0 },
      source: 'upstream',
    });
  });

  test('is the larger output if text came after the usage', async () => {
    expect(await measured(told(usage(50, 1)), said(WORDS))).toMatchObject({
      usage: { input: 50, output: COUNT },
      source: 'mixed',
    });
    expect(await measured(told(usage(50, 900)), said(WORDS))).toMatchObject({
      usage: { input: 50, output: 900 },
    });
  });

  test('is the thinking that came after the usage, also where it is no more than the output that was reported', async () => {
    const thought = { choices: [{ delta: { reasoning_content: WORDS } }] } as unknown as ChatChunk;
    for (const output of [1, COUNT, 900])
      expect(await measured(told(usage(50, output)), thought)).toMatchObject({
        usage: { input: 50, output: Math.max(output, COUNT), reasoning: COUNT },
        source: 'mixed',
      });
  });

  test('is also our count if the text after the usage was never parsed', async () => {
    const meter = new Meter(chatInput());
    meter.observe(told(usage(50, 1)));
    const bytes = new TextEncoder().encode(WORDS);
    meter.observeRaw(bytes, 0, bytes.length, false);
    expect(await meter.measure()).toMatchObject({ usage: { input: 50, output: COUNT }, source: 'mixed' });
  });

  test('may be a single token of input', async () => {
    expect(await measured(said(WORDS), told(usage(1, 60)))).toMatchObject({
      usage: { input: 1, output: 60 },
      source: 'upstream',
    });
  });

  test('is the same however long the answer is and however it is cut', async () => {
    const long = Array.from(
      { length: 9_000 },
      (_, n) => ` ${'extraordinarily'.slice(0, 1 + ((n * n) % 15))}`,
    ).join('');
    const outputOf = async (...chunks: ChatChunk[]) => (await measured(...chunks)).usage.output;
    expect(await outputOf(said(long))).toBe(countTokens(long));
    expect(await outputOf(said(long.slice(0, 50_000)), said(long.slice(50_000)))).toBe(countTokens(long));
  });

  test('is the last valid usage', async () => {
    expect(
      await measured(said(WORDS), told(usage(50, 6)), told(usage(51, 7)), told(usage(-1, 9))),
    ).toMatchObject({
      usage: { input: 51, output: 7 },
      source: 'upstream',
    });
  });

  test('of a whole answer is the text of all choices if the backend reports no usage', async () => {
    const whole = (raw?: object) =>
      ({
        id: 'c',
        object: 'chat.completion',
        created: 1,
        model: 'm',
        choices: [0, 1].map((index) => ({
          index,
          message: { role: 'assistant', content: WORDS },
          finish_reason: 'stop',
        })),
        ...(raw && { usage: raw }),
      }) as ChatCompletion;
    const meter = () => new Meter(chatInput());
    expect(await meter().observeWhole(whole())).toMatchObject({
      usage: { output: countTokens(WORDS + WORDS) },
      source: 'counted',
    });
    expect(await meter().observeWhole(whole(usage(5, 9)))).toMatchObject({
      usage: { output: 9 },
      source: 'upstream',
    });
    expect(await meter().observeWhole(whole(usage(5, 0)))).toMatchObject({
      usage: { input: 5, output: countTokens(WORDS + WORDS) },
      source: 'mixed',
    });
  });
});

describe('the finish reason', () => {
  const reasonOf = (...reasons: (string | null)[]) => {
    const meter = new Meter(chatInput({ messages: [] }));
    for (const reason of reasons) meter.observe(said('x', {}, reason));
    return meter.finishReason;
  };

  test('is the last one reported, truncated to 64 characters', () => {
    expect(reasonOf(null)).toBeUndefined();
    expect(reasonOf('')).toBeUndefined();
    expect(reasonOf('stop', null, '')).toBe('stop');
    expect(reasonOf('r'.repeat(100))).toBe('r'.repeat(64));
  });
});

describe('the client is shown what is charged', () => {
  const counts = { input: 7, cached: 0, output: 5, reasoning: 0, images: 0 };

  test('only if the backend did not report it itself', () => {
    expect(usageOf({ usage: counts, source: 'upstream' })).toBeUndefined();
    expect(usageOf({ usage: counts, source: 'counted' })).toEqual({
      prompt_tokens: 7,
      completion_tokens: 5,
      total_tokens: 12,
    });
  });

  test('with the details that are known', () => {
    expect(usageOf({ usage: { ...counts, cached: 1, reasoning: 1 }, source: 'mixed' })).toEqual({
      prompt_tokens: 7,
      completion_tokens: 5,
      total_tokens: 12,
      prompt_tokens_details: { cached_tokens: 1 },
      completion_tokens_details: { reasoning_tokens: 1 },
    });
  });
});
