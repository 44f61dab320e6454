import type { NamedItem } from '../activity/conversation-store.ts';
import type { ResponseItems, StoredItem } from '../activity/response-store.ts';
import { Fault } from '../std/fault.ts';
import type { ResponsesRequest } from '../wire/responses/request.ts';

/** Ids of what is stored. An item's id leads to its response: `msg_` and `resp_` have the rest in common. */

const BARE_LENGTH = 24;
const ITEM_ID = new RegExp(`^[a-z]+_([0-9A-Za-z]{${BARE_LENGTH}})_i?\\d+$`);

export function responseOfItem(itemId: string): string | undefined {
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

export function isReference(item: StoredItem): item is StoredItem & { readonly id: string } {
  return item['type'] === 'item_reference' && typeof item['id'] === 'string';
}

/** Thoughts are not sent to backends, so one that is not there is not missed. */
export function isReasoningId(id: string): boolean {
  return id.startsWith('rs_');
}

export function findItem(
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

export interface ItemPage {
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
