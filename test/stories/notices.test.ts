import { afterAll, beforeAll, expect, test } from 'bun:test';
import { catalogFor, Gateway, type TestAccount } from '../support/gateway.ts';
import { completion, ScriptedBackend, usage } from '../support/scripted-backend.ts';

/** What a running server notices by itself, from requests alone. */
const backend = new ScriptedBackend();
const failing = new ScriptedBackend();
let gateway: Gateway;
let [first, second]: TestAccount[] = [];
let isDown = false;

beforeAll(async () => {
  backend.script(() => completion('hello', usage(10, 10)));
  failing.script(() =>
    isDown ? Response.json({ error: { message: 'no' } }, { status: 500 }) : completion('hello', usage(1, 1)),
  );
  const endpoint = '[b0]';
  const extra = `  partner_chat: { name: other chat, type: chat_completion, lists: [chat_models], upstreams: [b1] }`;
  const yaml = catalogFor([backend.baseUrl, failing.baseUrl], { endpoint, extra });
  gateway = await Gateway.start({ yaml });
  first = await gateway.account('5');
  second = await gateway.account('5');
  await subscribe(first.id, ['balance.low', 'limit.reached']);
  await subscribe('', ['backend.down', 'backend.up']);
});
afterAll(async () => {
  await gateway.stop();
  await backend.stop();
  await failing.stop();
});

const db = () => gateway.tollgate.services.store.db;

/** Nothing is sent there: the name does not exist. */
async function subscribe(accountId: string, events: readonly string[]): Promise<void> {
  await db()
    .insertInto('webhook')
    .values({
      id: `whk_${accountId}`,
      account_id: accountId,
      url: 'https://hooks.invalid/a',
      events: JSON.stringify(events),
      sealed: '',
      hint: '',
      created_at: 1,
    })
    .execute();
}

/** Resolves when the event was told; meanwhile requests go on. */
async function told(topic: string, meanwhile: () => Promise<unknown>): Promise<number> {
  for (;;) {
    await meanwhile();
    const rows = await db().selectFrom('outbox').select('id').where('topic', '=', topic).execute();
    if (rows.length > 0) return rows.length;
    await Bun.sleep(50);
  }
}

async function chat(account: TestAccount | undefined, endpoint: string): Promise<number> {
  const response = await gateway.chat(account?.token, { endpoint });
  await response.text();
  return response.status;
}

test('a monthly limit that refuses requests is told once, however many it refuses', async () => {
  await db()
    .updateTable('account')
    .set({ monthly_limit: 1 })
    .where('id', '=', first?.id ?? '')
    .execute();
  const statuses: number[] = [];
  const refused = async () => statuses.push(await chat(first, 'svc_chat'));
  expect(await told('limit.reached', refused)).toBe(1);
  expect(new Set(statuses)).toEqual(new Set([402]));
});

test('a balance that requests bring below the owner’s threshold is told', async () => {
  const change = { monthly_limit: null, low_balance: 5_000_000_000 };
  await db()
    .updateTable('account')
    .set(change)
    .where('id', '=', first?.id ?? '')
    .execute();
  expect(await chat(first, 'svc_chat')).toBe(200);
  expect(await told('balance.low', () => Promise.resolve())).toBe(1);
});

test('a backend that fails for everybody is told, and that it serves again', async () => {
  isDown = true;
  const both = async () => await Promise.all([chat(first, 'partner_chat'), chat(second, 'partner_chat')]);
  expect(await told('backend.down', both)).toBe(1);
  isDown = false;
  expect(await told('backend.up', both)).toBe(1);
});
