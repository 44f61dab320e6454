/**
 * The processor time, in milliseconds, of the longest turn of this thread's event loop while something runs. Unlike the
 * time on the clock, it does not depend on whether the thread has a processor all the time.
 */
export async function longestTurnMs(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let isOver = false;
  let before = threadMs();
  const measure = (): void => {
    const now = threadMs();
    longest = Math.max(longest, now - before);
    before = now;
    if (!isOver) setImmediate(measure);
  };
  setImmediate(measure);
  await work();
  await new Promise((resolve) => setImmediate(resolve));
  isOver = true;
  return longest;
}

/** How many turns of the event loop others had until it was done. */
export async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  let isOver = false;
  const count = (): void => {
    turns++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  await work();
  isOver = true;
  return turns;
}

const YARDSTICK = 2_000_000;
const LEAST_YARDSTICK_MS = 100;

/**
 * How much longer a turn may be than one of an unattacked server: what a step takes that everybody would notice, here
 * the sorting of two million numbers. A processor that others use at the same time is slower in both.
 */
export function noticeableMs(): number {
  const numbers = new Float64Array(YARDSTICK);
  // A fixed sequence without order (Lehmer's).
  for (let at = 0, last = 1; at < YARDSTICK; at++) numbers[at] = last = (last * 16_807) % 2_147_483_647;
  const before = threadMs();
  numbers.sort();
  return Math.max(LEAST_YARDSTICK_MS, threadMs() - before);
}

function threadMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}
