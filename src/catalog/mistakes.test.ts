import { describe, expect, test } from 'bun:test';
import {
  catalogError,
  catalogText as file,
  markedMistakes,
  type MistakeCase,
} from '../../test/support/marked-catalog.ts';

const CASES: MistakeCase[] = [
  [
    'an unknown key at the top',
    file({}) + '¦limit: {}\n',
    'limit',
    /^unknown key; did you mean limits\? Known here: upstreams, lists/,
  ],
  [
    'an unknown key of an upstream',
    file({ upstream: '{ kind: house, ¦url: x }' }),
    'upstreams.house.url',
    /unknown key/,
  ],
  [
    'an unknown key of a timeout',
    file({ upstream: '{ kind: house, timeouts: { ¦idle: 5 } }' }),
    'upstreams.house.timeouts.idle',
    /unknown key; did you mean idle_ms\?/,
  ],
  ['an unknown limit', file({}) + 'limits: { ¦chat: 5 }\n', 'limits.chat', /unknown key/],
  [
    'a missing kind',
    file({ upstream: '{}' }).replace('  house', '  ¦house'),
    'upstreams.house.kind',
    /is missing; it must be one of openai/,
  ],
  [
    'an option with a value that it does not have',
    file({ upstream: '{ kind: openai, base_url: "http://h/v1", options: { cap_field: ¦max_token } }' }),
    'upstreams.house.options.cap_field',
    /^did you mean max_tokens\? It must be one of max_tokens, max_completion_tokens$/,
  ],
  [
    'an unknown kind',
    file({ upstream: '{ kind: ¦hosue }' }),
    'upstreams.house.kind',
    /did you mean house\? It must be one of openai/,
  ],
  [
    'a mistyped preset as kind',
    file({ upstream: '{ kind: ¦grok }' }),
    'upstreams.house.kind',
    /did you mean groq\?/,
  ],
  [
    'a mistyped preset',
    file({ upstream: '{ kind: openai, preset: ¦firewoks }' }),
    'upstreams.house.preset',
    /did you mean fireworks\?/,
  ],
  [
    'a kind that is like no other',
    file({ upstream: '{ kind: ¦carrier-pigeon }' }),
    'upstreams.house.kind',
    /^must be one of openai.*or the name of a preset such as groq/,
  ],
  [
    'two presets',
    file({ upstream: '{ kind: ollama, preset: ¦vllm }' }),
    'upstreams.house.preset',
    /is vllm, but kind names ollama; keep one of them/,
  ],
  [
    'a kind without its address',
    file({ upstream: '¦{ kind: openai, api_key: ${OPENAI_API_KEY} }' }),
    'upstreams.house',
    /needs base_url/,
  ],
  ['a kind without its key', file({ upstream: '¦{ kind: anthropic }' }), 'upstreams.house', /needs api_key/],
  [
    'a key for a kind that has none',
    file({ upstream: '{ kind: house, api_key: ¦${OPENAI_API_KEY} }' }),
    'upstreams.house.api_key',
    /no use for kind house/,
  ],
  [
    'an unknown option',
    file({ upstream: '{ kind: house, options: { ¦region: x } }' }),
    'upstreams.house.options.region',
    /unknown option/,
  ],
  [
    'a secret in the file',
    file({ upstream: '{ kind: anthropic, api_key: ¦sk-ant-verysecret }' }),
    'upstreams.house.api_key',
    /must be \$\{ENV_NAME\}/,
  ],
  [
    'a secret header in the file',
    file({ upstream: '{ kind: house, headers: { Authorization: ¦Bearer hunter2 } }' }),
    'upstreams.house.headers.Authorization',
    /never written here/,
  ],
  [
    'a missing variable',
    file({ upstream: '{ kind: anthropic, api_key: ¦${MISSING_KEY} }' }),
    'upstreams.house.api_key',
    /variable MISSING_KEY, which is not set/,
  ],
  [
    'an empty variable',
    file({ upstream: '{ kind: anthropic, api_key: ¦${EMPTY} }' }),
    'upstreams.house.api_key',
    /EMPTY, which is not set/,
  ],
  [
    'a variable that no header can hold',
    file({ upstream: '{ kind: anthropic, api_key: ¦${BAD} }' }),
    'upstreams.house.api_key',
    /BAD to be printable/,
  ],
  [
    'a reference inside other text',
    file({ upstream: '{ kind: house, headers: { x-a: ¦"pre ${OPENAI_API_KEY}" } }' }),
    'upstreams.house.headers.x-a',
    /must be a whole/,
  ],
  [
    'a wrong address',
    file({ upstream: '{ kind: openai, base_url: ¦api.example.com }' }),
    'upstreams.house.base_url',
    /must be an address/,
  ],
  [
    'a password in an address',
    file({ upstream: '{ kind: openai, base_url: ¦https://a:b@example.com }' }),
    'upstreams.house.base_url',
    /must not hold a user/,
  ],
  [
    'a header of the connection',
    file({ upstream: '{ kind: house, headers: { ¦Content-Length: "5" } }' }),
    'upstreams.house.headers.Content-Length',
    /set by the connection/,
  ],
  [
    'a timeout out of bounds',
    file({ upstream: '{ kind: house, timeouts: { idle_ms: ¦0 } }' }),
    'upstreams.house.timeouts.idle_ms',
    /whole number from 10/,
  ],
  [
    'a code that is no name',
    file({}).replace('  chat:', '  ¦svc/chat:'),
    'endpoints.svc/chat',
    /letters, digits/,
  ],
  [
    'an alias to nowhere',
    file({}) + 'aliases: { a: ¦lost/m }\n',
    'aliases.a',
    /no endpoint 'lost'; known: chat/,
  ],
  [
    'an alias to a model that is not there',
    file({}) + 'aliases: { a: ¦chat/lost }\n',
    'aliases.a',
    /'chat' has no model 'lost'/,
  ],
  ['an alias to half an id', file({}) + 'aliases: { a: ¦chat }\n', 'aliases.a', /must be code\/model/],
  [
    'an alias that hides a model',
    file({}) + 'aliases: { chat/m: ¦chat/m }\n',
    'aliases.chat/m',
    /hides the model/,
  ],
  ['a limit of zero', file({}) + 'limits: { concurrent: ¦0 }\n', 'limits.concurrent', /whole number from 1/],
  ['a certificate without a key', file({}) + '¦tls: { cert: a.pem }\n', 'tls.key', /is missing/],
  ['another word for tls', file({}) + 'tls: ¦automatic\n', 'tls', /must be self-signed, or/],
  [
    'a proxy that is no address',
    file({}) + 'trusted_proxies: [¦proxy.local]\n',
    'trusted_proxies[0]',
    /address or a range/,
  ],
  [
    'a proxy range too long',
    file({}) + 'trusted_proxies: [¦10.0.0.0/33]\n',
    'trusted_proxies[0]',
    /address or a range/,
  ],
  ['a key twice', file({}) + '¦lists: {}\n', '', /unique/],
  ['an open bracket', file({}) + 'limits: {\n¦', '', /flow map/i],
  ['a tab', file({}) + 'limits:\n¦\tconcurrent: 5\n', '', /[Tt]ab/],
  ['another type of YAML value', file({}) + 'limits: ¦!special {}\n', '', /tag/],
  ['a map as a key', file({}) + '? ¦{ a: 1 }\n: 2\n', '', /has a key that is not plain text/],
  [
    'a list as a key, in a map',
    file({ upstream: '{ kind: house, ¦[a]: 1 }' }),
    'upstreams.house',
    /has a key that is not plain text/,
  ],
  ['a list for a map', '¦- 1\n', '', /must be a map/],
  ['text for a map', '¦hello\n', '', /must be a map/],
  ['nothing', '¦', '', /is empty; start from the example/],
  ['a comment alone', '¦# hello\n', '', /is empty/],
  ['a missing section', '¦upstreams: {}\nlists: {}\n', 'endpoints', /is missing/],
];

