import type { ClientRequest, GoldenCase } from '../case.ts';
import type { Reply } from '../backend.ts';
import { get, post } from './dialects.ts';
import { ANSWERS, chunk, completion, eventsReply, failure, FIRST, jsonReply, PIXEL } from './replies.ts';

const MODEL = '/v1beta/models/svc_chat/m';
const KEY = { 'x-goog-api-key': '{token}' };
const HI = [{ role: 'user', parts: [{ text: 'Hi — grüß dich ✓' }] }];

const VECTORS = jsonReply({
  object: 'list',
  model: 'backend/e',
  data: [
    { object: 'embedding', index: 0, embedding: [0.1, -0.2] },
    { object: 'embedding', index: 1, embedding: [0.3, 3e-9] },
  ],
  usage: { prompt_tokens: 4, total_tokens: 4 },
});

const WEATHER = {
  name: 'get_weather',
  description: 'The weather of a city',
  parameters: {
    type: 'OBJECT',
    properties: {
      city: { type: 'STRING', nullable: true },
      days: { type: 'ARRAY', items: { type: 'INTEGER' } },
    },
    required: ['city'],
    propertyOrdering: ['city', 'days'],
  },
};
const TOOLS = [{ functionDeclarations: [WEATHER, { name: 'get_time' }] }];

/** Requests of Google's dialect by what they ask for, each with the answer of the backend. */
const KINDS: readonly (readonly [string, Record<string, unknown>, keyof typeof ANSWERS])[] = [
  [
    'text',
    {
      systemInstruction: { parts: [{ text: 'Be brief.' }] },
      contents: [
        { role: 'user', parts: [{ text: 'Hi' }] },
        { role: 'model', parts: [{ text: 'Thinking', thought: true }, { text: 'Hello. What now?' }] },
        { role: 'user', parts: [{ text: 'Greet me.' }, { text: 'Kindly.' }] },
      ],
      generationConfig: {
        maxOutputTokens: 100,
        temperature: 0.5,
        topP: 0.9,
        topK: 64,
        stopSequences: ['END'],
        seed: 7,
      },
      safetySettings: [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }],
      brandNewField: { kept: true },
    },
    'text',
  ],
  ['tool', { tools: TOOLS, toolConfig: { functionCallingConfig: { mode: 'ANY' } } }, 'tool'],
  ['parallel-tools', { tools: [...TOOLS, { googleSearch: {} }] }, 'parallel-tools'],
  [
    'tool-results',
    {
      contents: [
        ...HI,
        {
          role: 'model',
          parts: [
            { functionCall: { name: 'get_weather', args: { city: 'Oslo' } } },
            { functionCall: { id: 'two', name: 'get_time', args: {} } },
          ],
        },
        {
          role: 'user',
          parts: [
            { functionResponse: { id: 'two', name: 'get_time', response: { output: 'noon' } } },
            { functionResponse: { name: 'get_weather', response: { celsius: -3 } } },
            { text: 'And now?' },
          ],
        },
      ],
      tools: TOOLS,
    },
    'text',
  ],
  [
    'images',
    {
      contents: [
        {
          role: 'user',
          parts: [
            { text: 'What is this?' },
            { inlineData: { mimeType: 'image/png', data: PIXEL } },
            { fileData: { mimeType: 'image/png', fileUri: 'https://pictures.example/gate.png' } },
          ],
        },
      ],
    },
    'text',
  ],
  [
    'json',
    {
      generationConfig: {
        responseMimeType: 'application/json',
        responseSchema: { type: 'OBJECT', properties: { city: { type: 'STRING' } } },
      },
    },
    'json',
  ],
  ['reasoning', { generationConfig: { thinkingConfig: { includeThoughts: true } } }, 'reasoning'],
  ['hidden-reasoning', {}, 'reasoning'],
  ['length', {}, 'length'],
  ['refusal', {}, 'refusal'],
  ['filtered', {}, 'filtered'],
  ['uncounted', {}, 'uncounted'],
];

const ask = (fields: Record<string, unknown> = {}) => ({ contents: HI, ...fields });

function answered(name: string, send: ClientRequest, ...replies: Reply[]): GoldenCase {
  return { name: `v1beta/${name}`, steps: [{ send }], replies };
}

