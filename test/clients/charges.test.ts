import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { catalogFor, Gateway, type TestAccount } from '../support/gateway.ts';
import { chunk, completion, DONE, eventStream, ScriptedBackend } from '../support/scripted-backend.ts';
import { ALL_CLIENTS } from './all-clients.ts';

/** The same work costs the same from every client and in every dialect, to the nano-dollar. */

let backend: ScriptedBackend;
let gateway: Gateway;

/** USD per million tokens, which is nano-dollars per thousand. */
const PRICES = 'input: 0.7, cached_input: 0.07, output: 3.1';

const WORK = [
  {
    about: 'plain',
    usage: { prompt_tokens: 1_234, completion_tokens: 321 },
    nanoUsd: 1_234 * 700 + 321 * 3_100,
  },
  {
    about: 'partly cached',
    usage: { prompt_tokens: 5_000, completion_tokens: 10, prompt_tokens_details: { cached_tokens: 4_321 } },
    nanoUsd: (5_000 - 4_321) * 700 + 4_321 * 70 + 10 * 3_100,
  },
  {
    about: 'with thoughts',
    usage: {
      prompt_tokens: 77,
      completion_tokens: 600,
      completion_tokens_details: { reasoning_tokens: 550 },
    },
    nanoUsd: 77 * 700 + 600 * 3_100,
  },
];

beforeAll(async () => {
  backend = new ScriptedBackend();
  gateway = await Gateway.start({ yaml: catalogFor([backend.baseUrl], { prices: PRICES }) });
});
afterAll(async () => {
  expect((await gateway.verify()).breaches).toEqual([]);
  await gateway.stop();
  await backend.stop();
});

/** Long enough that the hold covers the usage that is then claimed. */
const PROMPT = 'a word and another one; '.repeat(600);

/** The same answer, whole or in pieces, as the request wants it. `undefined`: a backend that counts nothing. */
function answerWith(usage: Record<string, unknown> | undefined): void {
  const counted = usage && {
    ...usage,
    total_tokens: Number(usage['prompt_tokens']) + Number(usage['completion_tokens']),
  };
  backend.script(({ body }) => {
    if (body['stream'] !== true) return completion('The answer is here.', counted, {});
    const pieces = ['The', ' answer', ' is', ' here.'].map((content) => chunk({ content }));
    const end = counted ? chunk({}, null, { choices: [], usage: counted }) : '';
    return eventStream(
      [chunk({ role: 'assistant', content: '' }), ...pieces, chunk({}, 'stop'), end, DONE].join(''),
    );
  });
}

/** One receipt for every client, whole and streamed, and for the public API itself. */
async function receiptsOfAll(): Promise<Record<string, unknown>[]> {
  const receipts: Record<string, unknown>[] = [];
  for (const [name, make] of ALL_CLIENTS) {
    for (const how of ['ask', 'stream'] as const) {
      const account = await gateway.account('1');
      const { text } = await make({ url: gateway.url, token: account.token, model: 'svc_chat/m' })[how]({
        prompt: PROMPT,
      });
      expect([name, how, text]).toEqual([name, how, 'The answer is here.']);
      receipts.push(await onlyReceipt(account));
    }
  }
  for (const stream of [false, true]) {
    const account = await gateway.account('1');
    await (
      await gateway.chat(account.token, { stream, messages: [{ role: 'user', content: PROMPT }] })
    ).text();
    receipts.push(await onlyReceipt(account));
  }
  return receipts;
}

async function onlyReceipt(account: TestAccount): Promise<Record<string, unknown>> {
  await gateway.settled(account);
  const [row, ...others] = await gateway.requests(account);
  if (!row || others.length > 0) throw new Error('expected one receipt');
  expect(Number((await gateway.money(account)).balance)).toBe(1_000_000_000 - row.charged);
  const {
    charged,
    input_tokens,
    cached_tokens,
    output_tokens,
    reasoning_tokens,
    usage_source,
    outcome,
    state,
  } = row;
  return {
    charged,
    input_tokens,
    cached_tokens,
    output_tokens,
    reasoning_tokens,
    usage_source,
    outcome,
    state,
  };
}

describe('the backend counts', () => {
  test.each(WORK)('$about', async ({ usage, nanoUsd }) => {
    answerWith(usage);
    const receipts = await receiptsOfAll();
    expect(receipts).toHaveLength((ALL_CLIENTS.length + 1) * 2);
    for (const receipt of receipts) {
      expect(receipt).toEqual({
        charged: nanoUsd,
        input_tokens: usage.prompt_tokens,
        cached_tokens: usage.prompt_tokens_details?.cached_tokens ?? 0,
        output_tokens: usage.completion_tokens,
        reasoning_tokens: usage.completion_tokens_details?.reasoning_tokens ?? 0,
        usage_source: 'upstream',
        outcome: 'completed',
        state: 'posted',
      });
    }
  });
});

test('if the backend reports no usage, Tollgate counts the same in every dialect', async () => {
  answerWith(undefined);
  const receipts = await receiptsOfAll();
  const [first] = receipts;
  expect(first).toMatchObject({ usage_source: 'counted' });
  expect(Number(first?.['charged'])).toBeGreaterThan(0);
  for (const receipt of receipts) expect(receipt).toEqual({ ...first });
});
