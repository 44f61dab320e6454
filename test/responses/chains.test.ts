import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import * as fc from 'fast-check';
import { catalogFor, Gateway, type TestAccount } from '../support/gateway.ts';
import {
  chunk,
  completion,
  DONE,
  eventStream,
  ScriptedBackend,
  usage,
  usageEvent,
} from '../support/scripted-backend.ts';
import { ask, expectTrueSums, STORES, type Asked, type SeenResponse } from './stored-responses.ts';

/** Going on from a stored response is the same as sending everything again: to the backend, and in money. */

const TOOL = { type: 'function', name: 'look_up', parameters: { type: 'object', properties: {} } };

interface TurnPlan {
  /** Which of the turns before it goes on from; none of them: it begins anew. */
  readonly from: number;
  readonly input: 'text' | 'messages' | 'picture';
  readonly words: string;
  readonly answer: 'text' | 'call' | 'thoughts';
  readonly isStreamed: boolean;
  readonly isReported: boolean;
  readonly instructions: string | undefined;
}

const words = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 });
const turnPlan: fc.Arbitrary<TurnPlan> = fc.record({
  from: fc.integer({ min: -1, max: 7 }),
  input: fc.constantFrom('text', 'messages', 'picture'),
  words,
  answer: fc.constantFrom('text', 'call', 'thoughts'),
  isStreamed: fc.boolean(),
  isReported: fc.boolean(),
  instructions: fc.option(words, { nil: undefined }),
});

const PIXEL =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** The plan's input as items; the results of calls that wait for one come first. */
function inputOf({ input, words: text }: TurnPlan, before: readonly Item[]): Item[] {
  const calls = before.filter(({ type }) => type === 'function_call').map(({ call_id }) => call_id);
  const answered = new Set(
    before.filter(({ type }) => type === 'function_call_output').map(({ call_id }) => call_id),
  );
  const results = calls
    .filter((id) => !answered.has(id))
    .map((call_id) => ({ type: 'function_call_output', call_id, output: `${text}!` }));
  const content =
    input === 'picture'
      ? [
          { type: 'input_text', text },
          { type: 'input_image', image_url: PIXEL },
        ]
      : [{ type: 'input_text', text }];
  return [...results, { type: 'message', role: 'user', content }];
}

type Item = Readonly<Record<string, unknown>>;

/** What the backend says, the same each time that it is asked for the same turn. */
function reply({ answer, isStreamed, isReported, words: text }: TurnPlan, turn: number): Response {
  const call = {
    id: `call_${turn}`,
    type: 'function',
    function: { name: 'look_up', arguments: JSON.stringify({ text }) },
  };
  const message = {
    text: { content: `says ${text}` },
    call: { content: null, tool_calls: [call] },
    thoughts: { content: 'so it is', reasoning_content: `thinks ${text}` },
  }[answer];
  const finish = answer === 'call' ? 'tool_calls' : 'stop';
  if (!isStreamed) {
    const choices = [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: finish }];
    return completion('', isReported ? usage(40 + turn, 7) : undefined, { choices });
  }
  const delta = 'tool_calls' in message ? { ...message, tool_calls: [{ index: 0, ...call }] } : message;
  return eventStream(
    [
      chunk({ role: 'assistant', ...delta }),
      chunk({}, finish),
      ...(isReported ? [usageEvent(40 + turn, 7)] : []),
      DONE,
    ].join(''),
  );
}

