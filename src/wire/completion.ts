import { relabeller } from './chat-stream.ts';
import type { ChatCompletion, ChatUsage } from './chat.ts';

/**
 * A backend's whole answer as the client gets it: our id and the model's public name, and a usage where the backend gave
 * none. Text that needs nothing else is not printed anew.
 */
export function presentCompletion(
  whole: { readonly text: string; readonly completion: ChatCompletion; readonly untouched?: boolean },
  labels: { readonly id: string; readonly model: string },
  counted: ChatUsage | undefined,
): { text: string; completion: ChatCompletion; untouched: boolean } {
  const { completion, untouched = false } = whole;
  if (untouched) return { text: whole.text, completion, untouched };
  const full: ChatCompletion = {
    ...completion,
    ...labels,
    object: 'chat.completion',
    created: completion.created ?? Math.floor(Date.now() / 1000),
    usage: counted ?? completion.usage,
  };
  const complete =
    counted === undefined && completion.object === 'chat.completion' && completion.created !== undefined;
  return {
    untouched,
    completion: full,
    text: complete ? relabeller(labels)(whole.text, completion) : JSON.stringify(full),
  };
}
