import {
  fieldsOf,
  listOf,
  textOf,
  unknownField,
  type Fields,
  type Refusal,
  type StandInCall,
} from './stand-in.ts';

interface ClaudeModel {
  readonly maxOutput: number;
  readonly thinks: boolean;
}

const MODELS: Readonly<Record<string, ClaudeModel>> = {
  'claude-sonnet-4-5': { maxOutput: 64_000, thinks: true },
  'claude-3-5-haiku-20241022': { maxOutput: 8_192, thinks: false },
};

export function anthropicModel(name: string): ClaudeModel | undefined {
  return MODELS[name];
}

const FIELDS = [
  'model messages max_tokens system temperature top_p top_k stop_sequences stream metadata tools tool_choice thinking',
  'service_tier container output_config cache_control inference_geo',
];
const BLOCK_FIELDS: Readonly<Record<string, string>> = {
  text: 'type text cache_control citations',
  image: 'type source cache_control',
  document: 'type source title context citations cache_control',
  thinking: 'type thinking signature',
  redacted_thinking: 'type data',
  tool_use: 'type id name input cache_control caller',
  tool_result: 'type tool_use_id content is_error cache_control',
};
const TOOL_FIELDS = [
  'type name description input_schema cache_control strict input_examples eager_input_streaming allowed_callers defer_loading',
];

/**
 * Why a request is refused; undefined when it is not. The fields are those of `MessageCreateParams` in
 * src/anthropic/types/message_create_params.py (https://github.com/anthropics/anthropic-sdk-python, 009b035). Rules and
 * limits whose words have no link to an issue or page are from general knowledge of the reference, and unverified.
 */
export function anthropicRefusal({ body, model: name, request }: StandInCall): Refusal | undefined {
  const unknown = unknownField(body, FIELDS);
  if (unknown !== undefined) return bad(`${unknown}: Extra inputs are not permitted`);
  const model = MODELS[name];
  if (!model) return { status: 404, message: `model: ${name}` };
  return (
    (request.headers.get('anthropic-version') === '2026-10-21' ? newVersionRefusal(body) : undefined) ??
    capRefusal(body, model, name) ??
    samplingRefusal(body) ??
    thinkingRefusal(body, model) ??
    messagesRefusal(listOf(body['messages'])) ??
    toolsRefusal(body) ??
    formatRefusal(body)
  );
}

export const ANTHROPIC_VERSIONS = ['2023-06-01', '2026-10-21'];

/** What the second version no longer takes (https://platform.claude.com/docs/en/api/versioning); the words are our own. */
function newVersionRefusal(body: Fields): Refusal | undefined {
  const gone = ['temperature', 'top_p', 'top_k'].find((field) => body[field] !== undefined);
  if (gone !== undefined) return bad(`${gone}: not supported by this version of the API`);
  for (const { role, content } of listOf(body['messages'])) {
    if (role === 'assistant' && listOf(content).some(({ type }) => type === 'document'))
      return bad('messages: a document block is not allowed in an assistant message');
    if (
      role === 'user' &&
      listOf(content).some((block) => block['type'] === 'text' && listOf(block['citations']).length > 0)
    )
      return bad('messages: citations are not allowed in a user message');
  }
  return undefined;
}

/** Words from https://github.com/ChatGPTNextWeb/NextChat/issues/4964. */
function capRefusal(
  { max_tokens: cap }: Fields,
  { maxOutput }: ClaudeModel,
  name: string,
): Refusal | undefined {
  if (cap === undefined) return bad('max_tokens: Field required');
  if (!Number.isInteger(cap) || Number(cap) < 1) return bad('max_tokens: must be greater than or equal to 1');
  if (Number(cap) <= maxOutput) return undefined;
  return bad(
    `max_tokens: ${Number(cap)} > ${maxOutput}, which is the maximum allowed number of output tokens for ${name}`,
  );
}

function samplingRefusal({ temperature, top_p, stop_sequences }: Fields): Refusal | undefined {
  if (temperature !== undefined && (Number(temperature) < 0 || Number(temperature) > 1))
    return bad('temperature: range: 0..1');
  if (temperature !== undefined && top_p !== undefined)
    return bad('`temperature` and `top_p` cannot both be specified for this model. Please use only one.');
  const isBlank = (text: unknown) => textOf(text).trim() === '';
  return Array.isArray(stop_sequences) && stop_sequences.some(isBlank)
    ? bad('stop_sequences: each stop sequence must contain non-whitespace')
    : undefined;
}

