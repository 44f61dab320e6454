import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { Webhook } from 'standardwebhooks';
import { testPostgres } from '../../test/support/postgres.ts';
import { testMessages } from '../console/testing/test-messages.ts';
import { testConsole, type Browser, type TestConsole } from '../console/testing/harness.ts';
import type { OutboxRow } from '../store/schema-services.ts';
import { WEBHOOK_FORMATS, isChatFormat, type ChatFormat } from './chat-formats.ts';
import { countWaitingByKind } from './outbox.ts';
import { readAttempts } from './sender.ts';
import { CHAT_TOOLS, chatAddress, type SeenMessage } from './testing/chat-tools.ts';
import { WebhookReceiver } from './testing/webhook-receiver.ts';

const withSecret = <Added extends { secret: string | undefined }>(added: Added) => ({
  ...added,
  secret: added.secret ?? 'there is none',
});

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

describe.each(['SQLite', 'Postgres'])('the outbox on %s', (name) => {
  let site: TestConsole;
  let receiver: WebhookReceiver;
  let account: string;
  beforeAll(async () => {
    receiver = await WebhookReceiver.start();
    const databaseUrl = name === 'Postgres' ? await (await testPostgres()).freshDatabase() : undefined;
    site = await testConsole({
      webhookRules: receiver.rules,
      ...(databaseUrl !== undefined && { databaseUrl }),
    });
    await site.admin();
    account = await (await site.user('owner@example.com')).accountId();
  }, 120_000);
  afterAll(async () => {
    await site.close();
    await receiver.stop();
  });
  beforeEach(async () => {
    for (const table of ['outbox', 'webhook', 'notice'] as const)
      await site.store.db.deleteFrom(table).execute();
    receiver.received.length = 0;
    receiver.answer(() => new Response(null, { status: 204 }));
  });

  const register = async (path = '/hook', events = ['token.replaced', 'token.exposed']) =>
    withSecret(await site.messages.webhooks.add(account, { url: receiver.url(path), events }));
  const tell = async (once?: string, times = 1) =>
    await site.store.db.transaction().execute(async (tx) => {
      const data = { account, token_hint: 'sk-…abcd' };
      for (let index = 0; index < times; index++)
        await site.messages.notices.event(tx, { accountId: account, type: 'token.replaced', data, once });
    });
  const rows = async (): Promise<OutboxRow[]> =>
    await site.store.db.selectFrom('outbox').selectAll().orderBy('id').execute();
  const { parse } = JSON;

  describe.each(WEBHOOK_FORMATS.filter(isChatFormat))('to %s', (format) => {
    const { secret, path } = CHAT_TOOLS[format];
    const seen: SeenMessage[] = [];
    const chats = () =>
      testMessages(site.store, site.clock, {
        webhookRules: receiver.rules,
        publicUrl: 'https://gate.example.com',
      });
    let owner: Browser;
    let account: string;
    beforeAll(async () => {
      owner = await site.user(`${format}@example.com`);
      account = await owner.accountId();
    });
    beforeEach(() => {
      seen.length = 0;
      receiver.answer((received) => {
        const { answer, seen: shown } = CHAT_TOOLS[format].receive(received);
        if (shown) seen.push(shown);
        return answer;
      });
    });

    const address = (change = (url: string) => url) => change(chatAddress(format, receiver.url('')));
    const addChat = async (language?: 'en' | 'de', url = address()) =>
      await site.messages.webhooks.add(account, { url, events: ['budget.reached'], format, language });
    const budget = {
      name: 'app',
      amount_usd: 5,
      per: 'day',
      used_usd: 5.000_000_1,
      resets_at: '2026-11-19T00:00:00.000Z',
    } as const;
    async function say(...names: readonly string[]): Promise<SeenMessage | undefined> {
      const sent = chats();
      await site.store.db.transaction().execute(async (tx) => {
        for (const name of names) {
          const data = { ...budget, account, name };
          await sent.notices.event(tx, { accountId: account, type: 'budget.reached', data });
        }
      });
      await sent.sender.idle();
      await sent.sender.stop();
      return seen.at(-1);
    }

    test('a name from outside is shown as it is: it calls nobody and formats nothing', async () => {
      await addChat();
      const name =
        '<!channel> <@U1> @everyone @here *b* _i_ ~s~ ||x|| `c` **b** # h <b>x</b> &lt; [a](https://evil.example) <https://evil.example|a> /start \\ <at>all</at>';
      const shown = await say(name);
      expect(shown?.text).toContain(name);
      expect(shown?.text).toContain('Used: $5.0000001');
      expect(shown?.effects).toEqual([]);
      await say('one\nAccount: other\u202e\u0000\ud800');
      expect(seen.at(-1)?.text).toContain('Name: one Account: other');
    });

    test('prices that change are told by the names of their models', async () => {
      const url = address();
      await site.messages.webhooks.add(account, { url, events: ['price.changes'], format });
      const model = { name: 'Small', change: 'changed', prices: [] } as const;
      await site.messages.notices.event(site.store.db, {
        accountId: account,
        type: 'price.changes',
        data: {
          account,
          status: 'announced',
          from: '2027-01-01T00:00:00.000Z',
          models: [
            { ...model, model: 'svc_chat/small' },
            { ...model, model: 'svc_chat/@everyone' },
          ],
          more: 0,
        },
      });
      await site.messages.sender.idle();
      expect(seen[0]?.text).toContain('Models: svc_chat/small, svc_chat/@everyone');
      expect(seen[0]?.text).toContain('From: 2027-01-01 00:00 UTC');
      expect([seen[0]?.effects, seen[0]?.text.includes('More')]).toEqual([[], false]);
    });

    test('the longest values fit, and the words are in the language that was chosen', async () => {
      await addChat('de');
      const shown = await say('😀*'.repeat(3_000));
      expect(shown?.text).toContain('Budget verbraucht');
      expect(shown?.text).toContain('Beginnt neu: 2026-11-19 00:00 UTC');
      expect([seen.length, (await rows()).at(-1)?.state]).toEqual([1, 'sent']);
    });

    test('whatever lets others write there is in no answer, row or export, and in no message about a failure', async () => {
      const body = { url: address(), events: ['budget.reached'], format };
      const made = await owner.must<{ webhook: { id: string; url: string }; secret: null }>(
        'POST',
        '/api/console/webhooks',
        body,
      );
      expect([made.secret, new URL(made.webhook.url).pathname]).toEqual([null, '/...']);
      receiver.answer(({ path: at, search }) => {
        const asked = `${at}${search}`;
        return new Response(`no: ${asked} is ${decodeURIComponent(asked)}`, { status: 500 });
      });
      const attempt = await owner.must<{ status: number; error: string }>(
        'POST',
        `/api/console/webhooks/${made.webhook.id}/test`,
      );
      expect([attempt.status, attempt.error]).toEqual([500, expect.stringContaining('answered 500: no: ')]);
      const tables = await Promise.all(
        (['webhook', 'outbox', 'audit'] as const).map((table) =>
          site.store.db.selectFrom(table).selectAll().execute(),
        ),
      );
      const list = await owner.must('GET', '/api/console/webhooks');
      for (const form of [secret, encodeURIComponent(secret)])
        expect(JSON.stringify([made, attempt, tables, list])).not.toContain(form);
      const rotated = await owner.call('POST', `/api/console/webhooks/${made.webhook.id}/rotate`, {});
      expect(rotated.status).toBe(409);
    });

    test('the test button says what the tool says', async () => {
      const wrong = { slack: path, discord: path, teams: encodeURIComponent(secret), telegram: '-100' }[
        format
      ];
      const { webhook } = await addChat(
        undefined,
        address((url) => url.replace(wrong, `${wrong}9`)),
      );
      const { webhook: right } = await addChat();
      const test = async (id: string) =>
        await owner.must<{ status: number; error: string | null }>(
          'POST',
          `/api/console/webhooks/${id}/test`,
        );
      expect(await test(right.id)).toMatchObject({ error: null });
      expect(seen.at(-1)?.text).toContain('Test message');
      expect((await test(webhook.id)).error).toBe(REFUSALS[format]);
    });

    test('an answer without an end is not waited for, and a compressed one is not unpacked', async () => {
      const { webhook } = await addChat();
      const answered = async (body: BodyInit, headers = {}) => {
        receiver.answer(() => new Response(body, { status: 500, headers }));
        const path = `/api/console/webhooks/${webhook.id}/test`;
        return (await owner.must<{ error: string }>('POST', path)).error;
      };
      const left = Promise.withResolvers<void>();
      const endless = new ReadableStream({
        pull: (to) => to.enqueue(Buffer.alloc(65_536, 'x')),
        cancel: () => left.resolve(),
      });
      expect(await answered(endless)).toBe(`answered 500: ${'x'.repeat(200)}`);
      await left.promise;
      expect(await answered(Bun.gzipSync('unpacked'), { 'content-encoding': 'gzip' })).toBe('answered 500');
      expect(receiver.received.at(-1)?.headers['accept-encoding']).toBe('identity');
    });

    test('it is left alone for as long as it asks', async () => {
      await addChat();
      receiver.answer(() => TOO_MANY[format]());
      await say('app', 'other', 'third');
      expect(receiver.received).toHaveLength(1);
      const waiting = await rows();
      const [at] = waiting.flatMap((row) => readAttempts(row).map((attempt) => attempt.at));
      // The others are not refused meanwhile: each has only so many attempts.
      expect(waiting.map(({ attempts }) => attempts).toSorted()).toEqual([0, 0, 1]);
      for (const { next_at } of waiting) {
        expect(next_at - at!).toBeGreaterThanOrEqual(1_700_000);
        expect(next_at - at!).toBeLessThan(2_000_000);
      }
    });

    test('another address is refused, with what one looks like', async () => {
      for (const url of [receiver.url('/'), format === 'telegram' ? receiver.url(path) : receiver.url('')]) {
        const refused = addChat(undefined, url).catch((error: unknown) => error);
        expect(await refused).toMatchObject({ code: 'invalid_field', param: 'url' });
      }
    });
  });

  test('a message leaves if its transaction commits, and not if it does not', async () => {
    await register();
    const failed = site.store.db.transaction().execute(async (tx) => {
      const data = { account, token_hint: 'never' };
      await site.messages.notices.event(tx, { accountId: account, type: 'token.replaced', data });
      throw new Error('rolled back');
    });
    await expect(failed).rejects.toThrow('rolled back');
    await tell();
    await site.messages.sender.idle();
    expect(receiver.received.map(({ body }) => parse(body))).toEqual([
      {
        type: 'token.replaced',
        timestamp: expect.stringMatching(/^\d{4}-/),
        data: { account, token_hint: 'sk-…abcd' },
      },
    ]);
    expect(await rows()).toMatchObject([{ state: 'sent', payload: null, attempts: 1 }]);
  });

  test('what waits is counted by kind, and what has left is not', async () => {
    const count = () => countWaitingByKind(site.store.db);
    expect(await count()).toEqual({ mail: 0, webhook: 0 });
    await register();
    await tell(undefined, 3);
    const mail = { kind: 'mail', topic: 'mail.test', accountId: account, to: 'a@example.com' } as const;
    await site.messages.outbox.add(site.store.db, { ...mail, payload: {} });
    expect(await count()).toEqual({ mail: 1, webhook: 3 });
    await site.messages.sender.idle();
    expect(await count()).toEqual({ mail: 1, webhook: 0 });
  });

  test('a message with the same `once` is added once', async () => {
    await register();
    await Promise.all(Array.from({ length: 10 }, () => tell('event-1')));
    await site.messages.sender.idle();
    await tell('event-1');
    await site.messages.sender.idle();
    expect(receiver.received).toHaveLength(1);
  });

  test('several nodes send one message once', async () => {
    await register();
    for (let index = 0; index < 5; index++) await tell();
    const nodes = Array.from({ length: 6 }, () =>
      testMessages(site.store, site.clock, { webhookRules: receiver.rules }),
    );
    await Promise.all(nodes.map(({ sender }) => sender.idle()));
    for (const { sender } of nodes) await sender.stop();
    const ids = receiver.received.map(({ headers }) => headers['webhook-id']);
    expect(ids).toHaveLength(5);
    expect(new Set(ids).size).toBe(5);
  });

  test('a message that a node took and did not finish is sent by another, under the same id', async () => {
    await register();
    await tell();
    const [row] = await rows();
    await site.store.db
      .updateTable('outbox')
      .set({ attempts: 1, next_at: site.clock.now() + 60_000 })
      .execute();
    await site.messages.sender.idle();
    expect(receiver.received).toHaveLength(0);
    site.advance(61_000);
    await site.messages.sender.idle();
    expect(receiver.received.map(({ headers }) => headers['webhook-id'])).toEqual([row?.id]);
  });

  test('what a message says is not readable in the table while it waits, and is erased when it was sent', async () => {
    await register();
    await tell();
    const [row] = await rows();
    expect(row?.payload).toBeString();
    expect(row?.payload).not.toContain('abcd');
    expect(Buffer.from(row?.payload ?? '', 'base64url').toString()).not.toContain('abcd');
    await site.messages.sender.idle();
    expect((await rows())[0]?.payload).toBeNull();
  });

  test('it is signed by Standard Webhooks; during a rotation with both secrets, afterwards with the new one', async () => {
    const { webhook, secret } = await register();
    await tell();
    await site.messages.sender.idle();
    const { secret: next } = await site.messages.webhooks.rotate(account, webhook.id);
    await tell();
    await site.messages.sender.idle();
    const isRight = (index: number, key: string): boolean => {
      const { body, headers } = receiver.received[index]!;
      try {
        new Webhook(key).verify(body, headers);
        return true;
      } catch {
        return false;
      }
    };
    expect([isRight(0, secret), isRight(0, next)]).toEqual([true, false]);
    expect([isRight(1, secret), isRight(1, next)]).toEqual([true, true]);
    // The clock is ahead from here on, which the package would refuse: the signatures are counted instead.
    site.advance(25 * HOUR);
    await tell();
    await site.messages.sender.idle();
    const signatures = receiver.received.map(
      ({ headers }) => headers['webhook-signature']?.split(' ').length,
    );
    expect(signatures).toEqual([1, 2, 1]);
  });

  test('the secret is stored encrypted, and the answer that shows it is the only one', async () => {
    const { webhook, secret } = await register();
    const stored = await site.store.db.selectFrom('webhook').selectAll().executeTakeFirstOrThrow();
    expect(JSON.stringify(stored)).not.toContain(secret.slice('whsec_'.length));
    expect(JSON.stringify(await site.messages.webhooks.list(account))).not.toContain(secret.slice(6, 30));
    expect(webhook.hint).toBe(`…${secret.slice(-4)}`);
  });

  test('a failure is tried again with growing pauses, a bounded number of times, and every attempt is shown', async () => {
    await register();
    await tell();
    receiver.answer(() => new Response('no', { status: 500 }));
    const pauses: number[] = [];
    for (;;) {
      await site.messages.sender.idle();
      const [row] = await rows();
      if (row?.state !== 'waiting') break;
      pauses.push(row.next_at - site.clock.now());
      site.advance(row.next_at - site.clock.now() + 1);
    }
    const [row] = await rows();
    expect(row).toMatchObject({ state: 'failed', payload: null });
    expect(receiver.received.length).toBeGreaterThan(5);
    expect(receiver.received.length).toBeLessThanOrEqual(10);
    const attempts = readAttempts(row!);
    expect(attempts).toHaveLength(receiver.received.length);
    expect(attempts.every(({ status, error }) => status === 500 && error === 'answered 500')).toBe(true);
    expect(pauses).toEqual(pauses.toSorted((a, b) => a - b));
    const ids = new Set(receiver.received.map(({ headers }) => headers['webhook-id']));
    expect(ids.size).toBe(1);
  });

  test('an endpoint that fails for days is paused with a reason, what waits is given up, and it can be resumed', async () => {
    const { webhook } = await register();
    receiver.answer(() => new Response(null, { status: 500 }));
    for (let day = 0; day < 5; day++) {
      for (let index = 0; index < 2; index++) await tell();
      await site.messages.sender.idle();
      site.advance(DAY);
      await site.messages.sender.idle();
    }
    const [paused] = await site.messages.webhooks.list(account);
    expect(paused?.paused).toEqual({ at: expect.any(Number), reason: 'answered 500' });
    expect((await rows()).filter(({ state }) => state === 'waiting')).toEqual([]);
    const before = receiver.received.length;
    await tell();
    await site.messages.sender.idle();
    expect(receiver.received).toHaveLength(before);
    receiver.answer(() => new Response(null, { status: 204 }));
    await site.messages.webhooks.resume(account, webhook.id);
    await tell();
    await site.messages.sender.idle();
    expect(receiver.received).toHaveLength(before + 1);
    expect((await site.messages.webhooks.list(account))[0]).toMatchObject({
      paused: undefined,
      failingSince: undefined,
    });
  });

  test('a redirect is not followed', async () => {
    await register();
    receiver.answer(() => Response.redirect(receiver.url('/elsewhere'), 307));
    await tell();
    await site.messages.sender.idle();
    expect(receiver.received.map(({ path }) => path)).toEqual(['/hook']);
    expect(readAttempts((await rows())[0]!)).toMatchObject([
      { status: 307, error: '307: redirects are not followed' },
    ]);
  });

  test('a name that leads into a private network by the time of sending is not connected to', async () => {
    await register();
    const lookups: string[] = [];
    const rebound = testMessages(site.store, site.clock, {
      webhookRules: {
        lookup: (host) => {
          lookups.push(host);
          return Promise.resolve(['127.0.0.1']);
        },
      },
    });
    await tell();
    await rebound.sender.idle();
    await rebound.sender.stop();
    expect(lookups).toEqual(['localhost']);
    expect(receiver.received).toEqual([]);
    expect(readAttempts((await rows())[0]!)).toMatchObject([
      { error: 'the name leads into a private network' },
    ]);
  });

  test('endpoints that hang delay nobody else, however many messages wait for them', async () => {
    const hanging = Promise.withResolvers<void>();
    let [atOnce, most] = [0, 0];
    receiver.answer(async ({ path }) => {
      if (path === '/hang') {
        most = Math.max(most, ++atOnce);
        await hanging.promise;
        atOnce--;
      }
      return new Response(null, { status: 204 });
    });
    await register('/hang');
    await tell(undefined, 110);
    await site.messages.sender.pass();
    await register('/works');
    await tell();
    while (!receiver.received.some(({ path }) => path === '/works')) {
      await site.messages.sender.pass();
      await Bun.sleep(5);
    }
    // One attempt at a time, so that the others' places stay free.
    expect(most).toBe(1);
    await site.store.db.deleteFrom('outbox').execute();
    hanging.resolve();
    await site.messages.sender.idle();
  });

  test('what waits for one endpoint is bounded, and more of it fails no transaction', async () => {
    await register();
    await tell(undefined, 505);
    expect(await rows()).toHaveLength(500);
  });

  test('what waits in all is bounded for all nodes together, and a place becomes free when a message has left', async () => {
    const nodes = Array.from({ length: 3 }, () =>
      testMessages(site.store, site.clock, { webhookRules: receiver.rules, maxWaiting: 10 }),
    );
    const add = async (node: number, times: number): Promise<number> => {
      let added = 0;
      for (let index = 0; index < times; index++) {
        const message = {
          kind: 'webhook',
          topic: 't',
          accountId: account,
          to: `hook-${node}-${index}`,
        } as const;
        const id = await nodes[node]?.outbox.add(site.store.db, { ...message, payload: {} });
        if (id !== undefined) added++;
      }
      site.advance(2_000);
      return added;
    };
    expect([await add(0, 6), await add(1, 6), await add(2, 6), await add(0, 6)]).toEqual([6, 4, 0, 0]);
    const [first] = await rows();
    await site.store.db
      .updateTable('outbox')
      .set({ state: 'sent' })
      .where('id', '=', first?.id ?? '')
      .execute();
    expect([await add(2, 2), await add(1, 2)]).toEqual([1, 0]);
    for (const { sender } of nodes) await sender.stop();
  });

  test('an endpoint that answers 500 for an hour gets its messages afterwards, and meanwhile others get theirs at the first attempt', async () => {
    await register('/broken');
    await register('/works');
    const begun = site.clock.now();
    receiver.answer(({ path }) => {
      const isBroken = path === '/broken' && site.clock.now() < begun + HOUR;
      return new Response(null, { status: isBroken ? 500 : 204 });
    });
    for (let minutes = 0; minutes < 180; minutes += 15) {
      if (minutes < 60) await tell();
      await site.messages.sender.idle();
      site.advance(15 * 60_000);
    }
    expect((await rows()).map(({ state }) => state)).toEqual(Array.from({ length: 8 }, () => 'sent'));
    const works = (await rows()).filter(({ attempts }) => attempts === 1);
    expect(works.length).toBeGreaterThanOrEqual(4);
    expect(receiver.received.filter(({ path }) => path === '/works')).toHaveLength(4);
    const broken = (await rows()).filter(({ attempts }) => attempts > 1);
    expect(broken).toHaveLength(4);
    for (const row of broken)
      expect(
        readAttempts(row)
          .map(({ status }) => status)
          .slice(-1),
      ).toEqual([204]);
    expect((await site.messages.webhooks.list(account)).map(({ paused }) => paused)).toEqual([
      undefined,
      undefined,
    ]);
  });

  test('finished messages are kept for weeks and then deleted; what is too old is given up', async () => {
    await register();
    await tell();
    await site.messages.sender.idle();
    await tell();
    site.advance(5 * DAY);
    await site.messages.outbox.sweep();
    expect((await rows()).map(({ state }) => state)).toEqual(['sent', 'failed']);
    expect((await rows())[1]?.payload).toBeNull();
    site.advance(34 * DAY);
    await site.messages.outbox.sweep();
    expect((await rows()).map(({ state }) => state)).toEqual(['failed']);
  });
});

const REFUSALS: Readonly<Record<ChatFormat, string>> = {
  slack: 'answered 404: no_service',
  discord: 'answered 404: Unknown Webhook',
  teams: 'answered 401: The request must be authenticated only by Shared Access scheme.',
  telegram: 'answered 400: Bad Request: chat not found',
};

/** Half an hour, as each says it. */
const TOO_MANY: Readonly<Record<ChatFormat, () => Response>> = {
  slack: () => new Response('rate_limited', { status: 429, headers: { 'retry-after': '1800' } }),
  discord: () =>
    Response.json(
      { message: 'You are being rate limited.', retry_after: 1_799.5, global: false },
      { status: 429 },
    ),
  teams: () =>
    Response.json(
      { error: { code: 'TooManyRequests', message: 'Rate limit is exceeded.' } },
      { status: 429, headers: { 'retry-after': '1800' } },
    ),
  telegram: () =>
    Response.json(
      {
        ok: false,
        error_code: 429,
        description: 'Too Many Requests: retry after 1800',
        parameters: { retry_after: 1_800 },
      },
      { status: 429 },
    ),
};
