/**
 * The attacker of the attack run, in a process of its own: so many connections, each of which makes one attack after the
 * other until the time is up. Prints how they were answered, by attack.
 */
import { connect } from 'node:net';
import { newToken } from '../../../src/identity/accounts/token.ts';
import { BROWSER, headOf } from '../../support/attacked-server.ts';
import { PIXEL_BASE64 } from '../../support/scripted-backend.ts';
import { SECRETS } from './attacker-words.ts';

export interface AttackPlan {
  readonly url: string;
  readonly seconds: number;
  readonly connections: number;
  /** Of an account with little money. */
  readonly token: string;
  /** Of an account with none. */
  readonly penniless: string;
  /** Of somebody who is signed in at the console. */
  readonly cookie: string;
  /** Of customers with webhooks whose receivers never answer. */
  readonly slowReceivers: readonly string[];
  /** Of an account that makes images, and the address of a large one that it has. */
  readonly painter: string;
  readonly image: string;
  /** One attack alone, to see what it does. */
  readonly only?: string;
}

/**
 * Statuses, `broken` where the connection was closed, `left` where the attacker gave up an unfinished body, or `told` where
 * an answer had something in it that is no customer's business, by attack.
 */
export type AttackReport = Readonly<Record<string, Readonly<Record<string, number>>>>;

const MEGABYTE = 1_048_576;
const PATIENCE_MS = 30_000;
/** How long an attacker waits after the beginning of a body that it does not go on with. */
const UNFINISHED_MS = 3_000;
const CHAT = '/v1/chat/completions';
const QUOTE = '/api/console/playground/quote';
const SIGN_IN = '/api/auth/sign-in/email';
const MOST_BYTES = 20 * MEGABYTE;
const EDITS = '/v1/images/edits';
const UPLOAD_BYTES = 17 * MEGABYTE;
/** Who read the same image slowly, of one connection of the attacker. */
const READERS = 20;

interface Attack {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Absent: a GET. */
  readonly body?: string | Uint8Array<ArrayBuffer> | FormData;
  /** The body is only the beginning of one with this length, or in chunks; then the attacker waits, or leaves at once. */
  readonly unfinished?: { readonly bytes?: number; readonly leaves?: true };
  /** So many ask at once and read nothing of the answers. */
  readonly readers?: number;
}

type Attacks = Readonly<Record<string, () => Attack>>;

function attacksOf(plan: AttackPlan): Attacks {
  const { token, penniless, cookie } = plan;
  const chat = (model: string, more: object = {}, content = 'hi'): Attack => ({
    path: CHAT,
    headers: bearer(token),
    body: JSON.stringify({ model, messages: [{ role: 'user', content }], max_tokens: 100, ...more }),
  });
  const schema = nestedArrays(10);
  const json_schema = { name: 'n', schema };
  const utf8 = new TextEncoder();
  const objects = utf8.encode(
    `{"model":"svc_chat/m","messages":[${'{},'.repeat((20 * MEGABYTE) / 3 - 100)}{}]}`,
  );
  const text = 'It was the best of times, it was the worst of times. '.repeat((18 * MEGABYTE) / 53);
  const count = utf8.encode(
    JSON.stringify({ model: 'svc_chat/m', messages: [{ role: 'user', content: text }] }),
  );
  const withoutWords = utf8.encode(
    JSON.stringify({
      model: 'svc_chat/m',
      messages: [{ role: 'user', content: '的一是在不了有和人这'.repeat(100_000) }],
    }),
  );
  const session = { ...BROWSER, cookie };
  const wrongPassword = JSON.stringify({ email: 'nobody@example.com', password: 'wrong wrong wrong' });
  const keys = utf8.encode(
    `{${Array.from({ length: 1_000_000 }, (_, index) => `"number ${index}":1`).join()}}`,
  );
  const brackets = utf8.encode('['.repeat(10_000_000));
  const part = '--b\r\ncontent-disposition: form-data; name="prompt"\r\n\r\n\r\n';
  const form = utf8.encode(`${part.repeat(300_000)}--b--\r\n`);
  const beginning = new Uint8Array(MOST_BYTES - 1).fill(32);
  return {
    'nested schema': () =>
      chat('svc_house/house-echo', { response_format: { type: 'json_schema', json_schema } }, '/json'),
    '429 of one model': () => chat('svc_chat/limited'),
    'refusals by content': () => chat('svc_chat/refused'),
    'images with events': () => ({
      path: '/v1/images/generations',
      headers: bearer(token),
      body: JSON.stringify({ model: 'svc_image/p', prompt: 'x', stream: true }),
    }),
    'invented token': () => ({ path: CHAT, headers: bearer(inventedToken()), body: objects }),
    'huge count': () => ({
      path: '/v1/messages/count_tokens',
      headers: bearer(penniless),
      body: count,
    }),
    'text without words': () => ({
      path: '/v1/messages/count_tokens',
      headers: bearer(token),
      body: withoutWords,
    }),
    'compressed answer': () => chat('svc_bomb/bomb'),
    'answer of brackets': () => chat('svc_bomb/brackets'),
    'wrong password': () => ({ path: SIGN_IN, headers: BROWSER, body: wrongPassword }),
    'reset of nobody': () => ({
      path: '/api/console/password-reset/send',
      headers: BROWSER,
      body: '{"email":"nobody@example.com"}',
    }),
    'status page': () => ({ path: `/status?x=${crypto.randomUUID()}`, headers: {} }),
    'signature of any characters': () => ({
      path: `/api/public/v1/images/x?expires=99999999999&signature=${'é'.repeat(64)}`,
      headers: {},
    }),
    'list at the console': () => ({ path: '/api/console/requests', headers: session }),
    'list of operators': () => ({
      path: '/api/operator/v1/accounts',
      headers: { authorization: `Bearer ${inventedToken('op-')}` },
    }),
    'keys at the console': () => ({ path: QUOTE, headers: session, body: keys }),
    'brackets at the console': () => ({ path: QUOTE, headers: session, body: brackets }),
    'form of empty parts': () => ({
      path: '/v1/images/edits',
      headers: { ...bearer(token), 'content-type': 'multipart/form-data; boundary=b' },
      body: form,
    }),
    'unfinished at the console': () => ({
      path: QUOTE,
      headers: session,
      body: beginning,
      unfinished: { bytes: MOST_BYTES },
    }),
    'announced only': () => ({
      path: CHAT,
      headers: bearer(penniless),
      body: '',
      unfinished: { bytes: MOST_BYTES },
    }),
    'unfinished sign-in': () => ({
      path: SIGN_IN,
      headers: BROWSER,
      body: ' ',
      unfinished: { bytes: 60_000 },
    }),
    'unfinished event': () => ({
      path: '/webhooks/stripe',
      headers: BROWSER,
      body: '1\r\n \r\n',
      unfinished: {},
    }),
    'left sign-in': () => ({
      path: SIGN_IN,
      headers: BROWSER,
      body: ' ',
      unfinished: { bytes: 60_000, leaves: true },
    }),
    'words of a provider': () => chat('svc_chat/telling'),
    'replaced token': () => ({ path: '/api/console/token', headers: session, body: '{}' }),
    ...attacksWithPictures(plan),
    ...attacksThroughProxies(),
    ...attacksWithWebhooks(plan),
    ...attacksOnKeptThings(plan, text),
  };
}

