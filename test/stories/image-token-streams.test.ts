import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { Gateway, type TestAccount } from '../support/gateway.ts';
import { testPostgres } from '../support/postgres.ts';
import { images, openStream, PIXEL_BASE64, ScriptedBackend } from '../support/scripted-backend.ts';

/**
 * Images by the token whose backend did not report any: the input is owed once it has accepted the request, by our own
 * count, and so is the output: each image by a table, and each partial one that came with 100 tokens. "hello world" has two tokens, a small picture 65 + 129.
 */

const PROMPT = 'hello world';
const catalog = (url: string) => `
upstreams: { b: { kind: openai, base_url: "${url}" } }
lists:
  models:
    - { model: tokens, input: 5, image_input: 8, output: 10, image_output: 40, max_output: 2000, sizes: [512x512], abilities: { partial_images: 3, reference_images: 2, mask: true } }
    - { model: listed, input: 5, output: 10, image_output: 40, max_output: 2000, sizes: [1536x1024], abilities: { partial_images: 3, quality: [low, medium, high] } }
    - { model: stops, input: 5, output: 10, image_output: 40, max_output: 2000, sizes: [512x512], on_disconnect: stop, abilities: { partial_images: 3 } }
endpoints:
  svc_image: { name: images, type: image_generation, lists: [models], upstreams: [b] }
`;

