/**
 * Runs every test in groups, each in a process of its own, so that a database or a browser of one group cannot disturb
 * another; then prints what CI reads: `N passed, N failed` alone on the last line. Arguments are passed on to `bun test`
 * as a filter and run as one group.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

interface Group {
  readonly name: string;
  readonly paths: readonly string[];
}

const GROUPS: readonly Group[] = [
  { name: 'units', paths: ['src', 'web', 'scripts'] },
  { name: 'stories', paths: ['test/stories', 'test/providers', 'test/architecture'] },
  { name: 'golden', paths: ['test/golden'] },
  { name: 'faults', paths: ['test/faults'] },
  { name: 'clients', paths: ['test/clients'] },
  { name: 'binary', paths: ['test/binary'] },
  { name: 'browser', paths: ['test/browser'] },
];

/** A test that hangs is a failure; none needs a tenth of this. */
const TEST_TIMEOUT_MS = 180_000;
const GROUP_TIMEOUT_MS = 15 * 60_000;
const INSTALL_TIMEOUT_MS = 5 * 60_000;
const SYSTEM_BROWSERS = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/opt/google/chrome/chrome',
];

interface Count {
  passed: number;
  failed: number;
  skipped: number;
}

interface Result extends Readonly<Count> {
  readonly failedFiles: readonly string[];
}

const folder = mkdtempSync(join(tmpdir(), 'tollgate-test-'));
const only = process.argv.slice(2);
const groups: readonly Group[] = only.length > 0 ? [{ name: 'chosen', paths: only }] : GROUPS;
const total: Count = { passed: 0, failed: 0, skipped: 0 };
for (const group of groups) {
  const paths = group.paths.filter((path) => existsSync(path));
  if (paths.length === 0) continue;
  if (group.name === 'browser' && !hasBrowser()) continue;
  const count = runGroup({ ...group, paths });
  total.passed += count.passed;
  total.failed += count.failed;
  total.skipped += count.skipped;
}
rmSync(folder, { recursive: true, force: true });
if (total.skipped > 0) console.log(`${total.skipped} skipped`);
console.log(`${total.passed} passed, ${total.failed} failed`);
process.exit(total.failed === 0 && total.passed > 0 ? 0 : 1);

/** Where npm has no browser for this machine, Debian's is installed if we may; else the group is left out, and said so. */
function hasBrowser(): boolean {
  const fromNpm = process.platform === 'linux' && process.arch === 'x64';
  const isThere = (): boolean => SYSTEM_BROWSERS.some((path) => existsSync(path));
  if (fromNpm || process.env['CHROMIUM_PATH'] || isThere()) return true;
  if (process.platform === 'linux' && process.getuid?.() === 0) {
    for (const command of ['apt-get update -q', 'apt-get install -y -q chromium']) {
      Bun.spawnSync(command.split(' '), {
        stdio: ['ignore', 'ignore', 'inherit'],
        timeout: INSTALL_TIMEOUT_MS,
      });
    }
    if (isThere()) return true;
  }
  console.log('browser: left out, there is no Chromium for this machine (set CHROMIUM_PATH, or install one)');
  return false;
}

function runGroup({ name, paths }: Group): Count {
  const startedAt = performance.now();
  const first = runTests(name, paths);
  const count = first.failed > 0 ? runAgain(name, first) : first;
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(0);
  console.log(`${name}: ${count.passed} passed, ${count.failed} failed in ${seconds} s`);
  return count;
}

/**
 * Many tests start processes, databases or a browser, and a machine that is busy with something else can disturb them:
 * each file that failed has one more try on its own. That it needed one is said aloud; failing twice is failing.
 */
function runAgain(name: string, first: Result): Count {
  // Without a report nobody knows which file it was.
  if (first.failedFiles.length === 0) return first;
  const total: Count = { passed: first.passed, failed: 0, skipped: first.skipped };
  for (const [index, file] of first.failedFiles.entries()) {
    const again = runTests(`${name}-again-${index}`, [file]);
    total.failed += again.failed;
    if (again.failed === 0) console.log(`unsteady: ${file} failed and then passed on its own`);
  }
  // What failed first and passed now has passed; tests of these files that had passed are not counted twice.
  total.passed += Math.max(0, first.failed - total.failed);
  return total;
}

function runTests(name: string, paths: readonly string[]): Result {
  const report = join(folder, `${name}.xml`);
  const child = Bun.spawnSync(
    [
      process.execPath,
      'test',
      `--timeout=${TEST_TIMEOUT_MS}`,
      '--reporter=junit',
      `--reporter-outfile=${report}`,
      ...paths.map((path) => `./${path}`),
    ],
    {
      stdio: ['ignore', 'inherit', 'inherit'],
      timeout: GROUP_TIMEOUT_MS,
      env: { ...process.env, NODE_ENV: 'test' },
    },
  );
  const result = readReport(report);
  // A process that died, or failed outside a test, must not pass for a quiet success.
  return child.exitCode !== 0 && result.failed === 0 ? { ...result, failed: 1 } : result;
}

function readReport(path: string): Result {
  if (!existsSync(path)) return { passed: 0, failed: 1, skipped: 0, failedFiles: [] };
  const text = readFileSync(path, 'utf8');
  const head = /<testsuites[^>]*>/.exec(text)?.[0] ?? '';
  const number = (name: string): number => Number(new RegExp(`\\b${name}="(\\d+)"`).exec(head)?.[1] ?? 0);
  const failed = number('failures') + number('errors');
  const skipped = number('skipped');
  const suites = text.match(/<testsuite [^>]*>/g) ?? [];
  const failedFiles = suites
    .filter((suite) => /\bfailures="[1-9]/.test(suite))
    .flatMap((suite) => /\bfile="([^"]+)"/.exec(suite)?.[1] ?? []);
  return {
    passed: number('tests') - failed - skipped,
    failed,
    skipped,
    failedFiles: [...new Set(failedFiles)],
  };
}
