import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { catalogFor, Gateway, type TestAccount } from '../support/gateway.ts';
import {
  chunk,
  completion,
  DONE,
  eventStream,
  openStream,
  ScriptedBackend,
  streamed,
  usage,
  usageEvent,
} from '../support/scripted-backend.ts';

/** Every way a stream can end, and what it costs then. Input 1 USD, output 2 USD per million tokens. */

let backend: ScriptedBackend;
let gateway: Gateway;

beforeAll(async () => {
  backend = new ScriptedBackend();
  const upstream = 'timeouts: { first_byte_ms: 1000, idle_ms: 1000, total_ms: 4000 }';
  gateway = await Gateway.start({ yaml: catalogFor([backend.baseUrl], { upstream }) });
});
afterAll(async () => {
  await gateway.stop();
  await backend.stop();
});
afterEach(async () => {
  expect((await gateway.verify()).breaches).toEqual([]);
});

const INPUT = 4 + 3 + countTokens('hi');
const nano = (input: number, output: number): number => input * 1_000 + output * 2_000;

async function reading(response: Response) {
  const reader = response.body!.getReader();
  const decoder = new TextDecoder();
  let text = '';
  return {
    /** Reads until the text so far holds these words. */
    async until(words: string): Promise<string> {
      while (!text.includes(words)) {
        const { done, value } = await reader.read();
        if (done) throw new Error(`ended before '${words}': ${text}`);
        text += decoder.decode(value, { stream: true });
      }
      return text;
    },
    async rest(): Promise<string> {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return text;
        text += decoder.decode(value, { stream: true });
      }
    },
    leave: () => reader.cancel(),
  };
}

async function charged(account: TestAccount) {
  await gateway.settled(account);
  const rows = await gateway.requests(account);
  expect(rows).toHaveLength(1);
  return rows[0]!;
}

const errorEvents = (text: string): string[] =>
  text.split('\n\n').filter((event) => event.startsWith('data: {"error"'));

test('a whole stream: the backend’s own usage, to the nano-dollar', async () => {
  backend.script(() => streamed(['Hello', ' world'], { prompt: 11, completion: 2 }));
  const account = await gateway.account('1');
  const text = await (await gateway.chat(account.token, { stream: true })).text();
  expect(text).toEndWith('data: [DONE]\n\n');
  expect(await charged(account)).toMatchObject({
    charged: nano(11, 2),
    usage_source: 'upstream',
    outcome: 'completed',
    state: 'posted',
    finish_reason: 'stop',
  });
});

test('a backend that closes its answer after the last event keeps the connection for the next call', async () => {
  const { server, connections } = lingering();
  const own = await Gateway.start({ yaml: catalogFor([`http://127.0.0.1:${server.port}/v1`]) });
  try {
    const account = await own.account('1');
    for (let call = 0; call < 3; call++) {
      const text = await (await own.chat(account.token, { stream: true })).text();
      expect(text).toEndWith('data: [DONE]\n\n');
      await server.closed();
    }
    expect(connections()).toBe(1);
  } finally {
    await own.stop();
    server.stop();
  }
});

/** Sends the end of the body only when the client of the gateway has had all of it for a while. */
function lingering() {
  let opened = 0;
  let closed = Promise.withResolvers<void>();
  const answer = chunk({ content: 'x' }) + chunk({}, 'stop') + DONE;
  const head = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n';
  const listener = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      open: () => void opened++,
      data(socket) {
        socket.write(`${head}${Buffer.byteLength(answer).toString(16)}\r\n${answer}\r\n`);
        setTimeout(() => {
          socket.write('0\r\n\r\n');
          closed.resolve();
        }, 50);
      },
    },
  });
  const server = {
    port: listener.port,
    async closed() {
      await closed.promise;
      closed = Promise.withResolvers<void>();
      // Its last bytes need a moment to arrive.
      await Bun.sleep(50);
    },
    stop: () => listener.stop(true),
  };
  return { server, connections: () => opened };
}

