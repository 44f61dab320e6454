import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import type { UpstreamConfig } from '../../src/catalog/catalog.ts';
import { makeImageApi, POLL_TIMES } from '../../src/upstream/image-apis/image-api-upstream.ts';
import {
  UpstreamFailure,
  type ImagePart,
  type Upstream,
  type UpstreamImageCall,
} from '../../src/upstream/port.ts';
import type { ImageRequest } from '../../src/wire/openai/images.ts';
import { Gateway, type TestAccount } from '../support/gateway.ts';
import { StrictBfl } from './bfl.ts';
import { StrictFal } from './fal.ts';
import { PICTURE, PICTURE_PATH, type ImageStandIn } from './image-stand-in.ts';
import { StrictReplicate } from './replicate.ts';
import { StrictStability } from './stability.ts';

/** Providers that make images alone, each on a stand-in that is as strict as its reference. */

interface Provider {
  readonly kind: string;
  readonly standIn: ImageStandIn;
  readonly model: string;
  /** Four images are so many calls. */
  readonly callsForFour: number;
}

const bfl = new StrictBfl();
const fal = new StrictFal();
const replicate = new StrictReplicate();
const stability = new StrictStability();
const PROVIDERS: readonly Provider[] = [
  { kind: 'bfl', standIn: bfl, model: 'flux-pro-1.1', callsForFour: 4 },
  { kind: 'fal', standIn: fal, model: 'fal-ai/flux/dev', callsForFour: 1 },
  { kind: 'replicate', standIn: replicate, model: 'black-forest-labs/flux-dev', callsForFour: 1 },
  { kind: 'stability', standIn: stability, model: 'stable-image-core', callsForFour: 4 },
];
const BY_JOBS = PROVIDERS.filter(({ kind }) => kind !== 'stability');
const CANCELLING = PROVIDERS.filter(({ kind }) => kind === 'fal' || kind === 'replicate');

let gateway: Gateway;
let account: TestAccount;

beforeAll(async () => {
  const yaml = [
    'upstreams:',
    ...PROVIDERS.map(({ kind, standIn }) => {
      const options = kind === 'stability' ? '' : `, options: { image_path: ${PICTURE_PATH} }`;
      return `  ${kind}: { kind: ${kind}, base_url: "${standIn.baseUrl}", api_key: "\${KEY}"${options} }`;
    }),
    'lists:',
    ...PROVIDERS.map(
      ({ kind, model }) =>
        `  ${kind}_models: [{ model: painter, image: 0.04, sizes: [1024x1024, 1024x768], upstream_models: { ${kind}: "${model}" } }]`,
    ),
    'endpoints:',
    ...PROVIDERS.map(
      ({ kind }) =>
        `  ${kind}: { name: ${kind}, type: image_generation, lists: [${kind}_models], upstreams: [${kind}] }`,
    ),
  ].join('\n');
  gateway = await Gateway.start({ yaml, env: { KEY: bfl.key } });
  account = await gateway.account('100');
});
afterAll(async () => {
  expect((await gateway.verify()).breaches).toEqual([]);
  await gateway.stop();
  for (const { standIn } of PROVIDERS) await standIn.stop();
});
afterEach(() => {
  bfl.pollingBase = undefined;
  for (const { standIn } of PROVIDERS)
    Object.assign(standIn, { outcomes: [], pollFailures: [], pollsBeforeDone: 1 });
});

const IMAGE_NANO = 40_000_000;

async function paint(kind: string, fields: Record<string, unknown>) {
  const before = await gateway.money(account);
  const response = await gateway.image(account.token, { endpoint_code: kind, model: 'painter', ...fields });
  const body = (await response.json()) as {
    data: { url?: string; b64_json?: string }[];
    error?: { code: string };
  };
  await gateway.settled(account);
  const paid = before.balance - (await gateway.money(account)).balance;
  return { status: response.status, body, paid };
}

