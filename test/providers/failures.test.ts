import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { Gateway, type TestAccount } from '../support/gateway.ts';
import { STRICT_PROVIDERS } from './strict-providers.ts';
import type { ProviderFailure } from './stand-in.ts';
import { StrictServer } from './strict-server.ts';

/** However a provider fails, a client reads it in its own dialect, without the provider's words, and pays for no more than it got. */

const FAILURES: readonly ProviderFailure[] = [401, 429, 500, 'whole_200', 'first_event', 'late_event'];
const servers = STRICT_PROVIDERS.map((provider) => ({
  preset: provider.preset,
  server: new StrictServer(provider, namesOf(Object.keys(provider.models)[0] ?? '')),
}));
let gateway: Gateway;
let account: TestAccount;

beforeAll(async () => {
  const yaml = [
    'upstreams:',
    ...servers.map(
      ({ preset, server }) =>
        `  ${preset}: { kind: openai, preset: ${preset}, base_url: "${server.baseUrl}", api_key: "\${KEY}" }`,
    ),
    `lists: { models: [${FAILURES.map((failure) => `{ model: m_${failure}, input: 1, output: 2, max_output: 4000 }`).join(', ')}] }`,
    'endpoints:',
    ...servers.map(
      ({ preset }) =>
        `  ${preset}: { name: ${preset}, type: chat_completion, lists: [models], upstreams: [${preset}] }`,
    ),
  ].join('\n');
  gateway = await Gateway.start({ yaml, env: { KEY: servers[0]?.server.key ?? '' } });
  account = await gateway.account('100');
});
afterAll(async () => {
  expect((await gateway.verify()).breaches).toEqual([]);
  await gateway.stop();
  for (const { server } of servers) await server.stop();
});

/** Each failure has a model of its own: what rests after one must not hide the next. */
function namesOf(model: string): Record<string, string> {
  return Object.fromEntries(FAILURES.map((failure) => [`m_${failure}`, model]));
}

const said = [{ role: 'user', content: 'hi' }];
const DIALECTS = [
  { path: '/v1/chat/completions', body: { messages: said }, error: 'data: {"error"' },
  { path: '/v1/messages', body: { messages: said, max_tokens: 100 }, error: 'event: error' },
  { path: '/v1/responses', body: { input: 'hi' }, error: 'event: error' },
] as const;

describe.each(servers.map((one, index) => ({ ...one, index })))('$preset', ({ preset, server, index }) => {
  // Pairwise: every failure meets every provider, and every dialect meets both in turn.
  test.each(FAILURES.map((failure, turn) => ({ failure, dialect: DIALECTS[(index + turn) % 3]! })))(
    '$failure, read at $dialect.path',
    async ({ failure, dialect }) => {
      server.failure = failure;
      const stream = typeof failure === 'string' ? failure !== 'whole_200' : index % 2 === 0;
      const before = await gateway.money(account);
      const response = await gateway.post(dialect.path, account.token, {
        model: `${preset}/m_${failure}`,
        ...dialect.body,
        ...(stream ? { stream } : {}),
      });
      const text = await response.text();
      await gateway.settled(account);
      const paid = before.balance - (await gateway.money(account)).balance;
      for (const secret of ['status.example', 'sk-internal', 'Overloaded'])
        expect(text).not.toContain(secret);
      if (failure === 'late_event') {
        expect(response.status).toBe(200);
        expect(text).toContain(dialect.error);
        expect(text).not.toContain('[DONE]');
        expect(paid).toBeGreaterThan(0);
        return;
      }
      expect(response.status).toBe(500);
      const shape =
        dialect.path === '/v1/messages'
          ? { type: 'error', error: {} }
          : { error: { code: 'upstream_error' } };
      expect(JSON.parse(text)).toMatchObject(shape);
      expect(paid).toBe(0);
    },
  );
});
