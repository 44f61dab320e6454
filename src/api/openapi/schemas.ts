import { z } from 'zod';
import { FAULTS, type FaultCode, type FaultType } from '../../std/fault.ts';
import { chatRequestSchema } from '../../wire/openai/chat.ts';
import { imageRequestSchema } from '../../wire/openai/images.ts';

/**
 * The bodies of the public API. Requests are the very schemas that check them; answers are written down here and held to
 * what the server sends by its tests.
 */
const selector = {
  endpoint: z.string().optional().describe('Endpoint code. Not needed when model is written code/model.'),
  endpoint_code: z.string().optional().describe('The same as endpoint; one of the two is enough.'),
};

export const chatBody = chatRequestSchema.extend(selector);
export const imageBody = imageRequestSchema.extend(selector);

const usage = z.looseObject({
  prompt_tokens: z.int(),
  completion_tokens: z.int(),
  total_tokens: z.int(),
});

const toolCall = z.looseObject({
  id: z.string(),
  type: z.literal('function'),
  function: z.object({ name: z.string(), arguments: z.string().describe('JSON text') }),
});

const assistantMessage = z.looseObject({
  role: z.literal('assistant'),
  content: z.string().nullable(),
  reasoning_content: z.string().optional(),
  tool_calls: z.array(toolCall).optional(),
});

const finishReason = z.enum(['stop', 'length', 'tool_calls', 'content_filter']);

export const chatAnswer = z.looseObject({
  id: z.string().describe('Also in x-request-id; GET /requests/{id} has the receipt.'),
  object: z.literal('chat.completion'),
  created: z.int().describe('Seconds since 1970'),
  model: z.string(),
  choices: z.array(
    z.looseObject({ index: z.int(), message: assistantMessage, finish_reason: finishReason.nullable() }),
  ),
  usage,
});

export const chatChunk = z.looseObject({
  id: z.string(),
  object: z.literal('chat.completion.chunk'),
  created: z.int(),
  model: z.string(),
  choices: z.array(
    z.looseObject({ index: z.int(), delta: z.looseObject({}), finish_reason: finishReason.nullish() }),
  ),
  usage: usage.nullish().describe('In the last chunk, when stream_options.include_usage was set'),
});

export const imageAnswer = z.object({
  created: z.int().describe('Seconds since 1970'),
  data: z.array(
    z.object({
      url: z.string().optional().describe('A signed link that lives an hour'),
      b64_json: z.string().optional(),
      revised_prompt: z.string().optional(),
    }),
  ),
  usage: z.unknown().optional(),
});

export const modelEntry = z.object({
  model: z.string(),
  display_name: z.string(),
  source_table: z.string().describe('The list the model comes from'),
});

export const modelEntriesSchema = z.array(modelEntry);

export const endpointEntry = z.object({
  endpoint: z.string(),
  name: z.string(),
  endpoint_type: z.enum(['chat_completion', 'image_generation']),
  models: z.array(z.object({ model: z.string(), display_name: z.string() })),
});

export const endpointList = z.object({ success: z.boolean(), data: z.array(endpointEntry) });

export const accountAnswer = z.object({
  account: z.string(),
  email: z.string(),
  balance_usd: z.number(),
  held_usd: z.number().describe('What running requests may still cost'),
  available_usd: z.number(),
  limits: z.object({
    chat_per_minute: z.int(),
    images_per_minute: z.int(),
    concurrent: z.int(),
    monthly_usd: z.number().nullable(),
  }),
  usage: z.object({ month_usd: z.number(), running: z.int() }),
});

const usd = z.string().describe('Exact dollars as a decimal');

export const receiptAnswer = z.object({
  id: z.string(),
  object: z.literal('request'),
  endpoint: z.string(),
  model: z.string(),
  created: z.int(),
  finished: z.int().nullable(),
  state: z.enum(['pending', 'posted', 'void', 'expired']),
  outcome: z.string().nullable(),
  error_code: z.string().nullable(),
  finish_reason: z.string().nullable(),
  stream: z.boolean(),
  usage: z.object({
    input_tokens: z.int(),
    cached_tokens: z.int(),
    output_tokens: z.int(),
    reasoning_tokens: z.int(),
    images: z.int(),
    source: z.string().nullable().describe('Who counted: `upstream`, `counted` by Tollgate, or `mixed`'),
  }),
  lines: z.array(
    z.object({
      item: z.enum(['input', 'cached_input', 'output', 'image']),
      quantity: z.int(),
      unit_price_usd: usd,
      per: z.int(),
      amount_usd: usd,
    }),
  ),
  held_usd: usd,
  charged_usd: usd,
  backend: z.string().nullable(),
  attempts: z.array(
    z.object({
      backend: z.string(),
      result: z.string(),
      reason: z.string().nullable(),
      duration_ms: z.number(),
    }),
  ),
  timing: z.object({ first_byte_ms: z.number().nullable(), duration_ms: z.number().nullable() }),
});

// The keys and types of the table are these and no others; Object.keys has forgotten it.
const codes = Object.keys(FAULTS) as [FaultCode, ...FaultCode[]];
const types = [...new Set(codes.map((code) => FAULTS[code].type))] as [FaultType, ...FaultType[]];

export const errorAnswer = z.object({
  error: z.looseObject({
    code: z.enum(codes),
    message: z.string().describe('For people'),
    type: z.enum(types),
    param: z.string().nullable().describe('The field that is wrong, where one is'),
    reason: z
      .enum(['insufficient_balance', 'limit_reached', 'funds_on_hold', 'request_exceeds_balance'])
      .optional()
      .describe('Of a 402'),
  }),
});
