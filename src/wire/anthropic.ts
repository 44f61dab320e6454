import { Fault } from '../std/fault.ts';
import type { MessagesRequest } from './anthropic-request.ts';
import { messagesToChatMessages } from './anthropic-messages.ts';
import type { ChatRequest, ChatTool } from './chat.ts';
import { isAbsent, present } from './present.ts';

/**
 * A Messages request in the canonical form. What the canonical form cannot say is dropped (docs/clients/differences.md
 * lists it); content that would change the meaning by being dropped is refused instead.
 */
export function messagesToChat(request: MessagesRequest): ChatRequest {
  const messages = messagesToChatMessages(request);
  if (messages.length === 0) {
    throw new Fault('invalid_field', 'messages hold nothing that a model could read.', { param: 'messages' });
  }
  return {
    model: request.model,
    messages,
    max_tokens: request.max_tokens,
    ...present({
      temperature: request.temperature,
      top_p: request.top_p,
      stop: request.stop_sequences?.length ? request.stop_sequences : undefined,
      user: shortUserId(request.metadata?.user_id),
      reasoning_effort: effortOf(request),
      response_format: formatOf(request),
    }),
    ...toolFields(request),
    ...(request.stream ? { stream: true, stream_options: { include_usage: true } } : {}),
  };
}

/** Backends cap `user` at 64 characters; agents put whole session records here, which are nobody else's business. */
const MAX_USER_LENGTH = 64;

function shortUserId(userId: string | null | undefined): string | undefined {
  return userId && userId.length <= MAX_USER_LENGTH ? userId : undefined;
}

/** `adaptive` leaves the choice to the model, as does saying nothing. */
function effortOf(request: MessagesRequest): string | undefined {
  const effort = request.output_config?.effort;
  if (effort) return effort;
  const budget = request.thinking?.type === 'enabled' ? request.thinking.budget_tokens : undefined;
  if (isAbsent(budget)) return undefined;
  return EFFORTS.find(([below]) => budget < below)?.[1];
}

/** Thinking budgets in tokens and the efforts they amount to. */
const EFFORTS: readonly (readonly [number, string])[] = [
  [4_096, 'low'],
  [16_384, 'medium'],
  [Number.POSITIVE_INFINITY, 'high'],
];

function formatOf(request: MessagesRequest): Record<string, unknown> | undefined {
  const format = request.output_config?.format ?? request.output_format;
  if (format?.type !== 'json_schema' || !format.schema) return undefined;
  return { type: 'json_schema', json_schema: { name: 'answer', schema: format.schema, strict: true } };
}

function toolFields(request: MessagesRequest): Partial<ChatRequest> {
  const tools = (request.tools ?? []).flatMap(toolToChat);
  if (tools.length === 0) return {};
  const names = new Set(tools.map((tool) => tool.function?.name));
  return {
    tools,
    ...present({
      tool_choice: toolChoice(request.tool_choice, names),
      parallel_tool_calls: request.tool_choice?.disable_parallel_tool_use ? false : undefined,
    }),
  };
}

/** Tools that the provider itself would run, or whose schema only it knows, have no canonical form. */
function toolToChat(tool: NonNullable<MessagesRequest['tools']>[number]): ChatTool[] {
  const custom = isAbsent(tool.type) || tool.type === 'custom';
  if (!custom || !tool.name) return [];
  const { name, description, input_schema: parameters, strict } = tool;
  return [{ type: 'function', function: { name, ...present({ description, parameters, strict }) } }];
}

function toolChoice(choice: MessagesRequest['tool_choice'], names: ReadonlySet<string | undefined>): unknown {
  switch (choice?.type) {
    case undefined:
      return undefined;
    case 'auto':
    case 'none':
      return choice.type;
    case 'any':
      return 'required';
    case 'tool': {
      const name = choice.name ?? undefined;
      return names.has(name) ? { type: 'function', function: { name } } : undefined;
    }
  }
}
