import type { ChatMessage, ChatRequest } from '../../wire/openai/chat.ts';
import { rejected } from '../response.ts';
import { contentText } from '../ai-sdk/parts.ts';
import type { LlamaHistoryItem } from './llama.ts';

/**
 * The conversation in the format of the model's own template. Text only: anything else is refused with an explanation.
 */
export function toHistory(request: ChatRequest): LlamaHistoryItem[] {
  if ((request.n ?? 1) > 1)
    throw rejected('This model gives one choice per request; leave out n, or send the request again.');
  if ((request.tools ?? []).length > 0) throw rejected('This local model does not take tools.');
  if (request.logprobs === true) throw rejected('This model does not give logprobs.');
  return request.messages.map(itemOf);
}

function itemOf(message: ChatMessage): LlamaHistoryItem {
  const text = contentText(message.content ?? message.refusal, '\n');
  switch (message.role) {
    case 'system':
    case 'developer':
      return { type: 'system', text };
    case 'user':
      return { type: 'user', text };
    case 'assistant':
      return { type: 'model', response: [text] };
    case 'tool':
    case 'function':
      break;
  }
  throw rejected('This local model does not take tools.');
}