test('usage is always requested from the backend and shown only to clients that asked', async () => {
  backend.script(() => streamed(['x'], { prompt: 1, completion: 1 }));
  const account = await gateway.account('1');
  const hidden = await (await gateway.chat(account.token, { stream: true })).text();
  expect(backend.calls.at(-1)?.body['stream_options']).toEqual({ include_usage: true });
  expect(hidden).not.toContain('prompt_tokens');
  const shown = await (
    await gateway.chat(account.token, { stream: true, stream_options: { include_usage: true } })
  ).text();
  expect(shown).toContain('"prompt_tokens":1');
});

test('a backend without usage: counted, flagged, and reported to clients that asked', async () => {
  backend.script(() => streamed(['one', ' two', ' three']));
  const account = await gateway.account('1');
  const text = await (
    await gateway.chat(account.token, { stream: true, stream_options: { include_usage: true } })
  ).text();
  expect(text).toContain('"completion_tokens":3');
  expect(await charged(account)).toMatchObject({
    charged: nano(INPUT, 3),
    usage_source: 'counted',
    outcome: 'completed',
  });
});

/** A chat whose stream the test feeds by hand, opened up to its first words. */
async function opened(account: TestAccount, init: RequestInit = {}) {
  const stream = openStream();
  backend.script(() => stream.response);
  const before = backend.calls.length;
  const pending = gateway.chat(account.token, { stream: true, max_tokens: 1000 }, init);
  await backend.called(before + 1);
  stream.send(chunk({ role: 'assistant', content: '' }) + chunk({ content: 'one' }));
  const client = await reading(await pending);
  await client.until('"one"');
  return { stream, client };
}

describe('the client leaves', () => {
  test('in the middle: the backend is aborted, what was delivered is charged, the hold is closed', async () => {
    const account = await gateway.account('1');
    const { stream, client } = await opened(account);
    stream.send(chunk({ content: ' two' }) + chunk({ content: ' three' }));
    await client.until('" three"');
    await client.leave();
    await stream.cancelled;
    expect(await charged(account)).toMatchObject({
      charged: nano(INPUT, 3),
      usage_source: 'counted',
      outcome: 'client_left',
      state: 'posted',
    });
  });

  test('a whole answer is awaited and charged as used', async () => {
    const gate = Promise.withResolvers<void>();
    backend.script(async () => {
      await gate.promise;
      return completion('done', usage(5, 1));
    });
    const account = await gateway.account('1');
    const before = backend.calls.length;
    const leaving = new AbortController();
    const pending = gateway.chat(account.token, {}, { signal: leaving.signal });
    await backend.called(before + 1);
    leaving.abort();
    await expect(pending).rejects.toThrow();
    // The gateway sees the end of the connection no later than requests that come after it.
    for (let turn = 0; turn < 20; turn++) await (await gateway.fetch('/healthz')).text();
    gate.resolve();
    expect(await charged(account)).toMatchObject({
      charged: nano(5, 1),
      usage_source: 'upstream',
      state: 'posted',
      outcome: 'client_left',
    });
  });

  test('after each number of words from 0 to 20: never free once a word arrived, never more than delivered', async () => {
    for (let words = 1; words <= 20; words += 3) {
      const account = await gateway.account('1');
      const { stream, client } = await opened(account);
      for (let word = 1; word < words; word++) stream.send(chunk({ content: ` w${word}` }));
      if (words > 1) await client.until(`" w${words - 1}"`);
      await client.leave();
      const row = await charged(account);
      const delivered = 'one' + Array.from({ length: words - 1 }, (_, index) => ` w${index + 1}`).join('');
      expect(Math.abs(row.output_tokens - countTokens(delivered))).toBeLessThanOrEqual(1);
      expect(row.charged).toBe(nano(row.input_tokens, row.output_tokens));
    }
  });
});

