import {
  fieldsOf,
  listOf,
  textOf,
  unknownField,
  type Fields,
  type Refusal,
  type StandInCall,
} from './stand-in.ts';

interface BedrockModel {
  readonly maxOutput: number;
  readonly thinks?: true;
}

const MODELS: Readonly<Record<string, BedrockModel>> = {
  'anthropic.claude-sonnet-4-20250514-v1:0': { maxOutput: 64_000, thinks: true },
  'anthropic.claude-3-5-haiku-20241022-v1:0': { maxOutput: 8_192 },
};

export function bedrockModel(name: string): BedrockModel | undefined {
  return MODELS[name];
}

const FIELDS = [
  'messages system inferenceConfig toolConfig guardrailConfig additionalModelRequestFields promptVariables',
  'additionalModelResponseFieldPaths requestMetadata performanceConfig serviceTier outputConfig',
];
const BLOCKS = [
  'text image document video audio toolUse toolResult guardContent cachePoint reasoningContent citationsContent searchResult',
  'toolAddition toolRemoval',
];

/**
 * Why a request is refused; undefined when it is not. Fields, ranges and patterns are those of `ConverseRequest` in
 * botocore/data/bedrock-runtime/2023-09-30/service-2.json (https://github.com/boto/botocore, 0e6e240). The limits of
 * models, and what goes with thinking, are from general knowledge of the reference, and unverified.
 */
export function bedrockRefusal({ body, model: name }: StandInCall): Refusal | undefined {
  const model = MODELS[name];
  if (!model) return bad('The provided model identifier is invalid.');
  return (
    unknownIn(body, FIELDS, '') ??
    unknownIn(body['inferenceConfig'], ['maxTokens temperature topP stopSequences'], 'inferenceConfig') ??
    unknownIn(
      body['additionalModelRequestFields'],
      ['thinking anthropic_beta top_k output_config'],
      'additionalModelRequestFields',
    ) ??
    messagesRefusal(body) ??
    limitsRefusal(body, model) ??
    toolsRefusal(body)
  );
}

/** Words from https://github.com/BerriAI/litellm/issues/13825 for what it hands to the model. */
function unknownIn(value: unknown, known: readonly string[], at: string): Refusal | undefined {
  const field = unknownField(value, known);
  if (field === undefined) return undefined;
  return at === 'additionalModelRequestFields'
    ? bad(`The model returned the following errors: ${field}: Extra inputs are not permitted`)
    : bad(`Malformed input request: #${at && `/${at}`}: extraneous key [${field}] is not permitted`);
}

/**
 * Words from https://github.com/langgenius/dify/issues/17545 (toolConfig) and
 * https://github.com/aws-samples/sample-multi-agent-orchestration-chat-on-agentcore/issues/15 (empty results).
 */
function messagesRefusal({ messages, toolConfig }: Fields): Refusal | undefined {
  const all = listOf(messages);
  if (all[0]?.['role'] !== 'user') return bad('A conversation must start with a user message.');
  let before = '';
  for (const [index, { role, content }] of all.entries()) {
    if (role === before) return bad('A conversation must alternate between user and assistant roles.');
    before = textOf(role);
    for (const [place, block] of listOf(content).entries()) {
      const refusal = blockRefusal(block, `messages.${index}.content.${place}`, toolConfig);
      if (refusal) return refusal;
    }
  }
  return undefined;
}

function blockRefusal(block: Fields, at: string, toolConfig: unknown): Refusal | undefined {
  const unknown = unknownIn(block, BLOCKS, at);
  if (unknown) return unknown;
  if (block['text'] !== undefined && textOf(block['text']).trim() === '')
    return bad(
      `The text field in the ContentBlock object at ${at} is blank. Add text to the text field, and try again.`,
    );
  if ((block['toolUse'] ?? block['toolResult']) !== undefined && toolConfig === undefined)
    return bad('The toolConfig field must be defined when using toolUse and toolResult content blocks.');
  const { status, content } = fieldsOf(block['toolResult']);
  if (status === 'error' && listOf(content).length === 0)
    return bad(`The content field at ${at}.toolResult cannot be empty when status value is error.`);
  const format = fieldsOf(block['image'])['format'];
  return format === undefined || ['png', 'jpeg', 'gif', 'webp'].includes(textOf(format))
    ? undefined
    : bad(`The format field at ${at}.image is not one of png, jpeg, gif, webp.`);
}

function limitsRefusal(
  { inferenceConfig, additionalModelRequestFields }: Fields,
  model: BedrockModel,
): Refusal | undefined {
  const { maxTokens, temperature, topP, stopSequences } = fieldsOf(inferenceConfig);
  for (const [field, value] of Object.entries({ temperature, topP }))
    if (value !== undefined && (Number(value) < 0 || Number(value) > 1))
      return bad(`1 validation error detected: Value at 'inferenceConfig.${field}' must be between 0 and 1`);
  if (Array.isArray(stopSequences) && stopSequences.some((one) => one === ''))
    return bad(
      "1 validation error detected: Value at 'inferenceConfig.stopSequences' must have length of at least 1",
    );
  if (maxTokens !== undefined && (Number(maxTokens) < 1 || Number(maxTokens) > model.maxOutput))
    return bad(`The maximum tokens you requested exceeds the model limit of ${model.maxOutput}.`);
  const { type, budget_tokens } = fieldsOf(fieldsOf(additionalModelRequestFields)['thinking']);
  if (type === undefined || type === 'disabled') return undefined;
  const says = (words: string) => bad(`The model returned the following errors: ${words}`);
  if (!model.thinks) return says('thinking: Extended thinking is not supported for this model');
  if (Number(budget_tokens) < 1024)
    return says('thinking.enabled.budget_tokens: Input should be greater than or equal to 1024');
  if (Number(budget_tokens) >= Number(maxTokens))
    return says('`max_tokens` must be greater than `thinking.budget_tokens`.');
  return temperature === undefined || temperature === 1
    ? undefined
    : says('`temperature` may only be set to 1 when thinking is enabled.');
}

function toolsRefusal({ toolConfig }: Fields): Refusal | undefined {
  if (toolConfig === undefined) return undefined;
  const unknown = unknownIn(toolConfig, ['tools toolChoice'], 'toolConfig');
  if (unknown) return unknown;
  const tools = listOf(fieldsOf(toolConfig)['tools']);
  if (tools.length === 0)
    return bad('1 validation error detected: toolConfig.tools must have length greater than or equal to 1');
  for (const tool of tools) {
    const foreign =
      unknownIn(tool, ['toolSpec cachePoint systemTool'], 'toolConfig/tools') ??
      unknownIn(tool['toolSpec'], ['name description inputSchema strict'], 'toolConfig/tools/toolSpec');
    if (foreign) return foreign;
    const { name, description } = fieldsOf(tool['toolSpec']);
    if (tool['toolSpec'] !== undefined && !/^[a-zA-Z0-9_-]{1,64}$/.test(textOf(name)))
      return bad('1 validation error detected: toolSpec.name failed to satisfy constraint');
    if (description === '')
      return bad(
        '1 validation error detected: toolSpec.description must have length greater than or equal to 1',
      );
  }
  return undefined;
}

function bad(message: string): Refusal {
  return { status: 400, message };
}
