import { existsSync, readFileSync } from 'node:fs';

/**
 * The processor time, in milliseconds, of the longest turn of this thread's event loop while something runs, and up to
 * {@link LOOK_EVERY_MS} of the turns beside it: to look in each turn would keep a processor busy. Unlike the time on the
 * clock, it does not depend on whether the thread has a processor all the time, nor on whether the host of a virtual
 * machine gives that processor to another one, which the kernel counts as the thread's own.
 */
export async function longestTurnMs(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let isOver = false;
  let before = threadMs();
  const stolen = new StolenTime();
  const measure = (): void => {
    const now = threadMs();
    longest = Math.max(longest, now - before - stolen.sinceLastLookMs());
    before = now;
    if (!isOver) setTimeout(measure, LOOK_EVERY_MS);
  };
  setTimeout(measure, LOOK_EVERY_MS);
  await work();
  // The turn in which it ended may have been the longest.
  await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  isOver = true;
  measure();
  return longest;
}

const LOOK_EVERY_MS = 2;

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

const STAT = '/proc/stat';
/** The kernel counts in these. */
const TICK_MS = 10;
/** A look takes some 50 µs. */
const STEAL_LOOK_EVERY_MS = 5;

/** What the host took from one of the processors. */
class StolenTime {
  #before = stolenTicks();
  #lookedAt = performance.now();

  /** 0 right after a look. */
  sinceLastLookMs(): number {
    const at = performance.now();
    if (at - this.#lookedAt < STEAL_LOOK_EVERY_MS) return 0;
    const now = stolenTicks();
    const most = Math.max(0, ...now.map((ticks, processor) => ticks - (this.#before[processor] ?? ticks)));
    this.#before = now;
    this.#lookedAt = at;
    return most * TICK_MS;
  }
}

/** Of each processor; none where the system does not tell. */
function stolenTicks(): readonly number[] {
  if (!existsSync(STAT)) return [];
  const processors = readFileSync(STAT, 'latin1').matchAll(/^cpu\d+ (.*)$/gm);
  return Array.from(processors, ([, times = '']) => Number(times.split(' ')[7] ?? 0));
}
