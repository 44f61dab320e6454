import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { sql } from 'kysely';
import { catalogFor, Gateway, type TestAccount } from '../support/gateway.ts';
import {
  chunk,
  completion,
  DONE,
  eventStream,
  ScriptedBackend,
  streamed,
  usage,
} from '../support/scripted-backend.ts';
import { ask, expectTrueSums, get, NOT_FOUND, refusal, STORES } from './stored-responses.ts';

/** What is kept, for whom and for how long. */

const HOUR_MS = 3_600_000;
/** What counts tokens is loaded when a client first leaves. */
const PATIENCE_MS = 60_000;

describe.each(Object.entries(STORES))('on %s', (_name, open) => {
  const backend = new ScriptedBackend();
  let gateway: Gateway;
  let owner: TestAccount;
  let stranger: TestAccount;

  beforeAll(async () => {
    gateway = await Gateway.start({ yaml: catalogFor([backend.baseUrl]), ...(await open()) });
    owner = await gateway.account('1000');
    stranger = await gateway.account('1000');
    backend.script(() => completion('Good day.', usage(5, 5)));
  });
  afterEach(() => expectTrueSums(gateway));
  afterAll(async () => {
    expect((await gateway.verify()).breaches).toEqual([]);
    await gateway.stop();
    await backend.stop();
  });

  const db = () => gateway.tollgate.services.store.db;
  const rows = async ({ id }: TestAccount) =>
    await db().selectFrom('stored_response').select('id').where('account_id', '=', id).execute();

  async function age(id: string, byMs: number): Promise<void> {
    await db()
      .updateTable('stored_response')
      .set((set) => ({ created_at: set('created_at', '-', byMs) }))
      .where('id', '=', id)
      .execute();
  }

  async function chain(turns: number): Promise<string[]> {
    const ids: string[] = [];
    for (let turn = 0; turn < turns; turn++)
      ids.push((await ask(gateway, owner, { previous_response_id: ids.at(-1) ?? null })).id);
    return ids;
  }

  test('GET gives the answer as it was given, whole or streamed', async () => {
    const whole = await ask(gateway, owner, { instructions: 'Be kind.', metadata: { a: 'b' } });
    expect(await get(gateway, owner, `/v1/responses/${whole.id}`)).toEqual({
      status: 200,
      body: whole as never,
    });
    backend.script(() => streamed(['Good ', 'day.']));
    const stream = await ask(gateway, owner, { stream: true });
    backend.script(() => completion('Good day.', usage(5, 5)));
    expect(await get(gateway, owner, `/v1/responses/${stream.id}`)).toEqual({
      status: 200,
      body: stream as never,
    });
  });

  test('the input is listed in pages, each item with an id by which it can be named again', async () => {
    const input = ['one', 'two', 'three'].map((content) => ({ type: 'message', role: 'user', content }));
    const { id } = await ask(gateway, owner, { input });
    const path = `/v1/responses/${id}/input_items`;
    const page = async (query: string) => {
      const { status, body } = await get(gateway, owner, `${path}?${query}`);
      const {
        data,
        has_more: more,
        first_id,
        last_id,
      } = body as {
        data: { id: string; content: { text: string }[] }[];
        has_more: boolean;
        first_id: string;
        last_id: string;
      };
      expect([status, first_id, last_id]).toEqual([200, data[0]?.id ?? '', data.at(-1)?.id ?? '']);
      return { texts: data.map(({ content }) => content[0]?.text), more, last: last_id };
    };
    const first = await page('limit=2');
    expect(first).toMatchObject({ texts: ['three', 'two'], more: true });
    expect(await page(`limit=2&after=${first.last}`)).toMatchObject({ texts: ['one'], more: false });
    expect(await page('order=asc')).toMatchObject({ texts: ['one', 'two', 'three'], more: false });
    for (const wrong of ['limit=0', 'limit=101', 'limit=x', 'order=up', 'after=msg_nobody'])
      expect((await get(gateway, owner, `${path}?${wrong}`)).status).toBe(400);
    const [reference] = [{ type: 'item_reference', id: first.last }];
    await ask(gateway, owner, { input: [reference] });
    expect(backend.calls.at(-1)?.body['messages']).toEqual([{ role: 'user', content: 'two' }]);
  });

  test('an item that is referred to is in its place, and a thought that is gone is not missed', async () => {
    const { id, output } = await ask(gateway, owner, { input: 'Hello' });
    const bare = id.slice('resp_'.length);
    await ask(gateway, owner, {
      input: [
        { role: 'user', content: 'Hello' },
        { type: 'item_reference', id: `rs_${bare}_7` },
        { type: 'item_reference', id: String(output[0]?.['id']) },
        { role: 'user', content: 'And?' },
      ],
    });
    expect(backend.calls.at(-1)?.body['messages']).toEqual([
      { role: 'user', content: 'Hello' },
      { role: 'assistant', content: 'Good day.' },
      { role: 'user', content: 'And?' },
    ]);
    for (const reference of [`msg_${bare}_9`, 'msg_nobody', 'fc_1', String(output[0]?.['id'])]) {
      const body = { input: [{ type: 'item_reference', id: reference }] };
      const by = reference === output[0]?.['id'] ? stranger : owner;
      expect(await refusal(gateway, by, body)).toEqual({ ...NOT_FOUND, param: 'input' });
    }
  });

  test('one reference repeated to more than a body may have is refused, and no backend is called', async () => {
    const { output, id } = await ask(gateway, owner, { input: 'x'.repeat(3_000) });
    expect(output).toHaveLength(1);
    const reference = { type: 'item_reference', id: `msg_${id.slice('resp_'.length)}_i0` };
    const calls = backend.calls.length;
    expect(
      await refusal(gateway, owner, { input: Array.from({ length: 9_000 }, () => reference) }),
    ).toMatchObject({
      status: 400,
      code: 'request_too_large',
    });
    expect(backend.calls.length).toBe(calls);
  });

  test('an id that is unknown, of another account, malformed or of a request that was not stored is not found', async () => {
    const { id } = await ask(gateway, owner, {});
    const unstored = await ask(gateway, owner, { store: false });
    expect(unstored.store).toBe(false);
    const cases = [
      [stranger, id],
      [owner, unstored.id],
      [owner, `resp_${'0'.repeat(24)}`],
      [owner, '../../etc/passwd'],
      [owner, "resp_' OR 1=1 --"],
    ] as const;
    for (const [account, unknown] of cases) {
      expect(await refusal(gateway, account, { previous_response_id: unknown })).toEqual({
        ...NOT_FOUND,
        param: 'previous_response_id',
      });
      for (const path of ['', '/input_items'])
        expect(
          (await get(gateway, account, `/v1/responses/${encodeURIComponent(unknown)}${path}`)).status,
        ).toBe(404);
      const gone = await get(gateway, account, `/v1/responses/${encodeURIComponent(unknown)}`, 'DELETE');
      expect(gone.status).toBe(404);
    }
    expect((await get(gateway, owner, `/v1/responses/${id}`)).status).toBe(200);
  });

  test('a bad token is told before an unknown id', async () => {
    const body = { model: 'svc_chat/m', input: 'Hi', previous_response_id: 'resp_nobody' };
    const replaced = await gateway.account('1');
    await gateway.tollgate.services.accounts.replaceToken(replaced.id);
    expect((await gateway.post('/v1/responses', replaced.token, body)).status).toBe(401);
    expect((await gateway.fetch('/v1/responses/resp_nobody', { token: replaced.token })).status).toBe(401);
  });

  test('a chain ends where one of its responses was deleted or has expired; those before it go on', async () => {
    const [first = '', second = '', third = ''] = await chain(3);
    expect(await get(gateway, owner, `/v1/responses/${second}`, 'DELETE')).toEqual({
      status: 200,
      body: { id: second, object: 'response', deleted: true },
    });
    expect(await refusal(gateway, owner, { previous_response_id: third })).toMatchObject(NOT_FOUND);
    await ask(gateway, owner, { previous_response_id: first });
    await age(first, 25 * HOUR_MS);
    expect(await refusal(gateway, owner, { previous_response_id: first })).toMatchObject(NOT_FOUND);
    expect((await get(gateway, owner, `/v1/responses/${first}`)).status).toBe(404);
    expect((await get(gateway, owner, `/v1/responses/${third}`)).status).toBe(200);
  });

  test('an answer that failed or was refused is not stored', async () => {
    const account = await gateway.account('1');
    backend.script(() => new Response('{"error":{"message":"no"}}', { status: 500 }));
    await (await gateway.post('/v1/responses', account.token, { model: 'svc_chat/m', input: 'Hi' })).text();
    backend.script(() => completion('Good day.', usage(5, 5)));
    await (await gateway.post('/v1/responses', account.token, { model: 'svc_chat/m', input: [] })).text();
    expect(await rows(account)).toEqual([]);
  });

  test(
    'wherever a client leaves its stream: what counts as complete is stored whole, and of anything else there is nothing',
    async () => {
      const account = await gateway.account('100');
      const words = Array.from({ length: 12 }, (_, number) => `word${number} `);
      backend.script(({ signal }) =>
        eventStream(
          new ReadableStream<Uint8Array>({
            async start(controller) {
              for (const word of words) {
                if (signal.aborted) return;
                controller.enqueue(Buffer.from(chunk({ content: word })));
                await Bun.sleep(1);
              }
              controller.enqueue(Buffer.from(chunk({}, 'stop') + DONE));
              controller.close();
            },
          }),
        ),
      );
      const body = { model: 'svc_chat/m', input: 'Hi', stream: true };
      const whole = await (await gateway.post('/v1/responses', account.token, body)).text();
      const leavings = Array.from({ length: 24 }, async (_, number) => {
        const leaving = new AbortController();
        const response = await gateway.post('/v1/responses', account.token, body, { signal: leaving.signal });
        const reader = response.body?.getReader();
        // More of them near the end, where the answer is stored.
        const most = whole.length - Math.floor((whole.length * number ** 3) / 24 ** 3);
        for (let bytes = 0; bytes < most;) {
          const read = await reader?.read();
          if (!read || read.done) break;
          bytes += read.value.byteLength;
        }
        leaving.abort();
        return response.headers.get('x-request-id') ?? '';
      });
      const ids = await Promise.all(leavings);
      await gateway.settled(account);
      backend.script(() => completion('Good day.', usage(5, 5)));
      const looks = ids.map(async (id) => {
        const { outcome, charged } = await gateway.receipt(id);
        const found = await get(gateway, account, `/v1/responses/${id.replace('req_', 'resp_')}`);
        const isComplete = outcome === 'completed';
        expect([id, outcome, found.status]).toEqual([id, outcome, isComplete ? 200 : 404]);
        expect(charged).toBeGreaterThan(0);
        if (isComplete) expect(JSON.stringify(found.body)).toContain(words.join(''));
      });
      await Promise.all(looks);
    },
    PATIENCE_MS,
  );

  test('one that is deleted while others go on from it is whole in their input or not found, and they are served or refused', async () => {
    const account = await gateway.account('100');
    for (let round = 0; round < 10; round++) {
      const { id: first } = await ask(gateway, account, { input: `start ${round}` });
      const { id } = await ask(gateway, account, { input: 'more', previous_response_id: first });
      const calls = backend.calls.length;
      const body = { model: 'svc_chat/m', input: 'So?', previous_response_id: id };
      const [answers] = await Promise.all([
        Promise.all(Array.from({ length: 6 }, () => gateway.post('/v1/responses', account.token, body))),
        get(gateway, account, `/v1/responses/${round % 2 === 0 ? first : id}`, 'DELETE'),
      ]);
      const statuses = answers.map(({ status }) => status);
      expect(statuses.filter((status) => status !== 200 && status !== 400)).toEqual([]);
      const sent = backend.calls.slice(calls);
      expect(sent).toHaveLength(statuses.filter((status) => status === 200).length);
      for (const call of sent)
        expect((call.body['messages'] as { content: string }[]).map(({ content }) => content)).toEqual([
          `start ${round}`,
          'Good day.',
          'more',
          'Good day.',
          'So?',
        ]);
      for (const answer of answers.filter(({ status }) => status === 200)) {
        const made = ((await answer.json()) as { id: string }).id;
        expect((await get(gateway, account, `/v1/responses/${made}`)).status).toBe(200);
        expect(await refusal(gateway, account, { previous_response_id: made })).toMatchObject(NOT_FOUND);
      }
    }
    await gateway.settled(account);
  });

  test('a key replays a stored answer also when what it goes on from is gone', async () => {
    const [first = ''] = await chain(1);
    const init = { headers: { 'idempotency-key': `key-${first}` } };
    const body = { model: 'svc_chat/m', input: 'Hi', previous_response_id: first };
    const answer = await (await gateway.post('/v1/responses', owner.token, body, init)).text();
    await get(gateway, owner, `/v1/responses/${first}`, 'DELETE');
    const again = await gateway.post('/v1/responses', owner.token, body, init);
    expect([again.headers.get('idempotent-replayed'), await again.text()]).toEqual(['true', answer]);
  });

  test('at 64 MB of an account the oldest leave, and nobody else loses anything', async () => {
    const account = await gateway.account('1000000');
    const { id: other } = await ask(gateway, stranger, {});
    const ids: string[] = [];
    for (let number = 0; number < 9; number++) {
      // Stored, and no text for a model.
      const thoughts = {
        type: 'reasoning',
        summary: [],
        encrypted_content: `${number}`.repeat(8 * 1_048_576),
      };
      const question = { role: 'user', content: 'Hi' };
      ids.push((await ask(gateway, account, { input: [thoughts, question] })).id);
      const { bytes } = await db()
        .selectFrom('response_storage')
        .select('bytes')
        .where('account_id', '=', account.id)
        .executeTakeFirstOrThrow();
      expect(bytes).toBeLessThanOrEqual(64 * 1_048_576);
    }
    const found = await Promise.all(ids.map((id) => get(gateway, account, `/v1/responses/${id}`)));
    expect(found.map(({ status }) => status)).toEqual([404, 404, ...Array<number>(7).fill(200)]);
    expect((await get(gateway, stranger, `/v1/responses/${other}`)).status).toBe(200);
  }, 60_000);

  test('where an account has switched it off, its requests are answered, nothing of them is stored, and they say so', async () => {
    const account = await gateway.account('10');
    const { id } = await ask(gateway, account, {});
    const off = { off_at: Date.now() };
    await db().updateTable('response_storage').set(off).where('account_id', '=', account.id).execute();
    const unstored = await ask(gateway, account, {});
    expect(unstored.store).toBe(false);
    backend.script(() => streamed(['Hello'], { prompt: 1, completion: 1 }));
    expect((await ask(gateway, account, { stream: true })).store).toBe(false);
    expect(await rows(account)).toEqual([{ id }]);
    expect(await refusal(gateway, account, { previous_response_id: unstored.id })).toMatchObject(NOT_FOUND);
  });
});

