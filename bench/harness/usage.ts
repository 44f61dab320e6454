import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** What a group of processes has used and holds, as the kernel counts it. */
export interface Usage {
  /** User and system time since each began. */
  readonly cpuUs: number;
  readonly rssBytes: number;
  readonly descriptors: number;
}

/** The given processes with all their descendants. */
export function usageOf(roots: readonly number[]): Usage {
  let cpuUs = 0;
  let rssBytes = 0;
  let descriptors = 0;
  for (const pid of groupOf(roots)) {
    const stat = statOf(pid);
    if (!stat) continue;
    cpuUs += stat.cpuUs;
    rssBytes += stat.rssBytes;
    descriptors += descriptorsOf(pid).length;
  }
  return { cpuUs, rssBytes, descriptors };
}

/** What each open descriptor of a process is: a path, or `socket:[…]` and its like. */
export function descriptorsOf(pid: number): string[] {
  const folder = `/proc/${pid}/fd`;
  return list(folder).map((name) => {
    try {
      return readlinkSync(`${folder}/${name}`);
    } catch {
      // Closed between the listing and the look.
      return 'closed';
    }
  });
}

/** The share of all cores that others had while `work` went on: not this process, nor any that it started. */
export async function shareOfOthers(work: () => Promise<unknown>): Promise<number> {
  const before = { cores: coreTicks(), own: usageOf([process.pid]).cpuUs };
  await work();
  const after = { cores: coreTicks(), own: usageOf([process.pid]).cpuUs };
  const total = (after.cores.total - before.cores.total) * TICK_US;
  const busy = total - (after.cores.idle - before.cores.idle) * TICK_US;
  return Math.max(0, busy - (after.own - before.own)) / Math.max(1, total);
}

/** Utime and stime are exact sums, given in ticks. */
const TICK_US = 1_000_000 / Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));
const PAGE_BYTES = Number(execFileSync('getconf', ['PAGESIZE'], { encoding: 'utf8' }));

interface Stat {
  readonly parent: number;
  readonly cpuUs: number;
  readonly rssBytes: number;
}

function statOf(pid: number): Stat | undefined {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, 'latin1');
  } catch {
    // It ended.
    return undefined;
  }
  // The name of the program is in brackets and may hold anything; the fields after it are numbered from 3.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const field = (number: number): number => Number(fields[number - 3]);
  return {
    parent: field(4),
    // Its own time and that of children which have ended and been waited for.
    cpuUs: (field(14) + field(15) + field(16) + field(17)) * TICK_US,
    rssBytes: field(24) * PAGE_BYTES,
  };
}

function groupOf(roots: readonly number[]): Set<number> {
  const children = new Map<number, number[]>();
  for (const name of list('/proc')) {
    const pid = Number(name);
    const stat = Number.isInteger(pid) ? statOf(pid) : undefined;
    if (stat) children.set(stat.parent, [...(children.get(stat.parent) ?? []), pid]);
  }
  const group = new Set<number>();
  const add = (pid: number): void => {
    if (group.has(pid)) return;
    group.add(pid);
    children.get(pid)?.forEach(add);
  };
  roots.forEach(add);
  return group;
}

function list(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function coreTicks(): { idle: number; total: number } {
  const [, ...ticks] = readFileSync('/proc/stat', 'latin1').split('\n')[0]!.trim().split(/\s+/);
  const numbers = ticks.slice(0, 8).map(Number);
  return { idle: numbers[3]! + numbers[4]!, total: numbers.reduce((sum, one) => sum + one, 0) };
}
