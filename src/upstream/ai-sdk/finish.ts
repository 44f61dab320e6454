import type { LanguageModelV4FinishReason } from '@ai-sdk/provider';
import type { FinishReason } from '../../wire/openai/chat.ts';

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
