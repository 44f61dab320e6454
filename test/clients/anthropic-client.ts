import Anthropic from '@anthropic-ai/sdk';
import { betaZodTool } from '@anthropic-ai/sdk/helpers/beta/zod';
import { zodOutputFormat } from '@anthropic-ai/sdk/helpers/zod';
import {
  kindOf,
  type Client,
  type MakeClient,
  type Question,
  type Reply,
  type Target,
  type Tool,
} from './client.ts';

const MAX_TOKENS = 1_024;

export function anthropic({ url, token, retries }: Target): Anthropic {
  return new Anthropic({
    baseURL: url,
    apiKey: token,
    ...(retries === undefined ? {} : { maxRetries: retries }),
  });
}

/** The package `@anthropic-ai/sdk` on `/v1/messages`. */
export const anthropicMessages: MakeClient = (target) => {
  const client = anthropic(target);
  const bodyOf = (question: Question) => ({
    model: target.model,
    max_tokens: MAX_TOKENS,
    messages: [{ role: 'user' as const, content: contentOf(question) }],
    ...(question.schema ? { output_config: { format: zodOutputFormat(question.schema) } } : {}),
  });
  const runTools = async (question: Question, tool: Tool, stream: boolean): Promise<Reply> => {
    const runnable = betaZodTool({
      name: tool.name,
      description: tool.description,
      inputSchema: tool.input,
      run: (input) => tool.run(input),
    });
    const runner = client.beta.messages.toolRunner({
      model: target.model,
      max_tokens: MAX_TOKENS,
      messages: [{ role: 'user', content: question.prompt }],
      tools: [runnable],
      stream,
    });
    return replyOf(await runner.runUntilDone(), 1);
  };
  return {
    name: 'anthropic messages',
    path: '/v1/messages',
    async ask(question) {
      if (question.tool) return await runTools(question, question.tool, false);
      return replyOf(await client.messages.parse(bodyOf(question)), 1);
    },
    async stream(question) {
      if (question.tool) return await runTools(question, question.tool, true);
      const stream = client.messages.stream(bodyOf(question));
      let pieces = 0;
      stream.on('text', () => pieces++);
      return replyOf(await stream.finalMessage(), pieces);
    },
    surface(thrown) {
      const error = thrown instanceof Anthropic.APIError ? thrown : undefined;
      return {
        kind: kindOf(thrown),
        status: error?.status,
        code: error?.errorCode ?? undefined,
        message: error?.apiMessage ?? error?.message ?? String(thrown),
        requestId: error?.requestID ?? undefined,
      };
    },
  } satisfies Client;
};

function contentOf({ prompt, image }: Question): Anthropic.ContentBlockParam[] {
  const text = { type: 'text' as const, text: prompt };
  if (!image) return [text];
  const data = Buffer.from(image).toString('base64');
  return [text, { type: 'image', source: { type: 'base64', media_type: 'image/png', data } }];
}

interface AnyMessage {
  readonly content: readonly { readonly type: string }[];
  readonly usage: { readonly input_tokens: number; readonly output_tokens: number };
}

function replyOf({ content, usage }: AnyMessage, pieces: number): Reply {
  const join = (type: string, key: string): string =>
    content.flatMap((block) => (block.type === type ? [String(Reflect.get(block, key))] : [])).join('');
  return {
    text: join('text', 'text'),
    thoughts: join('thinking', 'thinking'),
    usage: { input: usage.input_tokens, output: usage.output_tokens },
    pieces,
  };
}
