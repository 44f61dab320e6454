import { afterAll, beforeAll, expect, test } from 'bun:test';
import { silentLog } from '../../src/std/log.ts';
import { sharedTokenCounter } from '../../src/tokenizer/worker-counter.ts';
import { catalogFor, Gateway, type TestAccount } from '../support/gateway.ts';

/** Texts that take long to count are counted beside those of others, not before them. */

/** Three megabytes that no encoding splits, and half a megabyte of ordinary text. */
const SLOW_TEXT = '的一是在不了有和人这中大为上个国我以要他时来用们生到作地于出就分对成会可主发年动'.repeat(
  25_000,
);
const ORDINARY_TEXT = 'A gateway that bills has to count what it sells, and to say so. '.repeat(8_000);

let gateway: Gateway;
let hostile: TestAccount;
let other: TestAccount;
beforeAll(async () => {
  gateway = await Gateway.start({ yaml: catalogFor(['http://127.0.0.1:9/v1']) });
  hostile = await gateway.account('10');
  other = await gateway.account('10');
}, 60_000);
afterAll(() => gateway.stop());

function count(account: TestAccount, content: string, signal?: AbortSignal): Promise<Response> {
  const body = { model: 'svc_chat/m', messages: [{ role: 'user', content }] };
  return gateway.post('/v1/messages/count_tokens', account.token, body, signal ? { signal } : {});
}

async function countedMs(account: TestAccount, content: string): Promise<number> {
  const begun = performance.now();
  const reply = await count(account, content);
  const ms = performance.now() - begun;
  expect([reply.status, await reply.json()]).toEqual([200, { input_tokens: expect.any(Number) }]);
  return ms;
}

/** Of two, so that a pause of the machine is not taken for a wait. */
async function shortestMs(): Promise<number> {
  return Math.min(await countedMs(other, ORDINARY_TEXT), await countedMs(other, ORDINARY_TEXT));
}

/** Counts of one account that go on until the test ends them. */
async function whileCounting(texts: number, run: () => Promise<void>): Promise<void> {
  const over = new AbortController();
  let done = 0;
  const running = Array.from({ length: texts }, () =>
    count(hostile, SLOW_TEXT, over.signal).then(
      () => done++,
      () => undefined,
    ),
  );
  while (sharedTokenCounter(silentLog).size < texts) await Bun.sleep(5);
  await run();
  expect(done).toBe(0);
  over.abort();
  await Promise.all(running);
}

test('a long text of one account takes its share of the time, and leaves another’s count its own', async () => {
  await countedMs(other, 'warm');
  const alone = await shortestMs();
  await whileCounting(1, async () => {
    expect(await shortestMs()).toBeLessThan(8 * alone);
  });
}, 60_000);

test('many long texts of one account take no more than one', async () => {
  const alone = await shortestMs();
  await whileCounting(6, async () => {
    expect(await shortestMs()).toBeLessThan(8 * alone);
  });
}, 60_000);
