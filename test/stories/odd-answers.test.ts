import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { catalogFor, Gateway } from '../support/gateway.ts';
import { testPostgres } from '../support/postgres.ts';
import {
  chunk,
  completion,
  eventStream,
  ScriptedBackend,
  usage,
  usageEvent,
  DONE,
} from '../support/scripted-backend.ts';

/** Whatever a backend puts into its answer, the hold is closed and what was used is charged. */

const ODD: readonly [string, unknown][] = [
  ['a custom tool', [{ id: 'c1', type: 'custom', custom: { name: 'shell', input: 'ls' } }]],
  ['an empty call', [null]],
  ['a number for a call', [7]],
  ['a number for the calls', 7],
  ['text for the calls', 'call'],
  ['an object for the calls', {}],
  ['a call without a function', [{ id: 'c1', type: 'function' }]],
  ['null for the function', [{ id: 'c1', type: 'function', function: null }]],
  [
    'an object for the arguments',
    [{ id: 'c1', type: 'function', function: { name: 'f', arguments: { a: 1 } } }],
  ],
];
const ODD_FINISH: readonly unknown[] = [{ reason: 'stop' }, 7, true, ['stop'], 'x'.repeat(100_000)];
const PATHS = ['/v1/chat/completions', '/v1/messages', '/v1/responses'] as const;

describe.each(['sqlite', 'postgres'] as const)('on %s', (store) => {
  let backend: ScriptedBackend;
  let gateway: Gateway;

  beforeAll(async () => {
    backend = new ScriptedBackend();
    const databaseUrl = store === 'postgres' ? await (await testPostgres()).freshDatabase() : undefined;
    gateway = await Gateway.start({
      yaml: catalogFor([backend.baseUrl]),
      ...(databaseUrl && { databaseUrl }),
    });
  });
  afterAll(async () => {
    expect((await gateway.verify()).breaches).toEqual([]);
    await gateway.stop();
    await backend.stop();
  });

  async function chargedFor(path: string, stream: boolean): Promise<number> {
    const account = await gateway.account('1');
    const messages = [{ role: 'user', content: 'hi' }];
    const input = path === '/v1/responses' ? { input: 'hi' } : { messages, max_tokens: 1_000 };
    const response = await gateway.post(path, account.token, { model: 'svc_chat/m', stream, ...input });
    await response.text();
    await gateway.settled(account);
    const rows = await gateway.requests(account);
    expect(rows).toHaveLength(1);
    return rows[0]!.charged;
  }

  const PRICE = 11 * 1_000 + 2 * 2_000;

  test.each(ODD)('%s closes the hold, whole and streamed, in every dialect', async (_, tool_calls) => {
    for (const path of PATHS) {
      const message = { role: 'assistant', content: null, tool_calls };
      backend.script(() =>
        completion('', usage(11, 2), { choices: [{ index: 0, message, finish_reason: 'tool_calls' }] }),
      );
      expect(await chargedFor(path, false)).toBe(PRICE);
      backend.script(() =>
        eventStream(
          chunk({ content: 'x' }) +
            chunk({ tool_calls }) +
            chunk({}, 'tool_calls') +
            usageEvent(11, 2) +
            DONE,
        ),
      );
      expect(await chargedFor(path, true)).toBeGreaterThan(0);
    }
  });

  test('an answer with a finish reason of any shape is charged', async () => {
    for (const finish_reason of ODD_FINISH) {
      const message = { role: 'assistant', content: 'ok' };
      backend.script(() => completion('', usage(11, 2), { choices: [{ index: 0, message, finish_reason }] }));
      expect(await chargedFor('/v1/chat/completions', false)).toBe(PRICE);
    }
  });
});
