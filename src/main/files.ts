import type { Config } from './config.ts';
import type { Log } from '../std/log.ts';
import { openFileLimit } from '../std/open-files.ts';
import { placesWithin } from '../std/places.ts';

/** Tells how many files this process may open. */
export function logFileLimit({ maxInFlight }: Config, log: Log): void {
  const limit = openFileLimit();
  log.info('open_files_limit', {
    limit: limit ?? 'none',
    requests_at_once: placesWithin(maxInFlight, limit),
  });
}

const START_MS = 2_000;

/**
 * Starts Bun's thread for outgoing requests. Otherwise it starts with the first call to a backend, when clients may have
 * taken every file descriptor, and Bun ends the process if that thread finds none left.
 */
export async function startHttpThread(): Promise<void> {
  const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response('') });
  try {
    await fetch(server.url, { keepalive: false, signal: AbortSignal.timeout(START_MS) });
  } catch {
    // Sent through a proxy, perhaps. The thread runs all the same.
  } finally {
    await server.stop(true);
  }
}
