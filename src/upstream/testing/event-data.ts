import type { StreamEvent } from '../../wire/openai/answer.ts';
import type { ChatAnswer } from '../port.ts';

/** Every event of a typed stream as the text that a client of the canonical form would read. */
export async function eventData(answer: ChatAnswer): Promise<string[]> {
  if (answer.kind !== 'events') throw new Error(`expected a stream of events, got '${answer.kind}'`);
  const data: string[] = [];
  // Of an early usage the client reads nothing.
  for await (const event of answer.events) if (event.kind !== 'early_usage') data.push(textOf(event));
  return data;
}

function textOf(event: Exclude<StreamEvent, { kind: 'early_usage' }>): string {
  switch (event.kind) {
    case 'chunk':
      return JSON.stringify(event.chunk);
    case 'done':
      return '[DONE]';
    case 'error':
      return JSON.stringify({ error: { message: event.message } });
    case 'garbage':
      return '';
  }
}
