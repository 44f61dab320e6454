import type { Fields, Refusal } from '../providers/stand-in.ts';
import type { ChatWire } from './backend.ts';
import type { OpenLine } from './invoice.ts';
import type { Plan } from './plan.ts';
import { SEARCH_QUERY, TOOL_NAME, type Step } from './steps.ts';

/** The Messages API, as its public reference shows it (https://platform.claude.com/docs/en/api/messages). */
export const ANTHROPIC: ChatWire = {
  beginsWithEvent: false,
  cap: (body) => Number(body['max_tokens']),
  begin(plan, line) {
    const usage = plan.answer.usage === 'none' ? undefined : startUsage(plan, line);
    const message = { ...identity(plan), content: [], stop_reason: null, stop_sequence: null, usage };
    return event('message_start', { message }) + event('ping', {}) + firstBlockStart(plan);
  },
  step(plan, step) {
    const change = step.begins && answerIndex(plan) > 0 ? answerStart(plan) : '';
    switch (step.role) {
      case 'hidden':
      case 'tool name':
      case 'sound':
      case 'picture':
        return change;
      case 'search':
        return searchBlocks(plan, step);
      case 'reasoning':
        return event('content_block_delta', {
          index: 0,
          delta: { type: 'thinking_delta', thinking: step.text },
        });
      case 'answer':
        return (
          change + event('content_block_delta', { index: answerIndex(plan), delta: deltaOf(plan, step.text) })
        );
    }
  },
  finish(plan, line, reason) {
    const delta = { stop_reason: stopReason(plan, reason), stop_sequence: null };
    const usage =
      plan.answer.usage === 'early' || plan.answer.usage === 'none' ? {} : { usage: endUsage(plan, line) };
    return (
      event('content_block_stop', { index: answerIndex(plan) }) + event('message_delta', { delta, ...usage })
    );
  },
  usage: () => '',
  done: event('message_stop', {}),
  whole(plan, line, { steps, reason }) {
    const content = [
      ...(plan.answer.reasoning
        ? [{ ...block(plan, 'thinking'), thinking: textOf(steps, 'reasoning') }]
        : []),
      ...steps.filter(({ role }) => role === 'search').flatMap((_, index) => searchContent(plan, index)),
      wholeBlock(plan, textOf(steps, 'answer')),
    ];
    const usage =
      plan.answer.usage === 'none' ? undefined : { ...startUsage(plan, line), ...endUsage(plan, line) };
    return { ...identity(plan), content, stop_reason: stopReason(plan, reason), stop_sequence: null, usage };
  },
};

/** After the reasoning and the searches, the answer's own block begins. */
function answerStart(plan: Plan): string {
  const stop =
    plan.answer.reasoning && !plan.answer.searches ? event('content_block_stop', { index: 0 }) : '';
  return stop + blockStart(plan, answerBlock(plan), answerIndex(plan));
}

/** Of a search, a block with what is looked for and one with what was found: https://platform.claude.com/docs/en/agents-and-tools/tool-use/web-search-tool. */
function searchBlocks(plan: Plan, step: Step): string {
  const number = step.number ?? 0;
  const index = (plan.answer.reasoning ? 1 : 0) + 2 * number;
  const [use, result] = searchContent(plan, number);
  return [
    ...(number === 0 && plan.answer.reasoning ? [event('content_block_stop', { index: 0 })] : []),
    event('content_block_start', { index, content_block: { ...use, input: {} } }),
    event('content_block_delta', { index, delta: { type: 'input_json_delta', partial_json: step.text } }),
    event('content_block_stop', { index }),
    event('content_block_start', { index: index + 1, content_block: result }),
    event('content_block_stop', { index: index + 1 }),
  ].join('');
}

function searchContent({ id }: Plan, number: number): [use: Fields, result: Fields] {
  const tool = `srvtoolu_${id}_${number}`;
  const page = {
    url: 'https://example.com/gate',
    title: 'The gate',
    encrypted_content: 'Zm91bmQ=',
    page_age: null,
  };
  return [
    { type: 'server_tool_use', id: tool, name: 'web_search', input: JSON.parse(SEARCH_QUERY) as unknown },
    { type: 'web_search_tool_result', tool_use_id: tool, content: [{ type: 'web_search_result', ...page }] },
  ];
}

