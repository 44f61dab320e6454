import type { Reply } from '../backend.ts';
import type { ClientRequest, GoldenCase } from '../case.ts';
import { headerOf, type Message } from '../message.ts';
import { BEARER, get, MESSAGES, post, PUBLIC_CHAT, V1_CHAT } from './dialects.ts';
import { ANSWERS, failure, jsonReply, PIXEL } from './replies.ts';

/** Everything but chat: models, account, receipts, token counts, embeddings, images, and unknown paths. */
export function otherCases(): GoldenCase[] {
  return [
    ...lookups(),
    ...receipts(),
    ...storedResponses(),
    ...counts(),
    ...embeddings(),
    ...images(),
    ...edits(),
    ...links(),
    ...jobs(),
    ...elsewhere(),
  ];
}

function one(name: string, send: ClientRequest, replies: readonly Reply[] = []): GoldenCase {
  return { name, steps: [{ send }], replies };
}

function quoted(): GoldenCase[] {
  const ask = (what: string, body: Record<string, unknown>, headers?: Record<string, string>) =>
    one(`quotes/${what}`, post('/api/public/v1/quotes', body, headers));
  const chat = {
    endpoint: 'svc_chat',
    model: 'm',
    messages: [{ role: 'user', content: 'Hi' }],
    max_tokens: 500,
  };
  return [
    ask('chat', chat),
    ask('image', { endpoint_code: 'svc_tgter', model: 'p', prompt: 'a gate', n: 2 }),
    ask('max-cost-too-low', { ...chat, max_cost_usd: 0.000001 }),
    ask('without-token', chat, {}),
  ];
}

function lookups(): GoldenCase[] {
  const prefix = '/api/public/v1';
  const wrong = { 'x-api-key': 'not-a-token' };
  return [
    ...quoted(),
    one('models/list', get(`${prefix}/models`)),
    one('models/list-without-token', get(`${prefix}/models`, {})),
    one('models/list-with-wrong-token', get(`${prefix}/models`, wrong)),
    one('models/head', { ...get(`${prefix}/models`), method: 'HEAD' }),
    one('models/of-chat-endpoint', get(`${prefix}/endpoints/svc_chat/models`)),
    one('models/of-image-endpoint', get(`${prefix}/endpoints/svc_tgter/models`)),
    one('models/of-embedding-endpoint', get(`${prefix}/endpoints/embeddings/models`)),
    one('models/of-unknown-endpoint', get(`${prefix}/endpoints/no%20where/models`)),
    one('models/of-endpoint-without-token', get(`${prefix}/endpoints/svc_chat/models`, {})),
    one('v1-models/list', get('/v1/models')),
    one('v1-models/list-without-token', get('/v1/models', {})),
    one('v1-models/one', get('/v1/models/svc_chat/m')),
    one('v1-models/alias', get('/v1/models/fast')),
    one('v1-models/unknown', get('/v1/models/unheard-of')),
    one('account/view', get(`${prefix}/account`)),
    {
      name: 'account/view-with-limits',
      account: {
        usd: '12.345678901',
        chatPerMinute: 7,
        imagesPerMinute: 3,
        concurrent: 2,
        monthlyUsd: '4.5',
      },
      steps: [{ send: get(`${prefix}/account`) }],
    },
    {
      name: 'account/view-with-budget',
      account: { budget: '4.5/month' },
      replies: [ANSWERS.text.whole],
      steps: [{ send: post(PUBLIC_CHAT.path, PUBLIC_CHAT.ask()) }, { send: get(`${prefix}/account`) }],
    },
    {
      name: 'account/budget-used-up',
      account: { budget: '0/day' },
      steps: [{ send: post(PUBLIC_CHAT.path, PUBLIC_CHAT.ask()) }],
    },
    {
      name: 'token/other-models',
      account: { models: ['svc_tgter/*'] },
      steps: [{ send: post(PUBLIC_CHAT.path, PUBLIC_CHAT.ask()) }, { send: get('/v1/models') }],
    },
    {
      name: 'token/foreign-network',
      account: { networks: ['192.0.2.0/24'] },
      steps: [{ send: post(PUBLIC_CHAT.path, PUBLIC_CHAT.ask()) }, { send: get(`${prefix}/account`) }],
    },
    {
      name: 'account/view-after-spending',
      replies: [ANSWERS.text.whole],
      steps: [{ send: post(PUBLIC_CHAT.path, PUBLIC_CHAT.ask()) }, { send: get(`${prefix}/account`) }],
    },
    {
      name: 'account/disabled',
      account: { disabled: true },
      steps: [{ send: get(`${prefix}/account`) }],
    },
    one('account/without-token', get(`${prefix}/account`, {})),
  ];
}

