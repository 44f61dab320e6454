import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { testPostgres } from '../../test/support/postgres.ts';
import { newRequestId, type AccountId } from '../std/ids.ts';
import { pdfPages } from './testing/pdf-pages.ts';
import { PASSWORD, PRICE, testConsole, type Browser, type TestConsole } from './testing/harness.ts';

const DAY_MS = 86_400_000;
const ISSUER = {
  name: 'Łódź & Söhne 株式会社',
  address: 'Street 1\n2nd floor\nDoor 3\n10115 Berlin\nGermany\nEurope',
  taxId: 'DE123456789',
};

describe.each([
  ['SQLite', () => Promise.resolve({})],
  ['Postgres', async () => ({ databaseUrl: await (await testPostgres()).freshDatabase() })],
])('statements on %s', (_, database) => {
  let site: TestConsole;
  let admin: Browser;
  beforeAll(async () => {
    site = await testConsole(await database());
    // Sessions end by the real time, so the months of these tests are over before it.
    site.advance(-300 * DAY_MS);
    admin = await site.admin();
    await admin.must('PATCH', '/api/console/admin/settings', { issuer: ISSUER });
  }, 300_000);
  afterAll(() => site.close());

  const monthNow = (): string => new Date(site.clock.now()).toISOString().slice(0, 7);
  const path = (month: string, kind: string): string => `/api/console/statements/${month}/${kind}`;

  async function signedIn(email: string): Promise<Browser> {
    const browser = site.browser();
    await browser.must('POST', '/api/auth/sign-in/email', { email, password: PASSWORD });
    return browser;
  }

  async function balanceOf(accountId: string): Promise<number> {
    const { balance } = await site.store.db
      .selectFrom('account')
      .select('balance')
      .where('id', '=', accountId)
      .executeTakeFirstOrThrow();
    return balance;
  }

  /** Two accounts with odd amounts, a month later. */
  async function monthLater(email: string): Promise<{ owner: Browser; accountId: string; month: string }> {
    const accountId = await (await site.user(email)).accountId();
    await site.credit(accountId, 5);
    // 3 tokens at 2/3 of a nano-dollar each are rounded up once.
    await site.charge(accountId, { usage: { input: 1_001, cached: 333, output: 7 } });
    await site.charge(accountId, { model: 'other', usage: { input: 13, cached: 7, output: 1 } });
    await site.charge(accountId, { failed: true });
    const month = monthNow();
    site.advance(40 * DAY_MS);
    return { owner: await signedIn(email), accountId, month };
  }

  test('are CSV files whose amounts are those of the ledger to the nano-dollar, and the next begins where one ends', async () => {
    const { owner, accountId, month } = await monthLater('exact@example.com');
    const rows = cells((await owner.must<{ text: string }>('GET', path(month, 'csv'))).text);
    const amounts = rows.filter(([, , , , , amount]) => amount !== '');
    expect(amounts[0]?.[3]).toBe('opening');
    expect(amounts.at(-1)?.[3]).toBe('closing');
    const nano = amounts.map((row) => nanoOf(row[5] ?? ''));
    expect(nano.at(-1)).toBe(await balanceOf(accountId));
    expect(nano.slice(0, -1).reduce((sum, one) => sum + one, 0)).toBe(nano.at(-1) ?? -1);
    const charge = amounts.find((row) => row[3] === 'charge');
    expect(charge?.[4]).toBe('3 requests');
    expect(nanoOf(charge?.[5] ?? '')).toBe((await balanceOf(accountId)) - 5_000_000_000);
    expect(rows.filter((row) => row[3]?.startsWith('issuer')).map((row) => row[4])).toEqual([
      ISSUER.name,
      'Street 1, 2nd floor, Door 3, 10115 Berlin, Germany, Europe',
      ISSUER.taxId,
    ]);
    expect(rows.find((row) => row[3] === 'rounding')?.[4]).toContain('rounded up once');
    const next = monthNow();
    site.advance(40 * DAY_MS);
    const later = cells(
      (await (await signedIn('exact@example.com')).must<{ text: string }>('GET', path(next, 'csv'))).text,
    );
    const kinds = later.filter((row) => row[5] !== '').map((row) => [row[3], row[5]]);
    expect(kinds).toEqual([
      ['opening', amounts.at(-1)?.[5]],
      ['closing', amounts.at(-1)?.[5]],
    ] as string[][]);
  });

  test('keep what they say when settings, prices and receipts change afterwards', async () => {
    const { owner, accountId, month } = await monthLater('kept@example.com');
    const before = await owner.must<{ text: string }>('GET', path(month, 'csv'));
    const now = await signedInAdmin();
    await now.must('PATCH', '/api/console/admin/settings', { issuer: { ...ISSUER, name: 'Another' } });
    expect(await owner.must<{ text: string }>('GET', path(month, 'csv'))).toEqual(before);
    const ofAccount = `/api/console/admin/accounts/${accountId}/statements`;
    expect(await now.must<{ text: string }>('GET', `${ofAccount}/${month}/csv`)).toEqual(before);
    const [listed] = await now.must<{ month: string; number: number | null }[]>('GET', ofAccount);
    expect([listed?.month, listed?.number === null]).toEqual([month, false]);
    const fetched = await now.must<{ items: object[] }>(
      'GET',
      '/api/console/admin/audit?action=statement.issue',
    );
    expect(fetched.items).toMatchObject([{ target: accountId }]);
    await now.must('PATCH', '/api/console/admin/settings', { issuer: ISSUER });
    expect((await site.ledger.verify({ full: true })).breaches).toEqual([]);
  });

  async function signedInAdmin(): Promise<Browser> {
    return await signedIn('admin@example.com');
  }

  test('wait until their month is over by an hour and no request of it runs', async () => {
    const email = 'early@example.com';
    const accountId = await (await site.user(email)).accountId();
    await site.credit(accountId, 1);
    const month = monthNow();
    const running = newRequestId(site.clock.now());
    await site.ledger.admit({
      requestId: running,
      caller: { kind: 'account', id: accountId as AccountId },
      rate: 'chat',
      endpoint: 'svc_chat',
      model: 'm',
      price: PRICE,
      ceiling: { kind: 'tokens', input: 10, output: 10, choices: 1 },
      stream: false,
      client: 'test',
      limits: { chatPerMinute: 1_000, imagesPerMinute: 1_000, concurrent: 10 },
    });
    const end = Date.UTC(Number(month.slice(0, 4)), Number(month.slice(5)));
    site.advance(end + 1_800_000 - site.clock.now());
    const asked = async () => (await signedIn(email)).call('GET', path(month, 'pdf'));
    const early = { param: 'month', message: expect.stringContaining('one hour after') as string };
    expect(await asked()).toMatchObject({ status: 400, body: { error: early } });
    site.advance(1_900_000);
    expect(await asked()).toMatchObject({
      status: 400,
      body: { error: { message: expect.stringContaining('still running') as string } },
    });
    await site.ledger.void(running, { outcome: 'shed', attempts: [], durationMs: 1 });
    expect((await asked()).status).toBe(200);
  });

  test('list the months that are over, and the days of each with what their receipts add up to', async () => {
    const { owner, accountId, month } = await monthLater('days@example.com');
    expect(await owner.must<object>('GET', '/api/console/statements')).toEqual([{ month, number: null }]);
    const [day, ...others] = await owner.must<Record<string, unknown>[]>('GET', path(month, 'days'));
    expect(others).toEqual([]);
    expect(day).toMatchObject({ requests: 3, archived: false });
    expect(nanoOf(String(day?.['chargedUsd']))).toBe(5_000_000_000 - (await balanceOf(accountId)));
    const from = Date.parse(`${String(day?.['day'])}T00:00:00Z`);
    const receipts = await owner.must<{ items: { chargedUsd: string }[] }>(
      'GET',
      `/api/console/requests?from=${from}&to=${from + DAY_MS - 1}`,
    );
    expect(receipts.items.map((one) => nanoOf(one.chargedUsd)).reduce((sum, one) => sum + one, 0)).toBe(
      nanoOf(String(day?.['chargedUsd'])),
    );
    await owner.call('GET', path(month, 'csv'));
    const [listed] = await owner.must<{ number: number }[]>('GET', '/api/console/statements');
    expect(listed?.number).toBeGreaterThan(0);
    await site.ledger.archive({
      accountId: accountId as AccountId,
      day: Number(String(day?.['day']).replaceAll('-', '')),
    });
    expect(await owner.must<object>('GET', path(month, 'days'))).toMatchObject([
      { requests: 3, archived: true },
    ]);
    expect((await site.ledger.verify({ full: true })).breaches).toEqual([]);
  });

  test('are for their owner alone, and of a real month', async () => {
    const { owner, month } = await monthLater('owner@example.com');
    await owner.must('GET', path(month, 'csv'));
    const stranger = await site.user('stranger@example.com');
    for (const kind of ['csv', 'pdf'])
      expect((await stranger.call('GET', path(month, kind))).status).toBe(404);
    for (const wrong of ['2026-13', '1999-01', '2026-1', 'x'])
      expect((await owner.call('GET', path(wrong, 'csv'))).status).toBe(404);
    expect((await owner.call('GET', `${path(month, 'pdf')}?language=fr`)).status).toBe(400);
    expect((await site.browser().call('GET', path(month, 'csv'))).status).toBe(401);
  });

  test('are PDF files of at most two pages in both languages, with letterhead and logo, whose columns add up in cents', async () => {
    const now = await signedInAdmin();
    await now.must('PUT', '/api/console/admin/logo', { jpeg: LOGO });
    const { owner, accountId, month } = await monthLater('pdf@example.com');
    await fillMonth(accountId, Number(month.replace('-', '')));
    const csv = cells((await owner.must<{ text: string }>('GET', path(month, 'csv'))).text);
    await now.must('PUT', '/api/console/admin/logo', { jpeg: '' });
    for (const language of ['en', 'de'] as const) {
      const isEnglish = language === 'en';
      const ask = `${path(month, 'pdf')}?language=${language}`;
      const [first, second] = [await owner.raw('GET', ask), await owner.raw('GET', ask)];
      expect(first.headers.get('content-type')).toBe('application/pdf');
      const bytes = await first.bytes();
      expect(await second.bytes()).toEqual(bytes);
      // As it was when the statement was issued.
      expect(Buffer.from(bytes).includes(Buffer.from(LOGO, 'base64'))).toBe(true);
      const pages = pdfPages(bytes);
      expect(pages.length).toBe(2);
      const text = pages.join('\n');
      expect(pages[0]).toStartWith('Lódz & Söhne ????\nStreet 1\n2nd floor');
      expect(text).toContain(ISSUER.taxId);
      expect(text).toContain(isEnglish ? 'This is not an invoice.' : 'Dies ist keine Rechnung.');
      expect(text).toContain(isEnglish ? 'The CSV file has them' : 'Die CSV-Datei hat es');
      expect(text).toContain(isEnglish ? '(continued)' : '(Fortsetzung)');
      for (const [index, page] of pages.entries())
        expect(page).toContain(isEnglish ? `Page ${index + 1} of 2` : `Seite ${index + 1} von 2`);
      const tables = centsOf(text);
      const [summary = [], moved = [], days = [], models = []] = tables;
      const [opening = 0, paid = 0, charged = 0, closing = 0] = summary;
      expect(closing).toBe(Math.round(nanoOf(csv.at(-1)?.[5] ?? '') / NANO_PER_CENT));
      expect(opening + paid + charged).toBe(closing);
      expect([moved, days, models].map((column) => column.reduce((sum, one) => sum + one, 0))).toEqual([
        paid,
        charged,
        charged,
      ]);
      expect([moved.length, days.length, models.length]).toEqual([12, 31, 20]);
      expect(text).toContain(isEnglish ? '120 other entries' : '120 weitere Buchungen');
      expect(text).toContain(isEnglish ? '45 other models' : '45 weitere Modelle');
    }
  });

  /** Many entries with texts that no font has all of, and requests of many models on every day. */
  async function fillMonth(accountId: string, month: number): Promise<void> {
    const cause =
      'Gutschrift für Łukasz Żółć, 山田太郎, Müşteri İÇ, 🙂 and a text that is far too long for its line '.repeat(
        2,
      );
    const entry = {
      account_id: accountId,
      kind: 'adjustment',
      amount: 5_000_000,
      cause,
      actor: 'x',
    } as const;
    const created_at = Date.UTC(Math.floor(month / 100), (month % 100) - 1, 28);
    await site.store.db
      .insertInto('entry')
      .values(Array.from({ length: 130 }, () => ({ ...entry, created_at })))
      .execute();
    const used = await site.store.db
      .selectFrom('usage_day')
      .selectAll()
      .where('account_id', '=', accountId)
      .executeTakeFirstOrThrow();
    const rows = Array.from({ length: 62 }, (_, index) => ({
      ...used,
      day: month * 100 + 1 + (index % 31),
      model: `model-${index}`,
      charged: 5_000_000 + index,
    }));
    await site.store.db.insertInto('usage_day').values(rows).execute();
  }
});

