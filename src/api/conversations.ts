import { z } from 'zod';
import type { NamedItem, StoredConversation } from '../activity/conversation-store.ts';
import { parseBody } from '../http/request-body.ts';
import { json, rateHeaders } from '../http/response.ts';
import type { IncomingRequest } from '../http/router.ts';
import type { Caller } from '../ledger/port.ts';
import { Fault } from '../std/fault.ts';
import type { AccountId } from '../std/ids.ts';
import { metadataSchema } from '../wire/openai/chat.ts';
import { conversationItems } from '../wire/responses/request.ts';
import { BODY_ERRORS, OPENAI_ERRORS, TOKEN_ERRORS } from './errors.ts';
import { work } from './inference.ts';
import type { ApiOperation, ApiParts } from './operation.ts';
import { itemPage, shownItem, wholeInput, withOwnIds } from './response-history.ts';
import { ITEM_LIST, LIST_QUERY } from './stored-responses.ts';

const EXAMPLE_ID = 'conv_0WPlqUf4abcdefghijklmnop';
const EXAMPLE_ITEM = {
  id: 'msg_0WPlqUf4abcdefghijklmnop_i0',
  type: 'message',
  role: 'user',
  content: [{ type: 'input_text', text: 'What is a hold?' }],
};
const CONVERSATION_ID = { name: 'id', description: 'The id of a conversation', example: EXAMPLE_ID };
const ITEM_ID = { name: 'item', description: 'The id of an item', example: EXAMPLE_ITEM.id };

const CONVERSATION = {
  name: 'Conversation',
  schema: z.object({
    id: z.string(),
    object: z.literal('conversation'),
    created_at: z.int().describe('Seconds since 1970'),
    metadata: z.record(z.string(), z.unknown()),
  }),
  examples: {
    example: { id: EXAMPLE_ID, object: 'conversation', created_at: 1_763_170_000, metadata: {} },
  },
};

const createSchema = z.looseObject({
  items: conversationItems.nullish().describe('What the conversation begins with, at most 20 items.'),
  metadata: metadataSchema.nullish(),
});

const addSchema = z.looseObject({
  items: conversationItems.min(1).describe('What is added to the conversation, at most 20 items.'),
});

/** What all operations about conversations have in common. */
const SHARED = {
  tag: 'OpenAI-compatible',
  token: 'required',
  errors: [...TOKEN_ERRORS, 'not_found', 'rate_limit_exceeded'],
  dialect: OPENAI_ERRORS,
} as const satisfies Partial<ApiOperation>;

const WITH_BODY = [
  ...BODY_ERRORS,
  'not_found',
  'rate_limit_exceeded',
  'previous_response_not_found',
] as const;

export const createConversation: ApiOperation = {
  ...SHARED,
  id: 'v1CreateConversation',
  method: 'POST',
  path: '/v1/conversations',
  summary: 'Begin a conversation (OpenAI)',
  description:
    'Name it as conversation in POST /v1/responses. Its items are the beginning of the input, and what is new is added.',
  errors: WITH_BODY,
  request: {
    name: 'ConversationRequest',
    schema: createSchema,
    examples: {
      simple: { items: [{ role: 'user', content: 'What is a hold?' }], metadata: { topic: 'money' } },
    },
  },
  answer: { description: 'The conversation', headers: 'rate', body: CONVERSATION },
  handle: work(forConversation(create)),
};

export const conversation: ApiOperation = {
  ...SHARED,
  id: 'v1GetConversation',
  method: 'GET',
  path: '/v1/conversations/{id}',
  summary: 'Get a conversation (OpenAI)',
  parameters: [CONVERSATION_ID],
  answer: { description: 'The conversation, without its items', headers: 'rate', body: CONVERSATION },
  handle: work(
    forConversation(async ({ id, accountId, parts }) => shown(await parts.conversations.find(id, accountId))),
  ),
};

export const deleteConversation: ApiOperation = {
  ...SHARED,
  id: 'v1DeleteConversation',
  method: 'DELETE',
  path: '/v1/conversations/{id}',
  summary: 'Delete a conversation (OpenAI)',
  description: 'With all its items. Responses that were made in it stay until they expire.',
  parameters: [CONVERSATION_ID],
  answer: {
    description: 'It is deleted',
    headers: 'rate',
    body: {
      name: 'DeletedConversation',
      schema: z.object({
        id: z.string(),
        object: z.literal('conversation.deleted'),
        deleted: z.literal(true).describe('It is gone.'),
      }),
      examples: { example: { id: EXAMPLE_ID, object: 'conversation.deleted', deleted: true } },
    },
  },
  handle: work(
    forConversation(async ({ id, accountId, parts }) =>
      (await parts.conversations.remove(id, accountId))
        ? { id, object: 'conversation.deleted', deleted: true }
        : undefined,
    ),
  ),
};

export const addConversationItems: ApiOperation = {
  ...SHARED,
  id: 'v1CreateConversationItems',
  method: 'POST',
  path: '/v1/conversations/{id}/items',
  summary: 'Add items to a conversation (OpenAI)',
  parameters: [CONVERSATION_ID],
  errors: WITH_BODY,
  request: {
    name: 'ConversationItemsRequest',
    schema: addSchema,
    examples: { simple: { items: [{ role: 'user', content: 'What is a hold?' }] } },
  },
  answer: { description: 'The items that were added', headers: 'rate', body: ITEM_LIST },
  handle: work(forConversation(addItems)),
};

