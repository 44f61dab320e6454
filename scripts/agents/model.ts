import {
  chunk,
  completion,
  DONE,
  eventStream,
  usage,
  usageEvent,
  type RecordedCall,
} from '../../test/support/scripted-backend.ts';
import type { ToolCall } from './cast.ts';

/** What every answer of the model claims to have used: a round price at 1 and 2 USD per million. */
export const USED = { input: 1_000, output: 50 };
export const FINAL_TEXT = 'hello.txt is written.';

/** A model that knows one task: it calls the tool, reads its result, and says that it is done. */
export function scriptedModelResponse({ body }: RecordedCall, call: ToolCall): Response {
  const words = wordsFor(body, call);
  const streamed = body['stream'] === true;
  if (words !== undefined)
    return streamed ? stream({ content: words }, 'stop') : completion(words, usage(USED.input, USED.output));
  const toolCall = {
    index: 0,
    id: 'call_1',
    type: 'function',
    function: { name: call.name, arguments: JSON.stringify(call.arguments) },
  };
  if (streamed) return stream({ tool_calls: [toolCall] }, 'tool_calls');
  const message = { role: 'assistant', content: null, tool_calls: [toolCall] };
  const choices = [{ index: 0, message, finish_reason: 'tool_calls' }];
  return completion('', usage(USED.input, USED.output), { choices });
}

/** `undefined`: it is time to call the tool. Requests without that tool are for titles and other small work. */
function wordsFor(body: Record<string, unknown>, call: ToolCall): string | undefined {
  const tools = listOf(body['tools']);
  const messages = listOf(body['messages']);
  if (messages.some(({ role }) => role === 'tool')) return FINAL_TEXT;
  return tools.some((tool) => nameOf(tool) === call.name) ? undefined : 'A greeting in a file';
}

function stream(delta: Record<string, unknown>, finish: string): Response {
  const events = [
    chunk({ role: 'assistant', content: '' }),
    chunk(delta),
    chunk({}, finish),
    usageEvent(USED.input, USED.output),
    DONE,
  ];
  return eventStream(events.join(''));
}

function listOf(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value : [];
}

function nameOf(tool: Record<string, unknown>): unknown {
  const { function: declared } = tool;
  return typeof declared === 'object' && declared !== null ? Reflect.get(declared, 'name') : undefined;
}
