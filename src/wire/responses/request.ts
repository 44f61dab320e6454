import { z } from 'zod';
import {
  fieldRules,
  memberOf,
  pricedUnless,
  refusedBecause,
  type FieldRules,
  isAbsent,
} from '../field-table.ts';
import { metadataSchema } from '../openai/chat.ts';
import { taggedUnion } from '../tagged-union.ts';

/**
 * What `POST /v1/responses` accepts. Fields, parts and items that Tollgate does not know are kept and ignored; what is
 * known is checked.
 */
const text = (type: 'input_text' | 'output_text' | 'text') =>
  z.looseObject({ type: z.literal(type), text: z.string() });

const PARTS = {
  input_text: text('input_text'),
  output_text: text('output_text'),
  text: text('text'),
  refusal: z.looseObject({ type: z.literal('refusal'), refusal: z.string() }),
  input_image: z.looseObject({
    type: z.literal('input_image'),
    image_url: z.string().min(1).nullish(),
    file_id: z.string().nullish(),
    detail: z.string().nullish(),
  }),
  input_file: z.looseObject({
    type: z.literal('input_file'),
    file_data: z.string().nullish(),
    filename: z.string().nullish(),
    file_url: z.string().nullish(),
    file_id: z.string().nullish(),
  }),
};

const contentSchema = z.union([z.string(), z.array(taggedUnion(PARTS))]);

const callFields = { call_id: z.string().min(1), name: z.string().min(1), namespace: z.string().nullish() };

const ITEMS = {
  message: z.looseObject({
    type: z.literal('message'),
    role: z.enum(['user', 'assistant', 'system', 'developer']),
    content: contentSchema,
  }),
  function_call: z.looseObject({ type: z.literal('function_call'), ...callFields, arguments: z.string() }),
  function_call_output: z.looseObject({
    type: z.literal('function_call_output'),
    call_id: z.string().min(1),
    output: contentSchema,
  }),
  custom_tool_call: z.looseObject({ type: z.literal('custom_tool_call'), ...callFields, input: z.string() }),
  custom_tool_call_output: z.looseObject({
    type: z.literal('custom_tool_call_output'),
    call_id: z.string().min(1),
    output: contentSchema,
  }),
  reasoning: z.looseObject({ type: z.literal('reasoning') }),
  item_reference: z.looseObject({ type: z.literal('item_reference'), id: z.string() }),
};

const functionTool = z.looseObject({
  type: z.literal('function'),
  name: z.string().min(1).max(128),
  description: z.string().nullish(),
  parameters: z.looseObject({}).nullish(),
  strict: z.boolean().nullish(),
});

const customTool = z.looseObject({
  type: z.literal('custom'),
  name: z.string().min(1).max(128),
  description: z.string().nullish(),
  format: z
    .looseObject({ type: z.string(), syntax: z.string().nullish(), definition: z.string().nullish() })
    .nullish(),
});

const INNER_TOOLS = { function: functionTool, custom: customTool };

const TOOLS = {
  ...INNER_TOOLS,
  namespace: z.looseObject({
    type: z.literal('namespace'),
    name: z.string().min(1).max(128),
    tools: z.array(taggedUnion(INNER_TOOLS)).max(512),
  }),
};

const formatSchema = z.looseObject({
  type: z.string(),
  name: z.string().nullish(),
  description: z.string().nullish(),
  schema: z.looseObject({}).nullish(),
  strict: z.boolean().nullish(),
});

const toolChoiceSchema = z.union([
  z.string(),
  z.looseObject({
    type: z.string(),
    name: z.string().nullish(),
    namespace: z.string().nullish(),
    mode: z.string().nullish(),
    tools: z.array(z.looseObject({ name: z.string().nullish(), namespace: z.string().nullish() })).nullish(),
  }),
]);

/** The largest integer that may meet a price; the model's own limit is checked where the model is known. */
const MAX_TOKENS = 10_000_000;