const event = (type: string, fields: object = {}): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, b64_json: PIXEL_BASE64, created_at: 1, ...fields })}\n\n`;
const partial = (index: number): string =>
  event('image_generation.partial_image', { partial_image_index: index });

describe.each(['SQLite', 'Postgres'])('on %s', (store) => {
  const backend = new ScriptedBackend();
  let gateway: Gateway;
  let account: TestAccount;
  beforeAll(async () => {
    const databaseUrl = store === 'Postgres' ? await (await testPostgres()).freshDatabase() : undefined;
    gateway = await Gateway.start({
      yaml: catalog(backend.baseUrl),
      ...(databaseUrl !== undefined && { databaseUrl }),
    });
    account = await gateway.account('10');
  }, 120_000);
  afterAll(async () => {
    expect((await gateway.verify()).breaches).toEqual([]);
    await gateway.stop();
    await backend.stop();
  });

  const ask = (path: string, body: object, init: RequestInit = {}): Promise<Response> =>
    gateway.post(
      `/api/public/v1/images/${path}`,
      account.token,
      { endpoint: 'svc_image', model: 'tokens', prompt: PROMPT, response_format: 'b64_json', ...body },
      init,
    );

  async function receipt(response: Response) {
    const id = response.headers.get('x-request-id')!;
    await gateway.settled(account);
    const { charged, usage_source, input_tokens, output_tokens } = await gateway.receipt(id);
    return { charged, usage_source, input_tokens, output_tokens };
  }

  /** The backend's connection breaks when the client has seen the partial image. */
  async function broken(path: string, body: object, shown: string): Promise<Response> {
    const upstream = openStream();
    backend.script(() => upstream.response);
    upstream.send(shown);
    const response = await ask(path, { stream: true, ...body });
    const reader = response.body!.getReader();
    const decoder = new TextDecoder();
    for (let seen = ''; !seen.includes('partial_image');) seen += decoder.decode((await reader.read()).value);
    upstream.fail();
    while (!(await reader.read()).done);
    return response;
  }

  test('a stream that breaks after a partial image costs its input too', async () => {
    const response = await broken('generations', { partial_images: 2 }, partial(0));
    expect(await receipt(response)).toEqual({
      charged: 2 * 5_000 + 100 * 40_000,
      usage_source: 'counted',
      input_tokens: 2,
      output_tokens: 100,
    });
  });

  test('a stream that is stopped because its client left costs its input too', async () => {
    const upstream = openStream();
    backend.script(() => upstream.response);
    const before = backend.calls.length;
    const client = new AbortController();
    const asked = ask(
      'generations',
      { model: 'stops', stream: true, partial_images: 2 },
      { signal: client.signal },
    );
    await backend.called(before + 1);
    upstream.send(partial(0));
    upstream.send(partial(1));
    const response = await asked;
    const reader = response.body!.getReader();
    for (let seen = ''; seen.split('event:').length < 3;)
      seen += new TextDecoder().decode((await reader.read()).value);
    client.abort();
    await upstream.cancelled;
    expect(await receipt(response)).toMatchObject({ charged: 2 * 5_000 + 200 * 40_000, input_tokens: 2 });
  });

  test('of an edit the pictures are counted by their size, and priced as pictures', async () => {
    const image = `data:image/png;base64,${PIXEL_BASE64}`;
    const shown = event('image_edit.partial_image', { partial_image_index: 0 });
    const response = await broken('edits', { image, mask: image, partial_images: 1 }, shown);
    const pictures = 2 * (65 + 129);
    expect(await receipt(response)).toMatchObject({
      charged: 2 * 5_000 + pictures * 8_000 + 100 * 40_000,
      input_tokens: 2 + pictures,
    });
  });

  const silent = (completed: object = {}) =>
    new Response(partial(0) + event('image_generation.completed', completed), {
      headers: { 'content-type': 'text/event-stream' },
    });

  test.each([
    ['by OpenAI’s table where it has size and quality', { model: 'listed', quality: 'medium' }, 1_568],
    ['by the table and no more than is held', { model: 'listed', quality: 'high' }, 2_000],
    ['as many as the model declares where nobody says the quality', { model: 'listed' }, 2_000],
    ['as many as the model declares for another size', {}, 2_000],
  ])('images without a report cost their output, %s', async (_, asked, tokens) => {
    backend.script(() => images(2));
    const whole = await ask('generations', { n: 2, ...asked });
    await whole.text();
    expect(await receipt(whole)).toEqual({
      charged: 2 * 5_000 + 2 * tokens * 40_000,
      usage_source: 'counted',
      input_tokens: 2,
      output_tokens: 2 * tokens,
    });
    backend.script(() => silent());
    const streamed = await ask('generations', { stream: true, partial_images: 1, ...asked });
    await streamed.text();
    expect(await receipt(streamed)).toMatchObject({
      charged: 2 * 5_000 + (tokens + 100) * 40_000,
      usage_source: 'counted',
    });
  });

  test('the quality that the backend answers with decides', async () => {
    backend.script(() => silent({ quality: 'low' }));
    const response = await ask('generations', { model: 'listed', stream: true, partial_images: 1 });
    await response.text();
    expect(await receipt(response)).toMatchObject({ output_tokens: 400 + 100, usage_source: 'counted' });
  });

  test('a report without the output stands for its input alone', async () => {
    const usage = { input_tokens: 9, output_tokens: 0, total_tokens: 9 };
    backend.script(() => silent({ usage }));
    const response = await ask('generations', {
      model: 'listed',
      quality: 'low',
      stream: true,
      partial_images: 1,
    });
    await response.text();
    expect(await receipt(response)).toMatchObject({
      charged: 9 * 5_000 + 500 * 40_000,
      usage_source: 'mixed',
      input_tokens: 9,
    });
  });

  test('a report that comes with an image more than was asked for counts all the same', async () => {
    const usage = { input_tokens: 7, output_tokens: 300, total_tokens: 307 };
    const done = (fields: object = {}): string => event('image_generation.completed', fields);
    backend.script(
      () =>
        new Response(partial(0) + done() + done({ usage }), {
          headers: { 'content-type': 'text/event-stream' },
        }),
    );
    const response = await ask('generations', { stream: true, partial_images: 1 });
    expect((await response.text()).split('image_generation.completed"')).toHaveLength(2);
    expect(await receipt(response)).toMatchObject({
      charged: 7 * 5_000 + 300 * 40_000,
      usage_source: 'upstream',
    });
  });

  test('what the backend reports counts instead', async () => {
    const usage = { input_tokens: 7, output_tokens: 300, total_tokens: 307 };
    backend.script(
      () =>
        new Response(partial(0) + event('image_generation.completed', { usage }), {
          headers: { 'content-type': 'text/event-stream' },
        }),
    );
    const response = await ask('generations', { stream: true, partial_images: 1 });
    await response.text();
    expect(await receipt(response)).toMatchObject({
      charged: 7 * 5_000 + 300 * 40_000,
      usage_source: 'upstream',
    });
  });
});
