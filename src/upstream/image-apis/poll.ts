import { setTimeout as pause } from 'node:timers/promises';
import { UpstreamFailure, type FailureKind } from '../port.ts';

export interface PollTimes {
  readonly firstMs: number;
  /** Each wait is this many times the one before, up to `mostMs`. */
  readonly growth: number;
  readonly mostMs: number;
  /** The longest wait that a backend may ask for. */
  readonly mostAskedMs: number;
  readonly maxPolls: number;
  /** Failures in a row after which the job counts as lost. */
  readonly maxFailures: number;
}

export const POLL_TIMES: PollTimes = {
  firstMs: 250,
  growth: 1.5,
  mostMs: 3_000,
  mostAskedMs: 30_000,
  maxPolls: 2_000,
  maxFailures: 20,
};

export type Polled<Done> =
  | { readonly kind: 'done'; readonly value: Done }
  | { readonly kind: 'wait'; readonly retryAfterMs?: number | undefined };

/**
 * Asks until there is an answer. The job goes on at the backend whether we can ask or not, so an answer that fails for
 * the moment is asked for again; the deadline is the caller's `signal`.
 */
export async function pollJob<Done>(
  ask: () => Promise<Polled<Done>>,
  signal: AbortSignal,
  times: PollTimes,
): Promise<Done> {
  let waitMs = times.firstMs;
  let failures = 0;
  for (let polls = 0; polls < times.maxPolls; polls++) {
    let polled: Polled<Done>;
    try {
      polled = await ask();
      failures = 0;
    } catch (thrown) {
      signal.throwIfAborted();
      if (!isPassing(thrown) || ++failures > times.maxFailures) throw afterSubmission(thrown);
      polled = { kind: 'wait', retryAfterMs: thrown.retryAfterMs };
    }
    if (polled.kind === 'done') return polled.value;
    const askedMs = Math.min(polled.retryAfterMs ?? 0, times.mostAskedMs);
    await pause(Math.max(waitMs, askedMs), undefined, { signal }).catch(() => signal.throwIfAborted());
    waitMs = Math.min(waitMs * times.growth, times.mostMs);
  }
  throw new UpstreamFailure('timeout', `the job was not done after ${times.maxPolls} questions`);
}

const PASSING: ReadonlySet<FailureKind> = new Set([
  'connect',
  'overloaded',
  'connection_lost',
  'timeout',
  'rate_limited',
  'server',
]);

function isPassing(thrown: unknown): thrown is UpstreamFailure {
  return thrown instanceof UpstreamFailure && PASSING.has(thrown.kind);
}

/** The backend has the job and will bill it, however our last question failed: nobody may take it for one not sent. */
function afterSubmission(thrown: unknown): unknown {
  if (!(thrown instanceof UpstreamFailure) || thrown.kind === 'rejected') return thrown;
  return new UpstreamFailure('connection_lost', `the job was lost: ${thrown.message}`, { cause: thrown });
}
