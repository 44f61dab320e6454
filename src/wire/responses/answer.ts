import type { FinishReason } from '../openai/chat.ts';
import type { TokenCounts } from '../openai/chunk-parts.ts';
import type { ResponsesRequest } from './request.ts';

/** What the answer object needs: our request id, the model as the client named it, and the request that it echoes. */
export interface ResponseContext {
  readonly id: string;
  readonly model: string;
  /** Seconds since 1970. */
  readonly created: number;
  readonly request: ResponsesRequest;
  /** It will be found by its id. Whether its account stores anything is known when its answer is complete. */
  isStored: boolean;
}

type ResponseStatus = 'queued' | 'cancelled' | 'in_progress' | 'completed' | 'incomplete' | 'failed';

/** The `response` object: on its own, or within the first and last events of a stream. */
export interface ResponseObject {
  id: string;
  object: 'response';
  created_at: number;
  status: ResponseStatus;
  error: { code: string; message: string; type: string; param: string | null } | null;
  incomplete_details: { reason: 'max_output_tokens' | 'content_filter' } | null;
  model: string;
  output: readonly OutputItem[];
  usage: ResponseUsage | null;
  [echoed: string]: unknown;
}

export type OutputItem =
  | { id: string; type: 'reasoning'; summary: readonly SummaryPart[]; encrypted_content?: string }
  | { id: string; type: 'message'; status: ItemStatus; role: 'assistant'; content: readonly OutputPart[] }
  | {
      id: string;
      type: 'function_call';
      status: ItemStatus;
      call_id: string;
      name: string;
      namespace?: string;
      arguments: string;
    }
  | {
      id: string;
      type: 'custom_tool_call';
      status: ItemStatus;
      call_id: string;
      name: string;
      namespace?: string;
      input: string;
    };

export type ItemStatus = 'in_progress' | 'completed' | 'incomplete';
export type OutputPart =
  | { type: 'output_text'; text: string; annotations: readonly unknown[]; logprobs: readonly unknown[] }
  | { type: 'refusal'; refusal: string };
export interface SummaryPart {
  type: 'summary_text';
  text: string;
}

interface ResponseUsage {
  input_tokens: number;
  input_tokens_details: { cached_tokens: number };
  output_tokens: number;
  output_tokens_details: { reasoning_tokens: number };
  total_tokens: number;
}

interface ResponseParts {
  readonly status: ResponseStatus;
  readonly output: readonly OutputItem[];
  readonly tokens: TokenCounts | undefined;
  readonly error?: ResponseObject['error'];
  readonly reason?: FinishReason;
}

export function responseIdOf(context: Pick<ResponseContext, 'id'>): string {
  return `resp_${bareId(context)}`;
}

export function responseObject(context: ResponseContext, parts: ResponseParts): ResponseObject {
  return {
    id: responseIdOf(context),
    object: 'response',
    created_at: context.created,
    status: parts.status,
    error: parts.error ?? null,
    incomplete_details: parts.status === 'incomplete' ? { reason: incompleteReason(parts.reason) } : null,
    model: context.model,
    output: parts.output,
    usage: parts.tokens ? responseUsage(parts.tokens) : null,
    ...echo(context),
  };
}

/** The conversation that a request goes on with. */
export function conversationIdOf({
  conversation,
}: Pick<ResponsesRequest, 'conversation'>): string | undefined {
  return typeof conversation === 'object' ? conversation?.id : conversation;
}

/** `req_…` without its prefix, so that every id of an answer leads to its receipt. */
export function bareId(context: Pick<ResponseContext, 'id'>): string {
  return context.id.replace(/^req_/, '');
}

/** An answer that was cut off is incomplete; the canonical finish reason says so. */
export function statusOf(reason: FinishReason): 'completed' | 'incomplete' {
  return reason === 'length' || reason === 'content_filter' ? 'incomplete' : 'completed';
}

function incompleteReason(reason: FinishReason | undefined): 'max_output_tokens' | 'content_filter' {
  return reason === 'content_filter' ? 'content_filter' : 'max_output_tokens';
}

function responseUsage(tokens: TokenCounts): ResponseUsage {
  return {
    input_tokens: tokens.input,
    input_tokens_details: { cached_tokens: tokens.cached },
    output_tokens: tokens.output,
    output_tokens_details: { reasoning_tokens: tokens.reasoning },
    total_tokens: tokens.input + tokens.output,
  };
}

/**
 * The settings of the request, as SDKs expect them. A streamed answer contains the object three times, and agents send
 * instructions and tools of a hundred thousand characters, so those two are echoed only in a whole answer.
 */
function echo({ request, isStored }: ResponseContext): Record<string, unknown> {
  const whole = request.stream !== true;
  const conversation = conversationIdOf(request);
  return {
    background: request.background === true,
    instructions: whole ? (request.instructions ?? null) : null,
    max_output_tokens: request.max_output_tokens ?? null,
    metadata: request.metadata ?? {},
    parallel_tool_calls: request.parallel_tool_calls ?? true,
    previous_response_id: request.previous_response_id ?? null,
    reasoning: { effort: request.reasoning?.effort ?? null, summary: request.reasoning?.summary ?? null },
    service_tier: 'default',
    store: isStored,
    temperature: request.temperature ?? null,
    text: { format: request.text?.format ?? { type: 'text' } },
    tool_choice: request.tool_choice ?? 'auto',
    tools: whole ? (request.tools ?? []) : [],
    top_p: request.top_p ?? null,
    truncation: 'disabled',
    user: request.user ?? null,
    ...(conversation === undefined ? {} : { conversation: { id: conversation } }),
  };
}
