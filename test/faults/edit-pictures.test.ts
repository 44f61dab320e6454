import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import type { TestAccount } from '../support/gateway.ts';
import { ASYNC, endOfJob } from '../support/image-jobs.ts';
import { eventually, NodeProcess } from '../support/node-process.ts';
import { Operator } from '../support/operator.ts';
import { openStream, PIXEL_BASE64, ScriptedBackend } from '../support/scripted-backend.ts';

/** The pictures of edits are in memory for requests that have a hold and room for them, and as long as these run. */

const MEGABYTE = 1_048_576;
const PIXEL = Buffer.from(PIXEL_BASE64, 'base64');
const PICTURE = Buffer.concat([PIXEL, randomBytes(12 * MEGABYTE)]);
const UPLOAD = Buffer.concat([PIXEL, randomBytes(17 * MEGABYTE)]);
const EDITS = '/v1/images/edits';
/** What a few requests may take, with whatever the runtime keeps beside it. */
const MOST_GROWTH_MEGABYTES = 400;

const backend = new ScriptedBackend();
let node: NodeProcess;
let operator: Operator;

const edited = () => Response.json({ created: 1, data: [{ b64_json: PIXEL_BASE64 }] });

beforeAll(async () => {
  node = await NodeProcess.start({
    yaml: `
upstreams: { b: { kind: openai, base_url: "${backend.baseUrl}" } }
lists:
  images:
    - { model: p, image: 0.01, partial_image: 0.001, sizes: [512x512], abilities: { reference_images: 16, mask: true, partial_images: 1 } }
    - { model: words, image: 0.01, sizes: [512x512], abilities: { reference_images: 0 } }
endpoints: { images: { name: Images, type: image_generation, lists: [images], upstreams: [b] } }
`,
  });
  operator = await Operator.open(node.env);
}, 60_000);
afterAll(async () => {
  await operator.close();
  await node.stop();
  await backend.stop();
});
beforeEach(() => {
  backend.calls.length = 0;
  backend.script(edited);
});

