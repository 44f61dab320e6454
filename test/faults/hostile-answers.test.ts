import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { Gateway, type TestAccount } from '../support/gateway.ts';
import { longestTurnMs, noticeableMs } from '../support/longest-turn.ts';
import {
  completion,
  eventStream,
  PIXEL_BASE64,
  ScriptedBackend,
  usage,
} from '../support/scripted-backend.ts';

/**
 * A backend may answer with anything. No answer keeps other requests waiting longer than an ordinary one of its size, and
 * what cannot be read is neither delivered nor charged.
 */

const MEGABYTE = 1_048_576;
/** A model that failed a few times rests, so each request is for another one. */
const MODELS = Array.from({ length: 400 }, (_, index) => `m${index}`);
const HELLO = [{ role: 'user', content: 'hi' }];

let backend: ScriptedBackend;
let gateway: Gateway;
let account: TestAccount;

beforeAll(async () => {
  backend = new ScriptedBackend();
  const base = backend.baseUrl;
  const root = base.replace('/v1', '');
  const yaml = `
upstreams:
  open: { kind: openai, base_url: "${base}" }
  claude: { kind: anthropic, base_url: "${base}", api_key: "\${KEY}" }
  gemini: { kind: google, base_url: "${root}/v1beta", api_key: "\${KEY}" }
  flux: { kind: bfl, base_url: "${base}", api_key: "\${KEY}" }
lists:
  models: [${MODELS.map((model) => `{ model: ${model}, input: 1, output: 2, context: 1000, max_output: 100 }`).join()}]
  painters: [${MODELS.map((model) => `{ model: ${model}, image: 0.01, partial_image: 0.001, sizes: [512x512], abilities: { partial_images: 1 } }`).join()}]
  vectors: [${MODELS.map((model) => `{ model: ${model}, input: 1, output: 0 }`).join()}]
endpoints:
  svc_open: { name: open, type: chat_completion, lists: [models], upstreams: [open] }
  svc_claude: { name: claude, type: chat_completion, lists: [models], upstreams: [claude] }
  svc_gemini: { name: gemini, type: chat_completion, lists: [models], upstreams: [gemini] }
  svc_images: { name: images, type: image_generation, lists: [painters], upstreams: [open] }
  svc_flux: { name: flux, type: image_generation, lists: [painters], upstreams: [flux] }
  svc_embed: { name: embed, type: embedding, lists: [vectors], upstreams: [open] }
`;
  gateway = await Gateway.start({ yaml, env: { KEY: 'a-key-of-the-operator' } });
  account = await gateway.account('1');
}, 30_000);
afterAll(async () => {
  expect((await gateway.verify()).breaches).toEqual([]);
  await gateway.stop();
  await backend.stop();
});

const spent = async (): Promise<number> => 1_000_000_000 - (await gateway.money(account)).balance;

interface Asked {
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
}

const chat = (endpoint: string, stream = false): Asked => ({
  path: '/v1/chat/completions',
  body: { model: endpoint, messages: HELLO, max_tokens: 10, stream },
});
const messages = (stream: boolean): Asked => ({
  path: '/v1/messages',
  body: { model: 'svc_claude', messages: HELLO, max_tokens: 10, stream },
});
const image = (endpoint: string, stream = false): Asked => ({
  path: '/v1/images/generations',
  body: {
    model: endpoint,
    prompt: 'a gate',
    size: '512x512',
    ...(stream && { stream, partial_images: 1, response_format: 'b64_json' }),
  },
});
const EMBEDDING: Asked = { path: '/v1/embeddings', body: { model: 'svc_embed', input: 'hi' } };

async function ask({ path, body }: Asked): Promise<string> {
  const called = backend.calls.length;
  const model = `${String(body['model'])}/${MODELS[called % MODELS.length]}`;
  const response = await gateway.post(path, account.token, { ...body, model });
  const text = await response.text();
  await gateway.settled(account);
  expect(backend.calls.length).toBeGreaterThan(called);
  return `${response.status} ${text}`;
}

const utf8 = new TextEncoder();
const answering = (body: Uint8Array<ArrayBuffer>, isStream: boolean): void =>
  backend.script(() => (isStream ? eventStream(body) : new Response(body, { headers: JSON_TYPE })));
const JSON_TYPE = { 'content-type': 'application/json' };
const asEvent = (json: string): string => `data: ${json}\n\n`;

/** The least of some turns: a collection of garbage is in some of them, what an answer costs is in all. */
async function longestTurnFor(asked: Asked): Promise<number> {
  const turns: number[] = [];
  for (let time = 0; time < 2; time++) turns.push(await longestTurnMs(() => ask(asked)));
  return Math.min(...turns);
}