describe.each(PROVIDERS)('$kind', ({ kind, standIn, callsForFour }) => {
  const submissions = (): number => standIn.received.filter(({ method }) => method === 'POST').length;
  const billed = (): number => standIn.invoice.reduce((sum, { images }) => sum + images, 0);

  test('images are made in as few calls as it allows, and charged one by one', async () => {
    const [calls, bills] = [submissions(), billed()];
    const { status, body, paid } = await paint(kind, {
      n: 4,
      size: '1024x768',
      response_format: 'b64_json',
      seed: 7,
    });
    expect(status).toBe(200);
    expect(body.data.map((one) => one.b64_json)).toEqual(
      Array.from({ length: 4 }, () => Buffer.from(PICTURE).toString('base64')),
    );
    expect([paid, submissions() - calls, billed() - bills]).toEqual([4 * IMAGE_NANO, callsForFour, 4]);
  });

  test('a client that wants links gets ours, whatever the provider sent', async () => {
    const { body } = await paint(kind, { output_format: 'png' });
    const url = body.data[0]?.url ?? '';
    expect(url).toStartWith(gateway.url);
    expect(await (await fetch(url)).bytes()).toEqual(new Uint8Array(PICTURE));
  });

  test('refused content is the client’s fault, and costs nothing', async () => {
    const bills = billed();
    standIn.outcomes = ['refused'];
    const { status, body, paid } = await paint(kind, {});
    expect([status, body.error?.code, paid, billed() - bills]).toEqual([400, 'invalid_field', 0, 0]);
  });

  test('a failure of the provider is its own, and costs nothing', async () => {
    standIn.outcomes = ['failed'];
    const { status, body, paid } = await paint(kind, {});
    expect([status, body.error?.code, paid]).toEqual([500, 'upstream_error', 0]);
  });

  test('of four images, those that arrive are delivered and charged', async () => {
    standIn.outcomes = ['made', 'refused', 'made', 'failed'];
    const { status, body, paid } = await paint(kind, { n: 4 });
    expect([status, body.data.length, paid]).toEqual([200, 2, 2 * IMAGE_NANO]);
  });

  test('a wrong key is the operator’s problem', async () => {
    const failure = await failureOf(upstreamFor(kind, standIn, { apiKey: 'another' }).images(callFor(kind)));
    expect(failure.kind).toBeOneOf(['unauthorized', 'forbidden']);
    expect(failure.publicMessage).toBeUndefined();
  });

  test('a cheap call checks address and key', async () => {
    const signal = new AbortController().signal;
    expect(await upstreamFor(kind, standIn).check(signal)).toMatchObject({ ok: true });
  });

  test('it has no chat', async () => {
    const { chat } = upstreamFor(kind, standIn);
    expect((await failureOf(chat({ model: 'x' } as Parameters<typeof chat>[0]))).kind).toBe('rejected');
  });
});

describe.each(BY_JOBS)('the jobs of $kind', ({ kind, standIn }) => {
  const submissions = (): number =>
    standIn.received.filter(({ method, path }) => method === 'POST' && !path.endsWith('/cancel')).length;

  test('are asked about until they are done, through failures that pass', async () => {
    standIn.pollsBeforeDone = 3;
    standIn.pollFailures = [
      new Response('bad gateway', { status: 502 }),
      Response.json({ detail: 'slow down' }, { status: 429, headers: { 'retry-after': '0.01' } }),
    ];
    const { images } = await upstreamFor(kind, standIn).images(callFor(kind));
    expect(images.map(({ mime }) => mime)).toEqual(['image/png']);
    expect(standIn.pollFailures).toEqual([]);
  });

  test('are lost after too many failures in a row, and may have been billed', async () => {
    standIn.pollsBeforeDone = 2;
    standIn.pollFailures = Array.from({ length: 10 }, () => new Response('no', { status: 500 }));
    const failure = await failureOf(upstreamFor(kind, standIn).images(callFor(kind)));
    expect(failure.kind).toBe('connection_lost');
  });

  test('that never end are given up', async () => {
    standIn.outcomes = ['endless'];
    const failure = await failureOf(upstreamFor(kind, standIn).images(callFor(kind)));
    expect(failure.kind).toBe('timeout');
  });

  test('are reported together, and another process goes on with them without a new one', async () => {
    standIn.pollsBeforeDone = 1_000_000;
    const reports: (readonly ImagePart[])[] = [];
    const stopped = new AbortController();
    const before = submissions();
    const call = {
      ...callFor(kind, { n: 3 }),
      signal: stopped.signal,
      onJob: (parts: readonly ImagePart[]) => void reports.push(parts),
    };
    const running = failureOf(upstreamFor(kind, standIn).images(call));
    const expected = kind === 'bfl' ? 3 : 1;
    await standIn.until(() => reports.at(-1)?.filter(({ job }) => job !== undefined).length === expected);
    stopped.abort(new Error('shutdown'));
    await running;
    expect([...standIn.jobs.values()].slice(-expected).some(({ cancelled }) => cancelled)).toBe(false);
    const jobs = [...standIn.jobs.values()].slice(-expected);
    for (const job of jobs) job.polls = standIn.pollsBeforeDone - 1;
    const resumed = await upstreamFor(kind, standIn).resumeImages!(reports.at(-1)!, callFor(kind, { n: 3 }));
    expect(resumed.images).toHaveLength(3);
    expect(submissions() - before).toBe(expected);
  });

  test.each(['', 'https://evil.example/v1/get_result?id=1', '../../account', '/a/b/../../requests/1', 'A!'])(
    'that are not its own, such as %p, do not get the key',
    async (job) => {
      const before = standIn.received.length;
      const failure = await failureOf(
        upstreamFor(kind, standIn).resumeImages!([{ images: 1, job }], callFor(kind)),
      );
      expect(failure.kind).toBe('protocol');
      expect(standIn.received).toHaveLength(before);
    },
  );
});

