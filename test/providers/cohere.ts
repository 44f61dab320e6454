import type { AskedOfModel, ChatBill, ModelReply } from './model-reply.ts';
import {
  bearerKey,
  fieldsOf,
  listOf,
  OVERLOADED,
  StandIn,
  textOf,
  unknownField,
  type ProviderWire,
  type Fields,
  type Refusal,
  type StandInCall,
} from './stand-in.ts';

/** Cohere's chat, version 2, over real HTTP, as strict as its reference (https://docs.cohere.com/reference/chat). */
export class StrictCohere extends StandIn {
  constructor(deployments?: Readonly<Record<string, string>>) {
    super(WIRE, deployments);
  }
}

interface CohereModel {
  readonly maxOutput: number;
  readonly thinks?: true;
  readonly sees?: true;
  readonly tools?: false;
}

/**
 * The most output, and which of them think and see: fern/pages/models/models.mdx
 * (https://github.com/cohere-ai/cohere-developer-experience, e814c8a). That the one that sees calls no tools is unverified.
 */
const MODELS: Readonly<Record<string, CohereModel>> = {
  'command-a-03-2025': { maxOutput: 8_000 },
  'command-a-vision-07-2025': { maxOutput: 8_000, sees: true, tools: false },
  'command-a-reasoning-08-2025': { maxOutput: 32_000, thinks: true },
};

const WIRE: ProviderWire = {
  path: '/v2',
  reasoningTokens: 20,
  entrance: (call) =>
    bearerKey(call) ??
    (call.url.pathname === '/v2/chat' && call.request.method === 'POST'
      ? undefined
      : { status: 404, message: 'not found' }),
  refusal,
  asked,
  whole: (reply) => ({ ...answerOf(reply), usage: usageOf(reply.bill) }),
  stream,
  error: ({ message }) => ({ id: 'e1b0c1d2', message }),
  errorEvent: event({ type: 'message-end', delta: { finish_reason: 'ERROR', error: OVERLOADED } }),
};

const FIELDS = [
  'model messages stream tools strict_tools documents citation_options response_format safety_mode max_tokens',
  'stop_sequences temperature seed frequency_penalty presence_penalty k p logprobs tool_choice thinking priority',
];

function refusal({ body, model: name }: StandInCall): Refusal | undefined {
  const model = MODELS[name];
  if (!model) return { status: 404, message: `model '${name}' not found` };
  return (
    unknownIn(body, FIELDS) ??
    messagesRefusal(body, model) ??
    toolsRefusal(body, model) ??
    optionsRefusal(body, model)
  );
}

/** Words from https://github.com/OpenRouterTeam/openrouter-examples/issues/71. */
function unknownIn(value: unknown, known: readonly string[]): Refusal | undefined {
  const field = unknownField(value, known);
  if (field === undefined) return undefined;
  const words = `unknown field: parameter '${field}' is not a valid field. For proper usage, please refer to https://docs.cohere.com/reference/chat`;
  return { status: 422, message: words };
}

function messagesRefusal({ messages }: Fields, { sees }: CohereModel): Refusal | undefined {
  if (listOf(messages).length === 0) return bad('messages must not be empty');
  for (const message of listOf(messages)) {
    const unknown = unknownIn(message, ['role content tool_calls tool_call_id tool_plan citations']);
    if (unknown) return unknown;
    const role = textOf(message['role']);
    if (!['system', 'user', 'assistant', 'tool'].includes(role)) return bad(`invalid role: ${role}`);
    const hasPicture = listOf(message['content']).some(({ type }) => type === 'image_url');
    if (hasPicture && !sees) return bad('this model does not support image inputs');
  }
  return undefined;
}

function toolsRefusal({ tools, tool_choice }: Fields, model: CohereModel): Refusal | undefined {
  if (tools !== undefined && model.tools === false) return bad('tools are not supported for this model');
  if (tool_choice !== undefined && !['REQUIRED', 'NONE'].includes(textOf(tool_choice)))
    return bad(`invalid tool_choice: ${textOf(tool_choice)}`);
  for (const tool of listOf(tools)) {
    const unknown =
      unknownIn(tool, ['type function']) ?? unknownIn(tool['function'], ['name description parameters']);
    if (unknown) return unknown;
  }
  return undefined;
}

/**
 * The ranges of numbers, and that `response_format` "is not supported when used in combinations with the `documents` or
 * `tools` parameters": /v2/chat in cohere-openapi.yaml. "Every object in the schema must have at least one `required`
 * field": fern/pages/v2/text-generation/structured-outputs.mdx (both of
 * https://github.com/cohere-ai/cohere-developer-experience, e814c8a). The words are unverified.
 */
function optionsRefusal(body: Fields, model: CohereModel): Refusal | undefined {
  const { response_format, tools, thinking, max_tokens } = body;
  if (response_format !== undefined && tools !== undefined)
    return bad('cannot specify both response_format and tools');
  const unknown = unknownIn(response_format, ['type json_schema']) ?? rangeRefusal(body);
  if (unknown) return unknown;
  const { type, json_schema } = fieldsOf(response_format);
  if (json_schema !== undefined && type !== 'json_object') return bad("json_schema needs type 'json_object'");
  if (json_schema !== undefined && hasLooseObject(json_schema))
    return bad('the schema must have at least one required field');
  if (fieldsOf(thinking)['type'] === 'enabled' && !model.thinks)
    return bad('thinking is not supported for this model');
  return typeof max_tokens === 'number' && (max_tokens < 1 || max_tokens > model.maxOutput)
    ? bad(`max_tokens must be between 1 and ${model.maxOutput}`)
    : undefined;
}

