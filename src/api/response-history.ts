import type { ConversationStore, NamedItem, StoredConversation } from '../activity/conversation-store.ts';
import {
  MOST_TURNS,
  type ResponseItems,
  type ResponseStore,
  type SizedItems,
  type StoredItem,
} from '../activity/response-store.ts';
import type { IncomingRequest } from '../http/router.ts';
import { MAX_BODY_BYTES, SMALL_BODY_BYTES } from '../http/request-body.ts';
import type { BodySize } from '../relay/call.ts';
import { Fault } from '../std/fault.ts';
import type { AccountId } from '../std/ids.ts';
import { conversationIdOf } from '../wire/responses/answer.ts';
import type { ResponsesRequest } from '../wire/responses/request.ts';

/** The input of a request with everything that it refers to in its place, as if its client had sent it. */
export interface WholeInput {
  readonly items: readonly StoredItem[];
  /** The last of them, which the request itself has brought. */
  readonly own: readonly StoredItem[];
  /** The size of what was added to the body. */
  readonly added: BodySize;
}

interface HistoryParts {
  readonly responses: ResponseStore;
  readonly conversations: ConversationStore;
  readonly memory: IncomingRequest['memory'];
}

/** The same number as a body may have. */
const MOST_ITEMS = 10_000;
const MOST_MEGABYTES = `${MAX_BODY_BYTES / 1_048_576} MB`;

/** Whether a request names something that is stored. */
export function usesState(asked: ResponsesRequest): boolean {
  const { previous_response_id: previous, input } = asked;
  return (
    (previous ?? undefined) !== undefined ||
    conversationIdOf(asked) !== undefined ||
    (typeof input !== 'string' && input.some((item) => isReference(item) && !isReasoningId(item.id)))
  );
}

/** Throws `previous_response_not_found` where something is not there, or not any more. */
export async function wholeInput(
  asked: Pick<ResponsesRequest, 'input' | 'previous_response_id'>,
  accountId: AccountId,
  parts: HistoryParts,
  conversation?: StoredConversation,
): Promise<WholeInput> {
  const history = new History(parts, accountId);
  const previous = asked.previous_response_id ?? undefined;
  const earlier = previous === undefined ? [] : await history.before(previous);
  if (conversation) earlier.push(...(await history.of(conversation)));
  const own = await history.withReferences(itemsOfInput(asked.input));
  const items = [...(await history.withReferences(earlier)), ...own];
  if (items.length > MOST_ITEMS) throw tooLong(`${MOST_ITEMS} items`);
  return { items, own, added: history.size };
}

/** Reads stored items for one request, within the bounds of a body. */
class History {
  readonly #parts: HistoryParts;
  readonly #accountId: AccountId;
  readonly #loaded = new Map<string, SizedItems>();
  #ofConversations: ReadonlyMap<string, StoredItem> = new Map();
  #announcedBytes = 0;
  #bytes = 0;
  #characters = 0;

  constructor(parts: HistoryParts, accountId: AccountId) {
    this.#parts = parts;
    this.#accountId = accountId;
  }