export function geminiCases(): GoldenCase[] {
  const whole = (fields?: Record<string, unknown>, headers = KEY) =>
    post(`${MODEL}:generateContent`, ask(fields), headers);
  const stream = (fields?: Record<string, unknown>, query = '?alt=sse') =>
    post(`${MODEL}:streamGenerateContent${query}`, ask(fields), KEY);
  const refused = (name: string, fields: Record<string, unknown>): GoldenCase =>
    answered(name, whole(fields));
  const keyed = { send: whole({}, { ...KEY, 'idempotency-key': 'one' } as typeof KEY) };
  const broken = eventsReply(
    `${FIRST + chunk({ content: 'Half of' })}data: {"error":{"message":"overloaded"}}\n\n`,
  );
  return [
    ...KINDS.flatMap(([name, fields, reply]) => [
      answered(name, whole(fields), ANSWERS[reply].whole),
      answered(`${name}-streamed`, stream(fields), ANSWERS[reply].stream),
    ]),
    answered('array-streamed', stream({}, ''), ANSWERS.text.stream),
    answered('array-broken-streamed', stream({}, ''), broken),
    answered('array-without-a-piece-streamed', stream({}, ''), ANSWERS.filtered.stream),
    answered('broken-streamed', stream(), broken),
    answered(
      'other-spelling',
      whole({
        contents: { parts: { text: 'Hi' } },
        system_instruction: { parts: { text: 'Be brief.' } },
        generation_config: { max_output_tokens: 100, stop_sequences: ['END'] },
        tools: { function_declarations: [WEATHER] },
        tool_config: { function_calling_config: { mode: 'AUTO', allowed_function_names: ['get_weather'] } },
      }),
      ANSWERS.text.whole,
    ),
    answered('backend-error', whole(), failure(500, 'secret details of the backend')),
    answered('backend-rejects', whole(), failure(400, 'temperature is too warm')),
    answered('alias', post('/v1beta/models/fast:generateContent', ask(), KEY), ANSWERS.text.whole),
    refused('no-contents', { contents: [] }),
    refused('nothing-to-read', { contents: [{ role: 'model', parts: [{ text: 'x', thought: true }] }] }),
    refused('unknown-part', { contents: [{ role: 'user', parts: [{ executableCode: { code: '1' } }] }] }),
    refused('file-by-address', {
      contents: [{ parts: [{ fileData: { mimeType: 'video/mp4', fileUri: 'https://a.example/v' } }] }],
    }),
    refused('result-without-call', {
      contents: [{ parts: [{ functionResponse: { name: 'get_time', response: {} } }] }],
    }),
    refused('cached-content', { cachedContent: 'cachedContents/1' }),
    refused('two-candidates', { generationConfig: { candidateCount: 2 } }),
    refused('pictures-out', { generationConfig: { responseModalities: ['TEXT', 'IMAGE'] } }),
    refused('other-format', { generationConfig: { responseMimeType: 'text/x.enum' } }),
    refused('cap-in-the-wrong-place', { maxOutputTokens: 5 }),
    refused('call-demanded-of-nothing', { toolConfig: { functionCallingConfig: { mode: 'ANY' } } }),
    answered('not-json', post(`${MODEL}:generateContent`, '{"contents":', KEY)),
    answered('unsupported-model', post('/v1beta/models/svc_chat/none:generateContent', ask(), KEY)),
    answered('no-token', whole({}, {} as typeof KEY)),
    answered('mistyped-token', whole({}, { 'x-goog-api-key': 'sk-unknown' })),
    answered(
      'token-in-the-query',
      post(`${MODEL}:generateContent?key={token}`, ask(), {}),
      ANSWERS.text.whole,
    ),
    answered('two-tokens', whole({}, { ...KEY, authorization: 'Bearer sk-other' } as typeof KEY)),
    { ...answered('insufficient-balance', whole()), account: { usd: '0' } },
    {
      name: 'v1beta/replay',
      replies: [ANSWERS.text.whole, completion({ content: 'Another answer' })],
      steps: [keyed, keyed],
    },
    answered('count-tokens', post(`${MODEL}:countTokens`, { contents: HI }, KEY)),
    answered(
      'count-tokens-of-a-request',
      post(
        `${MODEL}:countTokens`,
        { generateContentRequest: { contents: HI, systemInstruction: { parts: [{ text: 'Be brief.' }] } } },
        KEY,
      ),
    ),
    answered('count-tokens-of-nothing', post(`${MODEL}:countTokens`, {}, KEY)),
    answered('models', get('/v1beta/models', KEY)),
    answered('models-by-page', get('/v1beta/models?pageSize=2&pageToken=1', KEY)),
    answered('models-bad-page', get('/v1beta/models?pageSize=few', KEY)),
    answered('model', get('/v1beta/models/svc_chat/m', KEY)),
    answered('no-model', get('/v1beta/models/svc_chat/none', KEY)),
    answered('other-method', post(`${MODEL}:unheardOf`, ask(), KEY)),
    answered('v1', post('/v1/models/svc_chat/m:generateContent', ask(), KEY), ANSWERS.text.whole),
    answered(
      'v1-streamed',
      post('/v1/models/svc_chat/m:streamGenerateContent?alt=sse', ask(), KEY),
      ANSWERS.text.stream,
    ),
    answered(
      'embed',
      post(
        '/v1beta/models/embeddings/e:embedContent',
        { content: { parts: [{ text: 'Hi' }] }, taskType: 'RETRIEVAL_QUERY' },
        KEY,
      ),
      VECTORS,
    ),
    answered(
      'embed-batch',
      post(
        '/v1beta/models/embeddings/e:batchEmbedContents',
        {
          requests: [
            { content: { parts: [{ text: 'Hi' }] }, outputDimensionality: 2 },
            { content: { parts: [{ text: 'Ho' }] }, outputDimensionality: 2 },
          ],
        },
        KEY,
      ),
      VECTORS,
    ),
  ];
}
