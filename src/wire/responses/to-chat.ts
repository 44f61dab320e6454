import { Fault } from '../../std/fault.ts';
import type { ChatRequest, ChatMessage, ContentPart } from '../openai/chat.ts';
import { isAbsent, withoutAbsent } from '../field-table.ts';
import {
  isKnownItem,
  isKnownPart,
  type ResponsesRequest,
  type ResponsesContent,
  type ResponsesItem,
  type ResponsesPart,
} from './request.ts';
import { toolFields, chatName, customArguments } from './tools.ts';

/**
 * A Responses request in the canonical form. Stored state that was not put in its place before is refused with a hint what
 * to do instead; what the canonical form cannot express is dropped (docs/clients/differences.md lists it).
 */
export function responsesToChat(request: ResponsesRequest): ChatRequest {
  refuseStoredState(request);
  const messages = inputToChatMessages(request);
  if (messages.length === 0) {
    throw new Fault('invalid_field', 'input holds nothing that a model could read.', { param: 'input' });
  }
  return {
    model: request.model,
    messages,
    ...withoutAbsent({
      max_tokens: request.max_output_tokens,
      temperature: request.temperature,
      top_p: request.top_p,
      user: request.user,
      service_tier: request.service_tier,
      reasoning_effort: request.reasoning?.effort,
      verbosity: request.text?.verbosity,
      response_format: formatOf(request),
      ...logprobsOf(request),
    }),
    ...toolFields(request),
    ...(request.stream ? { stream: true, stream_options: { include_usage: true } } : {}),
  };
}

function logprobsOf({ include, top_logprobs: top }: ResponsesRequest) {
  const wanted = include?.includes('message.output_text.logprobs') || (top ?? 0) > 0;
  return wanted ? { logprobs: true, top_logprobs: top ?? 0 } : {};
}

function refuseStoredState(request: ResponsesRequest): void {
  const stored = ['previous_response_id', 'conversation', 'prompt'] as const;
  const param =
    stored.find((field) => !isAbsent(request[field])) ?? (request.background ? 'background' : undefined);
  if (param === undefined) return;
  throw new Fault('invalid_field', REFUSALS[param], { param });
}

const REFUSALS = {
  previous_response_id:
    'This server keeps no responses, so previous_response_id is not supported: send the whole conversation in input.',
  conversation:
    'This server keeps no responses, so conversation is not supported: send the whole conversation in input.',
  prompt: 'Stored prompts are not supported: send instructions and input.',
  background:
    'This server keeps no responses, so background is not supported: use stream: true for long answers.',
};

function formatOf(request: ResponsesRequest): Record<string, unknown> | undefined {
  const format = request.text?.format;
  if (format?.type === 'json_object') return { type: 'json_object' };
  if (format?.type !== 'json_schema') return undefined;
  const { name, description, schema, strict } = format;
  return {
    type: 'json_schema',
    json_schema: { name: name ?? 'answer', ...withoutAbsent({ description, schema, strict }) },
  };
}

/** Instructions and input items as canonical messages. */
function inputToChatMessages(request: Pick<ResponsesRequest, 'instructions' | 'input'>): ChatMessage[] {
  const conversation = new Conversation();
  if (request.instructions) conversation.system(request.instructions);
  if (typeof request.input === 'string') conversation.user([{ type: 'text', text: request.input }]);
  else request.input.forEach((item, index) => takeItem(conversation, item, `input.${index}`));
  return conversation.end();
}

/**
 * Items are single actions, canonical messages are turns: calls join the assistant's turn, results follow directly, and
 * the content of a result that is not text waits for the next user message.
 */
class Conversation {
  readonly #messages: ChatMessage[] = [];
  #attachments: ContentPart[] = [];

  /** Adjacent ones are merged: many chat templates allow only one system message. */
  system(text: string): void {
    this.#deliver();
    const last = this.#messages.at(-1);
    if (last?.role === 'system' && typeof last.content === 'string') last.content += `\n\n${text}`;
    else this.#messages.push({ role: 'system', content: text });
  }