describe('an answer that would keep the parser busy delays no other request, and costs nothing', () => {
  const objects = (bytes: number): string => `{"choices":[${'{},'.repeat(bytes / 3)}{}]}`;
  const brackets = (bytes: number): string => '['.repeat(bytes);
  const escapes = (bytes: number): string => `{"error":0,"data":["${'\\n'.repeat(bytes / 2)}"]}`;
  const whole: [string, Asked][] = [
    ['a chat', chat('svc_open')],
    ['a chat with Claude, translated', chat('svc_claude')],
    ['a message to Claude', messages(false)],
    ['a chat with Gemini', chat('svc_gemini')],
    ['images', image('svc_images')],
    ['images of an API of their own', image('svc_flux')],
    ['embeddings', EMBEDDING],
  ];
  const streams: [string, Asked, number][] = [
    ['a chat', chat('svc_open', true), MEGABYTE - 100],
    ['a chat with Claude, translated', chat('svc_claude', true), 7 * MEGABYTE],
    ['a message to Claude', messages(true), MEGABYTE - 100],
    ['a chat with Gemini', chat('svc_gemini', true), 7 * MEGABYTE],
    ['images', image('svc_images', true), 14 * MEGABYTE],
  ];
  const bombs: [string, (bytes: number) => string][] = [
    ['objects', objects],
    ['brackets', brackets],
    ['escapes', escapes],
  ];
  const cases = [
    ...whole.map(([name, asked]) => [name, 'whole', asked, 15 * MEGABYTE] as const),
    ...streams.map(([name, asked, bytes]) => [name, 'one event', asked, bytes] as const),
  ];

  test.each(cases)(
    '%s, %s',
    async (_, form, asked, bytes) => {
      const isStream = form === 'one event';
      const ordinary = JSON.stringify({ choices: ['x'.repeat(bytes)] });
      answering(utf8.encode(isStream ? asEvent(ordinary) : ordinary), isStream);
      await ask(asked);
      const unattacked = await longestTurnFor(asked);
      const before = await spent();
      for (const [name, bomb] of bombs) {
        answering(utf8.encode(isStream ? asEvent(bomb(bytes)) : bomb(bytes)), isStream);
        const attacked = await longestTurnFor(asked);
        const isSlow = attacked > unattacked + noticeableMs();
        expect(isSlow ? { name, attacked, unattacked } : undefined).toBeUndefined();
        expect(await ask(asked)).not.toStartWith('200 {');
      }
      expect(await spent()).toBe(before);
    },
    120_000,
  );
});

describe('a large answer that a backend really gives arrives, and delays no other request:', () => {
  test('an image of many megabytes', async () => {
    const png = Buffer.concat([Buffer.from(PIXEL_BASE64, 'base64'), Buffer.alloc(12 * MEGABYTE, 7)]);
    answering(utf8.encode(JSON.stringify({ data: [{ b64_json: png.toString('base64') }] })), false);
    const asked = {
      ...image('svc_images'),
      body: { ...image('svc_images').body, response_format: 'b64_json' },
    };
    expect(await ask(asked)).toStartWith('200 ');
  }, 60_000);

  test('half a million numbers of vectors, unchanged', async () => {
    const vector = Array.from({ length: 1_536 }, (_, index) => index / 7);
    const data = Array.from({ length: 350 }, (_, index) => ({
      object: 'embedding',
      index,
      embedding: vector,
    }));
    const answer = {
      object: 'list',
      data,
      model: 'theirs',
      usage: { prompt_tokens: 1, total_tokens: 1, cost: 1 },
    };
    const body = utf8.encode(JSON.stringify(answer));
    answering(body, false);
    let text = '';
    const turn = await longestTurnMs(async () => (text = await ask(EMBEDDING)));
    const { data: arrived, ...rest } = JSON.parse(text.slice(4)) as typeof answer;
    expect(Bun.deepEquals(arrived, data)).toBeTrue();
    expect(rest).toEqual({
      object: 'list',
      model: expect.stringContaining('svc_embed/') as never,
      usage: { prompt_tokens: 1, total_tokens: 1 } as never,
    });
    const atOnce = await longestTurnMs(() =>
      Promise.resolve(JSON.stringify(JSON.parse(new TextDecoder().decode(body)))),
    );
    expect(turn).toBeLessThan(atOnce);
  }, 60_000);

  test('probabilities of many alternatives for each token', async () => {
    const one = { token: 'gate', logprob: -0.1234, bytes: [103, 97, 116, 101] };
    const content = Array.from({ length: 2_000 }, () => ({
      ...one,
      top_logprobs: Array.from({ length: 10 }, () => one),
    }));
    const choice = {
      index: 0,
      message: { role: 'assistant', content: 'ok' },
      finish_reason: 'stop',
      logprobs: { content },
    };
    backend.script(() => completion('', usage(1, 1), { choices: [choice], id: 'theirs' }));
    const answer = JSON.parse((await ask(chat('svc_open'))).slice(4)) as Record<string, unknown>;
    expect(answer['choices']).toEqual([choice]);
    expect(answer).toMatchObject({
      model: expect.stringContaining('svc_open/'),
      object: 'chat.completion',
      usage: usage(1, 1),
    });
    expect(answer['id']).not.toBe('theirs');
  }, 60_000);
});
