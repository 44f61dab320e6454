import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Answer } from './contract/routes.ts';
import { testPostgres } from '../../test/support/postgres.ts';
import { PASSWORD, testConsole, type Browser, type TestConsole } from './testing/harness.ts';

type Overview = Answer<'GET /api/console/overview'>;
type RequestPage = Answer<'GET /api/console/requests'>;
type ReceiptDetail = Answer<'GET /api/console/requests/{id}'>;
type UsageHeatMap = Answer<'GET /api/console/usage/hours'>;
type UsageReport = Answer<'GET /api/console/usage'>;

const DATABASES: Record<string, () => Promise<TestConsole>> = {
  SQLite: () => testConsole(),
  Postgres: async () => testConsole({ databaseUrl: await (await testPostgres()).freshDatabase() }),
};

describe.each(Object.entries(DATABASES))('on %s', (_name, open) => {
  let site: TestConsole;
  let admin: Browser;

  beforeAll(async () => {
    site = await open();
    admin = await site.admin();
  }, 60_000);
  afterAll(() => site.close());

  describe('an account holder', () => {
    test('signs up, makes a token, and sees every request with its exact price', async () => {
      const ann = await site.user('ann@example.com');
      const id = await ann.accountId();
      const { token, info } = await ann.must<Answer<'POST /api/console/token'>>('POST', '/api/console/token');
      expect(token).toMatch(/^sk-[0-9A-Za-z]{49}$/);
      expect(token.endsWith(info.hint.slice(-4))).toBe(true);

      await site.credit(id, 10);
      const requestId = await site.charge(id);
      await site.charge(id, { model: 'house-guide', failed: true });

      const overview = await ann.must<Overview>('GET', '/api/console/overview');
      // 60 fresh input at 1, 40 cached at 0.5, 50 output at 2 dollars per million.
      expect(overview).toMatchObject({
        balanceUsd: '9.99982',
        heldUsd: '0.00',
        spend: { todayUsd: '0.00018' },
      });
      expect(overview.balanceDays.at(-1)?.balanceUsd).toBe(overview.balanceUsd);
      expect([overview.forecast, overview.automaticTopUp]).toEqual([{ kind: 'too_early' }, false]);
      // Two requests of the same millisecond have no defined order.
      expect(overview.latest.map(({ model, outcome }) => `${model} ${outcome}`).toSorted()).toEqual([
        'house-echo completed',
        'house-guide upstream_failed',
      ]);

      const receipt = await ann.must<ReceiptDetail>('GET', `/api/console/requests/${requestId}`);
      expect(receipt.lines.map(({ item, quantity, amountUsd }) => [item, quantity, amountUsd])).toEqual([
        ['input', 60, '0.00006'],
        ['cached_input', 40, '0.00002'],
        ['output', 50, '0.0001'],
      ]);
      expect([receipt.totalUsd, receipt.chargedUsd]).toEqual(['0.00018', '0.00018']);

      const usage = await ann.must<UsageReport>('GET', '/api/console/usage');
      expect(usage.totals).toMatchObject({
        requests: 2,
        failures: 1,
        inputTokens: 100,
        cachedTokens: 40,
        chargedUsd: '0.00018',
        // 40 tokens at half of a dollar less per million.
        savedUsd: '0.00002',
      });
      expect(usage.missing).toBe(0);
    });

    test('tells usage by model, endpoint, client, hour and day, with what each saved, on the page and as a file', async () => {
      const una = await site.user('una@example.com');
      const id = await una.accountId();
      await site.credit(id, 10);
      for (const model of ['one', 'one', 'two']) await site.charge(id, { model });
      await site.charge(id, { model: 'two', failed: true });
      const zone = 'Asia/Kathmandu';
      const sums = { requests: 4, failures: 1, cachedTokens: 120, savedUsd: '0.00006' };
      for (const by of ['model', 'endpoint', 'client', 'hour', 'day'] as const) {
        const report = await una.must<UsageReport>('GET', `/api/console/usage?by=${by}&zone=${zone}`);
        expect([by, report.others, report.missing]).toEqual([by, null, 0]);
        expect(report.totals).toMatchObject(sums);
        expect(report.groups.every((group) => group[by] !== null)).toBe(true);
        const saved = report.groups.reduce((sum, { savedUsd }) => sum + Number(savedUsd) * 1e9, 0);
        expect([by, Math.round(saved)]).toEqual([by, 60_000]);
        const named = by === 'endpoint' ? 'svc_chat' : by === 'client' ? '=cmd|test' : 'one';
        expect([by, report.rows.some(({ name }) => name === named)]).toEqual([by, true]);
        const file = await (await una.raw('GET', `/api/console/usage.csv?by=${by}&zone=${zone}`)).text();
        const [header = '', ...lines] = file.trim().split('\r\n');
        expect(header.split(',')).toContain(by);
        expect(lines).toHaveLength(report.groups.length);
        const column = header.split(',').indexOf('requests');
        expect(lines.reduce((sum, line) => sum + Number(line.split(',')[column]), 0)).toBe(4);
      }
      const { cells } = await una.must<UsageHeatMap>('GET', `/api/console/usage/hours?zone=${zone}`);
      expect(cells.reduce((sum, { requests }) => sum + requests, 0)).toBe(4);
      for (const query of ['by=hour&zone=Mars/Crater', 'by=client&model=one', 'by=week'])
        expect((await una.raw('GET', `/api/console/usage?${query}`)).status).toBe(400);
    });

    test('filters requests by model, endpoint and outcome, and pages through them by key', async () => {
      const bob = await site.user('bob@example.com');
      const id = await bob.accountId();
      await site.credit(id, 10);
      for (let n = 0; n < 7; n++)
        await site.charge(id, { model: n % 2 ? 'odd' : 'even', endpoint: n < 4 ? 'low' : 'high' });
      await site.charge(id, { model: 'odd', endpoint: 'high', failed: true });
      const list = async (query: string) =>
        (await bob.must<RequestPage>('GET', `/api/console/requests?${query}`)).items;

      expect(await list('model=odd')).toHaveLength(4);
      expect(await list('endpoint=low')).toHaveLength(4);
      expect(await list('model=even&endpoint=high')).toHaveLength(2);
      expect(await list('outcome=failed')).toHaveLength(1);
      expect(await list('model=even&outcome=failed')).toHaveLength(0);
      expect(await list('state=posted&model=odd')).toHaveLength(3);
      expect(await list(`from=${Date.now() + 60_000}`)).toHaveLength(0);

      const seen: string[] = [];
      let cursor = '';
      for (let pages = 0; pages < 10; pages++) {
        const page = await bob.must<RequestPage>('GET', `/api/console/requests?limit=3&cursor=${cursor}`);
        seen.push(...page.items.map(({ id }) => id));
        if (page.next === null) break;
        cursor = page.next;
      }
      expect(seen).toHaveLength(8);
      expect(seen).toEqual([...new Set(seen)].toSorted().toReversed());
    });

    test('downloads every request as a file in which no cell is a formula', async () => {
      const cat = await site.user('cat@example.com');
      const id = await cat.accountId();
      await site.credit(id, 10);
      for (let n = 0; n < 3; n++) await site.charge(id);
      const file = await cat.raw('GET', '/api/console/requests.csv');
      expect(file.headers.get('content-type')).toBe('text/csv; charset=utf-8');
      expect(file.headers.get('content-disposition')).toContain('attachment');
      const lines = (await file.text()).trim().split('\r\n');
      expect(lines).toHaveLength(4);
      expect(lines[1]).toContain("'=cmd|test");
      const daily = await (await cat.raw('GET', '/api/console/usage.csv')).text();
      expect(daily).toContain('svc_chat,house-echo,3,0,300,120,150,0,0,0.00054,0.00006');
      const header = lines[0]!.split(',');
      await site.charge(id, {
        usage: { extra: { cacheWrite: 10, webSearches: 2, audioInput: 5, serviceTier: 'priority' } },
      });
      const rows = (await (await cat.raw('GET', '/api/console/requests.csv')).text()).trim().split('\r\n');
      const latest = rows[1]!.split(',');
      const cell = (name: string): string | undefined => latest[header.indexOf(name)];
      expect([cell('cache_write_tokens'), cell('web_searches'), cell('audio_input_tokens')]).toEqual([
        '10',
        '2',
        '5',
      ]);
      expect([cell('service_tier'), cell('image_output_tokens')]).toEqual(['priority', '0']);
    });

    test('chats in the playground with only the session and sees what it cost', async () => {
      const dan = await site.user('dan@example.com');
      await site.credit(await dan.accountId(), 1);
      const body = { endpoint: 'svc_chat', model: 'house-echo', messages: [{ role: 'user', content: 'hi' }] };
      const stream = await dan.raw('POST', '/api/console/playground/chat', { body });
      expect(stream.headers.get('content-type')).toContain('text/event-stream');
      const events = (await stream.text()).trim().split('\n\n');
      expect(events[0]).toContain('hello');
      expect(events[1]).toBe('data: [DONE]');
      expect(events[2]).toStartWith('event: tollgate\ndata: ');
      const receipt = JSON.parse(events[2]!.split('data: ')[1]!) as Record<string, unknown>;
      expect(receipt).toMatchObject({
        state: 'posted',
        costUsd: '0.00002',
        availableUsd: '0.99998',
        inputTokens: 10,
        outputTokens: 5,
        firstByteMs: 4,
      });
      const pictures = await dan.must('POST', '/api/console/playground/images', {
        endpoint: 'svc_tgter',
        model: 'house-paint',
        prompt: 'a hill',
      });
      expect(pictures).toMatchObject({
        data: [{ url: `${site.url}/x.png` }],
        receipt: { costUsd: '0.01', images: 1 },
      });
    });

    test('keeps settings, and is warned below the balance they chose', async () => {
      const eve = await site.user('eve@example.com');
      const settings = {
        name: 'Eve',
        language: 'de',
        theme: 'dark',
        lowBalanceUsd: '5.00',
        storesResponses: true,
      };
      expect(await eve.must('PATCH', '/api/console/settings', settings)).toEqual(settings);
      expect(await eve.must('PATCH', '/api/console/settings', { lowBalanceUsd: null })).toMatchObject({
        theme: 'dark',
        lowBalanceUsd: null,
      });
      await eve.must('PATCH', '/api/console/settings', { lowBalanceUsd: '5.00' });
      for (const storesResponses of [false, true])
        expect(await eve.must('PATCH', '/api/console/settings', { storesResponses })).toMatchObject({
          name: 'Eve',
          storesResponses,
        });
      expect((await eve.must<Overview>('GET', '/api/console/overview')).lowBalance).toEqual({
        thresholdUsd: '5.00',
      });
      await site.credit(await eve.accountId(), 6);
      expect((await eve.must<Overview>('GET', '/api/console/overview')).lowBalance).toBeNull();
    });

    test('has a gallery of its own images, which no other account can see or delete', async () => {
      const [fay, gus] = [await site.user('fay@example.com'), await site.user('gus@example.com')];
      const now = Date.now();
      const row = {
        account_id: await fay.accountId(),
        request_id: 'req_x',
        mime: 'image/png',
        prompt: 'p',
        created_at: now,
      };
      for (const id of ['img_1', 'img_2', 'img_3']) {
        await site.store.db
          .insertInto('image')
          .values({ ...row, id, bytes: Buffer.from([1, 2, 3]), size: 3, expires_at: now + 60_000 })
          .execute();
      }
      const first = await fay.must<{ items: { id: string; src: string }[]; next: string }>(
        'GET',
        '/api/console/images?limit=2',
      );
      const rest = await fay.must<{ items: { id: string }[]; next: null }>(
        'GET',
        `/api/console/images?limit=2&cursor=${first.next}`,
      );
      expect([...first.items, ...rest.items].map(({ id }) => id)).toEqual(['img_3', 'img_2', 'img_1']);
      expect(new Uint8Array(await (await fay.raw('GET', first.items[0]!.src)).arrayBuffer())).toEqual(
        new Uint8Array([1, 2, 3]),
      );
      expect((await gus.call('GET', '/api/console/images/img_1')).status).toBe(404);
      expect((await gus.call('DELETE', '/api/console/images/img_1')).status).toBe(404);
      await fay.must('DELETE', '/api/console/images/img_1');
      expect((await fay.call('GET', '/api/console/images/img_1')).status).toBe(404);
    });
  });

  describe('an admin', () => {
    test('credits, limits, refunds once, and every action is in the audit log', async () => {
      const ida = await site.user('ida@example.com');
      const id = await ida.accountId();
      const path = `/api/console/admin/accounts/${id}`;
      const form = { amountUsd: '10', cause: 'paid by transfer' };
      const credit = () => admin.must('POST', `${path}/credit`, form, { 'idempotency-key': 'form-0001' });
      expect(await credit()).toMatchObject({ balanceUsd: '10.00' });
      expect(await credit()).toMatchObject({ balanceUsd: '10.00' });
      const requestId = await site.charge(id);
      const refund = { amountUsd: '0.00018', cause: 'was wrong', requestId };
      expect((await admin.call('POST', `${path}/refund`, { ...refund, amountUsd: '1' })).status).toBe(400);
      await admin.must('POST', `${path}/refund`, refund);
      expect(await admin.must('POST', `${path}/refund`, refund)).toMatchObject({
        balanceUsd: '10.00',
      });
      expect((await admin.call('POST', `${path}/adjust`, { ...form, amountUsd: '-10.01' })).status).toBe(400);
      expect(await admin.must('POST', `${path}/adjust`, { ...form, amountUsd: '-4' })).toMatchObject({
        balanceUsd: '6.00',
      });
      expect(await admin.must('PATCH', `${path}/limits`, { monthlyUsd: '3', concurrent: 2 })).toMatchObject({
        limits: { monthlyUsd: '3.00', concurrent: 2, chatPerMinute: null },
      });
      expect((await ida.must<Overview>('GET', '/api/console/overview')).nextLimit?.kind).toBe(
        'monthly_limit',
      );
      const { items } = await admin.must<{ items: { action: string; target: string }[] }>(
        'GET',
        '/api/console/admin/audit?limit=100',
      );
      const acts = items.filter(({ target }) => target === id).map(({ action }) => action);
      expect(acts.filter((action) => action === 'account.credit')).toHaveLength(2);
      expect(acts).toContain('account.refund.refused');
      expect(acts).toContain('account.limits');
      const verified = await admin.must('POST', '/api/console/admin/ledger/verify');
      expect(verified).toMatchObject({ ok: true, breaches: [] });
    });

    test('makes codes that can be redeemed once, by the first account', async () => {
      const made = await admin.must<{ batch: string; codes: string[] }>('POST', '/api/console/admin/codes', {
        amountUsd: '2.50',
        count: 3,
        batch: 'autumn fair',
      });
      expect(made.codes).toHaveLength(3);
      const [lea, max] = [await site.user('lea@example.com'), await site.user('max@example.com')];
      const code = made.codes[0];
      const replies = await Promise.all(
        [lea, max, lea, max].map((one) => one.call('POST', '/api/console/redeem', { code })),
      );
      expect(replies.filter(({ status }) => status === 200)).toHaveLength(1);
      expect(replies.filter(({ status }) => status === 400)).toHaveLength(3);
      expect(replies.find(({ status }) => status === 200)?.body).toEqual({
        amountUsd: '2.50',
        balanceUsd: '2.50',
      });
      const { items } = await admin.must<{ items: unknown[] }>('GET', '/api/console/admin/codes');
      expect(items).toEqual([
        expect.objectContaining({ batch: 'autumn fair', amountUsd: '2.50', count: 3, redeemed: 1 }),
      ]);
      const rows = await site.store.db.selectFrom('redeem_code').selectAll().execute();
      expect(made.codes.some((one) => JSON.stringify(rows).includes(one))).toBe(false);
    });

    test('pages through batches of codes, however long and unusual their names are', async () => {
      const names = ['漢'.repeat(60), '🎫'.repeat(30), `a.b/c'd"e\\%_ \u202eü-.`, '.'.repeat(60)];
      const make = (batch: string) =>
        admin.call('POST', '/api/console/admin/codes', { amountUsd: '1', count: 2, batch });
      for (const name of names) expect((await make(name)).status).toBe(200);
      const seen: string[] = [];
      for (let cursor: string | null = ''; cursor !== null;) {
        const page: { items: { batch: string }[]; next: string | null } = await admin.must(
          'GET',
          `/api/console/admin/codes?limit=1&cursor=${encodeURIComponent(cursor)}`,
        );
        seen.push(...page.items.map(({ batch }) => batch));
        cursor = page.next;
      }
      expect(seen.toSorted()).toEqual([...names, 'autumn fair'].toSorted());
      for (const refused of ['漢'.repeat(61), 'a\0b', 'a\ud800b', ' ']) {
        expect(await make(refused)).toMatchObject({ status: 400, body: { error: { param: 'batch' } } });
      }
    });

    test('finds accounts by part of the address, with % and _ taken literally', async () => {
      await site.user('under_score@example.com');
      await site.user('underxscore@example.com');
      const find = async (search: string) => {
        const query = new URLSearchParams({ search });
        const page = await admin.must<{ items: { email: string }[] }>(
          'GET',
          `/api/console/admin/accounts?${query}`,
        );
        return page.items.map(({ email }) => email);
      };
      expect(await find('under_')).toEqual(['under_score@example.com']);
      expect(await find('%%')).toEqual([]);
      expect(await find('overrun')).toEqual([]);
      expect((await find('UNDER')).toSorted()).toEqual([
        'under_score@example.com',
        'underxscore@example.com',
      ]);
      expect((await admin.call('GET', '/api/console/admin/accounts?search=u')).status).toBe(400);
    });

    test('resets a password: every session and the second factor end with it', async () => {
      const jon = await site.user('jon@example.com');
      const { password } = await admin.must<{ password: string }>(
        'POST',
        `/api/console/admin/accounts/${await jon.accountId()}/reset-password`,
      );
      expect((await jon.call('GET', '/api/console/overview')).status).toBe(401);
      const again = site.browser();
      expect(
        (
          await again.call('POST', '/api/auth/sign-in/email', {
            email: 'jon@example.com',
            password: PASSWORD,
          })
        ).status,
      ).toBe(401);
      await again.must('POST', '/api/auth/sign-in/email', { email: 'jon@example.com', password });
    });

    test('edits the catalog with a preview, and a concurrent edit is refused', async () => {
      const { yaml, revision } = await admin.must<{ yaml: string; revision: number }>(
        'GET',
        '/api/console/admin/catalog',
      );
      const edited = yaml.replace('name: Primary chat', 'name: First chat');
      const bad = await admin.must<{ ok: boolean; problems: { line: number }[] }>(
        'POST',
        '/api/console/admin/catalog/propose',
        { yaml: 'upstreams: 3' },
      );
      expect(bad.ok).toBe(false);
      expect(bad.problems[0]?.line).toBe(1);
      const good = await admin.must<{ ok: boolean; changes: unknown[] }>(
        'POST',
        '/api/console/admin/catalog/propose',
        { yaml: edited },
      );
      expect(good.ok).toBe(true);
      expect(good.changes).not.toEqual([]);
      const saved = await admin.must<{ revision: number }>('POST', '/api/console/admin/catalog', {
        yaml: edited,
        note: 'rename',
        revision,
      });
      expect(saved.revision).toBeGreaterThan(revision);
      const late = await admin.call<{ error: { code: string } }>('POST', '/api/console/admin/catalog', {
        yaml,
        note: 'late',
        revision,
      });
      expect([late.status, late.body.error.code]).toEqual([409, 'conflict']);
      const history = await admin.must<{ items: { note: string }[] }>(
        'GET',
        '/api/console/admin/catalog/history',
      );
      expect(history.items[0]?.note).toBe('rename');
    });

    test('sees figures of all accounts, and the whole log by any filter', async () => {
      const kim = await site.user('kim@example.com');
      await site.credit(await kim.accountId(), 5);
      await site.charge(await kim.accountId(), { model: 'kim-model' });
      const overview = await admin.must<{
        days: unknown[];
        topModels: { model: string }[];
        accounts: { total: number };
      }>('GET', '/api/console/admin/overview');
      expect(overview.days).toHaveLength(14);
      expect(overview.accounts.total).toBeGreaterThan(5);
      const page = await admin.must<RequestPage>('GET', '/api/console/admin/requests?model=kim-model');
      expect(page.items).toHaveLength(1);
      expect(page.items[0]).toMatchObject({ email: 'kim@example.com', upstream: 'house' });
      expect(
        (await admin.must<RequestPage>('GET', '/api/console/admin/requests?outcome=failed')).items.length,
      ).toBeGreaterThan(0);
      const entries = await admin.must<{ items: { kind: string }[] }>('GET', '/api/console/admin/entries');
      expect(entries.items.every(({ kind }) => kind !== 'charge')).toBe(true);
    });
  });
});
