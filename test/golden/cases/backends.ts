import type { Reply } from '../backend.ts';
import type { GoldenCase } from '../case.ts';
import { readFixture, REQUESTS, streamFixture, WIRES, type Wire } from '../gateway.ts';
import { BEARER, MESSAGES, post, PUBLIC_CHAT, RESPONSES, V1_CHAT, type Dialect } from './dialects.ts';
import { eventsReply, jsonReply } from './replies.ts';

/** Backends that do not speak OpenAI's dialect: the AI SDK's providers, Anthropic's own dialect, and the house. */
export async function backendCases(): Promise<GoldenCase[]> {
  const perWire = await Promise.all(WIRES.map((wire) => providerCases(wire)));
  return [...perWire.flat(), ...(await native()), ...(await imageProviders()), ...house()];
}

const KINDS = ['text', 'tools', 'reasoning', 'cached'] as const;

async function providerCases(wire: Wire): Promise<GoldenCase[]> {
  const name = (what: string): string => `backend-${wire.kind}/${what}`;
  const route = { endpoint: wire.kind, model: wire.model };
  const ask = (dialect: Dialect, fields: object) => post(dialect.path, dialect.ask({ ...fields }, route));
  const v1 = (request: { model: string }, stream = false) => {
    const { model: _, ...fields } = request;
    return [{ send: ask(V1_CHAT, stream ? { ...fields, stream } : fields) }];
  };
  const cases: GoldenCase[] = [];
  for (const kind of KINDS) {
    cases.push({ name: name(kind), replies: [await whole(wire, kind)], steps: v1(REQUESTS[kind]) });
    // Cached tokens are visible only in the usage of a stream.
    if (kind === 'cached') continue;
    const streamed = [await stream(wire, kind)];
    cases.push({ name: name(`${kind}-streamed`), replies: streamed, steps: v1(REQUESTS[kind], true) });
  }
  const text = await whole(wire, 'text');
  const failing = (what: string, reply: Reply, isStream = false): GoldenCase => ({
    name: name(what),
    fresh: true,
    replies: [reply],
    steps: v1(REQUESTS.text, isStream),
  });
  return [
    ...cases,
    { name: name('image-input'), replies: [text], steps: v1(REQUESTS.image) },
    { name: name('json-schema'), replies: [text], steps: v1(REQUESTS.json) },
    {
      name: name('responses'),
      replies: [await whole(wire, 'tools')],
      steps: [{ send: ask(RESPONSES, RESPONSES.kinds['tool'] ?? {}) }],
    },
    failing('rejected', jsonReply(wire.error(400, 'too warm, says https://a.example/x'), 400)),
    failing('overloaded', jsonReply(wire.error(529, 'overloaded'), 529)),
    failing('error-as-first-event-streamed', await stream(wire, 'error-first'), true),
    failing('error-inside-streamed', await stream(wire, 'error-late'), true),
  ];
}

async function whole({ kind }: Wire, name: string): Promise<Reply> {
  const text = await readFixture(kind, `${name}.json`);
  return jsonReply(kind === 'google' ? withCallIds(text) : text);
}

async function stream(wire: Wire, name: string): Promise<Reply> {
  const bytes = await streamFixture(wire, name);
  const body = wire.kind === 'google' ? withCallIds(new TextDecoder().decode(bytes)) : bytes;
  return { headers: { 'content-type': wire.streamType }, body };
}

