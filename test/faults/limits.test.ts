import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { nanoUsd } from '../../src/std/money.ts';
import { catalogFor, Gateway, type TestAccount } from '../support/gateway.ts';
import { runLoad } from '../support/load.ts';
import { BackendProcess, eventually, NodeProcess } from '../support/node-process.ts';
import { Operator } from '../support/operator.ts';
import { testPostgres } from '../support/postgres.ts';
import {
  completion,
  images,
  openStream,
  chunk,
  DONE,
  ScriptedBackend,
  usage,
} from '../support/scripted-backend.ts';

/** Limits are exact: they refuse what they must and nothing else, and say truthfully when to retry. */

describe.each(['SQLite', 'Postgres'])('on %s', (store) => {
  let backend: ScriptedBackend;
  let gateway: Gateway;

  beforeAll(async () => {
    backend = new ScriptedBackend();
    const databaseUrl = store === 'Postgres' ? await (await testPostgres()).freshDatabase() : undefined;
    const yaml = catalogFor([backend.baseUrl], { prices: 'input: 0, output: 2' });
    gateway = await Gateway.start({ yaml, ...(databaseUrl === undefined ? {} : { databaseUrl }) });
  }, 60_000);
  afterAll(async () => {
    expect((await gateway.verify()).breaches).toEqual([]);
    await gateway.stop();
    await backend.stop();
  });

  /** Sends requests until one is refused; the number of answers is what was left of a limit. */
  async function left(account: TestAccount, most = 30): Promise<number> {
    backend.script(() => completion('x', usage(0, 1)));
    for (let answered = 0; answered < most; answered++) {
      const response = await gateway.chat(account.token, { max_tokens: 1 });
      await response.text();
      if (response.status === 429) return answered;
      expect(response.status).toBe(200);
    }
    throw new Error('never refused');
  }

  async function refused(count: number, ask: () => Promise<Response>, code: string): Promise<void> {
    for (let turn = 0; turn < count; turn++) expect(await (await ask()).text()).toContain(`"${code}"`);
  }

  describe('a refusal by one limit consumes none of the others', () => {
    // At two per minute, one is refilled every thirty seconds: not within these tests, on a busy machine either.
    const CHAT = 2;

    test('concurrency: the rate is unchanged', async () => {
      const account = await gateway.account('1', { chat: CHAT, concurrent: 1 });
      const { response, send, end } = openStream();
      backend.script(() => response);
      const running = gateway.chat(account.token, { stream: true, max_tokens: 5 });
      send(chunk({ content: 'x' }));
      await running;
      await refused(20, () => gateway.chat(account.token, { max_tokens: 1 }), 'concurrency_limit_exceeded');
      send(chunk({}, 'stop') + DONE);
      end();
      await (await running).text();
      expect(await left(account)).toBe(CHAT - 1);
    });

    test('an empty balance: the rate is unchanged', async () => {
      const account = await gateway.account('0', { chat: CHAT });
      await refused(20, () => gateway.chat(account.token, { max_tokens: 1 }), 'payment_required');
      await gateway.tollgate.services.ledger.ledger.post({
        accountId: account.id,
        kind: 'credit',
        amount: 1_000_000,
        cause: 'test',
        actor: 'test',
      });
      expect(await left(account)).toBe(CHAT);
    });

    test('a monthly limit: the rate is unchanged', async () => {
      const account = await gateway.account('1', { chat: CHAT });
      const { accounts } = gateway.tollgate.services;
      await accounts.setLimits(account.id, { monthlyLimit: nanoUsd(0) });
      await refused(20, () => gateway.chat(account.token, { max_tokens: 1 }), 'payment_required');
      await accounts.setLimits(account.id, { monthlyLimit: null });
      expect(await left(account)).toBe(CHAT);
    });

    test('an invalid request: the rate is unchanged', async () => {
      const account = await gateway.account('1', { chat: CHAT });
      await refused(20, () => gateway.chat(account.token, { max_tokens: -1 }), 'invalid_field');
      expect(await left(account)).toBe(CHAT);
    });

    test('the rate: no money is held or spent, no slot is taken, and images still work', async () => {
      const account = await gateway.account('1', { chat: CHAT, images: 5, concurrent: 3 });
      expect(await left(account)).toBe(CHAT);
      const before = await gateway.money(account);
      await refused(20, () => gateway.chat(account.token, { max_tokens: 1 }), 'rate_limit_exceeded');
      expect(await gateway.money(account)).toEqual(before);
      expect(before).toMatchObject({ held: 0 as never, open: 0 });
      backend.script(() => images(1));
      for (let turn = 0; turn < 5; turn++) {
        expect((await gateway.image(account.token, { response_format: 'b64_json' })).status).toBe(200);
      }
      await refused(
        3,
        () => gateway.image(account.token, { response_format: 'b64_json' }),
        'rate_limit_exceeded',
      );
    });
  });

  test('Retry-After is exact: a client that waits exactly that long is answered', async () => {
    // One is refilled every 300 ms.
    const account = await gateway.account('1', { chat: 200 });
    backend.script(() => completion('x', usage(0, 1)));
    const ask = () => gateway.chat(account.token, { max_tokens: 1 });
    let answeredAtFirstTry = 0;
    for (let turn = 0; turn < 6; turn++) {
      let response = await ask();
      while (response.status === 200) response = await ask();
      const waitMs = Number(response.headers.get('retry-after-ms'));
      expect(response.status).toBe(429);
      expect(waitMs).toBeGreaterThan(0);
      expect(waitMs).toBeLessThanOrEqual(300);
      expect(Number(response.headers.get('retry-after'))).toBe(Math.ceil(waitMs / 1_000));
      await Bun.sleep(waitMs);
      if ((await ask()).status === 200) answeredAtFirstTry++;
    }
    expect(answeredAtFirstTry).toBe(6);
  });

  /** With what an answer of four words in at most ten tokens must then cost. */
  const HOSTILE_USAGE: readonly (readonly [string, string, number])[] = [
    ['negative', '{"prompt_tokens":-5,"completion_tokens":-5}', 4],
    ['NaN', '{"prompt_tokens":null,"completion_tokens":null}', 4],
    ['1e400', '{"prompt_tokens":1e400,"completion_tokens":1e400}', 4],
    ['text', '{"prompt_tokens":"12","completion_tokens":"3"}', 4],
    ['a fraction', '{"prompt_tokens":1.5,"completion_tokens":2.5}', 4],
    ['beyond 2^53', '{"prompt_tokens":9007199254740994,"completion_tokens":1}', 4],
    ['missing', 'null', 4],
    ['ten times the cap', '{"prompt_tokens":0,"completion_tokens":100}', 10],
  ];

  test.each(HOSTILE_USAGE)(
    'a backend that says it used %s makes no credit and no 500, whole or streamed',
    async (_, usageText, tokens) => {
      const account = await gateway.account('1');
      backend.script(({ body }) => answerOf('one two three four', usageText, body['stream'] === true));
      for (const stream of [false, true]) {
        const response = await gateway.chat(account.token, { max_tokens: 10, stream });
        expect(response.status).toBe(200);
        expect(await response.text()).toContain(stream ? 'data: [DONE]' : 'one two three four');
      }
      const rows = await gateway.requests(account);
      expect(rows.map(({ charged }) => charged)).toEqual([tokens * 2_000, tokens * 2_000]);
      expect(await gateway.money(account)).toMatchObject({
        balance: (1_000_000_000 - 2 * tokens * 2_000) as never,
        held: 0 as never,
      });
    },
  );

  test('a client that asks for −1, 0, 1e400, 2^53+1 or no whole number of tokens is told so, and nothing is held', async () => {
    const account = await gateway.account('1');
    for (const cap of ['-1', '0', '1e400', '9007199254740993', '"10"', '1.5', 'true', '[]']) {
      for (const field of ['max_tokens', 'max_completion_tokens', 'n']) {
        const response = await gateway.fetch('/api/public/v1/chat/completions', {
          method: 'POST',
          token: account.token,
          body: `{"endpoint":"svc_chat","model":"m","messages":[{"role":"user","content":"x"}],"${field}":${cap}}`,
        });
        expect({ field, cap, status: response.status }).toEqual({ field, cap, status: 400 });
      }
    }
    expect(await gateway.requests(account)).toEqual([]);
  });

  test('the rate headers are true: what remains can be had, and what is more is refused', async () => {
    const account = await gateway.account('1', { chat: 8 });
    backend.script(() => completion('x', usage(0, 1)));
    for (let remaining = 7; remaining >= 0; remaining--) {
      const response = await gateway.chat(account.token, { max_tokens: 1 });
      expect(response.status).toBe(200);
      expect(response.headers.get('x-ratelimit-limit-requests')).toBe('8');
      expect(response.headers.get('x-ratelimit-remaining-requests')).toBe(String(remaining));
    }
    expect((await gateway.chat(account.token, { max_tokens: 1 })).status).toBe(429);
  });
});

