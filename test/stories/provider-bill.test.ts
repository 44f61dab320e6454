import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runCli } from '../../src/cli/cli.ts';
import { parseCatalog } from '../../src/catalog/parse.ts';
import type { CliContext } from '../../src/cli/command.ts';
import { Gateway, type TestAccount } from '../support/gateway.ts';
import { testPostgres } from '../support/postgres.ts';
import { SocketBackend } from '../support/socket-backend.ts';

/**
 * A backend that breaks off may have worked, and bill for it: nobody knows until its bill comes. Then the operator books
 * it, and what each model cost is what the provider billed.
 */

const DAY_MS = 86_400_000;
const WHOLE = JSON.stringify({
  id: 'x',
  object: 'chat.completion',
  created: 1,
  model: 'acme-small',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Good.' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 },
});

/** What the next call gets; it breaks off if there is nothing left. */
const answers: string[] = [];
const backend = new SocketBackend((socket) => {
  const text = answers.shift();
  if (text === undefined) socket.resetAndDestroy();
  else
    socket.write(
      `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n${text}`,
    );
});
let baseUrl = '';

beforeAll(async () => {
  baseUrl = await backend.start();
});
afterAll(() => backend.stop());

/** `small` is `acme-small` at the provider; its cost is its price. */
const CATALOG = () => `
upstreams:
  acme: { kind: openai, base_url: "${baseUrl}" }
  elsewhere: { kind: openai, base_url: "${baseUrl}" }
lists:
  chat:
    - { model: small, input: 1, output: 2, max_output: 1000, upstream_models: { acme: acme-small }, cost: { acme: { input: 1, output: 2 } } }
endpoints:
  svc_chat: { name: chat, type: chat_completion, lists: [chat], upstreams: [acme] }
`;

