import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { sql } from 'kysely';
import { encodePng } from '../../src/house/paint/png.ts';
import { Gateway, type TestAccount } from '../support/gateway.ts';
import { eventually } from '../support/node-process.ts';
import { openStream, PIXEL_BASE64, images, ScriptedBackend } from '../support/scripted-backend.ts';

/** Images as server-sent events: what was shown is charged, whoever ends the stream, and finished images are kept. */

let backend: ScriptedBackend;
let gateway: Gateway;
/** With comment lines all the time, so that answers begin before their backend's do. */
let commenting: Gateway;
let account: TestAccount;

const catalog = (url: string): string => `
upstreams:
  b: { kind: openai, base_url: "${url}" }
  hasty: { kind: openai, base_url: "${url}", timeouts: { first_byte_ms: 1000, idle_ms: 1000, total_ms: 1500 } }
lists:
  images:
    - { model: p, image: 0.04, input_image: 0.003, partial_image: 0.001, sizes: [512x512], abilities: { partial_images: 2, reference_images: 2 } }
    - { model: stops, image: 0.04, partial_image: 0.001, sizes: [512x512], on_disconnect: stop, abilities: { partial_images: 3 }, cost: { b: { image: 0.02, partial_image: 0.0005 } } }
    - { model: plain, image: 0.04, sizes: [512x512] }
    - { model: tokens, input: 5, output: 10, image_output: 40, max_output: 2000, sizes: [512x512], abilities: { partial_images: 3 } }
    - { model: whole_tokens, input: 5, output: 10, image_output: 40, max_output: 2000, sizes: [512x512], abilities: { seed: true } }
endpoints:
  images: { name: Images, type: image_generation, lists: [images], upstreams: [b] }
  hasty: { name: Hasty, type: image_generation, lists: [images], upstreams: [hasty] }
`;

beforeAll(async () => {
  backend = new ScriptedBackend();
  gateway = await Gateway.start({ yaml: catalog(backend.baseUrl) });
  commenting = await Gateway.start({ yaml: catalog(backend.baseUrl), env: { TOLLGATE_COMMENT_MS: '20' } });
});
afterAll(async () => {
  for (const one of [gateway, commenting]) {
    expect((await one.verify()).breaches).toEqual([]);
    await one.stop();
  }
  await backend.stop();
});
beforeEach(async () => {
  backend.calls.length = 0;
  account = await gateway.account('10');
});

const bodyFor = (model: string, more: object) => ({
  endpoint: 'images',
  model,
  prompt: 'a gate',
  stream: true,
  response_format: 'b64_json',
  ...more,
});
const ask = (model: string, more: object = {}, init: RequestInit = {}): Promise<Response> =>
  gateway.post('/api/public/v1/images/generations', account.token, bodyFor(model, more), init);

