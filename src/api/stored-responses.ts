import { z } from 'zod';
import type { NamedItem } from '../activity/conversation-store.ts';
import { json, rateHeaders } from '../http/response.ts';
import type { IncomingRequest } from '../http/router.ts';
import type { Caller } from '../ledger/port.ts';
import { Fault } from '../std/fault.ts';
import type { AccountId } from '../std/ids.ts';
import { OPENAI_ERRORS, TOKEN_ERRORS } from './errors.ts';
import { work } from './inference.ts';
import type { ApiBody, ApiOperation, ApiParts } from './operation.ts';
import { wholeInput } from './response-history.ts';
import { inputItemId, itemPage, shownItem } from './response-history.ts';
import { responseSchema } from './responses.ts';

const EXAMPLE_ID = 'resp_0WPlqUf4abcdefghijklmnop';
const RESPONSE_ID = { name: 'id', description: 'The id of a stored response', example: EXAMPLE_ID };

const ANSWER = {
  id: EXAMPLE_ID,
  object: 'response',
  created_at: 1_763_170_000,
  status: 'completed',
  error: null,
  incomplete_details: null,
  model: 'svc_chat/house-guide',
  output: [],
  usage: null,
};

/** What the lists of items read of the query. */
export const LIST_QUERY: NonNullable<ApiOperation['query']> = [
  {
    name: 'limit',
    description: 'How many items a page has',
    schema: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
  },
  {
    name: 'order',
    description: 'Which items come first: the last (`desc`) or the first (`asc`)',
    schema: { type: 'string', enum: ['asc', 'desc'], default: 'desc' },
  },
  { name: 'after', description: 'The last id of the page before', schema: { type: 'string' } },
];

export const ITEM_LIST: ApiBody = {
  name: 'ItemList',
  schema: z.object({
    object: z.literal('list'),
    data: z.array(z.looseObject({ id: z.string() })),
    first_id: z.string().nullable(),
    last_id: z.string().nullable(),
    has_more: z.boolean(),
  }),
  examples: {
    example: {
      object: 'list',
      data: [
        {
          id: 'msg_0WPlqUf4abcdefghijklmnop_i0',
          type: 'message',
          role: 'user',
          content: [{ type: 'input_text', text: 'What is a hold?' }],
        },
      ],
      first_id: 'msg_0WPlqUf4abcdefghijklmnop_i0',
      last_id: 'msg_0WPlqUf4abcdefghijklmnop_i0',
      has_more: false,
    },
  },
};

/** What all operations about stored responses have in common. */
const SHARED = {
  tag: 'OpenAI-compatible',
  token: 'required',
  parameters: [RESPONSE_ID],
  errors: [...TOKEN_ERRORS, 'not_found', 'rate_limit_exceeded'],
  dialect: OPENAI_ERRORS,
} as const satisfies Partial<ApiOperation>;

export const storedResponse: ApiOperation = {
  ...SHARED,
  id: 'v1GetResponse',
  method: 'GET',
  path: '/v1/responses/{id}',
  summary: 'Get a stored response (OpenAI)',
  description: 'As it was answered. Not found once it has expired, was deleted or made room for newer ones.',
  answer: {
    description: 'The response',
    headers: 'rate',
    body: { name: 'StoredResponse', schema: responseSchema, examples: { example: ANSWER } },
  },
  handle: work(forStored(async (id, accountId, { responses }) => await responses.answer(id, accountId))),
};

export const deleteStoredResponse: ApiOperation = {
  ...SHARED,
  id: 'v1DeleteResponse',
  method: 'DELETE',
  path: '/v1/responses/{id}',
  summary: 'Delete a stored response (OpenAI)',
  description: 'Responses that follow it can no longer be continued.',
  answer: {
    description: 'It is deleted',
    headers: 'rate',
    body: {
      name: 'DeletedResponse',
      schema: z.object({
        id: z.string(),
        object: z.literal('response'),
        deleted: z.literal(true).describe('It is gone.'),
      }),
      examples: { example: { id: EXAMPLE_ID, object: 'response', deleted: true } },
    },
  },
  handle: work(
    forStored(async (id, accountId, { responses }) =>
      (await responses.remove(id, accountId)) ? { id, object: 'response', deleted: true } : undefined,
    ),
  ),
};

export const responseInputItems: ApiOperation = {
  ...SHARED,
  id: 'v1ListInputItems',
  method: 'GET',
  path: '/v1/responses/{id}/input_items',
  summary: "List a stored response's input (OpenAI)",
  description: 'Its own input; that of earlier turns is theirs. In pages, the last items first.',
  query: LIST_QUERY,
  answer: {
    description: 'A page of items',
    headers: 'rate',
    body: ITEM_LIST,
  },
  handle: work(forStored(inputItems)),
};

export const cancelResponse: ApiOperation = {
  ...SHARED,
  id: 'v1CancelResponse',
  method: 'POST',
  path: '/v1/responses/{id}/cancel',
  summary: 'Cancel a response that is made in the background (OpenAI)',
  description: 'What has come until then is charged. One that is over stays as it is.',
  answer: {
    description: 'The response',
    headers: 'rate',
    body: { name: 'StoredResponse', schema: responseSchema, examples: { example: ANSWER } },
  },
  handle: work(forStored(cancel)),
};

async function cancel(id: string, accountId: AccountId, parts: ApiParts): Promise<unknown> {
  const before = await parts.responses.answer(id, accountId);
  if (!before) return undefined;
  if (before['background'] !== true)
    throw new Fault('invalid_field', 'Only a response that is made in the background can be cancelled.', {
      param: 'id',
    });
  await parts.background.cancel(id, accountId);
  return await parts.responses.answer(id, accountId);
}

type Find = (
  id: string,
  accountId: AccountId,
  parts: ApiParts,
  incoming: IncomingRequest,
) => Promise<unknown>;

/** Of another account, or expired, is the same as one that never was. Each counts against the account's rate. */
function forStored(find: Find) {
  return async (incoming: IncomingRequest, caller: Caller, parts: ApiParts): Promise<Response> => {
    const { account, rate } = await parts.callerAuth.freeCaller(caller);
    const id = incoming.parameters[0] ?? '';
    const found = await find(id, account.accountId, parts, incoming);
    if (found === undefined) throw new Fault('not_found', 'There is no such response on this account.');
    return json(found, incoming.requestId, rateHeaders(rate));
  };
}

async function inputItems(
  id: string,
  accountId: AccountId,
  parts: ApiParts,
  incoming: IncomingRequest,
): Promise<unknown> {
  const own = (await parts.responses.items([id], accountId)).get(id);
  if (!own) return undefined;
  const listed = own.input.map((item, index) => ({ ...item, id: inputItemId(item, id, index) }));
  const asked = { input: listed as never };
  const { items } = await wholeInput(asked, accountId, { ...parts, memory: incoming.memory });
  // Each has the id by which it was named.
  return itemPage((items as readonly NamedItem[]).map(shownItem), new URL(incoming.request.url).searchParams);
}