/** Gemini may name its calls or not; if it does not, the AI SDK generates a name, which would differ in each run. */
function withCallIds(text: string): string {
  let count = 0;
  return text.replace(/"functionCall":\s*\{/g, (found) => `${found}"id":"call_${++count}",`);
}

const CLAUDE = { endpoint: 'anthropic', model: 'claude-sonnet-4-5' };

/** A Messages request to a backend that speaks Messages passes untouched. */
async function native(): Promise<GoldenCase[]> {
  const wire = WIRES.find(({ kind }) => kind === 'anthropic');
  if (!wire) throw new Error('there is no fixture of anthropic');
  const headers = {
    'x-api-key': '{token}',
    'anthropic-version': '2023-06-01',
    'anthropic-beta': 'interleaved-thinking-2025-05-14, two-2,effort-2025-11-24',
  };
  const ask = (fields: Record<string, unknown> = {}) =>
    post(`${MESSAGES.path}?beta=true`, MESSAGES.ask(fields, CLAUDE), headers);
  const name = (what: string): string => `backend-anthropic/native-${what}`;
  const cases: GoldenCase[] = [];
  for (const kind of ['text', 'tools', 'reasoning'] as const) {
    const fields = MESSAGES.kinds[kind === 'tools' ? 'parallel-tools' : kind] ?? {};
    cases.push({ name: name(kind), replies: [await whole(wire, kind)], steps: [{ send: ask(fields) }] });
    cases.push({
      name: name(`${kind}-streamed`),
      replies: [await stream(wire, kind)],
      steps: [{ send: ask({ ...fields, stream: true }) }],
    });
  }
  const text = await readFixture('anthropic', 'text.sse');
  const half = text.slice(0, text.indexOf('event: content_block_stop'));
  const rejected = jsonReply(wire.error(400, 'max_tokens: too odd'), 400);
  const overloaded = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };
  const streamed = { send: ask({ stream: true }) };
  return [
    ...cases,
    {
      name: name('cap-lowered'),
      account: { usd: '0.02' },
      replies: [await whole(wire, 'text')],
      steps: [{ send: ask({ max_tokens: 64_000 }) }],
    },
    { name: name('rejected'), replies: [rejected], steps: [{ send: ask() }] },
    {
      name: name('overloaded'),
      fresh: true,
      replies: [jsonReply(overloaded, 529)],
      steps: [{ send: ask() }],
    },
    {
      name: name('error-inside-streamed'),
      fresh: true,
      replies: [await stream(wire, 'error-late')],
      steps: [streamed],
    },
    {
      name: name('error-as-first-event-streamed'),
      fresh: true,
      replies: [await stream(wire, 'error-first')],
      steps: [streamed],
    },
    {
      name: name('cut-streamed'),
      fresh: true,
      replies: [eventsReply(half, 'cut')],
      steps: [{ ...streamed, during: { seen: 'content_block_delta', happens: 'backend goes on' } }],
    },
    {
      name: 'backend-google/messages-streamed',
      replies: [await stream(WIRES[1]!, 'tools')],
      steps: [
        {
          send: post(
            MESSAGES.path,
            MESSAGES.ask(
              { ...MESSAGES.kinds['tool'], stream: true },
              { endpoint: 'google', model: 'gemini-2.5-flash' },
            ),
          ),
        },
      ],
    },
    {
      name: 'backend-bedrock/signed',
      replies: [jsonReply(await readFixture('bedrock', 'text.json'))],
      steps: [
        {
          send: post(
            V1_CHAT.path,
            V1_CHAT.ask({}, { endpoint: 'signed', model: 'anthropic.claude-sonnet-4-20250514-v1:0' }),
          ),
        },
      ],
    },
  ];
}

const IMAGE_MODELS = {
  google: 'gemini-2.5-flash-image',
  azure: 'gpt-image-1',
  bedrock: 'amazon.nova-canvas-v1:0',
};

async function imageProviders(): Promise<GoldenCase[]> {
  return await Promise.all(
    Object.entries(IMAGE_MODELS).map(async ([kind, model]) => ({
      name: `backend-${kind}/images`,
      replies: [jsonReply(await readFixture(kind, 'image.json'))],
      steps: [
        {
          send: post('/v1/images/generations', {
            model: `${kind}_image/${model}`,
            prompt: 'a gate',
            response_format: 'b64_json',
          }),
        },
      ],
    })),
  );
}

const WEATHER = {
  type: 'function',
  function: { name: 'get_weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } },
};

/** House-echo does what it is told. House-guide answers from the guides, which change, so it is not recorded. */
function house(): GoldenCase[] {
  const says = (what: string, content: string, fields: Record<string, unknown> = {}): GoldenCase => {
    const asked = { messages: [{ role: 'user', content }], ...fields };
    const route = { endpoint: 'house_chat', model: 'house-echo' };
    return {
      name: `backend-house/${what}`,
      steps: [{ send: post(PUBLIC_CHAT.path, PUBLIC_CHAT.ask(asked, route), BEARER) }],
    };
  };
  const stream = { stream: true, stream_options: { include_usage: true } };
  return [
    says('text', 'Say it again'),
    says('text-streamed', 'Say it again', stream),
    says('tool', '/tool get_weather', { tools: [WEATHER] }),
    says('tools-streamed', '/tool get_weather {"city":"Oslo"}\n/tool get_weather {"city":"Rome"}', {
      tools: [WEATHER],
      ...stream,
    }),
    says('reasoning', '/think What is it?'),
    says('reasoning-streamed', '/think What is it?', stream),
    says('json', '/json Hello'),
    says('cut-by-cap', '/long 50', { max_tokens: 10 }),
    says('rate-limited', '/error 429'),
    says('unauthorized', '/error 401'),
    says('rejected', '/error 400'),
    says('broken', '/error 500'),
    says('timeout', '/error timeout'),
    says('error-inside-streamed', '/error stream\nSay it again', stream),
    says('cut-streamed', '/error cut\nSay it again', stream),
    {
      name: 'backend-house/messages-streamed',
      steps: [
        {
          send: post(
            MESSAGES.path,
            MESSAGES.ask({ stream: true }, { endpoint: 'house_chat', model: 'house-echo' }),
          ),
        },
      ],
    },
    {
      name: 'backend-house/responses',
      steps: [
        { send: post(RESPONSES.path, RESPONSES.ask({}, { endpoint: 'house_chat', model: 'house-echo' })) },
      ],
    },
  ];
}
