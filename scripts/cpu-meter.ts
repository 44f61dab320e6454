import { mkdirSync, readFileSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';

/** Where Linux counts the CPU of a group of processes, in its older and its newer form. */
const COUNTERS = [
  { groups: '/sys/fs/cgroup/cpuacct', file: 'cpuacct.usage', count: /^(\d+)/, perSecond: 1e9 },
  { groups: '/sys/fs/cgroup', file: 'cpu.stat', count: /^usage_usec (\d+)/, perSecond: 1e6 },
] as const;
const REMOVAL_TRIES = 100;
const REMOVAL_PAUSE_MS = 50;

/**
 * The CPU seconds of a command and of everything that it starts, whoever waits for it or nobody: databases, servers that
 * are killed, browsers. A group of the kernel's counts them; to make one takes root, and a system that has them.
 */
export class CpuMeter {
  readonly #folder: string;
  readonly #counter: (typeof COUNTERS)[number];

  private constructor(folder: string, counter: (typeof COUNTERS)[number]) {
    this.#folder = folder;
    this.#counter = counter;
  }

  /** Undefined where there is no such group to be had. */
  static make(name: string): CpuMeter | undefined {
    for (const counter of COUNTERS) {
      const folder = join(counter.groups, `tollgate-${process.pid}-${name}`);
      try {
        mkdirSync(folder);
        const meter = new CpuMeter(folder, counter);
        if (Number.isFinite(meter.seconds())) return meter;
      } catch {
        // Not mounted, or not for us to write to.
      }
    }
    return undefined;
  }

  /** The command, with its process in the group. */
  counted(command: readonly string[]): string[] {
    return ['sh', '-c', 'echo $$ > "$0" && exec "$@"', join(this.#folder, 'cgroup.procs'), ...command];
  }

  seconds(): number {
    const { file, count, perSecond } = this.#counter;
    const found = count.exec(readFileSync(join(this.#folder, file), 'utf8'))?.[1];
    return Number(found) / perSecond;
  }

  /** A group can be removed when its last process has ended; a database takes a moment for it. */
  async remove(): Promise<void> {
    for (let tries = 0; tries < REMOVAL_TRIES; tries++) {
      try {
        rmdirSync(this.#folder);
        return;
      } catch {
        await Bun.sleep(REMOVAL_PAUSE_MS);
      }
    }
  }
}