test.each(CANCELLING)('$kind: a job that nobody waits for is cancelled', async ({ kind, standIn }) => {
  standIn.outcomes = ['endless', 'endless'];
  for (const onJob of [undefined, () => undefined]) {
    const stopped = new AbortController();
    const call = { ...callFor(kind), signal: stopped.signal, onJob };
    const running = failureOf(upstreamFor(kind, standIn, {}, { ...FAST, maxPolls: 1_000_000 }).images(call));
    const seen = standIn.jobs.size;
    await standIn.until(() => standIn.jobs.size > seen && standIn.received.at(-1)?.method === 'GET');
    stopped.abort(new UpstreamFailure('timeout', 'no answer in time'));
    await running;
    await standIn.until(() => [...standIn.jobs.values()].at(-1)?.cancelled === true);
  }
});

test('a polling address on another host does not get the key', async () => {
  const visits: string[] = [];
  const other = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: (request) => {
      visits.push(request.url);
      return Response.json({ status: 'Ready', result: { sample: 'https://images.example/a.png' } });
    },
  });
  bfl.pollingBase = `http://127.0.0.1:${other.port}/v1`;
  const failure = await failureOf(upstreamFor('bfl', bfl).images(callFor('bfl')));
  expect([failure.kind, visits]).toEqual(['protocol', []]);
  await other.stop(true);
});

test('Replicate waits on the connection unless the job’s name must be known at once', async () => {
  const upstream = upstreamFor('replicate', replicate);
  const prefer = (): string | null | undefined =>
    replicate.received.findLast(({ method }) => method === 'POST')?.headers.get('prefer');
  const before = replicate.received.length;
  await upstream.images(callFor('replicate'));
  expect([prefer(), replicate.received.length - before]).toEqual(['wait=10', 1]);
  await upstream.images({ ...callFor('replicate'), onJob: () => undefined });
  expect(prefer()).toBe('respond-async');
});

const SDXL = 'stability-ai/sdxl:7762fd07cf82c948538e41f63f77d685e02b063e37e496e96eefd46c929f9bdc';
const UPLOAD = { bytes: new Uint8Array(PICTURE), mime: 'image/png' };

