import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { testPostgres } from '../../test/support/postgres.ts';
import { removeAccount } from '../identity/accounts/removal.ts';
import { giveWelcomeCredit } from '../identity/sign-in/welcome-credit.ts';
import { MailServer, readMail } from '../outbox/testing/mail-server.ts';
import type { Answer } from './contract/routes.ts';
import { PASSWORD, testConsole, type Browser, type TestConsole } from './testing/harness.ts';

type Overview = Answer<'GET /api/console/overview'>;

const DAY_MS = 86_400_000;
const CREDIT = 'welcome credit';

describe.each(['SQLite', 'Postgres'])('a welcome credit on %s', (name) => {
  let server: MailServer;
  let site: TestConsole;
  let admin: Browser;
  beforeAll(async () => {
    server = await MailServer.start();
    const databaseUrl = name === 'Postgres' ? await (await testPostgres()).freshDatabase() : undefined;
    const mail = { mail: server.config, publicUrl: 'https://gate.example.com' };
    site = await testConsole({ ...mail, ...(databaseUrl !== undefined && { databaseUrl }) });
    admin = await site.admin();
  }, 120_000);
  afterAll(async () => {
    // Whatever happened to the credits, the books add up.
    expect((await site.ledger.verify({ full: true })).breaches).toEqual([]);
    await site.close();
    await server.stop();
  });

  const offer = (amountUsd: string, perDay = 100) =>
    admin.call('PUT', '/api/console/admin/welcome-credit', { amountUsd, perDay });
  /** The code of the newest mail that asks this address to be confirmed. */
  const linkTo = async (email: string): Promise<string> => {
    for (;;) {
      await site.messages.sender.idle();
      const mail = server.received.findLast(({ to }) => to.includes(email));
      const code = mail && /verify-email#(\S+)/.exec(readMail(mail).text)?.[1];
      if (code !== undefined) return code;
      await Bun.sleep(5);
    }
  };
  const confirm = async (token: string) =>
    await site.browser().must('POST', '/api/console/verify-email', { token });
  const confirmed = async (email: string): Promise<Browser> => {
    const person = await site.user(email);
    await confirm(await linkTo(email));
    return person;
  };
  const overview = (person: Browser) => person.must<Overview>('GET', '/api/console/overview');
  const welcomed = async (person: Browser): Promise<string[]> =>
    (await person.must<Answer<'GET /api/console/entries'>>('GET', '/api/console/entries')).items
      .filter(({ cause }) => cause === CREDIT)
      .map(({ amountUsd }) => amountUsd);
  const audited = async (person: Browser): Promise<string[]> => {
    const target = await person.accountId();
    const { items } = await admin.must<Answer<'GET /api/console/admin/audit'>>(
      'GET',
      '/api/console/admin/audit?actor=welcome',
    );
    return items.filter((item) => item.target === target).map(({ action }) => action);
  };

  test('is nothing until the operator sets one', async () => {
    const person = await site.user('before@example.com');
    expect((await overview(person)).welcomeUsd).toBeNull();
    await confirm(await linkTo('before@example.com'));
    expect((await overview(person)).balanceUsd).toBe('0.00');
    for (const [amountUsd, perDay] of [
      ['-1', 5],
      ['101', 5],
      ['1', 0],
      ['x', 5],
      ['1', 1.5],
    ] as const)
      expect([amountUsd, (await offer(amountUsd, perDay)).status]).toEqual([amountUsd, 400]);
  });

  test('is given once when the address is confirmed, however often and at once the link is opened', async () => {
    expect((await offer('1.50')).status).toBe(200);
    const person = await site.user('once@example.com');
    expect(await overview(person)).toMatchObject({ balanceUsd: '0.00', welcomeUsd: '1.50' });
    const token = await linkTo('once@example.com');
    await Promise.all(Array.from({ length: 12 }, () => confirm(token)));
    expect(await overview(person)).toMatchObject({ balanceUsd: '1.50', welcomeUsd: null });
    expect(await welcomed(person)).toEqual(['1.50']);
    expect(await audited(person)).toEqual(['account.welcome-credit']);
  });

  test('is spent as money of any other kind while others are given', async () => {
    const spender = await confirmed('spender@example.com');
    const id = await spender.accountId();
    const others = Array.from({ length: 2 }, (_, n) => `other-${n}@example.com`);
    await Promise.all([...others.map(confirmed), ...Array.from({ length: 8 }, () => site.charge(id))]);
    expect(Number((await overview(spender)).balanceUsd)).toBeCloseTo(1.5 - 8 * 0.00018, 9);
  });

  test('is given with the confirmation or not at all when the process dies between', async () => {
    const person = await site.user('crash@example.com');
    const id = await person.accountId();
    const parts = { mailboxKey: new Uint8Array(32), now: site.clock.now() };
    const died = site.store.db.transaction().execute(async (tx) => {
      await giveWelcomeCredit(tx, id, parts);
      throw new Error('died');
    });
    await expect(died).rejects.toThrow('died');
    expect((await overview(person)).balanceUsd).toBe('0.00');
    await confirm(await linkTo('crash@example.com'));
    expect(await welcomed(person)).toEqual(['1.50']);
  });

  test('does not come again with another address of the account', async () => {
    const person = await confirmed('first-address@example.com');
    const id = await person.accountId();
    const email = 'second-address@example.com';
    await site.store.db.updateTable('account').set({ email }).where('id', '=', id).execute();
    await site.store.db
      .updateTable('auth_user')
      .set({ email, emailVerified: false })
      .where('id', '=', id)
      .execute();
    await person.must('POST', '/api/console/verify-email/send');
    await confirm(await linkTo(email));
    expect(await welcomed(person)).toEqual(['1.50']);
  });

  test('comes once for all spellings of a mailbox, and not again for a new account after the first was removed', async () => {
    const first = await confirmed('ann.smith@gmail.com');
    expect(await welcomed(first)).toEqual(['1.50']);
    for (const spelling of ['annsmith+2@gmail.com', 'a.n.n.smith@googlemail.com']) {
      const second = await confirmed(spelling);
      expect([spelling, await welcomed(second), await audited(second)]).toEqual([
        spelling,
        [],
        ['account.welcome-credit-withheld'],
      ]);
    }
    const removal = { accountId: await first.accountId(), reason: 'left', actor: 'test' };
    const images = { removeOfAccount: () => Promise.resolve() };
    await removeAccount({ store: site.store, ledger: site.ledger, clock: site.clock, images }, removal);
    expect(await welcomed(await confirmed('ann.smith@gmail.com'))).toEqual([]);
  });

  test('is not given to more accounts a day than the operator allows, even at once', async () => {
    site.advance(DAY_MS);
    await admin.must('POST', '/api/console/confirm', { password: PASSWORD });
    expect((await offer('1.50', 2)).status).toBe(200);
    const people = await Promise.all(
      Array.from({ length: 4 }, async (_, n) => await confirmed(`many-${n}@example.com`)),
    );
    const given = await Promise.all(people.map(welcomed));
    expect(given.filter((amounts) => amounts.length > 0)).toHaveLength(2);
    site.advance(DAY_MS);
    expect(await welcomed(await confirmed('tomorrow@example.com'))).toEqual(['1.50']);
  });

  test('is not for administrators nor for closed accounts', async () => {
    const closed = await site.user('closed@example.com');
    const id = await closed.accountId();
    await site.store.db.updateTable('account').set({ status: 'disabled' }).where('id', '=', id).execute();
    await confirm(await linkTo('closed@example.com'));
    const rows = await site.store.db.selectFrom('entry').select('id').where('account_id', '=', id).execute();
    expect(rows).toEqual([]);
    expect((await overview(admin)).welcomeUsd).toBeNull();
  });
});
