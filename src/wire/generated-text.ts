/**
 * All text that a model wrote into a delta or a message, and that somebody pays for. Backends are not held to the types
 * here: what has another shape counts for nothing, and never throws.
 */
export function generatedText(message: unknown): string {
  if (!isObject(message)) return '';
  const { content, refusal, audio, tool_calls, function_call } = message;
  let text = contentText(content) + reasoningText(message);
  if (typeof refusal === 'string') text += refusal;
  if (isObject(audio)) text += stringOf(audio.transcript);
  if (Array.isArray(tool_calls)) for (const call of tool_calls) text += toolCallText(call);
  if (function_call !== undefined) text += calledText(function_call);
  return text;
}

/** Names that backends give the text of their reasoning. Some send the same text under two of them: it counts once. */
const REASONING_NAMES = ['reasoning_content', 'reasoning', 'reasoning_text', 'thinking'] as const;

function reasoningText(message: Record<string, unknown>): string {
  let longest = '';
  for (const name of REASONING_NAMES) {
    const text = message[name];
    if (typeof text === 'string' && text.length > longest.length) longest = text;
  }
  for (const name of ['reasoning_details', 'thinking_blocks']) {
    if (!Array.isArray(message[name])) continue;
    const text = message[name].map(partText).join('');
    if (text.length > longest.length) longest = text;
  }
  return longest;
}

/** Text, or parts of text and of thinking, as some backends write an answer. */
function contentText(content: unknown): string {
  if (typeof content === 'string') return content;
  return Array.isArray(content) ? content.map(partText).join('') : '';
}

function partText(part: unknown): string {
  if (!isObject(part)) return '';
  const { text, summary, thinking } = part;
  const thought = Array.isArray(thinking) ? thinking.map(partText).join('') : stringOf(thinking);
  return stringOf(text) + stringOf(summary) + thought;
}

function toolCallText(call: unknown): string {
  return isObject(call) ? calledText(call.function) + calledText(call.custom) : '';
}

/** Arguments are JSON text, but some backends send the object itself. */
function calledText(called: unknown): string {
  if (!isObject(called)) return '';
  const { name, arguments: given, input } = called;
  return stringOf(name) + (isObject(given) ? JSON.stringify(given) : stringOf(given)) + stringOf(input);
}

function stringOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
