import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Answer, ItemOf } from '../../src/console/contract/routes.ts';
import { Browser, PASSWORD } from '../../src/console/testing/harness.ts';
import type { AccountId } from '../../src/std/ids.ts';
import { Gateway } from '../support/gateway.ts';
import { testPostgres } from '../support/postgres.ts';
import { completion, ScriptedBackend, usage } from '../support/scripted-backend.ts';

type RequestPage = Answer<'GET /api/console/requests'>;

type AdminRefusedCallPage = Answer<'GET /api/console/admin/refused-calls'>;
type RefusedCallItem = ItemOf<'GET /api/console/refused-calls'>;
type RefusedCallPage = Answer<'GET /api/console/refused-calls'>;

const PROMPT = 'a prompt about violet herons';
const CLIENT = 'refused-test/1.0';

describe.each(['SQLite', 'Postgres'])('on %s', (store) => {
  const backend = new ScriptedBackend();
  let gateway: Gateway;
  let owner: Browser;
  let other: Browser;
  let admin: Browser;
  let token: string;
  let accountId: AccountId;

  beforeAll(async () => {
    const databaseUrl = store === 'Postgres' ? await (await testPostgres()).freshDatabase() : undefined;
    gateway = await Gateway.start({
      yaml: catalog(backend.baseUrl),
      ...(databaseUrl !== undefined && { databaseUrl }),
    });
    backend.script(({ text }) =>
      text.includes('reject')
        ? Response.json({ error: { message: `no: ${PROMPT}` } }, { status: 400 })
        : completion('ok', usage(5, 5)),
    );
    admin = new Browser(gateway.url, '127.0.0.1');
    const setup = gateway.tollgate.setupLink?.split('/').at(-1);
    await admin.must('POST', '/api/console/setup', {
      token: setup,
      email: 'keeper@example.com',
      password: PASSWORD,
    });
    owner = await person('owner@example.com');
    other = await person('other@example.com');
    accountId = (await owner.accountId()) as AccountId;
    ({ token } = await owner.must<{ token: string }>('POST', '/api/console/token'));
    await refuseInEveryWay();
  }, 120_000);
  afterAll(async () => {
    await gateway.stop();
    await backend.stop();
  });

  async function person(email: string): Promise<Browser> {
    const browser = new Browser(gateway.url, '127.0.0.1');
    await browser.must('POST', '/api/auth/sign-up/email', { email, password: PASSWORD });
    await browser.must('POST', '/api/console/confirm', { password: PASSWORD });
    return browser;
  }

  const init = { headers: { 'user-agent': CLIENT } };
  const say = (content: string) => ({ messages: [{ role: 'user', content }] });
  const status = async (answer: Promise<Response>): Promise<number> => {
    const response = await answer;
    await response.text();
    return response.status;
  };

  async function refuseInEveryWay(): Promise<void> {
    const { accounts, ledger } = gateway.tollgate.services;
    expect(await status(gateway.chat(token, {}, init))).toBe(402);
    await ledger.ledger.post({
      accountId,
      kind: 'credit',
      amount: 5_000_000_000,
      cause: 'test',
      actor: 'test',
    });
    expect(await status(gateway.chat(token, { temperature: 17 }, init))).toBe(400);
    expect(await status(gateway.chat(token, { model: 'nobody-has-this' }, init))).toBe(400);
    expect(await status(gateway.chat(token, { endpoint: 'svc_none' }, init))).toBe(400);
    expect(await status(gateway.chat(token, say('word '.repeat(9_000)), init))).toBe(400);
    expect(await status(gateway.chat(token, say(`reject ${PROMPT}`), init))).toBe(400);
    expect(await status(gateway.image(token, { size: '999x999' }, init))).toBe(400);
    const broken = { method: 'POST', body: `{"messages": ${PROMPT}`, token, ...init };
    expect(await status(gateway.fetch('/v1/chat/completions', broken))).toBe(400);
    const google = { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] };
    expect(await status(gateway.post('/v1beta/models/gone:generateContent', token, google, init))).toBe(400);
    expect(await status(gateway.chat('sk-wrong', {}, init))).toBe(401);
    const body = { endpoint: 'svc_chat', model: 'not-here', messages: [{ role: 'user', content: 'hi' }] };
    expect(await status(owner.raw('POST', '/api/console/playground/chat', { body }))).toBe(400);
    await accounts.setLimits(accountId, { chatPerMinute: 1, imagesPerMinute: 10, concurrent: 10 });
    while ((await status(gateway.chat(token, say('often'), init))) !== 429);
  }

  const listed = (query = ''): Promise<RefusedCallPage> =>
    owner.must<RefusedCallPage>('GET', `/api/console/refused-calls${query}`);

  /** They are written by a periodic task, maybe between the reading of a page's items and of its reasons. */
  async function allListed(): Promise<RefusedCallPage> {
    for (let tries = 0; tries < 500; tries++) {
      const page = await listed();
      const last = 'rate_limit_exceeded';
      if ([page.items, page.reasons].every((some) => some.some(({ reason }) => reason === last))) return page;
      await Bun.sleep(50);
    }
    throw new Error('the refused calls were not written');
  }

  const find = (page: RefusedCallPage, wanted: Partial<RefusedCallItem>): RefusedCallItem[] =>
    page.items.filter((item) =>
      Object.entries(wanted).every(([key, value]) => item[key as keyof RefusedCallItem] === value),
    );

  test('the owner sees each refused call with reason, model, endpoint, client and what was wrong', async () => {
    const page = await allListed();
    const common = { endpoint: 'svc_chat', model: 'm', client: CLIENT, calls: 1, hasReceipt: false };
    const path = '/api/public/v1/chat/completions';
    const wanted: Partial<RefusedCallItem>[] = [
      { ...common, operation: path, reason: 'insufficient_balance', status: 402 },
      { ...common, reason: 'invalid_field', param: 'temperature', status: 400 },
      { ...common, reason: 'unsupported_model', model: 'nobody-has-this' },
      { ...common, reason: 'unknown_endpoint', endpoint: 'svc_none' },
      { ...common, reason: 'context_length_exceeded' },
      { ...common, reason: 'backend_refused', hasReceipt: true, message: null },
      { ...common, reason: 'invalid_field', endpoint: 'svc_tgter', model: 'p', param: 'size' },
      { ...common, reason: 'invalid_json', endpoint: '', model: '', message: null },
      { reason: 'unsupported_model', model: 'gone', operation: '/v1beta/models/{model}:generateContent' },
      { reason: 'unsupported_model', model: 'not-here', operation: '/app/playground' },
      { reason: 'rate_limit_exceeded', status: 429 },
    ];
    for (const one of wanted) expect({ one, found: find(page, one).length }).toEqual({ one, found: 1 });
    expect(page.items.length).toBe(wanted.length);
    expect(find(page, { param: 'size' })[0]?.message).toContain('1024x1024');
    expect(page.items.map((item) => item.lastAt)).toEqual(
      page.items.map((item) => item.lastAt).toSorted((a, b) => b - a),
    );
    expect(page.leftOut).toBe(0);
  });

  test('no prompt is kept, though the backend and the parser repeat it', async () => {
    await allListed();
    const { db } = gateway.tollgate.services.store;
    expect(JSON.stringify(await db.selectFrom('refused_call').selectAll().execute())).not.toContain('violet');
  });

  test('the list is filtered by reason and goes on page by page', async () => {
    const all = await allListed();
    const models = await listed('?reason=unsupported_model');
    expect(models.items.map((item) => item.reason)).toEqual(Array(3).fill('unsupported_model'));
    expect(models.reasons).toEqual(all.reasons);
    const first = await listed('?limit=4');
    const second = await listed(`?limit=200&cursor=${first.next}`);
    expect([...first.items, ...second.items]).toEqual(all.items);
  });

  test('only a call that a backend was asked about is among the receipts', async () => {
    const page = await allListed();
    const { items } = await owner.must<RequestPage>('GET', '/api/console/requests?limit=200');
    const receipts = new Set(items.map(({ id }) => id));
    for (const item of page.items)
      expect({ ...item, hasReceipt: receipts.has(item.requestId) }).toEqual(item);
  });

  test('nobody else sees them but the operator, with whose they are', async () => {
    const own = await allListed();
    expect((await other.must<RefusedCallPage>('GET', '/api/console/refused-calls')).items).toEqual([]);
    const path = '/api/console/admin/refused-calls?limit=200';
    const all = await admin.must<AdminRefusedCallPage>('GET', path);
    expect(all.items.map(({ email, accountId: id, ...item }) => [email, id, item])).toEqual(
      own.items.map((item) => ['owner@example.com', accountId, item]),
    );
    const none = await admin.must<AdminRefusedCallPage>('GET', `${path}&account=${await other.accountId()}`);
    expect(none.items).toEqual([]);
  });

  test('they are in the owner’s export, and go with the account', async () => {
    const page = await allListed();
    const text = await (await owner.raw('GET', '/api/console/export')).text();
    expect(text.split('\n').filter((line) => line.includes('"type":"refused_call"')).length).toBe(
      page.items.length,
    );
    await admin.must('POST', '/api/console/confirm', { password: PASSWORD });
    await admin.must('POST', `/api/console/admin/accounts/${accountId}/remove`, { reason: 'a test' });
    const { db } = gateway.tollgate.services.store;
    expect(await db.selectFrom('refused_call').select('reason').execute()).toEqual([]);
  });
});

function catalog(baseUrl: string): string {
  return `
upstreams:
  b0: { kind: openai, base_url: "${baseUrl}" }
lists:
  chat_models: [{ model: m, display_name: Model M, input: 1, output: 2, context: 8000, max_output: 1000 }]
  image_models: [{ model: p, display_name: Painter, image: 0.01, sizes: [1024x1024, 512x512] }]
endpoints:
  svc_chat: { name: primary chat, type: chat_completion, lists: [chat_models], upstreams: [b0] }
  svc_tgter: { name: image generation, type: image_generation, lists: [image_models], upstreams: [b0] }
`;
}