export const responsesRequestSchema = z.looseObject({
  model: z.string().min(1).max(256),
  input: z.union([z.string().min(1), z.array(taggedUnion(ITEMS, 'message')).min(1).max(10_000)]),
  instructions: z.string().nullish(),
  tools: z.array(taggedUnion(TOOLS)).max(512).nullish(),
  tool_choice: toolChoiceSchema.nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  text: z.looseObject({ format: formatSchema.nullish(), verbosity: z.string().nullish() }).nullish(),
  reasoning: z.looseObject({ effort: z.string().nullish(), summary: z.string().nullish() }).nullish(),
  max_output_tokens: z.number().int().min(1).max(MAX_TOKENS).nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  stream: z.boolean().nullish(),
  top_logprobs: z.number().int().min(0).max(20).nullish(),
  include: z.array(z.string()).nullish(),
  store: z.boolean().nullish(),
  previous_response_id: z.string().max(128).nullish(),
  conversation: z.union([z.string().max(128), z.looseObject({ id: z.string().max(128) })]).nullish(),
  prompt: z.unknown().optional(),
  background: z.boolean().nullish(),
  metadata: metadataSchema.nullish(),
  user: z.string().max(512).nullish(),
  service_tier: z.string().max(64).nullish(),
});

/** Items that are put into a conversation. */
export const conversationItems = z.array(taggedUnion(ITEMS, 'message')).max(20);

export type ResponsesRequest = z.infer<typeof responsesRequestSchema>;
export type ResponsesContent = z.infer<typeof contentSchema>;
export type ResponsesPart = z.infer<(typeof PARTS)[keyof typeof PARTS]>;
export type ResponsesItem = z.infer<(typeof ITEMS)[keyof typeof ITEMS]>;
type ResponsesTool = z.infer<(typeof TOOLS)[keyof typeof TOOLS]>;
export type InnerTool = z.infer<(typeof INNER_TOOLS)[keyof typeof INNER_TOOLS]>;

export function isKnownItem(item: { readonly type: string }): item is ResponsesItem {
  return Object.hasOwn(ITEMS, item.type);
}

export function isKnownPart(part: { readonly type: string }): part is ResponsesPart {
  return Object.hasOwn(PARTS, part.type);
}

export function isKnownTool(tool: { readonly type: string }): tool is ResponsesTool {
  return Object.hasOwn(TOOLS, tool.type);
}

export function isInnerTool(tool: { readonly type: string }): tool is InnerTool {
  return Object.hasOwn(INNER_TOOLS, tool.type);
}

/**
 * The Responses API (https://platform.openai.com/docs/api-reference/responses/create). A request is translated into a
 * chat, so only fields that the translation knows reach a backend; the other fields here have no effect.
 */
export const RESPONSES_FIELDS: FieldRules = fieldRules({
  harmless: [
    // What is asked, and how the answer arrives.
    'model input instructions tools tool_choice parallel_tool_calls max_tool_calls',
    'stream stream_options text metadata user',
    // The cap: the hold is computed from it.
    'max_output_tokens',
    'temperature top_p top_logprobs truncation',
    // Stored state, which is put in place before the translation.
    'store previous_response_id conversation prompt background',
    // What to add to the answer: logprobs are added, and what a backend gives anyway.
    'include client_metadata',
    'prompt_cache_key prompt_cache_retention prompt_cache_options safety_identifier',
  ],
  // Within the cap, and charged as output. A summary is what a backend shows anyway.
  reasoning: {
    reasoning: (value) => (isAbsent(memberOf(value, 'effort')) ? [] : ['reasoning.effort']),
  },
  costly: {
    service_tier: pricedUnless(['auto', 'default', 'standard'], (tier) => `service_tiers.${tier}`),
    context_management: refusedBecause('compaction has no price here. Shorten the input instead.'),
  },
  synonyms: {
    max_tokens: 'max_output_tokens',
    max_completion_tokens: 'max_output_tokens',
    n: 'one request for each answer',
  },
});

/** The tools that OpenAI would run itself: no backend gets them. */
export function providerTools({ tools }: Pick<ResponsesRequest, 'tools'>): string[] {
  return (tools ?? [])
    .filter((tool) => !isKnownTool(tool) && !isInnerTool(tool))
    .map((tool) => `tools.${tool.type}`);
}
