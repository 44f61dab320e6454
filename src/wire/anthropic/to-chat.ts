import { Fault } from '../../std/fault.ts';
import type { ChatRequest, ChatTool, ChatMessage, ContentPart } from '../openai/chat.ts';
import { countableInput, type CountableInput } from '../openai/countable-input.ts';
import { effortOfBudget } from '../reasoning-effort.ts';
import type { UnknownVariant } from '../tagged-union.ts';
import { isAbsent, withoutAbsent } from '../field-table.ts';
import {
  isInnerBlock,
  isKnownBlock,
  type MessagesRequest,
  type InnerBlock,
  type MessagesBlock,
  type ToolResultBlock,
  type ToolUseBlock,
  type CountTokensRequest,
} from './request.ts';

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
  return effortOfBudget(budget);
}

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

/** The system prompt and the turns of a conversation as canonical messages. */
function messagesToChatMessages(
  request: Pick<MessagesRequest, 'system' | 'messages'>,
  untranslatable: Untranslatable = raise,
): ChatMessage[] {
  return [
    ...systemToChat(request.system),
    ...request.messages.flatMap((turn, index) => turnToChat(turn, index, untranslatable)),
  ];
}

/** Told of what only a backend of this dialect understands. It may throw, where there is no such backend. */
type Untranslatable = (fault: Fault) => void;

function raise(fault: Fault): void {
  throw fault;
}

type Turn = MessagesRequest['messages'][number];
type ToolCall = NonNullable<ChatMessage['tool_calls']>[number];

function systemToChat(system: MessagesRequest['system']): ChatMessage[] {
  if (isAbsent(system)) return [];
  const text = typeof system === 'string' ? system : system.map((block) => block.text).join('\n\n');
  return text === '' ? [] : [{ role: 'system', content: text }];
}

function turnToChat(turn: Turn, index: number, untranslatable: Untranslatable): ChatMessage[] {
  if (typeof turn.content === 'string') return [{ role: turn.role, content: turn.content }];
  switch (turn.role) {
    case 'system':
      return systemToChat(turn.content.filter((block) => block.type === 'text').map(asText));
    case 'assistant':
      return assistantToChat(turn.content);
    case 'user':
      return userToChat(turn.content, `messages.${index}.content`, untranslatable);
  }
}

function asText(block: MessagesBlock | UnknownVariant): { type: 'text'; text: string } {
  return { type: 'text', text: typeof block.text === 'string' ? block.text : '' };
}

/**
 * Thinking is not replayed: its signature means nothing to another provider. Blocks of server tools are the provider's
 * own record. A turn that had nothing else is dropped.
 */
function assistantToChat(blocks: readonly (MessagesBlock | UnknownVariant)[]): ChatMessage[] {
  let text = '';
  const calls: ToolCall[] = [];
  for (const block of blocks.filter(isKnownBlock)) {
    if (block.type === 'text') text += block.text;
    if (block.type === 'tool_use') calls.push(callToChat(block));
  }
  if (text === '' && calls.length === 0) return [];
  return [
    {
      role: 'assistant',
      content: text === '' ? null : text,
      ...(calls.length > 0 ? { tool_calls: calls } : {}),
    },
  ];
}

function callToChat(block: ToolUseBlock): ToolCall {
  return {
    id: block.id,
    type: 'function',
    function: { name: block.name, arguments: JSON.stringify(block.input ?? {}) },
  };
}

/** Tool results must directly follow their calls, so they come before the user's other content. */
function userToChat(
  blocks: readonly (MessagesBlock | UnknownVariant)[],
  path: string,
  untranslatable: Untranslatable,
): ChatMessage[] {
  const results: ChatMessage[] = [];
  const attachments: ContentPart[] = [];
  const said: ContentPart[] = [];
  for (const [index, block] of blocks.entries()) {
    const where = `${path}.${index}`;
    if (isKnownBlock(block) && block.type === 'tool_result') {
      const result = resultToChat(block, where, untranslatable);
      results.push(result.message);
      attachments.push(...result.attachments);
    } else if (isInnerBlock(block)) {
      said.push(...partsOf(block, where, untranslatable));
    } else if (block.type !== 'thinking' && block.type !== 'redacted_thinking') {
      const message = `A user message cannot hold a block of type '${block.type}' here.`;
      untranslatable(new Fault('invalid_field', message, { param: where }));
      // Its place is kept: a conversation must not become empty.
      said.push({ type: 'text', text: '' });
    }
  }
  const parts = [...attachments, ...said];
  return parts.length === 0 ? results : [...results, { role: 'user', content: plainText(parts) ?? parts }];
}

