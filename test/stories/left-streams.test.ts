import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { catalogFor, Gateway, type TestAccount } from '../support/gateway.ts';
import {
  chunk,
  completion,
  openStream,
  ScriptedBackend,
  usage,
  usageEvent,
} from '../support/scripted-backend.ts';

/** What a stream costs whose client leaves: what the backend bills for it. Input 1 USD, output 2 USD per million tokens. */

let backend: ScriptedBackend;
let gateway: Gateway;

beforeAll(async () => {
  backend = new ScriptedBackend();
  gateway = await Gateway.start({ yaml: catalogFor([backend.baseUrl]) });
});
afterAll(async () => {
  await gateway.stop();
  await backend.stop();
});
afterEach(async () => {
  expect((await gateway.verify()).breaches).toEqual([]);
});

/** By OpenAI's rule: four tokens around a message, and three with which the answer begins. */
const INPUT = 4 + 3 + countTokens('hi');
const nano = (input: number, output: number): number => input * 1_000 + output * 2_000;

async function onlyReceipt(account: TestAccount) {
  await gateway.settled(account);
  const rows = await gateway.requests(account);
  expect(rows).toHaveLength(1);
  return rows[0]!;
}

/** Opens a stream, reads until the client has seen `until`, leaves, and gives the receipt. */
async function leftAfter(events: string, until: string, path = '/api/public/v1/chat/completions') {
  const account = await gateway.account('1');
  const stream = openStream();
  backend.script(() => stream.response);
  const before = backend.calls.length;
  const body = {
    model: 'svc_chat/m',
    messages: [{ role: 'user', content: 'hi' }],
    stream: true,
    max_tokens: 50_000,
  };
  const pending = gateway.post(
    path,
    account.token,
    path.startsWith('/api') ? { ...body, endpoint: 'svc_chat', model: 'm' } : body,
  );
  await backend.called(before + 1);
  stream.send(events);
  const reader = (await pending).body!.getReader();
  const decoder = new TextDecoder();
  for (let text = ''; !text.includes(until);) {
    const { done, value } = await reader.read();
    if (done) throw new Error(`ended before '${until}': ${text}`);
    text += decoder.decode(value, { stream: true });
  }
  await reader.cancel();
  await stream.cancelled;
  return await onlyReceipt(account);
}

describe('usage that the backend reported counts', () => {
  const hidden = usageEvent(20_000, 20_020);

  test('when it came last: it is charged, whichever side ended the stream', async () => {
    const events = chunk({ content: 'one' }) + chunk({}, 'stop') + hidden + chunk({ vendor: 'last' });
    expect(await leftAfter(events, '"last"')).toMatchObject({
      charged: nano(20_000, 20_020),
      usage_source: 'upstream',
      outcome: 'client_left',
    });
  });

  test('when it came with the text, as some backends send it with every chunk', async () => {
    const told = { usage: usage(500, 300) };
    const events =
      chunk({ content: 'one' }, null, { usage: usage(500, 100) }) + chunk({ content: ' two' }, null, told);
    expect(await leftAfter(events, '" two"')).toMatchObject({
      charged: nano(500, 300),
      usage_source: 'upstream',
    });
  });

  test('when text followed it: its input is charged, its output is the minimum', async () => {
    const early = chunk({ role: 'assistant', content: '' }, null, { usage: usage(7_000, 1) });
    const row = await leftAfter(early + chunk({ content: 'one' }) + chunk({ content: ' two' }), '" two"');
    expect(row).toMatchObject({ charged: nano(7_000, 2), usage_source: 'mixed' });
    const high = chunk({ role: 'assistant', content: '' }, null, { usage: usage(7_000, 900) });
    expect(await leftAfter(high + chunk({ content: 'one' }), '"one"')).toMatchObject({
      charged: nano(7_000, 900),
    });
  });

  test('unless it is zero although there is text: then our count is charged, also for a whole answer', async () => {
    const account = await gateway.account('1');
    backend.script(() => completion('one two three', usage(0, 0)));
    const response = await gateway.chat(account.token);
    expect(await response.json()).toMatchObject({ usage: { prompt_tokens: INPUT, completion_tokens: 3 } });
    expect(await onlyReceipt(account)).toMatchObject({ charged: nano(INPUT, 3), usage_source: 'mixed' });
  });

  test('when a backend breaks off after it', async () => {
    const account = await gateway.account('1');
    const stream = openStream();
    backend.script(() => stream.response);
    const before = backend.calls.length;
    const pending = gateway.chat(account.token, { stream: true });
    await backend.called(before + 1);
    stream.send(chunk({ content: 'one' }) + usageEvent(900, 800));
    const response = await pending;
    stream.fail();
    expect(await response.text()).toContain('upstream_error');
    expect(await onlyReceipt(account)).toMatchObject({ charged: nano(900, 800), outcome: 'upstream_failed' });
  });
});