  user(parts: readonly ContentPart[]): void {
    const all = [...this.#attachments, ...parts];
    this.#attachments = [];
    const [first] = all;
    if (first)
      this.#messages.push({
        role: 'user',
        content: all.length === 1 && first.type === 'text' ? first.text : all,
      });
  }

  /** Text between a call and its result belongs to the turn of the call; otherwise it is a turn of its own. */
  assistant(text: string): void {
    this.#deliver();
    const last = this.#messages.at(-1);
    if (last?.role !== 'assistant' || !last.tool_calls)
      this.#messages.push({ role: 'assistant', content: text });
    else last.content = typeof last.content === 'string' ? `${last.content}\n\n${text}` : text;
  }

  call(id: string, name: string, text: string): void {
    this.#deliver();
    const call = { id, type: 'function' as const, function: { name, arguments: text } };
    const last = this.#messages.at(-1);
    if (last?.role === 'assistant') last.tool_calls = [...(last.tool_calls ?? []), call];
    else this.#messages.push({ role: 'assistant', content: null, tool_calls: [call] });
  }

  result(id: string, parts: readonly ContentPart[]): void {
    const texts = parts.flatMap((part) => (part.type === 'text' ? [part.text] : []));
    const others = parts.filter((part) => part.type !== 'text');
    const hint = others.length > 0 && texts.length === 0 ? 'The result is attached to the next message.' : '';
    this.#messages.push({ role: 'tool', tool_call_id: id, content: texts.join('\n') || hint });
    if (others.length > 0)
      this.#attachments.push({ type: 'text', text: `Attached to the result of ${id}:` }, ...others);
  }

  end(): ChatMessage[] {
    this.#deliver();
    return this.#messages;
  }

  #deliver(): void {
    if (this.#attachments.length > 0) this.user([]);
  }
}

function takeItem(conversation: Conversation, item: { readonly type: string }, where: string): void {
  if (!isKnownItem(item)) {
    if (HOSTED_RECORDS.has(item.type)) return;
    throw new Fault('invalid_field', `An item of type '${item.type}' cannot be forwarded.`, { param: where });
  }
  switch (item.type) {
    case 'message':
      return takeMessage(conversation, item, where);
    case 'function_call':
      return conversation.call(item.call_id, chatName(item.name, item.namespace), item.arguments);
    case 'custom_tool_call':
      return conversation.call(
        item.call_id,
        chatName(item.name, item.namespace),
        customArguments(item.input),
      );
    case 'function_call_output':
    case 'custom_tool_call_output':
      return conversation.result(item.call_id, partsOf(item.output, `${where}.output`));
    case 'reasoning':
      // Thoughts are not replayed: their encrypted content means nothing to another provider.
      return;
    case 'item_reference':
      return takeReference(item.id, where);
  }
}

/** Records of OpenAI's own tools from an earlier turn, for a client that switches. The answers they led to remain. */
const HOSTED_RECORDS: ReadonlySet<string> = new Set([
  'web_search_call',
  'file_search_call',
  'code_interpreter_call',
  'image_generation_call',
  'mcp_list_tools',
  'mcp_call',
  'mcp_approval_request',
  'mcp_approval_response',
  'tool_search_call',
  'tool_search_output',
]);

function takeMessage(
  conversation: Conversation,
  item: ResponsesItem & { type: 'message' },
  where: string,
): void {
  const parts = partsOf(item.content, `${where}.content`);
  switch (item.role) {
    case 'user':
      return conversation.user(parts);
    case 'system':
    case 'developer':
      return conversation.system(textOf(parts));
    case 'assistant':
      return conversation.assistant(textOf(parts));
  }
}

/** Thoughts are left out anyway, so a reference to them can be ignored; any other would be missing. */
function takeReference(id: string, where: string): void {
  if (id.startsWith('rs_')) return;
  throw new Fault(
    'invalid_field',
    'This server keeps no responses, so items cannot be referenced. Send store: false and the items themselves.',
    { param: where },
  );
}

function textOf(parts: readonly ContentPart[]): string {
  return parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

function partsOf(content: ResponsesContent, where: string): ContentPart[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return content.map((part, index) => {
    if (isKnownPart(part)) return partToChat(part, `${where}.${index}`);
    throw new Fault('invalid_field', `A part of type '${part.type}' cannot be forwarded.`, {
      param: `${where}.${index}`,
    });
  });
}

function partToChat(part: ResponsesPart, where: string): ContentPart {
  switch (part.type) {
    case 'input_text':
    case 'output_text':
    case 'text':
      return { type: 'text', text: part.text };
    case 'refusal':
      return { type: 'text', text: part.refusal };
    case 'input_image': {
      if (!part.image_url) throw notStored(where);
      // `original` is newer than the canonical form.
      const detail = part.detail === 'original' ? 'high' : part.detail;
      return { type: 'image_url', image_url: { url: part.image_url, ...withoutAbsent({ detail }) } };
    }
    case 'input_file': {
      if (!part.file_data) throw notStored(where);
      return { type: 'file', file: { filename: part.filename ?? 'document.pdf', file_data: part.file_data } };
    }
  }
}

function notStored(where: string): Fault {
  return new Fault('invalid_field', 'Tollgate stores and fetches no files; send the content itself.', {
    param: where,
  });
}
