/**
 * Runs every test in groups, each in a process of its own, so that a database or a browser of one group cannot disturb
 * another. Some groups run side by side, the next begins when one of them ends, and each of their lines begins with its
 * group. The servers that they start in processes of their own are the binary of `npm run build`, which starts
 * three times as quickly as the sources. Then prints what CI reads: `N passed, N failed` alone on the last line. There is no second try: a test
 * that fails once has failed. Arguments are passed on to `bun test` as a filter and run as one group; `--timings` lists
 * the CPU seconds of groups and files before that line, where the system tells them.
 *
 * Property tests use a new seed in each run, the one in `FAST_CHECK_SEED` if it is set; see `test/support/property-seed.ts`.
 */
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { quickestFolder } from '../test/support/quickest-folder.ts';
import { CpuMeter } from './cpu-meter.ts';
import { GROUPS, GROUPS_AT_ONCE, type TestGroup } from './test-groups.ts';

/** A test that hangs is a failure. The longest visits every dialog and takes a minute where nothing runs beside it. */
const TEST_TIMEOUT_MS = 300_000;
/** A group that does not end. A slow machine takes twice as long as a quick one, and a killed group tells nothing of its tests. */
const GROUP_TIMEOUT_MS = 40 * 60_000;
const MAX_FAILURES_TOLD = 20;
const MAX_FAILURE_CHARACTERS = 2_000;
const MAX_ERROR_LINES = 25;
const XML_ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' };
const BUILD_TIMEOUT_MS = 5 * 60_000;
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
const folder = mkdtempSync(join(quickestFolder(), 'tollgate-test-'));
// A Postgres that is started by root runs as another user.
chmodSync(folder, 0o755);
const binary = join(folder, 'bin/tollgate');
const TIMINGS = '--timings';
const isTimed = process.argv.includes(TIMINGS);
const only = process.argv.slice(2).filter((word) => word !== TIMINGS);
const fileSeconds = new Map<string, number>();
const total = { passed: 0, failed: 0, skipped: 0 };
const failures: string[] = [];
if (only.length > 0) {
  await run({ name: 'chosen', paths: only }, '');
} else {
  buildBinary();
  const isLeftOut = hasBrowser() ? () => false : ({ name }: TestGroup) => name === 'browser';
  const groups = GROUPS.filter((group) => !isLeftOut(group));
  await runSideBySide(groups.filter(({ alone }) => !alone));
  for (const group of groups.filter(({ alone }) => alone)) await run(group);
}
rmSync(folder, { recursive: true, force: true });
// Once more at the end: whoever keeps only the last part of a long log still learns what failed.
for (const failure of failures.slice(0, MAX_FAILURES_TOLD)) console.log(failure);
if (isTimed) tellFileSeconds();
if (total.skipped > 0) console.log(`${total.skipped} skipped`);
console.log(`${total.passed} passed, ${total.failed} failed`);
process.exit(total.failed === 0 && total.passed > 0 ? 0 : 1);

/** Without it each test runs what it needs from the sources, or builds it, and says what is wrong with it. */
function buildBinary(): void {
  const { exitCode } = Bun.spawnSync([process.execPath, join(import.meta.dir, 'build.ts'), binary], {
    stdio: ['ignore', 'ignore', 'inherit'],
    timeout: BUILD_TIMEOUT_MS,
  });
  if (exitCode === 0) process.env['TOLLGATE_TEST_BINARY'] = binary;
}

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

async function runSideBySide(groups: readonly TestGroup[]): Promise<void> {
  const waiting = [...groups];
  const inTurn = async (): Promise<void> => {
    for (let group = waiting.shift(); group; group = waiting.shift()) await run(group);
  };
  await Promise.all(Array.from({ length: GROUPS_AT_ONCE }, inTurn));
}