function attacksWithPictures({ painter, penniless, image }: AttackPlan): Attacks {
  const { pathname, search } = new URL(image);
  const seventeen = {
    model: 'svc_image/edit',
    prompt: 'x',
    image: Array<string>(16).fill(image),
    mask: image,
  };
  const twice = JSON.stringify({ ...seventeen, image: [image, image], mask: undefined });
  const upload = new FormData();
  upload.set('model', 'svc_image/edit');
  upload.set('prompt', 'x');
  const pixels = [Buffer.from(PIXEL_BASE64, 'base64'), crypto.getRandomValues(new Uint8Array(65_536))];
  const rest = new Uint8Array(UPLOAD_BYTES);
  upload.set('image', new File([...pixels, rest], 'x.png', { type: 'image/png' }));
  const edit = { path: EDITS, headers: bearer(painter) };
  return {
    'one picture seventeen times': () => ({ ...edit, body: JSON.stringify(seventeen) }),
    'pictures without money': () => ({ path: EDITS, headers: bearer(penniless), body: twice }),
    'edits as jobs': () => ({
      path: EDITS,
      headers: { authorization: `Bearer ${painter}`, prefer: 'respond-async' },
      body: upload,
    }),
    'slow readers of an image': () => ({ path: `${pathname}${search}`, headers: {}, readers: READERS }),
  };
}

/** At what is kept for accounts, is shared by links, or comes with every request. */
function attacksOnKeptThings({ token, penniless, cookie }: AttackPlan, text: string): Attacks {
  const session = { ...BROWSER, cookie };
  const conversation = JSON.stringify({ items: [{ role: 'user', content: text }] });
  const kept = JSON.stringify({
    model: 'svc_chat/m',
    input: 'It was the best of times. '.repeat(400),
    store: true,
  });
  const said = { model: 'svc_chat/m', messages: [{ role: 'user', content: 'hi' }], max_tokens: 5 };
  const anything = (): string => crypto.randomUUID();
  return {
    'conversation of many megabytes': () => ({
      path: '/v1/conversations',
      headers: bearer(penniless),
      body: conversation,
    }),
    'stored response': () => ({ path: '/v1/responses', headers: bearer(token), body: kept }),
    'response of nobody': () => ({ path: `/v1/responses/resp_${anything()}`, headers: bearer(token) }),
    'shared receipt of nobody': () => ({
      path: '/api/console/shared-receipt',
      headers: BROWSER,
      body: JSON.stringify({ code: anything() }),
    }),
    'invitation of nobody': () => ({
      path: '/api/console/team/invited',
      headers: session,
      body: JSON.stringify({ code: anything() }),
    }),
    'test of a webhook': () => ({
      path: `/api/console/webhooks/${anything()}/test`,
      headers: session,
      body: '{}',
    }),
    'any tags and ids': () => ({
      path: CHAT,
      headers: {
        ...bearer(token),
        'x-client-request-id': anything().repeat(12),
        'x-tollgate-tags': `project=${anything()},step=${anything()}`,
      },
      body: JSON.stringify({ ...said, metadata: { [anything()]: anything() }, user: anything() }),
    }),
  };
}