describe('the backend fails', () => {
  test('in the middle: what is complete, one error event, no [DONE], charged what was delivered', async () => {
    const account = await gateway.account('1');
    const { stream, client } = await opened(account);
    stream.send('data: {"id":"half');
    stream.fail();
    const text = await client.rest();
    expect(errorEvents(text)).toHaveLength(1);
    expect(text).not.toContain('[DONE]');
    expect(text).not.toContain('half');
    expect(JSON.parse(errorEvents(text)[0]!.slice(6))).toMatchObject({
      error: { code: 'upstream_error', type: 'server_error' },
    });
    expect(await charged(account)).toMatchObject({
      charged: nano(INPUT, 1),
      usage_source: 'counted',
      outcome: 'upstream_failed',
      error_code: 'upstream_error',
    });
  });

  test('by ending without a finish: an error event, never a clean end', async () => {
    const account = await gateway.account('1');
    const { stream, client } = await opened(account);
    stream.end();
    const text = await client.rest();
    expect(errorEvents(text)).toHaveLength(1);
    expect(await charged(account)).toMatchObject({ outcome: 'upstream_failed', output_tokens: 1 });
  });

  test('by an error event after content: our error reaches the client, its message does not', async () => {
    const account = await gateway.account('1');
    const { stream, client } = await opened(account);
    stream.send('data: {"error":{"message":"key sk-backendsecret123456 is over quota"}}\n\n');
    const text = await client.rest();
    expect(errorEvents(text)).toHaveLength(1);
    expect(text).not.toContain('backendsecret');
    expect(await charged(account)).toMatchObject({ outcome: 'upstream_failed', charged: nano(INPUT, 1) });
  });

  test('with a finish but without [DONE] and usage: it is whole', async () => {
    backend.script(() => eventStream(chunk({ content: 'hello' }) + chunk({}, 'stop')));
    const account = await gateway.account('1');
    const text = await (await gateway.chat(account.token, { stream: true })).text();
    expect(text).toEndWith('data: [DONE]\n\n');
    expect(await charged(account)).toMatchObject({ outcome: 'completed', usage_source: 'counted' });
  });

  test('by silence in the middle: cut at the idle timeout with an error event', async () => {
    const account = await gateway.account('1');
    const { stream, client } = await opened(account);
    const text = await client.rest();
    expect(errorEvents(text)[0]).toContain('upstream_timeout');
    await stream.cancelled;
    expect(await charged(account)).toMatchObject({ outcome: 'cut_short', charged: nano(INPUT, 1) });
  });

  test('by silence before the first word: 500 upstream_timeout, nothing charged', async () => {
    const stream = openStream();
    backend.script(() => stream.response);
    const account = await gateway.account('1');
    const response = await gateway.chat(account.token, { stream: true });
    expect(response.status).toBe(500);
    expect(((await response.json()) as { error: { code: string } }).error.code).toBe('upstream_timeout');
    expect(await charged(account)).toMatchObject({ charged: 0, state: 'void' });
  });

  test('by sending slowly forever: cut off at the total deadline', async () => {
    const account = await gateway.account('1');
    const { stream, client } = await opened(account);
    const drip = setInterval(() => stream.send(chunk({ content: ' x' })), 100);
    void stream.cancelled.then(() => clearInterval(drip));
    const text = await client.rest();
    expect(errorEvents(text)[0]).toContain('upstream_timeout');
    expect((await charged(account)).outcome).toBe('cut_short');
  });
});

describe('a backend that sends too much', () => {
  const endless = (text: string) =>
    new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(new TextEncoder().encode(text)),
    });

  test('an endless stream is cut, and costs no more than its hold', async () => {
    const filler = chunk({ content: 'x'.repeat(5_000) });
    backend.script(() => eventStream(endless(filler)));
    const account = await gateway.account('1');
    const text = await (await gateway.chat(account.token, { stream: true, max_tokens: 10 })).text();
    expect(errorEvents(text)).toHaveLength(1);
    // By its size, long before the deadline for the whole answer would have cut it.
    expect(errorEvents(text)[0]).toContain('upstream_error');
    expect(text.length).toBeLessThan(2 * 1_048_576);
    const row = await charged(account);
    expect(row.outcome).toBe('cut_short');
    expect(row.charged).toBe(row.held);
  });

  test('a line without an end is cut at a megabyte', async () => {
    backend.script(() =>
      eventStream(
        new Blob([chunk({ content: 'a' })]).stream().pipeThrough(
          new TransformStream<Uint8Array, Uint8Array>({
            transform: (bytes, controller) => controller.enqueue(bytes),
            flush: (controller) => {
              controller.enqueue(new TextEncoder().encode(`data: ${'x'.repeat(3_000_000)}`));
            },
          }),
        ),
      ),
    );
    const account = await gateway.account('1');
    const text = await (await gateway.chat(account.token, { stream: true })).text();
    expect(errorEvents(text)).toHaveLength(1);
    expect(text.length).toBeLessThan(10_000);
    expect((await charged(account)).outcome).toBe('upstream_failed');
  });
});