function receipts(): GoldenCase[] {
  const path = '/api/public/v1/requests';
  const ofFirst = (answers: readonly Message[]): ClientRequest =>
    get(`${path}/${answers[0] ? headerOf(answers[0], 'x-request-id') : ''}`);
  return [
    {
      name: 'requests/receipt',
      replies: [ANSWERS.reasoning.whole],
      steps: [{ send: post(PUBLIC_CHAT.path, PUBLIC_CHAT.ask()) }, { send: ofFirst }],
    },
    {
      name: 'requests/refused-request',
      account: { usd: '0' },
      steps: [{ send: post(PUBLIC_CHAT.path, PUBLIC_CHAT.ask()) }, { send: ofFirst }],
    },
    {
      name: 'requests/without-token',
      replies: [ANSWERS.text.whole],
      steps: [
        { send: post(PUBLIC_CHAT.path, PUBLIC_CHAT.ask()) },
        { send: (answers) => ({ ...ofFirst(answers), headers: {} }) },
      ],
    },
    one('requests/unknown', get(`${path}/req_unknown`)),
  ];
}

function storedResponses(): GoldenCase[] {
  const path = '/v1/responses';
  const idOf = (answer: Message | undefined): string =>
    `resp_${(answer && headerOf(answer, 'x-request-id'))?.replace('req_', '') ?? ''}`;
  const ask = (more: Record<string, unknown> = {}): ClientRequest =>
    post(path, { model: 'svc_chat/m', input: 'Hi', ...more });
  const replies = [ANSWERS.reasoning.whole, ANSWERS.text.whole];
  const conversations = '/v1/conversations';
  const conversationOf = (made: Message | undefined): string => idOf(made).replace('resp_', 'conv_');
  const firstItemOf = (made: Message | undefined): string =>
    `${conversations}/${conversationOf(made)}/items/${idOf(made).replace('resp_', 'msg_')}_i0`;
  return [
    {
      name: 'v1-responses/going-on',
      replies,
      steps: [
        { send: ask() },
        { send: ([first]) => ask({ input: 'And?', previous_response_id: idOf(first) }) },
        { send: ([, second]) => get(`${path}/${idOf(second)}`) },
        { send: ([, second]) => get(`${path}/${idOf(second)}/input_items?limit=1`) },
        { send: ([first]) => ({ ...get(`${path}/${idOf(first)}`), method: 'DELETE' }) },
        { send: ([, second]) => ask({ previous_response_id: idOf(second) }) },
      ],
    },
    {
      name: 'v1-conversations/with-a-response',
      replies: [ANSWERS.text.whole],
      steps: [
        {
          send: post(conversations, {
            items: [{ role: 'user', content: 'Hi' }],
            metadata: { topic: 'tests' },
          }),
        },
        { send: ([made]) => ask({ input: 'And?', conversation: conversationOf(made) }) },
        { send: ([made]) => get(`${conversations}/${conversationOf(made)}`) },
        {
          send: ([made]) =>
            post(`${conversations}/${conversationOf(made)}/items`, {
              items: [{ role: 'user', content: 'Then?' }],
            }),
        },
        { send: ([made]) => get(`${conversations}/${conversationOf(made)}/items?order=asc`) },
        { send: ([made]) => get(firstItemOf(made)) },
        { send: ([made]) => ({ ...get(firstItemOf(made)), method: 'DELETE' }) },
        { send: ([made]) => ({ ...get(`${conversations}/${conversationOf(made)}`), method: 'DELETE' }) },
        { send: ([made]) => get(`${conversations}/${conversationOf(made)}`) },
      ],
    },
    one('v1-conversations/response-in-unknown', ask({ conversation: 'conv_unknown' })),
    one('v1-conversations/without-token', get(`${conversations}/conv_unknown`, {})),
    one('v1-conversations/wrong-items', post(conversations, { items: [{ type: 'function_call' }] })),
    {
      name: 'v1-responses/background-cancelled',
      replies: [{ ...ANSWERS.text.stream, after: 'held' }],
      steps: [
        { send: ask({ background: true }) },
        {
          send: ([begun]) => ({ ...get(`${path}/${idOf(begun)}/cancel`), method: 'POST' }),
          during: { seen: 'cancelled', happens: 'backend goes on' },
        },
      ],
    },
    {
      name: 'v1-responses/cancelled-in-vain',
      replies: [ANSWERS.text.whole],
      steps: [
        { send: ask() },
        { send: ([begun]) => ({ ...get(`${path}/${idOf(begun)}/cancel`), method: 'POST' }) },
      ],
    },
    one('v1-responses/get-unknown', get(`${path}/resp_unknown`)),
    one('v1-responses/get-without-token', get(`${path}/resp_unknown`, {})),
    one('v1-responses/items-of-unknown', get(`${path}/resp_unknown/input_items`)),
  ];
}