const event = (type: string, fields: object = {}): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, b64_json: PIXEL_BASE64, created_at: 1, ...fields })}\n\n`;
const partial = (index: number): string =>
  event('image_generation.partial_image', { partial_image_index: index });
const completed = (fields: object = {}): string => event('image_generation.completed', fields);
const streaming = (...events: string[]): Response =>
  new Response(events.join(''), { headers: { 'content-type': 'text/event-stream' } });

interface ReadEvent {
  readonly event: string;
  readonly data: Record<string, unknown>;
}

/** Strictly: a name and one line of data, or a comment. */
function eventsOf(text: string): ReadEvent[] {
  return text.split('\n\n').flatMap((block) => {
    if (block === '' || block.startsWith(':')) return [];
    const [, name = '', data = ''] = /^event: (\S+)\ndata: (\{.*\})$/.exec(block) ?? [];
    expect(name).not.toBe('');
    return [{ event: name, data: JSON.parse(data) as Record<string, unknown> }];
  });
}

const namesOf = (events: readonly ReadEvent[]): string[] => events.map(({ event: name }) => name);

async function charged(id: string, at = gateway, who = account) {
  await at.settled(who);
  const { charged: amount, outcome, state, images: count, extra, stream } = await at.receipt(id);
  return { usd: amount / 1e9, outcome, state, images: count, partials: partialsIn(extra), stream };
}

function partialsIn(extra: string | null): number {
  return extra === null ? 0 : ((JSON.parse(extra) as { partialImages?: number }).partialImages ?? 0);
}

const gallery = async (): Promise<number> => {
  const { db } = gateway.tollgate.services.store;
  return (await db.selectFrom('image').select('id').where('account_id', '=', account.id).execute()).length;
};

test('partial images and the finished one come as they are, are charged exactly, and the finished one is kept', async () => {
  backend.script(() => streaming(partial(0), partial(1), completed({ usage: { total_tokens: 7 } })));
  const response = await ask('p', { partial_images: 2 });
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
  expect(response.headers.get('x-tollgate-held')).toBe('0.042');
  const events = eventsOf(await response.text());
  expect(namesOf(events)).toEqual([
    'image_generation.partial_image',
    'image_generation.partial_image',
    'image_generation.completed',
  ]);
  expect(events.map(({ data }) => data)).toMatchObject([
    {
      type: 'image_generation.partial_image',
      b64_json: PIXEL_BASE64,
      partial_image_index: 0,
      size: '512x512',
    },
    { type: 'image_generation.partial_image', partial_image_index: 1, output_format: 'png', quality: 'auto' },
    {
      type: 'image_generation.completed',
      b64_json: PIXEL_BASE64,
      usage: { total_tokens: 7 },
      background: 'auto',
    },
  ]);
  expect(backend.calls[0]!.body).toMatchObject({ stream: true, partial_images: 2, size: '512x512' });
  expect(await charged(response.headers.get('x-request-id')!)).toEqual({
    usd: 0.042,
    outcome: 'completed',
    state: 'posted',
    images: 1,
    partials: 2,
    stream: 1,
  });
  await eventually('the image is in the gallery', async () => (await gallery()) === 1);
});

test('a backend that streams nothing gives one final event for each image, and is not asked to stream', async () => {
  backend.script(() => images(2));
  const response = await ask('plain', { n: 3, response_format: 'url' });
  const events = eventsOf(await response.text());
  expect(namesOf(events)).toEqual(['image_generation.completed', 'image_generation.completed']);
  expect(backend.calls[0]!.body).not.toContainAnyKeys(['stream', 'partial_images']);
  const link = String(events[0]!.data['url']);
  expect((await fetch(link)).headers.get('content-type')).toBe('image/png');
  expect(events[0]!.data).not.toHaveProperty('b64_json');
  expect(await charged(response.headers.get('x-request-id')!)).toMatchObject({ usd: 0.08, images: 2 });
  expect(await gallery()).toBe(2);
});

test('a backend that ignores the wish to stream is charged for the image alone', async () => {
  backend.script(() => images(1));
  const response = await ask('p', { partial_images: 2 });
  expect(namesOf(eventsOf(await response.text()))).toEqual(['image_generation.completed']);
  expect(await charged(response.headers.get('x-request-id')!)).toMatchObject({ usd: 0.04, partials: 0 });
});

test('an edit has events of its own, and pays for the picture that it started from', async () => {
  backend.script(() =>
    streaming(event('image_edit.partial_image', { partial_image_index: 0 }), event('image_edit.completed')),
  );
  const response = await gateway.post('/api/public/v1/images/edits', account.token, {
    endpoint: 'images',
    model: 'p',
    prompt: 'in winter',
    image: `data:image/png;base64,${PIXEL_BASE64}`,
    stream: true,
    partial_images: 1,
  });
  const events = eventsOf(await response.text());
  expect(namesOf(events)).toEqual(['image_edit.partial_image', 'image_edit.completed']);
  expect(events[1]!.data).toHaveProperty('url');
  expect(backend.calls[0]!.text).toMatch(/name="stream"\r\n\r\ntrue\r\n/);
  expect(await charged(response.headers.get('x-request-id')!)).toMatchObject({ usd: 0.044, partials: 1 });
});

test('what a backend sends beyond what was asked for is neither shown nor charged', async () => {
  backend.script(() => streaming(partial(0), partial(1), partial(2), completed(), completed()));
  const response = await ask('p', { partial_images: 1 });
  expect(namesOf(eventsOf(await response.text()))).toEqual([
    'image_generation.partial_image',
    'image_generation.completed',
  ]);
  expect(await charged(response.headers.get('x-request-id')!)).toMatchObject({ usd: 0.041, partials: 1 });
});

test('what is no image is neither shown nor charged', async () => {
  backend.script(() =>
    streaming(
      event('image_generation.partial_image', { b64_json: 'bm8=' }),
      'data: {"type":"other"}\n\n',
      completed(),
    ),
  );
  const response = await ask('p', { partial_images: 1 });
  expect(namesOf(eventsOf(await response.text()))).toEqual(['image_generation.completed']);
  expect(await charged(response.headers.get('x-request-id')!)).toMatchObject({ usd: 0.04, partials: 0 });
});

test('by the token, a stream is charged by what it reports, of all its images together', async () => {
  const usage = { input_tokens: 10, output_tokens: 1_100, total_tokens: 1_110 };
  backend.script(() => streaming(partial(0), completed({ usage }), completed({ usage })));
  const response = await ask('tokens', { partial_images: 1, n: 2 });
  await response.text();
  // 2 × (10 × 5 + 1,100 × 40) ÷ 1,000,000.
  expect(await charged(response.headers.get('x-request-id')!)).toMatchObject({ usd: 0.0881, images: 2 });
});

describe('a stream that breaks', () => {
  test('after a partial image ends in an error event, and costs that image', async () => {
    const upstream = openStream();
    backend.script(() => upstream.response);
    upstream.send(partial(0));
    const response = await ask('p', { partial_images: 2 });
    const reader = response.body!.getReader();
    const decoder = new TextDecoder();
    let text = '';
    // Broken before the event was read, the connection would take it along.
    while (!text.includes('partial_image')) text += decoder.decode((await reader.read()).value);
    upstream.fail();
    for (let next = await reader.read(); !next.done; next = await reader.read())
      text += decoder.decode(next.value);
    const events = eventsOf(text);
    expect(namesOf(events)).toEqual(['image_generation.partial_image', 'error']);
    expect(events[1]!.data).toMatchObject({ type: 'error', error: { code: 'upstream_error' } });
    expect(await charged(response.headers.get('x-request-id')!)).toMatchObject({
      usd: 0.001,
      outcome: 'upstream_failed',
      partials: 1,
      images: 0,
    });
  });

  test.each([
    ['nothing in it', () => streaming(), 500],
    ['an error first', () => streaming('data: {"type":"error","error":{"message":"no"}}\n\n'), 500],
    [
      'a refusal first',
      () => streaming('data: {"error":{"type":"image_generation_user_error","message":"Not this."}}\n\n'),
      400,
    ],
    ['no JSON first', () => streaming('data: nonsense\n\n'), 500],
  ])(
    'before its first image, with %s, has the status of a failure and costs nothing',
    async (_, script, status) => {
      backend.script(script);
      const response = await ask('p', { partial_images: 2 });
      expect(response.status).toBe(status);
      expect(response.headers.get('content-type')).toBe('application/json');
      await gateway.settled(account);
      const [row] = await gateway.requests(account);
      expect(row).toMatchObject({ charged: 0, state: 'void' });
    },
  );
});

test('a backend may take its time until its deadline, and is cut then; what was shown is charged', async () => {
  const listener = await commenting.account('10');
  const begin = async (endpoint: string) => {
    const upstream = openStream();
    backend.script(() => upstream.response);
    upstream.send(partial(0));
    const response = await commenting.post('/api/public/v1/images/generations', listener.token, {
      ...bodyFor('p', { partial_images: 2 }),
      endpoint,
    });
    return { upstream, response, id: response.headers.get('x-request-id')! };
  };
  const patient = await begin('images');
  const reader = patient.response.body!.getReader();
  let text = '';
  const read = async (isEnough: () => boolean): Promise<void> => {
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      text += Buffer.from(next.value).toString('utf8');
      if (isEnough()) return;
    }
  };
  // A comment comes every 20 ms at most: deadlines were looked at several times meanwhile.
  await read(() => text.split(/^:/m).length > 60);
  patient.upstream.send(completed());
  patient.upstream.end();
  await read(() => false);
  expect(namesOf(eventsOf(text)).at(-1)).toBe('image_generation.completed');
  expect(await charged(patient.id, commenting, listener)).toMatchObject({ usd: 0.041, outcome: 'completed' });

  const hasty = await begin('hasty');
  expect(await hasty.response.text()).toContain('upstream_timeout');
  await hasty.upstream.cancelled;
  expect(await charged(hasty.id, commenting, listener)).toMatchObject({ usd: 0.001, outcome: 'cut_short' });
});

describe('a client that leaves', () => {
  const leaveAfterFirst = async (model: string) => {
    const upstream = openStream();
    backend.script(() => upstream.response);
    const client = new AbortController();
    const asked = ask(model, { partial_images: 2 }, { signal: client.signal });
    await backend.called(1);
    upstream.send(partial(0));
    const response = await asked;
    await response.body!.getReader().read();
    client.abort();
    return { upstream, id: response.headers.get('x-request-id')! };
  };

  test('finds the finished image in the gallery, and pays once for all that was made', async () => {
    const { upstream, id } = await leaveAfterFirst('p');
    upstream.send(partial(1));
    upstream.send(completed());
    upstream.end();
    const { outcome, ...bill } = await charged(id);
    expect(bill).toMatchObject({ usd: 0.042, images: 1, partials: 2 });
    // Whether its leaving or the end of the images was noticed first changes nothing else.
    expect(['client_left', 'completed']).toContain(outcome!);
    await eventually('the image is in the gallery', async () => (await gallery()) === 1);
  });

  test('stops a model that says so, and pays for what had come', async () => {
    const { upstream, id } = await leaveAfterFirst('stops');
    await upstream.cancelled;
    expect(await charged(id)).toMatchObject({ usd: 0.001, outcome: 'client_left', images: 0, partials: 1 });
    expect(await gallery()).toBe(0);
  });
});

describe('an image that cannot be kept', () => {
  /** Too large for the buffers of a connection: a client that stops to read after its first bytes has not got it. */
  const SIDE = 1_600;
  const large = Buffer.from(encodePng(randomBytes(SIDE * SIDE * 3), SIDE, SIDE)).toString('base64');

  const withoutGallery = async (work: () => Promise<void>): Promise<void> => {
    const { db } = gateway.tollgate.services.store;
    await sql`CREATE TRIGGER no_image BEFORE INSERT ON image BEGIN SELECT raise(ABORT, 'full'); END`.execute(
      db,
    );
    try {
      await work();
    } finally {
      await sql`DROP TRIGGER no_image`.execute(db);
    }
  };
  const leaveIn = async (more: object, shown: string[], until: string): Promise<string> => {
    const upstream = openStream();
    backend.script(() => upstream.response);
    const { hostname, port } = new URL(gateway.url);
    const client = connect(Number(port), hostname);
    const body = JSON.stringify(bodyFor('stops', { partial_images: 2, ...more }));
    client.write(
      `POST /api/public/v1/images/generations HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${account.token}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    );
    await backend.called(1);
    for (const one of shown) upstream.send(one);
    const seen = await new Promise<string>((found) => {
      let text = '';
      client.on('data', (bytes) => {
        text += bytes.toString('latin1');
        if (!text.includes(until)) return;
        client.pause();
        found(text);
      });
    });
    client.destroy();
    await upstream.cancelled;
    return /x-request-id: (\S+)/i.exec(seen)?.[1] ?? '';
  };
  const costs = async (id: string): Promise<number> => {
    const { db } = gateway.tollgate.services.store;
    const row = await db.selectFrom('receipt').select('cost').where('id', '=', id).executeTakeFirst();
    return (row?.cost ?? 0) / 1e9;
  };

  test('costs nothing if its client left before it had it, and what it cost us is booked', async () => {
    await withoutGallery(async () => {
      const id = await leaveIn({}, [completed({ b64_json: large })], 'image_generation.completed');
      expect(await charged(id)).toMatchObject({ usd: 0, images: 0, state: 'void', outcome: 'client_left' });
      expect(await costs(id)).toBe(0.02);
    });
  });

  test('is paid by a client that had it before it left, and is the only one to have it', async () => {
    await withoutGallery(async () => {
      const id = await leaveIn({}, [completed()], '"usage":');
      expect(await charged(id)).toMatchObject({ usd: 0.04, images: 1, outcome: 'client_left' });
      expect(await costs(id)).toBe(0.02);
    });
  });

  test('does not change what was shown before it, and is paid by a client that stays', async () => {
    await withoutGallery(async () => {
      const shown = [partial(0), completed({ b64_json: large })];
      const id = await leaveIn({}, shown, 'image_generation.completed');
      expect(await charged(id)).toMatchObject({ usd: 0.001, images: 0, partials: 1 });
      expect(await costs(id)).toBe(0.0205);
      backend.script(() => streaming(completed({ b64_json: large })));
      const response = await ask('stops', { partial_images: 1 });
      expect(await response.text()).toContain(large);
      expect(await charged(response.headers.get('x-request-id')!)).toMatchObject({ usd: 0.04, images: 1 });
    });
  });

  test('costs nothing beside one that was kept, which is paid with what was shown of it', async () => {
    const { db } = gateway.tollgate.services.store;
    await sql`CREATE TRIGGER one_image BEFORE INSERT ON image WHEN EXISTS
      (SELECT 1 FROM image WHERE request_id = NEW.request_id) BEGIN SELECT raise(ABORT, 'full'); END`.execute(
      db,
    );
    try {
      backend.script(() => streaming(partial(0), completed(), completed()));
      const response = await ask('stops', { n: 2, partial_images: 1, response_format: 'url' });
      await response.text();
      const id = response.headers.get('x-request-id')!;
      expect(await charged(id)).toMatchObject({ usd: 0.041, images: 1, partials: 1, state: 'posted' });
    } finally {
      await sql`DROP TRIGGER one_image`.execute(db);
    }
  });

  test('and is wanted as a link costs nothing', async () => {
    await withoutGallery(async () => {
      backend.script(() => streaming(completed()));
      const response = await ask('stops', { partial_images: 1, response_format: 'url' });
      expect(namesOf(eventsOf(await response.text()))).toEqual(['error']);
      const id = response.headers.get('x-request-id')!;
      expect(await charged(id)).toMatchObject({ usd: 0, state: 'void' });
      expect(await costs(id)).toBe(0.02);
    });
  });
});