export const listConversationItems: ApiOperation = {
  ...SHARED,
  id: 'v1ListConversationItems',
  method: 'GET',
  path: '/v1/conversations/{id}/items',
  summary: 'List the items of a conversation (OpenAI)',
  description: 'In pages, the last items first.',
  parameters: [CONVERSATION_ID],
  query: LIST_QUERY,
  answer: { description: 'A page of items', headers: 'rate', body: ITEM_LIST },
  handle: work(
    forConversation(async (asked) => {
      const items = await allItems(asked);
      return items && itemPage(items, new URL(asked.incoming.request.url).searchParams);
    }),
  ),
};

export const conversationItem: ApiOperation = {
  ...SHARED,
  id: 'v1GetConversationItem',
  method: 'GET',
  path: '/v1/conversations/{id}/items/{item}',
  summary: 'Get an item of a conversation (OpenAI)',
  parameters: [CONVERSATION_ID, ITEM_ID],
  answer: {
    description: 'The item',
    headers: 'rate',
    body: {
      name: 'ConversationItem',
      schema: z.looseObject({ id: z.string(), type: z.string() }),
      examples: { example: EXAMPLE_ITEM },
    },
  },
  handle: work(
    forConversation(async (asked) => (await allItems(asked))?.find(({ id }) => id === asked.itemId)),
  ),
};

export const deleteConversationItem: ApiOperation = {
  ...SHARED,
  id: 'v1DeleteConversationItem',
  method: 'DELETE',
  path: '/v1/conversations/{id}/items/{item}',
  summary: 'Delete an item of a conversation (OpenAI)',
  parameters: [CONVERSATION_ID, ITEM_ID],
  answer: { description: 'The conversation without it', headers: 'rate', body: CONVERSATION },
  handle: work(
    forConversation(async ({ id, itemId, accountId, parts: { conversations } }) => {
      const whole = await conversations.find(id, accountId);
      return whole && (await conversations.removeItem(id, itemId, accountId)) ? shown(whole) : undefined;
    }),
  ),
};

/** One request about a conversation. */
interface AskedConversation {
  readonly id: string;
  readonly itemId: string;
  readonly accountId: AccountId;
  readonly incoming: IncomingRequest;
  readonly parts: ApiParts;
}

/** Of another account, or expired, is the same as one that never was. Each counts against the account's rate. */
function forConversation(answer: (asked: AskedConversation) => Promise<unknown>) {
  return async (incoming: IncomingRequest, caller: Caller, parts: ApiParts): Promise<Response> => {
    const { account, rate } = await parts.callerAuth.freeCaller(caller);
    const [id = '', itemId = ''] = incoming.parameters;
    const found = await answer({ id, itemId, accountId: account.accountId, incoming, parts });
    if (found === undefined)
      throw new Fault('not_found', 'There is no such conversation or item on this account.');
    return json(found, incoming.requestId, rateHeaders(rate));
  };
}

async function create({ accountId, incoming, parts }: AskedConversation): Promise<unknown> {
  const asked = parseBody(createSchema, (await incoming.body.json()).value);
  if (!parts.responses.isOn)
    throw new Fault('invalid_field', 'This server keeps no conversations: send everything in input.');
  const items = await ownItems(asked.items ?? [], { accountId, incoming, parts });
  const id = `conv_${incoming.requestId.slice('req_'.length)}`;
  return shown(await parts.conversations.create(accountId, { id, metadata: asked.metadata ?? {} }, items));
}

async function addItems(asked: AskedConversation): Promise<unknown> {
  const { id, accountId, parts } = asked;
  const { items } = parseBody(addSchema, (await asked.incoming.body.json()).value);
  const own = await ownItems(items, asked);
  if (!(await parts.conversations.add(id, accountId, own))) return undefined;
  return {
    object: 'list',
    data: own.map(shownItem),
    first_id: own[0]?.id ?? null,
    last_id: own.at(-1)?.id ?? null,
    has_more: false,
  };
}

/** Items that are referred to by id are copied, so that the conversation does not depend on the responses. */
async function ownItems(
  items: z.infer<typeof conversationItems>,
  { accountId, incoming, parts }: Omit<AskedConversation, 'id' | 'itemId'>,
): Promise<NamedItem[]> {
  const { memory, requestId } = incoming;
  const { own } = await wholeInput({ input: items }, accountId, { ...parts, memory });
  return withOwnIds(own, requestId);
}

const MOST_LISTED = 10_000;

async function allItems({
  id,
  accountId,
  incoming,
  parts: { conversations },
}: AskedConversation): Promise<readonly NamedItem[] | undefined> {
  const whole = await conversations.find(id, accountId);
  if (!whole) return undefined;
  await incoming.memory.hold(whole.itemBytes);
  return (await conversations.items(id, accountId, MOST_LISTED)).map(shownItem);
}

function shown(whole: StoredConversation | undefined): unknown {
  return (
    whole && {
      id: whole.id,
      object: 'conversation',
      created_at: Math.floor(whole.createdAt / 1000),
      metadata: whole.metadata,
    }
  );
}
