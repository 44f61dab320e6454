import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { testConsole, type Browser, type TestConsole } from '../../src/console/testing/harness.ts';
import { readAttempts } from '../../src/outbox/sender.ts';
import { WebhookReceiver } from '../../src/outbox/testing/webhook-receiver.ts';
import { testPostgres } from '../support/postgres.ts';

const ACCOUNTS = 20;
const WEBHOOKS = 5;

describe.each(['SQLite', 'Postgres'])('webhooks on %s', (name) => {
  let site: TestConsole;
  let receiver: WebhookReceiver;
  const others: Browser[] = [];
  let person: Browser;

  beforeAll(async () => {
    receiver = await WebhookReceiver.start();
    const databaseUrl = name === 'Postgres' ? await (await testPostgres()).freshDatabase() : undefined;
    site = await testConsole({
      webhookRules: receiver.rules,
      ...(databaseUrl !== undefined && { databaseUrl }),
    });
    await site.admin();
    for (let n = 0; n < ACCOUNTS; n++) others.push(await site.user(`other${n}@example.com`));
    person = await site.user('person@example.com');
    for (const browser of [...others, person]) await browser.must('POST', '/api/console/token');
  }, 120_000);
  afterAll(async () => {
    await site.close();
    await receiver.stop();
  });
  beforeEach(async () => {
    for (const table of ['outbox', 'webhook'] as const) await site.store.db.deleteFrom(table).execute();
    receiver.received.length = 0;
    receiver.answer(() => new Response(null, { status: 204 }));
    // Until each may register webhooks again; nobody has to enter a password again yet.
    site.advance(100_000);
  });

  const register = (browser: Browser, path: string) =>
    browser.must('POST', '/api/console/webhooks', { url: receiver.url(path), events: ['token.replaced'] });
  const replaceToken = (browser: Browser) => browser.call('POST', '/api/console/token');

  /** Many events of one account, as if they had happened over time. */
  async function tell(browser: Browser, times: number): Promise<void> {
    const accountId = await browser.accountId();
    const data = { account: accountId, token_hint: 'sk-…abcd' };
    await site.store.db.transaction().execute(async (tx) => {
      for (let n = 0; n < times; n++)
        await site.messages.notices.event(tx, { accountId, type: 'token.replaced', data });
    });
  }

  const isReceived = (path: string) => receiver.received.some((one) => one.path === path);

  async function received(path: string): Promise<void> {
    while (!isReceived(path)) {
      await site.messages.sender.pass();
      await Bun.sleep(5);
    }
  }

  /** Of everybody but the person. */
  async function endedAttempts(): Promise<number> {
    const rows = await site.store.db
      .selectFrom('outbox')
      .select('history')
      .where('account_id', '!=', await person.accountId())
      .execute();
    return rows.filter((row) => readAttempts(row).length > 0).length;
  }

  /** Receivers on `/slow` answer when the test is over. */
  function slowReceivers(): () => Promise<void> {
    const released = Promise.withResolvers<void>();
    receiver.answer(async ({ path }) => {
      if (path.startsWith('/slow')) await released.promise;
      return new Response(null, { status: 204 });
    });
    return async () => {
      await site.store.db.deleteFrom('outbox').execute();
      released.resolve();
      await site.messages.sender.idle();
    };
  }

  test('receivers of others that do not answer delay nobody, however many accounts have them', async () => {
    const release = slowReceivers();
    for (const [n, other] of others.entries()) {
      for (let hook = 0; hook < WEBHOOKS; hook++) await register(other, `/slow/${n}/${hook}`);
      expect((await replaceToken(other)).status).toBe(200);
    }
    await site.messages.sender.pass();
    await register(person, '/works');
    expect((await replaceToken(person)).status).toBe(200);
    await received('/works');
    expect([await endedAttempts(), isReceived('/slow/0/0')]).toEqual([0, true]);
    await release();
  }, 60_000);

  test('what waits for one receiver hides nothing that waits for others', async () => {
    const release = slowReceivers();
    await register(others[0]!, '/slow');
    await tell(others[0]!, 300);
    await register(person, '/works');
    await tell(person, 1);
    await site.messages.sender.pass();
    while (!isReceived('/slow')) await Bun.sleep(5);
    // One pass has found both, so that nothing else is asked for here.
    while (!isReceived('/works') && (await endedAttempts()) === 0) await Bun.sleep(5);
    expect([isReceived('/works'), await endedAttempts()]).toEqual([true, 0]);
    await release();
  }, 60_000);

  test('accounts take turns: one message does not wait for the many of others, whose receivers answer', async () => {
    // Three times as many as may come before.
    const many = 12;
    for (const other of others) {
      await register(other, '/many');
      await tell(other, many);
    }
    await register(person, '/works');
    await tell(person, 1);
    await site.messages.sender.idle();
    expect(receiver.received).toHaveLength(ACCOUNTS * many + 1);
    const before = receiver.received.findIndex(({ path }) => path === '/works');
    expect(before).toBeLessThan(4 * ACCOUNTS);
  }, 60_000);

  test('an account causes few events by replacing its token, and is told when it may again', async () => {
    await register(person, '/works');
    const replies = await Promise.all(Array.from({ length: 60 }, () => replaceToken(person)));
    const refused = replies.filter(({ status }) => status === 429);
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(10);
    expect(refused).toHaveLength(50);
    expect(Number(refused[0]?.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(refused[0]?.body).toMatchObject({ error: { code: 'rate_limit_exceeded' } });
    await site.messages.sender.idle();
    expect(receiver.received).toHaveLength(10);
    site.advance(61_000);
    expect((await replaceToken(person)).status).toBe(200);
  });
});
