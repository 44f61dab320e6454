import { z } from 'zod';
import type { IncomingRequest } from '../http/incoming-request.ts';
import { parseBody, readJson, withoutNulls } from '../http/json-body.ts';
import { json, rateHeaders } from '../http/response.ts';
import type { AccountSnapshot, Caller } from '../ledger/port.ts';
import type { BodySize } from '../relay/call.ts';
import { Fault } from '../std/fault.ts';
import { chargeLimits, USUAL_ENCODING } from '../tokenizer/port.ts';
import { countableMessages } from '../wire/anthropic/count.ts';
import { countTokensRequestSchema } from '../wire/anthropic/request.ts';
import type { CountableInput } from '../wire/openai/countable-input.ts';
import { ANTHROPIC_ERRORS, BODY_ERRORS } from './errors.ts';
import { largeBodyOf, placed } from './inference.ts';
import type { ApiOperation, ApiParts } from './operation.ts';

export const countMessageTokens: ApiOperation = {
  id: 'v1CountTokens',
  method: 'POST',
  path: '/v1/messages/count_tokens',
  tag: 'Anthropic-compatible',
  summary: 'Count the input tokens of a conversation',
  description: 'Free of charge, and an estimate: each provider counts in its own way.',
  token: 'required',
  request: {
    name: 'CountTokensRequest',
    schema: countTokensRequestSchema,
    examples: {
      simple: {
        model: 'svc_chat/house-guide',
        messages: [{ role: 'user', content: 'What is a hold?' }],
      },
    },
  },
  answer: {
    description: 'The number of tokens',
    headers: 'rate',
    body: {
      name: 'CountTokensAnswer',
      schema: z.object({ input_tokens: z.int() }),
      examples: { example: { input_tokens: 14 } },
    },
  },
  errors: [...BODY_ERRORS, 'rate_limit_exceeded'],
  dialect: ANTHROPIC_ERRORS,
  handle: placed(count),
};

/** Clients ask before they send, to know when a conversation grows too long. */
async function count(incoming: IncomingRequest, caller: Caller, parts: ApiParts): Promise<Response> {
  const { account, rate } = await parts.callerAuth.freeCaller(caller);
  const { value, size } = await readJson(incoming.request, largeBodyOf(parts, incoming, caller));
  const input = countableMessages(parseBody(countTokensRequestSchema, withoutNulls(value)));
  const tokens = await countForFree(input, { account, size }, parts);
  return json({ input_tokens: tokens }, incoming.requestId, rateHeaders(rate));
}

/** Counts with our own tokenizer, within the account's share of it. */
export async function countForFree(
  { texts, tokens }: CountableInput,
  { account, size }: { readonly account: AccountSnapshot; readonly size: BodySize },
  { callerAuth }: ApiParts,
): Promise<number> {
  const counted = await callerAuth.parts.tokens.count({
    encoding: USUAL_ENCODING,
    texts,
    account: account.accountId,
    ...chargeLimits(size.characters),
  });
  if (!counted)
    throw new Fault('service_unavailable', 'The tokens cannot be counted right now. Retry.', {
      retryAfterMs: RETRY_AFTER_MS,
    });
  return tokens + counted.tokens;
}

const RETRY_AFTER_MS = 5_000;
