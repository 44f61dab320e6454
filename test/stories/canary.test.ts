import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Browser } from '../../src/console/testing/harness.ts';
import { MailServer, readMail } from '../../src/outbox/testing/mail-server.ts';
import { catalogFor, Gateway } from '../support/gateway.ts';
import { dumpPostgres, dumpSqlite } from '../support/dump.ts';
import { PROMPT_TABLES } from '../support/leaks.ts';
import { testPostgres } from '../support/postgres.ts';
import {
  completion,
  images,
  ScriptedBackend,
  streamed,
  usage,
  type RecordedCall,
} from '../support/scripted-backend.ts';

/**
 * Secrets that can be recognised go every way through a server: what is written afterwards anywhere must hold none of
 * them, and prompts only where docs/operate.md says so.
 */

/** None has the form of a token, so that no rule about forms hides them. */
const PROVIDER_KEY = 'canaryProviderKey51Magenta';
const PASSWORD = 'canary password of crimson otters';
const WRONG_PASSWORD = 'canary password of nobody at all';
const METRICS_TOKEN = 'canaryMetricsToken77Teal';
const PROMPT = 'canary prompt about violet herons';
const ANSWER = 'canary answer about grey geese';
const IMAGE_PROMPT = 'canary picture of amber lynxes';

describe.each(['SQLite', 'Postgres'])('on %s', (store) => {
  const backend = new ScriptedBackend();
  let mailServer: MailServer;
  const secrets = new Map<string, string>([
    ['provider key', PROVIDER_KEY],
    ['password', PASSWORD],
    ['wrong password', WRONG_PASSWORD],
    ['token for metrics', METRICS_TOKEN],
  ]);
  let gateway: Gateway;
  let databaseUrl: string | undefined;
  let metrics: string;
  let tables: ReadonlyMap<string, string>;

  beforeAll(async () => {
    databaseUrl = store === 'Postgres' ? await (await testPostgres()).freshDatabase() : undefined;
    mailServer = await MailServer.start();
    const env = {
      TOLLGATE_SMTP_URL: mailServer.config.smtpUrl,
      TOLLGATE_MAIL_FROM: 'gate@example.com',
      TOLLGATE_PUBLIC_URL: 'https://gate.example.com',
      TOLLGATE_ACCESS_LOG: 'json',
      TOLLGATE_METRICS_TOKEN: METRICS_TOKEN,
      TOLLGATE_WEBHOOKS_PRIVATE: 'yes',
    };
    gateway = await Gateway.start({ env, ...(databaseUrl !== undefined && { databaseUrl }) });
    backend.script(answer);
    await useEverything();
    metrics = await gateway.metrics();
    tables =
      databaseUrl === undefined ? dumpSqlite(join(gateway.folder, 'data')) : await dumpPostgres(databaseUrl);
  }, 120_000);
  afterAll(async () => {
    await gateway.stop();
    await backend.stop();
    await mailServer.stop();
  });

  async function useEverything(): Promise<void> {
    const admin = await setUp();
    await publishCatalog(admin);
    const user = await signUpAndIn();
    const token = await makeToken(user);
    await admin.must('POST', `/api/console/admin/accounts/${await user.accountId()}/credit`, {
      amountUsd: '5',
      cause: 'a test',
    });
    await chats(token);
    await errors(token);
    await playground(user);
    await webhooks(admin);
    await resetLink(admin, await user.accountId());
    await mails();
  }

  async function setUp(): Promise<Browser> {
    const admin = new Browser(gateway.url, '127.0.0.1');
    const link = gateway.tollgate.setupLink?.split('/').at(-1) ?? '';
    secrets.set('setup link', link);
    await admin.must('POST', '/api/console/setup', {
      token: link,
      email: 'keeper@example.com',
      password: PASSWORD,
    });
    noteSession(admin, 'admin');
    return admin;
  }

  async function publishCatalog(admin: Browser): Promise<void> {
    const host = new URL(backend.baseUrl).origin;
    await admin.must('PUT', '/api/console/admin/catalog/keys/CANARY_KEY', { value: PROVIDER_KEY, host });
    const yaml = catalogFor([backend.baseUrl, backend.baseUrl], { upstream: 'api_key: "${CANARY_KEY}"' });
    const { revision } = await admin.must<{ revision: number }>('GET', '/api/console/admin/catalog');
    await admin.must('POST', '/api/console/admin/catalog', { yaml, note: 'a test', revision });
    await admin.call('POST', '/api/console/admin/backends/b0/test');
  }

  async function signUpAndIn(): Promise<Browser> {
    const first = new Browser(gateway.url, '127.0.0.1');
    const person = { email: 'user@example.com', password: PASSWORD };
    await first.must('POST', '/api/auth/sign-up/email', person);
    noteSession(first, 'sign-up');
    const user = new Browser(gateway.url, '127.0.0.1');
    await user.call('POST', '/api/auth/sign-in/email', { ...person, password: WRONG_PASSWORD });
    await user.must('POST', '/api/auth/sign-in/email', person);
    noteSession(user, 'sign-in');
    await user.must('POST', '/api/console/confirm', { password: PASSWORD });
    return user;
  }

  /** The store has the first part of a cookie; a session is the whole, and its signature is kept nowhere. */
  function noteSession(browser: Browser, name: string): void {
    const [cookie] = [...browser.cookies]
      .filter(([key]) => key.endsWith('session_token'))
      .map(([, value]) => value);
    const value = decodeURIComponent(cookie ?? '');
    expect(value).toContain('.');
    secrets.set(`session of ${name}`, value.slice(value.lastIndexOf('.') + 1));
  }

  async function makeToken(user: Browser): Promise<string> {
    const first = await user.must<{ token: string }>('POST', '/api/console/token');
    const second = await user.must<{ token: string }>('POST', '/api/console/token');
    secrets.set('replaced token', first.token);
    secrets.set('token', second.token);
    return second.token;
  }

  async function chats(token: string): Promise<void> {
    const messages = [{ role: 'user', content: PROMPT }];
    for (const body of [{}, { stream: true }]) await drained(gateway.chat(token, { messages, ...body }), 200);
    await drained(gateway.chat(token, { messages }, { headers: { 'idempotency-key': 'canary-1' } }), 200);
    await drained(gateway.post('/v1/messages', token, { model: 'svc_chat/m', max_tokens: 9, messages }), 200);
    await drained(gateway.post('/v1/responses', token, { model: 'svc_chat/m', input: PROMPT }), 200);
    await drained(gateway.image(token, { prompt: IMAGE_PROMPT }), 200);
    // It is still running when the tables are read.
    const job = { headers: { prefer: 'respond-async' } };
    await drained(gateway.image(token, { prompt: `slow ${IMAGE_PROMPT}` }, job), 200);
    await drained(gateway.fetch('/api/public/v1/account', { token }), 200);
    await drained(gateway.fetch(`/api/public/v1/account?token=${token}`), 200);
  }

  async function errors(token: string): Promise<void> {
    const say = (content: string) => ({ messages: [{ role: 'user', content: `${content} ${PROMPT}` }] });
    for (const word of ['fail', 'refuse', 'reject', 'break'])
      await drained(gateway.chat(token, { ...say(word), stream: word === 'break' }));
    await drained(gateway.chat(token, { ...say('?'), temperature: 17 }), 400);
    // One token in 62 ends in `x` by itself: with another one in its place nothing would be mistyped.
    const mistyped = token.endsWith('x') ? 'y' : 'x';
    await drained(gateway.chat(token.slice(0, -1) + mistyped, say('mistyped')), 401);
    await drained(gateway.chat(secrets.get('replaced token'), say('replaced')), 401);
    await drained(gateway.chat(token, say('ok'), { headers: { 'x-request-id': token } }), 200);
    await drained(gateway.fetch(`/nowhere/${token}?token=${token}`), 404);
    const headers = { 'content-type': 'application/json' };
    const broken = { method: 'POST', body: `{"messages": "${PROMPT}`, headers, token };
    await drained(gateway.fetch('/api/public/v1/chat/completions', broken), 400);
    await drained(gateway.fetch('/metrics', { token }), 401);
    await drained(gateway.fetch('/metrics', { token: METRICS_TOKEN }), 200);
  }

  async function playground(user: Browser): Promise<void> {
    const body = { endpoint: 'svc_chat', model: 'm', messages: [{ role: 'user', content: PROMPT }] };
    await drained(user.raw('POST', '/api/console/playground/chat', { body }), 200);
    await user.must('GET', '/api/console/requests');
  }

  async function webhooks(admin: Browser): Promise<void> {
    const wanted = { url: `${backend.baseUrl}/hook`, events: ['backend.down'] };
    const path = '/api/console/admin/webhooks';
    const made = await admin.must<{ webhook: { id: string }; secret: string }>('POST', path, wanted);
    const { secret } = await admin.must<{ secret: string }>('POST', `${path}/${made.webhook.id}/rotate`);
    secrets.set('secret of a webhook', made.secret.slice('whsec_'.length));
    secrets.set('new secret of a webhook', secret.slice('whsec_'.length));
    const { error } = await admin.must<{ error: unknown }>('POST', `${path}/${made.webhook.id}/test`);
    expect(error).toBeNull();
    await admin.must('GET', '/api/console/admin/messages');
  }

  async function resetLink(admin: Browser, accountId: string): Promise<void> {
    const made = await admin.must<{ token: string }>(
      'POST',
      `/api/console/admin/accounts/${accountId}/reset-link`,
    );
    secrets.set('reset link', made.token);
    await drained(gateway.fetch(`/reset-password/${made.token}`));
    await drained(gateway.fetch(`/setup/${secrets.get('setup link')}`));
  }

  /** Until the mails have left; what they said is then a secret that nothing may hold. */
  async function mails(): Promise<void> {
    const stranger = new Browser(gateway.url, '127.0.0.1');
    await stranger.must('POST', '/api/console/password-reset/send', { email: 'user@example.com' });
    const tokens = () => mailServer.received.map((mail) => /#([\w.-]{43,})/.exec(readMail(mail).text)?.[1]);
    while (tokens().filter((token) => token !== undefined).length < 2) await Bun.sleep(20);
    const notMailed = [...secrets];
    for (const [index, token] of tokens().entries())
      if (token !== undefined) secrets.set(`link in mail ${index + 1}`, token);
    expect(mailServer.received.flatMap(({ raw }) => namesIn(raw, notMailed))).toEqual([]);
  }

  const namesIn = (text: string, among: Iterable<readonly [string, string]>): string[] =>
    [...among].filter(([, secret]) => text.includes(secret)).map(([name]) => name);

  test('the log has no secret, no prompt and no answer, and one line for each answer', async () => {
    const texts: [string, string][] = [
      ...secrets,
      ['prompt', PROMPT],
      ['picture', IMAGE_PROMPT],
      ['answer', ANSWER],
    ];
    expect(gateway.log.length).toBeGreaterThan(20);
    expect(gateway.log.flatMap((line) => namesIn(line, texts).map((name) => `${name}: ${line}`))).toEqual([]);
  });

  test('neither have the metrics', () => {
    expect(metrics).toContain('tollgate_requests_total{');
    expect(
      namesIn(metrics, [...secrets, ['prompt', PROMPT], ['picture', IMAGE_PROMPT], ['answer', ANSWER]]),
    ).toEqual([]);
  });

  test('no table has a secret', () => {
    expect(tables.size).toBeGreaterThan(20);
    expect(tables.get('account')).toContain('user@example.com');
    expect(
      [...tables].flatMap(([table, text]) => namesIn(text, secrets).map((name) => `${name} in ${table}`)),
    ).toEqual([]);
  });

  test('prompts and answers are in the tables that docs/operate.md lists, and in no other', () => {
    const texts: [string, string][] = [
      ['prompt', PROMPT],
      ['picture', IMAGE_PROMPT],
      ['answer', ANSWER],
    ];
    const found = [...tables].filter(([, text]) => namesIn(text, texts).length > 0).map(([name]) => name);
    expect(found.toSorted()).toEqual([...PROMPT_TABLES].toSorted());
  });

  test('no file of the data folder has a secret, but the one that is the secret', () => {
    const folder = join(gateway.folder, 'data');
    const found = filesIn(folder).flatMap((file) =>
      namesIn(readFileSync(file, 'latin1'), secrets).map((name) => `${name} in ${file}`),
    );
    expect(found).toEqual([]);
  });
});

async function drained(answer: Promise<Response>, status?: number): Promise<void> {
  const response = await answer;
  const text = await response.text();
  if (status !== undefined && response.status !== status)
    throw new Error(`${response.status} in place of ${status}: ${text.slice(0, 500)}`);
}

/** A backend that repeats in its errors whatever it was sent, as some do. */
function answer({ path, headers, body, text }: RecordedCall): Response | Promise<Response> {
  if (text.includes('slow')) return new Promise(() => undefined);
  if (path.endsWith('/images/generations')) return images(1);
  const quoted = `got "${PROMPT}" and the key ${headers.get('authorization')?.slice('Bearer '.length)}`;
  const error = (status: number): Response => Response.json({ error: { message: quoted } }, { status });
  if (text.includes('fail')) return error(500);
  if (text.includes('refuse')) return error(401);
  if (text.includes('reject')) return error(400);
  if (text.includes('break')) {
    const event = `data: ${JSON.stringify({ error: { message: quoted } })}\n\n`;
    return new Response(event, { headers: { 'content-type': 'text/event-stream' } });
  }
  if (body['stream'] === true) return streamed([ANSWER], { prompt: 5, completion: 5 });
  return completion(ANSWER, usage(5, 5));
}

function filesIn(folder: string): string[] {
  // With Postgres there is none.
  if (!existsSync(folder)) return [];
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? filesIn(path) : [path];
  });
}
