import type { ChatRequest } from '../../wire/openai/chat.ts';

/**
 * All text of a request that a model may read: every string of its messages besides names and attachments, and the
 * definitions of its tools and of the answer's format. Backends do not keep to the documented fields, so neither does
 * this: text in a field that nobody knows is counted too.
 */
export function inputTexts(request: Pick<ChatRequest, 'messages'> & Record<string, unknown>): string[] {
  const texts: string[] = [];
  collect(request.messages, '', texts);
  collect(request['system'], '', texts);
  for (const definition of [request['tools'], request['functions'], request['response_format']])
    if (definition !== undefined) texts.push(JSON.stringify(definition));
  return texts;
}

function collect(value: unknown, key: string, texts: string[]): void {
  if (typeof value === 'string') {
    if (!isName(key, value)) texts.push(value);
  } else if (Array.isArray(value)) {
    for (const item of value) collect(item, key, texts);
  } else if (typeof value === 'object' && value !== null && !isAttachment(key, value)) {
    for (const [name, member] of Object.entries(value)) collect(member, name, texts);
  }
}

/** They are not shown to the model, or with a token or two that belong to the message. */
const NAMES: ReadonlySet<string> = new Set([
  'role',
  'type',
  'id',
  'tool_call_id',
  'tool_use_id',
  'signature',
]);
/** A longer one is text, whatever its name. */
const MAX_NAME_LENGTH = 64;

function isName(key: string, text: string): boolean {
  return NAMES.has(key) && (text.length <= MAX_NAME_LENGTH || key === 'signature');
}

const ATTACHMENT_PARTS: ReadonlySet<unknown> = new Set(['image_url', 'input_audio', 'file']);
const ATTACHMENT_SOURCES: ReadonlySet<unknown> = new Set(['base64', 'url', 'file']);

/** Measured apart: in the chat dialect a part of a message, in Anthropic's the source of a block. */
function isAttachment(key: string, value: object): boolean {
  const type = 'type' in value ? value.type : undefined;
  return key === 'source' ? ATTACHMENT_SOURCES.has(type) : ATTACHMENT_PARTS.has(type);
}
