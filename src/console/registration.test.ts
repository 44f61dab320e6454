import { afterEach, describe, expect, test } from 'bun:test';
import { testPostgres } from '../../test/support/postgres.ts';
import { libraryOptions } from '../identity/sign-in/library.ts';
import { makePasswords } from '../identity/sign-in/password.ts';
import { silentLog } from '../std/log.ts';
import { PASSWORD, testConsole, type TestConsole } from './testing/harness.ts';

const sites: TestConsole[] = [];
const DATABASES: Record<string, () => Promise<TestConsole>> = {
  SQLite: () => testConsole(),
  Postgres: async () => testConsole({ databaseUrl: await (await testPostgres()).freshDatabase() }),
};
afterEach(async () => {
  for (const site of sites.splice(0)) await site.close();
});

type Refused = { error?: { code: string } };
const signUp = async (site: TestConsole, email: string, inviteCode?: string) => {
  const body = { email, password: PASSWORD, ...(inviteCode === undefined ? {} : { inviteCode }) };
  const reply = await site.browser().call<Refused>('POST', '/api/auth/sign-up/email', body);
  return [reply.status, reply.body.error?.code];
};
const accounts = async (site: TestConsole) =>
  await site.store.db
    .selectFrom('account')
    .select(['email', 'role', 'balance'])
    .where('role', '!=', 'system')
    .execute();

describe.each(Object.entries(DATABASES))('on %s', (_name, start) => {
  const open = async (): Promise<TestConsole> => {
    const site = await start();
    sites.push(site);
    return site;
  };

  test('nobody registers until the setup has made the first administrator', async () => {
    const site = await open();
    const issued = await site.setup.issue();
    expect(await signUp(site, 'early@example.com')).toEqual([403, 'setup_needed']);
    expect(await signUp(site, 'early@example.com', 'inv-guess')).toEqual([403, 'setup_needed']);
    expect(await accounts(site)).toEqual([]);
    const person = { email: 'admin@example.com', password: PASSWORD };
    const guess = { ...person, token: 'x'.repeat(43) };
    expect((await site.browser().call('POST', '/api/console/setup', guess)).status).toBe(400);
    expect(await signUp(site, 'early@example.com')).toEqual([403, 'setup_needed']);
    await site.browser().must('POST', '/api/console/setup', { ...person, token: issued?.token });
    expect(await signUp(site, 'early@example.com')).toEqual([200, undefined]);
  });

  test('attempts refused before there is an administrator do not use up the allowance', async () => {
    const site = await open();
    const visitor = site.browser();
    const body = { email: 'eager@example.com', password: PASSWORD };
    for (let n = 0; n < 15; n++)
      expect((await visitor.call('POST', '/api/auth/sign-up/email', body)).status).toBe(403);
    await site.admin();
    expect((await visitor.call('POST', '/api/auth/sign-up/email', body)).status).toBe(200);
  });

  test('a provider’s sign-in makes no account before the first administrator, and one afterwards', async () => {
    const site = await open();
    const { store, clock } = site;
    const library = { store, clock, passwords: makePasswords(), secret: 'x'.repeat(32), log: silentLog };
    const more = { social: {}, mailboxKey: new Uint8Array(32) };
    const { validateUserInfo } = libraryOptions({ ...library, ...more }, false).user;
    const newcomer = { source: { action: 'create-user' } } as Parameters<typeof validateUserInfo>[0];
    expect(await validateUserInfo(newcomer)).toMatchObject({ error: 'sign_up_closed' });
    await site.admin();
    expect(await validateUserInfo(newcomer)).toBeUndefined();
  });

  test('afterwards it is open, and a new account is an ordinary one without balance', async () => {
    const site = await open();
    await site.admin();
    expect(await signUp(site, 'new@example.com')).toEqual([200, undefined]);
    const made = (await accounts(site)).find(({ email }) => email === 'new@example.com');
    expect(made).toEqual({ email: 'new@example.com', role: 'user', balance: 0 });
  });

  test('or it is closed, and opens again', async () => {
    const site = await open();
    const admin = await site.admin();
    await admin.must('PATCH', '/api/console/admin/settings', { signUp: 'closed' });
    expect(await signUp(site, 'late@example.com')).toEqual([403, 'sign_up_closed']);
    expect(await accounts(site)).toHaveLength(1);
    await admin.must('PATCH', '/api/console/admin/settings', { signUp: 'open' });
    expect(await signUp(site, 'late@example.com')).toEqual([200, undefined]);
  });

  test('or it takes an invite, which is valid once, until it expires or is revoked', async () => {
    const site = await open();
    const admin = await site.admin();
    await admin.must('PATCH', '/api/console/admin/settings', { signUp: 'invite' });
    const make = (expiresAt: number | null = null) =>
      admin.must<{ code: string; invite: { id: string } }>('POST', '/api/console/admin/invites', {
        expiresAt,
      });
    const refused = [403, 'invite_required'];
    expect(await signUp(site, 'guest@example.com')).toEqual(refused);
    expect(await signUp(site, 'guest@example.com', 'inv-guess')).toEqual(refused);
    const { code } = await make();
    expect(await signUp(site, 'guest@example.com', code)).toEqual([200, undefined]);
    expect(await signUp(site, 'second@example.com', code)).toEqual(refused);
    const takenBack = await make();
    await admin.must('DELETE', `/api/console/admin/invites/${takenBack.invite.id}`);
    expect(await signUp(site, 'second@example.com', takenBack.code)).toEqual(refused);
    const short = await make(site.clock.now() + 60_000);
    site.advance(61_000);
    expect(await signUp(site, 'second@example.com', short.code)).toEqual(refused);
    expect((await accounts(site)).map(({ email }) => email).toSorted()).toEqual([
      'admin@example.com',
      'guest@example.com',
    ]);
  });
});
