import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { parseCatalog } from '../../src/catalog/parse.ts';
import type { Ledger } from '../../src/ledger/port.ts';
import { NOBODY_LEAVES, type Call, type ChatCall, type RelayParts } from '../../src/relay/call.ts';
import { relayChat } from '../../src/relay/chat.ts';
import { relayEmbeddings } from '../../src/relay/embeddings.ts';
import { ActiveRequests } from '../../src/relay/hold/active-hold.ts';
import { SettlementRetryQueue } from '../../src/relay/hold/settlement-retry-queue.ts';
import { relayImages, type ImageRecord } from '../../src/relay/images.ts';
import { systemClock } from '../../src/std/clock.ts';
import { newRequestId, type RequestId } from '../../src/std/ids.ts';
import { silentLog } from '../../src/std/log.ts';
import { sharedTokenCounter } from '../../src/tokenizer/worker-counter.ts';
import { Pool } from '../../src/upstream/pool.ts';
import { messagesEncoder } from '../../src/wire/anthropic/stream.ts';
import { openAiEncoder } from '../../src/wire/openai/answer.ts';
import { Gateway, type TestAccount } from '../support/gateway.ts';
import { completion, images, ScriptedBackend, streamed } from '../support/scripted-backend.ts';

/**
 * After the admission there is a hold, and every way out closes it. Here each call of a port after the admission throws,
 * one after the other, and nothing may stay open.
 */
class Faults {
  /** What was called since the admission. */
  readonly calls: string[] = [];
  #failAt: number | undefined;
  #isArmed = false;

  /** The call with this number throws; without one, none does. */
  begin(failAt?: number): void {
    this.calls.length = 0;
    this.#failAt = failAt;
    this.#isArmed = false;
  }

  arm(): void {
    this.#isArmed = true;
  }

  /** The same port, whose methods may throw; what they return is such a port where `inner` says so. */
  on<Port extends object>(name: string, port: Port, inner: readonly string[] = []): Port {
    return new Proxy(port, {
      get: (target, property) => {
        const value: unknown = Reflect.get(target, property, target);
        const path = `${name}.${String(property)}`;
        if (inner.includes(String(property)) && typeof value === 'object' && value !== null)
          return this.on(path, value);
        if (typeof value !== 'function') return value;
        return (...given: unknown[]): unknown => {
          this.#note(path);
          const result: unknown = Reflect.apply(value, target, given);
          return path === 'upstreams.admit' ? this.on('permit', result as object, ['upstream']) : result;
        };
      },
    });
  }

  #note(path: string): void {
    if (!this.#isArmed) return;
    this.calls.push(path);
    if (this.calls.length - 1 === this.#failAt) throw new Error(`scripted failure of ${path}`);
  }
}

const MESSAGE = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'x',
  content: [{ type: 'text', text: 'ok' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 9, output_tokens: 1 },
};
const MESSAGE_EVENTS = [
  { type: 'message_start', message: { ...MESSAGE, content: [] } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'ok' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } },
  { type: 'message_stop' },
];

const backend = new ScriptedBackend();
backend.script(({ path, body }) => {
  const isStream = body['stream'] === true;
  if (path.endsWith('/messages')) {
    const events = MESSAGE_EVENTS.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    return isStream
      ? new Response(events.join(''), { headers: { 'content-type': 'text/event-stream' } })
      : Response.json(MESSAGE);
  }
  if (path.includes('/images/')) return images(1);
  if (path.endsWith('/embeddings'))
    return Response.json({ data: [{ index: 0, embedding: [1] }], usage: { prompt_tokens: 2 } });
  // Without usage, so that the counter is a port that is used.
  return isStream ? streamed(['o', 'k']) : completion('ok');
});

const yaml = `
upstreams:
  hosted: { kind: openai, base_url: "${backend.baseUrl}" }
  claude: { kind: anthropic, base_url: "${backend.baseUrl}", api_key: "\${CLAUDE_KEY}" }
lists:
  chat_models: [ { model: m, input: 1, output: 2, cost: { hosted: { input: 3, output: 4 } } } ]
  claude_models: [ { model: m, input: 1, output: 2 } ]
  image_models: [ { model: p, image: 0.01, sizes: [1024x1024] } ]
  embedding_models: [ { model: e, input: 1, output: 0 } ]
endpoints:
  svc_chat: { name: chat, type: chat_completion, lists: [chat_models], upstreams: [hosted] }
  claude_chat: { name: claude, type: chat_completion, lists: [claude_models], upstreams: [claude] }
  svc_tgter: { name: images, type: image_generation, lists: [image_models], upstreams: [hosted] }
  svc_embed: { name: embeddings, type: embedding, lists: [embedding_models], upstreams: [hosted] }
`;
const env = { CLAUDE_KEY: 'key-of-the-operator' };

const faults = new Faults();
let gateway: Gateway;
let account: TestAccount;
let parts: RelayParts;
let settlements: SettlementRetryQueue;
let activeRequests: ActiveRequests;