test.each([
  ['bfl', 'flux-pro-1.1', {}, { width: 1024, height: 768 }],
  ['bfl', 'flux-pro-1.1-ultra', { output_format: 'webp' }, { aspect_ratio: '4:3', output_format: 'png' }],
  [
    'bfl',
    'flux-kontext-pro',
    { image: [UPLOAD, UPLOAD] },
    { aspect_ratio: '4:3', input_image_2: expect.any(String) },
  ],
  ['bfl', 'flux-2-pro', { image: [UPLOAD] }, { width: 1024, input_image: expect.any(String) }],
  ['fal', 'fal-ai/flux/dev', { n: 2 }, { image_size: { width: 1024, height: 768 }, num_images: 2 }],
  ['fal', 'fal-ai/flux-pro/v1.1-ultra', {}, { aspect_ratio: '4:3' }],
  [
    'fal',
    'fal-ai/flux/dev/image-to-image',
    { image: [UPLOAD] },
    { image_url: expect.stringMatching(/^data:image\/png/) },
  ],
  [
    'replicate',
    'black-forest-labs/flux-dev',
    { output_format: 'jpeg' },
    { input: { prompt: 'a gate', aspect_ratio: '4:3', output_format: 'jpg' } },
  ],
  [
    'replicate',
    'black-forest-labs/flux-1.1-pro',
    {},
    { input: { prompt: 'a gate', aspect_ratio: 'custom', width: 1024, height: 768 } },
  ],
  [
    'replicate',
    SDXL,
    { n: 2, negative_prompt: 'fog' },
    {
      version: SDXL,
      input: { prompt: 'a gate', width: 1024, height: 768, num_outputs: 2, negative_prompt: 'fog' },
    },
  ],
  [
    'stability',
    'stable-image-core',
    { style: 'anime', seed: 3 },
    { aspect_ratio: '5:4', style_preset: 'anime', seed: '3' },
  ],
  [
    'stability',
    'ultra',
    { output_format: 'webp', image: [UPLOAD] },
    { strength: '0.7', output_format: 'webp' },
  ],
  [
    'stability',
    'sd3.5-large',
    { image: [UPLOAD] },
    { model: 'sd3.5-large', mode: 'image-to-image', strength: '0.7' },
  ],
] as const)('%s, %s: goes out as that model takes it', async (kind, model, fields, expected) => {
  const { standIn } = PROVIDERS.find((one) => one.kind === kind)!;
  const { images } = await upstreamFor(kind, standIn).images({
    ...callFor(kind, fields),
    model,
    size: '1024x768',
  });
  expect(images.length).toBeGreaterThan(0);
  expect(standIn.received.findLast(({ method }) => method === 'POST')?.body).toMatchObject(expected);
});

test.each([
  ['bfl', '/flux-pro-1.1', { prompt: 'x', n: 2 }, 422],
  ['bfl', '/flux-pro-1.1', { prompt: 'x', width: 1000 }, 422],
  ['bfl', '/flux-pro-1.1', { width: 1024 }, 422],
  ['bfl', '/flux-pro-1.1-ultra', { prompt: 'x', width: 1024 }, 422],
  ['bfl', '/flux-3', { prompt: 'x' }, 404],
  ['fal', '/fal-ai/none/at-all', { prompt: 'x' }, 404],
  ['replicate', '/models/black-forest-labs/flux-dev/predictions', { prompt: 'x' }, 422],
  [
    'replicate',
    '/models/black-forest-labs/flux-dev/predictions',
    { input: { prompt: 'x', size: '1:1' } },
    422,
  ],
  ['replicate', '/models/black-forest-labs/none/predictions', { input: { prompt: 'x' } }, 404],
  ['stability', '/v2beta/stable-image/generate/core', { prompt: 'x' }, 400],
] as const)('the stand-in of %s refuses %s with %j, and bills nothing', async (kind, path, body, status) => {
  const { standIn } = PROVIDERS.find((one) => one.kind === kind)!;
  const bills = standIn.invoice.length;
  const authorization = kind === 'fal' ? `Key ${standIn.key}` : `Bearer ${standIn.key}`;
  const headers = { 'content-type': 'application/json', 'x-key': standIn.key, authorization };
  const response = await fetch(standIn.baseUrl + path, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
  });
  expect([response.status, standIn.invoice.length]).toEqual([status, bills]);
});

const FAST = { ...POLL_TIMES, firstMs: 1, mostMs: 2, maxPolls: 50, maxFailures: 5 };

function upstreamFor(
  kind: string,
  standIn: ImageStandIn,
  more: Partial<UpstreamConfig> = {},
  times = FAST,
): Upstream {
  const config: UpstreamConfig = {
    name: kind,
    kind,
    baseUrl: standIn.baseUrl,
    apiKey: standIn.key,
    headers: new Map(),
    timeouts: { firstByteMs: 1_000, idleMs: 1_000, totalMs: 1_000 },
    options: new Map([['image_path', PICTURE_PATH]]),
    ...more,
  };
  return makeImageApi(config, times)!;
}

function callFor(kind: string, fields: Partial<ImageRequest> = {}): UpstreamImageCall {
  const { model } = PROVIDERS.find((one) => one.kind === kind)!;
  const request = { model, prompt: 'a gate', ...fields } as ImageRequest;
  return { model, request, size: '1024x1024', signal: new AbortController().signal, requestId: 'req_1' };
}

async function failureOf(work: Promise<unknown>): Promise<UpstreamFailure> {
  const thrown = await work.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(thrown instanceof UpstreamFailure))
    return new UpstreamFailure('server', `no failure: ${String(thrown)}`);
  return thrown;
}
