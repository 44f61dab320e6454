import { geminiModel, geminiRefusal } from './gemini-rules.ts';
import type { AskedOfModel, ChatBill, ModelReply } from './model-reply.ts';
import {
  fieldsOf,
  listOf,
  OVERLOADED,
  StandIn,
  textOf,
  type ProviderWire,
  type Fields,
  type Refusal,
  type StandInCall,
} from './stand-in.ts';

/** Google's Gemini API over real HTTP, as strict as its reference (`gemini-rules.ts`). */
export class StrictGemini extends StandIn {
  constructor(deployments?: Readonly<Record<string, string>>) {
    super(WIRE, deployments);
  }
}

const OPERATION = /^\/v1beta\/models\/([^/:]+):(generateContent|streamGenerateContent)$/;

const WIRE: ProviderWire = {
  path: '/v1beta',
  reasoningTokens: 30,
  model: (url) => decodeURIComponent(OPERATION.exec(url.pathname)?.[1] ?? ''),
  entrance,
  refusal: geminiRefusal,
  asked,
  whole: (reply, call) => answerOf(reply, partsOf(reply, showsThoughts(call)), true),
  stream,
  error: ({ status, message }) => ({
    error: { code: status, message, status: STATUSES[status] ?? 'INTERNAL' },
  }),
  // "API key not valid" is a 400 here: https://github.com/cequence-io/openai-scala-client/issues/109.
  failed: (failure) => (failure === 401 ? NO_KEY : undefined),
  errorEvent: `data: ${JSON.stringify({ error: { code: 503, message: OVERLOADED, status: 'UNAVAILABLE' } })}\r\n\r\n`,
};

const STATUSES: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  404: 'NOT_FOUND',
  429: 'RESOURCE_EXHAUSTED',
};
const NO_KEY: Refusal = { status: 400, message: 'API key not valid. Please pass a valid API key.' };

function entrance({ request, url, key }: StandInCall): Refusal | undefined {
  if (request.headers.get('x-goog-api-key') !== key) return NO_KEY;
  const operation = OPERATION.exec(url.pathname)?.[2];
  if (!operation || request.method !== 'POST')
    return { status: 404, message: 'Requested entity was not found.' };
  // Without it a stream is one JSON array.
  return operation === 'streamGenerateContent' && url.searchParams.get('alt') !== 'sse'
    ? { status: 400, message: 'This stand-in streams events alone: alt=sse' }
    : undefined;
}

function asked({ body, model, url }: StandInCall): AskedOfModel {
  const contents = listOf(body['contents']);
  const parts = contents.flatMap((one) => listOf(one['parts']));
  const config = fieldsOf(body['generationConfig']);
  const calling = fieldsOf(fieldsOf(body['toolConfig'])['functionCallingConfig']);
  const allowed = calling['allowedFunctionNames'];
  const names = listOf(body['tools'])
    .flatMap((tool) => listOf(tool['functionDeclarations']))
    .map(({ name }) => textOf(name));
  const cap = config['maxOutputTokens'];
  const budget = fieldsOf(config['thinkingConfig'])['thinkingBudget'];
  return {
    model,
    stream: url.pathname.endsWith(':streamGenerateContent'),
    cap: typeof cap === 'number' ? cap : undefined,
    tools:
      calling['mode'] === 'NONE'
        ? []
        : names.filter((name) => !Array.isArray(allowed) || allowed.includes(name)),
    parallel: true,
    hasResults: listOf(contents.at(-1)?.['parts']).some(
      ({ functionResponse }) => functionResponse !== undefined,
    ),
    pictures: parts.filter(({ inlineData, fileData }) => inlineData ?? fileData).length,
    json: config['responseMimeType'] === 'application/json',
    thinks: geminiModel(model)?.maxBudget !== undefined && budget !== 0,
    characters: parts.map(({ text }) => textOf(text)).join('').length,
  };
}

function showsThoughts({ body }: StandInCall): boolean {
  return fieldsOf(fieldsOf(body['generationConfig'])['thinkingConfig'])['includeThoughts'] === true;
}

function partsOf({ thought, words, calls }: ModelReply, withThoughts: boolean): Fields[] {
  return [
    ...(thought !== undefined && withThoughts ? [{ text: thought, thought: true }] : []),
    ...words.map((text) => ({ text })),
    ...calls.map(({ name, input }) => ({ functionCall: { name, args: JSON.parse(input) as Fields } })),
  ];
}

function answerOf({ model, finish, bill }: ModelReply, parts: readonly Fields[], isLast: boolean): Fields {
  const finishReason = finish === 'length' ? 'MAX_TOKENS' : 'STOP';
  const candidate = { content: { parts, role: 'model' }, index: 0, ...(isLast && { finishReason }) };
  return {
    candidates: [candidate],
    usageMetadata: usageOf(bill, isLast),
    modelVersion: model,
    responseId: 'mAit',
  };
}

/** Thoughts are counted beside the candidates; what is not there yet is left out. */
function usageOf({ input, cached, output, reasoning }: ChatBill, isLast: boolean): Fields {
  const candidates = isLast ? output - reasoning : 0;
  return {
    promptTokenCount: input,
    ...(cached > 0 && { cachedContentTokenCount: cached }),
    ...(candidates > 0 && { candidatesTokenCount: candidates }),
    ...(reasoning > 0 && { thoughtsTokenCount: reasoning }),
    totalTokenCount: input + candidates + reasoning,
    promptTokensDetails: [{ modality: 'TEXT', tokenCount: input }],
  };
}

/** Lines end in CRLF, and there is no final event but the one with a finish reason. */
function stream(reply: ModelReply, call: StandInCall): readonly string[] {
  const parts = partsOf(reply, showsThoughts(call));
  const pieces = parts.length === 0 ? [[]] : parts.map((part) => [part]);
  return pieces.map((piece, index) => {
    return `data: ${JSON.stringify(answerOf(reply, piece, index === pieces.length - 1))}\r\n\r\n`;
  });
}
