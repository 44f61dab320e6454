import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { nanoUsd } from '../../src/std/money.ts';
import { Gateway, type TestAccount } from '../support/gateway.ts';
import { PIXEL_BASE64, ScriptedBackend } from '../support/scripted-backend.ts';

/** An edit starts from pictures: of a form, of JSON, or of the account's own gallery, and of nowhere else. */

let backend: ScriptedBackend;
let gateway: Gateway;
let account: TestAccount;

const PIXEL = Buffer.from(PIXEL_BASE64, 'base64');
const DATA_URL = `data:image/png;base64,${PIXEL_BASE64}`;
const PUBLIC = '/api/public/v1/images/edits';
const V1 = '/v1/images/edits';

beforeAll(async () => {
  backend = new ScriptedBackend();
  const yaml = `
upstreams: { b: { kind: openai, base_url: "${backend.baseUrl}" } }
lists:
  images:
    - { model: p, image: 0.01, sizes: [512x512, 1024x1024], abilities: { reference_images: 3, mask: true, seed: true } }
endpoints:
  images: { name: Images, type: image_generation, lists: [images], upstreams: [b] }
`;
  gateway = await Gateway.start({ yaml });
  account = await gateway.account('10');
});
afterAll(async () => {
  expect((await gateway.verify()).breaches).toEqual([]);
  await gateway.stop();
  await backend.stop();
});
beforeEach(() => {
  backend.calls.length = 0;
  backend.script(() => Response.json({ created: 1, data: [{ b64_json: PIXEL_BASE64 }] }));
});

const fieldsFor = (path: string): Record<string, string> =>
  path === V1
    ? { model: 'images/p', prompt: 'in winter' }
    : { endpoint: 'images', model: 'p', prompt: 'in winter' };

function form(path: string, pictures: readonly string[], more: Record<string, string> = {}): FormData {
  const body = new FormData();
  for (const [name, value] of Object.entries({ ...fieldsFor(path), ...more })) body.set(name, value);
  for (const name of pictures) body.append(name, new Blob([PIXEL], { type: 'image/png' }), 'in.png');
  return body;
}

const send = (path: string, body: FormData, headers: Record<string, string> = {}): Promise<Response> =>
  gateway.fetch(path, { method: 'POST', body, headers, token: account.token });
const sendJson = (path: string, more: object, token = account.token, init: RequestInit = {}) =>
  gateway.post(path, token, { ...fieldsFor(path), ...more }, init);