describe('a long silence', () => {
  let listener: TestAccount;

  beforeEach(async () => void (listener = await commenting.account('10')));

  const askCommenting = (model: string, more: object = {}, init: RequestInit = {}): Promise<Response> =>
    commenting.post('/api/public/v1/images/generations', listener.token, bodyFor(model, more), init);

  test('is filled with comment lines before and after the first picture', async () => {
    const upstream = openStream();
    backend.script(() => upstream.response);
    const response = await askCommenting('p', { partial_images: 1 });
    const comments = new CommentCounter(response);
    await comments.reached(3);
    upstream.send(partial(0));
    await comments.reached(6);
    upstream.send(completed());
    upstream.end();
    expect(namesOf(eventsOf(await comments.rest()))).toEqual([
      'image_generation.partial_image',
      'image_generation.completed',
    ]);
    expect(await charged(response.headers.get('x-request-id')!, commenting, listener)).toMatchObject({
      usd: 0.041,
    });
  });

  test('that ends in a failure ends in an error event, and costs nothing', async () => {
    const gate = Promise.withResolvers<Response>();
    backend.script(() => gate.promise);
    const response = await askCommenting('plain');
    expect(response.status).toBe(200);
    const comments = new CommentCounter(response);
    await comments.reached(1);
    gate.resolve(Response.json({ error: { message: 'Not this.' } }, { status: 400 }));
    const events = eventsOf(await comments.rest());
    expect(namesOf(events)).toEqual(['error']);
    expect(events[0]!.data).toMatchObject({ error: { code: 'invalid_field', message: 'Not this.' } });
    expect(await charged(response.headers.get('x-request-id')!, commenting, listener)).toMatchObject({
      usd: 0,
      state: 'void',
    });
  });

  test('that ends in a failure is not kept for a key', async () => {
    const headers = { 'idempotency-key': 'one' };
    const gate = Promise.withResolvers<Response>();
    backend.script((_, index) => (index === 0 ? gate.promise : images(1)));
    const first = await askCommenting('plain', {}, { headers });
    const comments = new CommentCounter(first);
    await comments.reached(1);
    gate.resolve(Response.json({ error: { message: 'Not this.' } }, { status: 400 }));
    expect(namesOf(eventsOf(await comments.rest()))).toEqual(['error']);
    const again = await askCommenting('plain', {}, { headers });
    expect(namesOf(eventsOf(await again.text()))).toEqual(['image_generation.completed']);
  });
});

