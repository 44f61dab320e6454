import type { ForsakenResponse } from '../activity/background-rows.ts';
import { paidAnswer } from '../http/response.ts';
import type { IncomingRequest } from '../http/router.ts';
import { resumeChatJob, startChatJob } from '../relay/chat-job.ts';
import { connectionOf, type ChatReply } from '../relay/call.ts';
import type { ActiveHold } from '../relay/hold/active-hold.ts';
import { asFault, Fault } from '../std/fault.ts';
import type { AccountId, RequestId } from '../std/ids.ts';
import { ownRecord } from '../std/request-record.ts';
import { faultBody } from '../wire/fault-body.ts';
import { ResponseAnswer, type ResponseParts, type ResponsesCall } from './response-answer.ts';

interface BackgroundOptions {
  readonly parts: ResponseParts;
  /** Reads a request again that another process has stored. */
  readonly read: (call: Omit<ResponsesCall, 'responses' | 'selector' | 'knobs'>) => ResponsesCall;
  /** How many may run in this process at once. */
  readonly max: number;
}

const FULL_RETRY_MS = 5_000;
const ADOPT_TOGETHER = 100;
/** For a response that is made again: what it loads is not counted. */
const NO_MEMORY: IncomingRequest['memory'] = {
  hold: () => Promise.resolve(),
  keep: () => () => undefined,
};

/**
 * Responses that are answered at once and fetched later. Each lives on its request's hold: the same limits and the same
 * balance apply, and when its process is gone another one makes the answer again, on the same hold.
 */
export class BackgroundResponses {
  readonly #options: BackgroundOptions;
  readonly #running = new Map<string, RunningResponse>();
  #isStopping = false;

  constructor(options: BackgroundOptions) {
    this.#options = options;
  }

