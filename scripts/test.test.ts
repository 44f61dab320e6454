import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Glob } from 'bun';
import { CpuMeter } from './cpu-meter.ts';
import { GROUPS } from './test-groups.ts';

/** What the test runner guarantees to a program that reads its last line. */

const ROOT = resolve(import.meta.dir, '..');
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-runner-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function run(command: readonly string[], cwd: string, env: Record<string, string> = {}) {
  const {
    FAST_CHECK_SEED: _seed,
    FAST_CHECK_PATH: _path,
    TOLLGATE_TEST_GROUP: _group,
    ...rest
  } = process.env;
  const child = Bun.spawnSync([process.execPath, ...command], { cwd, env: { ...rest, ...env } });
  return { code: child.exitCode, text: child.stdout.toString() };
}

const seedIn = (text: string): string => /FAST_CHECK_SEED=(-?\d+)/.exec(text)?.[1] ?? '';

test('a test that fails once and would pass the second time has failed', () => {
  writeFileSync(
    join(folder, 'flaky.test.ts'),
    `import { expect, test } from 'bun:test';
     import { existsSync, writeFileSync } from 'node:fs';
     test('fails the first time, with <what> & why', () => {
       const again = existsSync('tried');
       writeFileSync('tried', '');
       expect(again).toBe(true);
     });`,
  );
  const runner = join(ROOT, 'scripts/test.ts');
  const first = run([runner, 'flaky.test.ts'], folder);
  expect(first.text.trimEnd()).toEndWith('\n0 passed, 1 failed');
  expect(first.text).toMatch(
    /\n✗ fails the first time, with <what> & why \(\S*flaky\.test\.ts:\d+\)\n.*expect\(received\)/,
  );
  expect(first.code).toBe(1);
  const second = run([runner, 'flaky.test.ts'], folder);
  expect(second.text).not.toContain('✗');
  expect(second.text.trimEnd()).toEndWith('\n1 passed, 0 failed');
  expect(second.code).toBe(0);
  expect(seedIn(first.text)).not.toBe('');
  expect(seedIn(second.text)).not.toBe(seedIn(first.text));
});

test('a process that dies on the way has failed, and is named at the end', () => {
  writeFileSync(
    join(folder, 'dies.test.ts'),
    `import { test } from 'bun:test'; test('dies', () => process.exit(7));`,
  );
  const { code, text } = run([join(ROOT, 'scripts/test.ts'), 'dies.test.ts'], folder);
  expect(text.trimEnd()).toEndWith('✗ chosen ended with 7\n0 passed, 1 failed');
  expect(code).toBe(1);
});

test('what is thrown while no test runs has failed, and is told at the end', () => {
  writeFileSync(
    join(folder, 'late.test.ts'),
    `import { test } from 'bun:test';
     test('leaves something behind', () => {});
     await Promise.resolve();
     void Promise.reject(new Error('too late'));`,
  );
  const { code, text } = run([join(ROOT, 'scripts/test.ts'), 'late.test.ts'], folder);
  expect(text).toMatch(/\n✗ chosen ended with 1\n[^✗]*too late/);
  expect(text.trimEnd()).toMatch(/ passed, 1 failed$/);
  expect(code).toBe(1);
});

const meter = CpuMeter.make('probe');
await meter?.remove();

test.if(meter !== undefined)(
  'the CPU seconds of a group count what its tests started, and each file has its share',
  () => {
    const spin = `const used = () => { const { user, system } = process.cpuUsage(); return user + system; };
    for (const end = used() + 300_000; used() < end; ) for (let turn = 0; turn < 1e6; turn++);`;
    writeFileSync(
      join(folder, 'busy.test.ts'),
      `import { test } from 'bun:test';
     test('starts another', () => { Bun.spawnSync([process.execPath, '-e', ${JSON.stringify(spin)}]); });`,
    );
    writeFileSync(
      join(folder, 'idle.test.ts'),
      `import { test } from 'bun:test'; test('does nothing', () => {});`,
    );
    const files = ['busy.test.ts', 'idle.test.ts'];
    const { text } = run([join(ROOT, 'scripts/test.ts'), '--timings', ...files], folder);
    expect(Number(/^chosen: .*, ([\d.]+) s of CPU$/m.exec(text)?.[1])).toBeGreaterThanOrEqual(0.3);
    for (const file of files) expect(text).toMatch(new RegExp(`^[\\d.]+ s of CPU: ${file}$`, 'm'));
    expect(text.trimEnd()).toEndWith('\n2 passed, 0 failed');
  },
);

describe('a property that fails', () => {
  const FAILING = `import fc from 'fast-check';
    const tried = [];
    try {
      fc.assert(fc.property(fc.nat(), (n) => { tried.push(n); return n < 1000; }));
    } catch (thrown) { console.log(JSON.stringify({ message: thrown.message, tried })); }`;
  const fails = (env: Record<string, string> = {}) => {
    const { text } = run(['--preload', './test/support/property-seed.ts', '-e', FAILING], ROOT, env);
    const { message, tried } = JSON.parse(text.slice(text.indexOf('{'))) as {
      message: string;
      tried: number[];
    };
    const [, seed = '', path = ''] = /seed: (-?\d+), path: "([\d:]+)"/.exec(message) ?? [];
    return { announced: seedIn(text), seed, path, tried };
  };

  test('names the seed that was announced, another one in each run', () => {
    const [one, other] = [fails(), fails()];
    expect(one.seed).toBe(one.announced);
    expect(other.seed).toBe(other.announced);
    expect(one.seed).not.toBe(other.seed);
  });

  test('fails in the same way with its seed, and at once with its path', () => {
    const first = fails();
    expect(fails({ FAST_CHECK_SEED: first.seed }).tried).toEqual(first.tried);
    const replayed = fails({ FAST_CHECK_SEED: first.seed, FAST_CHECK_PATH: first.path });
    expect(first.tried).toContain(replayed.tried[0] ?? -1);
    expect(replayed.tried.length).toBeLessThan(first.tried.length);
  });
});

test('no property pins a seed of its own', async () => {
  for await (const file of new Glob('{src,test,web}/**/*.ts').scan(ROOT)) {
    const text = await Bun.file(join(ROOT, file)).text();
    if (!text.includes(`from 'fast-check'`)) continue;
    expect({ file, pinned: /\bseed: *-?\d+/.exec(text)?.[0] }).toEqual({ file, pinned: undefined });
  }
});

test('every test file is in one group, or in one that runs in all of its parts', async () => {
  for await (const file of new Glob('**/*.test.{ts,tsx}').scan(ROOT)) {
    if (file.startsWith('node_modules/')) continue;
    const shards = GROUPS.filter(({ paths }) => paths.some((path) => file.startsWith(`${path}/`))).map(
      ({ shard = '1/1' }) => shard,
    );
    const parts = Number(shards[0]?.split('/')[1]);
    expect({ file, shards: shards.toSorted() }).toEqual({
      file,
      shards: Array.from({ length: parts }, (_, part) => `${part + 1}/${parts}`),
    });
  }
});
