import { createHash } from 'node:crypto';
import type { Caller } from '../../ledger/port.ts';
import type { IdempotencyStore, IdempotencyKey } from '../../ledger/idempotency-store.ts';
import { Fault } from '../../std/fault.ts';
import type { AccountId } from '../../std/ids.ts';
import type { CallerAuth, Exchange } from '../caller.ts';

export interface KeyedRequest {
  readonly caller: Caller;
  /** The body as it came: the same key with another body is a mistake. */
  readonly text: string;
}

/** Does what was asked for. A signal given replaces the client's: the work must not end because the client left. */
export type KeyedWork = (insteadOfClient: AbortSignal | undefined) => Promise<Response>;

const WAIT_MS = { first: 50, longest: 1_000, total: 600_000 };
const MAX_KEY = 255;

/**
 * `Idempotency-Key`: the first request with a key does the work, everyone after it gets the very same bytes. While the
 * first is under way the others wait. A call with a key is carried through even if its client leaves, because the
 * client will come back and ask for it.
 */
export class Idempotency {
  readonly #answers: IdempotencyStore;
  readonly #callerAuth: CallerAuth;

  constructor(answers: IdempotencyStore, callerAuth: CallerAuth) {
    this.#answers = answers;
    this.#callerAuth = callerAuth;
  }

  once(exchange: Exchange, keyed: KeyedRequest, work: KeyedWork): Promise<Response> {
    const key = exchange.request.headers.get('idempotency-key');
    return key === null ? work(undefined) : this.#onceFor(key, exchange, keyed, work);
  }

  async #onceFor(key: string, exchange: Exchange, keyed: KeyedRequest, work: KeyedWork): Promise<Response> {
    if (key === '' || key.length > MAX_KEY) {
      throw new Fault('invalid_field', `Idempotency-Key must have 1 to ${MAX_KEY} characters.`, {
        param: 'Idempotency-Key',
      });
    }
    const { accountId } = await this.#callerAuth.account(keyed.caller);
    const bodyHash = createHash('sha256').update(exchange.path).update('\n').update(keyed.text).digest('hex');
    return await this.#claim({ exchange, accountId, key, bodyHash }, work);
  }

  async #claim(claim: Claim, work: KeyedWork): Promise<Response> {
    const { exchange, accountId, key, bodyHash } = claim;
    let waitedMs = 0;
    for (let pauseMs = WAIT_MS.first; ; pauseMs = Math.min(pauseMs * 2, WAIT_MS.longest)) {
      const keyState = await this.#answers.begin({ accountId, key, bodyHash, requestId: exchange.requestId });
      switch (keyState.kind) {
        case 'started':
          return await this.#doOnce(claim, work);
        case 'replay':
          return new Response(keyState.body, {
            status: keyState.status,
            headers: { ...keyState.headers, 'idempotent-replayed': 'true' },
          });
        case 'reused':
          throw new Fault('idempotency_key_reused', 'This Idempotency-Key was used with another request.', {
            param: 'Idempotency-Key',
          });
        case 'lost':
          throw answerLost(keyState.requestId);
        case 'running':
          if (waitedMs > WAIT_MS.total || exchange.signal.aborted) throw stillRunning();
          await Bun.sleep(pauseMs);
          waitedMs += pauseMs;
      }
    }
  }

  /** An answer that is an error is not kept: the next try with this key may succeed. */
  async #doOnce(claim: Claim, work: KeyedWork): Promise<Response> {
    const { accountId, key } = claim;
    const own = { accountId, key, requestId: claim.exchange.requestId };
    const lease = setInterval(() => void this.#renew(own), RENEW_MS);
    const end = (): void => clearInterval(lease);
    try {
      const response = await work(new AbortController().signal);
      const headers = Object.fromEntries(response.headers);
      const keep = async (body: Uint8Array | undefined): Promise<void> => {
        end();
        if (body) await this.#answers.finish({ ...own, status: response.status, headers, body });
        else await this.#answers.drop(own);
      };
      return new Response(response.body && copied(response.body, keep), { status: response.status, headers });
    } catch (thrown) {
      end();
      await this.#answers.drop(own);
      throw thrown;
    }
  }

  /** A renewal that fails is made up for by the next: several fit into a lease. */
  async #renew(own: IdempotencyKey): Promise<void> {
    try {
      await this.#answers.renew(own);
    } catch (error) {
      this.#callerAuth.parts.log.warn('idempotency lease not renewed', { error });
    }
  }
}

const RENEW_MS = 15_000;

interface Claim {
  readonly exchange: Exchange;
  readonly accountId: AccountId;
  readonly key: string;
  readonly bodyHash: string;
}

const MAX_KEPT_BYTES = 8 * 1_048_576;

/** Passes a body on and keeps a copy of it, to the end even if the reader goes away. */
function copied(source: ReadableStream<Uint8Array>, keep: (body: Uint8Array | undefined) => Promise<void>) {
  const reader = source.getReader();
  const chunks: Uint8Array[] = [];
  let size = 0;
  const next = async (): Promise<Uint8Array | undefined> => {
    const { done, value } = await reader.read();
    if (done) {
      await keep(size > MAX_KEPT_BYTES ? undefined : Buffer.concat(chunks));
      return undefined;
    }
    size += value.byteLength;
    if (size <= MAX_KEPT_BYTES) chunks.push(value);
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

/** Not retried by clients on their own: only their owner can say whether it is worth paying again. */
function answerLost(requestId: string): Fault {
  return new Fault(
    'idempotency_key_reused',
    `The request with this Idempotency-Key was charged once (${requestId}), but its answer was lost in a crash. It will not be charged again; use a new key to run it again.`,
    { param: 'Idempotency-Key' },
  );
}

function stillRunning(): Fault {
  return new Fault('service_unavailable', 'The first request with this Idempotency-Key is still running.', {
    retryAfterMs: 2_000,
  });
}