function counts(): GoldenCase[] {
  const path = '/v1/messages/count_tokens';
  const { max_tokens: _, ...asked } = MESSAGES.ask();
  return [
    one('count-tokens/text', post(path, asked)),
    one('count-tokens/tools', post(path, { ...asked, ...MESSAGES.kinds['tool-results'] })),
    one('count-tokens/images', post(path, { ...asked, ...MESSAGES.kinds['images'] })),
    one('count-tokens/no-messages', post(path, { model: 'svc_chat/m' })),
    one('count-tokens/not-json', post(path, 'nonsense')),
    one('count-tokens/without-token', post(path, asked, {})),
  ];
}

const JUDGED = {
  id: 'modr-1',
  model: 'omni-moderation-2024-09-26',
  results: [{ flagged: false, categories: { violence: false }, category_scores: { violence: 1e-4 } }],
};

function embeddings(): GoldenCase[] {
  const path = '/v1/embeddings';
  const name = (what: string): string => `v1-embeddings/${what}`;
  const answer = jsonReply({
    object: 'list',
    data: [{ object: 'embedding', index: 0, embedding: [0.1, -0.2, 3e-9] }],
    model: 'backend-embedder',
    usage: { prompt_tokens: 5, total_tokens: 5 },
  });
  const ask = (fields: Record<string, unknown>) =>
    post(path, { model: 'embeddings/e', input: 'a gate', ...fields });
  const failing = (what: string, reply: Reply): GoldenCase => ({
    ...one(name(what), ask({}), [reply]),
    fresh: true,
  });
  return [
    one(name('text'), ask({}), [answer]),
    one(name('texts'), ask({ input: ['a', 'gate'], dimensions: 3, user: 'someone' }), [answer]),
    one(name('tokens'), ask({ input: [1, 2, 3] }), [answer]),
    one(name('lists-of-tokens'), ask({ input: [[1, 2], [3]] }), [answer]),
    one(name('base64'), ask({ encoding_format: 'base64' }), [
      jsonReply({ object: 'list', data: [{ object: 'embedding', index: 0, embedding: 'zczMPQ==' }] }),
    ]),
    one(name('empty-input'), ask({ input: [] })),
    one(name('no-input'), post(path, { model: 'embeddings/e' })),
    one(
      'v1-moderations/text',
      post('/v1/moderations', { model: 'judges/judge', input: 'a gate', user: 'somebody' }),
      [jsonReply(JUDGED)],
    ),
    one('v1-moderations/usual-model', post('/v1/moderations', { input: ['a', 'b'] }), [jsonReply(JUDGED)]),
    one('v1-moderations/no-input', post('/v1/moderations', {})),
    {
      ...one('v1-moderations/not-set-up', post('/v1/moderations', { input: 'a gate' })),
      catalog: 'unmoderated',
    },
    one(name('chat-model'), ask({ model: 'svc_chat/m' })),
    one(name('unheard-of-model'), ask({ model: 'unheard-of' })),
    one(name('backend-without-embeddings'), ask({ model: 'house_embeddings/e' })),
    one(name('not-json'), post(path, '{')),
    one(name('without-token'), post(path, {}, {})),
    { ...one(name('insufficient-balance'), ask({})), account: { usd: '0' } },
    failing('backend-error', failure(500, 'broken')),
    failing('backend-garbage', jsonReply('{"object":"list"}')),
    one(name('backend-rejects'), ask({}), [failure(400, 'input is too odd')]),
  ];
}

