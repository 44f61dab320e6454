import type { BackgroundRows } from '../activity/background-rows.ts';
import type { ConversationStore, StoredConversation } from '../activity/conversation-store.ts';
import type { NewResponse, ResponseStore, StoredItem } from '../activity/response-store.ts';
import type { CallerAuth } from '../http/caller-auth.ts';
import type { IncomingRequest } from '../http/router.ts';
import type {
  BodySize,
  ChatCall,
  CompleteAnswer,
  HoldEnd,
  RelayParts,
  RouteSelector,
  CallBase,
} from '../relay/call.ts';
import { Fault } from '../std/fault.ts';
import type { AccountId } from '../std/ids.ts';
import type { Knobs } from '../wire/field-table.ts';
import type { ChatCompletion } from '../wire/openai/chat.ts';
import { faultBody } from '../wire/fault-body.ts';
import {
  conversationIdOf,
  responseIdOf,
  responseObject,
  type ResponseContext,
  type ResponseObject,
} from '../wire/responses/answer.ts';
import type { ResponsesRequest } from '../wire/responses/request.ts';
import { chatToResponse, responsesEncoder, type ResponsesEncoder } from '../wire/responses/stream.ts';
import { responsesToChat } from '../wire/responses/to-chat.ts';
import { itemsOfInput, notStored, usesState, wholeInput, withOwnIds } from './response-history.ts';

/** A Responses request that was read and not yet relayed. */
export interface ResponsesCall extends CallBase {
  readonly responses: ResponsesRequest;
  /** The body as it was sent, for another process that continues the job. */
  readonly body: Readonly<Record<string, unknown>>;
  readonly selector: RouteSelector;
  readonly knobs: Knobs | undefined;
}

/** What answers are made of. */
export interface ResponseParts {
  readonly responses: ResponseStore;
  readonly conversations: ConversationStore;
  readonly backgroundRows: BackgroundRows;
  readonly callerAuth: Pick<CallerAuth, 'account'>;
  readonly relay: RelayParts;
}

/** One answer: made from what is stored, presented to its client, and stored if it is to be. */
export class ResponseAnswer {
  readonly #call: ResponsesCall;
  readonly #parts: ResponseParts;
  readonly #context: ResponseContext;
  #encoder: ResponsesEncoder | undefined;
  #presented: ResponseObject | undefined;
  /** The JSON that was stored of it. */
  #stored: string | undefined;
  #failure: Fault | undefined;
  #isComplete = false;
  /** The one that this request has taken, and what it adds of its own. */
  #conversation: { readonly id: string; own: readonly StoredItem[] } | undefined;

  constructor(call: ResponsesCall, parts: ResponseParts) {
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

  chat(memory: IncomingRequest['memory']): ChatCall | Promise<ChatCall> {
    const { responses: asked, size } = this.#call;
    return this.#parts.responses.isOn && usesState(asked)
      ? this.#chatWithHistory(memory)
      : this.#chatCall(asked, size);
  }

  /** What its ids stand for is put in their place first: it is held, metered and charged like what was sent. */
  async #chatWithHistory(memory: IncomingRequest['memory']): Promise<ChatCall> {
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
    return this.#chatCall(
      { ...asked, input, previous_response_id: undefined, conversation: undefined },
      { bytes: size.bytes + added.bytes, characters: size.characters + added.characters },
    );
  }

  /** `whole`: with everything that the request refers to, and how large that is as text. */
  #chatCall(whole: ResponsesRequest, size: BodySize): ChatCall {
    const { responses: asked, body: _body, ...call } = this.#call;
    const isKept = this.#context.isStored || this.#conversation !== undefined;
    return {
      ...call,
      size,
      label: asked.model,
      request: responsesToChat(
        this.#isInBackground ? { ...whole, background: undefined, stream: true } : whole,
      ),
      cap: 'lowered',
      encoder: () => this.#openEncoder(),
      ...(isKept && { onComplete: (answer) => this.#keep(answer) }),
      ...(this.#conversation && { onClosed: (end, settled) => this.#closed(end, settled) }),
    };
  }

  /** Then it is streamed by the backend, so that one that is cancelled is paid for what has come. */
  get #isInBackground(): boolean {
    return this.#context.request.background === true && this.#context.isStored;
  }

  get id(): string {
    return responseIdOf(this.#context);
  }

  /** Why a streamed answer is not complete. */
  get failure(): Fault | undefined {
    return this.#failure;
  }

  /** All of it has come. */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  /** The answer without an output: before there is one, or because there will be none. */
  without(status: 'queued' | 'failed' | 'cancelled', fault?: Fault): ResponseObject {
    const error = fault ? faultBody(fault).error : null;
    return responseObject(this.#context, { status, output: [], tokens: undefined, error });
  }

  /** What is stored of a response that is made in the background, before anything of it is there. */
  queued(accountId: AccountId): NewResponse {
    const { body, client, size, requestId } = this.#call;
    const answer = this.without('queued');
    const items = { input: this.input, output: [], job: { body, client, size } };
    return { ...this.#named(accountId, answer), requestId, state: 'queued', items };
  }

  get input(): readonly StoredItem[] {
    return itemsOfInput(this.#context.request.input);
  }

  /** The answer; as JSON if storing it has made that already. */
  shown(completion: ChatCompletion): ResponseObject | string {
    return this.#stored ?? this.#present(completion);
  }

  #present(completion: ChatCompletion): ResponseObject {
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
      const answer = completion ? this.#present(completion) : this.#encoder?.whole(usage);
      if (!answer) return;
      this.#isComplete = true;
      const conversation = this.#conversation;
      const stored = this.#context.isStored ? this.#store(accountId, answer) : undefined;
      if (conversation)
        await Promise.all([
          stored,
          this.#addToConversation(this.#parts.conversations, { ...conversation, accountId }, answer),
        ]);
      else await stored;
    } catch (error) {
      this.#parts.relay.log.warn('response_not_stored', { request: requestId, error });
    }
  }

  async #store(accountId: AccountId, answer: ResponseObject): Promise<void> {
    const { responses, backgroundRows } = this.#parts;
    const state = answer.status === 'incomplete' ? 'incomplete' : 'completed';
    const items = { input: this.input, output: answer.output };
    if (this.#isInBackground) return await backgroundRows.end(answer.id, accountId, { state, items, answer });
    this.#stored = await responses.keep({ ...this.#named(accountId, answer), state, items });
    if (this.#stored === undefined) this.#notStored();
  }

  /** Its owner has switched that off. What is sent last says so; the first event of a stream was sent before. */
  #notStored(): void {
    this.#context.isStored = false;
    if (this.#presented) this.#presented = { ...this.#presented, store: false };
  }

  #named(accountId: AccountId, answer: ResponseObject) {
    return {
      id: answer.id,
      accountId,
      previousId: this.#context.request.previous_response_id ?? undefined,
      conversationId: this.#conversation?.id,
      answer,
    };
  }

  #openEncoder(): ResponsesEncoder {
    const encoder = responsesEncoder(this.#context);
    this.#encoder = {
      ...encoder,
      error: (fault) => {
        this.#failure = fault;
        return encoder.error(fault);
      },
    };
    return this.#encoder;
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
