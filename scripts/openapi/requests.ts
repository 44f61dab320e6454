/** A request to the public API, and whether it is one that the document allows. */
export interface DocumentedRequest {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body?: unknown;
  readonly form?: FormData;
  readonly headers?: Readonly<Record<string, string>>;
  /** `none`: without a token; `poor`: of an account without money; `wrong`: of nobody. */
  readonly as?: 'none' | 'poor' | 'wrong';
  /** The request is not valid by the document, so only its answer is checked. */
  readonly isInvalid?: true;
}

const CHATS = ['house-guide', 'house-echo'] as const;
const said = (content: unknown, role = 'user') => ({ role, content });
const TOOL = {
  type: 'function',
  function: {
    name: 'weather',
    description: 'The weather of a city.',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
};
const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** Chats that differ in what they ask for. */
const CHAT_BODIES: readonly Record<string, unknown>[] = [
  { messages: [said('What is a hold?')] },
  { messages: [said('Be brief.', 'system'), said('What is a receipt?')], temperature: 0.2 },
  { messages: [said('One.'), said('Two.', 'assistant'), said('Three?')], top_p: 0.5, max_tokens: 40 },
  { messages: [said('Say it twice.')], n: 2, max_completion_tokens: 30 },
  { messages: [said('Stop early.')], stop: ['.', '!'], seed: 7 },
  { messages: [said('Stop at once.')], stop: 'a', user: 'somebody' },
  { messages: [said('With penalties.')], presence_penalty: 0.5, frequency_penalty: -0.5 },
  { messages: [said([{ type: 'text', text: 'In parts.' }])], max_tokens: 20 },
  { messages: [said('Developer.', 'developer'), said('And user.')], max_tokens: 20 },
  { messages: [said('Nothing set.')], temperature: null, top_p: null, max_tokens: null, stop: null },
  { messages: [said('Cheap, please.')], max_cost_usd: 0.5, max_tokens: 10 },
];
const ECHO_BODIES: readonly Record<string, unknown>[] = [
  { messages: [said('Use the tool for Oslo.')], tools: [TOOL] },
  { messages: [said('Use the tool for Oslo.')], tools: [TOOL], tool_choice: 'required', max_tokens: 60 },
  {
    messages: [
      said('Weather?'),
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          { id: 'c1', type: 'function', function: { name: 'weather', arguments: '{"city":"Oslo"}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'c1', content: 'Rain.' },
    ],
    tools: [TOOL],
  },
  {
    messages: [
      said([
        { type: 'text', text: 'What is this?' },
        { type: 'image_url', image_url: { url: `data:image/png;base64,${PIXEL}` } },
      ]),
    ],
  },
];

/** At least two hundred, of every operation. `receipts`: ids of requests that were made before. */
export function documentedRequests(): DocumentedRequest[] {
  return [...chats(), ...dialects(), ...images(), ...lookUps(), ...refused()];
}

function chats(): DocumentedRequest[] {
  return CHATS.flatMap((model) =>
    [...CHAT_BODIES, ...(model === 'house-echo' ? ECHO_BODIES : [])].flatMap((body) =>
      [false, true].flatMap((stream): DocumentedRequest[] => {
        const options = stream ? { stream, stream_options: { include_usage: true } } : {};
        return [
          post('/api/public/v1/chat/completions', { endpoint: 'svc_chat', model, ...body, ...options }),
          post('/v1/chat/completions', { model: `svc_chat/${model}`, ...body, ...options }),
        ];
      }),
    ),
  );
}

function dialects(): DocumentedRequest[] {
  const model = 'svc_chat/house-echo';
  const messages = [said('Hello there.')];
  const tool = { name: 'weather', input_schema: TOOL.function.parameters };
  const asked: Record<string, unknown>[] = [
    { max_tokens: 30, messages },
    { max_tokens: 30, messages, system: 'Be brief.', temperature: 0.4 },
    { max_tokens: 60, messages, tools: [tool] },
    { max_tokens: 30, messages, stop_sequences: ['.'], top_p: 0.9, metadata: { user_id: 'u1' } },
    { max_tokens: 30, messages: [said([{ type: 'text', text: 'In parts.' }])] },
  ];
  const inputs: Record<string, unknown>[] = [
    { input: 'Hello there.' },
    { input: [{ role: 'user', content: 'Hello there.' }], instructions: 'Be brief.' },
    { input: 'Hello there.', max_output_tokens: 40, temperature: 0.3, store: false },
    {
      input: 'Use the tool.',
      tools: [{ type: 'function', name: 'weather', parameters: TOOL.function.parameters, strict: false }],
    },
    { input: [{ role: 'user', content: [{ type: 'input_text', text: 'In parts.' }] }] },
  ];
  const contents = [{ role: 'user', parts: [{ text: 'Hello there.' }] }];
  const generated: Record<string, unknown>[] = [
    { contents },
    { contents, generationConfig: { maxOutputTokens: 40, temperature: 0.3 } },
    { contents, systemInstruction: { parts: [{ text: 'Be brief.' }] } },
  ];
  return [false, true].flatMap((stream) => [
    ...generated.map((body) =>
      post(`/v1beta/models/house-echo:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`, body),
    ),
    ...(stream ? [] : [post('/v1beta/models/house-echo:countTokens', { contents })]),
    post('/v1/completions', { model, prompt: 'Hello there.', max_tokens: 20, ...(stream ? { stream } : {}) }),
    ...asked.map((body) => post('/v1/messages', { model, ...body, ...(stream ? { stream } : {}) })),
    ...asked.map((body) => post('/v1/messages/count_tokens', { model, ...body, max_tokens: undefined })),
    ...inputs.map((body) => post('/v1/responses', { model, ...body, ...(stream ? { stream } : {}) })),
  ]);
}

function images(): DocumentedRequest[] {
  const prompts = ['a lighthouse at dusk', 'dunes', 'a red square'];
  const sizes = ['1024x1024', '512x512', '256x256'];
  return prompts.flatMap((prompt) =>
    sizes.flatMap((size): DocumentedRequest[] => [
      post('/api/public/v1/images/generations', {
        endpoint_code: 'svc_tgter',
        model: 'house-paint',
        prompt,
        size,
      }),
      post('/v1/images/generations', {
        model: 'svc_tgter/house-paint',
        prompt,
        size,
        response_format: size === '256x256' ? 'url' : 'b64_json',
      }),
    ]),
  );
}

function lookUps(): DocumentedRequest[] {
  const get = (path: string): DocumentedRequest => ({ method: 'GET', path });
  return [
    get('/api/hello'),
    get('/api/public/v1/openapi.json'),
    get('/api/public/v1/models'),
    get('/api/public/v1/account'),
    get('/v1/models'),
    get('/v1beta/models'),
    get('/v1/models/svc_chat%2Fhouse-guide'),
    ...['svc_chat', 'svcv1_chat', 'svc_tgter'].map((code) => get(`/api/public/v1/endpoints/${code}/models`)),
    post('/api/public/v1/quotes', {
      endpoint: 'svc_chat',
      model: 'house-guide',
      messages: [said('How much?')],
    }),
    post('/api/public/v1/quotes', { endpoint: 'svc_tgter', model: 'house-paint', prompt: 'dunes' }),
  ];
}

/** Errors are documented too: by status, and by body. */
function refused(): DocumentedRequest[] {
  const chat = { endpoint: 'svc_chat', model: 'house-guide', messages: [said('Hello.')] };
  const v1 = { model: 'svc_chat/house-guide', messages: [said('Hello.')] };
  const claude = { ...v1, max_tokens: 20 };
  const image = { endpoint_code: 'svc_tgter', model: 'house-paint', prompt: 'dunes' };
  const paid: [string, Record<string, unknown>][] = [
    ['/api/public/v1/chat/completions', chat],
    ['/v1/chat/completions', v1],
    ['/v1/messages', claude],
    ['/v1/responses', { model: v1.model, input: 'Hello.' }],
    ['/api/public/v1/images/generations', image],
    ['/v1/images/generations', { model: 'svc_tgter/house-paint', prompt: 'dunes' }],
  ];
  return [
    ...paid.flatMap(([path, body]): DocumentedRequest[] => [
      { ...post(path, body), as: 'wrong' },
      { ...post(path, body), as: 'poor' },
      { ...post(path, body), as: 'none', isInvalid: true },
      post(path, { ...body, model: 'svc_chat/nobody-has-this' }),
      { ...post(path, { ...body, model: undefined }), isInvalid: true },
    ]),
    post('/api/public/v1/chat/completions', { ...chat, endpoint: 'svc_nowhere' }),
    { ...post('/api/public/v1/chat/completions', { ...chat, temperature: 9 }), isInvalid: true },
    { ...post('/v1/chat/completions', { ...v1, n: 100 }), isInvalid: true },
    { ...post('/v1/messages', { ...claude, messages: 'none' }), isInvalid: true },
    post('/api/public/v1/images/generations', { ...image, size: '17x17' }),
    { method: 'GET', path: '/api/public/v1/requests/req_0WPlqUf4abcdefghijklmnop' },
    { method: 'GET', path: '/api/public/v1/endpoints/svc_nowhere/models' },
    { method: 'GET', path: '/v1/models/nobody-has-this' },
    { method: 'GET', path: '/v1/models', as: 'wrong' },
    { method: 'GET', path: '/api/public/v1/account', as: 'none', isInvalid: true },
  ];
}

function post(path: string, body: Record<string, unknown>): DocumentedRequest {
  return { method: 'POST', path, body };
}