describe('ten at once', () => {
  let backend: BackendProcess;
  let node: NodeProcess;
  let operator: Operator;

  beforeAll(async () => {
    backend = await BackendProcess.start();
    node = await NodeProcess.start({
      yaml: catalogFor([backend.baseUrl], { prices: 'input: 0, output: 2' }),
    });
    operator = await Operator.open(node.env);
  }, 60_000);
  afterAll(async () => {
    await operator.close();
    await node.stop();
    await backend.stop();
  });

  const chat = (more: Record<string, unknown>) => ({
    endpoint: 'svc_chat',
    model: 'm',
    messages: [{ role: 'user', content: 'hi' }],
    max_tokens: 50,
    ...more,
  });

  test('a backend never sees more, through 1,000 answers, streams and broken connections, and every slot comes back', async () => {
    const account = await operator.account('10', { concurrent: 10 });
    // Together more than ten, and neither of them so many that the other finds no slot.
    const plan = { urls: [node.url], token: account.token, concurrent: 8 };
    const reports = await Promise.all([
      runLoad({ ...plan, total: 500, body: chat({ script: { delayMs: 5, resetOneIn: 40 } }) }),
      runLoad({ ...plan, total: 500, body: chat({ stream: true, script: { chunks: 3, everyMs: 3 } }) }),
    ]);
    expect(
      reports
        .flatMap(({ statuses }) => Object.keys(statuses))
        .every((status) => ['200', '429', '500'].includes(status)),
    ).toBe(true);
    expect(reports.map(({ broken }) => broken)).toEqual([{}, {}]);
    expect(reports.every(({ statuses }) => (statuses['200'] ?? 0) >= 10)).toBe(true);
    expect((await backend.stats()).mostRunning).toBeLessThanOrEqual(10);
    await operator.settled();
    expect(await operator.money(account)).toMatchObject({ held: 0, open: 0 });
  });

  test('clients that leave free their slots', async () => {
    const account = await operator.account('10', { concurrent: 10 });
    const plan = { urls: [node.url], token: account.token, concurrent: 30 };
    const left = await runLoad({
      ...plan,
      total: 600,
      leaveAfter: 1,
      body: chat({ stream: true, script: { chunks: 50, everyMs: 50 } }),
    });
    expect(left.ends['left']).toBeGreaterThanOrEqual(10);
    await eventually('the slots are free', async () => (await operator.money(account)).open === 0);
    await eventually('the backend is left alone', async () => (await backend.stats()).running === 0);
    const after = await runLoad({
      ...plan,
      total: 10,
      concurrent: 10,
      body: chat({ script: { delayMs: 300 } }),
    });
    expect(after.statuses).toEqual({ 200: 10 });
    expect((await operator.verify()).breaches).toEqual([]);
  });
});

/** Usage is written as text, because not everything that a backend may write is a number in JavaScript. */
function answerOf(content: string, usageText: string, isStream: boolean): Response {
  const base = `"id":"x","created":1,"model":"b"`;
  const whole = `{${base},"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"${content}"},"finish_reason":"stop"}],"usage":${usageText}}`;
  if (!isStream) return new Response(whole, { headers: { 'content-type': 'application/json' } });
  const last = `{${base},"object":"chat.completion.chunk","choices":[],"usage":${usageText}}`;
  return new Response(`${chunk({ content })}${chunk({}, 'stop')}data: ${last}\n\n${DONE}`, {
    headers: { 'content-type': 'text/event-stream' },
  });
}
