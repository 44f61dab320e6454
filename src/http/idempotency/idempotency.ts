import { createHash } from 'node:crypto';
import type { Caller, Settled } from '../../ledger/port.ts';
import {
  MOST_ANSWER_BYTES,
  type FinishedAnswer,
  type IdempotencyKey,
  type IdempotencyStore,
} from '../../ledger/idempotency-store.ts';
import { NOBODY_LEAVES, type Call, type HoldEnd } from '../../relay/call.ts';
import { Fault } from '../../std/fault.ts';
import type { AccountId } from '../../std/ids.ts';
import type { Log } from '../../std/log.ts';
import { inSteps, LONG_TEXT } from '../../std/long-text.ts';
import type { NanoUsd } from '../../std/money.ts';
import type { CallerAuth } from '../caller-auth.ts';
import type { IncomingRequest } from '../router.ts';

interface KeyedRequest {
  readonly caller: Caller;
  /** The body as received: the same key with another body is an error. */
  readonly text: string;
  /**
   * Makes the answer again from what else is stored of that request. Absent: the client is told that the answer is
   * gone.
   */
  readonly restore?: ((requestId: string, accountId: AccountId) => Promise<Response | undefined>) | undefined;
}

/** How a call with a key differs from the same call without one. */
type KeyedCall = Required<Pick<Call<unknown>, 'connection' | 'onClosed' | 'retryOf' | 'isKeyed'>>;

/** Does the work. The connection replaces the client's, so that the work continues when the client leaves. */
type KeyedWork = (keyed: KeyedCall | undefined) => Promise<Response>;

const WAIT_MS = { first: 50, longest: 1_000, total: 600_000 };
const KEY_HEADER = 'idempotency-key';
const MAX_KEY = 255;
const REPLAYED = 'idempotent-replayed';

/**
 * `Idempotency-Key`: the first request with a key does the work, and all later ones get the same bytes. They wait while
 * the first one is running. A call with a key runs to its end even if its client leaves, because the client will retry
 * it.
 */
export class Idempotency {
  readonly #store: IdempotencyStore;
  readonly #callerAuth: Pick<CallerAuth, 'account'>;
  readonly #log: Log;

  constructor(answers: IdempotencyStore, callerAuth: Pick<CallerAuth, 'account'>, log: Log) {
    this.#store = answers;
    this.#callerAuth = callerAuth;
    this.#log = log;
  }

  run(incoming: IncomingRequest, keyed: KeyedRequest, work: KeyedWork): Promise<Response> {
    const key = incoming.request.headers.get(KEY_HEADER);
    return key === null ? work(undefined) : this.#runWithKey(key, incoming, keyed, work);
  }

