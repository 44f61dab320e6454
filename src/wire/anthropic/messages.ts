import { Fault } from '../../std/fault.ts';
import type { ChatMessage, ContentPart } from '../openai/chat.ts';
import { countableInput, type CountableInput } from '../openai/countable-input.ts';
import type { UnknownVariant } from '../tagged-union.ts';
import { isAbsent } from '../without-absent.ts';
import {
  isInnerBlock,
  isKnownBlock,
  type InnerBlock,
  type MessagesBlock,
  type MessagesRequest,
  type ToolResultBlock,
  type ToolUseBlock,
  type CountTokensRequest,
} from './request.ts';

/** The system prompt and the turns of a conversation as canonical messages. */
export function messagesToChatMessages(
  request: Pick<MessagesRequest, 'system' | 'messages'>,
  untranslatable: Untranslatable = raise,
): ChatMessage[] {
  return [
    ...systemToChat(request.system),
    ...request.messages.flatMap((turn, index) => turnToChat(turn, index, untranslatable)),
  ];
}

/** Told of what only a backend of this dialect understands. It may throw, where there is no such backend. */
export type Untranslatable = (fault: Fault) => void;

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
