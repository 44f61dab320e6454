import type { StreamEvent } from '../../wire/openai/answer.ts';
import type { ChatAnswer } from '../port.ts';

/** Every event of a typed stream as the text that a client of the canonical form would read. */
export async function eventData(answer: ChatAnswer): Promise<string[]> {
  if (answer.kind !== 'events') throw new Error(`expected a stream of events, got '${answer.kind}'`);
  const data: string[] = [];
  for await (const event of answer.events) data.push(textOf(event));
  return data;
}

function textOf(event: StreamEvent): string {
  switch (event.kind) {
    case 'chunk':
      return JSON.stringify(event.chunk);
    case 'done':
      return '[DONE]';
    case 'error':
      return JSON.stringify({ error: { message: event.message } });
    case 'early_usage':
    case 'garbage':
      return '';
  }
}
