import { afterEach, beforeEach, expect, test } from 'bun:test';
import type { Answer } from '../../src/console/contract/routes.ts';
import { Browser, PASSWORD } from '../../src/console/testing/harness.ts';
import { formatUsd, nanoUsd } from '../../src/std/money.ts';
import { catalogFor, Gateway } from '../support/gateway.ts';
import { chunk, eventStream, ScriptedBackend, usageEvent } from '../support/scripted-backend.ts';

type PlaygroundQuote = Answer<'POST /api/console/playground/quote'>;
type PlaygroundReceipt = Answer<'POST /api/console/playground/images'>['receipt'];

let backend: ScriptedBackend;
let gateway: Gateway;
let admin: Browser;

beforeEach(async () => {
  backend = new ScriptedBackend();
  gateway = await Gateway.start({ yaml: catalogFor([backend.baseUrl]) });
  admin = new Browser(gateway.url, '127.0.0.1');
  const token = gateway.tollgate.setupLink?.split('/').at(-1);
  await admin.must('POST', '/api/console/setup', { token, email: 'admin@example.com', password: PASSWORD });
}, 60_000);
afterEach(async () => {
  expect((await gateway.verify()).breaches).toEqual([]);
  await gateway.stop();
  await backend.stop();
});

for (const [how, finish] of [
  ['a whole answer', 'stop'],
  ['an answer that breaks off', null],
] as const) {
  test(`the receipt at the end of ${how} is what the relay has charged, without a look into the store`, async () => {
    backend.script(() => streamOf(finish));
    const queries = countReadsOfRequests(gateway);
    const { receipt } = await chat();
    expect(queries()).toBe(0);
    const row = await gateway.receipt(receipt.requestId);
    expect(receipt).toMatchObject({
      state: 'posted',
      outcome: finish === null ? 'upstream_failed' : 'completed',
      costUsd: formatUsd(nanoUsd(row.charged)),
      heldUsd: formatUsd(nanoUsd(row.held)),
      inputTokens: row.input_tokens,
      outputTokens: row.output_tokens,
      durationMs: row.duration_ms,
      firstByteMs: row.first_byte_ms,
    });
    expect(row).toMatchObject({ state: 'posted', outcome: receipt.outcome });
    expect(row.charged).toBeGreaterThan(0);
  }, 60_000);
}

async function chat(): Promise<{ receipt: PlaygroundReceipt }> {
  const body = { endpoint: 'svc_chat', model: 'm', messages: [{ role: 'user', content: 'hi' }] };
  const events = (await (await admin.raw('POST', '/api/console/playground/chat', { body })).text())
    .trim()
    .split('\n\n');
  const [, data = ''] = events.at(-1)?.split('event: tollgate\ndata: ') ?? [];
  return { receipt: JSON.parse(data) as PlaygroundReceipt };
}

/** Queries of the console for a request; the ledger has connections of its own. */
function countReadsOfRequests({ tollgate }: Gateway): () => number {
  let count = 0;
  const { db } = tollgate.services.store;
  const selectFrom = db.selectFrom.bind(db);
  db.selectFrom = ((table: 'request') => {
    if (table === 'request') count++;
    return selectFrom(table);
  }) as typeof db.selectFrom;
  return () => {
    db.selectFrom = selectFrom;
    return count;
  };
}

function streamOf(finish: string | null): Response {
  const text = chunk({ role: 'assistant', content: 'Hello' }) + chunk({ content: ' there' });
  return eventStream(
    finish === null ? text : `${text}${chunk({}, finish)}${usageEvent(8, 3)}data: [DONE]\n\n`,
  );
}

test('the quote before a chat is the most that it is held at; nobody is called and nothing is held', async () => {
  const body = {
    endpoint: 'svc_chat',
    model: 'm',
    messages: [{ role: 'user', content: 'hi' }],
    max_tokens: 300,
  };
  const quote = (await admin.must('POST', '/api/console/playground/quote', body)) as PlaygroundQuote;
  expect(quote.maxTokens).toBe(300);
  expect(Number(quote.maxCostUsd)).toBeWithin(0.0006, 0.001);
  const images = { endpoint: 'svc_tgter', model: 'p', prompt: 'a gate', n: 3 };
  expect(await admin.must('POST', '/api/console/playground/quote', images)).toEqual({
    maxCostUsd: '0.03',
    maxTokens: null,
  });
  expect(backend.calls).toHaveLength(0);
  const unpriced = await admin.raw('POST', '/api/console/playground/quote', {
    body: { ...images, quality: 'high' },
  });
  expect(unpriced.status).toBe(400);
});