/** https://platform.claude.com/docs/en/build-with-claude/extended-thinking, "Feature compatibility". */
function thinkingRefusal(
  { thinking, max_tokens, temperature, tool_choice }: Fields,
  model: ClaudeModel,
): Refusal | undefined {
  const { type, budget_tokens } = fieldsOf(thinking);
  if (type === undefined || type === 'disabled') return undefined;
  if (!model.thinks) return bad('thinking: Extended thinking is not supported for this model');
  if (type === 'adaptive') return bad('adaptive thinking is not supported on this model');
  if (!Number.isInteger(budget_tokens) || Number(budget_tokens) < 1024)
    return bad('thinking.enabled.budget_tokens: Input should be greater than or equal to 1024');
  if (Number(budget_tokens) >= Number(max_tokens))
    return bad('`max_tokens` must be greater than `thinking.budget_tokens`.');
  if (temperature !== undefined && temperature !== 1)
    return bad('`temperature` may only be set to 1 when thinking is enabled.');
  return ['any', 'tool'].includes(textOf(fieldsOf(tool_choice)['type']))
    ? bad('Thinking may not be enabled when tool_choice forces tool use.')
    : undefined;
}

function messagesRefusal(messages: readonly Fields[]): Refusal | undefined {
  if (messages.length === 0) return bad('messages: at least one message is required');
  for (const [index, { role, content }] of messages.entries()) {
    const at = `messages.${index}`;
    if (role !== 'user' && role !== 'assistant')
      return bad(`${at}: Unexpected role "${textOf(role)}". Allowed roles are "user" or "assistant".`);
    const refusal = typeof content === 'string' ? undefined : blocksRefusal(listOf(content), at);
    if (refusal) return refusal;
    const missing = unansweredCall(listOf(content), listOf(messages[index + 1]?.['content']));
    if (missing !== undefined && index + 1 < messages.length)
      return bad(
        `${at}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${missing}.`,
      );
  }
  return undefined;
}

function blocksRefusal(blocks: readonly Fields[], at: string): Refusal | undefined {
  if (blocks.length === 0) return bad(`${at}: all messages must have non-empty content`);
  for (const [index, block] of blocks.entries()) {
    const type = textOf(block['type']);
    const known = BLOCK_FIELDS[type];
    if (known === undefined)
      return bad(`${at}.content.${index}: Input tag '${type}' found using 'type' is not known`);
    const unknown = unknownField(block, [known]);
    if (unknown !== undefined)
      return bad(`${at}.content.${index}.${type}.${unknown}: Extra inputs are not permitted`);
    if (type === 'text' && textOf(block['text']) === '')
      return bad(`messages: text content blocks must be non-empty`);
    const source = fieldsOf(block['source']);
    if (
      type === 'image' &&
      source['type'] === 'base64' &&
      !/^image\/(?:png|jpeg|gif|webp)$/.test(textOf(source['media_type']))
    )
      return bad(`${at}.content.${index}.image.source.base64.media_type: not an image type`);
  }
  return undefined;
}

function unansweredCall(blocks: readonly Fields[], next: readonly Fields[]): string | undefined {
  const answered = new Set(next.map(({ tool_use_id }) => tool_use_id));
  const call = blocks.find(({ type, id }) => type === 'tool_use' && !answered.has(id));
  return call && textOf(call['id']);
}

function toolsRefusal({ tools, tool_choice }: Fields): Refusal | undefined {
  if (tool_choice !== undefined && tools === undefined)
    return bad('tool_choice: may only be specified while providing tools');
  for (const [index, tool] of listOf(tools).entries()) {
    const unknown = unknownField(tool, TOOL_FIELDS);
    if (unknown !== undefined) return bad(`tools.${index}.custom.${unknown}: Extra inputs are not permitted`);
    if (!/^[a-zA-Z0-9_-]{1,128}$/.test(textOf(tool['name'])))
      return bad(`tools.${index}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`);
    if (fieldsOf(tool['input_schema'])['type'] !== 'object')
      return bad(`tools.${index}.custom.input_schema.type: Input should be 'object'`);
  }
  return undefined;
}

/** https://platform.claude.com/docs/en/build-with-claude/structured-outputs, "JSON schema limitations". */
function formatRefusal({ output_config }: Fields): Refusal | undefined {
  const unknown = unknownField(output_config, ['format effort task_budget']);
  if (unknown !== undefined) return bad(`output_config.${unknown}: Extra inputs are not permitted`);
  const format = fieldsOf(output_config)['format'];
  if (format === undefined) return undefined;
  const { type, schema } = fieldsOf(format);
  if (type !== 'json_schema') return bad(`output_config.format.type: Input should be 'json_schema'`);
  return fieldsOf(schema)['additionalProperties'] === false
    ? undefined
    : bad(
        "output_config.format.schema: For 'object' type, 'additionalProperties' must be explicitly set to false",
      );
}

function bad(message: string): Refusal {
  return { status: 400, message };
}
