import { isatty } from 'node:tty';

const STANDARD_STREAMS = [0, 1, 2];

/**
 * SIGHUP has two meanings. From an operator or a service manager it asks for the configuration to be read again; from
 * the system it says that the terminal was closed, and whoever closed the terminal did not mean to leave a server running.
 */
export function onHangup(reload: () => void): void {
  const terminal = STANDARD_STREAMS.find((stream) => isatty(stream));
  process.on('SIGHUP', () => {
    if (terminal !== undefined && !isatty(terminal)) process.kill(process.pid, 'SIGTERM');
    else reload();
  });
}

/** However often it is called: one run at a time, and at most one more that waits for it. */
export function oneAtATime(work: () => Promise<void>): () => void {
  let last = Promise.resolve();
  let isWaiting = false;
  return () => {
    if (isWaiting) return;
    isWaiting = true;
    last = last.then(() => {
      isWaiting = false;
      return work();
    });
  };
}
