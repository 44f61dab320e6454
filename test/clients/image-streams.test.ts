import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { createServer, connect, type AddressInfo, type Server, type Socket } from 'node:net';
import { createOpenAI } from '@ai-sdk/openai';
import { generateImage } from 'ai';
import { toFile } from 'openai';
import { StrictOpenAi } from '../providers/openai.ts';
import { Gateway, type TestAccount } from '../support/gateway.ts';
import { images, PIXEL_BASE64, ScriptedBackend } from '../support/scripted-backend.ts';
import { openAi } from './openai-client.ts';

/** Streamed images with the real package `openai`, unmodified. */

let provider: StrictOpenAi;
let backend: ScriptedBackend;
let gateway: Gateway;
let account: TestAccount;

const yaml = (): string => `
upstreams:
  openai: { kind: openai, base_url: "${provider.baseUrl}", api_key: "\${OPENAI_API_KEY}" }
  slow: { kind: openai, base_url: "${backend.baseUrl}" }
  house: { kind: house }
lists:
  gpt:
    - { model: gpt-image-2, image: { 1024x1024: { low: 0.01, high: 0.2 } }, input_image: 0.003, partial_image: 0.004, abilities: { partial_images: 3, reference_images: 16, mask: true } }
  sold_by_token:
    - { model: gpt-image-1.5, input: 5, output: 10, image_output: 40, image_input: 8, max_output: 5000, sizes: [1024x1024], abilities: { partial_images: 3 } }
  slow: [{ model: slow, image: 0.02, sizes: [1024x1024] }]
  house: [{ model: house-paint, image: 0.01, partial_image: 0.001, sizes: [256x256], abilities: { partial_images: 3, seed: true } }]
endpoints:
  images: { name: Images, type: image_generation, lists: [gpt, sold_by_token], upstreams: [openai] }
  slow: { name: Slow, type: image_generation, lists: [slow], upstreams: [slow] }
  house: { name: House, type: image_generation, lists: [house], upstreams: [house] }
`;

beforeAll(async () => {
  provider = new StrictOpenAi();
  backend = new ScriptedBackend();
  const env = { OPENAI_API_KEY: provider.key, TOLLGATE_COMMENT_MS: '40' };
  gateway = await Gateway.start({ yaml: yaml(), env });
});
afterAll(async () => {
  expect((await gateway.verify()).breaches).toEqual([]);
  await gateway.stop();
  await provider.stop();
  await backend.stop();
});
beforeEach(async () => void (account = await gateway.account('10')));

const client = (url = gateway.url) => openAi({ url, token: account.token, model: '', retries: 0 });
const charges = async (): Promise<number[]> => {
  await gateway.settled(account);
  return (await gateway.requests(account)).map((row) => row.charged);
};

test('a generation shows its partial images and costs them beside the image', async () => {
  const stream = await client().images.generate({
    model: 'images/gpt-image-2',
    prompt: 'a gate',
    stream: true,
    partial_images: 2,
  });
  const events = [];
  for await (const event of stream) events.push(event);
  expect(events.map(({ type }) => type)).toEqual([
    'image_generation.partial_image',
    'image_generation.partial_image',
    'image_generation.completed',
  ]);
  expect(
    events.map((event) => ('partial_image_index' in event ? event.partial_image_index : undefined)),
  ).toEqual([0, 1, undefined]);
  for (const { b64_json } of events) expect(b64_json).toBe(PIXEL_BASE64);
  expect(events[2]).toMatchObject({ size: '1024x1024', usage: { output_tokens: 1_256 } });
  expect(provider.received.at(-1)).toMatchObject({
    refusal: undefined,
    body: { stream: true, partial_images: 2 },
  });
  expect(provider.invoice.at(-1)).toMatchObject({ images: 1, partials: 2 });
  // The quality that the provider reports, and two partial images.
  expect(await charges()).toEqual([208_000_000]);
});

test('an edit has events of its own', async () => {
  const file = await toFile(Buffer.from(PIXEL_BASE64, 'base64'), 'a.png', { type: 'image/png' });
  const stream = await client().images.edit({
    model: 'images/gpt-image-2',
    prompt: 'in winter',
    image: [file, file],
    quality: 'low',
    stream: true,
    partial_images: 1,
  });
  const types: string[] = [];
  for await (const event of stream) types.push(event.type);
  expect(types).toEqual(['image_edit.partial_image', 'image_edit.completed']);
  expect(provider.received.at(-1)).toMatchObject({ path: '/v1/images/edits', refusal: undefined });
  expect(await charges()).toEqual([10_000_000 + 2 * 3_000_000 + 4_000_000]);
});

