import { isatty } from 'node:tty';

const STANDARD_STREAMS = [0, 1, 2];

/**
 * SIGHUP has two meanings. From an operator or a service manager it is a request to reload the configuration; from the
 * system it means that the terminal was closed, and then the server should stop too.
 */
export function onHangup(reload: () => void): void {
  const terminal = STANDARD_STREAMS.find((stream) => isatty(stream));
  process.on('SIGHUP', () => {
    if (terminal !== undefined && !isatty(terminal)) process.kill(process.pid, 'SIGTERM');
    else reload();
  });
}

/** Limits `work` to one run at a time, with at most one more waiting, however often it is called. */
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
