import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { testPostgres } from '../../test/support/postgres.ts';
import { OPERATOR_RIGHTS, OPERATOR_ROLES, operatorMay } from '../identity/accounts/roles.ts';
import type { OperatorRole } from '../store/schema-services.ts';
import { operatorPath } from './operator-document.ts';
import type { RouteDeclaration } from './route.ts';
import { ROUTES } from './routes.ts';
import { PASSWORD, testConsole, type Browser, type TestConsole, type TestReply } from './testing/harness.ts';

const DATABASES: Record<string, () => Promise<TestConsole>> = {
  SQLite: () => testConsole(),
  Postgres: async () => testConsole({ databaseUrl: await (await testPostgres()).freshDatabase() }),
};

const YEAR_MS = 365 * 86_400_000;
const operations = (ROUTES as readonly RouteDeclaration[]).filter(({ who }) => who === 'operator');

interface Refusal {
  readonly error: { readonly code: string; readonly message: string };
}

describe.each(Object.entries(DATABASES))('on %s', (_name, open) => {
  let site: TestConsole;
  let owner: Browser;
  const people: Partial<Record<OperatorRole, Browser>> = {};
  const tokens: Partial<Record<OperatorRole, string>> = {};

  beforeAll(async () => {
    site = await open();
    owner = await site.admin();
    people.owner = owner;
    for (const role of OPERATOR_ROLES) {
      tokens[role] = await makeToken({ role });
      if (role !== 'owner') people[role] = await person(role, `${role}@example.com`);
    }
  }, 60_000);
  afterAll(() => site.close());

  async function person(role: OperatorRole, email: string): Promise<Browser> {
    const browser = await site.user(email);
    const id = await browser.accountId();
    await owner.must('PUT', `/api/console/admin/accounts/${id}/role`, { role });
    await browser.must('POST', '/api/auth/sign-in/email', { email, password: PASSWORD });
    return browser;
  }

  async function makeToken(more: { role: OperatorRole; networks?: string[] }): Promise<string> {
    const body = { name: `a program (${more.role})`, expiresAt: site.clock.now() + YEAR_MS, ...more };
    return (await owner.must<{ token: string }>('POST', '/api/console/admin/operator-tokens', body)).token;
  }

  const api = <Body = Refusal>(
    token: string | undefined,
    method: string,
    path: string,
    { body, key, from }: { body?: unknown; key?: string; from?: Browser } = {},
  ): Promise<TestReply<Body>> =>
    (from ?? site.browser()).call<Body>(method, `/api/operator/v1${path}`, body, {
      authorization: `Bearer ${token ?? ''}`,
      'sec-fetch-site': 'cross-site',
      ...(key === undefined ? {} : { 'idempotency-key': key }),
    });

  async function audited(
    action: string,
  ): Promise<{ actorToken: string | null; detail: unknown; target: string }[]> {
    const { items } = await owner.must<{
      items: { actorToken: string | null; detail: unknown; target: string }[];
    }>('GET', `/api/console/admin/audit?action=${action}`);
    return items;
  }

  describe('every operation is for exactly the roles of the table, in the console and through the API', () => {
    for (const { name, may, consoleOnly } of operations) {
      test(name, async () => {
        const [method = '', template = ''] = name.split(' ');
        const path = template.replaceAll(/\{\w+\}/g, 'nobody-has-this');
        // No operation has such a field, so that whoever may do it is told so, and nothing is done.
        const body = method === 'GET' || method === 'DELETE' ? undefined : { no_such_field: true };
        for (const role of OPERATOR_ROLES) {
          const isAllowed = may !== undefined && operatorMay(role, may);
          const inConsole = await people[role]?.call<Refusal>(method, path, body);
          expect([role, inConsole?.body.error?.code === 'not_allowed']).toEqual([role, !isAllowed]);
          const byToken = await api(
            tokens[role],
            method,
            operatorPath(path).replace('/api/operator/v1', ''),
            { body },
          );
          if (consoleOnly) expect([role, [404, 405].includes(byToken.status)]).toEqual([role, true]);
          else expect([role, byToken.body.error?.code === 'not_allowed']).toEqual([role, !isAllowed]);
          for (const reply of [inConsole, byToken]) expect(reply?.status).toBeLessThan(500);
        }
      });
    }

    test('what comes in and what it costs is in the overview only for roles that see the business', async () => {
      const shown: Partial<Record<OperatorRole, boolean>> = {};
      for (const role of OPERATOR_ROLES) {
        const { body } = await api<{ money: unknown; overrunUsd: unknown }>(tokens[role], 'GET', '/overview');
        expect([role, body.overrunUsd !== null]).toEqual([role, body.money !== null]);
        shown[role] = body.money !== null;
      }
      expect(shown).toEqual(
        Object.fromEntries(OPERATOR_ROLES.map((role) => [role, operatorMay(role, 'see_business')])),
      );
    });

    test('the command line is an owner, and an owner may everything', () => {
      for (const roles of Object.values(OPERATOR_RIGHTS)) expect(roles).toContain('owner');
    });

    test('a refusal names the roles that may, and is recorded', async () => {
      const before = (await audited('catalog.save.refused')).length;
      const { status, body } = await api(tokens.read, 'POST', '/catalog', { body: {} });
      expect([status, body.error]).toMatchObject([403, { code: 'not_allowed', roles: 'owner, full' }]);
      const [newest, ...rest] = await audited('catalog.save.refused');
      expect(newest).toMatchObject({ actorToken: 'a program (read)', detail: { code: 'not_allowed' } });
      expect(rest).toHaveLength(before);
    });
  });

  describe('a token', () => {
    test('is in the store only as its keyed hash, and is no session and no API token', async () => {
      const rows = await site.store.db.selectFrom('operator_token').selectAll().execute();
      for (const token of Object.values(tokens)) expect(JSON.stringify(rows)).not.toContain(token);
      const headers = { authorization: `Bearer ${tokens.owner}` };
      expect(
        (await site.browser().call('GET', '/api/console/admin/accounts', undefined, headers)).status,
      ).toBe(401);
    });

    test('that is missing, mistyped, ended, expired or from a foreign network reaches nothing', async () => {
      const token = await makeToken({ role: 'full', networks: ['192.0.2.0/24'] });
      const inside = site.browser('192.0.2.7');
      const code = async (from: Browser, text: string = token): Promise<(string | number | undefined)[]> => {
        const { status, body } = await api(text, 'GET', '/accounts', { from });
        return [status, body.error?.code];
      };
      expect(await code(inside)).toEqual([200, undefined]);
      expect(await code(site.browser('198.51.100.7'))).toEqual([401, 'network_not_allowed']);
      expect(await code(inside, `${token.slice(0, -1)}-`)).toEqual([401, 'invalid_token']);
      expect(await code(inside, token.replace('op-', 'sk-'))).toEqual([401, 'invalid_token']);
      const { tokens: listed } = await owner.must<{ tokens: { id: string; networks: string[] | null }[] }>(
        'GET',
        '/api/console/admin/operators',
      );
      const id = listed.find(({ networks }) => networks !== null)?.id;
      await owner.must('POST', `/api/console/admin/operator-tokens/${id}/end`, {});
      expect(await code(inside)).toEqual([401, 'invalid_token']);
      const refused = await audited('operator-token.use.refused');
      expect(refused).toMatchObject(
        ['invalid_token', 'network_not_allowed'].map((why) => ({ target: id ?? '', detail: { code: why } })),
      );
    });

    test('that calls without a pause is told to wait before it fills the audit log, and others are not', async () => {
      const token = await makeToken({ role: 'read' });
      const begun = performance.now();
      const calls = Array.from({ length: 1_500 }, () => api(token, 'POST', '/catalog', { body: {} }));
      const replies = await Promise.all(calls);
      const most = 601 + (performance.now() - begun) / 20;
      const late = replies.filter(({ status }) => status === 429);
      const told = replies.filter(({ status }) => status === 403).length;
      expect(told + late.length).toBe(replies.length);
      expect(told).toBeLessThan(most);
      expect(Number(late[0]?.headers.get('retry-after'))).toBeGreaterThan(0);
      expect((await api(tokens.read, 'GET', '/accounts')).status).toBe(200);
      site.advance(1_000);
      expect((await api(token, 'GET', '/accounts')).status).toBe(200);
    });

    test('ends with the ownership of whoever made it', async () => {
      const other = await person('owner', 'second-owner@example.com');
      const body = { name: 'theirs', role: 'full', expiresAt: site.clock.now() + YEAR_MS };
      const { token } = await other.must<{ token: string }>(
        'POST',
        '/api/console/admin/operator-tokens',
        body,
      );
      expect((await api(token, 'GET', '/accounts')).status).toBe(200);
      const id = await other.accountId();
      await owner.must('PUT', `/api/console/admin/accounts/${id}/role`, { role: 'full' });
      expect((await api(token, 'GET', '/accounts')).status).toBe(401);
    });

    test('of an owner who was paused or removed gives nothing and is recorded', async () => {
      const victim = await (await site.user('victim@example.com')).accountId();
      const credit = (token: string, key: string) =>
        api(token, 'POST', `/accounts/${victim}/credit`, { body: { amountUsd: '3', cause: 'x' }, key });
      for (const act of ['disable', 'remove']) {
        const other = await person('owner', `${act}d-owner@example.com`);
        const body = { name: act, role: 'full', expiresAt: site.clock.now() + YEAR_MS };
        const made = await other.must<{ token: string; item: { id: string } }>(
          'POST',
          '/api/console/admin/operator-tokens',
          body,
        );
        expect((await credit(made.token, `before ${act}`)).status).toBe(200);
        const id = await other.accountId();
        if (act === 'remove')
          await owner.must('PUT', `/api/console/admin/accounts/${id}/role`, { role: null });
        await owner.must('POST', `/api/console/admin/accounts/${id}/${act}`, {});
        const refused = await credit(made.token, `after ${act}`);
        expect([act, refused.status, refused.body.error.code]).toEqual([act, 401, 'invalid_token']);
        expect((await audited('operator-token.use.refused'))[0]).toMatchObject({ target: made.item.id });
      }
      expect((await account(victim)).balance).toBe(6_000_000_000);
    });

    test('is named in the audit log with every call, and in the books', async () => {
      const id = await (await site.user('booked@example.com')).accountId();
      await api(tokens.read, 'GET', `/accounts/${id}`);
      expect((await audited('api.read'))[0]).toMatchObject({ actorToken: 'a program (read)', target: id });
      await api(tokens.full, 'POST', `/accounts/${id}/credit`, {
        body: { amountUsd: '5', cause: 'invoice 7' },
        key: 'invoice 7',
      });
      expect((await audited('account.credit.changed'))[0]).toMatchObject({
        actorToken: 'a program (full)',
        target: id,
        detail: { balance: '$0.00 → $5.00' },
      });
      const entry = await site.store.db
        .selectFrom('entry')
        .selectAll()
        .where('account_id', '=', id)
        .executeTakeFirst();
      expect(entry?.actor).toStartWith('opt_');
    });
  });

  describe('an Idempotency-Key', () => {
    test('does it once: the same body gets the same answer, another is refused, a missing key too', async () => {
      const id = await (await site.user('keyed@example.com')).accountId();
      const credit = (amountUsd: string, key?: string) =>
        site.browser().raw('POST', `/api/operator/v1/accounts/${id}/credit`, {
          body: { amountUsd, cause: 'paid' },
          headers: {
            authorization: `Bearer ${tokens.full}`,
            ...(key === undefined ? {} : { 'idempotency-key': key }),
          },
        });
      const replies = await Promise.all(Array.from({ length: 8 }, () => credit('3', 'order 1')));
      const texts = new Set(await Promise.all(replies.map((reply) => reply.text())));
      expect([replies.map(({ status }) => status), texts.size]).toEqual([Array<number>(8).fill(200), 1]);
      expect(replies.filter(({ headers }) => headers.has('idempotent-replayed'))).toHaveLength(7);
      const other = await credit('4', 'order 1');
      expect([other.status, await other.json()]).toMatchObject([
        400,
        { error: { code: 'idempotency_key_reused' } },
      ]);
      expect((await audited('account.credit.refused'))[0]).toMatchObject({
        detail: { code: 'idempotency_key_reused' },
      });
      const response = await fetch(`${site.url}/api/operator/v1/accounts/${id}/credit`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${tokens.full}`,
          'content-type': 'application/json',
          'x-forwarded-for': '192.0.2.1',
        },
        body: JSON.stringify({ amountUsd: '3', cause: 'paid' }),
      });
      expect([response.status, await response.json()]).toMatchObject([
        400,
        { error: { code: 'missing_field' } },
      ]);
      const { balance } = await account(id);
      expect(balance).toBe(3_000_000_000);
    });

    test('is good for one operation on one account, whoever else it is sent for', async () => {
      const [first, second] = await Promise.all(
        ['one-key@example.com', 'same-key@example.com'].map(
          async (email) => await (await site.user(email)).accountId(),
        ),
      );
      const order = { body: { amountUsd: '2', cause: 'paid' }, key: 'order 77' };
      expect((await api(tokens.full, 'POST', `/accounts/${first}/credit`, order)).status).toBe(200);
      for (const path of [
        `/accounts/${second}/credit`,
        `/accounts/${first}/adjust`,
        `/accounts/${first}/refund`,
      ]) {
        const { status, body } = await api(tokens.full, 'POST', path, order);
        expect([path, status, body.error.code]).toEqual([path, 400, 'idempotency_key_reused']);
        const act = path.split('/').at(-1) ?? '';
        expect((await audited(`account.${act}.refused`))[0]).toMatchObject({
          actorToken: 'a program (full)',
          target: path.split('/')[2] ?? '',
          detail: { code: 'idempotency_key_reused' },
        });
      }
      // A key is its operator's own.
      expect((await api(tokens.owner, 'POST', `/accounts/${first}/credit`, order)).status).toBe(200);
      const balances = await Promise.all(
        [first, second].map(async (id) => (await account(id ?? '')).balance),
      );
      expect(balances).toEqual([4_000_000_000, 0]);
    });

    test('of codes makes them once, tells them again, and keeps none', async () => {
      const order = { body: { amountUsd: '1', count: 2, batch: 'by a program' }, key: 'codes 1' };
      const made = await api<{ codes: string[] }>(tokens.full, 'POST', '/codes', order);
      expect(made.body.codes).toHaveLength(2);
      expect((await api<{ codes: string[] }>(tokens.full, 'POST', '/codes', order)).body).toEqual(made.body);
      expect((await audited('codes.make'))[0]?.detail).toEqual({ repeated: true });
      const other = { ...order, body: { ...order.body, count: 3 } };
      expect((await api(tokens.full, 'POST', '/codes', other)).body.error.code).toBe(
        'idempotency_key_reused',
      );
      const answers = await site.store.db.selectFrom('answer').selectAll().execute();
      expect(
        answers.some(({ body }) => body !== null && Buffer.from(body).includes(made.body.codes[0] ?? '?')),
      ).toBe(false);
    });
  });

  describe('support', () => {
    const give = (id: string, amountUsd: string, more: { key: string; act?: string; token?: string }) =>
      api<Refusal & { balanceUsd: string }>(
        more.token ?? tokens.support,
        'POST',
        `/accounts/${id}/${more.act ?? 'credit'}`,
        {
          body: { amountUsd, cause: 'goodwill' },
          key: more.key,
        },
      );

    test('gives at most the limit a day, in however many pieces and however many at once; the same key counts once', async () => {
      await owner.must('PUT', '/api/console/admin/operators/support-limit', { limitUsd: '10' });
      const id = await (await site.user('given@example.com')).accountId();
      expect((await give(id, '10.01', { key: 'too much' })).body.error).toMatchObject({
        code: 'not_allowed',
        roles: 'owner, full',
      });
      const replies = await Promise.all(
        Array.from({ length: 25 }, (_, index) =>
          give(id, '0.7', { key: `piece ${index}`, act: index % 2 === 0 ? 'credit' : 'refund' }),
        ),
      );
      expect(replies.filter(({ status }) => status === 200)).toHaveLength(14);
      expect(replies.filter(({ body }) => body.error?.code === 'not_allowed')).toHaveLength(11);
      expect((await account(id)).balance).toBe(9_800_000_000);
      const recorded = [
        ...(await audited('account.credit.refused')),
        ...(await audited('account.refund.refused')),
      ].filter(({ target }) => target === id);
      // The one that was too much by itself, and the pieces.
      expect(recorded).toHaveLength(12);
      const again = replies.findIndex(({ status }) => status === 200);
      const act = again % 2 === 0 ? 'credit' : 'refund';
      expect((await give(id, '0.7', { key: `piece ${again}`, act })).status).toBe(200);
      expect((await account(id)).balance).toBe(9_800_000_000);
      site.advance(86_400_000);
      await owner.must('POST', '/api/console/confirm', { password: PASSWORD });
      expect((await give(id, '10', { key: 'the next day' })).status).toBe(200);
      expect((await site.ledger.verify({ full: true })).breaches).toEqual([]);
    });

    test('what the ledger refuses is not counted', async () => {
      const token = await makeToken({ role: 'support' });
      const customer = await site.user('uncounted@example.com');
      const id = await customer.accountId();
      await site.credit(id, 999_995);
      expect((await give(id, '9', { key: 'too full', token })).status).toBe(400);
      expect(
        (await give(await (await site.user('counted@example.com')).accountId(), '10', { key: 'all', token }))
          .status,
      ).toBe(200);
    });

    test('gives nothing to its own wallet, nor to its team through any of its accounts', async () => {
      const helper = await person('support', 'helper@example.com');
      const own = await helper.accountId();
      await site.credit(own, 5);
      await helper.must('POST', '/api/console/confirm', { password: PASSWORD });
      const send = (id: string) =>
        helper.call<Refusal>('POST', `/api/console/admin/accounts/${id}/credit`, {
          amountUsd: '1',
          cause: 'mine',
        });
      expect((await send(own)).body.error?.code).toBe('not_allowed');
      await helper.must('POST', '/api/console/team', { name: 'helpers' });
      const { app } = await helper.must<{ app: { id: string } }>('POST', '/api/console/team/apps', {
        name: 'bot',
      });
      const wallet = await site.store.db
        .selectFrom('account')
        .select('wallet_id')
        .where('id', '=', app.id)
        .executeTakeFirst();
      for (const id of [app.id, wallet?.wallet_id ?? ''])
        expect((await send(id)).body.error?.code).toBe('not_allowed');
      const recorded = (await audited('account.credit.refused')).map(({ target }) => target);
      expect(recorded).toEqual(expect.arrayContaining([own, app.id, wallet?.wallet_id ?? '']));
      const other = await (await site.user('not-mine@example.com')).accountId();
      expect((await send(other)).status).toBe(200);
      // A token is good for what its maker is: the owner's own account is nothing for it either.
      const mine = await give(await owner.accountId(), '1', { key: 'for my maker' });
      expect(mine.body.error?.code).toBe('not_allowed');
    });

    test('ends tokens and sees none, and touches nobody who operates', async () => {
      const customer = await site.user('ends@example.com');
      const id = await customer.accountId();
      await customer.must('POST', '/api/console/token');
      const ended = await api(tokens.support, 'POST', `/accounts/${id}/revoke-token`, { body: {} });
      expect([ended.status, JSON.stringify(ended.body).includes('sk-')]).toEqual([200, false]);
      const ownerId = await owner.accountId();
      for (const act of ['disable', 'revoke-token'])
        expect(
          (await api(tokens.support, 'POST', `/accounts/${ownerId}/${act}`, { body: {} })).body.error.code,
        ).toBe('not_allowed');
      for (const act of ['reset-password', 'reset-link', 'remove'])
        expect(
          (await api(tokens.full, 'POST', `/accounts/${ownerId}/${act}`, { body: {} })).body.error.code,
        ).toBe('not_allowed');
    });
  });

  function account(id: string) {
    return site.store.db.selectFrom('account').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
  }
});
