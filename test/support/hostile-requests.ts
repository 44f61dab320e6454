import fc from 'fast-check';

/** A request that a careless or malicious client might send, over an ordinary HTTP client. */
export interface HostileRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: Uint8Array<ArrayBuffer>;
  readonly auth: 'good' | 'bad' | 'none';
}

const PREFIX = '/api/public/v1';
const PATHS = [
  `${PREFIX}/chat/completions`,
  `${PREFIX}/images/generations`,
  `${PREFIX}/models`,
  `${PREFIX}/endpoints/svc_chat/models`,
  `${PREFIX}/account`,
  `${PREFIX}/requests/req_1`,
  `${PREFIX}/images/img_1`,
  '/v1/chat/completions',
  '/v1/images/generations',
  '/v1/images/edits',
  `${PREFIX}/images/edits`,
  '/v1/responses',
  '/v1/embeddings',
  '/v1/messages',
  '/v1/messages/count_tokens',
  '/v1/models',
  '/v1/models/m',
  '/api/auth/sign-in/email',
  '/api/auth/sign-up/email',
  '/api/console/session',
  '/api/console/account',
  '/',
  '/healthz',
];

/** Values that break what was written for ordinary ones. */
const NASTY: readonly unknown[] = [
  null,
  true,
  0,
  -0,
  -1,
  1.5,
  2 ** 31,
  2 ** 53 + 2,
  -(2 ** 63),
  1e308,
  '',
  ' ',
  '0',
  'null',
  'true',
  '__proto__',
  '\u0000',
  '\ud800',
  '😀'.repeat(50),
  "' OR 1=1--",
  '%s%s%n',
  '../../etc/passwd',
  '<script>',
  '${7*7}',
  'x'.repeat(5_000),
  [],
  [[]],
  [null],
  {},
  { length: 1e9 },
  { toString: 1 },
  // oxlint-disable-next-line unicorn/no-thenable -- what looks like a promise and is none is hostile too
  { then: 1 },
];

const nasty = fc.oneof(fc.constantFrom(...NASTY), fc.jsonValue({ maxDepth: 3 }));

const chat = { endpoint: 'svc_chat', model: 'm', messages: [{ role: 'user', content: 'hi' }], max_tokens: 5 };
const TEMPLATES: readonly Record<string, unknown>[] = [
  chat,
  { ...chat, stream: true, stream_options: { include_usage: true } },
  { ...chat, tools: [{ type: 'function', function: { name: 'f', parameters: {} } }], tool_choice: 'auto' },
  {
    ...chat,
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'x' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } },
        ],
      },
    ],
  },
  {
    ...chat,
    messages: [
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'a', content: 'x' },
    ],
  },
  { endpoint_code: 'svc_tgter', model: 'p', prompt: 'x', n: 1, size: '512x512', response_format: 'b64_json' },
  { model: 'svc_chat/m', input: 'hi', max_output_tokens: 5 },
  {
    model: 'svc_chat/m',
    input: [{ role: 'user', content: [{ type: 'input_text', text: 'x' }] }],
    instructions: 'x',
  },
  {
    model: 'svc_chat/m',
    max_tokens: 5,
    messages: [{ role: 'user', content: [{ type: 'text', text: 'x' }] }],
    system: 'x',
  },
  { email: 'a@example.com', password: 'x' },
];

/** A good body with some of its values, at any depth, replaced by nasty ones. */
const bentBody = fc
  .tuple(
    fc.constantFrom(...TEMPLATES),
    fc.array(fc.tuple(fc.nat(30), nasty), { maxLength: 3 }),
    fc.dictionary(fc.string({ maxLength: 12 }), nasty, { maxKeys: 2 }),
  )
  .map(([template, bends, more]) =>
    JSON.stringify({
      ...bends.reduce((body, [place, value]) => bend(body, place, value), template),
      ...more,
    }),
  );

const rawNumber = fc.constantFrom(
  '1e400',
  '-1e400',
  '99999999999999999999',
  '0x10',
  'NaN',
  '-',
  '1.',
  '01',
  '1e',
);

/** The text itself damaged: numbers no number is, cut off, keys twice, stray bytes. */
const bentText = fc.oneof(
  { arbitrary: bentBody, weight: 6 },
  {
    arbitrary: fc.tuple(bentBody, rawNumber).map(([text, number]) => text.replace(/:\d+/, `:${number}`)),
    weight: 1,
  },
  { arbitrary: fc.tuple(bentBody, fc.nat(400)).map(([text, length]) => text.slice(0, length)), weight: 1 },
  { arbitrary: bentBody.map((text) => `${text.slice(0, -1)},"model":"m","model":7}`), weight: 1 },
  { arbitrary: fc.string({ maxLength: 200, unit: 'binary' }), weight: 1 },
);

