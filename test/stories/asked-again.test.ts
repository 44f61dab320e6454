import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { attemptsOf } from '../../src/ledger/receipt.ts';
import { catalogFor, Gateway, type TestAccount } from '../support/gateway.ts';
import { completion, ScriptedBackend, usage } from '../support/scripted-backend.ts';

/** A lone backend is asked again only for what it has not done, and what it may have done is booked. */

let backend: ScriptedBackend;
let gateway: Gateway;
let account: TestAccount;

beforeEach(async () => {
  backend = new ScriptedBackend();
  const prices = 'input: 1, output: 2, cost: { b0: { input: 0.5, output: 1 } }';
  gateway = await Gateway.start({ yaml: catalogFor([backend.baseUrl], { prices }) });
  account = await gateway.account('10');
});
afterEach(async () => {
  await gateway.settled(account);
  expect((await gateway.verify()).breaches).toEqual([]);
  await gateway.stop();
  await backend.stop();
});

const ownError = (status: number) =>
  Response.json({ error: { message: 'try later', type: 'server_error' } }, { status });
const limited = (headers: Record<string, string>) =>
  Response.json({ error: { message: 'too many' } }, { status: 429, headers });
const answer = () => completion('ok', usage(10, 5));
const ask = () => gateway.chat(account.token, { max_tokens: 1_000 });

async function costsOfAttempts() {
  await gateway.settled(account);
  return attemptsOf((await gateway.requests(account)).at(-1)!).map(({ result, cost }) => [
    result,
    cost?.basis,
  ]);
}

test('requests whose every first call is answered with a clean 500 are all served', async () => {
  backend.script((_, index) => (index % 2 === 0 ? ownError(500) : answer()));
  const statuses = [];
  for (let request = 0; request < 4; request++) statuses.push((await ask()).status);
  expect(statuses).toEqual([200, 200, 200, 200]);
  expect(backend.calls).toHaveLength(8);
});

describe('the backend’s own error', () => {
  test.each([500, 502, 503, 529])(
    '%i is asked again once, and the first call is booked as possible cost',
    async (status) => {
      backend.script((_, index) => (index === 0 ? ownError(status) : answer()));
      expect((await ask()).status).toBe(200);
      expect(await costsOfAttempts()).toEqual([
        ['failed', 'possible'],
        ['served', 'priced'],
      ]);
    },
  );

  test('is not asked a third time', async () => {
    backend.script(() => ownError(500));
    expect((await ask()).status).toBe(500);
    expect(backend.calls).toHaveLength(2);
    expect(await costsOfAttempts()).toEqual([
      ['failed', 'possible'],
      ['failed', undefined],
    ]);
  });

  test('about an image is not asked again', async () => {
    backend.script(() => ownError(500));
    expect((await gateway.image(account.token)).status).toBe(500);
    expect(backend.calls).toHaveLength(1);
  });
});

test.each([
  ['a page', () => new Response('<html>Bad gateway</html>', { status: 502 })],
  ['nothing', () => new Response(null, { status: 500 })],
  ['JSON that is no error', () => Response.json({ ok: false }, { status: 503 })],
])('a 5xx with %s is not asked again, and is booked as possible cost', async (_, failed) => {
  backend.script((_call, index) => (index === 0 ? failed() : answer()));
  expect((await ask()).status).toBe(500);
  expect(backend.calls).toHaveLength(1);
  expect(await costsOfAttempts()).toEqual([['failed', 'possible']]);
});

test.each<[string, Record<string, string>, number]>([
  ['under two seconds', { 'retry-after-ms': '40' }, 2],
  ['of two seconds', { 'retry-after': '2' }, 1],
  ['that is not told', {}, 1],
])(
  'a backend over its limit for a time %s is called as often as it can take it',
  async (_, headers, calls) => {
    backend.script((_call, index) => (index === 0 ? limited(headers) : answer()));
    expect((await ask()).status).toBe(calls === 2 ? 200 : 500);
    expect(backend.calls).toHaveLength(calls);
  },
);
