import { afterEach, describe, expect, test } from 'bun:test';
import { testPostgres } from '../../test/support/postgres.ts';
import { PASSWORD, testConsole, type TestConsole, type Browser } from './testing/harness.ts';

const sites: TestConsole[] = [];
const DATABASES: Record<string, () => Promise<TestConsole>> = {
  SQLite: () => testConsole(),
  Postgres: async () => testConsole({ databaseUrl: await (await testPostgres()).freshDatabase() }),
};
afterEach(async () => {
  for (const site of sites.splice(0)) await site.close();
});

const admins = async (site: TestConsole) =>
  (await site.store.db.selectFrom('account').select('email').where('role', '=', 'admin').execute()).map(
    ({ email }) => email,
  );

describe.each(Object.entries(DATABASES))('on %s', (_name, start) => {
  const open = async (): Promise<TestConsole> => {
    const site = await start();
    sites.push(site);
    return site;
  };

  describe('the first run', () => {
    test('creates exactly one admin, however many requests try at once, and is unavailable afterwards', async () => {
      const site = await open();
      const issued = await site.setup.issue();
      const token = issued?.token ?? '';
      expect(await site.browser().must('GET', '/api/console/session')).toMatchObject({
        setupNeeded: true,
        user: null,
      });
      const tries = Array.from({ length: 50 }, (_, n) =>
        site
          .browser()
          .call('POST', '/api/console/setup', { token, email: `admin${n}@example.com`, password: PASSWORD }),
      );
      const statuses = (await Promise.all(tries)).map(({ status }) => status);
      expect(statuses.filter((status) => status === 200)).toHaveLength(1);
      expect(statuses.every((status) => status === 200 || status === 404)).toBe(true);
      expect(await admins(site)).toHaveLength(1);
      expect(await site.store.db.selectFrom('auth_user').select('id').execute()).toHaveLength(1);

      const late = await site
        .browser()
        .call('POST', '/api/console/setup', { token, email: 'late@example.com', password: PASSWORD });
      expect(late.status).toBe(404);
      expect((await site.browser().call('GET', `/api/console/setup?token=${token}`)).status).toBe(404);
      expect(await site.setup.issue()).toBeUndefined();
      expect(await site.browser().must('GET', '/api/console/session')).toMatchObject({ setupNeeded: false });
    });

    test('needs the printed link, within half an hour; a newer link does not break an older one', async () => {
      const site = await open();
      const person = { email: 'admin@example.com', password: PASSWORD };
      const first = await site.setup.issue();
      const guess = await site
        .browser()
        .call('POST', '/api/console/setup', { ...person, token: 'x'.repeat(43) });
      expect(guess.status).toBe(400);
      site.advance(31 * 60_000);
      expect(
        (await site.browser().call('POST', '/api/console/setup', { ...person, token: first?.token })).status,
      ).toBe(400);
      const [second, third] = [await site.setup.issue(), await site.setup.issue()];
      expect(await site.browser().must('GET', `/api/console/setup?token=${third?.token}`)).toMatchObject({
        valid: true,
      });
      const admin = site.browser();
      await admin.must('POST', '/api/console/setup', { ...person, token: second?.token });
      expect((await admin.call('GET', '/api/console/admin/overview')).status).toBe(200);
      const kept = await site.store.db
        .selectFrom('setting')
        .select('key')
        .where('key', 'like', 'setup_token:%')
        .execute();
      expect(kept).toEqual([]);
    });

    test('keeps the link’s token only as a hash', async () => {
      const site = await open();
      const issued = await site.setup.issue();
      const rows = await site.store.db.selectFrom('setting').selectAll().execute();
      expect(JSON.stringify(rows)).not.toContain(issued?.token ?? 'missing');
    });
  });

  describe('the last admin', () => {
    test('can be neither demoted nor disabled', async () => {
      const site = await open();
      const admin = await site.admin();
      const path = `/api/console/admin/accounts/${await admin.accountId()}`;
      for (const reply of [
        await demote(admin, await admin.accountId()),
        await admin.call<{ error: { code: string } }>('POST', `${path}/disable`),
      ]) {
        expect([reply.status, reply.body.error.code]).toEqual([409, 'last_admin']);
      }
      expect((await admin.call('GET', '/api/console/admin/overview')).status).toBe(200);
    });

    test('remains when admins demote each other at the same moment', async () => {
      const site = await open();
      const first = await site.admin();
      const second = await site.user('second@example.com');
      const secondId = await second.accountId();
      await first.must('PUT', `/api/console/admin/accounts/${secondId}/role`, { role: 'owner' });
      await second.must('POST', '/api/auth/sign-in/email', {
        email: 'second@example.com',
        password: PASSWORD,
      });
      const firstId = await first.accountId();
      const replies = await Promise.all([
        demote(first, secondId),
        demote(second, firstId),
        first.call('POST', `/api/console/admin/accounts/${secondId}/disable`),
        second.call('POST', `/api/console/admin/accounts/${firstId}/disable`),
      ]);
      expect(replies.some(({ status }) => status === 200)).toBe(true);
      const left = await site.store.db
        .selectFrom('account')
        .select('id')
        .where('role', '=', 'admin')
        .where('status', '=', 'active')
        .execute();
      expect(left.length).toBeGreaterThanOrEqual(1);
    });
  });
});

function demote(by: Browser, id: string) {
  return by.call<{ error: { code: string } }>('PUT', `/api/console/admin/accounts/${id}/role`, {
    role: null,
  });
}
