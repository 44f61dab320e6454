import { spawn } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Glob } from 'bun';
import type { Area } from './areas.ts';
import type { Mutant } from './operators.ts';

export type Verdict = 'killed' | 'timed out' | 'survived';

/** Far fewer histories than a whole run tells: what a mutant breaks, it breaks soon. */
const MODEL_RUNS = '60';
const TEST_TIMEOUT_MS = 60_000;
/** Many times what the tests take. A mutant may fill a list without end, and with it the machine's memory. */
const MOST_MEMORY_BYTES = 3 * 1024 ** 3;
const LOOK_MS = 500;
const PAGE_BYTES = 4_096;

/** A copy of the tree in which mutants are tried one at a time. The working tree is never touched. */
export class Workshop {
  readonly folder: string;
  readonly #seed: string;

  constructor(root: string, folder: string, seed: string) {
    this.folder = folder;
    this.#seed = seed;
    const files = Bun.spawnSync(['git', 'ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
      cwd: root,
    });
    for (const file of files.stdout.toString().split('\0').filter(Boolean)) {
      mkdirSync(dirname(join(folder, file)), { recursive: true });
      cpSync(join(root, file), join(folder, file), { force: true });
    }
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
    mkdirSync(join(folder, 'tmp'));
  }

  /** How long each stage of an area takes as the code is; a stage that fails says nothing about mutants. */
  async baseline(area: Area): Promise<number[]> {
    const times: number[] = [];
    for (const stage of area.stages) {
      const startedAt = performance.now();
      const { passed, output } = await this.#test(stage, 10 * TEST_TIMEOUT_MS);
      if (!passed) throw new Error(`${stage.join(' ')} fails without any mutant:\n${output.slice(-2_000)}`);
      times.push(performance.now() - startedAt);
    }
    return times;
  }

  async try(mutant: Mutant, stages: Area['stages'], limitsMs: readonly number[]): Promise<Verdict> {
    const path = join(this.folder, mutant.file);
    const text = readFileSync(path, 'utf8');
    writeFileSync(path, mutated(text, mutant));
    try {
      for (const [index, stage] of stages.entries()) {
        const { passed, timedOut } = await this.#test(stage, limitsMs[index] ?? TEST_TIMEOUT_MS);
        if (!passed) return timedOut ? 'timed out' : 'killed';
      }
      return 'survived';
    } finally {
      writeFileSync(path, text);
      this.#cleanUp();
    }
  }

  /** What killed tests left behind. A Postgres is stopped and removed by its own watchdog, which needs its files. */
  #cleanUp(): void {
    const left = join(this.folder, 'tmp');
    for (const entry of readdirSync(left))
      if (!entry.startsWith('tollgate-postgres-'))
        rmSync(join(left, entry), { recursive: true, force: true });
  }

  #test(stage: readonly string[], limitMs: number) {
    const { promise, resolve } = Promise.withResolvers<{
      passed: boolean;
      timedOut: boolean;
      output: string;
    }>();
    const files = stage.flatMap((pattern) => filesOf(this.folder, pattern)).map((file) => `./${file}`);
    // A group of its own, so that what a hanging test has started ends with it.
    const child = spawn(process.execPath, ['test', '--bail', `--timeout=${TEST_TIMEOUT_MS}`, ...files], {
      cwd: this.folder,
      detached: true,
      env: {
        ...process.env,
        NODE_ENV: 'test',
        TMPDIR: join(this.folder, 'tmp'),
        FAST_CHECK_SEED: this.#seed,
        TOLLGATE_MODEL_RUNS: MODEL_RUNS,
      },
    });
    let output = '';
    let timedOut = false;
    const keep = (data: Buffer): void => void (output = (output + data.toString()).slice(-10_000));
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    running.add(child.pid);
    const timer = setTimeout(() => {
      timedOut = true;
      killGroup(child.pid);
    }, limitMs);
    const guard = setInterval(() => {
      if (memoryOf(child.pid) > MOST_MEMORY_BYTES) killGroup(child.pid);
    }, LOOK_MS);
    child.on('exit', (code) => {
      clearTimeout(timer);
      clearInterval(guard);
      running.delete(child.pid);
      killGroup(child.pid);
      resolve({ passed: code === 0, timedOut, output });
    });
    return promise;
  }
}

export function mutated(text: string, { start, end, replacement }: Mutant): string {
  return text.slice(0, start) + replacement + text.slice(end);
}

/** The files of one pattern, sorted. */
export function filesOf(root: string, pattern: string): string[] {
  const files = [...new Glob(pattern).scanSync(root)].sort();
  if (files.length === 0) throw new Error(`'${pattern}' matches no file`);
  return files;
}

/** Groups of their own outlive us unless they are ended: a mutant that loops would go on for hours. */
const running = new Set<number | undefined>();
process.on('exit', () => running.forEach(killGroup));
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(1));

/** In bytes, where the system tells it; elsewhere the limit of time is the only one. */
function memoryOf(pid: number | undefined): number {
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]) * PAGE_BYTES;
  } catch {
    return 0;
  }
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // Nobody of the group is left.
  }
}
