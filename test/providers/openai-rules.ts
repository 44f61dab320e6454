import { fieldsOf, listOf, textOf, type Fields, type Refusal } from './stand-in.ts';

/**
 * What OpenAI's API takes and refuses, from its public reference (https://developers.openai.com/api/reference, chat
 * completions "create" and images "generate" and "edit"; the same text stands in the types of the npm package `openai`),
 * and, for the words of the refusals, from answers of the API that people quoted in public, named beside each rule.
 */
interface ChatModel {
  readonly reasoning: boolean;
  readonly maxOutput: number;
  /** "Not supported with latest reasoning models `o3` and `o4-mini`." */
  readonly stop?: false;
}

const CHAT_MODELS: Readonly<Record<string, ChatModel>> = {
  'gpt-6-luna': { reasoning: true, maxOutput: 128_000 },
  'gpt-5-mini': { reasoning: true, maxOutput: 128_000 },
  'gpt-5-mini-2025-08-07': { reasoning: true, maxOutput: 128_000 },
  o3: { reasoning: true, maxOutput: 100_000, stop: false },
  'o4-mini': { reasoning: true, maxOutput: 100_000, stop: false },
  'ft:o4-mini-2025-04-16:team::one': { reasoning: true, maxOutput: 100_000, stop: false },
  'gpt-4o-mini': { reasoning: false, maxOutput: 16_384 },
  'ft:gpt-4o-mini-2024-07-18:team::two': { reasoning: false, maxOutput: 16_384 },
};

/** `gpt-image-1` is not there: it "was shut down on October 23, 2026". Resources in Azure still have DALL·E. */
const IMAGE_MODELS = new Set(['gpt-image-1-mini', 'gpt-image-1.5', 'gpt-image-2', 'dall-e-2', 'dall-e-3']);

const CHAT_FIELDS = new Set(
  `messages model audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens max_tokens
  metadata modalities moderation n parallel_tool_calls prediction presence_penalty prompt_cache_key prompt_cache_options
  prompt_cache_retention reasoning_effort response_format safety_identifier seed service_tier stop store stream
  stream_options temperature tool_choice tools top_logprobs top_p user verbosity web_search_options`.split(
    /\s+/,
  ),
);
const MESSAGE_FIELDS = new Set(
  'role content name tool_calls tool_call_id refusal audio function_call'.split(' '),
);
const GENERATION_FIELDS = new Set(
  `prompt model background complexity frame_count frame_duration_ms moderation n output_compression output_format
  partial_images quality response_format safety_identifier size stream style svg user`.split(/\s+/),
);
const EDIT_FIELDS = new Set(
  `image image[] prompt model background complexity frame_count frame_duration_ms input_fidelity markup mask n
  output_compression output_format partial_images quality response_format safety_identifier size stream user`.split(
    /\s+/,
  ),
);
/** "Only supported for the GPT image models", in so many words, at each of them. */
const GPT_IMAGE_FIELDS = `background complexity frame_count frame_duration_ms input_fidelity markup moderation
  output_compression output_format partial_images stream svg`.split(/\s+/);

export function chatModel(name: string): ChatModel | undefined {
  return CHAT_MODELS[name];
}

export function isGptImage(model: string): boolean {
  return model.startsWith('gpt-image-');
}

/** Why a chat request is refused; undefined when it is not. */
export function chatRefusal(body: Fields): Refusal | undefined {
  const name = textOf(body['model']);
  const model = chatModel(name);
  return (
    missing(body, ['model', 'messages']) ??
    unknownIn(body, CHAT_FIELDS) ??
    (model ? undefined : noSuchModel(name)) ??
    messagesRefusal(body['messages']) ??
    streamRefusal(body) ??
    capRefusal(body, model) ??
    formatRefusal(body) ??
    toolsRefusal(body) ??
    (model?.reasoning ? reasoningRefusal(body, model) : plainRefusal(body))
  );
}

function messagesRefusal(messages: unknown): Refusal | undefined {
  if (!Array.isArray(messages) || messages.length === 0)
    return bad('messages', 'invalid_type', 'Invalid messages.');
  for (const message of messages as Fields[]) {
    const refusal = unknownIn(message, MESSAGE_FIELDS);
    if (refusal) return refusal;
    if (!['developer', 'system', 'user', 'assistant', 'tool'].includes(textOf(message['role'])))
      return bad('messages', 'invalid_value', `Invalid value: '${textOf(message['role'])}'.`);
  }
  return undefined;
}

/**
 * Words from https://github.com/ultimatejimmy/xray.koplugin/issues/33 (json_object) and
 * https://github.com/bytedance/trae-agent/issues/173 (strict schemas).
 */
