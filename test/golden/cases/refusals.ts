import type { ClientRequest, GoldenCase } from '../case.ts';
import type { AccountOptions } from '../gateway.ts';
import {
  BEARER,
  DIALECTS,
  get,
  JSON_TYPE,
  MESSAGES,
  post,
  PUBLIC_CHAT,
  RESPONSES,
  V1_CHAT,
  type Dialect,
} from './dialects.ts';
import { ANSWERS, completion, PIXEL } from './replies.ts';

/** Dialects that read bodies and report errors like the public chat: one case of each error is enough. */
const WORDED_ALIKE: ReadonlySet<Dialect> = new Set([V1_CHAT, RESPONSES]);
const ESSENTIAL =
  /\/(?:not-json|nothing-given|unknown-endpoint|unsupported-model|context-exceeded|no-token|mistyped-token)$/;

/** Requests that are refused before any backend is called, and those that wait for others. */
export function refusalCases(): GoldenCase[] {
  return [
    ...DIALECTS.flatMap((dialect) => [
      ...[...bodies(dialect), ...tokens(dialect)].filter(
        ({ name }) => !WORDED_ALIKE.has(dialect) || ESSENTIAL.test(name),
      ),
      ...money(dialect),
      ...idempotency(dialect),
    ]),
    ...fieldMistakes(),
    ...tokenPlaces(),
    ...circumstances(),
  ];
}

function bodies({ operation, path, ask }: Dialect): GoldenCase[] {
  const refused = (name: string, send: ClientRequest): GoldenCase => ({
    name: `${operation}/${name}`,
    steps: [{ send }],
  });
  const deep = `{"messages":${'['.repeat(70)}${']'.repeat(70)}}`;
  const elsewhere = (endpoint: string, model: string) => post(path, ask({}, { endpoint, model }));
  return [
    refused('not-json', post(path, '{"model": "m",')),
    refused('not-an-object', post(path, '[1, 2]')),
    refused('not-utf8', post(path, new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x7d]))),
    refused('too-deep', post(path, deep)),
    refused('no-body', { method: 'POST', path, headers: { ...BEARER, ...JSON_TYPE } }),
    refused('compressed', post(path, '{}', { ...BEARER, 'content-encoding': 'gzip' })),
    refused('too-large', post(path, '{}', { ...BEARER, 'content-length': '20971521' })),
    refused('nothing-given', post(path, {})),
    refused('model-is-a-number', post(path, ask({ model: 7 }))),
    refused('temperature-too-high', post(path, ask({ temperature: 3 }))),
    refused('stream-is-text', post(path, ask({ stream: 'yes' }))),
    refused('unknown-endpoint', elsewhere('nowhere', 'm')),
    refused('unsupported-model', elsewhere('svc_chat', 'unheard-of')),
    refused('image-endpoint', elsewhere('svc_tgter', 'p')),
    refused('embedding-endpoint', elsewhere('embeddings', 'e')),
    refused('endpoint-switched-off', elsewhere('off', 'plain')),
    refused('context-exceeded', elsewhere('svc_chat', 'small')),
  ];
}

function tokens({ operation, path, ask }: Dialect): GoldenCase[] {
  const unknown = { authorization: 'Bearer sk-unknown' };
  return [
    { name: `${operation}/no-token`, steps: [{ send: post(path, ask(), {}) }] },
    { name: `${operation}/mistyped-token`, steps: [{ send: post(path, ask(), unknown) }] },
    { name: `${operation}/bad-token-and-bad-body`, steps: [{ send: post(path, '{', unknown) }] },
    {
      name: `${operation}/disabled-account`,
      account: { disabled: true },
      steps: [{ send: post(path, ask()) }],
    },
    {
      name: `${operation}/disabled-account-and-bad-body`,
      account: { disabled: true },
      steps: [{ send: post(path, '{') }],
    },
  ];
}

function money(dialect: Dialect): GoldenCase[] {
  const { operation, path, ask, capField } = dialect;
  const send = post(path, ask({ [capField]: 4000 }));
  const poor = (name: string, account: AccountOptions): GoldenCase => ({
    name: `${operation}/${name}`,
    account,
    steps: [{ send }],
  });
  const behind = (name: string, account: AccountOptions): GoldenCase => ({
    name: `${operation}/${name}`,
    account,
    replies: [{ ...ANSWERS.text.whole, after: 'held' }],
    steps: [{ send, background: true }, { send }],
  });
  return [
    poor('insufficient-balance', { usd: '0' }),
    poor('request-exceeds-balance', { usd: '0.0001' }),
    poor('limit-reached', { usd: '5', monthlyUsd: '0.0001' }),
    behind('funds-on-hold', { usd: '0.00825' }),
    behind('rate-limit', { chatPerMinute: 1 }),
    behind('concurrency-limit', { concurrent: 1 }),
  ];
}