function identity({ id, model }: Plan) {
  return { id: `msg_${id}`, type: 'message', role: 'assistant', model };
}

function event(type: string, fields: Fields): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
}

type BlockKind = 'thinking' | 'tool_use' | 'text';

function blockStart(plan: Plan, kind: BlockKind, index = 0): string {
  return event('content_block_start', { index, content_block: block(plan, kind) });
}

function block({ id }: Plan, kind: BlockKind): Fields {
  if (kind === 'thinking') return { type: kind, thinking: '', signature: '' };
  if (kind === 'tool_use') return { type: kind, id: `toolu_${id}`, name: TOOL_NAME, input: {} };
  return { type: kind, text: '' };
}

function answerBlock({ answer }: Plan): BlockKind {
  return answer.kind === 'tool call' ? 'tool_use' : 'text';
}

/** A search begins its own block. */
function firstBlockStart(plan: Plan): string {
  if (plan.answer.reasoning) return blockStart(plan, 'thinking');
  return plan.answer.searches ? '' : blockStart(plan, answerBlock(plan));
}

function answerIndex({ answer }: Plan): number {
  return (answer.reasoning ? 1 : 0) + 2 * (answer.searches?.count ?? 0);
}

function deltaOf({ answer }: Plan, text: string): Fields {
  return answer.kind === 'tool call'
    ? { type: 'input_json_delta', partial_json: text }
    : { type: 'text_delta', text };
}

function wholeBlock(plan: Plan, text: string): Fields {
  const empty = block(plan, answerBlock(plan));
  if (plan.answer.kind !== 'tool call') return { ...empty, text };
  return { ...empty, input: JSON.parse(text) as unknown };
}

function textOf(steps: readonly Step[], role: Step['role']): string {
  return steps.flatMap((step) => (step.role === role ? [step.text] : [])).join('');
}

function stopReason({ answer }: Plan, reason: 'stop' | 'length'): string {
  if (reason === 'length') return 'max_tokens';
  return answer.kind === 'tool call' ? 'tool_use' : answer.kind === 'refusal' ? 'refusal' : 'end_turn';
}

/** All that is known of the input; the output has just begun. */
function startUsage({ answer }: Plan, line: OpenLine): Fields {
  if (answer.usage === 'zero') return { input_tokens: 0, output_tokens: 0 };
  const fiveMinutes = line.of('cache_write');
  const oneHour = line.of('cache_write_1h');
  return {
    input_tokens: line.of('input'),
    cache_creation_input_tokens: fiveMinutes + oneHour,
    cache_creation: { ephemeral_5m_input_tokens: fiveMinutes, ephemeral_1h_input_tokens: oneHour },
    cache_read_input_tokens: line.of('cached_input'),
    output_tokens: 1,
    service_tier: answer.serviceTier ?? 'standard',
  };
}

function endUsage({ answer }: Plan, line: OpenLine): Fields {
  if (answer.usage === 'zero') return { output_tokens: 0 };
  if (answer.usage === 'absurd') return { output_tokens: -7 };
  const searches = line.used('tool_calls.web_search');
  return {
    output_tokens: line.output,
    output_tokens_details: { thinking_tokens: line.of('reasoning') },
    // What searches found is input, which `message_start` could not know.
    ...(searches > 0 && {
      input_tokens: line.of('input'),
      server_tool_use: { web_search_requests: searches },
    }),
  };
}

/** Fields of the request body in the public reference, betas included. */
const FIELDS = new Set(
  `model messages max_tokens cache_control container context_management inference_geo mcp_servers metadata output_config
  output_format service_tier speed stop_sequences stream system temperature thinking tool_choice tools top_k top_p`.split(
    /\s+/,
  ),
);

/** Words from https://github.com/amrit110/oli/issues/7. */
export function messagesRefusal(body: Fields): Refusal | undefined {
  const field = Object.keys(body).find((name) => !FIELDS.has(name));
  const message =
    field !== undefined
      ? `${field}: Extra inputs are not permitted`
      : Number.isInteger(body['max_tokens'])
        ? undefined
        : 'max_tokens: Field required';
  return message === undefined ? undefined : { status: 400, code: null, param: null, message };
}