function formatRefusal({ response_format, messages }: Fields): Refusal | undefined {
  const { type, json_schema } = fieldsOf(response_format);
  if (type === 'json_object' && !/json/i.test(JSON.stringify(messages))) {
    const words =
      "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.";
    return bad('messages', null, words);
  }
  if (type !== 'json_schema') return undefined;
  const { name, schema, strict } = fieldsOf(json_schema);
  if (typeof name !== 'string')
    return bad(
      'response_format.json_schema.name',
      'missing_required_parameter',
      'Missing required parameter.',
    );
  return strict === true ? strictRefusal('response_format', name, schema) : undefined;
}

function toolsRefusal({ tools, tool_choice }: Fields): Refusal | undefined {
  if (tool_choice !== undefined && tools === undefined)
    return bad(
      'tool_choice',
      null,
      "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.",
    );
  for (const tool of listOf(tools)) {
    const { name, parameters, strict } = fieldsOf(tool['function']);
    const refusal = strict === true ? strictRefusal('tools', textOf(name), parameters) : undefined;
    if (refusal) return refusal;
  }
  return undefined;
}

function strictRefusal(param: string, name: string, schema: unknown): Refusal | undefined {
  if (fieldsOf(schema)['additionalProperties'] === false) return undefined;
  const words = `Invalid schema for '${name}': In context=(), 'additionalProperties' is required to be supplied and to be false.`;
  return bad(param, 'invalid_function_parameters', words);
}

/** Words from https://github.com/BerriAI/litellm/issues/5803. */
function streamRefusal({ stream, stream_options, metadata, store }: Fields): Refusal | undefined {
  if (stream_options !== undefined && stream !== true)
    return bad(
      'stream_options',
      null,
      "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
    );
  if (stream_options !== undefined)
    return unknownIn(stream_options as Fields, new Set(['include_usage', 'include_obfuscation']));
  if (metadata !== undefined && store !== true)
    return bad('metadata', null, "The 'metadata' parameter is only allowed when 'store' is enabled.");
  return undefined;
}

function capRefusal(body: Fields, model: ChatModel | undefined): Refusal | undefined {
  const given = ['max_tokens', 'max_completion_tokens'].filter((field) => body[field] !== undefined);
  if (given.length === 2) {
    const words = "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.";
    return bad('max_tokens', 'invalid_parameter_combination', words);
  }
  for (const field of given) {
    const cap = body[field];
    const most = model?.maxOutput ?? 0;
    if (!Number.isInteger(cap) || Number(cap) < 1)
      return bad(field, 'integer_below_min_value', `Invalid '${field}'.`);
    if (Number(cap) > most) {
      const words = `${field} is too large: ${Number(cap)}. This model supports at most ${most} completion tokens.`;
      return bad(field, 'invalid_value', words);
    }
  }
  return undefined;
}

/**
 * Words from https://github.com/griptape-ai/ComfyUI-Griptape/issues/312 (max_tokens) and
 * https://github.com/johny-b/llmcomp/issues/69 (temperature).
 */
function reasoningRefusal(body: Fields, model: ChatModel): Refusal | undefined {
  if (body['max_tokens'] !== undefined) {
    const words = `Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.`;
    return bad('max_tokens', 'unsupported_parameter', words);
  }
  const onlyDefaults = { temperature: 1, top_p: 1, presence_penalty: 0, frequency_penalty: 0 };
  for (const [field, usual] of Object.entries(onlyDefaults)) {
    const value = body[field];
    if (value === undefined || value === usual) continue;
    const words = `Unsupported value: '${field}' does not support ${JSON.stringify(value)} with this model. Only the default (${usual}) value is supported.`;
    return bad(field, 'unsupported_value', words);
  }
  const refused = ['logprobs', 'top_logprobs', 'logit_bias', ...(model.stop === false ? ['stop'] : [])];
  const field = refused.find((name) => body[name] !== undefined);
  if (field === undefined) return undefined;
  return bad(
    field,
    'unsupported_parameter',
    `Unsupported parameter: '${field}' is not supported with this model.`,
  );
}

function plainRefusal(body: Fields): Refusal | undefined {
  if (body['reasoning_effort'] === undefined) return undefined;
  return bad('reasoning_effort', null, 'Unrecognized request argument supplied: reasoning_effort');
}

