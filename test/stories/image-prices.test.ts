import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test';
import { Gateway, type TestAccount } from '../support/gateway.ts';
import { images, PIXEL_BASE64, ScriptedBackend } from '../support/scripted-backend.ts';

/** What is priced beside an image: held for all of it, charged for what came, told in quote, receipt and list. */

let backend: ScriptedBackend;
let gateway: Gateway;
let account: TestAccount;

const DATA_URL = `data:image/png;base64,${PIXEL_BASE64}`;

beforeAll(async () => {
  backend = new ScriptedBackend();
  const yaml = `
upstreams: { b: { kind: openai, base_url: "${backend.baseUrl}" } }
lists:
  images:
    - { model: p, image: 0.04, input_image: 0.003, request: 0.0005, sizes: [512x512], abilities: { reference_images: 4, mask: true }, cost: { b: { image: 0.02, input_image: 0.002 } } }
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
beforeEach(() => void (backend.calls.length = 0));

const body = (pictures: number, n: number) => ({
  endpoint: 'images',
  model: 'p',
  prompt: 'in winter',
  n,
  ...(pictures > 0 && { image: Array.from({ length: pictures }, () => DATA_URL), mask: DATA_URL }),
});

test.each([
  // pictures, asked, delivered, held, charged, lines
  [0, 2, 2, '0.0805', '0.0805', ['image × 2', 'request × 1']],
  [3, 2, 2, '0.0895', '0.0895', ['image × 2', 'input_image × 3', 'request × 1']],
  [4, 4, 1, '0.1725', '0.0525', ['image × 1', 'input_image × 4', 'request × 1']],
])('%i pictures and %i images of which %i come: held %s, charged %s', async (...row) => {
  const [pictures, n, delivered, held, charged, lines] = row;
  backend.script(() => images(delivered));
  const path = pictures > 0 ? 'edits' : 'generations';
  const response = await gateway.post(`/api/public/v1/images/${path}`, account.token, body(pictures, n));
  expect(response.status).toBe(200);
  expect(response.headers.get('x-tollgate-held')).toBe(held);
  expect(response.headers.get('x-tollgate-cost')).toBe(charged);
  const id = response.headers.get('x-request-id')!;
  const receipt = await gateway.fetch(`/api/public/v1/requests/${id}`, { token: account.token });
  const told = (await receipt.json()) as { lines: { item: string; quantity: number }[]; charged_usd: string };
  expect(told.lines.map(({ item, quantity }) => `${item} × ${quantity}`)).toEqual(lines);
  expect(Number(told.charged_usd)).toBe(Number(charged));
  const { attempts } = await gateway.receipt(id);
  const cost = delivered * 20_000_000 + pictures * 2_000_000;
  expect(attempts).toContain(String(cost));
});

test('an edit that no backend serves costs nothing, its pictures neither', async () => {
  backend.script(() => Response.json({ created: 1, data: [] }));
  const before = await gateway.money(account);
  const response = await gateway.post('/api/public/v1/images/edits', account.token, body(3, 1));
  expect(response.status).toBe(500);
  expect(await gateway.money(account)).toEqual(before);
});

test('the quote has a line for the pictures, and is what would be held', async () => {
  const quoted = await gateway.post('/api/public/v1/quotes', account.token, body(3, 2));
  expect(await quoted.json()).toMatchObject({
    max_cost_usd: '0.0895',
    lines: [
      { dimension: 'image', quantity: 2, usd: '0.0805' },
      { dimension: 'input_image', quantity: 3, price: '0.003', usd: '0.009' },
    ],
  });
  expect(backend.calls).toEqual([]);
});

test('the list of models has the price of a picture', async () => {
  const response = await gateway.fetch('/v1/models', { token: account.token });
  const { data } = (await response.json()) as { data: { prices: object[] }[] };
  expect(data[0]!.prices).toEqual([
    { dimension: '512x512', usd: '0.04', per: 1, above_input_tokens: null, quality: null },
    { dimension: 'input_image', usd: '0.003', per: 1, above_input_tokens: null, quality: null },
    { dimension: 'request', usd: '0.0005', per: 1, above_input_tokens: null, quality: null },
  ]);
});