function attacksWithWebhooks({ slowReceivers }: AttackPlan): Attacks {
  let turn = 0;
  return {
    'events for slow receivers': () => ({
      path: '/api/console/token',
      headers: { ...BROWSER, cookie: slowReceivers[turn++ % slowReceivers.length]! },
      body: '{}',
    }),
  };
}

function attacksThroughProxies(): Attacks {
  const anyPort = (): number => Math.ceil(Math.random() * 60_000);
  const wrong = (): string =>
    JSON.stringify({ email: `nobody${anyPort()}@example.com`, password: 'wrong wrong wrong' });
  return {
    'metrics through a proxy': () => ({ path: '/metrics', headers: {} }),
    // It appends the port too, as some do.
    'wrong password through a proxy': () => ({
      path: SIGN_IN,
      headers: {
        ...BROWSER,
        'x-forwarded-for': `203.0.113.9:${anyPort()}`,
        'x-forwarded-proto': 'https',
      },
      body: wrong(),
    }),
  };
}

function bearer(token: string): Record<string, string> {
  return { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
}

/** 580 bytes that would be a hundred to the tenth of values. */
function nestedArrays(depth: number): object {
  return depth === 0 ? { type: 'string' } : { type: 'array', minItems: 100, items: nestedArrays(depth - 1) };
}

/** One whose checksum is right and that nobody has. */
function inventedToken(prefix: 'sk-' | 'op-' = 'sk-'): string {
  return newToken(crypto.getRandomValues(new Uint8Array(32)), undefined, prefix).token;
}

async function attack(plan: AttackPlan): Promise<AttackReport> {
  const attacks = Object.entries(attacksOf(plan)).filter(([name]) => name === (plan.only ?? name));
  if (attacks.length === 0) throw new Error(`there is no attack "${plan.only}"`);
  const report: Record<string, Record<string, number>> = {};
  const end = performance.now() + plan.seconds * 1_000;
  const connection = async (start: number): Promise<void> => {
    for (let turn = start; performance.now() < end; turn++) {
      const [name, make] = attacks[turn % attacks.length]!;
      const outcome = await outcomeOf(plan.url, make());
      const counts = (report[name] ??= {});
      counts[outcome] = (counts[outcome] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: plan.connections }, (_, index) => connection(index)));
  return report;
}

async function outcomeOf(url: string, attack: Attack): Promise<string> {
  const { path, headers, body, unfinished, readers } = attack;
  if (readers !== undefined) return await readNothing(url, attack, readers);
  if (unfinished) return await outcomeOfUnfinished(url, attack, unfinished);
  try {
    const response = await fetch(`${url}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers,
      ...(body === undefined ? {} : { body }),
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    const text = Buffer.from(await response.arrayBuffer()).toString('latin1');
    const said = SECRETS.some((secret) => text.includes(Buffer.from(secret).toString('latin1')));
    return said ? 'told' : String(response.status);
  } catch (thrown) {
    return thrown instanceof Error && thrown.name === 'TimeoutError' ? 'timeout' : 'broken';
  }
}

async function readNothing(url: string, { path }: Attack, readers: number): Promise<string> {
  const { hostname, port } = new URL(url);
  // Nobody listens to their data, so they read nothing.
  const sockets = Array.from({ length: readers }, () => connect(Number(port), hostname));
  for (const socket of sockets) {
    socket.on('error', () => undefined);
    socket.write(`GET ${path} HTTP/1.1\r\nhost: gate\r\n\r\n`);
  }
  await Bun.sleep(UNFINISHED_MS);
  for (const socket of sockets) socket.destroy();
  return 'left';
}

function outcomeOfUnfinished(
  url: string,
  { path, headers, body }: Attack,
  { bytes, leaves }: NonNullable<Attack['unfinished']>,
): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  const { promise, resolve } = Promise.withResolvers<string>();
  socket.on('data', (answer) =>
    resolve(/^HTTP\/1\.1 (\d+)/.exec(answer.toString('latin1'))?.[1] ?? 'broken'),
  );
  socket.on('error', () => resolve('broken'));
  socket.on('close', () => resolve('broken'));
  socket.write(headOf(path, headers, bytes));
  socket.write(typeof body === 'string' || body instanceof Uint8Array ? body : '', () => {
    if (leaves) resolve('left');
  });
  const timer = setTimeout(() => resolve('left'), UNFINISHED_MS);
  return promise.finally(() => {
    clearTimeout(timer);
    socket.destroy();
  });
}

const plan = JSON.parse(await Bun.stdin.text()) as AttackPlan;
console.log(JSON.stringify(await attack(plan)));
process.exit(0);
