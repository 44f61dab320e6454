import { z } from 'zod';
import type { IncomingRequest } from '../http/router.ts';
import { json, rateHeaders } from '../http/response.ts';
import { tagsOf } from '../activity/request-tags.ts';
import { IN_PLACE } from '../activity/reader.ts';
import { receiptOf, receiptView } from '../ledger/receipt.ts';
import { rateOf } from '../relay/admission.ts';
import { Fault } from '../std/fault.ts';
import { PRICED_ITEMS } from '../std/price-dimensions.ts';
import { OPENAI_ERRORS, TOKEN_ERRORS } from './errors.ts';
import type { ApiOperation, ApiParts } from './operation.ts';

const usd = z.string().describe('Exact dollars as a decimal');

const receiptAnswer = z.object({
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
      item: z.enum(PRICED_ITEMS),
      quantity: z.int(),
      unit_price_usd: usd,
      per: z.int(),
      factor: z.number().optional().describe('Of the service tier'),
      amount_usd: usd,
    }),
  ),
  held_usd: usd,
  charged_usd: usd,
  tags: z
    .record(z.string(), z.string())
    .optional()
    .describe('What the request said in `user` and `metadata`, as far as its account keeps it'),
  price_group: z.string().optional().describe('Whose prices these are, where they are not the list prices'),
  backend: z.string().nullable(),
  retry_of: z
    .string()
    .optional()
    .describe('An earlier request with the same Idempotency-Key, whose stream broke'),
  max_tokens: z.int().optional().describe('The output cap for each choice, where it was lowered'),
  cap_reason: z.enum(['balance', 'max_cost']).optional().describe('What lowered the output cap'),
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

const RECEIPT = {
  id: 'req_0WPlqUf4abcdefghijklmnop',
  object: 'request',
  endpoint: 'svc_chat',
  model: 'house-guide',
  created: 1_763_170_000,
  finished: 1_763_170_001,
  state: 'posted',
  outcome: 'completed',
  error_code: null,
  finish_reason: 'stop',
  stream: false,
  usage: {
    input_tokens: 14,
    cached_tokens: 0,
    output_tokens: 8,
    reasoning_tokens: 0,
    images: 0,
    source: 'upstream',
  },
  lines: [
    { item: 'input', quantity: 14, unit_price_usd: '0.10', per: 1_000_000, amount_usd: '0.0000014' },
    { item: 'output', quantity: 8, unit_price_usd: '0.40', per: 1_000_000, amount_usd: '0.0000032' },
  ],
  held_usd: '0.0066',
  charged_usd: '0.0000046',
  backend: 'house',
  attempts: [{ backend: 'house', result: 'served', reason: null, duration_ms: 12 }],
  timing: { first_byte_ms: 9, duration_ms: 12 },
};

export const requestReceipt: ApiOperation = {
  id: 'getRequest',
  method: 'GET',
  path: '/api/public/v1/requests/{id}',
  tag: 'Account',
  summary: 'Get the receipt of a request',
  token: 'required',
  parameters: [
    { name: 'id', description: 'The x-request-id of an answer', example: 'req_0WPlqUf4abcdefghijklmnop' },
  ],
  answer: {
    description: 'The receipt',
    headers: 'rate',
    body: { name: 'Receipt', schema: receiptAnswer, examples: { example: RECEIPT } },
  },
  errors: [...TOKEN_ERRORS, 'not_found'],
  dialect: OPENAI_ERRORS,
  handle: (parts) => (incoming) => answerReceipt(incoming, parts),
};

/** A request of another account gets the same answer as one that does not exist. */
async function answerReceipt(
  incoming: IncomingRequest,
  { callerAuth, store, relay }: ApiParts,
): Promise<Response> {
  const snapshot = await callerAuth.account(callerAuth.caller(incoming));
  const row = await store.db
    .selectFrom('request')
    .selectAll()
    .where('id', '=', incoming.parameters[0] ?? '')
    .where('account_id', '=', snapshot.accountId)
    .executeTakeFirst();
  if (!row) throw new Fault('not_found', 'There is no such request on this account.');
  const kept = await tagsOf(IN_PLACE, store.db, { accountId: row.account_id, ids: [row.id] });
  const tags = kept.get(row.id);
  const receipt = { ...receiptView(receiptOf(row)), ...(tags && { tags }) };
  return json(receipt, incoming.requestId, rateHeaders(rateOf(snapshot, 'chat', relay)));
}
