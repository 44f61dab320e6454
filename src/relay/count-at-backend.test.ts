import { describe, expect, test } from 'bun:test';
import type { Route } from '../catalog/catalog.ts';
import type { AccountId } from '../std/ids.ts';
import type { JsonText } from '../std/json-parse.ts';
import { silentLog } from '../std/log.ts';
import type { RelayParts } from './call.ts';
import { countAtBackend } from './count-at-backend.ts';

/** A count borrows a backend: whatever comes of it, its permit, perhaps that of a probe, is returned unused. */

async function count(
  countTokens?: () => Promise<JsonText>,
  { speaksMessages = true, isResting = false } = {},
) {
  let released = 0;
  const permit = { kind: 'permit', upstream: { countTokens }, release: () => void released++ };
  const parts = {
    catalog: () => ({ upstreams: new Map([['claude', { speaksMessages }]]) }),
    log: silentLog,
    upstreams: {
      admit: () => (isResting ? { ...permit, kind: 'wait', waitMs: 1 } : permit),
      timeouts: () => ({ firstByteMs: 1_000 }),
    },
  } as unknown as RelayParts;
  const route = {
    endpoint: { places: [[{ upstream: 'claude', weight: 1 }]] },
    model: { id: 'm', upstreamModels: new Map() },
  } as unknown as Route;
  const conversation = {
    account: 'acc_1' as AccountId,
    requestId: 'req_1',
    signal: new AbortController().signal,
    body: {},
  };
  const tokens = await countAtBackend(route, conversation, parts);
  return { tokens, released };
}

const says = (value: unknown) => () => Promise.resolve({ text: JSON.stringify(value), value });

describe('a backend that is asked for a count is free again', () => {
  test('after its answer', async () => {
    expect(await count(says({ input_tokens: 0 }))).toEqual({ tokens: 0, released: 1 });
  });

  test.each([
    ['it fails', () => Promise.reject(new Error('no'))],
    ['it answers no number', says({ input_tokens: '7' })],
    ['it answers no count', says({ input_tokens: -1 })],
    ['it cannot count', undefined],
  ])('when %s, and our own count is taken', async (_, countTokens) => {
    expect(await count(countTokens)).toEqual({ tokens: undefined, released: 1 });
  });
});

test('a backend that speaks another dialect, or rests, is not asked', async () => {
  const answers = says({ input_tokens: 7 });
  expect(await count(answers, { speaksMessages: false })).toEqual({ tokens: undefined, released: 0 });
  expect(await count(answers, { isResting: true })).toEqual({ tokens: undefined, released: 0 });
});