function hasLooseObject(schema: unknown): boolean {
  if (schema === undefined) return false;
  const { type, required, properties, items } = fieldsOf(schema);
  const isLoose = type === 'object' && !(Array.isArray(required) && required.length > 0);
  return isLoose || [...Object.values(fieldsOf(properties)), items].some(hasLooseObject);
}

const RANGES: Readonly<Record<string, readonly [number, number]>> = {
  temperature: [0, 1],
  p: [0.01, 0.99],
  k: [0, 500],
  frequency_penalty: [0, 1],
  presence_penalty: [0, 1],
  priority: [0, 999],
};

function rangeRefusal(body: Fields): Refusal | undefined {
  for (const [field, [least, most]] of Object.entries(RANGES)) {
    const value = body[field];
    if (value !== undefined && (typeof value !== 'number' || value < least || value > most))
      return bad(`invalid request: ${field} must be between ${least} and ${most} inclusive.`);
  }
  const { stop_sequences } = body;
  return Array.isArray(stop_sequences) && stop_sequences.length > 5
    ? bad('invalid request: stop_sequences has more than 5 strings')
    : undefined;
}

function bad(message: string): Refusal {
  return { status: 400, message };
}

function asked({ body, model }: StandInCall): AskedOfModel {
  const messages = listOf(body['messages']);
  const parts = messages.flatMap(({ content }) =>
    typeof content === 'string' ? [{ type: 'text', text: content }] : listOf(content),
  );
  const names = listOf(body['tools']).map((tool) => textOf(fieldsOf(tool['function'])['name']));
  return {
    model,
    stream: body['stream'] === true,
    cap: typeof body['max_tokens'] === 'number' ? body['max_tokens'] : undefined,
    tools: body['tool_choice'] === 'NONE' ? [] : names,
    parallel: true,
    hasResults: messages.at(-1)?.['role'] === 'tool',
    pictures: parts.filter(({ type }) => type === 'image_url').length,
    json: fieldsOf(body['response_format'])['type'] === 'json_object',
    // Its reasoning model thinks unless it is told not to.
    thinks: MODELS[model]?.thinks === true && fieldsOf(body['thinking'])['type'] !== 'disabled',
    characters: parts.map(({ text }) => textOf(text)).join('').length,
  };
}

const REASONS = { stop: 'COMPLETE', length: 'MAX_TOKENS', tool_calls: 'TOOL_CALL' };

function answerOf({ thought, words, calls, finish }: ModelReply): Fields {
  const content = [
    ...(thought === undefined ? [] : [{ type: 'thinking', thinking: thought }]),
    ...(words.length === 0 ? [] : [{ type: 'text', text: words.join('') }]),
  ];
  const tool_calls = calls.map(({ id, name, input }) => ({
    id,
    type: 'function',
    function: { name, arguments: input },
  }));
  const message = {
    role: 'assistant',
    ...(content.length > 0 && { content }),
    ...(calls.length > 0 && { tool_calls }),
  };
  return { id: 'c14c80c3', message, finish_reason: REASONS[finish] };
}

/** What is billed leaves out what Cohere adds to the prompt itself. */
function usageOf({ input, cached, output }: ChatBill): Fields {
  const billed_units = { input_tokens: Math.max(0, input - 5), output_tokens: output };
  return { billed_units, tokens: { input_tokens: input, output_tokens: output }, cached_tokens: cached };
}

function stream(reply: ModelReply): readonly string[] {
  const { thought, words, calls, finish, bill } = reply;
  const start = { role: 'assistant', content: [], tool_plan: '', tool_calls: [], citations: [] };
  const after = thought === undefined ? 0 : 1;
  return [
    event({ id: 'c14c80c3', type: 'message-start', delta: { message: start } }),
    ...(thought === undefined ? [] : contentEvents('thinking', [thought], 0)),
    ...(words.length === 0 ? [] : contentEvents('text', words, after)),
    ...calls.flatMap(({ id, name, input }, index) => callEvents({ id, name, input, index })),
    event({ type: 'message-end', delta: { finish_reason: REASONS[finish], usage: usageOf(bill) } }),
  ];
}

function contentEvents(type: 'thinking' | 'text', pieces: readonly string[], index: number): string[] {
  const delta = (content: Fields) => ({ message: { content } });
  return [
    event({ type: 'content-start', index, delta: delta({ type, [type]: '' }) }),
    ...pieces.map((piece) => event({ type: 'content-delta', index, delta: delta({ [type]: piece }) })),
    event({ type: 'content-end', index }),
  ];
}

function callEvents({
  id,
  name,
  input,
  index,
}: {
  id: string;
  name: string;
  input: string;
  index: number;
}): string[] {
  const start = { id, type: 'function', function: { name, arguments: '' } };
  const delta = (tool_calls: Fields) => ({ message: { tool_calls } });
  return [
    event({ type: 'tool-call-start', index, delta: delta(start) }),
    ...[input.slice(0, 4), input.slice(4)].map((piece) =>
      event({ type: 'tool-call-delta', index, delta: delta({ function: { arguments: piece } }) }),
    ),
    event({ type: 'tool-call-end', index }),
  ];
}

function event(data: Fields): string {
  return `event: ${textOf(data['type'])}\ndata: ${JSON.stringify(data)}\n\n`;
}