beforeAll(async () => {
  gateway = await Gateway.start({ yaml, env });
  account = await gateway.account('100');
  const { ledger } = gateway.tollgate.services.ledger;
  const catalog = parseCatalog(yaml, { fileName: 'tollgate.yaml', env });
  settlements = new SettlementRetryQueue(ledger, silentLog);
  const [clock, log] = [systemClock, silentLog];
  activeRequests = new ActiveRequests({ ledger, clock, log, leaseMs: 60_000, longestMs: () => 600_000 });
  const metrics = { refused() {}, request() {}, chargedLater() {}, overrun() {}, loss() {} };
  parts = {
    ledger: armedLedger(faults.on('ledger', ledger)),
    catalog: () => catalog,
    upstreams: faults.on('upstreams', new Pool(catalog, systemClock, {})),
    settlements: faults.on('settlements', settlements),
    activeRequests: faults.on('activeRequests', activeRequests),
    metrics: faults.on('metrics', metrics),
    tokens: faults.on('tokens', sharedTokenCounter(silentLog)),
    countWaitMs: 1_000,
    clock: faults.on('clock', { now: () => Date.now() }),
    log: faults.on('log', silentLog),
  };
});

afterAll(async () => {
  activeRequests.stop();
  await gateway.stop();
  await backend.stop();
});

/** From the admission on, calls may fail. */
function armedLedger(ledger: Ledger): Ledger {
  return new Proxy(ledger, {
    get: (target, property): unknown => {
      const value: unknown = Reflect.get(target, property, target);
      if (property !== 'admit') return value;
      return async (request: Parameters<Ledger['admit']>[0]) => {
        const admission = await target.admit(request);
        faults.arm();
        return admission;
      };
    },
  });
}

let lastRequest: RequestId;

function base(code: string, model: string, type: Call<unknown>['selector']['type']) {
  lastRequest = newRequestId(Date.now());
  return {
    requestId: lastRequest,
    caller: { kind: 'account', id: account.id } as const,
    client: 'test',
    connection: NOBODY_LEAVES,
    selector: { code, model, type },
    label: model,
    size: { bytes: 100, characters: 100 },
    cap: 'lowered' as const,
    onClosed: faults.on('caller', { onClosed() {} }).onClosed,
  };
}

const MESSAGES = [{ role: 'user' as const, content: 'hi' }];

async function chat(stream: boolean): Promise<void> {
  const call: ChatCall = {
    ...base('svc_chat', 'm', 'chat_completion'),
    request: { model: 'm', messages: MESSAGES, max_tokens: 100, stream },
    encoder: (labels) => faults.on('encoder', openAiEncoder(labels, true)),
  };
  await read(relayChat(call, parts));
}

async function native(stream: boolean): Promise<void> {
  const body = { model: 'm', max_tokens: 100, messages: MESSAGES, stream };
  const call: ChatCall = {
    ...base('claude_chat', 'm', 'chat_completion'),
    request: { model: 'm', messages: MESSAGES, max_tokens: 100, stream },
    encoder: (labels) => faults.on('encoder', messagesEncoder(labels, 9)),
    nativeRequest: { body },
  };
  await read(relayChat(call, parts));
}

async function read(reply: ReturnType<typeof relayChat>): Promise<void> {
  const answered = await reply;
  if (answered.kind === 'stream') await new Response(answered.body).text();
}

const imageRecord: ImageRecord = {
  endsWithProcess: true,
  held: () => Promise.resolve(),
  started: () => Promise.resolve(),
  accepted: () => Promise.resolve(),
  delivered: () => Promise.resolve(),
};

const KINDS: Record<string, () => Promise<unknown>> = {
  'a whole chat': () => chat(false),
  'a streamed chat': () => chat(true),
  'a whole chat in the own dialect of its backend': () => native(false),
  'a streamed chat in the own dialect of its backend': () => native(true),
  images: () =>
    relayImages(
      { ...base('svc_tgter', 'p', 'image_generation'), request: { model: 'p', prompt: 'a gate' } },
      parts,
      faults.on('record', imageRecord),
    ),
  embeddings: () =>
    relayEmbeddings({ ...base('svc_embed', 'e', 'embedding'), request: { model: 'e', input: 'hi' } }, parts),
};

describe('whichever call after the admission throws, the hold is closed and the books agree:', () => {
  test.each(Object.keys(KINDS))(
    '%s',
    async (kind) => {
      const run = KINDS[kind]!;
      faults.begin();
      await run();
      const calls = [...faults.calls];
      expect(calls.length).toBeGreaterThan(8);
      expect(calls).toContain('ledger.settle');
      const open: string[] = [];
      for (let failAt = 0; failAt < calls.length; failAt++) {
        faults.begin(failAt);
        // What the client is told does not matter here.
        await run().catch(() => undefined);
        await settlements.drained(5_000);
        await gateway.settled(account).catch(() => open.push(`${failAt} ${calls[failAt]}`));
        // If the removal itself fails, the request is listed until it outlives its deadlines; its hold is closed.
        if (calls[failAt] === 'activeRequests.remove') activeRequests.remove(lastRequest);
        if (activeRequests.size > 0) open.push(`${failAt} ${calls[failAt]}: still active`);
        if (open.length > 0) break;
      }
      expect(open).toEqual([]);
      expect((await gateway.verify()).breaches).toEqual([]);
    },
    120_000,
  );
});