describe('an error in upstreams, limits or syntax is reported with line, column and key', () => {
  test.each(CASES)('%s', (_about, marked, path, message) => {
    const { mistakes, place } = markedMistakes(marked);
    expect(mistakes.map(({ missingKey: _key, ...mistake }) => mistake)).toContainEqual({
      ...place,
      path,
      message: expect.stringMatching(message),
    });
  });

  test('all errors are reported at once, in the order of the file, one line each', () => {
    const error = catalogError(
      file({ upstream: '{ kind: hosue }', models: '{ model: m, input: -1, output: 1, oops: 1 }' }),
    );
    expect(error.message.split('\n')).toEqual([
      'tollgate.yaml:2:18 upstreams.house.kind: did you mean house? It must be one of openai, anthropic, google, mistral, cohere, azure, bedrock, bfl, fal, replicate, stability, house, gguf, or the name of a preset such as groq',
      'tollgate.yaml:5:26 lists.list[0].input: must not be negative',
      expect.stringMatching(/^tollgate\.yaml:5:41 lists\.list\[0\]\.oops: unknown key; known here: model, /),
    ]);
  });

  test('a literal secret is never repeated in the message', () => {
    const text = file({
      upstream: '{ kind: anthropic, api_key: hunter2-and-more, headers: { x-api-key: hunter2 } }',
    });
    expect(catalogError(text).message).not.toContain('hunter2');
  });
});

describe('a hostile text is an error, not a crash', () => {
  test.each([
    ['a hundred thousand brackets', '['.repeat(100_000)],
    ['braces all the way', '{a: '.repeat(100_000)],
    ['dashes all the way', '- '.repeat(100_000)],
    ['an anchor within itself', 'upstreams: &a { x: *a }\n'],
    ['aliases that multiply', bomb()],
    ['more than two million characters', `# ${'x'.repeat(2_000_000)}`],
    ['private-use characters', 'upstreams: "\uE000"\n'],
    ['a prototype', `${file({})}__proto__: { polluted: 1 }\n`],
    ['a map as a key', `${file({})}? { a: 1 }\n: 2\n`],
  ])('%s', (_about, text) => {
    expect(catalogError(text).mistakes.length).toBeGreaterThan(0);
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false);
  });

  test('at most fifty errors are printed', () => {
    const many = Array.from({ length: 200 }, (_, index) => `k${index}: 1`).join('\n');
    const lines = catalogError(`${file({})}${many}\n`).message.split('\n');
    expect(lines).toHaveLength(51);
    expect(lines.at(-1)).toBe('… and 150 more');
  });
});

function bomb(): string {
  const levels = Array.from(
    { length: 9 },
    (_, level) => `l${level + 1}: &l${level + 1} [${'*l' + level},${`*l${level},`.repeat(8)}]`,
  );
  return `l0: &l0 [x]\n${levels.join('\n')}\n`;
}
