/**
 * Runs every test in groups, each in a process of its own, so that a database or a browser of one group cannot disturb
 * another; then prints what CI reads: `N passed, N failed` alone on the last line. Arguments are passed on to `bun test`
 * as a filter and run as one group.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const GROUPS: readonly { readonly name: string; readonly paths: readonly string[] }[] = [
  { name: 'units', paths: ['src', 'web', 'scripts'] },
  { name: 'stories', paths: ['test/stories', 'test/architecture'] },
  { name: 'faults', paths: ['test/faults'] },
  { name: 'clients', paths: ['test/clients'] },
  { name: 'browser', paths: ['test/browser'] },
];

/** A test that hangs is a failure; none needs a tenth of this. */
const TEST_TIMEOUT_MS = 180_000;
const GROUP_TIMEOUT_MS = 15 * 60_000;

interface Count {
  passed: number;
  failed: number;
  skipped: number;
}

const folder = mkdtempSync(join(tmpdir(), 'tollgate-test-'));
const only = process.argv.slice(2);
const groups = only.length > 0 ? [{ name: 'chosen', paths: only }] : GROUPS;
const total: Count = { passed: 0, failed: 0, skipped: 0 };
for (const group of groups) {
  const paths = group.paths.filter((path) => existsSync(path));
  if (paths.length === 0) continue;
  const count = runGroup(group.name, paths);
  total.passed += count.passed;
  total.failed += count.failed;
  total.skipped += count.skipped;
}
rmSync(folder, { recursive: true, force: true });
if (total.skipped > 0) console.log(`${total.skipped} skipped`);
console.log(`${total.passed} passed, ${total.failed} failed`);
process.exit(total.failed === 0 && total.passed > 0 ? 0 : 1);

function runGroup(name: string, paths: readonly string[]): Count {
  const report = join(folder, `${name}.xml`);
  const startedAt = performance.now();
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
      // The client side of the tests opens more connections at once than Bun allows by default.
      env: { ...process.env, BUN_CONFIG_MAX_HTTP_REQUESTS: '20000', NODE_ENV: 'test' },
    },
  );
  const count = readReport(report);
  // A process that died, or failed outside a test, must not pass for a quiet success.
  if (child.exitCode !== 0 && count.failed === 0) count.failed = 1;
  console.log(
    `${name}: ${count.passed} passed, ${count.failed} failed in ${((performance.now() - startedAt) / 1000).toFixed(0)} s`,
  );
  return count;
}

function readReport(path: string): Count {
  if (!existsSync(path)) return { passed: 0, failed: 1, skipped: 0 };
  const head = /<testsuites[^>]*>/.exec(readFileSync(path, 'utf8'))?.[0] ?? '';
  const number = (name: string): number => Number(new RegExp(`\\b${name}="(\\d+)"`).exec(head)?.[1] ?? 0);
  const failed = number('failures') + number('errors');
  const skipped = number('skipped');
  return { passed: number('tests') - failed - skipped, failed, skipped };
}