const NANO_PER_CENT = 10_000_000;
/** One white pixel. */
const LOGO =
  '/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAgGBgcGBQgHBwcJCQgKDBQNDAsLDBkSEw8UHRofHh0aHBwgJC4nICIsIxwcKDcpLDAxNDQ0Hyc5PTgyPC4zNDL/2wBDAQkJCQwLDBgNDRgyIRwhMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjL/wAARCAABAAEDASIAAhEBAxEB/8QAFQABAQAAAAAAAAAAAAAAAAAAAAf/xAAUEAEAAAAAAAAAAAAAAAAAAAAA/8QAFAEBAAAAAAAAAAAAAAAAAAAAAP/EABQRAQAAAAAAAAAAAAAAAAAAAAD/2gAMAwEAAhEDEQA/AL+AAA//2Q==';

/** The amounts of each table, in cents. */
function centsOf(text: string): number[][] {
  const tables: number[][] = [];
  for (const line of text.split('\n')) {
    if (/^US.[Dd]ollars?$/.test(line)) continue;
    if (
      /^(Summary|Übersicht|Payments, credits|Zahlungen, Gut|Requests by (day|model)|Anfragen nach (Tag|Modell))/.test(
        line,
      )
    ) {
      if (!/\((continued|Fortsetzung)\)/.test(line) && !isSummaryRow(tables, line)) tables.push([]);
    }
    if (/^–?[\d.,]+[.,]\d\d$/.test(line))
      tables.at(-1)?.push(Number(line.replace('–', '-').replaceAll(/[.,]/g, '')));
  }
  return tables;
}

/** The summary has a line of the same name as the table of entries. */
function isSummaryRow(tables: readonly (readonly number[])[], line: string): boolean {
  return tables.length === 1 && (tables[0]?.length ?? 0) < 3 && /^(Payments|Zahlungen)/.test(line);
}

/** Rows of a CSV file without its header. */
function cells(text: string): string[][] {
  const row = /(?:"((?:[^"]|"")*)"|([^,\r\n]*))(,|\r\n)/gy;
  const rows: string[][] = [[]];
  for (const [, quoted, plain = '', end] of text.matchAll(row)) {
    rows.at(-1)?.push(quoted?.replaceAll('""', '"') ?? plain);
    if (end === '\r\n') rows.push([]);
  }
  return rows.slice(1, -1);
}

/** Without a float. */
function nanoOf(usd: string): number {
  const [, sign = '', whole = '', fraction = ''] = /^(-?)(\d+)\.(\d+)$/.exec(usd) ?? [];
  return Number(`${sign}${whole}${fraction.padEnd(9, '0')}`);
}