test('a token replaced in mid-stream: the stream finishes, the next request is refused', async () => {
  const account = await gateway.account('1');
  const { stream, client } = await opened(account);
  const fresh = await gateway.tollgate.services.accounts.replaceToken(account.id);
  expect((await gateway.chat(account.token)).status).toBe(401);
  stream.send(chunk({}, 'stop') + usageEvent(3, 1) + DONE);
  expect(await client.rest()).toEndWith('data: [DONE]\n\n');
  expect(await charged(account)).toMatchObject({ outcome: 'completed', charged: nano(3, 1) });
  backend.script(() => completion('x', usage(1, 1)));
  expect((await gateway.chat(fresh)).status).toBe(200);
});

test('a disabled account is refused at once while its stream continues', async () => {
  const account = await gateway.account('1');
  const { stream, client } = await opened(account);
  await gateway.tollgate.services.accounts.setStatus(account.id, 'disabled');
  expect((await gateway.chat(account.token)).status).toBe(401);
  stream.send(chunk({}, 'stop') + usageEvent(3, 1) + DONE);
  expect(await client.rest()).toEndWith('data: [DONE]\n\n');
});

describe('bytes', () => {
  const said = ['Grüße', ' 世界', ' 🚪', ' "quoted"', ' \\\n'];
  const original = [
    chunk({ role: 'assistant', content: '' }),
    ...said.map((word) => chunk({ content: word })),
    chunk({}, 'stop'),
    usageEvent(9, 5),
    DONE,
  ].join('');

  const variants: [string, string][] = [
    ['LF', original],
    ['CRLF', original.replaceAll('\n', '\r\n')],
    ['CR', original.replaceAll('\n', '\r')],
    ['a BOM', `\ufeff${original}`],
    ['comments', original.replaceAll('data:', ': ping\n\ndata:')],
    ['no space after data:', original.replaceAll('data: ', 'data:')],
  ];

  test.each(variants)('%s gives the same bytes and the same usage', async (_, text) => {
    const account = await gateway.account('1');
    backend.script(() => eventStream(original));
    const plain = await (await gateway.chat(account.token, { stream: true })).text();
    backend.script(() => eventStream(text));
    const varied = await (await gateway.chat(account.token, { stream: true })).text();
    const strip = (all: string): string => all.replace(/req_\w+/g, 'ID');
    expect(strip(varied)).toBe(strip(plain));
    expect(varied).not.toContain('\ufffd');
    for (const row of await gateway.requests(account))
      expect(row).toMatchObject({ charged: nano(9, 5), usage_source: 'upstream' });
  });

  test('id and model are ours, everything else is the backend’s', async () => {
    const account = await gateway.account('1');
    backend.script(() =>
      eventStream(
        chunk({ content: 'x', vendor: { deep: [1] } }, null, { system_fingerprint: 'fp_1' }) +
          chunk({}, 'stop') +
          DONE,
      ),
    );
    const response = await gateway.chat(account.token, { stream: true });
    const text = await response.text();
    expect(text).toContain(`"id":"${response.headers.get('x-request-id')}"`);
    expect(text).toContain('"model":"m"');
    expect(text).not.toContain('backend-model');
    expect(text).toContain('"vendor":{"deep":[1]}');
    expect(text).toContain('"system_fingerprint":"fp_1"');
  });
});