const PICTURE = jsonReply({
  created: 1_700_000_000,
  data: [{ b64_json: PIXEL, revised_prompt: 'A gate in the fog.' }],
  usage: { total_tokens: 7 },
});

function images(): GoldenCase[] {
  const dialects = [
    {
      operation: 'images',
      path: '/api/public/v1/images/generations',
      ask: (fields: Record<string, unknown>) => ({
        endpoint_code: 'svc_tgter',
        model: 'p',
        prompt: 'a gate',
        ...fields,
      }),
      route: (endpoint: string, model: string) => ({ endpoint_code: endpoint, model }),
    },
    {
      operation: 'v1-images',
      path: '/v1/images/generations',
      ask: (fields: Record<string, unknown>) => ({ model: 'svc_tgter/p', prompt: 'a gate', ...fields }),
      route: (endpoint: string, model: string) => ({ model: `${endpoint}/${model}` }),
    },
  ];
  const all = dialects.flatMap(({ operation, path, ask, route }) => {
    const asked = (what: string, fields: Record<string, unknown>, replies: readonly Reply[] = []) =>
      one(`${operation}/${what}`, post(path, ask(fields)), replies);
    const failing = (what: string, reply: Reply): GoldenCase => ({
      ...asked(what, {}, [reply]),
      fresh: true,
    });
    const two = jsonReply({ created: 1, data: [{ b64_json: PIXEL }, { b64_json: PIXEL }] });
    return [
      asked('usual-format', {}, [PICTURE]),
      asked('link', { response_format: 'url' }, [PICTURE]),
      asked('base64', { response_format: 'b64_json', quality: 'auto', style: 'vivid', user: null }, [
        PICTURE,
      ]),
      asked('two', { n: 2, size: '512x512', response_format: 'b64_json' }, [two]),
      asked('more-than-asked-for', { n: 1, response_format: 'b64_json' }, [two]),
      asked('automatic-size', { size: 'auto', response_format: 'b64_json' }, [PICTURE]),
      asked('price-by-size', { ...route('svc_tgter', 'wide'), size: '1792x1024' }, [PICTURE]),
      asked('backend-sends-link', { ...route('plain_image', 'plain-p'), response_format: 'b64_json' }, [
        jsonReply({ created: 1, data: [{ url: '/plain/pictures/1.png' }] }),
        { headers: { 'content-type': 'image/png' }, body: Buffer.from(PIXEL, 'base64') },
      ]),
      asked('quality-without-price', { quality: 'high' }),
      asked('unoffered-size', { size: '64x64' }),
      asked('odd-size', { size: 'large' }),
      asked('too-many', { n: 11 }),
      asked('no-prompt', { prompt: undefined }),
      asked('chat-endpoint', route('svc_chat', 'm')),
      asked('unsupported-model', route('svc_tgter', 'unheard-of')),
      one(`${operation}/not-json`, post(path, 'paint')),
      one(`${operation}/without-token`, post(path, ask({}), {})),
      { ...asked('insufficient-balance', {}), account: { usd: '0' } },
      { ...asked('request-exceeds-balance', { n: 10 }), account: { usd: '0.05' } },
      {
        name: `${operation}/rate-limit`,
        account: { imagesPerMinute: 1 },
        replies: [PICTURE],
        steps: [{ send: post(path, ask({})) }, { send: post(path, ask({})) }],
      },
      failing('backend-error', failure(500, 'broken')),
      failing('backend-sends-nothing', jsonReply({ created: 1, data: [] })),
      asked('backend-rejects', {}, [failure(400, 'Your prompt was rejected by the safety system.')]),
      asked('house', { ...route('house_image', 'house-paint'), n: 2 }),
      asked('house-refuses-format', { ...route('house_image', 'house-paint'), output_format: 'gif' }),
    ];
  });
  // The two paths differ only in how they name a model.
  return all.filter(
    ({ name }) =>
      !/^v1-images\/(?!usual|link|base64|price|no-prompt|unsupported|without|insufficient|backend-error)/.test(
        name,
      ),
  );
}

