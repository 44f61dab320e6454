import { ChatOpenAI } from '@langchain/openai';
import { z } from 'zod';
import {
  dataUrl,
  field,
  textField,
  type Client,
  type MakeClient,
  type Question,
  type Reply,
  type Target,
  type Tool,
} from './client.ts';
import { surfaceOpenAi } from './openai-client.ts';

/** The package `@langchain/openai`, on either of OpenAI's two APIs. */
export const langChainChat: MakeClient = (target) => langChain('langchain', '/v1/chat/completions', target);
export const langChainResponses: MakeClient = (target) =>
  langChain('langchain responses', '/v1/responses', target);

export function chatOpenAi({ url, token, model, retries }: Target, useResponsesApi = false): ChatOpenAI {
  return new ChatOpenAI({
    model,
    apiKey: token,
    configuration: { baseURL: `${url}/v1` },
    useResponsesApi,
    ...(retries === undefined ? {} : { maxRetries: retries }),
  });
}

function langChain(name: string, path: Client['path'], target: Target): Client {
  const model = chatOpenAi(target, path === '/v1/responses');
  return {
    name,
    path,
    surface: surfaceOpenAi,
    async ask(question) {
      if (question.tool)
        return await runTools(model, question, question.tool, (bound, messages) => bound.invoke(messages));
      if (question.schema)
        return structured(
          await model
            .withStructuredOutput(question.schema, { method: 'jsonSchema' })
            .invoke(messagesOf(question)),
        );
      return replyOf(await model.invoke(messagesOf(question)), 1);
    },
    async stream(question) {
      if (question.tool) return await runTools(model, question, question.tool, collect);
      if (question.schema) {
        let last: unknown;
        for await (const part of await model
          .withStructuredOutput(question.schema, { method: 'jsonSchema' })
          .stream(messagesOf(question)))
          last = part;
        return structured(last);
      }
      let pieces = 0;
      const message = await collect(model, messagesOf(question), () => pieces++);
      return replyOf(message, pieces);
    },
  };
}

type Messages = Parameters<ChatOpenAI['invoke']>[0] & readonly unknown[];
type Bound = Pick<ChatOpenAI, 'invoke' | 'stream'>;
type Answer = Awaited<ReturnType<ChatOpenAI['invoke']>>;

/** LangChain leaves the loop to the program. */
async function runTools(
  model: ChatOpenAI,
  question: Question,
  tool: Tool,
  turn: (bound: Bound, messages: Messages) => Promise<Answer>,
): Promise<Reply> {
  const { name, description, input } = tool;
  const bound = model.bindTools([
    { type: 'function', function: { name, description, parameters: z.toJSONSchema(input) } },
  ]);
  const messages: unknown[] = [...messagesOf(question)];
  for (let step = 0; step < 4; step++) {
    const answer = await turn(bound, messages as Messages);
    if (!answer.tool_calls?.length) return replyOf(answer, 1);
    const results = answer.tool_calls.map((call) => ({
      role: 'tool',
      tool_call_id: call.id ?? '',
      content: tool.run(call.args),
    }));
    messages.push(answer, ...results);
  }
  throw new Error('the model did not stop calling tools');
}

async function collect(
  model: Bound,
  messages: Messages,
  onText: () => void = () => undefined,
): Promise<Answer> {
  let whole: Answer | undefined;
  for await (const chunk of await model.stream(messages)) {
    if (chunk.text !== '') onText();
    whole = whole ? whole.concat(chunk) : chunk;
  }
  if (!whole) throw new Error('the stream was empty');
  return whole;
}

function messagesOf({ prompt, image }: Question): Messages {
  if (!image) return [{ role: 'user', content: prompt }] as Messages;
  const content = [
    { type: 'text', text: prompt },
    { type: 'image_url', image_url: { url: dataUrl(image) } },
  ];
  return [{ role: 'user', content }] as Messages;
}

function structured(value: unknown): Reply {
  return { text: JSON.stringify(value), thoughts: '', usage: undefined, pieces: 1 };
}

function replyOf(message: Answer, pieces: number): Reply {
  // The type of this field is lost on the way through the package's generics.
  const usage: unknown = message.usage_metadata;
  const [input, output] = [field(usage, 'input_tokens'), field(usage, 'output_tokens')];
  const thoughts =
    textField(message.additional_kwargs, 'reasoning_content') ??
    summaryOf(message.additional_kwargs['reasoning']);
  return {
    text: message.text,
    thoughts,
    usage: typeof input === 'number' && typeof output === 'number' ? { input, output } : undefined,
    pieces,
  };
}

/** On the Responses API thoughts come as a list of summaries. */
function summaryOf(reasoning: unknown): string {
  const summary =
    typeof reasoning === 'object' && reasoning !== null && 'summary' in reasoning ? reasoning.summary : [];
  return Array.isArray(summary) ? summary.map((part) => textField(part, 'text') ?? '').join('') : '';
}