test('the AI SDK generates and edits with a model that refuses what older ones take', async () => {
  const model = createOpenAI({ baseURL: `${gateway.url}/v1`, apiKey: account.token }).image('gpt-image-2');
  const asked = { model, size: '1024x1024', providerOptions: { openai: { quality: 'low' } } } as const;
  const made = await generateImage({ ...asked, prompt: 'a gate', n: 2 });
  const edited = await generateImage({
    ...asked,
    prompt: { text: 'in winter', images: [Buffer.from(PIXEL_BASE64, 'base64')] },
  });
  for (const { base64, mediaType } of [...made.images, ...edited.images])
    expect([base64, mediaType]).toEqual([PIXEL_BASE64, 'image/png']);
  expect([made.images.length, edited.images.length]).toEqual([2, 1]);
  expect(provider.received.slice(-2)).toMatchObject([
    { path: '/v1/images/generations', refusal: undefined, body: { n: 2 } },
    { path: '/v1/images/edits', refusal: undefined },
  ]);
  expect(await charges()).toEqual([2 * 10_000_000, 10_000_000 + 3_000_000]);
});

test('by the token, a stream of several images costs what it reports of all of them', async () => {
  const stream = await client().images.generate({
    model: 'images/gpt-image-1.5',
    prompt: 'a gate',
    n: 2,
    stream: true,
    partial_images: 3,
  });
  let count = 0;
  for await (const _ of stream) count++;
  expect(count).toBe(8);
  const images = 2 * (1_056 + 3 * 100);
  expect(await charges()).toEqual([2 * 9 * 5_000 + images * 40_000]);
});

test('the built-in painter shows its images in the making', async () => {
  const stream = await client().images.generate({
    model: 'house/house-paint',
    prompt: 'a lake at dusk',
    stream: true,
    partial_images: 3,
  });
  const files: string[] = [];
  for await (const { b64_json } of stream) files.push(b64_json);
  expect(new Set(files).size).toBe(4);
  for (const file of files) {
    const bytes = Buffer.from(file, 'base64');
    expect([bytes.subarray(1, 4).toString(), bytes.readUInt32BE(16), bytes.readUInt32BE(20)]).toEqual([
      'PNG',
      256,
      256,
    ]);
  }
  // Each has more detail than the one before.
  const sizes = files.map(({ length }) => length);
  expect(sizes).toEqual(sizes.toSorted((one, other) => one - other));
  expect(await charges()).toEqual([13_000_000]);
});

describe('through a proxy that gives up silent connections', () => {
  /** A proxy that hears nothing from the server for this long closes the connection. */
  const IDLE_MS = 400;
  let proxy: IdleProxy;

  beforeAll(async () => void (proxy = await IdleProxy.start(Number(new URL(gateway.url).port), IDLE_MS)));
  afterAll(() => proxy.stop());

  /** The backend answers when the proxy has given up whoever said nothing, or would have three times over. */
  const generate = async (stream: boolean): Promise<string> => {
    const gaveUp = proxy.gaveUp;
    backend.script(async () => {
      for (const since = performance.now(); performance.now() - since < 4 * IDLE_MS;) {
        if (proxy.gaveUp > gaveUp) break;
        await Bun.sleep(20);
      }
      return images(1);
    });
    const asked = { model: 'slow/slow', prompt: 'a gate' };
    if (!stream) return (await client(proxy.url).images.generate(asked)).data?.[0]?.url ?? '';
    let picture = '';
    for await (const event of await client(proxy.url).images.generate({ ...asked, stream }))
      picture = event.b64_json;
    return picture;
  };

  test('a generation that takes longer arrives as a stream, and not without', async () => {
    expect(await generate(true)).toBe(PIXEL_BASE64);
    expect(proxy.gaveUp).toBe(0);
    expect(await generate(false).catch(() => 'lost')).toBe('lost');
    expect(proxy.gaveUp).toBe(1);
    // What was lost on the way was made, and is in the gallery: both are paid.
    expect(await charges()).toEqual([20_000_000, 20_000_000]);
  });
});

class IdleProxy {
  gaveUp = 0;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(server: Server) {
    this.#server = server;
  }

  static start(port: number, idleMs: number): Promise<IdleProxy> {
    const server = createServer();
    const proxy = new IdleProxy(server);
    server.on('connection', (client) => proxy.#forward(client, connect(port, '127.0.0.1'), idleMs));
    return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(proxy)));
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stop(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }

  #forward(client: Socket, server: Socket, idleMs: number): void {
    let heardAt = performance.now();
    let isAsked = false;
    const end = (): void => {
      clearInterval(timer);
      for (const socket of [client, server]) {
        socket.destroy();
        this.#sockets.delete(socket);
      }
    };
    // The time is read one turn later: what has arrived while this process was busy counts as heard.
    const check = (): void => {
      if (!isAsked || performance.now() - heardAt < idleMs) return;
      this.gaveUp++;
      end();
    };
    const timer = setInterval(() => setTimeout(check, 50), idleMs / 4);
    for (const socket of [client, server]) {
      this.#sockets.add(socket);
      socket.on('error', end).on('close', end);
    }
    client.on('data', (data) => {
      isAsked = true;
      heardAt = performance.now();
      server.write(data);
    });
    server.on('data', (data) => {
      heardAt = performance.now();
      client.write(data);
    });
  }
}
