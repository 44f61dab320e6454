import type { ChatDelta, FinishReason } from '../wire/openai/chat.ts';
import { firstTokens, tokenCount } from './tokens.ts';

/** What a house model says, before it is cut to the caller's limits and put on the wire. */
export interface HouseReply {
  readonly parts: readonly ReplyPart[];
  readonly finish: FinishReason;
}

export type ReplyPart =
  | { readonly kind: 'reasoning'; readonly text: string }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'tool'; readonly id: string; readonly name: string; readonly arguments: string };

export function textReply(text: string): HouseReply {
  return { parts: [{ kind: 'text', text }], finish: 'stop' };
}

/** Ends the reply before the first stop sequence, and at the cap: whichever comes first. */
export function cutReply(
  reply: HouseReply,
  limits: { maxTokens: number; stop: readonly string[] },
): HouseReply {
  const stopped = stopReply(reply, limits.stop);
  const parts: ReplyPart[] = [];
  let left = limits.maxTokens;
  for (const part of stopped.parts) {
    const count = partTokens(part);
    if (count > left) return { parts: [...parts, ...cutPart(part, left)], finish: 'length' };
    parts.push(part);
    left -= count;
  }
  return { parts, finish: stopped.finish };
}

export function replyTokens(reply: HouseReply): { readonly all: number; readonly reasoning: number } {
  return {
    all: tokensIn(reply.parts),
    reasoning: tokensIn(reply.parts.filter((part) => part.kind === 'reasoning')),
  };
}

/** The reply as the deltas of a stream, word by word; joined together they are the whole answer again. */
export function replyDeltas(reply: HouseReply): ChatDelta[] {
  let calls = 0;
  return reply.parts.flatMap((part): ChatDelta[] => {
    if (part.kind === 'text') return words(part.text).map((content) => ({ content }));
    if (part.kind === 'reasoning') return words(part.text).map((text) => ({ reasoning_content: text }));
    const index = calls++;
    const opening = {
      index,
      id: part.id,
      type: 'function' as const,
      function: { name: part.name, arguments: '' },
    };
    const pieces = part.arguments.match(/[^]{1,16}/g) ?? [];
    return [
      { tool_calls: [opening] },
      ...pieces.map((piece) => ({ tool_calls: [{ index, function: { arguments: piece } }] })),
    ];
  });
}

function words(text: string): readonly string[] {
  return text.match(/\s*\S+|\s+/g) ?? [];
}

function tokensIn(parts: readonly ReplyPart[]): number {
  return parts.reduce((sum, part) => sum + partTokens(part), 0);
}

function partTokens(part: ReplyPart): number {
  return part.kind === 'tool' ? tokenCount(part.name) + tokenCount(part.arguments) : tokenCount(part.text);
}

function cutPart(part: ReplyPart, limit: number): ReplyPart[] {
  if (limit <= 0) return [];
  if (part.kind !== 'tool') return [{ ...part, text: firstTokens(part.text, limit) }];
  const room = limit - tokenCount(part.name);
  return room < 0 ? [] : [{ ...part, arguments: firstTokens(part.arguments, room) }];
}

function stopReply(reply: HouseReply, stop: readonly string[]): HouseReply {
  for (const [index, part] of reply.parts.entries()) {
    if (part.kind !== 'text') continue;
    const places = stop.filter((sequence) => sequence !== '').map((sequence) => part.text.indexOf(sequence));
    const first = Math.min(...places.filter((place) => place >= 0));
    if (first === Infinity) continue;
    return {
      parts: [...reply.parts.slice(0, index), { kind: 'text', text: part.text.slice(0, first) }],
      finish: 'stop',
    };
  }
  return reply;
}
