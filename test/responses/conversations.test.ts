import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
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

/** Conversations: what is said in one is part of the next request, in order and once. */

interface Item {
  readonly id: string;
  readonly type: string;
  readonly content: unknown;
}

describe.each(Object.entries(STORES))('on %s', (_name, open) => {
  const backend = new ScriptedBackend();
  let gateway: Gateway;
  let owner: TestAccount;
  let stranger: TestAccount;

  beforeAll(async () => {
    gateway = await Gateway.start({ yaml: catalogFor([backend.baseUrl]), ...(await open()) });
    owner = await gateway.account('1000');
    stranger = await gateway.account('1000');
  });
  afterEach(() => expectTrueSums(gateway));
  afterAll(async () => {
    expect((await gateway.verify()).breaches).toEqual([]);
    await gateway.stop();
    await backend.stop();
  });

  async function begin(body: object = {}, { token } = owner): Promise<string> {
    const response = await gateway.post('/v1/conversations', token, body);
    expect(response.status).toBe(200);
    return ((await response.json()) as { id: string }).id;
  }

  async function itemsOf(id: string): Promise<readonly Item[]> {
    const { status, body } = await get(gateway, owner, `/v1/conversations/${id}/items?order=asc&limit=100`);
    expect(status).toBe(200);
    return body['data'] as Item[];
  }

  const said = (): unknown => backend.calls.at(-1)?.body['messages'];

  test('each response gets all that was said before, and adds its input and output, whole or streamed, stored or not', async () => {
    const id = await begin({ items: [{ role: 'user', content: 'My name is Ada.' }] });
    backend.script(() => completion('Hello Ada.', usage(5, 5)));
    const first = await ask(gateway, owner, { input: 'Hello', conversation: id });
    expect(first).toMatchObject({ conversation: { id } });
    backend.script(() => streamed(['You are ', 'Ada.']));
    await ask(gateway, owner, { input: 'Who am I?', conversation: { id }, stream: true, store: false });
    expect(said()).toEqual([
      { role: 'user', content: 'My name is Ada.' },
      { role: 'user', content: 'Hello' },
      { role: 'assistant', content: 'Hello Ada.' },
      { role: 'user', content: 'Who am I?' },
    ]);
    const items = await itemsOf(id);
    expect(items).toHaveLength(5);
    expect(new Set(items.map((item) => item.id)).size).toBe(5);
    const wrong = await refusal(gateway, owner, { previous_response_id: first.id });
    expect(wrong).toEqual({ status: 400, code: 'invalid_field', param: 'previous_response_id' });
  });

  test('it costs the same as the whole conversation sent at once, and is held as input', async () => {
    backend.script(() => completion('Indeed.'));
    const beginning = Array.from({ length: 20 }, (_, index) => ({
      type: 'message',
      role: index % 2 === 0 ? 'user' : 'assistant',
      content: `line ${index} of what was said`,
    }));
    const id = await begin({ items: beginning });
    const inConversation = await ask(gateway, owner, { conversation: id, input: 'So?' });
    const calls = backend.calls.length;
    const whole = await ask(gateway, owner, {
      input: [...beginning, { role: 'user', content: 'So?' }],
      store: false,
    });
    expect(backend.calls[calls]?.text).toBe(backend.calls[calls - 1]?.text ?? '');
    const charges = await Promise.all(
      [inConversation, whole].map(
        async (one) => (await gateway.receipt(one.id.replace('resp_', 'req_'))).charged,
      ),
    );
    expect(charges[0]).toBe(charges[1] ?? -1);
    expect(charges[0]).toBeGreaterThan(0);
  });

  test('a second response while one is being made is refused; when that is over, in whatever way, the next is served', async () => {
    const id = await begin();
    const waiting = Promise.withResolvers<Response>();
    backend.script(() => waiting.promise);
    const calls = backend.calls.length;
    const first = ask(gateway, owner, { conversation: id, input: 'one' });
    await backend.called(calls + 1);
    const second = await refusal(gateway, owner, { conversation: id, input: 'two' });
    expect(second).toEqual({ status: 400, code: 'invalid_field', param: 'conversation' });
    waiting.resolve(completion('first', usage(1, 1)));
    await first;
    backend.script(() => new Response('{"error":{"message":"no"}}', { status: 400 }));
    await refusal(gateway, owner, { conversation: id, input: 'three' });
    backend.script(() =>
      eventStream(chunk({ role: 'assistant', content: 'half' }) + chunk({ content: ' of' })),
    );
    const broken = await gateway.post('/v1/responses', owner.token, {
      model: 'svc_chat/m',
      input: 'four',
      conversation: id,
      stream: true,
    });
    expect(await broken.text()).toContain('response.failed');
    expect(await refusal(gateway, owner, { conversation: id, model: 'svc_chat/unknown' })).toMatchObject({
      status: 400,
    });
    backend.script(() => completion('second', usage(1, 1)));
    await ask(gateway, owner, { conversation: id, input: 'five' });
    expect(said()).toEqual([
      { role: 'user', content: 'one' },
      { role: 'assistant', content: 'first' },
      { role: 'user', content: 'five' },
    ]);
  });

  test('of many at once in one conversation each is served alone or refused, and nothing is lost or doubled', async () => {
    const id = await begin();
    backend.script(() => completion('ok', usage(1, 1)));
    const sent = await Promise.all(
      Array.from({ length: 15 }, async (_, number) => {
        const body = { model: 'svc_chat/m', input: `say ${number}`, conversation: id };
        const { status } = await gateway.post('/v1/responses', owner.token, body);
        return status === 200 ? [`say ${number}`] : [];
      }),
    );
    const items = await itemsOf(id);
    const asked = items.filter((_, index) => index % 2 === 0).map(({ content }) => JSON.stringify(content));
    expect(asked.length).toBeGreaterThan(0);
    expect(asked.toSorted()).toEqual(
      sent
        .flat()
        .map((text) => JSON.stringify([{ type: 'input_text', text }]))
        .toSorted(),
    );
    expect(items).toHaveLength(2 * asked.length);
  });

  test('a client that leaves a stream frees the conversation', async () => {
    const id = await begin();
    backend.script((call) =>
      eventStream(
        new ReadableStream<Uint8Array>({
          start(controller) {
            controller.enqueue(Buffer.from(chunk({ role: 'assistant', content: 'and so on' })));
            call.signal.addEventListener('abort', () => controller.close());
          },
        }),
      ),
    );
    const leaving = new AbortController();
    const response = await gateway.post(
      '/v1/responses',
      owner.token,
      { model: 'svc_chat/m', input: 'long', conversation: id, stream: true },
      { signal: leaving.signal },
    );
    await response.body?.getReader().read();
    leaving.abort();
    await gateway.settled(owner);
    backend.script(() => eventStream(chunk({ role: 'assistant', content: 'here' }, 'stop') + DONE));
    await ask(gateway, owner, { input: 'next', conversation: id, stream: true });
    expect(said()).toEqual([{ role: 'user', content: 'next' }]);
  });

  test('items are listed, read, added, deleted and referred to one by one', async () => {
    const id = await begin({ items: [{ role: 'user', content: 'first' }], metadata: { a: 'b' } });
    const path = `/v1/conversations/${id}`;
    const response = await gateway.post(`${path}/items`, owner.token, {
      items: [
        { type: 'reasoning', id: 'rs_mine', summary: [], encrypted_content: 'sealed by another' },
        { role: 'user', content: 'second', id: 'rs_mine' },
      ],
    });
    const added = ((await response.json()) as { data: Item[] }).data;
    const second = [{ type: 'input_text', text: 'second' }];
    expect(added).toMatchObject([{ encrypted_content: 'sealed by another' }, { content: second }]);
    const [first, thoughts] = await itemsOf(id);
    expect(await get(gateway, owner, `${path}/items/${thoughts?.id}`)).toEqual({
      status: 200,
      body: added[0] as never,
    });
    expect(await get(gateway, owner, `${path}/items/${first?.id}`, 'DELETE')).toMatchObject({
      status: 200,
      body: { id, object: 'conversation', metadata: { a: 'b' } },
    });
    expect((await itemsOf(id)).map(({ id: one }) => one)).toEqual(added.map(({ id: one }) => one));
    backend.script(() => completion('ok', usage(1, 1)));
    const reference = { type: 'item_reference', id: added[1]?.id };
    await ask(gateway, owner, { input: [reference] });
    expect(said()).toEqual([{ role: 'user', content: 'second' }]);
    expect(await refusal(gateway, stranger, { input: [reference] })).toMatchObject(NOT_FOUND);
    for (const missing of [`${path}/items/${first?.id}`, `${path}/items/msg_nobody`])
      expect((await get(gateway, owner, missing, 'DELETE')).status).toBe(404);
  });

  test('a message that was sent as plain text is shown in parts, wherever it is read', async () => {
    const said = { role: 'assistant', content: 'Hello.' };
    const id = await begin({ items: [{ role: 'user', content: 'Hi' }, said] });
    const expected = [
      { type: 'message', status: 'completed', role: 'user', content: [{ type: 'input_text', text: 'Hi' }] },
      {
        type: 'message',
        status: 'completed',
        role: 'assistant',
        content: [{ type: 'output_text', text: 'Hello.', annotations: [] }],
      },
    ];
    const listed = await itemsOf(id);
    expect(listed).toMatchObject(expected);
    const one = await get(gateway, owner, `/v1/conversations/${id}/items/${listed[1]?.id}`);
    expect(one.body).toMatchObject(expected[1] ?? {});
    backend.script(() => completion('ok', usage(1, 1)));
    const made = await ask(gateway, owner, { input: [{ role: 'user', content: 'Hi' }, said] });
    const inputs = await get(gateway, owner, `/v1/responses/${made.id}/input_items?order=asc`);
    expect(inputs.body['data']).toMatchObject(expected);
  });

  test('one that is unknown, of another account, deleted or expired is not found', async () => {
    const mine = await begin();
    const gone = await begin();
    expect((await get(gateway, owner, `/v1/conversations/${gone}`, 'DELETE')).status).toBe(200);
    const old = await begin({ items: [{ role: 'user', content: 'long ago' }] });
    await gateway.tollgate.services.store.db
      .updateTable('conversation')
      .set((set) => ({ created_at: set('created_at', '-', 25 * 3_600_000) }))
      .where('id', '=', old)
      .execute();
    for (const [account, id] of [
      [stranger, mine],
      [owner, gone],
      [owner, old],
      [owner, 'conv_nobody'],
    ] as const) {
      expect(await refusal(gateway, account, { conversation: id })).toEqual({
        ...NOT_FOUND,
        param: 'conversation',
      });
      for (const path of [`/v1/conversations/${id}`, `/v1/conversations/${id}/items`])
        expect((await get(gateway, account, path)).status).toBe(404);
      const items = { items: [{ role: 'user', content: 'x' }] };
      expect((await gateway.post(`/v1/conversations/${id}/items`, account.token, items)).status).toBe(404);
      expect((await get(gateway, account, `/v1/conversations/${id}`, 'DELETE')).status).toBe(404);
    }
    const both = await refusal(gateway, owner, { conversation: mine, previous_response_id: 'resp_1' });
    expect(both).toEqual({ status: 400, code: 'invalid_field', param: 'previous_response_id' });
  });
});
