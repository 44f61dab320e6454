import type { Fault, FaultCode, FaultType } from '../../std/fault.ts';
import type { ChatCompletion, FinishReason } from '../openai/chat.ts';
import {
  argumentsObject,
  ChunkReader,
  NO_TOKENS,
  type CallPart,
  type ChunkPart,
  type TokenCounts,
} from '../openai/chunk-parts.ts';

/** A whole answer in the Messages format. */
export function chatToMessages(completion: ChatCompletion, labels: AnswerLabels): MessagesAnswer {
  const parts = new ChunkReader().read(completion);
  const reason = parts.find((part) => part.kind === 'finish')?.reason ?? 'stop';
  const tokens = parts.find((part) => part.kind === 'usage')?.tokens ?? NO_TOKENS;
  const usesTools = parts.some((part) => part.kind === 'call');
  const refused = parts.some((part) => part.kind === 'refusal');
  return {
    id: messageId(labels.id),
    type: 'message',
    role: 'assistant',
    model: labels.model,
    content: blocksOf(parts, labels),
    stop_reason: stopReason({ reason, usesTools, refused }),
    stop_sequence: null,
    usage: messagesUsage(tokens),
  };
}

/** Our own request id and the model as the client named it; the backend's own are not shown. */
export interface AnswerLabels {
  readonly id: string;
  readonly model: string;
}

export interface MessagesAnswer {
  id: string;
  type: 'message';
  role: 'assistant';
  model: string;
  content: AnswerBlock[];
  stop_reason: StopReason | null;
  /** Backends do not report which sequence it was. */
  stop_sequence: null;
  usage: MessagesUsage;
}

export type AnswerBlock =
  | { type: 'text'; text: string }
  | { type: 'thinking'; thinking: string; signature: string }
  | { type: 'tool_use'; id: string; name: string; input: Record<string, unknown> };

export type StopReason = 'end_turn' | 'max_tokens' | 'tool_use' | 'refusal';

/** In this dialect the three kinds of input are separate and add up; `input_tokens` is what was not cached. */
export interface MessagesUsage {
  input_tokens: number;
  cache_creation_input_tokens: number;
  cache_read_input_tokens: number;
  output_tokens: number;
  output_tokens_details: { thinking_tokens: number };
}

export function messagesUsage(tokens: TokenCounts): MessagesUsage {
  return {
    input_tokens: tokens.input - tokens.cached,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: tokens.cached,
    output_tokens: tokens.output,
    output_tokens_details: { thinking_tokens: tokens.reasoning },
  };
}

/** Some backends end a tool call with `stop`, but agents of this dialect continue only at `tool_use`. */
export function stopReason(end: { reason: FinishReason; usesTools: boolean; refused: boolean }): StopReason {
  if (end.refused) return 'refusal';
  switch (end.reason) {
    case 'length':
      return 'max_tokens';
    case 'content_filter':
      return 'refusal';
    case 'tool_calls':
    case 'stop':
      return end.usesTools ? 'tool_use' : 'end_turn';
  }
}

/** `req_…` becomes `msg_…`, so that the receipt of an answer can be found. */
export function messageId(id: string): string {
  return `msg_${id.replace(/^req_/, '')}`;
}

export function toolUseId(id: string | undefined, labels: AnswerLabels, call: number): string {
  return id ?? `toolu_${labels.id.replace(/^req_/, '')}_${call}`;
}

/** The error body of this dialect. Its SDKs look for a code in `details.error_code`. */
export function messagesErrorBody(fault: Fault, requestId: string): MessagesErrorBody {
  const details = {
    error_code: fault.code,
    ...(fault.param === undefined ? {} : { param: fault.param }),
    ...fault.extra,
  };
  return {
    type: 'error',
    error: { type: errorType(fault), message: fault.message, details },
    request_id: requestId,
  };
}

export interface MessagesErrorBody {
  type: 'error';
  error: { type: string; message: string; details: Record<string, string | number> };
  request_id: string;
}

function errorType(fault: Fault): string {
  return TYPE_BY_CODE[fault.code] ?? TYPE_BY_TYPE[fault.type];
}

const TYPE_BY_TYPE: Record<FaultType, string> = {
  invalid_request_error: 'invalid_request_error',
  authentication_error: 'authentication_error',
  insufficient_quota: 'billing_error',
  rate_limit_error: 'rate_limit_error',
  server_error: 'api_error',
};

/** Types of errors where this dialect is more specific than ours. */
const TYPE_BY_CODE: Partial<Record<FaultCode, string>> = {
  not_found: 'not_found_error',
  upstream_timeout: 'timeout_error',
  service_unavailable: 'overloaded_error',
};

function blocksOf(parts: readonly ChunkPart[], labels: AnswerLabels): AnswerBlock[] {
  const thinking = textOf(parts, 'reasoning');
  const text = textOf(parts, 'text') + textOf(parts, 'refusal');
  const signature = parts.find((part) => part.kind === 'signature')?.signature ?? '';
  const calls = parts.filter((part) => part.kind === 'call');
  return [
    ...(thinking ? [{ type: 'thinking' as const, thinking, signature }] : []),
    ...(text ? [{ type: 'text' as const, text }] : []),
    ...calls.map((part) => toolUse(part, labels)),
  ];
}

function textOf(parts: readonly ChunkPart[], kind: 'reasoning' | 'text' | 'refusal'): string {
  return parts.map((part) => (part.kind === kind ? part.text : '')).join('');
}

function toolUse(part: CallPart, labels: AnswerLabels): AnswerBlock {
  return {
    type: 'tool_use',
    id: toolUseId(part.id, labels, part.call),
    name: part.name ?? '',
    input: argumentsObject(part.arguments),
  };
}
