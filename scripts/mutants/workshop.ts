import { spawn } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Glob } from 'bun';
import type { Area } from './areas.ts';
import { ImportGraph } from './import-graph.ts';
import type { Mutant } from './operators.ts';

/** `undecided`: the machine was too slow to tell a mutant that hangs from one that is slow. */
export type Verdict = 'killed' | 'hangs' | 'survived' | 'undecided';

/** Tests of one stage that a mutant is run against at once. */
export interface Step {
  /** The stage's place in its area. */
  readonly stage: number;
  readonly files: readonly string[];
}

/** Far fewer histories than a whole run tells: what a mutant breaks, it breaks soon. */
const MODEL_RUNS = '60';
const TEST_TIMEOUT_MS = 60_000;
/** Many times what the tests take. A mutant may fill a list without end, and with it the machine's memory. */
const MOST_MEMORY_BYTES = 3 * 1024 ** 3;
/** However much a mutant has to say. */
const MOST_RUN_MS = 600_000;
const BASELINE_SILENCE_MS = 2 * TEST_TIMEOUT_MS;
const LOOK_MS = 500;
const PAGE_BYTES = 4_096;
/** A mutant may be slow; this much slower than the code as it is, and it hangs. */
const SLOWER = 3;
const LEAST_SILENCE_MS = 15_000;
const MOST_TRIES = 3;

/** A copy of the tree in which mutants are tried one at a time. The working tree is never touched. */
export class Workshop {
  readonly folder: string;
  readonly #seed: string;
  readonly #graph: ImportGraph;
  readonly #leastSilenceMs: number;

  constructor(root: string, folder: string, seed: string, leastSilenceMs = LEAST_SILENCE_MS) {
    this.folder = folder;
    this.#seed = seed;
    this.#graph = new ImportGraph(folder);
    this.#leastSilenceMs = leastSilenceMs;
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

  /** What a mutant of this file is run against, the quickest first. */
  steps(file: string, area: Area): Step[] {
    return nearestFirst(file, testsOf(area, this.folder), this.#graph);
  }

  /** For how long no test of a stage may end; a stage that fails as the code is says nothing about mutants. */
  async silenceOf(area: Area, stage: number): Promise<number> {
    const files = testsOf(area, this.folder)[stage] ?? [];
    const { passed, output, longestSilenceMs } = await this.#test(files, BASELINE_SILENCE_MS);
    if (!passed) throw new Error(`${files.join(' ')} fails without any mutant:\n${output.slice(-2_000)}`);
    return this.#allowedSilence(longestSilenceMs);
  }

  async try(mutant: Mutant, step: Step, silenceMs: number): Promise<Verdict> {
    try {
      const { verdict, failed } = await this.#tryFiles(mutant, step.files, silenceMs);
      if (verdict !== 'killed' || step.stage === 0) return verdict;
      // Whole servers on a busy machine: what fails only once has failed for another reason.
      const again = await this.#tryFiles(mutant, failed, silenceMs);
      return again.verdict === 'survived'
        ? (await this.#tryFiles(mutant, step.files, silenceMs)).verdict
        : again.verdict;
    } finally {
      this.#cleanUp();
    }
  }

  /**
   * The machine may be busier than it was when the stage was timed. So a mutant hangs only if it does so twice, while
   * the unchanged code, timed in between, is quick enough.
   */
  async #tryFiles(mutant: Mutant, files: readonly string[], silenceMs: number): Promise<Outcome> {
    let limitMs = silenceMs;
    let hasHung = false;
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const { passed, timedOut, output } = await this.#testChanged(mutant, files, limitMs);
      if (!timedOut)
        return {
          verdict: passed ? 'survived' : 'killed',
          failed: [lastNamed(output, files) ?? files].flat(),
        };
      if (hasHung) return { verdict: 'hangs', failed: files };
      const unchanged = await this.#test(files, BASELINE_SILENCE_MS);
      if (!unchanged.passed) break;
      const fairMs = this.#allowedSilence(unchanged.longestSilenceMs);
      hasHung = fairMs <= limitMs;
      limitMs = Math.max(limitMs, fairMs);
    }
    return { verdict: 'undecided', failed: files };
  }

  #allowedSilence(unchangedMs: number): number {
    return Math.max(this.#leastSilenceMs, unchangedMs * SLOWER);
  }

  async #testChanged(mutant: Mutant, files: readonly string[], silenceMs: number): Promise<TestRun> {
    const path = join(this.folder, mutant.file);
    const text = readFileSync(path, 'utf8');
    writeFileSync(path, mutated(text, mutant));
    try {
      return await this.#test(files, silenceMs);
    } finally {
      writeFileSync(path, text);
    }
  }

