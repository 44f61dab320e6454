import { textOf } from '../providers/stand-in.ts';
import { PIXEL_BASE64 } from '../support/scripted-backend.ts';
import type { DialectName, Feature } from './cases.ts';

export type Json = Record<string, unknown>;

export interface ReadCall {
  readonly id: string;
  readonly name: string;
  readonly input: string;
}

/** An answer as its client reads it. */
export interface ReadAnswer {
  readonly text: string;
  readonly thought: string;
  readonly calls: readonly ReadCall[];
  readonly finish: 'stop' | 'length' | 'tool_calls' | 'other';
  /** An error event, or no proper end. */
  readonly failed: boolean;
}

export interface MatrixDialect {
  readonly path: string;
  request(feature: Feature): Json;
  /** The next turn: the calls of the first with a result for each. */
  withResults(request: Json, calls: readonly ReadCall[]): Json;
  readWhole(answer: Json): ReadAnswer;
  readStream(events: readonly Json[], text: string): ReadAnswer;
}

export const PROMPTS: Partial<Record<Feature, string>> = { 'JSON object': 'Name a city, as JSON.' };
export const CAP = 8;
const WORDS = 'Which city is cold?';
const SCHEMA = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
};
const TOOLS = ['get_weather', 'get_time'];
const ABOUT = 'Tells about a city';
const PICTURE = `data:image/png;base64,${PIXEL_BASE64}`;

function toolsFor(feature: Feature): readonly string[] {
  if (feature === 'parallel tools') return TOOLS;
  return feature === 'tools' ? TOOLS.slice(0, 1) : [];
}

function promptFor(feature: Feature): string {
  return PROMPTS[feature] ?? WORDS;
}

function messageOf(content: unknown): Json {
  return { role: 'user', content };
}

const chat: MatrixDialect = {
  path: '/v1/chat/completions',
  request: (feature) => ({
    messages: [
      messageOf(
        feature === 'image in'
          ? [
              { type: 'text', text: promptFor(feature) },
              { type: 'image_url', image_url: { url: PICTURE } },
            ]
          : promptFor(feature),
      ),
    ],
    ...(feature === 'capped' && { max_completion_tokens: CAP }),
    ...(toolsFor(feature).length > 0 && {
      tools: toolsFor(feature).map((name) => ({
        type: 'function',
        function: { name, description: ABOUT, parameters: SCHEMA, strict: true },
      })),
    }),
    ...(feature === 'JSON object' && { response_format: { type: 'json_object' } }),
    ...(feature === 'JSON schema' && {
      response_format: { type: 'json_schema', json_schema: { name: 'city', strict: true, schema: SCHEMA } },
    }),
    ...(feature === 'reasoning' && { reasoning_effort: 'low', max_completion_tokens: 4096 }),
  }),
  withResults: (request, calls) => ({
    ...request,
    messages: [
      ...(request['messages'] as Json[]),
      {
        role: 'assistant',
        content: null,
        tool_calls: calls.map(({ id, name, input }) => ({
          id,
          type: 'function',
          function: { name, arguments: input },
        })),
      },
      ...calls.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: 'cold' })),
    ],
  }),
  readWhole(answer) {
    const [choice] = answer['choices'] as { message: ChatMessageRead; finish_reason: string }[];
    return chatAnswer(choice?.message ?? {}, choice?.finish_reason ?? '', false);
  },
  readStream(events, text) {
    const deltas = events.flatMap((event) => (event['choices'] as ChatChoiceRead[] | undefined) ?? []);
    const joined = (read: (delta: ChatMessageRead) => string | null | undefined) =>
      deltas.map(({ delta }) => read(delta) ?? '').join('');
    const calls = new Map<number, ChatCallRead>();
    for (const piece of deltas.flatMap(({ delta }) => delta.tool_calls ?? [])) {
      const known = calls.get(piece.index ?? 0) ?? { id: '', function: { name: '', arguments: '' } };
      calls.set(piece.index ?? 0, {
        id: piece.id ?? known.id ?? '',
        function: {
          name: piece.function.name ?? known.function.name ?? '',
          arguments: (known.function.arguments ?? '') + (piece.function.arguments ?? ''),
        },
      });
    }
    const message = {
      content: joined(({ content }) => content),
      reasoning: joined(({ reasoning, reasoning_content }) => reasoning ?? reasoning_content),
      tool_calls: [...calls.values()],
    };
    const finish = deltas.map(({ finish_reason }) => finish_reason).find((reason) => reason) ?? '';
    return chatAnswer(
      message,
      finish,
      !text.includes('data: [DONE]') || events.some(({ error }) => error !== undefined),
    );
  },
};

