import { UpstreamFailure } from '../upstream/port.ts';

/** Resolves after `ms`; an abort rejects at once and leaves no timer behind. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.reject(abortFailure(signal));
  if (ms <= 0) return Promise.resolve();
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      reject(abortFailure(signal));
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop);
      resolve();
    }, ms);
    signal.addEventListener('abort', stop, { once: true });
  });
}

interface Pace {
  readonly pauseMs: number;
  readonly signal: AbortSignal;
  /** After the last event: stay silent for this long, then fail like a backend whose connection is lost. */
  readonly stall?: { readonly afterMs: number } | undefined;
}

/** Without pauses, this many events are emitted before other work of the process gets a turn. */
const EVENTS_PER_TURN = 32;

/** Events one by one, as fast as the reader takes them and no faster than the pace. */
export function paced<Event>(events: readonly Event[], pace: Pace): ReadableStream<Event> {
  const own = new AbortController();
  const signal = AbortSignal.any([pace.signal, own.signal]);
  let next = 0;
  return new ReadableStream<Event>(
    {
      start(controller) {
        // A reader that has stopped reading must still get the abort.
        pace.signal.addEventListener('abort', () => controller.error(abortFailure(pace.signal)), {
          once: true,
          signal: own.signal,
        });
      },
      async pull(controller) {
        if (next > 0) await pause(pace.pauseMs, signal);
        if (next > 0 && next % EVENTS_PER_TURN === 0) await turn();
        const event = events[next++];
        if (event !== undefined) return controller.enqueue(event);
        if (pace.stall) {
          await pause(pace.stall.afterMs, signal);
          throw new UpstreamFailure('timeout', 'the backend fell silent in the middle of its stream');
        }
        own.abort();
        controller.close();
      },
      cancel() {
        own.abort();
      },
    },
    { highWaterMark: 0 },
  );
}

function turn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/** The failure of an attempt that its caller aborted. */
export function abortFailure(signal: AbortSignal): UpstreamFailure {
  return new UpstreamFailure('timeout', 'the attempt was aborted', { blameless: true, cause: signal.reason });
}
