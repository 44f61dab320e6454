import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface TestResult {
  /** With the names of what it is part of. */
  readonly name: string;
  readonly outcome: 'passed' | 'failed' | 'skipped';
}

const TEST_TIMEOUT_MS = 180_000;
const FILE_TIMEOUT_MS = 10 * 60_000;

/** Runs one file of tests in a process of its own. A file that ends badly has one failed test more. */
export async function runTestFile(file: string): Promise<TestResult[]> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-faults-'));
  const report = join(folder, 'report.xml');
  const child = Bun.spawn(
    [
      process.execPath,
      'test',
      `--timeout=${TEST_TIMEOUT_MS}`,
      '--reporter=junit',
      `--reporter-outfile=${report}`,
      `./${file}`,
    ],
    {
      stdio: ['ignore', 'ignore', 'ignore'],
      timeout: FILE_TIMEOUT_MS,
      env: { ...process.env, NODE_ENV: 'test', TOLLGATE_TEST_GROUP: 'faults' },
    },
  );
  await child.exited;
  const results = existsSync(report) ? resultsIn(readFileSync(report, 'utf8')) : [];
  rmSync(folder, { recursive: true, force: true });
  if (child.exitCode === 0 || results.some(({ outcome }) => outcome === 'failed')) return results;
  return [
    ...results,
    { name: `${file} ended with ${child.signalCode ?? child.exitCode}`, outcome: 'failed' },
  ];
}

export function resultsIn(report: string): TestResult[] {
  const cases = report.matchAll(/<testcase ([^>]*?)(?:\/>|>([\s\S]*?)<\/testcase>)/g);
  return Array.from(cases, ([, attributes = '', body = '']) => {
    const value = (name: string): string =>
      plainText(new RegExp(`(?:^| )${name}="([^"]*)"`).exec(attributes)?.[1] ?? '');
    const name = [value('classname'), value('name')].filter((part) => part !== '').join(' > ');
    if (/<(?:failure|error)\b/.test(body)) return { name, outcome: 'failed' };
    return { name, outcome: body.includes('<skipped') ? 'skipped' : 'passed' };
  });
}

const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' };

function plainText(xml: string): string {
  return xml.replaceAll(/&(?:#(\d+)|(\w+));/g, (whole, code: string | undefined, name = '') =>
    code === undefined ? (ENTITIES[name] ?? whole) : String.fromCodePoint(Number(code)),
  );
}
