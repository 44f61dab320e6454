import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { sql } from 'kysely';
import type { Answer } from '../../src/console/contract/routes.ts';
import { Browser, PASSWORD } from '../../src/console/testing/harness.ts';
import { Gateway } from '../support/gateway.ts';
import { eventually } from '../support/node-process.ts';
import { testPostgres } from '../support/postgres.ts';

type SessionState = Answer<'GET /api/console/session'>;

type AdminPublicPages = Answer<'GET /api/console/admin/public-pages'>;

const PATHS = [
  '/models',
  '/models/house-echo',
  '/models/none',
  '/status',
  '/status.json',
  '/sitemap.xml',
  '/llms.txt',
];
const SETTING = '/api/console/admin/public-pages';

/** An operator who sells to a few does not have to show everybody what, and at which price. */
describe.each(['SQLite', 'Postgres'])('the public pages on %s', (store) => {
  let gateway: Gateway;
  let admin: Browser;
  beforeAll(async () => {
    const databaseUrl = store === 'Postgres' ? await (await testPostgres()).freshDatabase() : undefined;
    gateway = await Gateway.start(databaseUrl === undefined ? {} : { databaseUrl });
    admin = new Browser(gateway.url, '127.0.0.1');
    const token = gateway.tollgate.setupLink?.split('/').at(-1);
    await admin.must('POST', '/api/console/setup', { token, email: 'ann@example.com', password: PASSWORD });
  }, 120_000);
  afterAll(() => gateway.stop());

  const statusOf = async (path: string, method = 'GET'): Promise<number> =>
    (await gateway.fetch(path, { method })).status;
  /** A node knows of a change of the setting after a moment. */
  const until = async (status: number): Promise<void> => {
    await eventually(`/models answers ${status}`, async () => (await statusOf('/models')) === status);
  };
  const setOpen = (open: unknown) => admin.call<AdminPublicPages>('PUT', SETTING, { open });
  const isOpenInSession = async () =>
    (await new Browser(gateway.url, '127.0.0.1').must<SessionState>('GET', '/api/console/session')).site
      .publicPages;
  const robots = async () => await (await gateway.fetch('/robots.txt')).text();

  test('are open at first', async () => {
    expect(await Promise.all(PATHS.map((path) => statusOf(path)))).toEqual([
      200, 200, 404, 200, 200, 200, 200,
    ]);
    expect(await admin.must('GET', SETTING)).toEqual({ open: true });
    expect(await isOpenInSession()).toBe(true);
    expect(await robots()).toContain('/sitemap.xml');
  });

  test('show whoever is signed in and in a price group its prices and models, and nobody else', async () => {
    type Catalog = Answer<'GET /api/console/admin/catalog'>;
    const { yaml, revision } = await admin.must<Catalog>('GET', '/api/console/admin/catalog');
    const grouped = `${yaml}groups:\n  vip: { factor: 0.5, hide: ['*/house-echo'] }\n`;
    await admin.must('POST', '/api/console/admin/catalog', { yaml: grouped, note: '', revision });
    const page = async (browser: Browser, path: string) => {
      const response = await browser.raw('GET', path);
      const { headers, status } = response;
      return { status, text: await response.text(), cache: headers.get('cache-control') };
    };
    const stranger = new Browser(gateway.url, '127.0.0.1');
    const before = await page(admin, '/models/house-guide');
    const accountId = await admin.accountId();
    const group = `/api/console/admin/accounts/${accountId}/price-group`;
    await admin.must('PUT', group, { group: 'vip' });
    const listed = await page(stranger, '/models/house-guide');
    const own = await page(admin, '/models/house-guide');
    expect([listed.text.includes('$0.10'), listed.text.includes('$0.05')]).toEqual([true, false]);
    expect([own.text.includes('$0.10'), own.text.includes('$0.05')]).toEqual([false, true]);
    expect(own.cache).toBe('private, no-cache');
    for (const path of ['/models', '/sitemap.xml', '/llms.txt']) {
      const shown = await Promise.all([admin, stranger].map((browser) => page(browser, path)));
      expect([path, ...shown.map(({ text }) => text.includes('house-echo'))]).toEqual([path, false, true]);
    }
    const hidden = await Promise.all([admin, stranger].map((one) => page(one, '/models/house-echo')));
    expect(hidden.map(({ status }) => status)).toEqual([404, 200]);
    await admin.must('PUT', group, { group: null });
    expect((await page(admin, '/models/house-guide')).text).toBe(before.text);
  });

  test('are not there once they are closed: like any path that does not exist, and nobody is led to them', async () => {
    expect(await setOpen(false)).toMatchObject({ status: 200, body: { open: false } });
    await until(404);
    const shape = async (path: string) => {
      const response = await gateway.fetch(path);
      const { error } = (await response.json()) as { error: { code: string; type: string } };
      return [response.status, response.headers.get('content-type'), error.code, error.type];
    };
    const usual = await shape('/no-such-path');
    expect(usual[0]).toBe(404);
    for (const path of PATHS) expect([path, ...(await shape(path))]).toEqual([path, ...usual]);
    expect(await statusOf('/status', 'HEAD')).toBe(404);
    expect(await isOpenInSession()).toBe(false);
    expect(await robots()).not.toContain('sitemap');
    expect(await robots()).toContain('Disallow: /admin');
    for (const path of ['/', '/docs', '/v1/models'])
      expect([path, await statusOf(path)]).not.toEqual([path, 404]);
  });

  test('open again, and each change is in the audit log', async () => {
    for (const wrong of ['no', undefined, 1]) expect((await setOpen(wrong)).status).toBe(400);
    expect((await setOpen(true)).status).toBe(200);
    await until(200);
    expect(await isOpenInSession()).toBe(true);
    const { items } = await admin.must<Answer<'GET /api/console/admin/audit'>>(
      'GET',
      '/api/console/admin/audit?action=settings.public-pages',
    );
    expect(items.map(({ detail }) => detail)).toMatchObject([{ open: true }, { open: false }]);
  });
});

test.each(['SQLite', 'Postgres'])(
  'on %s a page that was never asked for is not called missing while the store does not say whether it is open',
  async (store) => {
    const databaseUrl = store === 'Postgres' ? await (await testPostgres()).freshDatabase() : undefined;
    const gateway = await Gateway.start(databaseUrl === undefined ? {} : { databaseUrl });
    const { db } = gateway.tollgate.services.store;
    await sql`ALTER TABLE setting RENAME TO setting_away`.execute(db);
    const refused = await gateway.fetch('/models');
    expect(await refused.text()).toContain('The store does not answer');
    expect(refused.headers.get('retry-after')).toBe('1');
    expect(refused.status).toBeGreaterThanOrEqual(500);
    await sql`ALTER TABLE setting_away RENAME TO setting`.execute(db);
    expect((await gateway.fetch('/models')).status).toBe(200);
    await gateway.stop();
  },
  120_000,
);