interface ChatCallRead {
  readonly index?: number;
  readonly id?: string;
  readonly function: { readonly name?: string; readonly arguments?: string };
}

interface ChatMessageRead {
  readonly content?: string | null;
  readonly reasoning?: string;
  readonly reasoning_content?: string;
  readonly tool_calls?: readonly ChatCallRead[];
}

interface ChatChoiceRead {
  readonly delta: ChatMessageRead;
  readonly finish_reason?: string | null;
}

function chatAnswer(message: ChatMessageRead, finish: string, failed: boolean): ReadAnswer {
  return {
    text: message.content ?? '',
    thought: message.reasoning ?? message.reasoning_content ?? '',
    calls: (message.tool_calls ?? []).map(({ id = '', function: { name = '', arguments: input = '' } }) => ({
      id,
      name,
      input,
    })),
    finish: finish === 'stop' || finish === 'length' || finish === 'tool_calls' ? finish : 'other',
    failed,
  };
}

const messages: MatrixDialect = {
  path: '/v1/messages',
  request: (feature) => ({
    max_tokens: feature === 'capped' ? CAP : 4096,
    messages: [
      messageOf(
        feature === 'image in'
          ? [
              { type: 'text', text: promptFor(feature) },
              { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PIXEL_BASE64 } },
            ]
          : promptFor(feature),
      ),
    ],
    ...(toolsFor(feature).length > 0 && {
      tools: toolsFor(feature).map((name) => ({ name, description: ABOUT, input_schema: SCHEMA })),
    }),
    ...(feature === 'JSON schema' && {
      output_config: { format: { type: 'json_schema', schema: SCHEMA } },
    }),
    ...(feature === 'reasoning' && { thinking: { type: 'enabled', budget_tokens: 1024 } }),
  }),
  withResults: (request, calls) => ({
    ...request,
    messages: [
      ...(request['messages'] as Json[]),
      {
        role: 'assistant',
        content: calls.map(({ id, name, input }) => ({
          type: 'tool_use',
          id,
          name,
          input: JSON.parse(input) as Json,
        })),
      },
      messageOf(calls.map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: 'cold' }))),
    ],
  }),
  readWhole(answer) {
    const blocks = (answer['content'] as BlockRead[]).map((block) => ({
      ...block,
      json: JSON.stringify(block.input),
    }));
    return messagesAnswer(blocks, textOf(answer['stop_reason']), false);
  },
  readStream(events) {
    const blocks: (BlockRead & { json: string })[] = [];
    let reason = '';
    for (const event of events) {
      const {
        index = 0,
        content_block,
        delta,
      } = event as { index?: number; content_block?: BlockRead; delta?: BlockRead };
      if (content_block) blocks[index] = { ...content_block, json: '' };
      const block = blocks[index];
      if (block && event['type'] === 'content_block_delta') {
        block.text = (block.text ?? '') + (delta?.text ?? '');
        block.thinking = (block.thinking ?? '') + (delta?.thinking ?? '');
        block.json += delta?.partial_json ?? '';
      }
      reason = delta?.stop_reason ?? reason;
    }
    const ended = events.some(({ type }) => type === 'message_stop');
    return messagesAnswer(blocks, reason, !ended || events.some(({ type }) => type === 'error'));
  },
};