/** A single text becomes a string, because every backend accepts that; several stay separate. */
function plainText(parts: readonly ContentPart[]): string | undefined {
  const [only] = parts;
  return parts.length === 1 && only?.type === 'text' ? only.text : undefined;
}

/** A tool message is text; images and documents of a result go into the user message that follows. */
function resultToChat(
  block: ToolResultBlock,
  where: string,
  untranslatable: Untranslatable,
): { message: ChatMessage; attachments: ContentPart[] } {
  const id = block.tool_use_id;
  const toolMessage = (content: string): ChatMessage => ({ role: 'tool', tool_call_id: id, content });
  if (isAbsent(block.content) || typeof block.content === 'string') {
    return { message: toolMessage(block.content ?? ''), attachments: [] };
  }
  const parts = block.content.flatMap((inner, index) =>
    isInnerBlock(inner) ? partsOf(inner, `${where}.content.${index}`, untranslatable) : [],
  );
  const texts = parts.flatMap((part) => (part.type === 'text' ? [part.text] : []));
  const others = parts.filter((part) => part.type !== 'text');
  if (others.length === 0) return { message: toolMessage(texts.join('\n')), attachments: [] };
  return {
    message: toolMessage(texts.length > 0 ? texts.join('\n') : 'The result is attached to the next message.'),
    attachments: [{ type: 'text', text: `Attached to the result of ${id}:` }, ...others],
  };
}

function partsOf(block: InnerBlock, where: string, untranslatable: Untranslatable): ContentPart[] {
  switch (block.type) {
    case 'text':
      return [{ type: 'text', text: block.text }];
    case 'image':
      return [{ type: 'image_url', image_url: { url: imageUrl(block, where) } }];
    case 'document':
      return documentParts(block, where, untranslatable);
    case 'tool_reference':
      return [{ type: 'text', text: `The tool ${block.tool_name} is loaded and can be called now.` }];
    case 'search_result':
      return [
        {
          type: 'text',
          text: [block.title, block.source, ...block.content.map((part) => part.text)].join('\n'),
        },
      ];
  }
}

function imageUrl({ source }: InnerBlock & { type: 'image' }, where: string): string {
  switch (source.type) {
    case 'base64':
      return `data:${source.media_type};base64,${source.data}`;
    case 'url':
      return source.url;
    case 'file':
      throw notStored(where);
  }
}

function documentParts(
  block: InnerBlock & { type: 'document' },
  where: string,
  untranslatable: Untranslatable,
): ContentPart[] {
  const { source, title, context } = block;
  const heading = [title, context].filter(Boolean).join('\n');
  const withHeading = (text: string): ContentPart => ({
    type: 'text',
    text: heading ? `${heading}\n\n${text}` : text,
  });
  switch (source.type) {
    case 'text':
      return [withHeading(source.data)];
    case 'content':
      if (typeof source.content === 'string') return [withHeading(source.content)];
      return [
        ...(heading ? [{ type: 'text' as const, text: heading }] : []),
        ...source.content.flatMap((inner) => partsOf(inner, where, untranslatable)),
      ];
    case 'base64': {
      const file = {
        filename: title || 'document.pdf',
        file_data: `data:${source.media_type};base64,${source.data}`,
      };
      return [...(context ? [{ type: 'text' as const, text: context }] : []), { type: 'file', file }];
    }
    case 'url':
      untranslatable(
        new Fault('invalid_field', 'A document by URL cannot be forwarded; send it as base64 or text.', {
          param: where,
        }),
      );
      return [{ type: 'file', file: { filename: title || 'document.pdf', file_data: source.url } }];
    case 'file':
      throw notStored(where);
  }
}

function notStored(where: string): Fault {
  return new Fault(
    'invalid_field',
    'Tollgate stores no files; send the content itself instead of a file_id.',
    { param: where },
  );
}

export function countableMessages(request: CountTokensRequest): CountableInput {
  return countableInput(messagesToChatMessages(request), request.tools ?? []);
}
