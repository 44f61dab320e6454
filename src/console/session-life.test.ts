import { expect, test } from 'bun:test';
import { testConsole } from './testing/harness.ts';

const DAY = 86_400_000;

test('a session lasts a week without use, and a month at most', async () => {
  const site = await testConsole();
  try {
    await site.admin();
    const busy = await site.user('busy@example.com');
    const idle = await site.user('idle@example.com');
    const isIn = async () =>
      (await busy.must<{ user: unknown }>('GET', '/api/console/session')).user !== null;
    for (const days of [6, 6, 6, 6, 5.9]) {
      site.advance(days * DAY);
      expect(await isIn()).toBe(true);
    }
    expect((await idle.call('GET', '/api/console/overview')).status).toBe(401);
    site.advance(0.2 * DAY);
    expect(await isIn()).toBe(false);
    await site.auth.sweep();
    expect(await site.store.db.selectFrom('auth_session').select('userId').execute()).toHaveLength(1);
  } finally {
    await site.close();
  }
});