function idempotency(dialect: Dialect): GoldenCase[] {
  const { operation, path, ask } = dialect;
  const keyed = (key: string, more: Record<string, unknown> = {}) =>
    post(path, ask(more), { ...BEARER, 'idempotency-key': key });
  const first = { send: keyed('one') };
  const streamed = { send: keyed('one', { stream: true }) };
  return [
    {
      name: `${operation}/replay`,
      replies: [ANSWERS.text.whole, completion({ content: 'Another answer' })],
      steps: [first, first],
    },
    {
      name: `${operation}/replay-streamed`,
      replies: [ANSWERS.text.stream, completion({ content: 'Another answer' })],
      steps: [streamed, streamed],
    },
    {
      name: `${operation}/replay-key-reused`,
      replies: [ANSWERS.text.whole],
      steps: [first, { send: keyed('one', { temperature: 1 }) }],
    },
  ];
}

function fieldMistakes(): GoldenCase[] {
  const wrong = (dialect: Dialect, name: string, fields: Record<string, unknown>): GoldenCase => ({
    name: `${dialect.operation}/${name}`,
    steps: [{ send: post(dialect.path, dialect.ask(fields)) }],
  });
  const chat = [PUBLIC_CHAT].flatMap((dialect) => [
    wrong(dialect, 'no-messages', { messages: [] }),
    wrong(dialect, 'unknown-role', { messages: [{ role: 'robot', content: 'Hi' }] }),
    wrong(dialect, 'no-content', { messages: [{ role: 'user', content: null }] }),
    wrong(dialect, 'unknown-part', { messages: [{ role: 'user', content: [{ type: 'smell' }] }] }),
    wrong(dialect, 'too-many-choices', { n: 9 }),
    wrong(dialect, 'too-many-stops', { stop: ['a', 'b', 'c', 'd', 'e'] }),
    wrong(dialect, 'fraction-of-a-token', { max_tokens: 1.5 }),
    wrong(dialect, 'cap-of-zero', { max_completion_tokens: 0 }),
  ]);
  return [
    ...chat,
    wrong(PUBLIC_CHAT, 'cap-above-model', { max_tokens: 5000 }),
    wrong(PUBLIC_CHAT, 'newer-cap-above-model', { max_completion_tokens: 5000 }),
    wrong(PUBLIC_CHAT, 'no-endpoint', { endpoint: undefined }),
    wrong(PUBLIC_CHAT, 'endpoint-is-empty', { endpoint: '' }),
    wrong(PUBLIC_CHAT, 'endpoint-code-is-a-number', { endpoint_code: 1 }),
    wrong(PUBLIC_CHAT, 'selectors-differ', { endpoint_code: 'house_chat' }),
    {
      name: 'v1-chat/cap-above-model-is-lowered',
      replies: [ANSWERS.text.whole],
      steps: [{ send: post(V1_CHAT.path, V1_CHAT.ask({ max_tokens: 5000 })) }],
    },
    wrong(PUBLIC_CHAT, 'cap-by-another-name', { n_predict: 5000 }),
    wrong(PUBLIC_CHAT, 'field-without-price', { service_tier: 'priority' }),
    wrong(PUBLIC_CHAT, 'tool-of-the-backend', { tools: [{ type: 'web_search' }] }),
    wrong(MESSAGES, 'field-without-price', { speed: 'fast' }),
    wrong(RESPONSES, 'field-without-price', { service_tier: 'flex' }),
    wrong(V1_CHAT, 'model-of-several-endpoints', { model: 'e' }),
    wrong(V1_CHAT, 'unheard-of-bare-model', { model: 'unheard-of' }),
    wrong(MESSAGES, 'no-cap', { max_tokens: undefined }),
    wrong(MESSAGES, 'no-messages', { messages: [] }),
    wrong(MESSAGES, 'unknown-role', { messages: [{ role: 'robot', content: 'Hi' }] }),
    wrong(MESSAGES, 'broken-block', { messages: [{ role: 'user', content: [{ type: 'text' }] }] }),
    wrong(MESSAGES, 'file-of-another-api', {
      messages: [{ role: 'user', content: [{ type: 'image', source: { type: 'file', file_id: 'f' } }] }],
    }),
    wrong(RESPONSES, 'no-input', { input: [] }),
    wrong(RESPONSES, 'earlier-response', { previous_response_id: 'resp_1' }),
    wrong(RESPONSES, 'in-the-background', { background: true, stream: true }),
    wrong(RESPONSES, 'item-reference', { input: [{ type: 'item_reference', id: 'msg_1' }] }),
    wrong(RESPONSES, 'broken-item', { input: [{ type: 'function_call', name: 'f' }] }),
  ];
}