describe('a key', () => {
  const headers = { 'idempotency-key': 'one' };

  test('replays a stream byte for byte, and it is charged once', async () => {
    backend.script(() => streaming(partial(0), completed()));
    const first = await ask('p', { partial_images: 1 }, { headers });
    const text = await first.text();
    const again = await ask('p', { partial_images: 1 }, { headers });
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(await again.text()).toBe(text);
    expect(backend.calls).toHaveLength(1);
    expect(await gateway.requests(account)).toHaveLength(1);
  });
});

test.each(['plain', 'whole_tokens'])(
  '%s, which sells no partial images, sends its final event, and says that it left them out',
  async (model) => {
    backend.script(() => images(1));
    const response = await ask(model, { partial_images: 3 });
    expect(response.headers.get('x-tollgate-dropped')).toBe('partial_images');
    expect(namesOf(eventsOf(await response.text()))).toEqual(['image_generation.completed']);
    expect(backend.calls).toHaveLength(1);
    expect(backend.calls[0]!.body).not.toContainAnyKeys(['stream', 'partial_images']);
    const { outcome, images: count, partials } = await charged(response.headers.get('x-request-id') ?? '');
    expect({ outcome, count, partials }).toEqual({ outcome: 'completed', count: 1, partials: 0 });
  },
);