function post(path: string, { token }: TestAccount, body: object, headers: Record<string, string> = {}) {
  return fetch(`${node.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model: 'images/p', prompt: 'in winter', ...body }),
  });
}

/** An account that has one large image in its gallery, and the rest of what it was given. */
async function painter(usd: string): Promise<{ account: TestAccount; image: string }> {
  const account = await operator.account(usd);
  backend.script(() => Response.json({ created: 1, data: [{ b64_json: PICTURE.toString('base64') }] }));
  const made = await post('/v1/images/generations', account, { response_format: 'url' });
  const { data } = (await made.json()) as { data: { url: string }[] };
  backend.calls.length = 0;
  backend.script(edited);
  return { account, image: data[0]!.url };
}

async function outcome(answer: Promise<Response>): Promise<string> {
  const response = await answer;
  const text = await response.text();
  return response.ok ? 'served' : `${response.status} ${JSON.parse(text).error.code}`;
}

/** How much more the process had at any moment of the work than ever before. */
async function growthDuring(work: () => Promise<void>): Promise<number> {
  const before = node.mostMegabytes();
  await work();
  return node.mostMegabytes() - before;
}

const times = (count: number, image: string) => Array.from({ length: count }, () => image);

describe('a large image of the own gallery', () => {
  test.each([
    ['that its model takes no pictures', { model: 'images/words' }, '400 invalid_field', '1'],
    ['that its account cannot pay', {}, '402 payment_required', '0.01'],
  ])(
    'is not loaded for a request of which it is known %s',
    async (_, fields, refusal, usd) => {
      const { account, image } = await painter(usd);
      const growth = await growthDuring(async () => {
        const named = { ...fields, image: times(2, image), mask: image };
        const answers = Array.from({ length: 50 }, () => outcome(post(EDITS, account, named)));
        expect(new Set(await Promise.all(answers))).toEqual(new Set([refusal]));
      });
      expect(growth).toBeLessThan(MOST_GROWTH_MEGABYTES);
      expect(backend.calls).toEqual([]);
    },
    60_000,
  );

  test('is not loaded for a request that names it so often that no backend could get all of it', async () => {
    const { account, image } = await painter('10');
    const growth = await growthDuring(async () => {
      const named = { image: times(16, image), mask: image };
      const answers = Array.from({ length: 15 }, () => outcome(post(EDITS, account, named)));
      expect(new Set(await Promise.all(answers))).toEqual(new Set(['400 invalid_field']));
    });
    expect(growth).toBeLessThan(MOST_GROWTH_MEGABYTES);
    expect(await operator.money(account)).toMatchObject({ held: 0, open: 0, balance: 9_990_000_000 });
  }, 60_000);

  test('is loaded for as many requests as there is room for; others are refused without a charge, and the room comes back', async () => {
    const { account, image } = await painter('10');
    const gate = Promise.withResolvers<void>();
    backend.script(async () => {
      await gate.promise;
      return edited();
    });
    const named = { image: times(2, image), mask: image };
    const key = { 'idempotency-key': 'once' };
    const growth = await growthDuring(async () => {
      const first = outcome(post(EDITS, account, named, key));
      await backend.called(1);
      const others = Array.from({ length: 15 }, () => outcome(post(EDITS, account, named)));
      expect(new Set(await Promise.all(others))).toEqual(new Set(['500 service_unavailable']));
      gate.resolve();
      expect(await first).toBe('served');
    });
    expect(growth).toBeLessThan(MOST_GROWTH_MEGABYTES);
    expect([...backend.calls[0]!.text.matchAll(/filename="/g)]).toHaveLength(3);
    expect(await outcome(post(EDITS, account, named, key))).toBe('served');
    expect(backend.calls).toHaveLength(1);
    expect(await outcome(post(EDITS, account, named))).toBe('served');
    expect(await operator.money(account)).toMatchObject({ held: 0, open: 0, balance: 9_970_000_000 });
  }, 60_000);
});

describe('pictures that were sent along', () => {
  async function upload(
    { token }: TestAccount,
    fields: Record<string, string> = {},
    headers: Record<string, string> = {},
  ): Promise<Response | undefined> {
    const body = new FormData();
    for (const [name, value] of Object.entries({ model: 'images/p', prompt: 'in winter', ...fields }))
      body.set(name, value);
    body.set('image', new Blob([UPLOAD], { type: 'image/png' }), 'in.png');
    const init = { method: 'POST', body, headers: { authorization: `Bearer ${token}`, ...headers } };
    // A body that is refused is not received: who sends it may see the connection close before the answer.
    const response = await fetch(`${node.url}${EDITS}`, init).catch(() => undefined);
    if (response?.ok) return response;
    if (response) expect(await response.text()).toContain('service_unavailable');
    return undefined;
  }

  test('to jobs are counted until the job ends, although it was answered long before', async () => {
    const account = await operator.account('10');
    const gate = Promise.withResolvers<void>();
    backend.script(async () => {
      await gate.promise;
      return edited();
    });
    const jobs: string[] = [];
    const growth = await growthDuring(async () => {
      for (let sent = 0; sent < 30; sent++) {
        const started = await upload(account, {}, ASYNC);
        if (started) jobs.push(((await started.json()) as { id: string }).id);
      }
    });
    expect(jobs).toHaveLength(3);
    expect(growth).toBeLessThan(MOST_GROWTH_MEGABYTES);
    gate.resolve();
    for (const id of jobs) expect((await endOfJob(node.url, account.token, id)).status).toBe('done');
    await eventually('there is room again', async () => (await upload(account))?.status === 200);
  }, 120_000);

  test('to a stream are counted until it ends, although it has begun to answer', async () => {
    const account = await operator.account('10');
    const streams = Array.from({ length: 3 }, () => openStream());
    const event = (type: string, fields: object = {}) =>
      `event: ${type}\ndata: ${JSON.stringify({ type, b64_json: PIXEL_BASE64, created_at: 1, ...fields })}\n\n`;
    backend.script((_, index) => streams[index]?.response ?? edited());
    for (const { send } of streams) send(event('image_edit.partial_image', { partial_image_index: 0 }));
    const begun: Response[] = [];
    for (let sent = 0; sent < streams.length; sent++) {
      const answer = await upload(account, { stream: 'true', partial_images: '1' });
      begun.push(answer!);
    }
    expect(await upload(account)).toBeUndefined();
    for (const { send, end } of streams) {
      send(event('image_edit.completed'));
      end();
    }
    for (const answer of begun) expect(await answer.text()).toContain('image_edit.completed');
    await eventually('there is room again', async () => (await upload(account))?.status === 200);
  }, 60_000);
});
