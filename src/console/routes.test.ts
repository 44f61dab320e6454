import { afterAll, beforeAll, expect, test } from 'bun:test';
import { testConsole, type Browser, type TestConsole } from './testing/harness.ts';

let site: TestConsole;
let user: Browser;

beforeAll(async () => {
  site = await testConsole();
  await site.admin();
  user = await site.user('user@example.com');
});
afterAll(() => site.close());

test('HEAD is answered like GET, without the body', async () => {
  for (const path of ['/api/console/models', '/api/console/nothing', '/api/console/admin/overview']) {
    const [get, head] = [await user.raw('GET', path), await user.raw('HEAD', path)];
    expect([path, head.status]).toEqual([path, get.status]);
    expect(head.headers.get('content-type')).toBe(get.headers.get('content-type'));
    expect(await head.text()).toBe('');
    await get.text();
  }
});

test('of a filter that is sent twice the first value counts', async () => {
  await site.credit(await user.accountId(), 1);
  await site.credit(await user.accountId(), 1);
  const path = '/api/console/entries';
  const { items } = await user.must<{ items: unknown[] }>('GET', `${path}?limit=1&limit=none`);
  expect(items).toHaveLength(1);
  expect((await user.call('GET', `${path}?limit=none&limit=1`)).status).toBe(400);
});
