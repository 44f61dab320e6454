import type { AccountId } from '../../std/ids.ts';
import { inProcessCounter } from '../../tokenizer/testing/in-process-counter.ts';
import type { ChatRequest } from '../../wire/openai/chat.ts';
import { ChatInput } from '../input/chat-input.ts';
import { RequestCounter } from '../input/request-counter.ts';

const HI: Pick<ChatRequest, 'messages'> = { messages: [{ role: 'user', content: 'hi' }] };

/** The input of a chat of somebody, counted on the spot. */
export function chatInput(fields: Partial<ChatRequest> = HI, attachmentTokens = 0): ChatInput {
  return new ChatInput({
    request: { model: 'm', ...HI, ...fields },
    counter: new RequestCounter(
      { tokens: inProcessCounter, countWaitMs: 50 },
      {},
      { kind: 'account', id: 'acc_test' as AccountId },
    ),
    attachments: { tokens: attachmentTokens },
    overhead: 0,
    bound: Number.POSITIVE_INFINITY,
  });
}