  /** The size of the items that took the place of ids. */
  get size(): BodySize {
    return { bytes: this.#bytes, characters: this.#characters };
  }

  /** The items of a response and of all that it follows. */
  async before(id: string): Promise<StoredItem[]> {
    const turns = await this.#parts.responses.turns(id, this.#accountId);
    if (!turns) throw notStored('previous_response_id', id);
    if (turns.length > MOST_TURNS) throw tooLong(`${MOST_TURNS} turns`);
    if (turns.some(({ conversationId }) => conversationId !== undefined)) throw inConversation();
    await this.#load(new Map(turns.map((turn) => [turn.id, turn.itemBytes])));
    return turns.flatMap((turn) => {
      const loaded = this.#loaded.get(turn.id);
      if (!loaded) throw notStored('previous_response_id', id);
      this.#add(loaded.size);
      return [...loaded.input, ...loaded.output];
    });
  }

  async of({ id, itemBytes }: StoredConversation): Promise<readonly StoredItem[]> {
    await this.#announce(itemBytes);
    const items = await this.#parts.conversations.items(id, this.#accountId, MOST_ITEMS);
    for (const item of items) this.#addText(item);
    return items;
  }

  /** Each reference is replaced by what it refers to. */
  async withReferences(items: readonly StoredItem[]): Promise<StoredItem[]> {
    const named = items.filter(isReference).map(({ id }) => responseOfItem(id));
    const missing = [...new Set(named)].filter((id) => id !== undefined && !this.#loaded.has(id)) as string[];
    if (missing.length > MOST_TURNS) throw tooLong(`${MOST_TURNS} responses`);
    if (missing.length > 0) await this.#load(await this.#parts.responses.itemBytes(missing, this.#accountId));
    await this.#findInConversations(items);
    return items.flatMap((item) => (isReference(item) ? this.#referred(item.id) : [item]));
  }

  /** Ids that no response has are looked for in conversations. */
  async #findInConversations(items: readonly StoredItem[]): Promise<void> {
    const ids = items.filter(isReference).map(({ id }) => id);
    const missing = [...new Set(ids)].filter((id) => !this.#itemOfResponse(id)).slice(0, MOST_TURNS);
    if (missing.length === 0) return;
    this.#ofConversations = await this.#parts.conversations.itemsById(missing, this.#accountId);
  }

  #itemOfResponse(id: string): StoredItem | undefined {
    const responseId = responseOfItem(id) ?? '';
    const loaded = this.#loaded.get(responseId);
    return loaded && findItem(loaded, responseId, id);
  }

  #referred(id: string): StoredItem[] {
    const item = this.#itemOfResponse(id) ?? this.#ofConversations.get(id);
    if (item) {
      this.#addText(item);
      return [{ ...item, id }];
    }
    if (isReasoningId(id)) return [];
    throw notStored('input', id);
  }

  async #load(bytesById: ReadonlyMap<string, number>): Promise<void> {
    await this.#announce(bytesById.values().reduce((sum, one) => sum + one, 0));
    const items = await this.#parts.responses.items([...bytesById.keys()], this.#accountId);
    for (const [id, loaded] of items) this.#loaded.set(id, loaded);
  }

  /** Before so many bytes are read. */
  async #announce(bytes: number): Promise<void> {
    this.#announcedBytes += bytes;
    if (this.#announcedBytes > MAX_BODY_BYTES) throw tooLong(MOST_MEGABYTES);
    if (bytes > SMALL_BODY_BYTES) await this.#parts.memory.hold(bytes);
  }

  #addText(item: StoredItem): void {
    const text = JSON.stringify(item);
    this.#add({ bytes: Buffer.byteLength(text), characters: text.length });
  }

  #add({ bytes, characters }: BodySize): void {
    this.#bytes += bytes;
    this.#characters += characters;
    if (this.#bytes > MAX_BODY_BYTES) throw tooLong(MOST_MEGABYTES);
  }
}

export function notStored(param: string, id: string): Fault {
  const shown = /^[\w-]{1,128}$/.test(id) ? ` ${id}` : '';
  const message = `What${shown} refers to is not stored on this account, or not any more. Send the whole conversation in input.`;
  return new Fault('previous_response_not_found', message, { param });
}

function inConversation(): Fault {
  const message =
    'This response was made in a conversation, which has what came before it. Send conversation instead.';
  return new Fault('invalid_field', message, { param: 'previous_response_id' });
}

function tooLong(what: string): Fault {
  const message = `What is stored of this conversation has more than ${what}. Begin a new one.`;
  return new Fault('request_too_large', message, { param: 'previous_response_id' });
}

/** Ids of what is stored. An item's id leads to its response: `msg_` and `resp_` have the rest in common. */

const BARE_LENGTH = 24;
const ITEM_ID = new RegExp(`^[a-z]+_([0-9A-Za-z]{${BARE_LENGTH}})_i?\\d+$`);

function responseOfItem(itemId: string): string | undefined {
  const bare = ITEM_ID.exec(itemId)?.[1];
  return bare === undefined ? undefined : `resp_${bare}`;
}

