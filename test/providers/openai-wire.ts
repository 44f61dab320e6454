import type { AskedOfModel, ChatBill, ModelReply } from './model-reply.ts';
import {
  bearerKey,
  fieldsOf,
  listOf,
  OVERLOADED,
  textOf,
  type ProviderWire,
  type Fields,
  type Refusal,
  type StandInCall,
} from './stand-in.ts';

/** How one provider's answers differ among those that speak OpenAI's chat. */
export interface OpenAiAnswers {
  /**
   * Where a stream has its usage: in a chunk of its own if asked for, in one of its own always, or in the last one with
   * a choice.
   */
  readonly usage: 'if_asked' | 'own_chunk' | 'with_finish';
  /** Sent before each event. */
  readonly comment?: string;
  readonly lineEnd?: '\r\n';
  /** The field with the model's thoughts; absent where they are not shown. */
  readonly reasoning?: string;
  /** A call of a tool comes in one chunk. */
  readonly wholeCalls?: true;
  /** Its count of completion tokens leaves the reasoning out, which only its total includes. */
  readonly reasoningBeside?: true;
  /** What else every chunk and whole answer has. */
  readonly more?: Fields;
  /** What else its usage has. */
  readonly moreUsage?: (bill: ChatBill) => Fields;
}

export interface OpenAiRules {
  readonly path: string;
  readonly reasoningTokens: number;
  readonly answers: OpenAiAnswers;
  thinks(call: StandInCall): boolean;
  refusal(call: StandInCall): Refusal | undefined;
  error(refusal: Refusal): unknown;
}

/** Chat completions as OpenAI and those who follow it send them. */
export function openAiWire({ answers, thinks, ...rules }: OpenAiRules): ProviderWire {
  return {
    ...rules,
    entrance: (call) =>
      bearerKey(call) ??
      (call.url.pathname === `${rules.path}/chat/completions` && call.request.method === 'POST'
        ? undefined
        : { status: 404, message: 'Unknown request URL.', param: null, code: 'unknown_url' }),
    asked: (call) => askedInChat(call, thinks(call)),
    whole: (reply) => wholeChat(reply, answers),
    stream: (reply, { body }) => streamedChat(reply, answers, body),
    errorEvent: `data: ${JSON.stringify(rules.error({ status: 500, message: OVERLOADED }))}\n\n`,
  };
}

/** `{ error: { message, type, param, code } }` */
export function openAiError({ status, message, param = null, code = null }: Refusal): unknown {
  const type = status < 500 ? 'invalid_request_error' : 'server_error';
  return { error: { message, type, param, code } };
}

export function askedInChat({ body, model }: StandInCall, thinks: boolean): AskedOfModel {
  const messages = listOf(body['messages']);
  const parts = messages.flatMap(({ content }) => listOf(content));
  const cap = body['max_completion_tokens'] ?? body['max_tokens'];
  return {
    model,
    stream: body['stream'] === true,
    cap: typeof cap === 'number' ? cap : undefined,
    tools: offeredTools(body),
    parallel: body['parallel_tool_calls'] !== false,
    hasResults: messages.at(-1)?.['role'] === 'tool',
    pictures: parts.filter(({ type }) => type === 'image_url').length,
    json: textOf(fieldsOf(body['response_format'])['type']).startsWith('json'),
    thinks,
    characters: messages.reduce((sum, { content }) => sum + textWithoutPictures(content).length, 0),
  };
}

function offeredTools({ tools, tool_choice }: Fields): readonly string[] {
  const names = listOf(tools).map((tool) => textOf(fieldsOf(tool['function'])['name']));
  if (tool_choice === 'none') return [];
  const forced = fieldsOf(fieldsOf(tool_choice)['function'])['name'];
  return forced === undefined ? names : names.filter((name) => name === forced);
}

function textWithoutPictures(content: unknown): string {
  if (!Array.isArray(content)) return textOf(content ?? '');
  return listOf(content)
    .map((part) => textOf(part['text']))
    .join('');
}

const LABELS = { id: 'gen-B9MBs8CjcvOU2jLn4n570S5qMJKcT', created: 1_741_569_952, model: 'served-model' };

export function wholeChat(reply: ModelReply, answers: OpenAiAnswers): unknown {
  const { reasoning, more } = answers;
  const message = {
    role: 'assistant',
    content: reply.calls.length > 0 ? null : reply.words.join(''),
    ...(reasoning && reply.thought && { [reasoning]: reply.thought }),
    ...(reply.calls.length > 0 && {
      tool_calls: reply.calls.map(({ id, name, input }) => callOf(id, name, input)),
    }),
  };
  return {
    ...LABELS,
    object: 'chat.completion',
    ...more,
    choices: [{ index: 0, message, logprobs: null, finish_reason: reply.finish }],
    usage: usageOf(reply.bill, answers),
  };
}

function callOf(id: string, name: string, input: string) {
  return { id, type: 'function', function: { name, arguments: input } };
}

function usageOf(bill: ChatBill, { moreUsage, reasoningBeside }: OpenAiAnswers): Fields {
  const { input, cached, output, reasoning } = bill;
  return {
    prompt_tokens: input,
    completion_tokens: reasoningBeside ? output - reasoning : output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cached, audio_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: reasoning, audio_tokens: 0 },
    ...moreUsage?.(bill),
  };
}

/** "An additional chunk will be streamed before [DONE]; all other chunks will also include usage, but with a null value." */
export function streamedChat(reply: ModelReply, answers: OpenAiAnswers, body: Fields): readonly string[] {
  const { reasoning, usage, comment, lineEnd = '\n', more } = answers;
  const isAsked = fieldsOf(body['stream_options'])['include_usage'] === true;
  const counts = usageOf(reply.bill, answers);
  const finish = choice({}, reply.finish);
  const chunks = [
    choice({ role: 'assistant', content: '' }),
    ...(reasoning && reply.thought ? [choice({ [reasoning]: reply.thought })] : []),
    ...reply.words.map((content) => choice({ content })),
    ...callChunks(reply, answers),
    usage === 'with_finish' ? { ...finish, usage: counts } : finish,
    ...(usage === 'own_chunk' || (usage === 'if_asked' && isAsked) ? [{ choices: [], usage: counts }] : []),
  ];
  const nulls = usage === 'if_asked' && isAsked ? { usage: null } : {};
  const events = chunks.map((one) => {
    return `data: ${JSON.stringify({ ...LABELS, object: 'chat.completion.chunk', ...more, ...nulls, ...one })}`;
  });
  return [...events, 'data: [DONE]'].map((event) => {
    return `${comment ? comment + lineEnd + lineEnd : ''}${event}${lineEnd}${lineEnd}`;
  });
}

function callChunks({ calls }: ModelReply, { wholeCalls }: OpenAiAnswers): Fields[] {
  return calls.flatMap(({ id, name, input }, index) => {
    if (wholeCalls) return [choice({ tool_calls: [{ index, ...callOf(id, name, input) }] })];
    const pieces = [input.slice(0, 4), input.slice(4)];
    return [
      choice({ tool_calls: [{ index, ...callOf(id, name, '') }] }),
      ...pieces.map((piece) => choice({ tool_calls: [{ index, function: { arguments: piece } }] })),
    ];
  });
}

function choice(delta: Fields, finish_reason: string | null = null): Fields {
  return { choices: [{ index: 0, delta, finish_reason }] };
}
