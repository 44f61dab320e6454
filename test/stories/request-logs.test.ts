import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { catalogFor, Gateway, type TestAccount } from '../support/gateway.ts';
import { completion, ScriptedBackend, streamed, usage } from '../support/scripted-backend.ts';
import { eventually } from '../support/node-process.ts';

/** What an operator finds in the log about a request, and what a client finds of its own ids. */

const TRACEPARENT = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
const TRACED = { traceparent: TRACEPARENT, tracestate: 'congo=t61rcWkgMzE', 'x-request-id': 'order 17' };

const backends = [new ScriptedBackend(), new ScriptedBackend()] as const;
const [first, second] = backends;
let gateway: Gateway;
let account: TestAccount;

type LogLine = Readonly<Record<string, unknown>>;

function yaml(log = 'log: { access: json }'): string {
  const native = `
  claude: { kind: anthropic, base_url: "${first.baseUrl}", api_key: "\${CLAUDE_KEY}" }
lists:
  claude_models: [{ model: c, display_name: C, input: 1, output: 2, context: 1000, max_output: 100 }]`;
  return `${catalogFor([first.baseUrl, second.baseUrl]).replace('\nlists:', native)}
  claude_chat: { name: claude, type: chat_completion, lists: [claude_models], upstreams: [claude] }
${log}
`;
}

beforeAll(async () => {
  gateway = await Gateway.start({ yaml: yaml(), env: { CLAUDE_KEY: 'claude-key' } });
  account = await gateway.account('5');
});
afterAll(async () => {
  await gateway.stop();
  await Promise.all(backends.map((backend) => backend.stop()));
});
beforeEach(() => {
  for (const backend of backends) backend.script(() => completion('ok', usage(10, 3)));
});

function linesOf(event: string, requestId: string): LogLine[] {
  const lines = gateway.log.map((line) => JSON.parse(line) as LogLine);
  return lines.filter((line) => line['event'] === event && line['request'] === requestId);
}

/** The access line of an answer. */
async function accessLine(response: Response): Promise<LogLine> {
  const requestId = response.headers.get('x-request-id') ?? '';
  await eventually('its line is written', () => linesOf('request', requestId).length > 0);
  const lines = linesOf('request', requestId);
  expect(lines).toHaveLength(1);
  return lines[0] ?? {};
}

async function ask(body: Record<string, unknown> = {}, headers: Record<string, string> = {}) {
  const response = await gateway.chat(account.token, body, { headers });
  await response.text();
  return response;
}

const refusal = (): Response => new Response('{"error":{"message":"out of order"}}', { status: 500 });

describe('a line about a request', () => {
  test('that is about a failed attempt names the request, its account, endpoint, model and backend, and the client’s own ids', async () => {
    first.script(refusal);
    const response = await ask({}, TRACED);
    expect(response.status).toBe(200);
    expect(linesOf('backend_attempt_failed', response.headers.get('x-request-id') ?? '')).toMatchObject([
      {
        client_request: 'order_17',
        traceparent: TRACEPARENT,
        account: account.id,
        endpoint: 'svc_chat',
        model: 'm',
        backend: 'b0',
        status: 500,
      },
    ]);
  });

  test('that is about a failed answer names the same, with the backend that was called last', async () => {
    for (const backend of backends) backend.script(refusal);
    const response = await ask({}, TRACED);
    expect(response.status).toBe(500);
    expect(linesOf('request_failed', response.headers.get('x-request-id') ?? '')).toMatchObject([
      {
        client_request: 'order_17',
        traceparent: TRACEPARENT,
        account: account.id,
        endpoint: 'svc_chat',
        model: 'm',
        backend: 'b1',
        code: 'upstream_error',
      },
    ]);
  });
});

