import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { sql } from 'kysely';
import { testPostgres } from '../../test/support/postgres.ts';
import { Accounts } from '../identity/accounts/accounts.ts';
import { writeAudit } from '../activity/audit.ts';
import { runCli } from '../cli/cli.ts';
import type { CliContext, CliServices } from '../cli/command.ts';
import { newRequestId, type AccountId } from '../std/ids.ts';
import { PASSWORD, PRICE, testConsole, type Browser, type TestConsole } from './testing/harness.ts';
import { testImages } from './testing/test-images.ts';

const DATABASES: Record<string, () => Promise<TestConsole>> = {
  SQLite: () => testConsole(),
  Postgres: async () => testConsole({ databaseUrl: await (await testPostgres()).freshDatabase() }),
};

describe.each(Object.entries(DATABASES))('removing an account on %s', (_name, open) => {
  let site: TestConsole;
  let admin: Browser;
  beforeAll(async () => {
    site = await open();
    admin = await site.admin();
  }, 60_000);
  afterAll(() => site.close());

  /** Somebody with a balance, a charge, a token, an image, a job, a kept answer, a webhook, a mail, preferences and a draft. */
  async function person(email: string, name: string) {
    const browser = site.browser();
    await browser.must('POST', '/api/auth/sign-up/email', { email, password: PASSWORD, name });
    const id = await browser.accountId();
    await site.credit(id, 5);
    const requestId = await site.charge(id);
    const { db } = site.store;
    const owned = { account_id: id, request_id: requestId, created_at: 1 };
    await db
      .insertInto('image')
      .values({
        ...owned,
        id: `img_${id}`,
        mime: 'image/png',
        bytes: Buffer.from('x'),
        size: 1,
        prompt: name,
        expires_at: 1,
      })
      .execute();
    const job = { id: requestId, account_id: id, deadline: 1, created_at: 1 };
    await db
      .insertInto('image_job')
      .values({ ...job, state: 'running', request: JSON.stringify({ prompt: name }) })
      .execute();
    await db
      .insertInto('answer')
      .values({
        ...owned,
        idempotency_key: 'k',
        body_hash: 'h',
        state: 'done',
        status: 200,
        headers: '{}',
        body: Buffer.from(name),
        lease_until: 1,
      })
      .execute();
    const made = { account_id: id, created_at: 1 };
    const content = Buffer.from(name);
    const sizes = { bytes: 10, item_bytes: 10, head: content };
    await db
      .insertInto('stored_response')
      .values({ ...made, ...sizes, id: `resp_${id}`, state: 'completed', items: content })
      .execute();
    await db
      .insertInto('conversation')
      .values({ ...made, ...sizes, id: `conv_${id}`, last_place: 1 })
      .execute();
    await db
      .insertInto('conversation_item')
      .values({ account_id: id, conversation_id: `conv_${id}`, place: 1, id: `msg_${id}`, item: content })
      .execute();
    const hook = {
      id: `whk_${id}`,
      url: `https://hooks.example/${name}`,
      events: '[]',
      sealed: '',
      hint: '',
    };
    await db
      .insertInto('webhook')
      .values({ ...made, ...hook })
      .execute();
    const mail = {
      kind: 'mail',
      topic: 'balance.low',
      destination: email,
      next_at: 1,
      expires_at: 1,
    } as const;
    await db
      .insertInto('outbox')
      .values({ ...made, ...mail, id: `msg_${id}` })
      .execute();
    await db
      .insertInto('notice')
      .values({ ...made, topic: 'balance.low', mark: name })
      .execute();
    await db
      .insertInto('setting')
      .values({ key: `catalog_draft:${id}`, value: JSON.stringify({ yaml: name }), updated_at: 1 })
      .execute();
    const accounts = new Accounts({
      store: site.store,
      ledger: site.ledger,
      pepper: new Uint8Array(32),
      clock: site.clock,
    });
    await accounts.replaceToken(id as AccountId);
    return { browser, id, requestId, path: `/api/console/admin/accounts/${id}` };
  }

  /** Every text in the database that contains the word. */
  async function tracesOf(word: string): Promise<string[]> {
    const traces: string[] = [];
    for (const { name } of await site.store.db.introspection.getTables()) {
      const { rows } = await sql<Record<string, unknown>>`SELECT * FROM ${sql.table(name)}`.execute(
        site.store.db,
      );
      for (const row of rows) {
        const text = Object.values(row)
          .map((value) => (value instanceof Uint8Array ? Buffer.from(value).toString('utf8') : String(value)))
          .join(' ');
        if (text.toLowerCase().includes(word)) traces.push(`${name}: ${text}`);
      }
    }
    return traces;
  }

  test('leaves no trace of the person and all of the books, and frees the address', async () => {
    const { browser, id, requestId, path } = await person('vera@example.com', 'Vera Zzyzx');
    expect((await tracesOf('zzyzx')).length).toBeGreaterThan(2);
    const { body } = await admin.call('POST', `${path}/remove`, {});
    expect(body).toMatchObject({
      error: { param: 'reason', message: expect.stringContaining('balance of $4.99') },
    });
    expect(await admin.must('POST', `${path}/remove`, { reason: 'left the company' })).toMatchObject({
      isRemoved: true,
      status: 'disabled',
      tokenHint: null,
      balanceUsd: '0.00',
    });
    expect(await tracesOf('vera@example.com')).toEqual([]);
    expect(await tracesOf('zzyzx')).toEqual([]);
    expect((await browser.call('GET', '/api/console/overview')).status).toBe(401);
    const { db } = site.store;
    expect(await db.selectFrom('receipt').select('account_id').where('id', '=', requestId).execute()).toEqual(
      [{ account_id: id }],
    );
    const entries = await db
      .selectFrom('entry')
      .selectAll()
      .where('account_id', '=', id)
      .orderBy('id')
      .execute();
    expect(entries).toMatchObject([
      { kind: 'credit' },
      { kind: 'adjustment', cause: 'written off: left the company', actor: await admin.accountId() },
    ]);
    const acts = await db
      .selectFrom('audit')
      .select(['action', 'detail'])
      .where('target', '=', id)
      .orderBy('id')
      .execute();
    expect(acts.map(({ action }) => action)).toEqual([
      'account.remove',
      'account.remove.refused',
      'account.remove',
      'account.remove.changed',
    ]);
    expect((await site.ledger.verify({ full: true })).breaches).toEqual([]);
    const again = await site.user('vera@example.com');
    expect(await again.accountId()).not.toBe(id);
    const repeated = await admin.must<{ email: string }>('POST', `${path}/remove`, {});
    expect(repeated.email).not.toContain('vera');
  });

  test('is refused while a request runs, changes nothing then, and works when it is over', async () => {
    const { browser, id, path } = await person('max@example.com', 'Max');
    const requestId = newRequestId(site.clock.now());
    await site.ledger.admit({
      requestId,
      caller: { kind: 'account', id: id as AccountId },
      rate: 'chat',
      endpoint: 'svc_chat',
      model: 'm',
      price: PRICE,
      ceiling: { kind: 'tokens', input: 10, output: 10, choices: 1 },
      stream: false,
      client: '',
      limits: { chatPerMinute: 100, imagesPerMinute: 100, concurrent: 100 },
    });
    expect(await admin.call('POST', `${path}/remove`, { reason: 'x' })).toMatchObject({
      status: 400,
      body: { error: { message: expect.stringContaining('still running') } },
    });
    await browser.must('GET', '/api/console/overview');
    await site.ledger.void(requestId, { outcome: 'shed', attempts: [], durationMs: 1 });
    await admin.must('POST', `${path}/remove`, { reason: 'x' });
    expect((await site.ledger.verify({ full: true })).breaches).toEqual([]);
  });

  test('is refused for the last admin, and for nobody', async () => {
    const id = await admin.accountId();
    const { status, body } = await admin.call('POST', `/api/console/admin/accounts/${id}/remove`, {
      reason: 'x',
    });
    expect({ status, body }).toMatchObject({ status: 409, body: { error: { code: 'last_admin' } } });
    expect((await admin.call('POST', '/api/console/admin/accounts/acc_nobody/remove', {})).status).toBe(404);
    await admin.must('GET', '/api/console/admin/accounts');
  });

  function commandServices(): CliServices {
    const { store, ledger, clock } = site;
    const accounts = new Accounts({ store, ledger, pepper: new Uint8Array(32), clock });
    return { store, ledger, accounts, images: testImages(store, clock) } as CliServices;
  }

  test('leaves no address in the audit log of an account that was made and named on the command line', async () => {
    const services = commandServices();
    const context = {
      clock: site.clock,
      print: () => undefined,
      warn: () => undefined,
      withServices: <T>(work: (all: CliServices) => Promise<T>) => work(services),
    } as unknown as CliContext;
    const run = (...argv: string[]) => runCli(['account', ...argv], context, () => undefined);
    const email = 'quilla.vex@example.com';
    expect(await run('create', email)).toBe(0);
    expect(await run('create', email)).toBe(4);
    const id = (await services.accounts.require(email)).id;
    const detail = { note: `asked for by <${email}>` };
    const entry = { actor: 'cli', action: 'settings.change', target: '', detail };
    await writeAudit(site.store, entry, site.clock.now());
    expect(await run('remove', email, '--yes')).toBe(0);
    expect(await tracesOf('quilla.vex@')).toEqual([]);
    const acts = await site.store.db.selectFrom('audit').select('action').where('target', '=', id).execute();
    expect(acts.map(({ action }) => action)).toEqual(['account.created', 'account.remove']);
  });

  test('on the command line asks for --yes first, and is in the audit log', async () => {
    const { id } = await person('cleo@example.com', 'Cleo');
    const services = commandServices();
    const lines: string[] = [];
    const context = {
      clock: site.clock,
      print: (line: string) => void lines.push(line),
      withServices: <T>(work: (all: CliServices) => Promise<T>) => work(services),
    } as CliContext;
    const run = (...argv: string[]) =>
      runCli(['account', 'remove', 'cleo@example.com', ...argv], context, (line) => void lines.push(line));
    expect(await run()).toBe(2);
    expect(lines.pop()).toContain('add --yes');
    expect(await run('--yes')).toBe(4);
    expect(lines.pop()).toContain('name a reason');
    expect(await run('--yes', '--reason', 'closed')).toBe(0);
    expect(lines).toEqual([
      `cleo@example.com was removed. Its books stay under ${id}.`,
      '$4.99982 were written off.',
    ]);
    const acts = await site.store.db
      .selectFrom('audit')
      .select(['actor', 'action'])
      .where('target', '=', id)
      .execute();
    expect(acts).toEqual([{ actor: 'cli', action: 'account.remove' }]);
  });
});
