import type { ChatMessage, ChatRequest, ContentPart } from '../wire/openai/chat.ts';

/** The text of a message, whatever form its content has. */
export function messageText(message: ChatMessage): string {
  if (typeof message.content === 'string') return message.content;
  return (message.content ?? []).flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
}

export function lastUserMessage(request: ChatRequest): ChatMessage | undefined {
  return request.messages.findLast((message) => message.role === 'user');
}

/** Parts of a message that are not text: images, audio, files. */
export function attachmentsOf(message: ChatMessage | undefined): readonly ContentPart[] {
  if (!message || !Array.isArray(message.content)) return [];
  return message.content.filter(
    (part) => part.type === 'image_url' || part.type === 'input_audio' || part.type === 'file',
  );
}

/** The tool results at the end of the conversation, with the tool's name if the calls before them tell it. */
export function trailingToolResults(request: ChatRequest): readonly { name: string; result: string }[] {
  const last = request.messages.findLastIndex((message) => message.role !== 'tool');
  const names = new Map(
    request.messages.flatMap((message) =>
      (message.tool_calls ?? []).map((call) => [call.id, call.function?.name ?? 'tool'] as const),
    ),
  );
  return request.messages.slice(last + 1).map((message) => ({
    name: names.get(message.tool_call_id ?? '') ?? message.name ?? 'tool',
    result: messageText(message),
  }));
}

type ToolChoice =
  | { readonly kind: 'auto' | 'none' | 'required' }
  | { readonly kind: 'named'; readonly name: string };

export function toolChoiceOf(request: ChatRequest): ToolChoice {
  const choice: unknown = request['tool_choice'];
  if (choice === 'none' || choice === 'required') return { kind: choice };
  const name = fieldOf(fieldOf(choice, 'function'), 'name');
  return typeof name === 'string' ? { kind: 'named', name } : { kind: 'auto' };
}

export type AnswerFormat =
  | { readonly kind: 'text' | 'json' }
  | { readonly kind: 'schema'; readonly schema: unknown };

export function answerFormatOf(request: ChatRequest): AnswerFormat {
  const format: unknown = request['response_format'];
  const type = fieldOf(format, 'type');
  if (type === 'json_object') return { kind: 'json' };
  if (type !== 'json_schema') return { kind: 'text' };
  return { kind: 'schema', schema: fieldOf(fieldOf(format, 'json_schema'), 'schema') ?? {} };
}

/**
 * Everything in a request that is read, as one text: messages, calls and tool definitions. Of attachments only the
 * beginning of their data counts: a house model reads no more of them either.
 */
export function promptText(request: ChatRequest): string {
  const messages = request.messages.flatMap((message) => [
    messageText(message),
    ...attachmentsOf(message).map(weighedData),
    ...(message.tool_calls ?? []).map(
      (call) => `${call.function?.name ?? ''} ${call.function?.arguments ?? ''}`,
    ),
  ]);
  const tools = request.tools && request.tools.length > 0 ? [JSON.stringify(request.tools)] : [];
  return [...messages, ...tools].join('\n');
}

const ATTACHMENT_CHARACTERS = 512;
/** The hold covers far less than a token per byte for audio and files, so they may not count for more here. */
const CHARACTERS_PER_WEIGHED = 50;

function weighedData(part: ContentPart): string {
  const data = dataOf(part);
  const share = part.type === 'image_url' ? data.length : Math.floor(data.length / CHARACTERS_PER_WEIGHED);
  return data.slice(0, Math.min(ATTACHMENT_CHARACTERS, share));
}

/** The URL or base64 data of an attachment. */
export function dataOf(part: ContentPart): string {
  if (part.type === 'image_url') return part.image_url.url;
  if (part.type === 'input_audio') return part.input_audio.data;
  if (part.type !== 'file') return '';
  const data = part.file['file_data'] ?? part.file['file_id'];
  return typeof data === 'string' ? data : '';
}

export function fieldOf(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null && key in value
    ? (value as Record<string, unknown>)[key]
    : undefined;
}