interface BlockRead {
  readonly type: string;
  text?: string;
  thinking?: string;
  readonly id?: string;
  readonly name?: string;
  readonly input?: unknown;
  readonly partial_json?: string;
  readonly stop_reason?: string;
}

const STOP_REASONS: Readonly<Record<string, ReadAnswer['finish']>> = {
  end_turn: 'stop',
  max_tokens: 'length',
  tool_use: 'tool_calls',
};

function messagesAnswer(
  blocks: readonly (BlockRead & { json: string })[],
  reason: string,
  failed: boolean,
): ReadAnswer {
  const joined = (type: string, read: (block: BlockRead) => string | undefined) =>
    blocks.map((block) => (block.type === type ? (read(block) ?? '') : '')).join('');
  return {
    text: joined('text', ({ text }) => text),
    thought: joined('thinking', ({ thinking }) => thinking),
    calls: blocks
      .filter(({ type }) => type === 'tool_use')
      .map(({ id = '', name = '', json }) => ({ id, name, input: json })),
    finish: STOP_REASONS[reason] ?? 'other',
    failed,
  };
}

const responses: MatrixDialect = {
  path: '/v1/responses',
  request: (feature) => ({
    input: [
      {
        type: 'message',
        ...messageOf(
          feature === 'image in'
            ? [
                { type: 'input_text', text: promptFor(feature) },
                { type: 'input_image', image_url: PICTURE },
              ]
            : promptFor(feature),
        ),
      },
    ],
    store: false,
    ...(feature === 'capped' && { max_output_tokens: CAP }),
    ...(toolsFor(feature).length > 0 && {
      tools: toolsFor(feature).map((name) => ({
        type: 'function',
        name,
        description: ABOUT,
        parameters: SCHEMA,
        strict: true,
      })),
    }),
    ...(feature === 'JSON object' && { text: { format: { type: 'json_object' } } }),
    ...(feature === 'JSON schema' && {
      text: { format: { type: 'json_schema', name: 'city', strict: true, schema: SCHEMA } },
    }),
    ...(feature === 'reasoning' && {
      reasoning: { effort: 'low', summary: 'auto' },
      max_output_tokens: 4096,
    }),
  }),
  withResults: (request, calls) => ({
    ...request,
    input: [
      ...(request['input'] as Json[]),
      ...calls.map(({ id, name, input }) => ({ type: 'function_call', call_id: id, name, arguments: input })),
      ...calls.map(({ id }) => ({ type: 'function_call_output', call_id: id, output: 'cold' })),
    ],
  }),
  readWhole: (answer) => responsesAnswer(answer, answer['status'] === 'failed'),
  readStream(events) {
    const end = events.find(({ type }) => type === 'response.completed' || type === 'response.incomplete');
    return responsesAnswer((end?.['response'] as Json | undefined) ?? { output: [] }, end === undefined);
  },
};

interface ItemRead {
  readonly type: string;
  readonly content?: readonly { readonly text?: string }[];
  readonly summary?: readonly { readonly text: string }[];
  readonly call_id?: string;
  readonly name?: string;
  readonly arguments?: string;
}

function responsesAnswer(response: Json, failed: boolean): ReadAnswer {
  const items = response['output'] as readonly ItemRead[];
  const calls = items
    .filter(({ type }) => type === 'function_call')
    .map(({ call_id = '', name = '', arguments: input = '' }) => ({ id: call_id, name, input }));
  const texts = (
    of: 'message' | 'reasoning',
    read: (item: ItemRead) => readonly { readonly text?: string }[] | undefined,
  ) =>
    items
      .flatMap((item) => (item.type === of ? (read(item) ?? []) : []))
      .map(({ text = '' }) => text)
      .join('');
  return {
    text: texts('message', ({ content }) => content),
    thought: texts('reasoning', ({ summary }) => summary),
    calls,
    finish: response['status'] === 'incomplete' ? 'length' : calls.length > 0 ? 'tool_calls' : 'stop',
    failed,
  };
}

export const MATRIX_DIALECTS: Readonly<Record<DialectName, MatrixDialect>> = { chat, messages, responses };
