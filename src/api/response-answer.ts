import type { ConversationStore, StoredConversation } from '../activity/conversation-store.ts';
import type { StoredItem } from '../activity/response-store.ts';
import type { IncomingRequest } from '../http/router.ts';
import type { BodySize, ChatCall, CompleteAnswer, HoldEnd, RouteSelector } from '../relay/call.ts';
import { Fault } from '../std/fault.ts';
import type { AccountId } from '../std/ids.ts';
import type { Knobs } from '../wire/field-table.ts';
import type { ChatCompletion } from '../wire/openai/chat.ts';
import { conversationIdOf, type ResponseContext, type ResponseObject } from '../wire/responses/answer.ts';
import type { ResponsesRequest } from '../wire/responses/request.ts';
import { chatToResponse, responsesEncoder, type ResponsesEncoder } from '../wire/responses/stream.ts';
import { responsesToChat } from '../wire/responses/to-chat.ts';
import type { CallBase } from './inference.ts';
import type { ApiParts } from './operation.ts';
import { notStored, wholeInput } from './response-history.ts';
import { itemsOfInput, withOwnIds } from './response-items.ts';

/** A Responses request that was read and not yet relayed. */
export interface ResponsesCall extends CallBase {
  readonly responses: ResponsesRequest;
  readonly selector: RouteSelector;
  readonly knobs: Knobs | undefined;
}

/** One answer: made from what is stored, presented to its client, and stored if it is to be. */
export class ResponseAnswer {
  readonly #call: ResponsesCall;
  readonly #parts: Pick<ApiParts, 'responses' | 'conversations' | 'callerAuth' | 'relay'>;
  readonly #context: ResponseContext;
  #encoder: ResponsesEncoder | undefined;
  #presented: ResponseObject | undefined;
  /** The one that this request has taken, and what it adds of its own. */
  #conversation: { readonly id: string; own: readonly StoredItem[] } | undefined;

  constructor(
    call: ResponsesCall,
    parts: Pick<ApiParts, 'responses' | 'conversations' | 'callerAuth' | 'relay'>,
  ) {
    const { requestId: id, responses: request } = call;
    this.#call = call;
    this.#parts = parts;
    this.#context = {
      id,
      model: request.model,
      created: Math.floor(parts.relay.clock.now() / 1000),
      request,
      isStored: request.store !== false && parts.responses.isOn,
    };
  }

  /** What its ids stand for is put in their place first: it is held, metered and charged like what was sent. */
  async chatWithHistory(memory: IncomingRequest['memory']): Promise<ChatCall> {
    const { caller, responses: asked, size } = this.#call;
    const { accountId } = await this.#parts.callerAuth.account(caller);
    const conversation = await this.#takeConversation(accountId);
    const { items, own, added } = await wholeInput(
      asked,
      accountId,
      { ...this.#parts, memory },
      conversation,
    );
    if (this.#conversation) this.#conversation.own = own;
    // They were checked when they were sent.
    const input = items as unknown as Exclude<ResponsesRequest['input'], string>;
    return this.chatCall(
      { ...asked, input, previous_response_id: undefined, conversation: undefined },
      { bytes: size.bytes + added.bytes, characters: size.characters + added.characters },
    );
  }

  /** `whole`: with everything that the request refers to, and how large that is as text. */
  chatCall(whole: ResponsesRequest, size: BodySize): ChatCall {
    const { responses: asked, ...call } = this.#call;
    const isKept = this.#context.isStored || this.#conversation !== undefined;
    return {
      ...call,
      size,
      label: asked.model,
      request: responsesToChat(whole),
      cap: 'lowered',
      encoder: () => (this.#encoder = responsesEncoder(this.#context)),
      ...(isKept && { onComplete: (answer) => this.#keep(answer) }),
      ...(this.#conversation && { onClosed: (end, settled) => this.#closed(end, settled) }),
    };
  }

  present(completion: ChatCompletion): ResponseObject {
    return (this.#presented ??= chatToResponse(completion, this.#context));
  }

  /** There will be no answer: the conversation that it took is free for another request. */
  async release(): Promise<void> {
    const conversation = this.#conversation;
    if (!conversation) return;
    const { requestId } = this.#call;
    await this.#parts.conversations.release(conversation.id, requestId).catch((error: unknown) => {
      this.#parts.relay.log.warn('conversation_not_released', { request: requestId, error });
    });
  }

  async #takeConversation(accountId: AccountId): Promise<StoredConversation | undefined> {
    const { responses: asked, requestId } = this.#call;
    const id = conversationIdOf(asked);
    if (id === undefined) return undefined;
    if ((asked.previous_response_id ?? undefined) !== undefined)
      throw new Fault('invalid_field', 'Send conversation or previous_response_id, not both.', {
        param: 'previous_response_id',
      });
    const taken = await this.#parts.conversations.take(id, accountId, requestId);
    if (taken === 'missing') throw notStored('conversation', id);
    if (taken === 'taken')
      throw new Fault('invalid_field', 'Another response is being made in this conversation. Wait for it.', {
        param: 'conversation',
      });
    this.#conversation = { id, own: [] };
    return taken;
  }

  #closed(end: HoldEnd, settled: Parameters<NonNullable<ChatCall['onClosed']>>[1]): void {
    const isComplete = end.kind === 'settle' && end.settlement.outcome === 'completed';
    if (!isComplete) void this.release();
    this.#call.onClosed?.(end, settled);
  }

  /** An answer that cannot be stored is given all the same. */
  async #keep({ accountId, completion, usage }: CompleteAnswer): Promise<void> {
    const { requestId } = this.#call;
    try {
      const answer = completion ? this.present(completion) : this.#encoder?.whole(usage);
      if (!answer) return;
      const conversation = this.#conversation;
      await Promise.all([
        this.#context.isStored && this.#store(accountId, answer),
        conversation &&
          this.#addToConversation(this.#parts.conversations, { ...conversation, accountId }, answer),
      ]);
    } catch (error) {
      this.#parts.relay.log.warn('response_not_stored', { request: requestId, error });
    }
  }

  async #store(accountId: AccountId, answer: ResponseObject): Promise<void> {
    const { request } = this.#context;
    await this.#parts.responses.keep({
      id: answer.id,
      accountId,
      previousId: request.previous_response_id ?? undefined,
      conversationId: this.#conversation?.id,
      state: answer.status === 'incomplete' ? 'incomplete' : 'completed',
      items: { input: itemsOfInput(request.input), output: answer.output },
      answer,
    });
  }

  async #addToConversation(
    conversations: ConversationStore,
    { id, own, accountId }: { id: string; own: readonly StoredItem[]; accountId: AccountId },
    { output }: ResponseObject,
  ): Promise<void> {
    const { requestId } = this.#call;
    await conversations.finish({ id, accountId, requestId }, [...withOwnIds(own, requestId), ...output]);
  }
}
