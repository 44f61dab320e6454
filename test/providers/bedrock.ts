import { encodeFrames } from '../../src/upstream/ai-sdk/testing/event-stream.ts';
import { bedrockModel, bedrockRefusal } from './bedrock-rules.ts';
import { signatureRefusal, type AwsAccess } from './aws-check.ts';
import type { AskedOfModel, ChatBill, ModelReply } from './model-reply.ts';
import {
  fieldsOf,
  listOf,
  OVERLOADED,
  StandIn,
  textOf,
  type ProviderWire,
  type Fields,
  type StandInCall,
} from './stand-in.ts';

/**
 * Amazon Bedrock's Converse over real HTTP, with the signature checked, as strict as its reference
 * (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html).
 */
export class StrictBedrock extends StandIn {
  readonly access = STRICT_AWS_ACCESS;

  constructor(deployments?: Readonly<Record<string, string>>) {
    super(WIRE, deployments);
  }
}

export const STRICT_AWS_ACCESS: AwsAccess = {
  accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
  secretAccessKey: 'secret-access-key-of-the-operator',
  region: 'eu-west-1',
};
const OPERATION = /^\/model\/([^/]+)\/(converse|converse-stream)$/;

const WIRE: ProviderWire = {
  path: '',
  reasoningTokens: 30,
  streamType: 'application/vnd.amazon.eventstream',
  model: (url) => decodeURIComponent(OPERATION.exec(url.pathname)?.[1] ?? ''),
  entrance: (call) =>
    signatureRefusal(call, STRICT_AWS_ACCESS) ??
    (OPERATION.test(call.url.pathname) && call.request.method === 'POST'
      ? undefined
      : { status: 404, message: 'UnknownOperationException' }),
  refusal: bedrockRefusal,
  asked,
  whole: (reply) => ({
    output: { message: { role: 'assistant', content: blocksOf(reply) } },
    stopReason: REASONS[reply.finish],
    usage: usageOf(reply.bill),
    metrics: { latencyMs: 1250 },
  }),
  stream: (reply) => eventsOf(reply).map((one) => encodeFrames(JSON.stringify(one))),
  error: ({ message }) => ({ message }),
  failed: (failure) =>
    failure === 401
      ? { status: 403, message: 'The security token included in the request is invalid.' }
      : undefined,
  errorEvent: encodeFrames(JSON.stringify({ modelStreamErrorException: { message: OVERLOADED } })),
};

function asked({ body, model, url }: StandInCall): AskedOfModel {
  const messages = listOf(body['messages']);
  const blocks = messages.flatMap(({ content }) => listOf(content));
  const { tools, toolChoice } = fieldsOf(body['toolConfig']);
  const forced = fieldsOf(fieldsOf(toolChoice)['tool'])['name'];
  const names = listOf(tools).map((tool) => textOf(fieldsOf(tool['toolSpec'])['name']));
  const cap = fieldsOf(body['inferenceConfig'])['maxTokens'];
  const thinking = fieldsOf(fieldsOf(body['additionalModelRequestFields'])['thinking']);
  return {
    model,
    stream: url.pathname.endsWith('/converse-stream'),
    cap: typeof cap === 'number' ? cap : undefined,
    tools: names.filter((name) => forced === undefined || forced === name),
    parallel: true,
    hasResults: listOf(messages.at(-1)?.['content']).at(-1)?.['toolResult'] !== undefined,
    pictures: blocks.filter(({ image }) => image !== undefined).length,
    json: false,
    thinks: bedrockModel(model)?.thinks === true && thinking['type'] === 'enabled',
    characters: blocks.map(({ text }) => textOf(text)).join('').length,
  };
}

const REASONS = { stop: 'end_turn', length: 'max_tokens', tool_calls: 'tool_use' };
const SIGNATURE = 'EqQBCgIYAhIM1gbcDa9G';

function blocksOf({ thought, words, calls }: ModelReply): Fields[] {
  return [
    ...(thought === undefined
      ? []
      : [{ reasoningContent: { reasoningText: { text: thought, signature: SIGNATURE } } }]),
    ...(words.length === 0 ? [] : [{ text: words.join('') }]),
    ...calls.map(({ id, name, input }) => ({
      toolUse: { toolUseId: id, name, input: JSON.parse(input) as Fields },
    })),
  ];
}

/** Cache reads are counted beside the input; reasoning is part of the output, and not told apart. */
function usageOf({ input, cached, output }: ChatBill): Fields {
  return {
    inputTokens: input - cached,
    outputTokens: output,
    totalTokens: input + output,
    cacheReadInputTokens: cached,
    cacheWriteInputTokens: 0,
  };
}

/** Every payload is padded with `p`, so that its length tells nothing. */
function eventsOf({ thought, words, calls, finish, bill }: ModelReply): Fields[] {
  const p = 'abcdefgh';
  const after = thought === undefined ? 0 : 1;
  const delta = (contentBlockIndex: number, piece: Fields) => ({
    contentBlockDelta: { contentBlockIndex, delta: piece, p },
  });
  const stop = (contentBlockIndex: number) => ({ contentBlockStop: { contentBlockIndex, p } });
  const thoughts =
    thought === undefined
      ? []
      : [
          delta(0, { reasoningContent: { text: thought } }),
          delta(0, { reasoningContent: { signature: SIGNATURE } }),
          stop(0),
        ];
  const texts = words.length === 0 ? [] : [...words.map((text) => delta(after, { text })), stop(after)];
  const uses = calls.flatMap(({ id, name, input }, index) => [
    {
      contentBlockStart: { contentBlockIndex: after + index, start: { toolUse: { toolUseId: id, name } }, p },
    },
    delta(after + index, { toolUse: { input: input.slice(0, 4) } }),
    delta(after + index, { toolUse: { input: input.slice(4) } }),
    stop(after + index),
  ]);
  return [
    { messageStart: { role: 'assistant', p } },
    ...thoughts,
    ...texts,
    ...uses,
    { messageStop: { stopReason: REASONS[finish], p } },
    { metadata: { usage: usageOf(bill), metrics: { latencyMs: 1250 }, p } },
  ];
}
