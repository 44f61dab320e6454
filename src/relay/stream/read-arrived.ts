import type { EventSource } from './event-source.ts';

/** For a client that read along: what the backend has sent arrives without such a pause, and within this time. */
const READ_ALONG = { pauseMs: 1, leastBytes: 1, withinMs: 100, pauses: 1 };
/** Faster than a model writes: at this rate comes what had piled up while the client did not read. */
const PILED_UP_BYTES_PER_MS = 256;
/** One pause may be the backend's own: on a busy machine it does not run for a while, with more to send. */
const PAUSES_AFTER_LAG = 3;
/** In a busy process, little may have been read when the time is up: a socket is read once in each turn. */
const LEAST_TURNS = 20;

/**
 * Calls back once, when everything was read that a backend had sent before its client left. Whoever calls this goes on
 * reading meanwhile. Returns how to call it off.
 *
 * A client that had not taken what was written kept the backend waiting too: the longer it did, the more is on its way,
 * and the longer a pause may be until it flows again. A write to a connection that has just ended looks like a short lag.
 */
export function onceArrivedIsRead(
  events: Pick<EventSource, 'bytesRead'>,
  laggedMs: number,
  callback: () => void,
): () => void {
  const { pauseMs, leastBytes, withinMs, pauses } = laggedMs === 0 ? READ_ALONG : afterLag(laggedMs);
  const until = performance.now() + withinMs;
  let isOver = false;
  const waitForPauses = (turns: number, pausesBefore: number): void => {
    const bytesBefore = events.bytesRead;
    const check = (): void => {
      if (isOver) return;
      const pausesSeen = events.bytesRead - bytesBefore < leastBytes ? pausesBefore + 1 : 0;
      const isLate = turns >= LEAST_TURNS && performance.now() >= until;
      if (pausesSeen < pauses && !isLate) return waitForPauses(turns + 1, pausesSeen);
      isOver = true;
      callback();
    };
    // A timer may be late and fire before the socket was looked at; the second turn comes after that.
    setTimeout(() => setImmediate(check), pauseMs);
  };
  waitForPauses(1, 0);
  return () => {
    isOver = true;
  };
}

function afterLag(laggedMs: number): typeof READ_ALONG {
  const pauseMs = Math.min(Math.max(2 * laggedMs, 100), 250);
  return {
    pauseMs,
    leastBytes: pauseMs * PILED_UP_BYTES_PER_MS,
    withinMs: Math.min(Math.max(4 * laggedMs, 250), 10_000),
    pauses: PAUSES_AFTER_LAG,
  };
}