  async #runWithKey(
    key: string,
    incoming: IncomingRequest,
    keyed: KeyedRequest,
    work: KeyedWork,
  ): Promise<Response> {
    if (key === '' || key.length > MAX_KEY) {
      throw new Fault('invalid_field', `Idempotency-Key must have 1 to ${MAX_KEY} characters.`, {
        param: 'Idempotency-Key',
      });
    }
    const { accountId } = await this.#callerAuth.account(keyed.caller);
    const bodyHash = await hashOf(incoming.path, keyed.text);
    return await this.#claim({ incoming, accountId, key, bodyHash, restore: keyed.restore }, work);
  }

  async #claim(claim: Claim, work: KeyedWork): Promise<Response> {
    const { incoming, accountId, key, bodyHash } = claim;
    let waitedMs = 0;
    for (let pauseMs = WAIT_MS.first; ; pauseMs = Math.min(pauseMs * 2, WAIT_MS.longest)) {
      const keyState = await this.#store.begin({ accountId, key, bodyHash, requestId: incoming.requestId });
      switch (keyState.kind) {
        case 'started':
          return await this.#doWork(claim, keyState.retryOf, work);
        case 'replay':
          return new Response(keyState.body, {
            status: keyState.status,
            headers: { ...keyState.headers, [REPLAYED]: 'true' },
          });
        case 'reused':
          throw new Fault('idempotency_key_reused', 'This Idempotency-Key was used with another request.', {
            param: 'Idempotency-Key',
          });
        case 'gone':
          return await restored(claim, keyState.requestId);
        case 'running':
          if (waitedMs > WAIT_MS.total || incoming.hasLeft) throw stillRunning();
          await Bun.sleep(pauseMs);
          waitedMs += pauseMs;
      }
    }
  }

  /** Neither an error nor a stream that broke is stored: the next request with this key may succeed. */
  async #doWork(claim: Claim, retryOf: string | undefined, work: KeyedWork): Promise<Response> {
    const { accountId, key } = claim;
    const ownKey = { accountId, key, requestId: claim.incoming.requestId };
    const lease = setInterval(() => void this.#renew(ownKey), RENEW_MS);
    let closed: { readonly isBroken: boolean; readonly charged: NanoUsd | undefined } | undefined;
    const onClosed = (end: HoldEnd, settled: Settled | undefined): void => {
      const isBroken = end.kind === 'void' || end.settlement.outcome !== 'completed';
      closed = { isBroken, charged: settled?.charged };
    };
    const keep = async (answer: Pick<FinishedAnswer, 'status' | 'headers' | 'body'>): Promise<void> => {
      clearInterval(lease);
      if (closed?.isBroken === true) await this.#store.breakOff(ownKey);
      else await this.#store.finish({ ...ownKey, ...answer, charged: closed?.charged });
    };
    try {
      const response = await work({ connection: NOBODY_LEAVES, onClosed, retryOf, isKeyed: true });
      const { status } = response;
      const headers = Object.fromEntries(response.headers);
      const body = withCopy(response.body, (copy) => keep({ status, headers, body: copy }));
      return new Response(body, { status, headers });
    } catch (thrown) {
      clearInterval(lease);
      // Whatever failed after the charge, the work is done.
      if (closed?.isBroken === false) await keep({ status: 500, headers: {}, body: undefined });
      else await this.#store.drop(ownKey);
      throw thrown;
    }
  }

  /** A failed renewal is not repeated: several fit into a lease. */
  async #renew(ownKey: IdempotencyKey): Promise<void> {
    try {
      await this.#store.renew(ownKey);
    } catch (error) {
      this.#log.warn('idempotency_lease_not_renewed', { error });
    }
  }
}

export function hasKey({ request }: IncomingRequest): boolean {
  return request.headers.has(KEY_HEADER);
}

const RENEW_MS = 15_000;

async function hashOf(path: string, text: string): Promise<string> {
  const hash = createHash('sha256').update(path).update('\n');
  if (text.length <= LONG_TEXT) hash.update(text);
  else for await (const piece of inSteps(text)) hash.update(piece);
  return hash.digest('hex');
}

interface Claim {
  readonly incoming: IncomingRequest;
  readonly accountId: AccountId;
  readonly key: string;
  readonly bodyHash: string;
  readonly restore: KeyedRequest['restore'];
}

/** Passes a body on and keeps a copy, to its end even if the reader leaves. */
function withCopy(
  source: ReadableStream<Uint8Array> | null,
  keep: (body: Uint8Array | undefined) => Promise<void>,
): ReadableStream<Uint8Array> {
  const reader = (source ?? new Blob([]).stream()).getReader();
  const chunks: Uint8Array[] = [];
  let size = 0;
  const next = async (): Promise<Uint8Array | undefined> => {
    const { done, value } = await reader.read();
    if (done) {
      await keep(size > MOST_ANSWER_BYTES ? undefined : Buffer.concat(chunks));
      return undefined;
    }
    size += value.byteLength;
    if (size <= MOST_ANSWER_BYTES) chunks.push(value);
    else chunks.length = 0;
    return value;
  };
  const drain = async (): Promise<void> => {
    while (await next());
  };
  return new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      const chunk = await next();
      if (chunk) controller.enqueue(chunk);
      else controller.close();
    },
    cancel: () => void drain(),
  });
}

async function restored({ restore, accountId }: Claim, requestId: string): Promise<Response> {
  const response = await restore?.(requestId, accountId);
  if (!response) throw answerGone(requestId);
  response.headers.set(REPLAYED, 'true');
  return response;
}

/** Clients do not retry this code by themselves: only their owner can decide to pay again. */
function answerGone(requestId: string): Fault {
  const message = `The request with this Idempotency-Key is done (${requestId}), but its answer is no longer kept. It will not run or be charged again; use a new key to run it again.`;
  return new Fault('idempotency_answer_gone', message, {
    param: 'Idempotency-Key',
    extra: { request_id: requestId },
  });
}

function stillRunning(): Fault {
  return new Fault('service_unavailable', 'The first request with this Idempotency-Key is still running.', {
    retryAfterMs: 2_000,
  });
}