  /** What killed tests left behind. A Postgres is stopped and removed by its own watchdog, which needs its files. */
  #cleanUp(): void {
    const left = join(this.folder, 'tmp');
    for (const entry of readdirSync(left))
      if (!entry.startsWith('tollgate-postgres-'))
        rmSync(join(left, entry), { recursive: true, force: true });
  }

  /** Bun names each test when it has ended; `silenceMs` is how long none may. */
  #test(tests: readonly string[], silenceMs: number): Promise<TestRun> {
    const { promise, resolve } = Promise.withResolvers<TestRun>();
    const files = tests.map((file) => `./${file}`);
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
    const startedAt = performance.now();
    let heardAt = startedAt;
    let longestSilenceMs = 0;
    const hear = (): void => {
      longestSilenceMs = Math.max(longestSilenceMs, performance.now() - heardAt);
      heardAt = performance.now();
      timer.refresh();
    };
    const timer = setTimeout(() => {
      timedOut = true;
      killGroup(child.pid);
    }, silenceMs);
    const keep = (data: Buffer): void => {
      hear();
      output = (output + data.toString()).slice(-10_000);
    };
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    running.add(child.pid);
    const guard = setInterval(() => {
      timedOut ||= performance.now() - startedAt > MOST_RUN_MS;
      if (timedOut || memoryOf(child.pid) > MOST_MEMORY_BYTES) killGroup(child.pid);
    }, LOOK_MS);
    child.on('exit', (code) => {
      hear();
      clearTimeout(timer);
      clearInterval(guard);
      running.delete(child.pid);
      killGroup(child.pid);
      timedOut ||= /test timed out after/.test(output);
      resolve({ passed: code === 0, timedOut, output, longestSilenceMs });
    });
    return promise;
  }
}

interface Outcome {
  readonly verdict: Verdict;
  /** The file that failed, or all where that is not known. */
  readonly failed: readonly string[];
}

interface TestRun {
  readonly passed: boolean;
  readonly timedOut: boolean;
  readonly output: string;
  readonly longestSilenceMs: number;
}

/** Bun names a file before its tests, and stops after the first that fails. */
function lastNamed(output: string, files: readonly string[]): string | undefined {
  const lines = output.split('\n').map((line) => line.trim());
  return lines.findLast((line) => files.includes(line.replace(/:$/, '')))?.replace(/:$/, '');
}

/** The tests of each stage; one that a later stage names is left to it. */
function testsOf({ stages }: Area, root: string): string[][] {
  const later = (at: number): Set<string> => new Set(stages.slice(at + 1).flat());
  return stages.map((patterns, at) =>
    patterns.flatMap((pattern) => filesOf(root, pattern)).filter((file) => !later(at).has(file)),
  );
}

/**
 * Of each stage the tests that reach the mutant's file. In the first stage, of small tests, the nearest come first; then
 * those of the other stages that are named after the file: most mutants end there.
 */
function nearestFirst(file: string, stages: readonly (readonly string[])[], graph: ImportGraph): Step[] {
  const name = file.replace(/\.ts$/, '');
  const isNamed = (test: string): boolean => test.startsWith(name) && /^[.-]/.test(test.slice(name.length));
  const rank = (test: string): number => (isNamed(test) ? 0 : (graph.distance(test, file) ?? Infinity));
  const [first = [], ...others] = stages.map((files) => files.filter((test) => Number.isFinite(rank(test))));
  const later = others.map((files, at) => ({ stage: at + 1, files }));
  return [
    { stage: 0, files: first.toSorted((a, b) => rank(a) - rank(b)) },
    ...later.map(({ stage, files }) => ({ stage, files: files.filter(isNamed) })),
    ...later.map(({ stage, files }) => ({ stage, files: files.filter((test) => !isNamed(test)) })),
  ].filter(({ files }) => files.length > 0);
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