const bodyBytes = fc.oneof(
  { arbitrary: bentText.map((text) => new Uint8Array(Buffer.from(text, 'utf8'))), weight: 8 },
  { arbitrary: bentText.map((text) => new Uint8Array(Buffer.from(text, 'utf16le'))), weight: 1 },
  { arbitrary: bentText.map((text) => new Uint8Array(Buffer.from(text, 'latin1'))), weight: 1 },
  { arbitrary: fc.uint8Array({ maxLength: 300 }).map((bytes) => new Uint8Array(bytes)), weight: 1 },
);

/** Printable Latin-1: what an HTTP client agrees to send. */
const headerText = fc
  .string({
    maxLength: 60,
    unit: fc
      .integer({ min: 0x20, max: 0xff })
      .filter((code) => code !== 0x7f)
      .map((code) => String.fromCharCode(code)),
  })
  .map((text) => text.trim());

const header = fc.oneof(
  fc.tuple(
    fc.constantFrom(
      'content-type',
      'accept',
      'user-agent',
      'origin',
      'referer',
      'cookie',
      'range',
      'idempotency-key',
      'x-api-key',
      'authorization',
      'accept-language',
      'if-none-match',
      'x-request-id',
      'openai-organization',
      'anthropic-version',
      'anthropic-beta',
      'x-forwarded-for',
      'x-forwarded-proto',
      'x-forwarded-host',
      'sec-fetch-site',
      'x-http-method-override',
    ),
    headerText,
  ),
  fc
    .constantFrom(
      ['content-encoding', 'gzip'],
      ['content-encoding', 'identity'],
      ['content-type', 'multipart/form-data'],
      ['content-type', 'multipart/form-data; boundary=x'],
      ['idempotency-key', 'x'.repeat(300)],
      ['content-type', 'application/json; charset=utf-16'],
      ['expect', '100-continue'],
    )
    .map(([name, value]) => [name ?? '', value ?? ''] as const),
);

const query = fc.oneof(
  { arbitrary: fc.constant(''), weight: 4 },
  {
    arbitrary: fc
      .tuple(
        fc.constantFrom('token', 'expires', 'signature', 'cursor', 'limit', 'x'),
        fc.string({ maxLength: 20 }),
      )
      .map(([name, value]) => `?${name}=${encodeURIComponent(value.toWellFormed())}`),
    weight: 1,
  },
  {
    arbitrary: fc.constantFrom('?', '??', '?token=&token=', '?%', '?a[b]=c', '?expires=1e400', '?limit=-1'),
    weight: 1,
  },
);

const path = fc.oneof(
  { arbitrary: fc.constantFrom(...PATHS), weight: 6 },
  {
    arbitrary: fc
      .tuple(
        fc.constantFrom(...PATHS),
        fc.constantFrom('/', '//', '/..;/', '%00', '%2e%2e', '%', '/%ff', '.json', ';a=b', '/x'.repeat(50)),
      )
      .map((parts) => parts.join('')),
    weight: 2,
  },
  { arbitrary: fc.webPath().map((text) => (text.startsWith('/') ? text : `/${text}`)), weight: 1 },
);

export const hostileRequest: fc.Arbitrary<HostileRequest> = fc.record({
  method: fc.oneof(
    { arbitrary: fc.constant('POST'), weight: 6 },
    { arbitrary: fc.constantFrom('GET', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS'), weight: 2 },
  ),
  path: fc.tuple(path, query).map((parts) => parts.join('')),
  headers: fc.array(header, { maxLength: 4 }),
  body: bodyBytes,
  auth: fc.constantFrom('good', 'good', 'good', 'good', 'bad', 'none'),
});

export async function sendHostile(
  url: string,
  token: string,
  { method, path, headers, body, auth }: HostileRequest,
): Promise<{ status: number; text: string }> {
  const all = new Headers(headers.map(([name, value]): [string, string] => [name, value]));
  if (auth === 'good') all.set('authorization', `Bearer ${token}`);
  if (auth === 'bad') all.set('authorization', `Bearer ${token.slice(0, -1)}`);
  const hasBody = method !== 'GET' && method !== 'HEAD';
  const response = await fetch(`${url}${path}`, {
    method,
    headers: all,
    redirect: 'manual',
    ...(hasBody ? { body } : {}),
  });
  return { status: response.status, text: await response.text() };
}

function bend(body: Record<string, unknown>, place: number, value: unknown): Record<string, unknown> {
  const copy = structuredClone(body);
  const places: { holder: Record<string, unknown> | unknown[]; key: string }[] = [];
  const visit = (holder: Record<string, unknown> | unknown[]): void => {
    for (const [key, inner] of Object.entries(holder)) {
      places.push({ holder, key });
      if (typeof inner === 'object' && inner !== null) visit(inner as Record<string, unknown>);
    }
  };
  visit(copy);
  const chosen = places[place % places.length];
  if (chosen) Reflect.set(chosen.holder, chosen.key, value);
  return copy;
}
