import {
  MOST_TURNS,
  type ResponseStore,
  type SizedItems,
  type StoredItem,
} from '../activity/response-store.ts';
import type { IncomingRequest } from '../http/router.ts';
import { MAX_BODY_BYTES, SMALL_BODY_BYTES } from '../http/request-body.ts';
import type { BodySize } from '../relay/call.ts';
import { Fault } from '../std/fault.ts';
import type { AccountId } from '../std/ids.ts';
import type { ResponsesRequest } from '../wire/responses/request.ts';
import { findItem, isReasoningId, isReference, itemsOfInput, responseOfItem } from './response-items.ts';

/** The input of a request with everything that it refers to in its place, as if its client had sent it. */
export interface WholeInput {
  readonly items: readonly StoredItem[];
  /** Of what was not in the body. */
  readonly added: BodySize;
}

interface HistoryParts {
  readonly responses: ResponseStore;
  readonly memory: IncomingRequest['memory'];
}

/** As many as a body may have. */
const MOST_ITEMS = 10_000;
const MOST_MEGABYTES = `${MAX_BODY_BYTES / 1_048_576} MB`;

/** Whether a request names something that is stored. */
export function usesState({ previous_response_id: previous, input }: ResponsesRequest): boolean {
  return (
    (previous ?? undefined) !== undefined ||
    (typeof input !== 'string' && input.some((item) => isReference(item) && !isReasoningId(item.id)))
  );
}

/** Throws `previous_response_not_found` where something is not there, or not any more. */
export async function wholeInput(
  asked: ResponsesRequest,
  accountId: AccountId,
  { responses, memory }: HistoryParts,
): Promise<WholeInput> {
  const history = new History(responses, memory, accountId);
  const previous = asked.previous_response_id ?? undefined;
  const earlier = previous === undefined ? [] : await history.before(previous);
  const items = await history.withReferences([...earlier, ...itemsOfInput(asked.input)]);
  if (items.length > MOST_ITEMS) throw tooLong(`${MOST_ITEMS} items`);
  return { items, added: history.size };
}

/** What is read for one request, within the bounds of a body. */
class History {
  readonly #responses: ResponseStore;
  readonly #memory: IncomingRequest['memory'];
  readonly #accountId: AccountId;
  readonly #loaded = new Map<string, SizedItems>();
  #announcedBytes = 0;
  #bytes = 0;
  #characters = 0;

  constructor(responses: ResponseStore, memory: IncomingRequest['memory'], accountId: AccountId) {
    this.#responses = responses;
    this.#memory = memory;
    this.#accountId = accountId;
  }

  /** What was put in place of ids. */
  get size(): BodySize {
    return { bytes: this.#bytes, characters: this.#characters };
  }

  /** The items of a response and of all that it follows. */
  async before(id: string): Promise<StoredItem[]> {
    const turns = await this.#responses.turns(id, this.#accountId);
    if (!turns) throw notFound('previous_response_id', id);
    if (turns.length > MOST_TURNS) throw tooLong(`${MOST_TURNS} turns`);
    await this.#load(new Map(turns.map((turn) => [turn.id, turn.itemBytes])));
    return turns.flatMap((turn) => {
      const loaded = this.#loaded.get(turn.id);
      if (!loaded) throw notFound('previous_response_id', id);
      this.#add(loaded.size);
      return [...loaded.input, ...loaded.output];
    });
  }

  /** Each reference is replaced by what it refers to. */
  async withReferences(items: readonly StoredItem[]): Promise<StoredItem[]> {
    const named = items.filter(isReference).map(({ id }) => responseOfItem(id));
    const missing = [...new Set(named)].filter((id) => id !== undefined && !this.#loaded.has(id)) as string[];
    if (missing.length > MOST_TURNS) throw tooLong(`${MOST_TURNS} responses`);
    if (missing.length > 0) await this.#load(await this.#responses.itemBytes(missing, this.#accountId));
    return items.flatMap((item) => (isReference(item) ? this.#referred(item.id) : [item]));
  }

  #referred(id: string): StoredItem[] {
    const responseId = responseOfItem(id) ?? '';
    const loaded = this.#loaded.get(responseId);
    const item = loaded && findItem(loaded, responseId, id);
    if (item) {
      const text = JSON.stringify(item);
      this.#add({ bytes: Buffer.byteLength(text), characters: text.length });
      return [item];
    }
    if (isReasoningId(id)) return [];
    throw notFound('input', id);
  }

  async #load(bytesById: ReadonlyMap<string, number>): Promise<void> {
    const bytes = bytesById.values().reduce((sum, one) => sum + one, 0);
    this.#announcedBytes += bytes;
    if (this.#announcedBytes > MAX_BODY_BYTES) throw tooLong(MOST_MEGABYTES);
    if (bytes > SMALL_BODY_BYTES) await this.#memory.hold(bytes);
    const items = await this.#responses.items([...bytesById.keys()], this.#accountId);
    for (const [id, loaded] of items) this.#loaded.set(id, loaded);
  }

  #add({ bytes, characters }: BodySize): void {
    this.#bytes += bytes;
    this.#characters += characters;
    if (this.#bytes > MAX_BODY_BYTES) throw tooLong(MOST_MEGABYTES);
  }
}

function notFound(param: string, id: string): Fault {
  const shown = /^[\w-]{1,128}$/.test(id) ? ` ${id}` : '';
  const message = `What${shown} refers to is not stored on this account, or not any more. Send the whole conversation in input.`;
  return new Fault('previous_response_not_found', message, { param });
}

function tooLong(what: string): Fault {
  const message = `What is stored of this conversation has more than ${what}. Begin a new one.`;
  return new Fault('request_too_large', message, { param: 'previous_response_id' });
}
