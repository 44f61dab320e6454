/**
 * Runs every test in groups, each in a process of its own, so that a database or a browser of one group cannot disturb
 * another; then prints what CI reads: `N passed, N failed` alone on the last line. There is no second try: a test that
 * fails once has failed. Arguments are passed on to `bun test` as a filter and run as one group.
 *
 * Property tests use a new seed in each run, the one in `FAST_CHECK_SEED` if it is set; see `test/support/property-seed.ts`.
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
  { name: 'bill', paths: ['test/bill'] },
  { name: 'faults', paths: ['test/faults'] },
  { name: 'clients', paths: ['test/clients'] },
  { name: 'binary', paths: ['test/binary'] },
  { name: 'browser', paths: ['test/browser'] },
];

/** A test that hangs is a failure; none needs a tenth of this. */
const TEST_TIMEOUT_MS = 180_000;
const GROUP_TIMEOUT_MS = 15 * 60_000;
const MAX_FAILURES_TOLD = 20;
const MAX_FAILURE_CHARACTERS = 2_000;
const MAX_ERROR_LINES = 25;
const XML_ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' };
const INSTALL_TIMEOUT_MS = 5 * 60_000;
const SYSTEM_BROWSERS = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/opt/google/chrome/chrome',
];

interface Count {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** The tests that failed, as they are told at the end. */
  readonly failures: readonly string[];
}

const seed = process.env['FAST_CHECK_SEED'] || String(crypto.getRandomValues(new Int32Array(1))[0]);
const folder = mkdtempSync(join(tmpdir(), 'tollgate-test-'));
const only = process.argv.slice(2);
const groups: readonly Group[] = only.length > 0 ? [{ name: 'chosen', paths: only }] : GROUPS;
const total = { passed: 0, failed: 0, skipped: 0 };
const failures: string[] = [];
for (const group of groups) {
  const paths = group.paths.filter((path) => existsSync(path));
  if (paths.length === 0) continue;
  if (group.name === 'browser' && !hasBrowser()) continue;
  const count = await runGroup({ ...group, paths });
  total.passed += count.passed;
  total.failed += count.failed;
  total.skipped += count.skipped;
  failures.push(...count.failures);
}
rmSync(folder, { recursive: true, force: true });
// Once more at the end: whoever keeps only the last part of a long log still learns what failed.
for (const failure of failures.slice(0, MAX_FAILURES_TOLD)) console.log(failure);
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

async function runGroup({ name, paths }: Group): Promise<Count> {
  const startedAt = performance.now();
  console.log(`${name}: FAST_CHECK_SEED=${seed}`);
  const count = await runTests(name, paths);
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(0);
  console.log(`${name}: ${count.passed} passed, ${count.failed} failed in ${seconds} s`);
  return count;
}

async function runTests(name: string, paths: readonly string[]): Promise<Count> {
  const report = join(folder, `${name}.xml`);
  const child = Bun.spawn(
    [
      process.execPath,
      'test',
      `--timeout=${TEST_TIMEOUT_MS}`,
      '--reporter=junit',
      `--reporter-outfile=${report}`,
      ...paths.map((path) => `./${path}`),
    ],
    {
      stdio: ['ignore', 'inherit', 'pipe'],
      timeout: GROUP_TIMEOUT_MS,
      env: { ...process.env, NODE_ENV: 'test', FAST_CHECK_SEED: seed, TOLLGATE_TEST_GROUP: name },
    },
  );
  const outside = await errorsOutsideTests(child.stderr);
  await child.exited;
  const result = readReport(report);
  // A process that died, or failed outside a test, must not pass for a quiet success.
  if (child.exitCode === 0 || result.failed > 0) return result;
  const ended = `✗ ${name} ended with ${child.signalCode ?? child.exitCode}`;
  return { ...result, failed: 1, failures: [[ended, ...outside].join('\n')] };
}

/** Passes the test process's messages on, and keeps what was thrown while no test was running: no report has it. */
async function errorsOutsideTests(messages: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<string[]> {
  const errors: string[] = [];
  let linesLeft = 0;
  let unfinished = '';
  const decoder = new TextDecoder();
  for await (const bytes of messages) {
    process.stderr.write(bytes);
    const lines = (unfinished + decoder.decode(bytes, { stream: true })).split('\n');
    unfinished = lines.pop() ?? '';
    for (const line of lines) {
      if (line.startsWith('# Unhandled error')) linesLeft = MAX_ERROR_LINES;
      if (linesLeft-- > 0 && errors.length < MAX_FAILURES_TOLD * MAX_ERROR_LINES)
        errors.push(line.slice(0, 200));
    }
  }
  return errors;
}

function readReport(path: string): Count {
  if (!existsSync(path)) return { passed: 0, failed: 0, skipped: 0, failures: [] };
  const text = readFileSync(path, 'utf8');
  const head = /<testsuites[^>]*>/.exec(text)?.[0] ?? '';
  const number = (name: string): number => Number(new RegExp(`\\b${name}="(\\d+)"`).exec(head)?.[1] ?? 0);
  const failed = number('failures') + number('errors');
  const skipped = number('skipped');
  return { passed: number('tests') - failed - skipped, failed, skipped, failures: failuresIn(text) };
}

function failuresIn(report: string): string[] {
  const cases = report.matchAll(/<testcase ([^>]*[^/])>\s*<(?:failure|error)\b[^>]*?(?:\/>|>([^<]*)<)/g);
  return Array.from(cases, ([, attributes = '', message = '']) => {
    const value = (name: string): string =>
      new RegExp(`(?:^| )${name}="([^"]*)"`).exec(attributes)?.[1] ?? '';
    const title = [value('classname'), value('name')].filter((part) => part !== '').join(' > ');
    const place = `${value('file')}:${value('line')}`;
    return plainText(`✗ ${title} (${place})\n${message}`).slice(0, MAX_FAILURE_CHARACTERS);
  });
}

function plainText(xml: string): string {
  return xml.replaceAll(/&(?:#(\d+)|(\w+));/g, (whole, code: string | undefined, name = '') =>
    code === undefined ? (XML_ENTITIES[name] ?? whole) : String.fromCodePoint(Number(code)),
  );
}
