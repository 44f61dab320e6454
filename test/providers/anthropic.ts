import { ANTHROPIC_VERSIONS, anthropicRefusal, anthropicModel } from './anthropic-rules.ts';
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

/**
 * Anthropic's Messages API over real HTTP, after its reference (https://platform.claude.com/docs/en/api/messages) and
 * its SDK: see `anthropic-rules.ts` for what is unverified.
 */
export class StrictAnthropic extends StandIn {
  constructor(deployments?: Readonly<Record<string, string>>) {
    super(WIRE, deployments);
  }
}

const WIRE: ProviderWire = {
  path: '/v1',
  reasoningTokens: 30,
  entrance,
  refusal: anthropicRefusal,
  asked,
  whole: (reply) => ({
    ...LABELS,
    model: reply.model,
    content: blocksOf(reply),
    ...ending(reply),
    usage: usageOf(reply.bill),
  }),
  stream,
  error: ({ status, message }) => ({
    type: 'error',
    error: { type: ERROR_TYPES[status] ?? 'api_error', message },
    request_id: 'req_011CSHoEeqs5C35K2UUqR7Fy',
  }),
  errorEvent: event({ type: 'error', error: { type: 'overloaded_error', message: OVERLOADED } }),
  other: ({ request, url, text }) =>
    Promise.resolve(
      request.method === 'POST' && url.pathname === '/v1/messages/count_tokens'
        ? Response.json({ input_tokens: Math.ceil(text.length / 5) })
        : undefined,
    ),
};

const ERROR_TYPES: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  404: 'not_found_error',
  429: 'rate_limit_error',
};

function entrance({ request, url, key }: StandInCall): Refusal | undefined {
  if (request.headers.get('x-api-key') !== key) return { status: 401, message: 'invalid x-api-key' };
  if (!ANTHROPIC_VERSIONS.includes(request.headers.get('anthropic-version') ?? ''))
    return { status: 400, message: 'anthropic-version: header is required' };
  return url.pathname === '/v1/messages' && request.method === 'POST'
    ? undefined
    : { status: 404, message: 'Not found' };
}

function asked({ body, model }: StandInCall): AskedOfModel {
  const messages = listOf(body['messages']);
  const blocks = messages.flatMap(({ content }) => listOf(content));
  const choice = fieldsOf(body['tool_choice']);
  const names = listOf(body['tools']).map(({ name }) => textOf(name));
  const last = listOf(messages.at(-1)?.['content']);
  return {
    model,
    stream: body['stream'] === true,
    cap: Number(body['max_tokens']),
    tools:
      choice['type'] === 'none'
        ? []
        : names.filter((name) => choice['type'] !== 'tool' || choice['name'] === name),
    parallel: choice['disable_parallel_tool_use'] !== true,
    hasResults: last.at(-1)?.['type'] === 'tool_result',
    pictures: blocks.filter(({ type }) => type === 'image').length,
    json: fieldsOf(fieldsOf(body['output_config'])['format'])['type'] === 'json_schema',
    thinks: anthropicModel(model)?.thinks === true && isThinking(body['thinking']),
    characters: blocks.map(({ text }) => textOf(text)).join('').length,
  };
}

function isThinking(thinking: unknown): boolean {
  const type = fieldsOf(thinking)['type'];
  return type === 'enabled' || type === 'adaptive';
}

const LABELS = { id: 'msg_01XFDUDYJgAACzvnptvVoYEL', type: 'message', role: 'assistant' };

function blocksOf({ thought, words, calls }: ModelReply): Fields[] {
  return [
    ...(thought === undefined ? [] : [{ type: 'thinking', thinking: thought, signature: SIGNATURE }]),
    ...(words.length === 0 ? [] : [{ type: 'text', text: words.join('') }]),
    ...calls.map(({ id, name, input }) => ({
      type: 'tool_use',
      id,
      name,
      input: JSON.parse(input) as Fields,
    })),
  ];
}

const SIGNATURE = 'EqQBCgIYAhIM1gbcDa9GJwZA2b3h';
const REASONS = { stop: 'end_turn', length: 'max_tokens', tool_calls: 'tool_use' };

function ending({ finish }: ModelReply): Fields {
  return { stop_reason: REASONS[finish], stop_sequence: null };
}

/** Cache reads are counted beside the input. */
function usageOf({ input, cached, output, reasoning }: ChatBill): Fields {
  return {
    input_tokens: input - cached,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: cached,
    output_tokens: output,
    output_tokens_details: { thinking_tokens: reasoning },
    service_tier: 'standard',
  };
}

function stream(reply: ModelReply): readonly string[] {
  const { model, bill } = reply;
  const message = { ...LABELS, model, content: [], stop_reason: null, stop_sequence: null };
  const { output_tokens, ...input } = usageOf(bill);
  return [
    event({ type: 'message_start', message: { ...message, usage: { ...input, output_tokens: 1 } } }),
    event({ type: 'ping' }),
    ...blocksOf(reply).flatMap((block, index) => blockEvents(block, index, reply)),
    event({ type: 'message_delta', delta: ending(reply), usage: { output_tokens } }),
    event({ type: 'message_stop' }),
  ];
}

function blockEvents(block: Fields, index: number, { words, calls }: ModelReply): string[] {
  const call = calls.find(({ id }) => id === block['id']);
  const empty =
    block['type'] === 'thinking'
      ? { type: 'thinking', thinking: '', signature: '' }
      : call
        ? { ...block, input: {} }
        : { type: 'text', text: '' };
  const deltas =
    block['type'] === 'thinking'
      ? [
          { type: 'thinking_delta', thinking: block['thinking'] },
          { type: 'signature_delta', signature: SIGNATURE },
        ]
      : call
        ? ['', call.input.slice(0, 4), call.input.slice(4)].map((partial_json) => ({
            type: 'input_json_delta',
            partial_json,
          }))
        : words.map((text) => ({ type: 'text_delta', text }));
  return [
    event({ type: 'content_block_start', index, content_block: empty }),
    ...deltas.map((delta) => event({ type: 'content_block_delta', index, delta })),
    event({ type: 'content_block_stop', index }),
  ];
}

function event(data: Fields): string {
  return `event: ${textOf(data['type'])}\ndata: ${JSON.stringify(data)}\n\n`;
}