function edits(): GoldenCase[] {
  const path = '/v1/images/edits';
  const form = (parts: readonly (readonly [head: string, body: string])[], to = path): ClientRequest => {
    const lines = parts.map(
      ([head, body]) => `--golden\r\ncontent-disposition: form-data; ${head}\r\n\r\n${body}\r\n`,
    );
    return {
      method: 'POST',
      path: to,
      headers: { ...BEARER, 'content-type': 'multipart/form-data; boundary=golden' },
      body: `${lines.join('')}--golden--\r\n`,
    };
  };
  const picture = (field: string) =>
    [`name="${field}"; filename="in.png"\r\ncontent-type: image/png`, `picture for ${field}`] as const;
  const fields = [
    ['name="model"', 'svc_tgter/p'],
    ['name="prompt"', 'make it a gate'],
    ['name="n"', '1'],
    ['name="response_format"', 'b64_json'],
  ] as const;
  return [
    one('v1-images/edit', form([...fields, picture('image')]), [PICTURE]),
    one(
      'v1-images/edit-two-with-mask',
      form([...fields, picture('image[]'), picture('image[]'), picture('mask')]),
      [PICTURE],
    ),
    one('v1-images/edit-without-image', form(fields)),
    one(
      'v1-images/openrouter',
      post('/v1/images', { model: 'svc_tgter/p', prompt: 'a gate', provider: { sort: 'price' } }),
      [PICTURE],
    ),
    one('v1-images/edit-without-prompt', form([picture('image')])),
    one('v1-images/edit-not-a-form', post(path, { model: 'svc_tgter/p' })),
    one('images/edit', form([...fields, picture('image')], '/api/public/v1/images/edits'), [PICTURE]),
    one(
      'images/edit-json',
      post('/api/public/v1/images/edits', {
        endpoint: 'svc_tgter',
        model: 'p',
        prompt: 'make it a gate',
        // No real picture: the recording shows a form of text alone.
        image: `data:image/png;base64,${btoa('a picture')}`,
      }),
      [PICTURE],
    ),
    one(
      'images/edit-from-elsewhere',
      post('/api/public/v1/images/edits', {
        endpoint: 'svc_tgter',
        model: 'p',
        prompt: 'make it a gate',
        image: 'https://elsewhere.example/a.png',
      }),
    ),
  ];
}