describe('a server that keeps nothing', () => {
  const backend = new ScriptedBackend();
  let gateway: Gateway;
  let account: TestAccount;

  beforeAll(async () => {
    const extra = 'responses: { keep_hours: 0 }';
    gateway = await Gateway.start({ yaml: catalogFor([backend.baseUrl], { extra }) });
    account = await gateway.account('10');
  });
  afterAll(async () => {
    await gateway.stop();
    await backend.stop();
  });

  test('answers requests that store by default, says that it did not, and has no row of them', async () => {
    const { id, store } = await ask(gateway, account, { store: true });
    expect(store).toBe(false);
    expect((await get(gateway, account, `/v1/responses/${id}`)).status).toBe(404);
    const { rows } = await sql`SELECT id FROM stored_response`.execute(gateway.tollgate.services.store.db);
    expect(rows).toEqual([]);
  });

  test('refuses only requests that use what is stored', async () => {
    const { id, output } = await ask(gateway, account, {});
    const reference = { type: 'item_reference', id: output[0]?.['id'] };
    for (const [param, body] of [
      ['previous_response_id', { previous_response_id: id }],
      ['input.0', { input: [reference] }],
    ] as const)
      expect(await refusal(gateway, account, body)).toEqual({ status: 400, code: 'invalid_field', param });
  });
});
