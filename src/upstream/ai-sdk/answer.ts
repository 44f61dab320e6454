import type { LanguageModelV4GenerateResult } from '@ai-sdk/provider';
import type { AssistantMessage, ChatCompletion, ChatUsage, ToolCall } from '../../wire/openai/chat.ts';
import { UpstreamFailure } from '../port.ts';
import { finishReason } from './finish.ts';

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

export interface CompletionLabels {
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