describe('the access log', () => {
  test('has one line for a whole answer, with what it used and cost', async () => {
    const response = await ask({}, TRACED);
    expect(await accessLine(response)).toMatchObject({
      level: 'info',
      client_request: 'order_17',
      traceparent: TRACEPARENT,
      account: account.id,
      endpoint: 'svc_chat',
      model: 'm',
      backend: expect.stringMatching(/^b[01]$/),
      method: 'POST',
      path: '/api/public/v1/chat/completions',
      status: 200,
      address: '127.0.0.1',
      duration_ms: expect.any(Number),
      outcome: 'completed',
      input_tokens: 10,
      output_tokens: 3,
      charged_usd: '0.000016',
    });
  });

  test('has one line for a stream, written when it has ended', async () => {
    for (const backend of backends)
      backend.script(() => streamed(['one', ' two'], { prompt: 20, completion: 5 }));
    const response = await ask({ stream: true });
    expect(await accessLine(response)).toMatchObject({
      outcome: 'completed',
      input_tokens: 20,
      output_tokens: 5,
    });
  });

  test('has a line for what was refused, and nothing in it that could be a secret', async () => {
    const refused = await gateway.fetch('/v1/models?token=sk-0000000000000000000000000000', {});
    expect(await accessLine(refused)).toMatchObject({ path: '/v1/models', status: 401, method: 'GET' });
    const missing = await gateway.fetch('/setup/Zk3x9QpL2mVb7TnR0aB/nothing');
    await missing.text();
    await eventually('its line is written', () => gateway.log.some((line) => line.includes('/setup/*')));
    expect(gateway.log.join('\n')).not.toContain('Zk3x9QpL2mVb7TnR0aB');
    expect(gateway.log.join('\n')).not.toContain('sk-0000000000');
  });

  test('leaves probes out', async () => {
    for (const path of ['/healthz', '/readyz', '/metrics']) await (await gateway.fetch(path)).text();
    await accessLine(await ask());
    expect(gateway.log.some((line) => /"path":"\/(?:healthz|readyz|metrics)"/.test(line))).toBe(false);
  });

  test('follows the file: turned off it is silent at once', async () => {
    const file = join(gateway.folder, 'tollgate.yaml');
    writeFileSync(file, yaml('log: { access: off }'));
    await gateway.tollgate.reload();
    const silent = await ask();
    writeFileSync(file, yaml('log: { access: { sample: 1 } }'));
    await gateway.tollgate.reload();
    await accessLine(await ask());
    expect(linesOf('request', silent.headers.get('x-request-id') ?? '')).toEqual([]);
  });
});

describe('the ids of a client', () => {
  test('its x-request-id comes back beside ours, on answers and on errors', async () => {
    const served = await ask({}, TRACED);
    const refused = await gateway.chat('sk-no-token', {}, { headers: TRACED });
    for (const { headers } of [served, refused]) {
      expect(headers.get('x-client-request-id')).toBe('order_17');
      expect(headers.get('x-request-id')).toMatch(/^req_/);
    }
    expect((await ask()).headers.has('x-client-request-id')).toBe(false);
  });

  test.each(['/api/public/v1/chat/completions', '/api/public/v1/images/generations'])(
    'its trace reaches the backend from %s, and one that is not valid does not',
    async (path) => {
      const body = path.includes('images')
        ? { endpoint: 'svc_tgter', model: 'p', prompt: 'a gate' }
        : { endpoint: 'svc_chat', model: 'm', messages: [{ role: 'user', content: 'hi' }] };
      const sent = async (headers: Record<string, string>): Promise<Headers> => {
        const before = backends.map(({ calls }) => calls.length);
        await (await gateway.post(path, account.token, body, { headers })).text();
        const calls = backends.flatMap((backend, index) => backend.calls.slice(before[index]));
        return calls[0]?.headers ?? new Headers();
      };
      const traced = await sent(TRACED);
      expect(traced.get('traceparent')).toBe(TRACEPARENT);
      expect(traced.get('tracestate')).toBe('congo=t61rcWkgMzE');
      expect((await sent({ traceparent: TRACEPARENT.toUpperCase() })).has('traceparent')).toBe(false);
      expect((await sent({})).has('traceparent')).toBe(false);
    },
  );

  test('its trace reaches a backend of another dialect too', async () => {
    const before = first.calls.length;
    const body = { model: 'claude_chat/c', max_tokens: 5, messages: [{ role: 'user', content: 'hi' }] };
    await (await gateway.post('/v1/messages', account.token, body, { headers: TRACED })).text();
    expect(first.calls[before]?.headers.get('traceparent')).toBe(TRACEPARENT);
  });
});
