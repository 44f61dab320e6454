import OpenAI, { APIError } from 'openai';
import { runnerFunction, ResponsesToolRunner } from 'openai/helpers/responses-tool-runner';
import { zodFunction, zodResponseFormat, zodResponsesFunction, zodTextFormat } from 'openai/helpers/zod';
import type { ChatCompletionMessageParam } from 'openai/resources/chat/completions';
import type { Response, ResponseInput } from 'openai/resources/responses/responses';
import {
  dataUrl,
  kindOf,
  textField,
  type Client,
  type MakeClient,
  type Question,
  type Reply,
  type ReportedError,
  type Target,
  type Tool,
} from './client.ts';

export function openAi({ url, token, retries }: Target): OpenAI {
  return new OpenAI({
    baseURL: `${url}/v1`,
    apiKey: token,
    ...(retries === undefined ? {} : { maxRetries: retries }),
  });
}

/** The package `openai` on `/v1/chat/completions`. */
export const openAiChat: MakeClient = (target) => {
  const client = openAi(target);
  return {
    name: 'openai chat',
    path: '/v1/chat/completions',
    surface: surfaceOpenAi,
    async ask(question) {
      const body = { model: target.model, messages: chatMessages(question) };
      if (question.tool)
        return {
          ...NOTHING,
          text:
            (await client.chat.completions
              .runTools({ ...body, tools: [chatTool(question.tool)] })
              .finalContent()) ?? '',
        };
      const answer = await client.chat.completions.parse({ ...body, ...chatFormat(question) });
      const message = answer.choices[0]?.message;
      return {
        text: message?.content ?? '',
        thoughts: textField(message, 'reasoning_content') ?? '',
        usage: chatUsage(answer.usage),
        pieces: 1,
      };
    },
    async stream(question) {
      const body = { model: target.model, messages: chatMessages(question), stream: true as const };
      if (question.tool)
        return {
          ...NOTHING,
          text:
            (await client.chat.completions
              .runTools({ ...body, tools: [chatTool(question.tool)] })
              .finalContent()) ?? '',
        };
      const stream = client.chat.completions.stream({
        ...body,
        stream_options: { include_usage: true },
        ...chatFormat(question),
      });
      let thoughts = '';
      let pieces = 0;
      for await (const chunk of stream) {
        const delta = chunk.choices[0]?.delta;
        thoughts += textField(delta, 'reasoning_content') ?? '';
        if (delta?.content) pieces++;
      }
      return {
        text: (await stream.finalContent()) ?? '',
        thoughts,
        usage: chatUsage(await stream.totalUsage()),
        pieces,
      };
    },
  } satisfies Client;
};

/** The package `openai` on `/v1/responses`. */
export const openAiResponses: MakeClient = (target) => {
  const client = openAi(target);
  const bodyOf = (question: Question) => ({
    model: target.model,
    input: responsesInput(question),
    ...(question.schema ? { text: { format: zodTextFormat(question.schema, 'answer') } } : {}),
  });
  const runTools = async (question: Question, tool: Tool, stream: boolean): Promise<Reply> => {
    const declared = zodResponsesFunction({
      name: tool.name,
      description: tool.description,
      parameters: tool.input,
      function: (input) => tool.run(input),
    });
    const runner = new ResponsesToolRunner({ functions: [runnerFunction(declared)] });
    return replyOf(await runner.run(client, bodyOf(question), { stream }), 1);
  };
  return {
    name: 'openai responses',
    path: '/v1/responses',
    surface: surfaceOpenAi,
    async ask(question) {
      if (question.tool) return await runTools(question, question.tool, false);
      return replyOf(await client.responses.parse(bodyOf(question)), 1);
    },
    async stream(question) {
      if (question.tool) return await runTools(question, question.tool, true);
      const stream = client.responses.stream(bodyOf(question));
      let pieces = 0;
      for await (const event of stream) if (event.type === 'response.output_text.delta') pieces++;
      return replyOf(await stream.finalResponse(), pieces);
    },
  } satisfies Client;
};

export function surfaceOpenAi(thrown: unknown): ReportedError {
  const error = thrown instanceof APIError ? thrown : undefined;
  return {
    kind: kindOf(thrown),
    status: error?.status,
    code: error?.code ?? undefined,
    message: error?.message ?? String(thrown),
    requestId: error?.requestID ?? undefined,
  };
}

/** The error that this must end in. */
export async function refusal(work: Promise<unknown>): Promise<APIError> {
  const thrown: unknown = await work.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (thrown instanceof APIError) return thrown;
  throw new Error(`expected an APIError, got ${String(thrown)}`);
}

const NOTHING = { thoughts: '', usage: undefined, pieces: 1 };

function chatMessages({ prompt, image }: Question): ChatCompletionMessageParam[] {
  if (!image) return [{ role: 'user', content: prompt }];
  return [
    {
      role: 'user',
      content: [
        { type: 'text', text: prompt },
        { type: 'image_url', image_url: { url: dataUrl(image) } },
      ],
    },
  ];
}

function chatFormat({ schema }: Question) {
  return schema ? { response_format: zodResponseFormat(schema, 'answer') } : {};
}

function chatTool(tool: Tool) {
  return zodFunction({
    name: tool.name,
    description: tool.description,
    parameters: tool.input,
    function: (input) => tool.run(input),
  });
}

function chatUsage(usage: OpenAI.CompletionUsage | undefined): Reply['usage'] {
  return usage && { input: usage.prompt_tokens, output: usage.completion_tokens };
}

function responsesInput({ prompt, image }: Question): ResponseInput {
  const content = [
    { type: 'input_text' as const, text: prompt },
    ...(image ? [{ type: 'input_image' as const, image_url: dataUrl(image), detail: 'auto' as const }] : []),
  ];
  return [{ role: 'user', content }];
}

function replyOf(response: Response, pieces: number): Reply {
  const { usage } = response;
  const thoughts = response.output.flatMap((item) =>
    item.type === 'reasoning' ? item.summary.map(({ text }) => text) : [],
  );
  return {
    text: response.output_text,
    thoughts: thoughts.join(''),
    usage: usage && { input: usage.input_tokens, output: usage.output_tokens },
    pieces,
  };
}
