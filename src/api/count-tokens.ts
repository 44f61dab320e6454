import { z } from 'zod';
import type { Route } from '../catalog/catalog.ts';
import { findRoute } from '../catalog/find.ts';
import { catalogFor } from '../catalog/groups.ts';
import type { IncomingRequest } from '../http/router.ts';
import { parseBody, withoutNulls } from '../http/request-body.ts';
import { json, rateHeaders } from '../http/response.ts';
import type { AccountSnapshot, Caller } from '../ledger/port.ts';
import type { BodySize } from '../relay/call.ts';
import { countAtBackend, type CountedConversation } from '../relay/count-at-backend.ts';
import { ClientLeftFault, Fault } from '../std/fault.ts';
import { requireModel } from '../relay/admission.ts';
import { chargeLimits, USUAL_ENCODING } from '../tokenizer/port.ts';
import { countableMessages } from '../wire/anthropic/to-chat.ts';
import { selectBetas, countTokensRequestSchema } from '../wire/anthropic/request.ts';
import type { CountableInput } from '../wire/openai/countable-input.ts';
import { ANTHROPIC_ERRORS, BODY_ERRORS } from './errors.ts';
import { work } from './inference.ts';
import type { ApiOperation, ApiParts } from './operation.ts';

export const countMessageTokens: ApiOperation = {
  id: 'v1CountTokens',
  method: 'POST',
  path: '/v1/messages/count_tokens',
  tag: 'Anthropic-compatible',
  summary: 'Count the input tokens of a conversation (Anthropic)',
  description:
    'Free of charge. Where Claude serves the model, it counts; otherwise an estimate: each provider counts in its own way.',
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
  errors: [...BODY_ERRORS, 'rate_limit_exceeded', 'model_not_allowed'],
  dialect: ANTHROPIC_ERRORS,
  handle: work(count),
};

/** Clients ask before they send, to know when a conversation grows too long. */
async function count(incoming: IncomingRequest, caller: Caller, parts: ApiParts): Promise<Response> {
  const { account, rate } = await parts.callerAuth.freeCaller(caller);
  const { value, size } = await incoming.body.json();
  const body = withoutNulls(value);
  const request = parseBody(countTokensRequestSchema, body);
  const route = knownRoute(request.model, account, parts);
  if (route) requireModel(account, route);
  const counted =
    route && (await countAtBackend(route, conversationOf(incoming, body, account), parts.relay));
  const tokens =
    counted ??
    (await countForFree(countableMessages(request), { account, size, signal: incoming.signal }, parts));
  return json({ input_tokens: tokens }, incoming.requestId, rateHeaders(rate));
}

/** Clients may count for a model that is not served here: then our own tokenizer estimates. */
function knownRoute(model: string, { priceGroup }: AccountSnapshot, { relay }: ApiParts): Route | undefined {
  try {
    return findRoute(catalogFor(relay.catalog(), priceGroup), model, 'chat_completion');
  } catch (thrown) {
    if (thrown instanceof Fault) return undefined;
    throw thrown;
  }
}

/** Clients send more fields than a backend accepts for counting; only those of the schema are passed on. */
function conversationOf(
  { request: { headers }, requestId, signal }: IncomingRequest,
  body: Record<string, unknown>,
  { accountId }: AccountSnapshot,
): CountedConversation {
  const fields = Object.entries(body).filter(([field]) =>
    Object.hasOwn(countTokensRequestSchema.shape, field),
  );
  return {
    body: Object.fromEntries(fields),
    version: headers.get('anthropic-version') ?? undefined,
    beta: selectBetas(headers.get('anthropic-beta')).passed,
    account: accountId,
    requestId,
    signal,
  };
}

interface FreeCount {
  readonly account: AccountSnapshot;
  readonly size: BodySize;
  /** Aborted when the client leaves. */
  readonly signal: AbortSignal;
}

/** Counts with our own tokenizer, within the account's share of it. */
export async function countForFree(
  { texts, tokens }: CountableInput,
  { account, size, signal }: FreeCount,
  { relay }: ApiParts,
): Promise<number> {
  const counted = await relay.tokens.count({
    encoding: USUAL_ENCODING,
    texts,
    account: account.accountId,
    signal,
    ...chargeLimits(size.characters),
  });
  if (signal.aborted) throw new ClientLeftFault();
  if (!counted)
    throw new Fault('service_unavailable', 'The tokens cannot be counted right now. Try again.', {
      retryAfterMs: RETRY_AFTER_MS,
    });
  return tokens + counted.tokens;
}

const RETRY_AFTER_MS = 5_000;
