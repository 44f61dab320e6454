import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { catalogFor, Gateway, type TestAccount } from '../support/gateway.ts';
import { testPostgres } from '../support/postgres.ts';
import { completion, PIXEL_BASE64, ScriptedBackend, usage } from '../support/scripted-backend.ts';

/** A key protects one finished answer for a day, whatever became of the bytes of that answer. */

const MEGABYTE = 1_048_576;
/** An answer to an Idempotency-Key is kept up to 8 MB. */
const TOO_LONG = 'x'.repeat(9 * MEGABYTE);
const LARGE_PNG = Buffer.concat([Buffer.from(PIXEL_BASE64, 'base64'), Buffer.alloc(3 * MEGABYTE)]);

describe.each(['sqlite', 'postgres'] as const)('on %s', (store) => {
  const backend = new ScriptedBackend();
  let gateway: Gateway;

  beforeAll(async () => {
    const databaseUrl = store === 'postgres' ? await (await testPostgres()).freshDatabase() : undefined;
    const yaml = catalogFor([backend.baseUrl]);
    gateway = await Gateway.start({ yaml, ...(databaseUrl && { databaseUrl }) });
  });
  afterEach(async () => expect((await gateway.verify()).breaches).toEqual([]));
  afterAll(async () => {
    await gateway.stop();
    await backend.stop();
  });

  const keyed = (key: string) => ({ headers: { 'idempotency-key': key } });

  async function charges(account: TestAccount): Promise<number[]> {
    await gateway.settled(account);
    return (await gateway.requests(account)).map(({ charged }) => charged);
  }

  /** What a thousand newer answers of the account do to the older ones, without asking for each. */
  async function answerThousandOthers({ id }: TestAccount): Promise<void> {
    const rows = Array.from({ length: 1_000 }, (_, n) => ({
      account_id: id,
      idempotency_key: `other ${n}`,
      body_hash: 'body',
      request_id: `req_other${n}`,
      state: 'done' as const,
      status: 200,
      headers: '{}',
      body: Buffer.from('{}'),
      charged: 1,
      lease_until: 1,
      created_at: Date.now() + 1_000 + n,
    }));
    await gateway.tollgate.services.store.db.insertInto('answer').values(rows).execute();
  }

  async function expectGone(response: Response, requestId: string | null): Promise<void> {
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      error: { code: 'idempotency_answer_gone', request_id: requestId },
    });
  }

  test('an answer that is too large to keep is charged once, however often it is asked for', async () => {
    backend.script(() => completion(TOO_LONG, usage(10, 1_000)));
    const account = await gateway.account('10');
    const before = backend.calls.length;
    const ask = () => gateway.chat(account.token, { max_tokens: 2_000 }, keyed('large'));
    const first = await ask();
    expect(first.status).toBe(200);
    expect((await first.text()).length).toBeGreaterThan(TOO_LONG.length);
    const id = first.headers.get('x-request-id');
    await expectGone(await ask(), id);
    await expectGone(await ask(), id);
    expect(backend.calls.length - before).toBe(1);
    expect(await charges(account)).toEqual([2_010_000]);
  });

  test('a charged key is not run again after a thousand others', async () => {
    backend.script(() => completion('once', usage(10, 1_000)));
    const account = await gateway.account('10');
    const before = backend.calls.length;
    const ask = (key: string) => gateway.chat(account.token, { max_tokens: 2_000 }, keyed(key));
    const first = await ask('first');
    await first.text();
    await answerThousandOthers(account);
    await (await ask('last')).text();
    await expectGone(await ask('first'), first.headers.get('x-request-id'));
    expect(backend.calls.length - before).toBe(2);
    expect(await charges(account)).toEqual([2_010_000, 2_010_000]);
  });

  test('images that are too large to keep as an answer are sent again from their files, in their order', async () => {
    const pictures = [1, 2, 3].map((mark) =>
      Buffer.concat([LARGE_PNG, Buffer.from([mark])]).toString('base64'),
    );
    backend.script(() => Response.json({ data: pictures.map((b64_json) => ({ b64_json })) }));
    const account = await gateway.account('10');
    const before = backend.calls.length;
    const ask = () => gateway.image(account.token, { n: 3, response_format: 'b64_json' }, keyed('large'));
    const first = (await (await ask()).json()) as { data: { b64_json: string }[] };
    expect(first.data.map(({ b64_json }) => b64_json)).toEqual(pictures);
    const again = await ask();
    expect(again.status).toBe(200);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    const { data } = (await again.json()) as typeof first;
    expect(data.map(({ b64_json }) => b64_json)).toEqual(pictures);
    expect(backend.calls.length - before).toBe(1);
    expect(await charges(account)).toEqual([30_000_000]);
  });

  test('links to images are made anew when the answer with the first ones is gone', async () => {
    backend.script(() => Response.json({ data: [{ b64_json: PIXEL_BASE64 }] }));
    const account = await gateway.account('10');
    const before = backend.calls.length;
    const ask = (key: string) => gateway.image(account.token, { response_format: 'url' }, keyed(key));
    await (await ask('first')).text();
    await answerThousandOthers(account);
    await (await ask('last')).text();
    const again = (await (await ask('first')).json()) as { data: { url: string }[] };
    expect(again.data).toHaveLength(1);
    const picture = await fetch(again.data[0]!.url);
    expect(Buffer.from(await picture.arrayBuffer()).toString('base64')).toBe(PIXEL_BASE64);
    expect(backend.calls.length - before).toBe(2);
    expect(await charges(account)).toEqual([10_000_000, 10_000_000]);
  });
});
