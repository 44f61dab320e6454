import { z } from 'zod';
import { taggedUnion, type UnknownVariant } from '../tagged-union.ts';

/**
 * What `POST /v1/messages` accepts. Fields and blocks that Tollgate does not know are kept and ignored, so that a newer
 * client or `anthropic-version` still works; what is known is checked.
 */
const textBlock = z.looseObject({ type: z.literal('text'), text: z.string() });

const imageSource = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('base64'), media_type: z.string().min(1), data: z.string().min(1) }),
  z.looseObject({ type: z.literal('url'), url: z.string().min(1) }),
  z.looseObject({ type: z.literal('file'), file_id: z.string() }),
]);
const imageBlock = z.looseObject({ type: z.literal('image'), source: imageSource });

const documentSource = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('base64'), media_type: z.string().min(1), data: z.string().min(1) }),
  z.looseObject({ type: z.literal('text'), data: z.string() }),
  z.looseObject({
    type: z.literal('content'),
    content: z.union([z.string(), z.array(z.discriminatedUnion('type', [textBlock, imageBlock]))]),
  }),
  z.looseObject({ type: z.literal('url'), url: z.string() }),
  z.looseObject({ type: z.literal('file'), file_id: z.string() }),
]);
const documentBlock = z.looseObject({
  type: z.literal('document'),
  source: documentSource,
  title: z.string().nullish(),
  context: z.string().nullish(),
});

const searchResultBlock = z.looseObject({
  type: z.literal('search_result'),
  source: z.string(),
  title: z.string(),
  content: z.array(textBlock),
});

/** The answer of a client's own search among its tools: this one is loaded now. */
const toolReferenceBlock = z.looseObject({ type: z.literal('tool_reference'), tool_name: z.string().min(1) });

const INNER_BLOCKS = {
  text: textBlock,
  image: imageBlock,
  document: documentBlock,
  search_result: searchResultBlock,
  tool_reference: toolReferenceBlock,
};

const toolUseBlock = z.looseObject({
  type: z.literal('tool_use'),
  id: z.string().min(1),
  name: z.string().min(1),
  input: z.unknown().optional(),
});

const toolResultBlock = z.looseObject({
  type: z.literal('tool_result'),
  tool_use_id: z.string().min(1),
  content: z.union([z.string(), z.array(taggedUnion(INNER_BLOCKS))]).nullish(),
  is_error: z.boolean().nullish(),
});

const thinkingBlock = z.looseObject({ type: z.literal('thinking'), thinking: z.string() });
const redactedThinkingBlock = z.looseObject({ type: z.literal('redacted_thinking'), data: z.string() });

const BLOCKS = {
  ...INNER_BLOCKS,
  tool_use: toolUseBlock,
  tool_result: toolResultBlock,
  thinking: thinkingBlock,
  redacted_thinking: redactedThinkingBlock,
};

export type InnerBlock = z.infer<(typeof INNER_BLOCKS)[keyof typeof INNER_BLOCKS]>;
export type MessagesBlock = z.infer<(typeof BLOCKS)[keyof typeof BLOCKS]>;
export type ToolResultBlock = z.infer<typeof toolResultBlock>;
export type ToolUseBlock = z.infer<typeof toolUseBlock>;

export function isKnownBlock(block: MessagesBlock | UnknownVariant): block is MessagesBlock {
  return Object.hasOwn(BLOCKS, block.type);
}

export function isInnerBlock(block: InnerBlock | UnknownVariant): block is InnerBlock {
  return Object.hasOwn(INNER_BLOCKS, block.type);
}

const messageSchema = z.looseObject({
  role: z.enum(['user', 'assistant', 'system']),
  content: z.union([z.string(), z.array(taggedUnion(BLOCKS))]),
});

const toolSchema = z.looseObject({
  type: z.string().nullish(),
  name: z.string().nullish(),
  description: z.string().nullish(),
  input_schema: z.looseObject({}).nullish(),
  strict: z.boolean().nullish(),
  /** Known to the client and not to the model, until a result refers to it. */
  defer_loading: z.boolean().nullish(),
});

const toolChoiceSchema = z.looseObject({
  type: z.enum(['auto', 'any', 'tool', 'none']),
  name: z.string().nullish(),
  disable_parallel_tool_use: z.boolean().nullish(),
});

const formatSchema = z.looseObject({ type: z.string(), schema: z.looseObject({}).nullish() });

/** The largest integer that may meet a price; the model's own limit is checked where the model is known. */
const MAX_TOKENS = 10_000_000;

const conversationFields = {
  model: z.string().min(1).max(256),
  messages: z.array(messageSchema).min(1).max(10_000),
  system: z.union([z.string(), z.array(textBlock)]).nullish(),
  tools: z.array(toolSchema).max(512).nullish(),
  tool_choice: toolChoiceSchema.nullish(),
  thinking: z.looseObject({ type: z.string(), budget_tokens: z.number().nullish() }).nullish(),
  output_config: z.looseObject({ effort: z.string().nullish(), format: formatSchema.nullish() }).nullish(),
  output_format: formatSchema.nullish(),
};

export const messagesRequestSchema = z.looseObject({
  ...conversationFields,
  max_tokens: z.number().int().min(1).max(MAX_TOKENS),
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  top_k: z.number().nullish(),
  /** Backends that take fewer say so. */
  stop_sequences: z.array(z.string()).max(1_000).nullish(),
  stream: z.boolean().nullish(),
  metadata: z.looseObject({ user_id: z.string().nullish() }).nullish(),
});

/** `POST /v1/messages/count_tokens`: a conversation without an order to answer it. */
export const countTokensRequestSchema = z.looseObject(conversationFields);

export type MessagesRequest = z.infer<typeof messagesRequestSchema>;
export type CountTokensRequest = z.infer<typeof countTokensRequestSchema>;
