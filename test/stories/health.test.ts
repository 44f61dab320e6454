import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { Gateway, type TestAccount } from '../support/gateway.ts';
import { completion, images, ScriptedBackend, usage } from '../support/scripted-backend.ts';

/** What one model, or one customer, draws from a backend must not close it for the others. */

let backends: ScriptedBackend[];
let gateway: Gateway;
let account: TestAccount;

beforeEach(async () => {
  backends = [new ScriptedBackend(), new ScriptedBackend()];
  const [first, second] = backends.map(({ baseUrl }) => baseUrl);
  const model = (name: string): string =>
    `{ model: ${name}, display_name: ${name}, input: 1, output: 2, context: 1000, max_output: 100 }`;
  const yaml = `
upstreams:
  b0: { kind: openai, base_url: "${first}" }
  b1: { kind: openai, base_url: "${second}" }
  keys: { kind: openai, base_url: "${first}", api_keys: ["\${KEY_1}", "\${KEY_2}"] }
lists:
  models: [${model('asked')}, ${model('other')}]
  images: [{ model: p, display_name: P, image: 0.001, sizes: [512x512] }]
endpoints:
  two_keys: { name: keys, type: chat_completion, lists: [models], upstreams: [keys] }
  pictures: { name: pictures, type: image_generation, lists: [images], upstreams: [b0] }
  alone: { name: alone, type: chat_completion, lists: [models], upstreams: [b0] }
  both: { name: both, type: chat_completion, lists: [models], upstreams: [b0, b1] }
`;
  gateway = await Gateway.start({ yaml, env: { KEY_1: 'first-key', KEY_2: 'second-key' } });
  account = await gateway.account('1');
});
afterEach(async () => {
  expect((await gateway.verify()).breaches).toEqual([]);
  await gateway.stop();
  await Promise.all(backends.map((backend) => backend.stop()));
});

const ok = (): Response => completion('ok', usage(1, 1));

/** Answers the model `asked` with this status, every other with a completion. */
function refuseAsked(status: number, headers: Record<string, string> = {}): void {
  backends[0]!.script(({ body }) =>
    body['model'] === 'asked' ? new Response('{"error":{"message":"no"}}', { status, headers }) : ok(),
  );
  backends[1]!.script(ok);
}

async function status(model: string, endpoint = 'alone', who = account): Promise<number> {
  const response = await gateway.chat(who.token, { endpoint, model });
  await response.text();
  return response.status;
}

const calls = (): number[] => backends.map(({ calls: made }) => made.length);
const alarms = (): string[] => gateway.log.filter((line) => line.includes('"level":"error"'));

describe('a backend that is over its rate for one model', () => {
  test('is skipped for that model alone: every other one is served', async () => {
    refuseAsked(429, { 'retry-after': '120' });
    expect(await status('asked')).toBe(500);
    for (let round = 0; round < 5; round++) expect(await status('other')).toBe(200);
    const before = calls()[0]!;
    expect(await status('asked')).toBe(500);
    expect(calls()[0]).toBe(before);
  });

  test.each([
    [429, { 'retry-after': '120' }],
    [500, {}],
  ])('and answers %i to one account is still called for the others', async (code, headers) => {
    const victim = await gateway.account('1');
    backends[0]!.script(({ body }) =>
      body['user'] === 'attacker'
        ? new Response('{"error":{"message":"no"}}', { status: code, headers })
        : ok(),
    );
    expect(await status('asked', 'alone', victim)).toBe(200);
    for (let round = 0; round < 12; round++) {
      await gateway.chat(account.token, { endpoint: 'alone', model: 'asked', user: 'attacker' });
      expect(await status('asked', 'alone', victim)).toBe(200);
    }
    expect(await status('asked')).toBe(500);
  });

  test('with several keys goes on with those that are not over it', async () => {
    const used: string[] = [];
    backends[0]!.script(({ headers }) => {
      const key = headers.get('authorization') ?? '';
      used.push(key);
      return key === 'Bearer first-key'
        ? new Response('{}', { status: 429, headers: { 'retry-after': '120' } })
        : ok();
    });
    for (let round = 0; round < 6; round++) expect(await status('asked', 'two_keys')).toBe(200);
    expect(used.filter((key) => key === 'Bearer first-key')).toHaveLength(1);
    expect(used.filter((key) => key === 'Bearer second-key')).toHaveLength(6);
  });
});

test('an image request that asks for what has no price is refused before any backend is called, and rests nothing', async () => {
  const before = backends[0]!.calls.length;
  for (let round = 0; round < 6; round++) {
    const response = await imageRequest({ quality: 'high' });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { code: 'invalid_field' } });
  }
  expect(backends[0]!.calls.length).toBe(before);
  backends[0]!.script(() => images(1));
  expect((await imageRequest({})).status).toBe(200);
});

function imageRequest(fields: object): Promise<Response> {
  return gateway.fetch('/v1/images/generations', {
    method: 'POST',
    token: account.token,
    body: JSON.stringify({ model: 'pictures/p', prompt: 'x', ...fields }),
  });
}

describe('a refusal that the content of a request caused', () => {
  test.each([400, 403, 404, 409, 413, 415, 422])('%i says nothing about the backend', async (code) => {
    refuseAsked(code, { 'retry-after': '60' });
    for (let round = 0; round < 8; round++) await status('asked');
    backends[0]!.script(ok);
    expect(await status('asked')).toBe(200);
    expect(await status('other')).toBe(200);
  });

  test.each([403, 404])('%i is still tried at the next backend, and raises an alarm', async (code) => {
    refuseAsked(code);
    expect(await status('asked', 'both')).toBe(200);
    expect(calls()).toEqual([1, 1]);
    expect(alarms()).toHaveLength(1);
    expect(alarms()[0]).toContain('"backend":"b0"');
  });

  test.each([400, 409, 413, 415, 422])(
    '%i is the client’s own error: no other backend is called',
    async (code) => {
      refuseAsked(code);
      expect(await status('asked', 'both')).toBe(400);
      expect(calls()).toEqual([1, 0]);
      expect(alarms()).toEqual([]);
    },
  );
});
