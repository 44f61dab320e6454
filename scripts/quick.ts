/**
 * `npm run quick`: what can be known of a change within a minute. Types from where the last run left off, lint without
 * types, format, and the tests that the change reaches, nearest first, until their time is over; what they did not come to
 * is named and left to `npm run check`. A change is whatever differs from HEAD, or with `-- --base main` from a branch.
 */
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { reachedTests, readNeeds } from './reached-tests.ts';
import { FEW_COLLECTIONS, TYPES } from './static-steps.ts';
import { GROUPS } from './test-groups.ts';

const ROOT = resolve(import.meta.dir, '..');
/** The whole is to take a minute. No file is begun after the first, and none goes on after the second. */
const LAST_START_MS = 35_000;
const LAST_END_MS = 52_000;
/** They start a process each time, and what is cut off at the end is lost. */
const FILES_AT_ONCE = 4;
const MOST_NAMED = 12;
/** They read all sources themselves. */
const ALWAYS = ['test/architecture/imports.test.ts', 'test/architecture/names.test.ts'];

const startedAt = performance.now();
const elapsedMs = (): number => performance.now() - startedAt;
const { base } = parseArgs({ options: { base: { type: 'string', default: 'HEAD' } } }).values;
const env = {
  ...process.env,
  ...FEW_COLLECTIONS,
  NODE_ENV: 'test',
  PATH: `${ROOT}/node_modules/.bin:${process.env['PATH'] ?? ''}`,
};
const changed = changedFiles();
console.log(`${changed.length} changed since ${base}`);
const passed = await Promise.all([types(), lintAndTests()]);
console.log(passed.every(Boolean) ? `✓ ${seconds(0)}` : `✗ ${seconds(0)}`);
process.exit(passed.every(Boolean) ? 0 : 1);

function changedFiles(): string[] {
  const git = (...words: string[]): string[] => {
    const child = Bun.spawnSync(['git', ...words], { cwd: ROOT, stderr: 'inherit' });
    if (child.exitCode !== 0) process.exit(1);
    return child.stdout.toString().split('\n').filter(Boolean);
  };
  return [
    ...git('diff', '--name-only', '--relative', base),
    ...git('ls-files', '--others', '--exclude-standard'),
  ];
}

function types(): Promise<boolean> {
  return step('types', TYPES);
}

/** One after the other, beside the types: a machine with two cores is busy with that. */
async function lintAndTests(): Promise<boolean> {
  const lint = await step('lint', ['oxlint', '--deny-warnings']);
  const format = await step('format', ['oxfmt', '--check']);
  return (await tests()) && lint && format;
}

async function step(name: string, command: readonly string[]): Promise<boolean> {
  const since = elapsedMs();
  const child = Bun.spawn([...command], { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const text = await outputOf(child);
  const isFine = (await child.exited) === 0;
  if (!isFine) console.log(text);
  console.log(`${isFine ? '✓' : '✗'} ${name} ${seconds(since)}`);
  return isFine;
}

async function tests(): Promise<boolean> {
  const since = elapsedMs();
  const reached = reachedTests(changed, await readNeeds(ROOT));
  const near = reached
    .filter(({ file, distance }) => distance === 0 || !isSlow(file))
    .map(({ file }) => file);
  const waiting = [...new Set([...near.slice(0, FILES_AT_ONCE), ...ALWAYS, ...near])];
  const left = new Set(reached.map(({ file }) => file).filter((file) => !waiting.includes(file)));
  let count = 0;
  let isFine = true;
  const work = async (): Promise<void> => {
    // The nearest have their turn on the slowest machine.
    while (waiting.length > 0 && (count === 0 || elapsedMs() < LAST_START_MS)) {
      const files = waiting.splice(0, FILES_AT_ONCE);
      const outcome = await runFiles(files);
      if (outcome === 'cut off') for (const file of files) left.add(file);
      else count += files.length;
      if (outcome === 'failed') isFine = false;
    }
  };
  await Promise.all(Array.from({ length: Math.max(1, availableParallelism() - 1) }, work));
  for (const file of waiting) left.add(file);
  console.log(`${isFine ? '✓' : '✗'} tests in ${count} files ${seconds(since)}`);
  if (left.size > 0) console.log(`left to npm run check: ${left.size} files, ${named([...left])}`);
  return isFine;
}

function isSlow(file: string): boolean {
  return GROUPS.some(({ slow, paths }) => slow && paths.some((path) => file.startsWith(`${path}/`)));
}

async function runFiles(files: readonly string[]): Promise<'passed' | 'failed' | 'cut off'> {
  const timeLeftMs = Math.round(Math.max(LAST_END_MS - LAST_START_MS, LAST_END_MS - elapsedMs()));
  const child = Bun.spawn(
    [process.execPath, 'test', '--timeout=60000', '--only-failures', ...files.map((file) => `./${file}`)],
    { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'pipe'], timeout: timeLeftMs },
  );
  const text = await outputOf(child);
  if ((await child.exited) === 0) return 'passed';
  if (child.signalCode === 'SIGTERM') return 'cut off';
  console.log(text);
  return 'failed';
}

async function outputOf({ stdout, stderr }: Bun.Subprocess<'ignore', 'pipe', 'pipe'>): Promise<string> {
  const texts = await Promise.all([new Response(stdout).text(), new Response(stderr).text()]);
  return texts.join('').trimEnd();
}

function named(files: readonly string[]): string {
  const first = files.slice(0, MOST_NAMED).join(' ');
  return files.length > MOST_NAMED ? `${first} …` : first;
}

function seconds(sinceMs: number): string {
  return `${((elapsedMs() - sinceMs) / 1000).toFixed(1)} s`;
}
