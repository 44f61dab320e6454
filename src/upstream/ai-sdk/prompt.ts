import type { JSONObject, LanguageModelV4Message, LanguageModelV4Prompt } from '@ai-sdk/provider';
import type { ChatMessage } from '../../wire/openai/chat.ts';
import { cacheControlOptions, type CacheControlOptions, type Provider } from './provider.ts';
import { rejected } from '../response.ts';
import { isObject, parseObject } from './json.ts';
import { contentText, toolOutput, userParts } from './parts.ts';

/** The conversation in the AI SDK's format: one small function per role. */
export function toPrompt(
  messages: readonly ChatMessage[],
  provider: Provider,
  hasTools = true,
): LanguageModelV4Prompt {
  const toolsAsText = provider.toolHistoryNeedsTools === true && !hasTools;
  const talk: PromptState = { provider, toolsAsText, toolNames: new Map(), functionCalls: 0, prompt: [] };
  for (const message of messages) ROLE_CONVERTERS[message.role](message, talk);
  return talk.prompt;
}

interface PromptState {
  readonly provider: Provider;
  readonly toolsAsText: boolean;
  /** Tool results name only the call; backends also require the tool's name. */
  readonly toolNames: Map<string, string>;
  /** Calls of `functions` have no ids; a result belongs to the last one. */
  functionCalls: number;
  readonly prompt: LanguageModelV4Message[];
}

const ROLE_CONVERTERS: Record<ChatMessage['role'], (message: ChatMessage, talk: PromptState) => void> = {
  system,
  developer: system,
  user,
  assistant,
  tool,
  function: (message, talk) => tool({ ...message, tool_call_id: functionCallId(talk) }, talk),
};

function functionCallId({ functionCalls }: PromptState): string {
  return `function_call_${functionCalls}`;
}

function system(message: ChatMessage, { provider, prompt }: PromptState): void {
  const late = prompt.some(({ role }) => role !== 'system');
  for (const block of systemBlocks(message, provider)) {
    if (late && provider.lateSystem === 'as_user') {
      prompt.push({ role: 'user', content: [{ type: 'text', text: block.text }], ...block.options });
    } else {
      prompt.push({ role: 'system', content: block.text, ...block.options });
    }
  }
}

/** Blocks stay separate only if one of them has a cache mark, because the mark belongs to its block. */
function systemBlocks(
  message: ChatMessage,
  provider: Provider,
): { text: string; options: CacheControlOptions }[] {
  const { content } = message;
  const whole = { text: contentText(content, '\n'), options: cacheControlOptions(message, provider) };
  if (
    !Array.isArray(content) ||
    !provider.cacheOptions ||
    !content.some((part) => isObject(part.cache_control))
  )
    return [whole];
  return content.map((part) => ({
    text: contentText([part], ''),
    options: cacheControlOptions(part, provider),
  }));
}

function user(message: ChatMessage, { provider, prompt }: PromptState): void {
  prompt.push({
    role: 'user',
    content: userParts(message.content, provider),
    ...cacheControlOptions(message, provider),
  });
}

type AssistantContent = Extract<LanguageModelV4Message, { role: 'assistant' }>['content'];

function assistant(message: ChatMessage, talk: PromptState): void {
  const { provider, prompt, toolNames } = talk;
  const content: AssistantContent = [];
  const text = contentText(message.content, '') || (message.refusal ?? '');
  if (text !== '') content.push({ type: 'text', text });
  for (const call of callsOf(message, talk)) {
    if (!call.function)
      throw rejected(`This model takes tool calls of type 'function' only, not '${call.type}'.`);
    toolNames.set(call.id, call.function.name);
    const { name, arguments: input } = call.function;
    content.push(
      talk.toolsAsText
        ? { type: 'text', text: `Called ${name} with ${input.trim() === '' ? '{}' : input}.` }
        : { type: 'tool-call', toolCallId: call.id, toolName: name, input: toolInput(input) },
    );
  }
  // Backends refuse an empty turn, but clients keep empty answers in their history.
  if (content.length > 0)
    prompt.push({ role: 'assistant', content, ...cacheControlOptions(message, provider) });
}

function callsOf({ tool_calls, function_call }: ChatMessage, talk: PromptState) {
  if (!function_call) return tool_calls ?? [];
  talk.functionCalls++;
  return [...(tool_calls ?? []), { id: functionCallId(talk), type: 'function', function: function_call }];
}

function toolInput(text: string): JSONObject {
  const input = text.trim() === '' ? {} : parseObject(text);
  if (!input) throw rejected('The arguments of a tool call in messages are not a JSON object.');
  return input;
}

type ToolContent = Extract<LanguageModelV4Message, { role: 'tool' }>['content'];

/** Results of parallel calls arrive one by one and belong in one turn. */
function tool(message: ChatMessage, talk: PromptState): void {
  const { provider, prompt, toolNames } = talk;
  const toolCallId = message.tool_call_id ?? '';
  if (toolCallId === '') throw rejected('A message of role tool needs tool_call_id.');
  const toolName = toolNames.get(toolCallId) ?? message.name ?? 'unknown';
  if (talk.toolsAsText) return toolText(message, toolName, talk);
  const output = toolOutput(message.content, provider);
  const result: ToolContent[number] = {
    type: 'tool-result',
    toolCallId,
    toolName,
    output,
    ...cacheControlOptions(message, provider),
  };
  const last = prompt.at(-1);
  if (last?.role === 'tool') last.content.push(result);
  else prompt.push({ role: 'tool', content: [result] });
}

function toolText({ content }: ChatMessage, toolName: string, { prompt }: PromptState): void {
  const text = `Result of ${toolName}: ${contentText(content, '\n')}`;
  prompt.push({ role: 'user', content: [{ type: 'text', text }] });
}