/** Why a request for images is refused; undefined when it is not. An edit comes as a form, with the files as given. */
export function imageRefusal(body: Fields, kind: 'generation' | 'edit'): Refusal | undefined {
  const model = textOf(body['model']);
  const editable = isGptImage(model) || model === 'dall-e-2';
  return (
    missing(body, ['prompt', 'model']) ??
    unknownIn(body, kind === 'edit' ? EDIT_FIELDS : GENERATION_FIELDS) ??
    (IMAGE_MODELS.has(model) ? undefined : noSuchModel(model)) ??
    (kind === 'edit' && !editable
      ? bad('model', 'invalid_value', `Invalid value: '${model}'.`)
      : undefined) ??
    (isGptImage(model) ? gptImageRefusal(body, model) : dallERefusal(body, model))
  );
}

/**
 * "Unsupported for GPT image models, which always return base64-encoded images" (response_format), "unsupported for GPT
 * image models" (style). Words from https://github.com/vercel/ai/issues/6102.
 */
function gptImageRefusal(body: Fields, model: string): Refusal | undefined {
  const field = ['response_format', 'style'].find((name) => body[name] !== undefined);
  if (field !== undefined) return unknown(field);
  const qualities = ['low', 'medium', 'high', 'auto'];
  if (body['quality'] !== undefined && !qualities.includes(textOf(body['quality'])))
    return bad('quality', 'invalid_value', `Invalid value: '${textOf(body['quality'])}'.`);
  return (
    countRefusal(body, 10) ?? partialRefusal(body) ?? sizeRefusal(body, (size) => isGptImageSize(size, model))
  );
}

/** "Value must be between 0 and 3." */
function partialRefusal({ partial_images: given = 0 }: Fields): Refusal | undefined {
  const count = Number(given);
  if (Number.isInteger(count) && count >= 0 && count <= 3) return undefined;
  return bad(
    'partial_images',
    'invalid_value',
    "Invalid 'partial_images': expected a value between 0 and 3.",
  );
}

/** "Width and height must both be divisible by 16 and the aspect ratio between 1:3 and 3:1", since gpt-image-2. */
function isGptImageSize(size: string, model: string): boolean {
  if (['auto', '1024x1024', '1536x1024', '1024x1536'].includes(size)) return true;
  if (!model.startsWith('gpt-image-2')) return false;
  const [width = 0, height = 0] = size.split('x').map(Number);
  const ratio = width / height;
  return (
    width % 16 === 0 && height % 16 === 0 && ratio >= 1 / 3 && ratio <= 3 && width * height <= 3840 * 2160
  );
}

/** DALL·E 3 makes one image at a time and alone has a style; each has its own sizes. */
function dallERefusal(body: Fields, model: string): Refusal | undefined {
  const third = model === 'dall-e-3';
  const foreign = [...GPT_IMAGE_FIELDS, ...(third ? [] : ['style'])].find((name) => body[name] !== undefined);
  if (foreign !== undefined) return unknown(foreign);
  const format = body['response_format'];
  if (format !== undefined && format !== 'url' && format !== 'b64_json')
    return bad('response_format', 'invalid_value', `Invalid value: '${textOf(format)}'.`);
  const sizes = third ? ['1024x1024', '1792x1024', '1024x1792'] : ['256x256', '512x512', '1024x1024'];
  return countRefusal(body, third ? 1 : 10) ?? sizeRefusal(body, (size) => sizes.includes(size));
}

function countRefusal(body: Fields, most: number): Refusal | undefined {
  const count = Number(body['n'] ?? 1);
  if (Number.isInteger(count) && count >= 1 && count <= most) return undefined;
  return bad('n', 'invalid_value', `Invalid 'n': expected a value between 1 and ${most}.`);
}

function sizeRefusal({ size }: Fields, isAllowed: (size: string) => boolean): Refusal | undefined {
  if (size === undefined || isAllowed(textOf(size))) return undefined;
  return bad('size', 'invalid_value', `Invalid value: '${textOf(size)}'.`);
}

function missing(body: Fields, fields: readonly string[]): Refusal | undefined {
  const field = fields.find((name) => body[name] === undefined);
  if (field === undefined) return undefined;
  return bad(field, 'missing_required_parameter', `Missing required parameter: '${field}'.`);
}

function unknownIn(body: Fields, known: ReadonlySet<string>): Refusal | undefined {
  const field = Object.keys(body).find((name) => !known.has(name));
  return field === undefined ? undefined : unknown(field);
}

function unknown(field: string): Refusal {
  return bad(field, 'unknown_parameter', `Unknown parameter: '${field}'.`);
}

function noSuchModel(name: string): Refusal {
  const message = `The model '${name}' does not exist or you do not have access to it.`;
  return { status: 404, code: 'model_not_found', param: null, message };
}

function bad(param: string, code: string | null, message: string): Refusal {
  return { status: 400, code, param, message };
}