  /** Resolves once the call has its row and its hold. */
  async start(asked: ResponsesCall, { memory }: Pick<IncomingRequest, 'memory'>): Promise<Response> {
    const { parts, max } = this.#options;
    const { relay } = parts;
    refuseUnusable(asked);
    if (this.#running.size >= max) throw full();
    const { accountId } = await parts.callerAuth.account(asked.caller);
    const job = this.#newJob(detached(asked), accountId);
    const { answer } = job;
    const releaseMemory = memory.keep();
    try {
      const call = await answer.chat(memory);
      if (!(await parts.responses.keep(answer.queued(accountId)))) throw switchedOff();
      this.#running.set(answer.id, job);
      const { summary, hold, reply } = await startChatJob(call, relay);
      this.#follow(job, { hold, reply }, releaseMemory);
      return paidAnswer(answer.without('queued'), summary);
    } catch (thrown) {
      this.#running.delete(answer.id);
      releaseMemory();
      await parts.responses.remove(answer.id, accountId);
      await answer.release();
      throw thrown;
    }
  }

  /** One that another process makes ends there within seconds. Nobody waits for a backend that has not begun to answer. */
  async cancel(id: string, accountId: AccountId): Promise<void> {
    if (await this.#options.parts.backgroundRows.cancel(id, accountId)) this.#running.get(id)?.cancel();
  }

  /** Makes the answers of processes that are gone, and ends those that cannot be made. */
  async takeOver(): Promise<void> {
    if (this.#isStopping) return;
    const { parts, max } = this.#options;
    await this.#noticeCancelled();
    const limit = Math.min(ADOPT_TOGETHER, max - this.#running.size);
    for (const row of limit > 0 ? await parts.backgroundRows.forsaken(limit) : []) {
      if (this.#running.has(row.id) || !(await parts.relay.ledger.adopt(row.requestId as RequestId)))
        continue;
      await this.#resume(row);
    }
    for (const row of await parts.backgroundRows.unended())
      if (!this.#running.has(row.id)) await this.#fail(row, row.isCharged ? lost() : interrupted());
  }

  /** At shutdown, when their grace is over: leaves them to the next process. */
  async handOver(): Promise<void> {
    this.#isStopping = true;
    const left = [...this.#running.values()].filter((job) => job.leave());
    if (left.length === 0) return;
    await this.#options.parts.relay.ledger.giveUp(left.map(({ requestId }) => requestId));
  }

  /** Waits until every one that ended says so in its row, or `deadlineMs` have passed. */
  async ended(deadlineMs: number): Promise<void> {
    const ending = [...this.#running.values()].map((job) => job.ended);
    if (ending.length > 0) await Promise.race([Promise.all(ending), Bun.sleep(deadlineMs)]);
  }

  async #noticeCancelled(): Promise<void> {
    const states = await this.#options.parts.backgroundRows.states([...this.#running.keys()]);
    for (const [id, job] of this.#running) {
      const state = states.get(id);
      if (job.isHeld && state !== 'queued' && state !== 'in_progress') job.cancel();
    }
  }

  async #resume(row: ForsakenResponse): Promise<void> {
    const { parts, read } = this.#options;
    const { relay } = parts;
    const requestId = row.requestId as RequestId;
    const account = row.accountId as AccountId;
    try {
      if (!row.job) throw interrupted();
      const { body, client, size } = row.job;
      const caller = { kind: 'account', id: account } as const;
      const connection = connectionOf(new AbortController().signal);
      const job = this.#newJob(
        detached(read({ requestId, caller, client, connection, size, body })),
        account,
      );
      this.#running.set(row.id, job);
      const call = await job.answer.chat(NO_MEMORY);
      this.#follow(job, resumeChatJob({ call, account, outputCap: row.outputCap }, relay));
      relay.log.info('background_response_adopted', { request: requestId });
    } catch (thrown) {
      this.#running.delete(row.id);
      const fault = asFault(thrown);
      const ending = {
        outcome: 'upstream_failed',
        attempts: [],
        durationMs: 0,
        errorCode: fault.code,
      } as const;
      await relay.ledger.void(requestId, ending);
      await this.#fail(row, fault);
    }
  }

  #newJob(call: DetachedCall, accountId: AccountId): RunningResponse {
    const { parts } = this.#options;
    const answer = new ResponseAnswer(call.call, parts);
    return new RunningResponse(call.call.requestId, answer, accountId, call.leaving);
  }

  #follow(
    job: RunningResponse,
    made: { readonly hold: ActiveHold; readonly reply: Promise<ChatReply> },
    onEnded?: () => void,
  ): void {
    const { parts } = this.#options;
    job.ended = job
      .run(made, () => parts.backgroundRows.started(job.answer.id))
      .then((fault) => this.#finish(job, fault))
      .catch((error: unknown) =>
        parts.relay.log.error('background_response_not_ended', { request: job.requestId, error }),
      )
      .finally(() => {
        this.#running.delete(job.answer.id);
        onEnded?.();
      });
  }

  /** If the end cannot be written now, `takeOver` writes it later. */
  async #finish(job: RunningResponse, fault: Fault | undefined): Promise<void> {
    const { answer, accountId, isCancelled } = job;
    if (job.isLeft || (answer.isComplete && !isCancelled)) return;
    const { backgroundRows } = this.#options.parts;
    const status = isCancelled ? 'cancelled' : 'failed';
    const items = { input: answer.input, output: [] };
    const shown = answer.without(status, isCancelled ? undefined : (fault ?? interrupted()));
    await backgroundRows.end(answer.id, accountId, { state: status, items, answer: shown });
  }

  async #fail({ id, accountId, input, createdAt }: ForsakenResponse, fault: Fault): Promise<void> {
    const { parts } = this.#options;
    const known = (await parts.responses.answer(id, accountId)) ?? {
      id,
      created_at: Math.floor(createdAt / 1000),
    };
    const answer = { ...known, status: 'failed', error: faultBody(fault).error };
    await parts.backgroundRows.end(id, accountId, { state: 'failed', items: { input, output: [] }, answer });
  }
}

interface DetachedCall {
  readonly call: ResponsesCall;
  /** Ends the work, as if its client had left. */
  readonly leaving: AbortController;
}

/** It continues when its client leaves, and its end is not part of the access log's line about this answer. */
function detached(asked: ResponsesCall): DetachedCall {
  const leaving = new AbortController();
  const requestRecord = asked.requestRecord && ownRecord(asked.requestRecord);
  return { call: { ...asked, requestRecord, connection: connectionOf(leaving.signal) }, leaving };
}

/** One response that this process makes. */
class RunningResponse {
  readonly requestId: RequestId;
  readonly answer: ResponseAnswer;
  readonly accountId: AccountId;
  readonly #leaving: AbortController;
  #hold: ActiveHold | undefined;
  #reader: { cancel(): Promise<void> } | undefined;
  ended: Promise<void> = Promise.resolve();
  isCancelled = false;
  /** It was left for another process. */
  isLeft = false;

  constructor(requestId: RequestId, answer: ResponseAnswer, accountId: AccountId, leaving: AbortController) {
    this.requestId = requestId;
    this.answer = answer;
    this.accountId = accountId;
    this.#leaving = leaving;
  }

  get isHeld(): boolean {
    return this.#hold !== undefined;
  }

  /** Resolves when the backend is done, with what went wrong. */
  async run(
    { hold, reply }: { readonly hold: ActiveHold; readonly reply: Promise<ChatReply> },
    onStarted: () => Promise<void>,
  ): Promise<Fault | undefined> {
    this.#hold = hold;
    try {
      const answered = await reply;
      await onStarted().catch(() => undefined);
      if (answered.kind === 'stream') await this.#drain(answered.body);
      return this.answer.failure;
    } catch (thrown) {
      return asFault(thrown);
    }
  }

  /** Ends it; what has arrived until now is charged. */
  cancel(): void {
    this.isCancelled = true;
    this.#stop();
  }

  /** Leaves it to another process. */
  leave(): boolean {
    if (!this.#hold || this.answer.isComplete || this.isCancelled) return false;
    this.isLeft = true;
    this.#hold.leave(new Fault('service_unavailable', 'This node is shutting down. Try again.'));
    this.#stop();
    return true;
  }

  #stop(): void {
    this.#leaving.abort();
    void this.#reader?.cancel();
  }

  async #drain(body: ReadableStream<Uint8Array>): Promise<void> {
    const reader = body.getReader();
    this.#reader = reader;
    if (this.#leaving.signal.aborted) await reader.cancel();
    while (!(await reader.read()).done);
  }
}

function refuseUnusable({ responses: { stream, store } }: ResponsesCall): void {
  const why =
    stream === true
      ? 'stream: fetch the response when it is done'
      : store === false
        ? 'store: false'
        : undefined;
  if (why !== undefined)
    throw new Fault('invalid_field', `background cannot be used with ${why}.`, { param: 'background' });
}

function full(): Fault {
  const message = 'This server has reached its limit of background responses. Try again later.';
  return new Fault('concurrency_limit_exceeded', message, { retryAfterMs: FULL_RETRY_MS });
}

function switchedOff(): Fault {
  const message = 'background stores the response, and the owner of this account has switched that off.';
  return new Fault('invalid_field', message, { param: 'background' });
}

function interrupted(): Fault {
  const message = 'The server stopped while this response was made. Send the request again.';
  return new Fault('service_unavailable', message);
}

function lost(): Fault {
  const message =
    'The server stopped before this response was stored. It was charged; its receipt has what for.';
  return new Fault('service_unavailable', message);
}
