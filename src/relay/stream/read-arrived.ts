import type { EventSource } from './event-source.ts';
import { PIECE_BYTES } from './event-stream.ts';

/**
 * Faster than any model writes: only what has piled up arrives at this rate, in the network or while the client did not
 * read.
 */
const PILED_UP_BYTES_PER_MS = 256;

/** A timer that takes this many times its pause was not on time. */
const LATE_FACTOR = 3;

/** How to tell that everything has arrived. */
interface Patience {
  readonly pauseMs: number;
  /** One pause may be the backend's own, or the machine's: when it is busy, neither runs for a while. */
  readonly pauses: number;
  /** A backend that never gets slower is stopped after this time, and so is one that is silent while the machine stands still. */
  readonly withinMs: number;
  /** In a busy process, little may have been read when the time is up: a socket is read once in each turn. */
  readonly leastTurns: number;
}

/** For a client that read along: hardly anything is on its way. */
const READ_ALONG: Patience = { pauseMs: 10, pauses: 10, withinMs: 3_000, leastTurns: 300 };

/**
 * Calls back once everything was read that a backend had sent before its client left; the caller continues to read
 * meanwhile. Returns a function that cancels it.
 *
 * A client that had not read what was written made the backend wait too: the longer it did, the more is on its way, and
 * the longer the pause may be until it flows again. A write to a connection that has just ended looks like a short lag.
 */
export function onceArrivedIsRead(
  events: Pick<EventSource, 'bytesRead'>,
  laggedMs: number,
  callback: () => void,
): () => void {
  const { pauseMs, pauses, withinMs, leastTurns } = laggedMs === 0 ? READ_ALONG : afterLag(laggedMs);
  // In a busy process a turn of the event loop may be longer than the pause, and reads one piece.
  const leastBytes = Math.min(pauseMs * PILED_UP_BYTES_PER_MS, PIECE_BYTES);
  const until = performance.now() + withinMs;
  let isOver = false;
  const waitForPauses = (turns: number, pausesBefore: number): void => {
    const bytesBefore = events.bytesRead;
    const startedAt = performance.now();
    const check = (): void => {
      if (isOver) return;
      const now = performance.now();
      const isSilent = events.bytesRead - bytesBefore < leastBytes;
      // A timer that fires far too late means that the machine stood still, perhaps for sender and reader too: then
      // silence proves nothing.
      const stoodStill = now - startedAt > LATE_FACTOR * pauseMs;
      const pausesSeen = isSilent ? pausesBefore + (stoodStill ? 0 : 1) : 0;
      const isTimeUp = now >= until && (isSilent || turns >= leastTurns);
      if (pausesSeen < pauses && !isTimeUp) return waitForPauses(turns + 1, pausesSeen);
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

function afterLag(laggedMs: number): Patience {
  return {
    pauseMs: Math.min(Math.max(2 * laggedMs, 100), 250),
    pauses: 3,
    withinMs: Math.min(Math.max(4 * laggedMs, 2_000), 10_000),
    leastTurns: 20,
  };
}
