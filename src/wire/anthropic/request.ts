import { z } from 'zod';
import {
  fieldRules,
  memberOf,
  wordsOf,
  refusedBecause,
  refusedUnless,
  type CostlyField,
  type CostOf,
  type FieldRules,
  isAbsent,
} from '../field-table.ts';
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

const messageSchema = z
  .looseObject({
    role: z.enum(['user', 'assistant', 'system']),
    content: z.union([z.string(), z.array(taggedUnion(BLOCKS))]),
  })
  .meta({ id: 'MessagesMessage' });

const toolSchema = z
  .looseObject({
    type: z.string().nullish(),
    name: z.string().nullish(),
    description: z.string().nullish(),
    input_schema: z.looseObject({}).nullish(),
    strict: z.boolean().nullish(),
    /** Known to the client and not to the model, until a result refers to it. */
    defer_loading: z.boolean().nullish(),
  })
  .meta({ id: 'MessagesTool' });

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

/** The Messages API (https://platform.claude.com/docs/en/api/beta/messages/create). */
export const MESSAGES_FIELDS: FieldRules = fieldRules({
  harmless: [
    // What is asked, and how the answer arrives. Tools are checked one by one.
    'model messages system tools tool_choice stream metadata',
    // The cap: the hold is computed from it.
    'max_tokens',
    // Sampling and format.
    'temperature top_p top_k stop_sequences output_format',
    // Cache marks, here or in blocks: what is written into the cache is reported, and charged as such.
    'cache_control',
    // Both tiers are billed by what the operator has agreed with Anthropic, not by the request.
    'service_tier',
    // Explains a missed cache; adds nothing to the bill.
    'diagnostics',
  ],
  // Within the cap, and charged as output.
  reasoning: {
    thinking: (value) => (typeOf(value) === 'disabled' ? [] : ['thinking']),
    output_config: (value) => (isAbsent(memberOf(value, 'effort')) ? [] : ['output_config.effort']),
  },
  costly: {
    context_management: costOfContextManagement,
    // Another round of the model over the whole conversation, which is not part of the reported usage.
    compaction: refusedBecause('compaction is billed beyond the usage of the request and has no price here.'),
    speed: refusedUnless(['standard'], 'a faster answer has no price here.'),
    inference_geo: refusedUnless(['global'], 'a region has no price here.'),
    container: () => ({ price: 'tool_calls.code_execution' }),
    mcp_servers: refusedBecause('tools that the backend itself calls have no price here.'),
    fallbacks: refusedBecause('the catalog decides which model serves a request.'),
    fallback_credit_token: refusedBecause('the catalog decides which model serves a request.'),
  },
  synonyms: { max_tokens_to_sample: 'max_tokens', betas: 'the header anthropic-beta' },
});

function costOfContextManagement(value: unknown): ReturnType<CostOf> {
  const edits = memberOf(value, 'edits');
  const compacts = Array.isArray(edits) && edits.some((edit: unknown) => typeOf(edit).startsWith('compact'));
  return compacts
    ? { refusal: 'compaction is billed beyond the usage of the request and has no price here.' }
    : undefined;
}

function typeOf(value: unknown): string {
  const type = memberOf(value, 'type');
  return typeof type === 'string' ? type : '';
}

/**
 * Tools of Anthropic's that the client itself runs, or that search among the client's own tools: they cost only the
 * tokens of their definitions (https://platform.claude.com/docs/en/agents-and-tools/tool-use/tool-reference).
 */
const CLIENT_TOOLS: ReadonlySet<string> = new Set([
  'custom',
  'bash',
  'text_editor',
  'memory',
  'tool_search_tool_regex',
  'tool_search_tool_bm25',
]);

/** The tools that a provider runs itself, and bills. Only an Anthropic backend would see them. */
export function costlyTools({ tools }: Pick<MessagesRequest, 'tools'>): CostlyField[] {
  return (tools ?? []).flatMap(({ type }) => {
    const kind = (type ?? 'custom').replace(/_\d{8}$/, '');
    if (CLIENT_TOOLS.has(kind)) return [];
    return [{ field: 'tools', cost: { price: `tool_calls.${kind}` }, nativeName: `tools.${kind}` }];
  });
}

/** Beta features of `anthropic-beta` that change neither what a request may use nor its price. */
const BETAS: ReadonlySet<string> = wordsOf([
  // Who calls: Claude Code and the Agent SDK.
  'claude-code-20250219 oauth-2025-04-20 cli-internal-2026-02-09',
  // Thinking.
  'interleaved-thinking-2025-05-14 redact-thinking-2026-02-12 adaptive-thinking-2026-01-28',
  'thinking-token-count-2026-05-13 effort-2025-11-24 task-budgets-2026-03-13',
  // Tools that the client runs.
  'fine-grained-tool-streaming-2025-05-14 token-efficient-tools-2025-02-19 token-efficient-tools-2026-03-28',
  'advanced-tool-use-2025-11-20 tool-search-tool-2025-10-19 tool-examples-2025-10-29',
  'mid-conversation-tool-changes-2026-07-01 mid-conversation-system-2026-04-07',
  // The conversation's length: the catalog's context and the output cap still bound it.
  'context-management-2025-06-27 context-1m-2025-08-07 context-hint-2026-04-09',
  'model-context-window-exceeded-2025-08-26 output-128k-2025-02-19 max-tokens-3-5-sonnet-2024-07-15',
  // Caches: what is written is reported, and charged as such.
  'prompt-caching-2024-07-31 extended-cache-ttl-2025-04-11 prompt-caching-scope-2026-01-05',
  'cache-diagnosis-2026-04-07',
  // Formats of input and output.
  'structured-outputs-2025-09-17 structured-outputs-2025-11-13 structured-outputs-2025-12-15',
  'pdfs-2024-09-25 search-results-2025-06-09 token-counting-2024-11-01',
]);

interface SelectedBetas {
  /** The header without what is left out; `undefined` if nothing stays. */
  readonly passed: string | undefined;
  readonly leftOut: readonly string[];
}

export function selectBetas(header: string | null): SelectedBetas {
  if (header === null) return { passed: undefined, leftOut: [] };
  const given = header
    .split(',')
    .map((beta) => beta.trim())
    .filter((beta) => beta !== '');
  const passed = given.filter((beta) => BETAS.has(beta));
  return {
    passed: passed.length === 0 ? undefined : passed.join(','),
    leftOut: given.filter((beta) => !BETAS.has(beta)),
  };
}
