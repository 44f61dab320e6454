import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { connect } from 'node:net';
import { newToken } from '../../src/identity/accounts/token.ts';
import { Gateway, type TestAccount } from '../support/gateway.ts';
import { eventually } from '../support/node-process.ts';
import { rawExchange } from '../support/raw-client.ts';
import { completion, ScriptedBackend, usage } from '../support/scripted-backend.ts';

/** A large body costs memory and time, so who sends it is known before it is received, and it has bounds. */

const MEGABYTE = 1_048_576;
const CHAT = '/api/public/v1/chat/completions';

let backend: ScriptedBackend;
let gateway: Gateway;
let account: TestAccount;

beforeEach(async () => {
  backend = new ScriptedBackend();
  backend.script(() => completion('ok', usage(1, 1)));
  const yaml = `
upstreams: { b: { kind: openai, base_url: "${backend.baseUrl}" } }
lists: { models: [{ model: m, free: true, context: 10000000, max_output: 100 }] }
endpoints: { svc_chat: { name: chat, type: chat_completion, lists: [models], upstreams: [b] } }
`;
  gateway = await Gateway.start({ yaml });
  account = await gateway.account('1');
});
afterEach(async () => {
  await gateway.stop();
  await backend.stop();
});

const head = (token: string, length: string, path = CHAT): string =>
  `POST ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json\r\n${length}\r\n\r\n`;
const declared = (bytes: number): string => `content-length: ${bytes}`;

describe('a large body with a token that nobody has', () => {
  const unknown = newToken(new Uint8Array(32)).token;

  test.each([
    CHAT,
    '/v1/messages',
    '/v1/responses',
    '/v1/embeddings',
    '/v1/images/edits',
    '/v1/messages/count_tokens',
  ])('is refused at %s before any of it is received, and the connection is closed', async (path) => {
    const { text, statuses } = await rawExchange(gateway.url, [head(unknown, declared(20 * MEGABYTE), path)]);
    expect(statuses).toEqual([401]);
    expect(text.toLowerCase()).toContain('connection: close');
  });

  test('is refused once it is more than 64 KB, if it does not say how long it is', async () => {
    const chunk = `11000\r\n${' '.repeat(0x11000)}\r\n`;
    const { statuses } = await rawExchange(gateway.url, [head(unknown, 'transfer-encoding: chunked'), chunk]);
    expect(statuses).toEqual([401]);
  });
});

/** A client that has announced a body of 20 MB, has sent so much of it, and is silent since. */
async function unfinished(token: string, bytes: number): Promise<UnfinishedClient> {
  const { hostname, port } = new URL(gateway.url);
  const socket = connect(Number(port), hostname);
  const client = { answer: '', leave: () => void socket.destroy() };
  socket.on('error', () => undefined);
  socket.on('data', (piece) => (client.answer += piece.toString('latin1')));
  socket.write(head(token, declared(20 * MEGABYTE)));
  if (bytes > 0) await new Promise((sent) => socket.write(Buffer.alloc(bytes, ' '), sent));
  return client;
}

interface UnfinishedClient {
  /** What it was told so far. */
  readonly answer: string;
  leave(): void;
}

/** Which of them is not counted to its end is chance, so it is the others that stay. */
async function refusedOnce(clients: readonly UnfinishedClient[]): Promise<void> {
  const answers = (): string[] => clients.flatMap(({ answer }) => (answer === '' ? [] : [answer]));
  await eventually('one of them is refused', () => answers().length > 0);
  expect(await chat(account)).toBe(200);
  expect(answers()).toHaveLength(1);
  expectNoRoom(answers()[0] ?? '');
}

function expectNoRoom(answer: string): void {
  expect(answer).toStartWith('HTTP/1.1 500');
  expect(answer).toContain('service_unavailable');
  expect(answer.toLowerCase()).toContain('retry-after: 1');
}

/** All but a little of what one may have. */
const NEARLY_ALL = 20 * MEGABYTE - 65_536;

const refusedToo = async (token: string): Promise<boolean> => {
  const begun = [head(token, declared(20 * MEGABYTE)), ' '.repeat(MEGABYTE)];
  const { text } = await rawExchange(gateway.url, begun, { firstMs: 300 });
  if (text === '') return false;
  expectNoRoom(text);
  return true;
};

async function chat({ token }: TestAccount): Promise<number> {
  const response = await gateway.chat(token, { model: 'm' });
  await response.text();
  return response.status;
}

describe('large bodies in flight', () => {
  test('of one account are bounded; small ones and those of others are still taken, and the room comes back', async () => {
    const other = await gateway.account('1');
    const clients = await Promise.all([1, 2, 3, 4].map(() => unfinished(account.token, NEARLY_ALL)));
    await refusedOnce(clients);
    expect(await refusedToo(other.token)).toBe(false);
    for (const client of clients) client.leave();
    await eventually('the room is free', async () => !(await refusedToo(account.token)));
  });

  test('are bounded to 200 MB together', async () => {
    const accounts = await Promise.all([1, 2, 3, 4].map(() => gateway.account('1')));
    const clients = await Promise.all(
      accounts.flatMap(({ token }, index) =>
        Array.from({ length: index < 3 ? 3 : 2 }, () => unfinished(token, NEARLY_ALL)),
      ),
    );
    await refusedOnce(clients);
    for (const client of clients) client.leave();
  });
});

describe('a body', () => {
  const body = (more: string): string =>
    `{"endpoint":"svc_chat","model":"m","messages":[{"role":"user","content":"hi"}],"a_field_nobody_knows":${more}}`;
  const send = async (text: string): Promise<string> => {
    const response = await gateway.fetch(CHAT, { method: 'POST', token: account.token, body: text });
    return `${response.status} ${await response.text()}`;
  };

  test.each([
    ['a million objects', `[${'{},'.repeat(1_000_000)}1]`, 'more than 60000 objects, arrays and keys'],
    ['a million values', `[${'1,'.repeat(1_000_000)}1]`, 'more than 500000 values'],
    [
      'an object of twenty thousand keys',
      `{${Array.from({ length: 20_000 }, (_, index) => `"k${index}":1`).join()}}`,
      'more than 10000 keys',
    ],
  ])('with %s is refused before it is parsed', async (_, more, reason) => {
    const answer = await send(body(more));
    expect(answer).toStartWith('400 ');
    expect(answer).toContain('invalid_json');
    expect(answer).toContain(reason);
  });

  test('of many megabytes in few values is served', async () => {
    expect(await send(body(`"${'x'.repeat(3 * MEGABYTE)}"`))).toStartWith('200 ');
    expect(backend.calls).toHaveLength(1);
  });

  test('that are only announced take no room, however many they are', async () => {
    const accounts = await Promise.all(Array.from({ length: 12 }, () => gateway.account('0')));
    const clients = await Promise.all(accounts.map(({ token }) => unfinished(token, 0)));
    expect(await refusedToo(account.token)).toBe(false);
    const text = 'word '.repeat(MEGABYTE);
    const body = { model: 'm', messages: [{ role: 'user', content: text }] };
    expect((await gateway.chat(account.token, body)).status).toBe(200);
    for (const client of clients) client.leave();
  });
});
