import { describe, expect, test } from 'bun:test';
import type { ChatRequest } from '../wire/openai/chat.ts';
import { NO_USAGE } from '../ledger/price.ts';
import { DEFAULT_WEB_SEARCHES, pricedOptions, withAskedSearches } from './priced-options.ts';

test('searches that were asked for and not reported are ours, and whoever counted the rest is still told', () => {
  const usage = { ...NO_USAGE, input: 3, output: 2 };
  const source = (counted: 'upstream' | 'counted' | 'mixed') =>
    withAskedSearches({ usage, source: counted }, 1).source;
  expect([source('upstream'), source('counted'), source('mixed')]).toEqual(['mixed', 'counted', 'mixed']);
  const { usage: asked } = withAskedSearches({ usage, source: 'upstream' }, 1);
  expect(asked).toEqual({ ...usage, extra: { webSearches: 1 } });
});

/** What raises the price of a chat must raise its hold: each of these is asked for in one place alone. */

const MARK = { type: 'ephemeral' };
const LONG_MARK = { type: 'ephemeral', ttl: '1h' };
const TEXT = { type: 'text', text: 'x' };

function optionsOf(fields: object, content: unknown = 'hi') {
  return pricedOptions({ model: 'm', messages: [{ role: 'user', content }], ...fields } as ChatRequest);
}

/** The same of a request in Anthropic's form, whose translation shows nothing of it. */
function nativeOptionsOf(fields: object, content: unknown = 'hi') {
  const request = { model: 'm', messages: [{ role: 'user', content: 'hi' }] } as ChatRequest;
  const body = { model: 'm', messages: [{ role: 'user', content }], ...fields };
  return pricedOptions(request, { body });
}

describe.each([
  ['a chat', optionsOf],
  ['a message in Anthropic’s form', nativeOptionsOf],
])('%s asks for', (_, options) => {
  test('nothing special, as most do', () => {
    expect(options({})).toBeUndefined();
    expect(options({}, [TEXT, null, 'x', 7])).toBeUndefined();
    expect(options({ tools: [null, 'x', { type: 'function' }, { type: 7 }] })).toBeUndefined();
    expect(options({ modalities: ['text'], service_tier: 7, cache_control: null })).toBeUndefined();
    expect(options({}, [{ ...TEXT, cache_control: 'x' }])).toBeUndefined();
  });

  test('a written cache, wherever the mark stands; one for an hour wins, whatever follows', () => {
    const short = { cacheWrite: true } as const;
    expect(options({ cache_control: MARK })).toEqual(short);
    expect(options({ system: [{ ...TEXT, cache_control: MARK }] })).toEqual(short);
    expect(options({}, [TEXT, { ...TEXT, cache_control: MARK }])).toEqual(short);
    expect(options({ tools: [{ name: 'f', cache_control: MARK }] })).toEqual(short);
    const marks = [LONG_MARK, MARK].map((mark) => ({ ...TEXT, cache_control: mark }));
    expect(options({}, marks)).toEqual({ cacheWrite: true, cacheWrite1h: true });
    expect(options({}, marks.toReversed())).toEqual({ cacheWrite: true, cacheWrite1h: true });
  });

  test('audio and pictures in its messages', () => {
    expect(options({}, [{ type: 'input_audio' }])).toEqual({ audioInput: true });
    expect(options({}, [{ type: 'image_url' }])).toEqual({ imageInput: true });
    expect(options({}, [{ type: 'image' }, TEXT])).toEqual({ imageInput: true });
  });

  test('spoken answers and a service tier', () => {
    expect(options({ modalities: ['text', 'audio'] })).toEqual({ audioOutput: true });
    expect(options({ service_tier: 'priority' })).toEqual({ serviceTier: 'priority' });
  });

  test('web searches: as many as it allows, else a usual number, and never more than can be', () => {
    const search = (uses?: unknown) => ({ type: 'web_search_20250305', max_uses: uses });
    expect(options({ tools: [search(3)] })).toEqual({ webSearches: 3 });
    expect(options({ tools: [search(3), search(4)] })).toEqual({ webSearches: 7 });
    expect(options({ tools: [search(1)] })).toEqual({ webSearches: 1 });
    for (const uses of [undefined, 0, -1, 1.5, '3'])
      expect(options({ tools: [search(uses)] })).toEqual({ webSearches: DEFAULT_WEB_SEARCHES });
    expect(options({ tools: [search(5_000)] })).toEqual({ webSearches: 1_000 });
    expect(options({ web_search_options: {} })).toEqual({ webSearches: DEFAULT_WEB_SEARCHES });
    expect(options({ web_search_options: {}, tools: [search(2)] })).toEqual({
      webSearches: DEFAULT_WEB_SEARCHES + 2,
    });
  });
});