test('a model that shows fewer partial images than were asked for shows as many as it can', async () => {
  backend.script(() => streaming(partial(0), partial(1), completed()));
  const response = await ask('p', { partial_images: 3 });
  expect(namesOf(eventsOf(await response.text()))).toHaveLength(3);
  expect(response.headers.get('x-tollgate-dropped')).toBeNull();
  expect(backend.calls[0]!.body).toMatchObject({ stream: true, partial_images: 2 });
});

test('more partial images than the API knows are refused', async () => {
  const response = await ask('p', { partial_images: 4 });
  expect(response.status).toBe(400);
  const { error } = (await response.json()) as { error: { param: string; message: string } };
  expect(error).toMatchObject({ param: 'partial_images' });
  expect(backend.calls).toEqual([]);
});

test('a quote has a line for the partial images that a stream may show', async () => {
  const response = await gateway.post('/api/public/v1/quotes', account.token, {
    endpoint: 'images',
    model: 'p',
    prompt: 'a gate',
    n: 2,
    stream: true,
    partial_images: 2,
  });
  expect(await response.json()).toMatchObject({
    max_cost_usd: '0.084',
    lines: [
      { dimension: 'image', quantity: 2, price: '0.04', usd: '0.08' },
      { dimension: 'partial_image', quantity: 4, price: '0.001', usd: '0.004' },
    ],
  });
});

/** Reads a stream until so many comment lines have come. */
class CommentCounter {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  #text = '';

  constructor(response: Response) {
    this.#reader = response.body!.getReader();
  }

  async reached(count: number): Promise<void> {
    while (this.#text.split(': \n\n').length - 1 < count) {
      const { done, value } = await this.#reader.read();
      if (done) throw new Error(`the stream ended: ${this.#text}`);
      this.#text += new TextDecoder().decode(value);
    }
  }

  /** Everything, once the stream has ended. */
  async rest(): Promise<string> {
    for (;;) {
      const { done, value } = await this.#reader.read();
      if (done) return this.#text;
      this.#text += new TextDecoder().decode(value);
    }
  }
}