describe.each(['SQLite', 'Postgres'])('the bill of a provider on %s', (store) => {
  let gateway: Gateway;
  let account: TestAccount;

  beforeEach(async () => {
    answers.length = 0;
    const databaseUrl = store === 'Postgres' ? await (await testPostgres()).freshDatabase() : undefined;
    gateway = await Gateway.start({ yaml: CATALOG(), ...(databaseUrl !== undefined && { databaseUrl }) });
    account = await gateway.account('10');
  });
  afterEach(async () => {
    const { ledger } = gateway.tollgate.services.ledger;
    expect((await ledger.verify({ full: true })).breaches).toEqual([]);
    await gateway.stop();
  });

  async function ask(): Promise<number> {
    const messages = [{ role: 'user', content: 'How are you?' }];
    const body = { model: 'svc_chat/small', messages, max_tokens: 1_000 };
    const response = await gateway.post('/v1/chat/completions', account.token, body);
    await response.text();
    await gateway.settled(account);
    return response.status;
  }

  /** As an operator would, some days later. */
  async function tollgate(days: number, ...words: string[]) {
    const { services } = gateway.tollgate;
    const out: string[] = [];
    const err: string[] = [];
    const context = {
      env: {},
      clock: { now: () => Date.now() + days * DAY_MS },
      print: (line: string) => void out.push(line),
      warn: (line: string) => void err.push(line),
      withServices: <T>(work: (given: never) => Promise<T>): Promise<T> =>
        work({
          ...services,
          ledger: services.ledger.ledger,
          catalog: () => Promise.resolve(parseCatalog(CATALOG(), { fileName: 'tollgate.yaml', env: {} })),
        } as never),
    } as unknown as CliContext;
    const code = await runCli(words, context, (line) => void err.push(line));
    return { code, out: out.join('\n'), err: err.join('\n') };
  }

  /** When the day of the last request began, in seconds. */
  async function requestDay(): Promise<number> {
    const requests = await gateway.requests(account);
    const last = Math.max(...requests.map((request) => request.created_at));
    return Math.floor(last / DAY_MS) * (DAY_MS / 1_000);
  }

  /** A page of OpenAI's costs (https://platform.openai.com/docs/api-reference/usage/costs). */
  async function costs(usd: number, more: object = {}): Promise<string> {
    const day = await requestDay();
    const results = [
      {
        object: 'organization.costs.result',
        amount: { value: usd, currency: 'usd' },
        line_item: 'acme-small-2026-01-01, output',
      },
    ];
    const bucket = { object: 'bucket', start_time: day, end_time: day + 86_400, results };
    const file = join(gateway.folder, 'costs.json');
    writeFileSync(file, JSON.stringify({ object: 'page', data: [bucket], has_more: false, ...more }));
    return file;
  }

  async function margin() {
    const { out } = await tollgate(0, 'margin', '--by', 'model', '--json');
    const { rows } = JSON.parse(out) as { rows: Record<string, unknown>[] };
    return rows[0];
  }

  test('makes what was possible known: the cost of the day is the provider’s', async () => {
    answers.push(WHOLE);
    expect(await ask()).toBe(200);
    expect(await ask()).toBe(500);
    const before = await gateway.money(account);
    expect(await margin()).toMatchObject({ cost_usd: '0.00012' });
    expect(Number((await margin())?.['possible_cost_usd'])).toBeGreaterThan(0.002);

    const file = await costs(0.00052);
    const shown = await tollgate(2, 'reconcile', file, '--backend', 'acme', '--json');
    expect(JSON.parse(shown.out)).toMatchObject({
      rows: [
        { model: 'acme-small', provider: '0.00052', books: '0.00012', retries: '0.0004', unknown: '0.00' },
      ],
    });
    expect(Number((await margin())?.['possible_cost_usd'])).toBeGreaterThan(0.002);

    const { code, out } = await tollgate(2, 'reconcile', file, '--backend', 'acme', '--book');
    expect(code).toBe(0);
    expect(out).toContain('acme-small: booked $0.0004 for failed attempts, which could have cost $0.002');
    expect(await margin()).toMatchObject({ cost_usd: '0.00052', possible_cost_usd: '0.00' });
    expect(await gateway.money(account)).toEqual(before);

    // Once, however often; and a bill that is right takes the place of one that was wrong.
    await tollgate(2, 'reconcile', file, '--backend', 'acme', '--book');
    expect(await margin()).toMatchObject({ cost_usd: '0.00052', possible_cost_usd: '0.00' });
    await tollgate(2, 'reconcile', await costs(0.0009), '--backend', 'acme', '--book');
    expect(await margin()).toMatchObject({ cost_usd: '0.0009', possible_cost_usd: '0.00' });
  });

  test('is not booked while it may grow, in part, by tokens, or without the backends it is for', async () => {
    expect(await ask()).toBe(500);
    const before = await margin();
    const early = await tollgate(0, 'reconcile', await costs(0.0001), '--backend', 'acme', '--book');
    expect(early.out).toContain('a day can be booked when it has been over for 24 hours');
    const book = async (file: string, ...words: string[]) => {
      const { code, err } = await tollgate(3, 'reconcile', file, '--book', ...words);
      expect(code).not.toBe(0);
      return err;
    };
    expect(await book(await costs(0.0001))).toContain('--book needs --backend');
    expect(await book(await costs(0.0001), '--backend', 'acme,nobody')).toContain(
      "no backend 'nobody'; there are: acme",
    );
    expect(await book(await costs(0.0001, { has_more: true }), '--backend', 'acme')).toContain(
      'further pages',
    );
    const tokens = await costs(0, {
      data: [{ start_time: 1, results: [{ input_tokens: 1, output_tokens: 1 }] }],
    });
    expect(await book(tokens, '--backend', 'acme')).toContain('Only an export of costs');
    expect(await margin()).toEqual(before ?? {});
  });

  test('of another backend, or without the model, leaves what is possible', async () => {
    expect(await ask()).toBe(500);
    const before = await margin();
    const other = await tollgate(3, 'reconcile', await costs(0.0001), '--backend', 'elsewhere', '--book');
    expect(other.out).toContain('No failed attempts to book.');
    const line = { amount: { value: 1, currency: 'usd' }, line_item: 'another-model, input' };
    const day = await requestDay();
    const file = await costs(0, { data: [{ start_time: day, results: [line] }] });
    const unlisted = await tollgate(3, 'reconcile', file, '--backend', 'acme', '--book', '--json');
    expect(JSON.parse(unlisted.out)).toMatchObject({
      booked: [{ model: 'acme-small', billed_usd: null, kept: 'not_listed' }],
    });
    expect(await margin()).toEqual(before ?? {});
  });
});