const PREFIXES: Readonly<Record<string, string>> = {
  message: 'msg',
  function_call: 'fc',
  function_call_output: 'fco',
  custom_tool_call: 'ctc',
  custom_tool_call_output: 'ctco',
  reasoning: 'rs',
};

/** What a client sent as input, as items. */
export function itemsOfInput(input: ResponsesRequest['input']): readonly StoredItem[] {
  if (typeof input !== 'string') return input;
  return [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: input }] }];
}

/**
 * An item as it is shown: a message that its client wrote as plain text has parts like every other one, since clients that
 * read a list know no other form.
 */
export function shownItem<Item extends StoredItem>(item: Item): Item {
  const { type, role, content } = item;
  if (type !== 'message') return item;
  const isAnswer = role === 'assistant';
  const part = (text: string) =>
    isAnswer ? { type: 'output_text', text, annotations: [] } : { type: 'input_text', text };
  return { status: 'completed', ...item, ...(typeof content === 'string' && { content: [part(content)] }) };
}

/** The id that an item has in the lists; an input item gets one by its place, unless its client gave it one. */
export function inputItemId(item: StoredItem, responseId: string, index: number): string {
  if (typeof item['id'] === 'string') return item['id'];
  return `${prefixOf(item)}_${responseId.slice('resp_'.length)}_i${index}`;
}

function prefixOf(item: StoredItem): string {
  return PREFIXES[String(item['type'])] ?? 'item';
}

/** Items with ids of their own, whatever their client called them: no two of a conversation share one. */
export function withOwnIds(items: readonly StoredItem[], requestId: string): NamedItem[] {
  const bare = requestId.slice('req_'.length);
  return items.map((item, index) => ({ ...item, id: `${prefixOf(item)}_${bare}_i${index}` }));
}

function isReference(item: StoredItem): item is StoredItem & { readonly id: string } {
  return item['type'] === 'item_reference' && typeof item['id'] === 'string';
}

/** Thoughts are not sent to backends, so one that is not there is not missed. */
function isReasoningId(id: string): boolean {
  return id.startsWith('rs_');
}

function findItem(
  { input, output }: ResponseItems,
  responseId: string,
  itemId: string,
): StoredItem | undefined {
  return (
    output.find((item) => item['id'] === itemId) ??
    input.find((item, index) => !isReference(item) && inputItemId(item, responseId, index) === itemId)
  );
}

/** A page of a list, as `limit`, `order` and `after` of the query ask for it. */
export function itemPage(items: readonly NamedItem[], query: URLSearchParams): ItemPage {
  const limit = limitOf(query);
  const ordered = orderOf(query) === 'asc' ? items : items.toReversed();
  const after = query.get('after');
  const start = after === null ? 0 : ordered.findIndex(({ id }) => id === after) + 1;
  if (after !== null && start === 0)
    throw new Fault('invalid_field', 'after names no item of this list.', { param: 'after' });
  const data = ordered.slice(start, start + limit);
  return {
    object: 'list',
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: start + limit < ordered.length,
  };
}

interface ItemPage {
  readonly object: 'list';
  readonly data: readonly NamedItem[];
  readonly first_id: string | null;
  readonly last_id: string | null;
  readonly has_more: boolean;
}

const MOST_ON_A_PAGE = 100;
const USUAL_PAGE = 20;

function limitOf(query: URLSearchParams): number {
  const text = query.get('limit');
  if (text === null) return USUAL_PAGE;
  const limit = Number(text);
  if (Number.isInteger(limit) && limit >= 1 && limit <= MOST_ON_A_PAGE) return limit;
  throw new Fault('invalid_field', `limit must be a whole number from 1 to ${MOST_ON_A_PAGE}.`, {
    param: 'limit',
  });
}

function orderOf(query: URLSearchParams): 'asc' | 'desc' {
  const order = query.get('order') ?? 'desc';
  if (order === 'asc' || order === 'desc') return order;
  throw new Fault('invalid_field', 'order must be asc or desc.', { param: 'order' });
}
