import { countableInput, type CountableInput } from '../openai/countable-input.ts';
import { messagesToChatMessages } from './messages.ts';
import type { CountTokensRequest } from './request.ts';

export function countableMessages(request: CountTokensRequest): CountableInput {
  return countableInput(messagesToChatMessages(request), request.tools ?? []);
}
