import { makeStore } from './store.ts';

/** The longest pause between two attempts; whoever waits longer looks at the page anyway. */
const MAX_PAUSE_MS = 8_000;
const FIRST_PAUSE_MS = 500;
/** A server that accepts a connection and says nothing for so long is not there. */
const ATTEMPT_MS = 10_000;

/** Whether the server can be reached, for the line that says so. */
export const connection = makeStore({ isLost: false });

let waiting: Promise<void> | undefined;

/** Resolves when the server answers. All who wait share one series of attempts. */
export async function serverAnswers(): Promise<void> {
  waiting ??= tryUntilAnswered().finally(() => {
    waiting = undefined;
  });
  await waiting;
}

async function tryUntilAnswered(): Promise<void> {
  for (let pauseMs = FIRST_PAUSE_MS; !(await answers()); pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS)) {
    connection.change({ isLost: true });
    await pauseOrOnline(pauseMs);
  }
  if (connection.get().isLost) connection.change({ isLost: false });
}

/** What every page needs first. A proxy whose server is away answers too, with an error. */
async function answers(): Promise<boolean> {
  try {
    const signal = AbortSignal.timeout(ATTEMPT_MS);
    const { ok } = await fetch('/api/console/session', { credentials: 'same-origin', signal });
    return ok;
  } catch {
    return false; // Not reached: the next attempt tells more.
  }
}

async function pauseOrOnline(pauseMs: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const online = (): void => resolve();
  const timer = setTimeout(resolve, pauseMs);
  addEventListener('online', online, { once: true });
  await promise;
  clearTimeout(timer);
  removeEventListener('online', online);
}