/** A comment, with which the headers of the answer go out. */
const HEADERS = ': accepted\n\n';

describe('input counts once the backend has answered', () => {
  async function leaving(account: TestAccount) {
    const before = backend.calls.length;
    const leave = new AbortController();
    const pending = gateway.chat(account.token, { stream: true }, { signal: leave.signal });
    await backend.called(before + 1);
    return { leave, pending };
  }

  test('even without any content yet', async () => {
    const stream = openStream();
    backend.script(() => stream.response);
    const account = await gateway.account('1');
    const { leave, pending } = await leaving(account);
    stream.send(HEADERS);
    leave.abort();
    await expect(pending).rejects.toThrow();
    await stream.cancelled;
    expect(await onlyReceipt(account)).toMatchObject({
      charged: nano(INPUT, 0),
      state: 'posted',
      outcome: 'client_left',
    });
  });

  test('even if the client left before that: the answer of a backend that has the request is awaited', async () => {
    const gate = Promise.withResolvers<void>();
    const stream = openStream();
    backend.script(async () => {
      await gate.promise;
      return stream.response;
    });
    const account = await gateway.account('1');
    const { leave, pending } = await leaving(account);
    leave.abort();
    await expect(pending).rejects.toThrow();
    gate.resolve();
    stream.send(HEADERS);
    await stream.cancelled;
    expect(await onlyReceipt(account)).toMatchObject({ charged: nano(INPUT, 0), outcome: 'client_left' });
  });

  test('but not if it refused, and no other backend is called for a client that left', async () => {
    const gate = Promise.withResolvers<void>();
    backend.script(async () => {
      await gate.promise;
      return new Response('busy', { status: 503 });
    });
    const account = await gateway.account('1');
    const { leave, pending } = await leaving(account);
    const calls = backend.calls.length;
    leave.abort();
    await expect(pending).rejects.toThrow();
    gate.resolve();
    expect(await onlyReceipt(account)).toMatchObject({ charged: 0, state: 'void', outcome: 'client_left' });
    expect(backend.calls.length).toBe(calls);
  });
});

describe('reasoning counts under each of its names', () => {
  const thought = 'one two three four five six seven eight';
  const counted = countTokens(thought);
  const spread = (name: string): string =>
    chunk({ role: 'assistant', content: '' }) +
    thought
      .split(/(?= )/)
      .map((word) => chunk({ [name]: word }))
      .join('');

  test.each(['reasoning_content', 'reasoning', 'reasoning_text', 'thinking'])('%s', async (name) => {
    expect(await leftAfter(spread(name), '" eight"')).toMatchObject({ charged: nano(INPUT, counted) });
  });

  test('as details beside it: once', async () => {
    const details = [{ type: 'reasoning.text', text: thought }];
    const events = chunk({ reasoning: thought, reasoning_details: details }) + chunk({ content: ' nine' });
    expect(await leftAfter(events, '" nine"')).toMatchObject({ charged: nano(INPUT, counted + 1) });
  });

  test('as details alone, and as parts of the content', async () => {
    const details = chunk({ reasoning_details: [{ type: 'reasoning.text', text: thought }] });
    expect(await leftAfter(details, 'eight')).toMatchObject({ charged: nano(INPUT, counted) });
    const parts = chunk({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: thought }] }] });
    expect(await leftAfter(parts, 'eight')).toMatchObject({ charged: nano(INPUT, counted) });
  });

  test.each(['/v1/messages', '/v1/responses'])('on %s', async (path) => {
    const account = await gateway.account('1');
    const stream = openStream();
    backend.script(() => stream.response);
    const before = backend.calls.length;
    const messages = [{ role: 'user', content: 'hi' }];
    const pending = gateway.post(path, account.token, {
      model: 'svc_chat/m',
      stream: true,
      ...(path === '/v1/messages' ? { messages, max_tokens: 5_000 } : { input: 'hi' }),
    });
    await backend.called(before + 1);
    stream.send(spread('reasoning'));
    const reader = (await pending).body!.getReader();
    for (let text = ''; !text.includes(' eight');)
      text += new TextDecoder().decode((await reader.read()).value);
    await reader.cancel();
    expect(await onlyReceipt(account)).toMatchObject({
      charged: nano(INPUT, counted),
      outcome: 'client_left',
    });
  });
});
