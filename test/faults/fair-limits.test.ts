import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { MailServer, readMail } from '../../src/outbox/testing/mail-server.ts';
import { catalogFor, Gateway } from '../support/gateway.ts';
import { eventually } from '../support/node-process.ts';

const PASSWORD = 'a perfectly fine phrase';

describe('strangers use up their own limits only', () => {
  let gateway: Gateway;
  let mailServer: MailServer;
  let turn = 0;

  beforeAll(async () => {
    mailServer = await MailServer.start();
    gateway = await Gateway.start({
      // The proxy that these tests play says where a client is.
      yaml: catalogFor(['http://127.0.0.1:9/v1'], { extra: 'trusted_proxies: [127.0.0.1]' }),
      env: {
        TOLLGATE_SMTP_URL: mailServer.config.smtpUrl,
        TOLLGATE_MAIL_FROM: 'gate@example.com',
        TOLLGATE_PUBLIC_URL: 'https://gate.example.com',
      },
    });
    const token = gateway.tollgate.setupLink?.split('/').at(-1);
    const admin = { token, email: 'admin@example.com', password: PASSWORD };
    expect((await post('/api/console/setup', admin, '192.0.2.1')).status).toBe(200);
  });

  afterAll(async () => {
    await gateway.stop();
    await mailServer.stop();
  });

  async function post(path: string, body: unknown, from: string, cookie = ''): Promise<Response> {
    const headers = {
      'sec-fetch-site': 'same-origin',
      'x-forwarded-for': from,
      'x-forwarded-proto': 'https',
      ...(cookie === '' ? {} : { cookie }),
    };
    return await gateway.post(path, undefined, body, { headers });
  }

  const statusOf = async (reply: Promise<Response>): Promise<number> => (await reply).status;

  /** Many at the same time, as a flood comes. */
  const flood = (times: number, send: (n: number) => Promise<Response>): Promise<number[]> =>
    floodWhile((sent) => sent < times, send);

  async function floodWhile(
    goesOn: (sent: number) => boolean,
    send: (n: number) => Promise<Response>,
  ): Promise<number[]> {
    const statuses: number[] = [];
    const sendNext = async (): Promise<void> => {
      while (goesOn(statuses.length)) {
        const place = statuses.push(0) - 1;
        const reply = await send(place);
        await reply.arrayBuffer();
        statuses[place] = reply.status;
      }
    };
    await Promise.all(Array.from({ length: 32 }, sendNext));
    return statuses;
  }

  async function newPerson(from: string): Promise<{ email: string; device: string }> {
    const email = `person${++turn}@example.com`;
    const reply = await post('/api/auth/sign-up/email', { email, password: PASSWORD }, from);
    expect(reply.status).toBe(200);
    const line = reply.headers.getSetCookie().find((one) => one.startsWith('__Host-tollgate.device='));
    return { email, device: line?.split(';')[0] ?? '' };
  }

  const signIn = (email: string, password: string, from: string, cookie?: string) =>
    post('/api/auth/sign-in/email', { email, password }, from, cookie);
  const askForReset = (email: string, from: string, cookie?: string) =>
    post('/api/console/password-reset/send', { email }, from, cookie);

  test('a flood of wrong passwords from one address keeps nobody else from signing in, nor a known device there', async () => {
    const other = await newPerson('192.0.2.10');
    const neighbour = await newPerson('192.0.2.11');
    const { promise: manyCame, resolve } = Promise.withResolvers<void>();
    let isOver = false;
    const startedAt = Date.now();
    const flooded = floodWhile(
      () => !isOver,
      (n) => {
        if (n === 1_500) resolve();
        return signIn(`nobody${n}@example.com`, 'wrong wrong wrong', '198.51.100.1');
      },
    );
    await manyCame;
    // While it goes on: a limit that refused attempts use up is free again at the moment when it ends.
    for (let turns = 0; turns < 5; turns++)
      expect(await statusOf(signIn(other.email, PASSWORD, '192.0.2.10'))).toBe(200);
    expect(await statusOf(signIn(neighbour.email, PASSWORD, '198.51.100.1'))).toBe(429);
    expect(await statusOf(signIn(neighbour.email, PASSWORD, '198.51.100.1', neighbour.device))).toBe(200);
    expect(await statusOf(signIn(other.email, PASSWORD, '198.51.100.1', neighbour.device))).toBe(429);
    isOver = true;
    // Thirty at once, and another each ten seconds.
    const most = 31 + (Date.now() - startedAt) / 10_000;
    expect((await flooded).filter((status) => status === 401).length).toBeLessThanOrEqual(most);
  }, 60_000);

  test('a known device is bounded by a limit of its own', async () => {
    const person = await newPerson('192.0.2.12');
    const statuses = await flood(40, () =>
      signIn(person.email, 'wrong wrong wrong', '192.0.2.12', person.device),
    );
    expect(statuses.filter((status) => status === 401)).toHaveLength(5);
    expect(statuses.filter((status) => status === 429)).toHaveLength(35);
    expect(await statusOf(signIn(person.email, PASSWORD, '192.0.2.12'))).toBe(200);
  });

  test('a few addresses that ask for password resets of unknown mailboxes keep nobody else from asking', async () => {
    const person = await newPerson('192.0.2.13');
    const networks = 5;
    await flood(200, (n) => askForReset(`nobody${n}@example.com`, `198.51.100.${10 + (n % networks)}`));
    expect(await statusOf(askForReset('nobody@example.com', '198.51.100.10'))).toBe(429);
    // From there, the answer is the same for a mailbox that is known, unless its owner's own browser asks.
    expect(await statusOf(askForReset(person.email, '198.51.100.10'))).toBe(429);
    const fromOwnBrowser = await askForReset(person.email, '198.51.100.10', person.device);
    expect([fromOwnBrowser.status, await fromOwnBrowser.json()]).toEqual([200, { sent: true }]);
    const fromElsewhere = await askForReset(person.email, '192.0.2.14');
    expect([fromElsewhere.status, await fromElsewhere.json()]).toEqual([200, { sent: true }]);
    const resets = () =>
      mailServer.received.filter(
        (mail) => mail.to.includes(person.email) && readMail(mail).text.includes('/reset-password#'),
      );
    await eventually('both mails arrive', () => resets().length === 2);
  });

  test('who has used up a mailbox’s resets has not used up those of its owner’s own browser', async () => {
    const person = await newPerson('192.0.2.15');
    const statuses = await flood(6, (n) => askForReset(person.email, `198.51.101.${n}`));
    expect(statuses.toSorted()).toEqual([200, 200, 200, 429, 429, 429]);
    expect(await statusOf(askForReset(person.email, '192.0.2.15', person.device))).toBe(200);
  });

  test('a few addresses that ask for passkey challenges keep nobody else from asking', async () => {
    const challenge = (from: string) => post('/api/auth/passkey/generate-authenticate-options', {}, from);
    const statuses = await flood(1_980, (n) => challenge(`198.51.102.${n % 33}`));
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(await statusOf(challenge('192.0.2.16'))).toBe(200);
  }, 60_000);

  test.each([
    ['an IPv4 address with a port', (n: number) => `198.51.103.1:${1_000 + n}`],
    ['an IPv6 address with a port', (n: number) => `[2001:db8:7::1]:${1_000 + n}`],
    ['an IPv6 address in brackets', (n: number) => `[2001:db8:8::${n}]`],
    [
      'an IPv4 address in IPv6',
      (n: number) => ['198.51.103.9', '::ffff:198.51.103.9', '::FFFF:C633:6709'][n % 3] ?? '',
    ],
    ['something that is no address', (n: number) => `unknown-${n}`],
    ['something that is no address after one that is', (n: number) => `203.0.113.${n}, _hidden${n}`],
  ])('a proxy that forwards %s makes one network of one client', async (_, forwarded) => {
    const { email } = await newPerson('192.0.2.17');
    const statuses: number[] = [];
    for (let n = 0; n < 7; n++)
      statuses.push(await statusOf(signIn(email, 'wrong wrong wrong', forwarded(n))));
    expect(statuses).toEqual([401, 401, 401, 401, 401, 429, 429]);
    expect(await statusOf(signIn(email, PASSWORD, '192.0.2.17'))).toBe(200);
  });
});