describe.each(Object.entries(STORES))('on %s', (_name, open) => {
  const backend = new ScriptedBackend();
  let gateway: Gateway;
  let stateful: TestAccount;
  let stateless: TestAccount;

  beforeAll(async () => {
    const yaml = catalogFor([backend.baseUrl]).replace(
      'vision: true',
      'inputs: { image: { max_tokens: 2000 } }',
    );
    gateway = await Gateway.start({ yaml, ...(await open()) });
    stateful = await gateway.account('1000000');
    stateless = await gateway.account('1000000');
  });
  afterAll(async () => {
    expect((await gateway.verify()).breaches).toEqual([]);
    await expectTrueSums(gateway);
    await gateway.stop();
    await backend.stop();
  });

  async function chargedFor({ id }: SeenResponse): Promise<{ charged: number; source: string | null }> {
    const receipt = await gateway.receipt(id.replace(/^resp_/, 'req_'));
    return { charged: receipt.charged, source: receipt.usage_source };
  }

  test('each turn of any chain with branches is the same request as the whole conversation, and costs the same', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(turnPlan, { minLength: 1, maxLength: 8 }), async (plans) => {
        const turns: { readonly id: string; readonly items: readonly Item[] }[] = [];
        for (const [index, plan] of plans.entries()) {
          const earlier = plan.from < 0 ? undefined : turns[Math.min(plan.from, index - 1)];
          const before = earlier?.items ?? [];
          const own = inputOf(plan, before);
          const common: Asked = {
            tools: [TOOL],
            stream: plan.isStreamed,
            ...(plan.instructions === undefined ? {} : { instructions: plan.instructions }),
          };
          backend.script(() => reply(plan, index));
          const isPlainText = plan.input === 'text' && own.length === 1;
          const answer = await ask(gateway, stateful, {
            ...common,
            input: isPlainText ? plan.words : own,
            ...(earlier ? { previous_response_id: earlier.id } : {}),
          });
          const whole = await ask(gateway, stateless, {
            ...common,
            input: isPlainText && before.length === 0 ? plan.words : [...before, ...own],
            store: false,
          });
          const [one, other] = backend.calls.slice(-2).map(({ text }) => text);
          expect(one).toBe(other ?? '');
          expect(await chargedFor(answer)).toEqual(await chargedFor(whole));
          expect([answer.store, answer.previous_response_id]).toEqual([true, earlier?.id ?? null]);
          turns.push({ id: answer.id, items: [...before, ...own, ...answer.output] });
        }
      }),
      { numRuns: 15 },
    );
    expect(backend.calls.length).toBeGreaterThan(20);
  }, 120_000);

  test('a turn that is sent right after the answer finds it, however many do so at once', async () => {
    backend.script(() => completion('again', usage(5, 5)));
    const follow = async (stream: boolean): Promise<void> => {
      let previous = await ask(gateway, stateful, { input: 'Start', stream: false });
      for (let turn = 0; turn < 5; turn++) {
        if (stream) backend.script(() => reply(STREAMED_TURN, turn));
        previous = await ask(gateway, stateful, { previous_response_id: previous.id, stream });
      }
    };
    await Promise.all(Array.from({ length: 20 }, () => follow(false)));
    await follow(true);
  });

  test('what a stored turn brings is held as input: it is refused where the balance does not cover it', async () => {
    const account = await gateway.account('0.01');
    backend.script(() => completion('ok', usage(1, 1)));
    const long = 'word '.repeat(8_000);
    const first = await ask(gateway, account, { input: long, max_output_tokens: 10 });
    expect(first.status).toBe('completed');
    await gateway.tollgate.services.ledger.ledger.post({
      accountId: account.id,
      kind: 'adjustment',
      amount: -((await gateway.money(account)).balance - 1_000_000),
      cause: 'test',
      actor: 'test',
    });
    const body = {
      model: 'svc_chat/m',
      input: 'And?',
      previous_response_id: first.id,
      max_output_tokens: 256,
    };
    const refused = await gateway.post('/v1/responses', account.token, body);
    expect(refused.status).toBe(402);
    const alone = await gateway.post('/v1/responses', account.token, { ...body, previous_response_id: null });
    expect(alone.status).toBe(200);
  });
});

const STREAMED_TURN: TurnPlan = {
  from: -1,
  input: 'text',
  words: 'again',
  answer: 'text',
  isStreamed: true,
  isReported: true,
  instructions: undefined,
};
