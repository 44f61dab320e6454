import type { LanguageModelV4FinishReason, LanguageModelV4GenerateResult } from '@ai-sdk/provider';
import type {
  AssistantMessage,
  ChatCompletion,
  ChatUsage,
  FinishReason,
  ToolCall,
} from '../../wire/openai/chat.ts';
import { UpstreamFailure } from '../port.ts';

/** A whole answer of the AI SDK in canonical form. Throws if the backend did not finish it. */
export function completionOf(
  result: LanguageModelV4GenerateResult,
  labels: CompletionLabels,
): ChatCompletion {
  const message = messageOf(result);
  const reason = finishReason(result.finishReason, message.tool_calls !== undefined);
  if (reason === undefined) {
    throw new UpstreamFailure(
      'server',
      `the answer did not finish (${result.finishReason.raw ?? result.finishReason.unified})`,
    );
  }
  const { id, created, model } = labels;
  const usage = labels.usage(result.usage.raw);
  return {
    id,
    object: 'chat.completion',
    created,
    model,
    choices: [{ index: 0, message, finish_reason: reason }],
    ...(usage && { usage }),
  };
}

interface CompletionLabels {
  readonly id: string;
  readonly model: string;
  /** Seconds since 1970. */
  readonly created: number;
  usage(raw: unknown): ChatUsage | undefined;
}

function messageOf(result: LanguageModelV4GenerateResult): AssistantMessage {
  let text = '';
  let reasoning = '';
  const tools: ToolCall[] = [];
  for (const part of result.content) {
    if (part.type === 'text') text += part.text;
    if (part.type === 'reasoning') reasoning += part.text;
    if (part.type === 'tool-call' && !part.providerExecuted) {
      tools.push({
        id: part.toolCallId,
        type: 'function',
        function: { name: part.toolName, arguments: part.input },
      });
    }
  }
  return {
    role: 'assistant',
    content: text === '' && tools.length > 0 ? null : text,
    ...(reasoning !== '' && { reasoning_content: reasoning }),
    ...(tools.length > 0 && { tool_calls: tools }),
  };
}

/**
 * Why an answer ended; undefined if it was cut off. Several packages report a stream that was cut off as `other`
 * without a reason from the backend, so without that reason it did not end.
 */
export function finishReason(
  reason: LanguageModelV4FinishReason,
  hasTools: boolean,
): FinishReason | undefined {
  switch (reason.unified) {
    case 'stop':
      return hasTools ? 'tool_calls' : 'stop';
    case 'tool-calls':
      return 'tool_calls';
    case 'length':
      return 'length';
    case 'content-filter':
      return 'content_filter';
    case 'error':
    case 'interrupted':
      return undefined;
    case 'other':
      break;
  }
  if (reason.raw === undefined) return undefined;
  return hasTools ? 'tool_calls' : 'stop';
}
