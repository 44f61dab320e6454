import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import {
  APICallError,
  generateText,
  Output,
  RetryError,
  stepCountIs,
  streamText,
  tool,
  type LanguageModel,
  type ModelMessage,
} from 'ai';
import {
  kindOf,
  textField,
  type Client,
  type MakeClient,
  type Question,
  type Reply,
  type ReportedError,
  type Target,
} from './client.ts';

// It would warn at every call that it does not know our models.
globalThis.AI_SDK_LOG_WARNINGS = false;

/** The package `ai` with each of the three providers that can be pointed here. */
export const aiOpenAiCompatible: MakeClient = (target) => {
  const provider = createOpenAICompatible({
    name: 'tollgate',
    baseURL: `${target.url}/v1`,
    apiKey: target.token,
    includeUsage: true,
    supportsStructuredOutputs: true,
  });
  return aiClient('ai + openai-compatible', '/v1/chat/completions', provider(target.model), target);
};

export const aiOpenAiResponses: MakeClient = (target) => {
  const provider = createOpenAI({ baseURL: `${target.url}/v1`, apiKey: target.token });
  return aiClient('ai + openai', '/v1/responses', provider(target.model), target);
};

export const aiOpenAiChat: MakeClient = (target) => {
  const provider = createOpenAI({ baseURL: `${target.url}/v1`, apiKey: target.token });
  return aiClient('ai + openai.chat', '/v1/chat/completions', provider.chat(target.model), target);
};

export const aiAnthropic: MakeClient = (target) => {
  const provider = createAnthropic({ baseURL: `${target.url}/v1`, apiKey: target.token });
  return aiClient('ai + anthropic', '/v1/messages', provider(target.model), target);
};

function aiClient(name: string, path: Client['path'], model: LanguageModel, { retries }: Target): Client {
  const settings = (question: Question) => ({
    model,
    messages: messagesOf(question),
    ...(retries === undefined ? {} : { maxRetries: retries }),
    // Tollgate keeps no answers that a later request could refer to.
    providerOptions: { openai: { store: false } },
    ...(question.schema ? { output: Output.object({ schema: question.schema }) } : {}),
    ...(question.tool ? { tools: toolsOf(question.tool), stopWhen: stepCountIs(4) } : {}),
  });
  return {
    name,
    path,
    surface: surfaceAi,
    async ask(question) {
      const { text, reasoningText, totalUsage } = await generateText(settings(question));
      return replyOf(text, reasoningText, totalUsage, 1);
    },
    async stream(question) {
      const failures: unknown[] = [];
      const result = streamText({ ...settings(question), onError: ({ error }) => void failures.push(error) });
      let pieces = 0;
      for await (const _ of result.textStream) pieces++;
      if (failures.length > 0) throw failures[0];
      return replyOf(await result.text, await result.reasoningText, await result.totalUsage, pieces);
    },
  };
}

/** After the last retry the reason is inside; before, it is the error itself. */
export function surfaceAi(thrown: unknown): ReportedError {
  const error = RetryError.isInstance(thrown) ? thrown.lastError : thrown;
  const call = APICallError.isInstance(error) ? error : undefined;
  const body = call?.data ?? error;
  return {
    kind: kindOf(error),
    status: call?.statusCode,
    code:
      textField(body, 'error', 'code') ??
      textField(body, 'error', 'details', 'error_code') ??
      textField(body, 'code'),
    message:
      error instanceof Error
        ? error.message
        : (textField(body, 'error', 'message') ?? textField(body, 'message') ?? String(error)),
    requestId: call?.responseHeaders?.['x-request-id'],
  };
}

function messagesOf({ prompt, image }: Question): ModelMessage[] {
  if (!image) return [{ role: 'user', content: prompt }];
  return [
    {
      role: 'user',
      content: [
        { type: 'text', text: prompt },
        { type: 'image', image, mediaType: 'image/png' },
      ],
    },
  ];
}

function toolsOf({ name, description, input, run }: NonNullable<Question['tool']>) {
  return { [name]: tool({ description, inputSchema: input, execute: async (given) => run(given) }) };
}

function replyOf(
  text: string,
  thoughts: string | undefined,
  usage: { inputTokens: number | undefined; outputTokens: number | undefined },
  pieces: number,
): Reply {
  const { inputTokens, outputTokens } = usage;
  const counted = inputTokens !== undefined && outputTokens !== undefined;
  return {
    text,
    thoughts: thoughts ?? '',
    usage: counted ? { input: inputTokens, output: outputTokens } : undefined,
    pieces,
  };
}
