import { aiAnthropic, aiOpenAiChat, aiOpenAiCompatible, aiOpenAiResponses } from './ai-sdk-client.ts';
import { anthropicMessages } from './anthropic-client.ts';
import type { MakeClient } from './client.ts';
import { langChainChat, langChainResponses } from './langchain-client.ts';
import { openAiChat, openAiResponses } from './openai-client.ts';

/** Every package, and every dialect that it speaks. */
export const ALL_CLIENTS: readonly (readonly [name: string, make: MakeClient])[] = [
  ['openai chat', openAiChat],
  ['openai responses', openAiResponses],
  ['anthropic messages', anthropicMessages],
  ['ai + openai-compatible', aiOpenAiCompatible],
  ['ai + openai', aiOpenAiResponses],
  ['ai + openai.chat', aiOpenAiChat],
  ['ai + anthropic', aiAnthropic],
  ['langchain', langChainChat],
  ['langchain responses', langChainResponses],
];
