import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { sql } from 'kysely';
import { runCli } from '../../src/cli/cli.ts';
import type { CliContext, CliServices } from '../../src/cli/command.ts';
import { systemClock } from '../../src/std/clock.ts';
import { catalogFor, Gateway } from '../support/gateway.ts';
import { eventually } from '../support/node-process.ts';
import { testPostgres } from '../support/postgres.ts';
import { completion, ScriptedBackend, streamed, usage } from '../support/scripted-backend.ts';

/**
 * A team as its operator, its members and its apps see it: made at the command line, called with tokens. A token of output
 * costs $0.00001, and input nothing.
 */

/** One request of this many tokens costs a cent. */
const CENT = 1_000;

describe.each(['sqlite', 'postgres'] as const)('on %s', (store) => {
  const backend = new ScriptedBackend();
  let gateway: Gateway;
  let teams = 0;

  beforeAll(async () => {
    const databaseUrl = store === 'postgres' ? await (await testPostgres()).freshDatabase() : undefined;
    const yaml = catalogFor([backend.baseUrl], { prices: 'input: 0, output: 10' });
    gateway = await Gateway.start({ yaml, ...(databaseUrl && { databaseUrl }) });
    backend.script(({ body }) =>
      body['stream'] === true
        ? streamed(['x'], { prompt: 5, completion: 1 })
        : completion('x', usage(5, Number(body['max_tokens']))),
    );
  });
  afterEach(async () => expect((await gateway.verify()).breaches).toEqual([]));
  afterAll(async () => {
    await gateway.stop();
    await backend.stop();
  });

  async function tollgate<Answer = Record<string, unknown>>(...words: string[]): Promise<Answer> {
    const { code, out, err } = await ran(...words);
    if (code !== 0) throw new Error(err || out);
    return JSON.parse(out) as Answer;
  }

  /** On the services of the running server: the process of the command line has tests of its own. */
  async function ran(...words: string[]): Promise<{ code: number; out: string; err: string }> {
    const out: string[] = [];
    const err: string[] = [];
    const { services } = gateway.tollgate;
    const context = {
      clock: systemClock,
      machineUser: 'tester',
      print: (line: string) => out.push(line),
      warn: (line: string) => err.push(line),
      withServices: (work: (services: CliServices) => Promise<number>) =>
        work({ ...services, ledger: services.ledger.ledger } as unknown as CliServices),
    } as unknown as CliContext;
    const code = await runCli([...words, '--json'], context, (line) => err.push(line));
    return { code, out: out.join('\n'), err: err.join('\n') };
  }

  interface Token {
    readonly account: string;
    readonly token: string;
  }

  /** A team with a balance, and the address of its owner. */
  async function newTeam(
    balance: string,
  ): Promise<{ readonly name: string; readonly owner: string; readonly ownToken: string }> {
    const owner = await gateway.account('1');
    const name = `team-${++teams}`;
    await tollgate('team', 'create', name, '--owner', owner.email, '--balance', balance);
    return { name, owner: owner.email, ownToken: owner.token };
  }

  async function ask(token: string, tokens = CENT, more: object = {}) {
    const response = await gateway.chat(token, { max_tokens: tokens, ...more });
    const body = (await response.json()) as { error?: Record<string, unknown> };
    return { status: response.status, error: body.error, headers: response.headers };
  }

  async function accountOf(token: string) {
    const response = await gateway.fetch('/api/public/v1/account', {
      headers: { authorization: `Bearer ${token}` },
    });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  }

  test('whoever joins a team spends its balance with a new token; their old one has ended', async () => {
    const { name, owner, ownToken } = await newTeam('0.10');
    expect((await ask(ownToken)).status).toBe(401);
    const { token } = await tollgate<Token>('account', 'token', owner);
    expect((await ask(token)).status).toBe(200);
    expect((await accountOf(token)).body).toMatchObject({
      email: owner,
      team: { name, role: 'owner' },
      available_usd: 0.09,
      balance_usd: 0.09,
      limits: { budget: null },
      usage: { month_usd: 0.01 },
    });
    const shown = await tollgate<{ balance_usd: number; accounts: object[] }>('team', 'show', name);
    expect(shown).toMatchObject({ team: name, balance_usd: 0.09, held_usd: 0 });
    expect(shown.accounts).toMatchObject([{ kind: 'member', name: owner, role: 'owner', budget: null }]);
  });

  test('an app spends at most its budget, hears when it begins again, and can spend more once it is raised', async () => {
    const { name } = await newTeam('1');
    const { token, account } = await tollgate<Token>('team', 'app', name, 'nightly', '--budget', '0.03/day');
    const answers = await Promise.all(Array.from({ length: 10 }, () => ask(token)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(3);
    const refused = await ask(token);
    expect(refused.status).toBe(402);
    expect(refused.error).toMatchObject({
      code: 'payment_required',
      reason: 'limit_reached',
      scope: 'account',
      limit: 'budget_day',
    });
    const resetsAt = new Date(String(refused.error?.['resets_at']));
    expect(resetsAt.toISOString()).toEndWith('T00:00:00.000Z');
    expect((await accountOf(token)).body).toMatchObject({
      account,
      email: null,
      name: 'nightly',
      available_usd: 0,
      limits: {
        budget: {
          amount_usd: 0.03,
          per: 'day',
          used_usd: 0.03,
          held_usd: 0,
          resets_at: resetsAt.toISOString(),
        },
      },
    });
    const shown = await tollgate<{ accounts: { name: string }[] }>('team', 'show', name);
    expect(shown.accounts.find((one) => one.name === 'nightly')).toMatchObject({
      kind: 'app',
      used_usd: 0.03,
      budget: { amount_usd: 0.03, per: 'day' },
    });
    const raised = await tollgate('team', 'app', name, 'nightly', '--budget', '0.04/day');
    expect(raised).toMatchObject({ account, name: 'nightly', budget: { amount_usd: 0.04, used_usd: 0.03 } });
    expect(raised).not.toHaveProperty('token');
    expect([(await ask(token)).status, (await ask(token)).status]).toEqual([200, 402]);
  });

  test('a personal account has a budget, too, and its answers say what is left of it', async () => {
    const { email, token } = await gateway.account('1');
    await tollgate('account', 'limit', email, '--budget', '0.05/month');
    const answer = await ask(token);
    expect(answer.headers.get('x-tollgate-budget-remaining-usd')).toBe('0.04');
    await tollgate('account', 'limit', email, '--budget', 'none');
    expect((await ask(token)).headers.get('x-tollgate-budget-remaining-usd')).toBeNull();
  });

  test('a team without money says whose money is missing', async () => {
    const { name } = await newTeam('0');
    const { token } = await tollgate<Token>('team', 'app', name, 'poor');
    expect((await ask(token)).error).toMatchObject({ reason: 'insufficient_balance', scope: 'team' });
    await tollgate('team', 'credit', name, '0.01', '--key', 'invoice-1');
    await tollgate('team', 'credit', name, '0.01', '--key', 'invoice-1');
    expect((await ask(token)).status).toBe(200);
    expect((await ask(token)).status).toBe(402);
  });

  test('a token that is limited to models sees and uses those alone', async () => {
    const { name } = await newTeam('1');
    const { token } = await tollgate<Token>('team', 'app', name, 'picky', '--models', 'svc_tgter/*,other/*');
    const headers = { authorization: `Bearer ${token}` };
    const listed = (await (await gateway.fetch('/v1/models', { headers })).json()) as {
      data: { id: string }[];
    };
    expect(listed.data.length).toBeGreaterThan(0);
    expect(listed.data.every(({ id }) => !id.startsWith('svc_chat/'))).toBe(true);
    expect(await ask(token)).toMatchObject({
      status: 400,
      error: { code: 'model_not_allowed', param: 'model' },
    });
    const quote = await gateway.fetch('/api/public/v1/quotes', {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify({ endpoint: 'svc_chat', model: 'm', messages: [{ role: 'user', content: 'x' }] }),
    });
    expect(await quote.json()).toMatchObject({ error: { code: 'model_not_allowed' } });
  });

  test('a token from a foreign network, one that was paused, replaced, ended or has expired opens nothing', async () => {
    const { name } = await newTeam('1');
    const app = async (...words: string[]) => await tollgate<Token>('team', 'app', name, ...words);
    const foreign = await app('far', '--networks', '192.0.2.0/24');
    expect(await ask(foreign.token)).toMatchObject({ status: 401, error: { code: 'network_not_allowed' } });
    expect((await accountOf(foreign.token)).body).toMatchObject({ error: { code: 'network_not_allowed' } });
    const near = await app('near', '--networks', '::ffff:127.0.0.0/104,::1');
    expect((await ask(near.token)).status).toBe(200);
    const expired = await app('old', '--expires', '2020-01-01');
    expect(await ask(expired.token)).toMatchObject({ status: 401, error: { code: 'invalid_token' } });
    const paused = await app('resting');
    await app('resting', '--pause');
    expect((await ask(paused.token)).status).toBe(401);
    await app('resting', '--resume');
    expect((await ask(paused.token)).status).toBe(200);
    const replaced = await app('resting', '--replace-token');
    expect((await ask(paused.token)).status).toBe(401);
    expect((await ask(replaced.token)).status).toBe(200);
    await app('resting', '--end');
    expect((await ask(replaced.token)).status).toBe(401);
  });

  test('a removed member is out at once, and the last owner stays', async () => {
    const { name, owner } = await newTeam('1');
    const { email } = await gateway.account('1');
    await tollgate('team', 'add', name, email, '--role', 'admin', '--budget', '0.50/month');
    const { token } = await tollgate<Token>('account', 'token', email);
    expect((await ask(token)).status).toBe(200);
    expect((await ran('team', 'remove', name, owner)).code).not.toBe(0);
    expect((await ran('team', 'role', name, owner, 'member')).code).not.toBe(0);
    await tollgate('team', 'role', name, email, 'owner');
    await tollgate('team', 'remove', name, owner);
    await tollgate('team', 'role', name, email, 'owner');
    expect((await ask(token)).status).toBe(200);
    const other = await newTeam('1');
    expect((await ran('team', 'add', other.name, email)).err).toContain('in a team already');
  });

  test('who only looks on has no token', async () => {
    const { name } = await newTeam('1');
    const { email, token } = await gateway.account('1');
    await tollgate('team', 'add', name, email, '--role', 'viewer');
    expect((await ask(token)).status).toBe(401);
    expect((await ran('account', 'token', email)).code).not.toBe(0);
  });

  test('a closed team gives back what was paid to its owner, and its tokens are nobody’s', async () => {
    const { name, owner } = await newTeam('0.50');
    const { token } = await tollgate<Token>('team', 'app', name, 'last');
    expect((await ask(token)).status).toBe(200);
    expect(await tollgate('team', 'close', name)).toMatchObject({ returned_usd: 0.49, written_off_usd: 0 });
    expect((await ask(token)).status).toBe(401);
    expect(await tollgate('account', 'show', owner)).toMatchObject({ balance_usd: 1.49 });
    expect((await ran('team', 'show', name)).code).not.toBe(0);
  });

  test('every command answers in JSON with what was asked of it: the list, limits of a team, and of each kind of app', async () => {
    const { name, owner } = await newTeam('2');
    const lines = (await ran('team', 'list')).out.split('\n').map((line) => JSON.parse(line) as object);
    expect(lines).toContainEqual(expect.objectContaining({ team: name, balance_usd: 2, held_usd: 0 }));
    const limits = ['--chat', '100', '--images', '10', '--concurrent', '5', '--monthly', '20'];
    const limited = {
      team: name,
      chat_per_minute: 100,
      images_per_minute: 10,
      concurrent: 5,
      monthly_usd: 20,
    };
    expect(await tollgate('team', 'limit', name, ...limits)).toMatchObject(limited);
    const restored = await tollgate('team', 'limit', name, '--chat', 'default', '--monthly', 'default');
    expect(restored).toMatchObject({ ...limited, chat_per_minute: null, monthly_usd: null });
    const wanted = ['--budget', '5/day', '--models', 'svc_chat/*,pics/*', '--expires', '2099-12-31'];
    const app = await tollgate('team', 'app', name, 'all', ...wanted, '--networks', '192.0.2.0/24');
    expect(app).toEqual({
      account: expect.stringMatching(/^acc_/) as string,
      name: 'all',
      token: expect.stringMatching(/^sk-/) as string,
    });
    const account = app['account'];
    expect(await tollgate('team', 'app', name, 'all', '--networks', 'none')).toMatchObject({
      account,
      budget: { amount_usd: 5, per: 'day', used_usd: 0 },
      models: ['svc_chat/*', 'pics/*'],
      networks: null,
      expires: '2099-12-31T00:00:00.000Z',
    });
    for (const [action, state] of [
      ['--pause', 'paused'],
      ['--resume', 'active'],
      ['--end', 'ended'],
    ] as const)
      expect(await tollgate('team', 'app', name, 'all', action)).toMatchObject({ account, state });
    // Who is in a team makes no other, and an account that is no person's owns none.
    const { email } = await gateway.account('1');
    await tollgate('team', 'add', name, email, '--role', 'viewer');
    const again = await ran('team', 'create', 'another', '--owner', owner);
    expect([again.code === 0, again.err]).toEqual([false, expect.stringContaining('in a team already')]);
    const app2 = await tollgate<Token>('team', 'app', name, 'two');
    expect((await ran('team', 'add', name, `${app2.account}@app.invalid`)).code).not.toBe(0);
    expect(await tollgate('team', 'credit', name, '0.5')).toMatchObject({ team: name });
    const { accounts } = await tollgate<{ accounts: object[] }>('team', 'show', name);
    expect(accounts).toMatchObject([
      { kind: 'member', name: owner, role: 'owner', used_usd: 0, budget: null },
      { kind: 'member', name: email, role: 'viewer' },
      { kind: 'app', name: 'two', role: 'member' },
    ]);
    expect(await tollgate('team', 'close', name, '--write-off', 'a trial')).toMatchObject({
      team: name,
      returned_usd: 0,
      written_off_usd: 2.5,
    });
  });

  test('bad names, budgets, patterns and networks are refused in a sentence, and nothing is made', async () => {
    const { name } = await newTeam('1');
    for (const [flag, value, about] of [
      ['--budget', '5/year', 'not a budget'],
      ['--budget', 'much/day', 'not a budget'],
      ['--models', 'gpt 5', 'not a pattern'],
      ['--networks', '10.0.0.0/33', 'not a network'],
      ['--networks', 'example.org', 'not a network'],
      ['--networks', 'fe80::1%eth0', 'not a network'],
      ['--expires', 'soon', 'not a date'],
    ] as const) {
      const { code, err } = await ran('team', 'app', name, 'bad', flag, value);
      expect([code === 0, err.includes(about), err]).toEqual([false, true, err]);
    }
    const { accounts } = await tollgate<{ accounts: object[] }>('team', 'show', name);
    expect(accounts).toHaveLength(1);
  });

  test('tags that a team asked for are on its receipts, in every dialect; those of others are nowhere', async () => {
    const { name } = await newTeam('1');
    const { token } = await tollgate<Token>('team', 'app', name, 'billed');
    const { token: stranger } = await tollgate<Token>('team', 'app', (await newTeam('1')).name, 'other');
    const limit = await tollgate('team', 'limit', name, '--tags', 'project,user,__proto__,user_id');
    expect(limit).toMatchObject({ tags: ['project', 'user', '__proto__', 'user_id'] });
    const asked = { model: 'svc_chat/m', max_tokens: 1, messages: [{ role: 'user', content: 'hi' }] };
    // Written out, since a literal cannot have a member of that name.
    const metadata = JSON.parse(
      '{"project":"=cmd","__proto__":"\\ud800 \\u0000 ü 漢 😀","left out":"x"}',
    ) as object;
    const tagsOf = async (path: string, body: object, by = token): Promise<unknown> => {
      const response = await gateway.post(path, by, body);
      expect([path, response.status, (await response.text()).slice(0, 300)]).toEqual([
        path,
        200,
        expect.anything(),
      ]);
      const id = response.headers.get('x-request-id') ?? '';
      await eventually('the receipt', async () => (await gateway.receipt(id)).state === 'posted');
      const receipt = await gateway.fetch(`/api/public/v1/requests/${id}`, { token: by });
      return ((await receipt.json()) as { tags?: unknown }).tags;
    };
    // A server hears of it a moment later.
    const known = async (): Promise<boolean> =>
      (await tagsOf('/v1/chat/completions', { ...asked, user: 'ann' })) !== undefined;
    await eventually('the tags are kept', known);
    const kept = JSON.parse('{"project":"=cmd","__proto__":"\ufffd \ufffd ü 漢 😀","user":"ann"}') as object;
    const said = { user: 'ann', metadata };
    for (const [path, body] of [
      ['/v1/chat/completions', { ...asked, ...said }],
      ['/v1/chat/completions', { ...asked, ...said, stream: true }],
      ['/api/public/v1/chat/completions', { ...asked, ...said }],
      ['/v1/completions', { model: 'svc_chat/m', prompt: 'hi', max_tokens: 1, ...said }],
      ['/v1/responses', { model: 'svc_chat/m', input: 'hi', max_output_tokens: 16, ...said }],
    ] as const)
      expect([path, await tagsOf(path, body)]).toEqual([path, kept]);
    const ofAnthropic = { ...asked, metadata: { user_id: 'ann' } };
    expect(await tagsOf('/v1/messages', ofAnthropic)).toEqual({ user_id: 'ann' });
    expect(await tagsOf('/v1/chat/completions', asked)).toBeUndefined();
    expect(await tagsOf('/v1/chat/completions', { ...asked, ...said }, stranger)).toBeUndefined();
    // Where they cannot be kept, no backend is called and nothing is held or charged.
    const { db } = gateway.tollgate.services.store;
    const calls = backend.calls.length;
    await sql`ALTER TABLE request_tag RENAME TO request_tag_away`.execute(db);
    const failed = await gateway.post('/v1/chat/completions', token, { ...asked, ...said });
    expect([failed.status, await failed.json()]).toMatchObject([
      500,
      { error: { code: 'service_unavailable' } },
    ]);
    await sql`ALTER TABLE request_tag_away RENAME TO request_tag`.execute(db);
    expect(backend.calls.length).toBe(calls);
    const receipt = await gateway.receipt(failed.headers.get('x-request-id') ?? '');
    expect(receipt).toMatchObject({ state: 'void', charged: 0 });
    expect((await tollgate('team', 'limit', name, '--tags', 'none'))['tags']).toEqual([]);
  });

  test('metadata is what the reference says it may be: more, longer or something else is refused, and nothing is held', async () => {
    const { token } = await gateway.account('1');
    const pairs = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, 'v'.repeat(512)]));
    for (const path of ['/v1/chat/completions', '/v1/completions', '/v1/responses']) {
      const tried = async (metadata: unknown) => {
        const input = { messages: [{ role: 'user', content: 'hi' }], prompt: 'hi', input: 'hi' };
        const field =
          { '/v1/chat/completions': 'messages', '/v1/completions': 'prompt', '/v1/responses': 'input' }[
            path
          ] ?? '';
        const said = { model: 'svc_chat/m', [field]: input[field as keyof typeof input], metadata };
        const response = await gateway.post(path, token, said);
        return { status: response.status, body: (await response.json()) as { error?: object } };
      };
      expect((await tried(pairs(16))).status).toBe(200);
      for (const metadata of [
        pairs(17),
        { k: 'v'.repeat(513) },
        { ['k'.repeat(65)]: 'v' },
        { k: 1 },
        { k: { a: 'b' } },
        ['a'],
      ]) {
        const { status, body } = await tried(metadata);
        expect([path, status]).toEqual([path, 400]);
        expect(body.error).toMatchObject({
          code: 'invalid_field',
          param: expect.stringMatching(/^metadata/) as string,
        });
      }
    }
    for (const names of [
      'a b',
      'a,a',
      Array.from({ length: 17 }, (_, at) => `k${at}`).join(','),
      'k'.repeat(65),
      '',
    ])
      expect((await ran('account', 'limit', 'user1@example.com', '--tags', names)).err).toContain('tags:');
  });
});