/** A token may come in three places, and only one token. */
function tokenPlaces(): GoldenCase[] {
  const { path, ask } = PUBLIC_CHAT;
  const replies = [ANSWERS.text.whole];
  const account = '/api/public/v1/account';
  const shown = (name: string, send: ClientRequest): GoldenCase => ({ name, steps: [{ send }] });
  return [
    { name: 'token/x-api-key', replies, steps: [{ send: post(path, ask(), { 'x-api-key': '{token}' }) }] },
    { name: 'token/query', replies, steps: [{ send: post(`${path}?token={token}`, ask(), {}) }] },
    {
      name: 'token/lower-case-scheme',
      replies,
      steps: [{ send: post(path, ask(), { authorization: 'bearer  {token}' }) }],
    },
    {
      name: 'token/messages-x-api-key',
      replies,
      steps: [{ send: post(MESSAGES.path, MESSAGES.ask(), { 'x-api-key': '{token}' }) }],
    },
    shown('token/same-twice', get(account, { ...BEARER, 'x-api-key': '{token}' })),
    shown('token/two-different', get(account, { ...BEARER, 'x-api-key': 'another' })),
    shown('token/different-in-query', get(`${account}?token=another`)),
    shown('token/basic-scheme', get(account, { authorization: 'Basic dTpw' })),
    shown('token/empty', get(account, { 'x-api-key': '' })),
  ];
}

/** What does not depend on the dialect. */
function circumstances(): GoldenCase[] {
  const { path, ask } = PUBLIC_CHAT;
  const keyed = (key: string, body: unknown = ask()) =>
    post(path, body, { ...BEARER, 'idempotency-key': key });
  const forwarded = { 'x-forwarded-proto': 'http', 'x-forwarded-for': '203.0.113.9' };
  return [
    {
      name: 'idempotency/another-path',
      replies: [ANSWERS.text.whole],
      steps: [
        { send: keyed('one', V1_CHAT.ask()) },
        { send: post(V1_CHAT.path, V1_CHAT.ask(), { ...BEARER, 'idempotency-key': 'one' }) },
      ],
    },
    {
      name: 'idempotency/answer-gone',
      replies: [{ ...ANSWERS.text.whole, body: LONG_ANSWER }],
      steps: [{ send: keyed('one') }, { send: keyed('one') }],
    },
    { name: 'idempotency/empty-key', steps: [{ send: keyed('') }] },
    { name: 'idempotency/long-key', steps: [{ send: keyed('k'.repeat(256)) }] },
    {
      name: 'idempotency/error-is-not-kept',
      fresh: true,
      replies: [{ ...ANSWERS.text.whole, status: 500 }, ANSWERS.text.whole],
      steps: [{ send: keyed('one') }, { send: keyed('one') }],
    },
    {
      name: 'idempotency/image-replay',
      replies: [imagesReply()],
      steps: [{ send: keyedImage() }, { send: keyedImage() }],
    },
    {
      name: 'transport/https-required',
      catalog: 'proxied',
      steps: [{ send: post(path, ask(), { ...BEARER, ...forwarded }) }],
    },
    {
      name: 'transport/https-by-proxy',
      catalog: 'proxied',
      replies: [imagesReply()],
      steps: [
        {
          send: post(
            '/v1/images/generations',
            { model: 'svc_tgter/p', prompt: 'a gate', response_format: 'url' },
            {
              ...BEARER,
              ...forwarded,
              'x-forwarded-proto': 'https',
            },
          ),
        },
      ],
    },
    {
      name: 'transport/strange-host',
      steps: [{ send: get('/api/public/v1/requests/req_1', { ...BEARER, host: '[' }) }],
    },
    {
      name: 'transport/draining',
      fresh: true,
      replies: [completion({ content: 'Served on the way out' })],
      steps: [
        { send: post(path, ask()), drain: true },
        { send: post(MESSAGES.path, 'not JSON') },
        { send: get('/readyz', {}) },
        { send: get('/healthz', {}) },
      ],
    },
    ...[PUBLIC_CHAT, MESSAGES].map((dialect): GoldenCase => ({
      name: `transport/cut-by-shutdown/${dialect.operation}`,
      fresh: true,
      replies: [{ body: '', after: 'held' }],
      steps: [{ send: post(dialect.path, dialect.ask()), during: { happens: 'gateway stops' } }],
    })),
    {
      name: 'transport/internal-error',
      fresh: true,
      lost: 'image',
      replies: [imagesReply()],
      steps: [
        {
          send: post('/v1/images/generations', {
            model: 'svc_tgter/p',
            prompt: 'a gate',
            response_format: 'url',
          }),
        },
      ],
    },
    {
      name: 'transport/internal-error-messages',
      fresh: true,
      lost: 'request',
      steps: [{ send: post(MESSAGES.path, MESSAGES.ask()) }],
    },
  ];
}

function imagesReply() {
  return { headers: JSON_TYPE, body: JSON.stringify({ created: 1, data: [{ b64_json: PIXEL }] }) };
}

/** More than is kept of an answer. */
const LONG_ANSWER = JSON.stringify({
  id: 'chatcmpl-long',
  object: 'chat.completion',
  created: 1_700_000_000,
  model: 'theirs',
  choices: [
    { index: 0, message: { role: 'assistant', content: 'x'.repeat(9_000_000) }, finish_reason: 'stop' },
  ],
  usage: { prompt_tokens: 9, completion_tokens: 5, total_tokens: 14 },
});

function keyedImage(): ClientRequest {
  const body = { endpoint: 'svc_tgter', model: 'p', prompt: 'a gate' };
  return post('/api/public/v1/images/generations', body, { ...BEARER, 'idempotency-key': 'picture' });
}