async function run(group: TestGroup, linesBegin = `${group.name} | `): Promise<void> {
  const startedAt = performance.now();
  const { name } = group;
  console.log(`${name}: FAST_CHECK_SEED=${seed}`);
  const count = await runTests(group, linesBegin);
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(0);
  const cpu = count.cpuSeconds === undefined ? '' : `, ${count.cpuSeconds.toFixed(1)} s of CPU`;
  console.log(`${name}: ${count.passed} passed, ${count.failed} failed in ${seconds} s${cpu}`);
  total.passed += count.passed;
  total.failed += count.failed;
  total.skipped += count.skipped;
  failures.push(...count.failures);
}

interface Run extends Count {
  readonly cpuSeconds: number | undefined;
}

async function runTests({ name, paths, shard }: TestGroup, linesBegin: string): Promise<Run> {
  const report = join(folder, `${name}.xml`);
  const command = [
    process.execPath,
    'test',
    `--timeout=${TEST_TIMEOUT_MS}`,
    '--reporter=junit',
    `--reporter-outfile=${report}`,
    ...(shard ? [`--shard=${shard}`] : []),
    ...paths.map((path) => `./${path}`),
  ];
  const meter = isTimed ? CpuMeter.make(name) : undefined;
  const times = meter && new FileTimes(meter);
  const child = Bun.spawn(meter?.counted(command) ?? command, {
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: GROUP_TIMEOUT_MS,
    env: {
      ...process.env,
      NODE_ENV: 'test',
      FAST_CHECK_SEED: seed,
      TOLLGATE_TEST_GROUP: name,
      // What a killed test leaves behind goes with the run.
      TMPDIR: folder,
    },
  });
  const outside: string[] = [];
  let linesLeft = 0;
  await Promise.all([
    forEachLine(child.stdout, (line) => console.log(linesBegin + line)),
    forEachLine(child.stderr, (line) => {
      console.error(linesBegin + line);
      times?.hear(line);
      // What is thrown while no test is running is in no report.
      if (line.startsWith('# Unhandled error')) linesLeft = MAX_ERROR_LINES;
      if (linesLeft-- > 0 && outside.length < MAX_FAILURES_TOLD * MAX_ERROR_LINES)
        outside.push(line.slice(0, 200));
    }),
  ]);
  await child.exited;
  const result = { ...readReport(report), cpuSeconds: meter?.seconds() };
  await meter?.remove();
  // A process that died, or failed outside a test, must not pass for a quiet success.
  if (child.exitCode === 0 || result.failed > 0) return result;
  const ended = `✗ ${name} ended with ${child.signalCode ?? child.exitCode}`;
  return { ...result, failed: 1, failures: [[ended, ...outside].join('\n')] };
}

/**
 * Bun names each file before its tests, and all of them when the last has ended. On a busy machine the name is read late,
 * and what was used until then counts for the file before.
 */
class FileTimes {
  readonly #meter: CpuMeter;
  #file = 'before the first file';
  #seconds = 0;

  constructor(meter: CpuMeter) {
    this.#meter = meter;
  }

  hear(line: string): void {
    const next = /^(\S+\.test\.tsx?):$/.exec(line)?.[1];
    if (next === undefined && !line.startsWith('Ran ')) return;
    const seconds = this.#meter.seconds();
    fileSeconds.set(this.#file, (fileSeconds.get(this.#file) ?? 0) + seconds - this.#seconds);
    this.#seconds = seconds;
    this.#file = next ?? 'after the last file';
  }
}

function tellFileSeconds(): void {
  const dearestFirst = [...fileSeconds].sort(([, a], [, b]) => b - a);
  for (const [file, seconds] of dearestFirst) console.log(`${seconds.toFixed(1)} s of CPU: ${file}`);
}

async function forEachLine(
  bytes: ReadableStream<Uint8Array<ArrayBuffer>>,
  tell: (line: string) => void,
): Promise<void> {
  let unfinished = '';
  const decoder = new TextDecoder();
  for await (const piece of bytes) {
    const lines = (unfinished + decoder.decode(piece, { stream: true })).split('\n');
    unfinished = lines.pop() ?? '';
    for (const line of lines) tell(line);
  }
  if (unfinished !== '') tell(unfinished);
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