/** The names of the fields that the backend got, in order, and the files among them. */
function received(): { path: string; names: string[]; files: number } {
  const { path, text } = backend.calls[0]!;
  const names = [...text.matchAll(/name="([^"]+)"/g)].map(([, name = '']) => name);
  return { path, names, files: [...text.matchAll(/filename="/g)].length };
}

describe.each([PUBLIC, V1])('%s', (path) => {
  test('a form with several pictures and a mask reaches the backend, at the price of a generation', async () => {
    const response = await send(
      path,
      form(path, ['image', 'image[]', 'mask'], { size: '1024x1024', seed: '7' }),
    );
    expect(response.status).toBe(200);
    expect(response.headers.get('x-tollgate-cost')).toBe('0.01');
    expect(received()).toMatchObject({ path: '/v1/images/edits', files: 3 });
    expect(received().names).toEqual(
      expect.arrayContaining(['prompt', 'model', 'size', 'seed', 'image[]', 'mask']),
    );
    expect(backend.calls[0]!.text).toMatch(/name="seed"\r\n\r\n7\r\n/);
    const id = response.headers.get('x-request-id')!;
    expect(await gateway.receipt(id)).toMatchObject({ charged: 10_000_000, images: 1, outcome: 'completed' });
  });

  test('a form says yes and no as text; anything else is no flag', async () => {
    for (const strip_metadata of ['true', 'false'])
      expect((await send(path, form(path, ['image'], { strip_metadata }))).status).toBe(200);
    // We do it ourselves: no backend is asked to.
    expect(received().names).not.toContain('strip_metadata');
    const refused = await send(path, form(path, ['image'], { strip_metadata: 'maybe' }));
    expect([refused.status, (await refused.json()).error.param]).toEqual([400, 'strip_metadata']);
  });

  test.each([
    ['one data URL', { image: DATA_URL }, 1],
    ['several data URLs and a mask', { image: [DATA_URL, DATA_URL], mask: DATA_URL }, 3],
    ["OpenAI's objects", { images: [{ image_url: DATA_URL }], mask: { image_url: DATA_URL } }, 2],
  ])('JSON with %s is the same', async (_, pictures, files) => {
    const response = await sendJson(path, pictures);
    expect(response.status).toBe(200);
    expect(received()).toMatchObject({ path: '/v1/images/edits', files });
    expect(backend.calls[0]!.headers.get('content-type')).toStartWith('multipart/form-data');
  });

  test('a picture of the own gallery is taken by its address, whatever became of its link', async () => {
    const made = await gateway.post('/api/public/v1/images/generations', account.token, fieldsFor(PUBLIC));
    const { data } = (await made.json()) as { data: [{ url: string }] };
    const [{ url }] = data;
    const bare = url.split('?')[0]!;
    const id = bare.split('/').at(-1)!;
    const addresses = [url, bare, new URL(bare).pathname, `/api/console/images/${id}`];
    for (const image of addresses) {
      backend.calls.length = 0;
      expect((await sendJson(path, { image })).status).toBe(200);
      expect(received()).toMatchObject({ path: '/v1/images/edits', files: 1 });
    }
    backend.calls.length = 0;
    const other = await gateway.account('10');
    const foreign = await sendJson(path, { image: url }, other.token);
    expect(foreign.status).toBe(400);
    expect(await foreign.json()).toMatchObject({
      error: { code: 'invalid_field', param: 'image', message: 'There is no such image in your gallery.' },
    });
    expect(backend.calls).toEqual([]);
    expect((await gateway.money(other)).balance).toBe(nanoUsd(10_000_000_000));
  });

  test.each([
    ['nothing', {}, 'image', /image is required/],
    [
      'an address elsewhere',
      { image: 'https://example.com/a.png' },
      'image',
      /nothing is fetched from elsewhere/,
    ],
    ['an address within', { image: 'http://169.254.169.254/latest' }, 'image', /nothing is fetched/],
    [
      'our address on another host',
      { image: 'https://x.test/api/public/v1/images/img_1' },
      'image',
      /nothing is/,
    ],
    ['another path of ours', { image: '/api/public/v1/models' }, 'image', /nothing is fetched/],
    ['an image that is not there', { image: '/api/public/v1/images/img_1' }, 'image', /no such image/],
    ['a data URL of text', { image: 'data:text/plain;base64,aGk=' }, 'image', /data:image/],
    ['an empty data URL', { image: 'data:image/png;base64,' }, 'image', /with an image in it/],
    ['a number', { image: 7 }, 'image', /must be a data URL/],
    [
      'a mask elsewhere',
      { image: DATA_URL, mask: 'https://example.com/m.png' },
      'mask',
      /nothing is fetched/,
    ],
    ['four pictures', { image: Array.from({ length: 4 }, () => DATA_URL) }, 'image', /at most 3 images/],
    ['seventeen', { image: Array.from({ length: 17 }, () => DATA_URL) }, 'image', /At most 16 images/],
  ])('%s is refused, and nobody is called', async (_, pictures, param, message) => {
    const response = await sendJson(path, pictures);
    expect(response.status).toBe(400);
    const { error } = (await response.json()) as { error: { param: string; message: string } };
    expect(error.param).toBe(param);
    expect(error.message).toMatch(message);
    expect(backend.calls).toEqual([]);
  });

  test('a key protects a form whatever its boundary, and JSON', async () => {
    const key = { 'idempotency-key': `form ${path}` };
    const first = await send(path, form(path, ['image']), key);
    const again = await send(path, form(path, ['image']), key);
    expect([first.status, again.status]).toEqual([200, 200]);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(await again.text()).toBe(await first.text());
    const other = await send(path, form(path, ['image', 'image']), key);
    expect(await other.json()).toMatchObject({ error: { code: 'idempotency_key_reused' } });
    const headers = { 'idempotency-key': `json ${path}` };
    const asked = () => sendJson(path, { image: DATA_URL }, account.token, { headers });
    const texts = [await (await asked()).text(), await (await asked()).text()];
    expect(texts[0]).toBe(texts[1]);
    expect(backend.calls).toHaveLength(2);
  });
});

test('a quote of an edit is refused as the edit would be, and costs nobody a picture', async () => {
  const ask = (image: unknown) => sendJson('/api/public/v1/quotes', { ...fieldsFor(PUBLIC), image });
  expect(await (await ask([DATA_URL])).json()).toMatchObject({ max_cost_usd: '0.01' });
  const refused = await ask(Array.from({ length: 4 }, () => DATA_URL));
  expect(await refused.json()).toMatchObject({ error: { message: 'This model takes at most 3 images.' } });
  expect(backend.calls).toEqual([]);
});
