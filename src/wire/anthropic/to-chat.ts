import { Fault } from '../../std/fault.ts';
import type { ChatRequest, ChatTool } from '../openai/chat.ts';
import { isAbsent, withoutAbsent } from '../without-absent.ts';
import { messagesToChatMessages, type Untranslatable } from './messages.ts';
import { isInnerBlock, isKnownBlock, type MessagesRequest } from './request.ts';

/**
 * A Messages request in the canonical form. What the canonical form cannot express is dropped
 * (docs/clients/differences.md lists it); content whose absence would change the meaning is refused instead.
 */
export function messagesToChat(request: MessagesRequest, untranslatable?: Untranslatable): ChatRequest {
  const messages = messagesToChatMessages(request, untranslatable);
  if (messages.length === 0) {
    throw new Fault('invalid_field', 'messages hold nothing that a model could read.', { param: 'messages' });
  }
  return {
    model: request.model,
    messages,
    max_tokens: request.max_tokens,
    ...withoutAbsent({
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

/** Backends cap `user` at 64 characters; agents put whole session records here, which concern no backend. */
const MAX_USER_LENGTH = 64;

function shortUserId(userId: string | null | undefined): string | undefined {
  return userId && userId.length <= MAX_USER_LENGTH ? userId : undefined;
}

/** `adaptive` leaves the choice to the model, as does an absent field. */
function effortOf(request: MessagesRequest): string | undefined {
  const effort = request.output_config?.effort;
  if (effort) return effort;
  const budget = request.thinking?.type === 'enabled' ? request.thinking.budget_tokens : undefined;
  if (isAbsent(budget)) return undefined;
  return EFFORTS.find(([below]) => budget < below)?.[1];
}

/** Thinking budgets in tokens and the corresponding efforts. */
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
  const tools = offeredTools(request).flatMap(toolToChat);
  if (tools.length === 0) return {};
  const names = new Set(tools.map((tool) => tool.function?.name));
  return {
    tools,
    ...withoutAbsent({
      tool_choice: toolChoice(request.tool_choice, names),
      parallel_tool_calls: request.tool_choice?.disable_parallel_tool_use ? false : undefined,
    }),
  };
}

type Tool = NonNullable<MessagesRequest['tools']>[number];

/**
 * A deferred tool is offered once a result refers to it; before that, the client does not expect calls of it. If the
 * provider itself would do the search, nothing does it here, so then all of them are offered.
 */
function offeredTools({ tools, messages }: MessagesRequest): Tool[] {
  if (!tools?.some((tool) => tool.defer_loading)) return tools ?? [];
  if (tools.some((tool) => tool.type?.startsWith('tool_search_tool'))) return tools;
  const loaded = new Set(messages.flatMap((message) => loadedTools(message.content)));
  return tools.filter((tool) => !tool.defer_loading || loaded.has(tool.name ?? ''));
}

function loadedTools(content: MessagesRequest['messages'][number]['content']): string[] {
  if (typeof content === 'string') return [];
  return content.flatMap((block) => {
    if (!isKnownBlock(block) || block.type !== 'tool_result' || !Array.isArray(block.content)) return [];
    return block.content.flatMap((inner) =>
      isInnerBlock(inner) && inner.type === 'tool_reference' ? [inner.tool_name] : [],
    );
  });
}

/** Tools that the provider itself would run, or whose schema only it knows, have no canonical form. */
function toolToChat(tool: Tool): ChatTool[] {
  const custom = isAbsent(tool.type) || tool.type === 'custom';
  if (!custom || !tool.name) return [];
  const { name, description, input_schema: parameters, strict } = tool;
  return [{ type: 'function', function: { name, ...withoutAbsent({ description, parameters, strict }) } }];
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

/**
 * Newer SDKs keep the conversation of a tool loop at the provider and send only what is new. Nothing is kept here, and
 * what a provider keeps cannot be priced before it is read. So a thread can be started, which is a whole request, but
 * is never found again: on that code the SDKs send the whole conversation again.
 */
export function withoutThread(body: Record<string, unknown>): Record<string, unknown> {
  const { thread, ...rest } = body;
  if (typeof thread === 'object' && thread !== null && 'type' in thread && thread.type === 'continue') {
    throw new Fault('not_found', 'Tollgate keeps no threads. Send the whole conversation in messages.', {
      param: 'thread',
      extra: { error_code: 'thread_not_found' },
    });
  }
  return rest;
}