/** Links to images, which need no token. */
function links(): GoldenCase[] {
  const body = { model: 'svc_tgter/p', prompt: 'a gate', response_format: 'url' };
  const make = post('/v1/images/generations', body);
  const follow =
    (change: (path: string) => string = (path) => path, method = 'GET') =>
    (answers: readonly Message[]): ClientRequest => {
      const link = /"url":"http:\/\/tollgate\.example([^"]+)"/.exec(answers[0]?.body.toString() ?? '')?.[1];
      if (link === undefined) throw new Error('the answer has no link');
      return { method, path: change(link) };
    };
  const linked = (name: string, send: ReturnType<typeof follow>): GoldenCase => ({
    name: `images/${name}`,
    replies: [PICTURE],
    steps: [{ send: make }, { send }],
  });
  return [
    linked('follow-link', follow()),
    linked('follow-link-head', follow(undefined, 'HEAD')),
    linked(
      'follow-link-forged',
      follow((path) => path.replace(/signature=.{4}/, 'signature=0000')),
    ),
    linked(
      'follow-link-later',
      follow((path) => path.replace(/expires=\d/, 'expires=9')),
    ),
    linked(
      'follow-link-of-another',
      follow((path) => path.replace(/img_.{4}/, 'img_ffff')),
    ),
    linked(
      'follow-link-unsigned',
      follow((path) => path.replace(/\?.*/, '')),
    ),
    one('images/unknown-link', get('/api/public/v1/images/img_1', {})),
  ];
}

/** The backend has the job, and is not done with it before the last answer. */
function jobs(): GoldenCase[] {
  const headers = { ...BEARER, prefer: 'respond-async', 'idempotency-key': 'job-1' };
  const body = { endpoint: 'svc_tgter', model: 'p', prompt: 'a gate' };
  const make = post('/api/public/v1/images/generations', body, headers);
  const path = '/api/public/v1/images/jobs';
  const ofReplay = (answers: readonly Message[]): ClientRequest =>
    get(`${path}/${answers[0] ? headerOf(answers[0], 'x-request-id') : ''}`);
  return [
    {
      name: 'images/job',
      replies: [{ ...PICTURE, after: 'held' }],
      steps: [{ send: make, background: true }, { send: make }, { send: ofReplay }],
    },
    one('images/unknown-job', get(`${path}/req_unknown`)),
  ];
}

function elsewhere(): GoldenCase[] {
  const preflight = { origin: 'https://app.example', 'access-control-request-method': 'POST' };
  return [
    one('elsewhere/unknown-path', get('/v1/unheard-of')),
    one('elsewhere/unknown-public-path', get('/api/public/v1/unheard-of')),
    one('elsewhere/unknown-path-posted', post('/v1/unheard-of', {})),
    one('elsewhere/not-supported', post('/v1/audio/speech', {})),
    one('elsewhere/not-supported-messages', post('/v1/messages/batches', {})),
    one('elsewhere/not-supported-gemini', post('/v1beta/files', {})),
    one('elsewhere/not-supported-ollama', get('/api/tags', {})),
    one('elsewhere/get-chat', get(PUBLIC_CHAT.path)),
    one('elsewhere/get-v1-chat', get(V1_CHAT.path)),
    one('elsewhere/get-messages', get(MESSAGES.path)),
    one('elsewhere/post-models', post('/api/public/v1/models', {})),
    one('elsewhere/delete-receipt', { ...get('/api/public/v1/requests/req_1'), method: 'DELETE' }),
    one('elsewhere/put-account', { ...get('/api/public/v1/account'), method: 'PUT' }),
    one('elsewhere/preflight-chat', { ...get(PUBLIC_CHAT.path, preflight), method: 'OPTIONS' }),
    one('elsewhere/preflight-messages', { ...get(MESSAGES.path, preflight), method: 'OPTIONS' }),
    one('elsewhere/preflight-unknown', { ...get('/v1/unheard-of', preflight), method: 'OPTIONS' }),
    one('elsewhere/double-slash', get('//api/public//v1/account')),
    one('elsewhere/trailing-slash', get('/v1/models/')),
    one('elsewhere/chat-with-slashes', post('/v1//chat/completions/', V1_CHAT.ask()), [ANSWERS.text.whole]),
    one('elsewhere/hello', get('/api/hello', {})),
    one('elsewhere/healthz', get('/healthz', {})),
    one('elsewhere/readyz', get('/readyz', {})),
  ];
}
