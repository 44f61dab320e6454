import { afterEach, beforeEach, expect, test } from 'bun:test';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A tree of one source and one test, in which a mutant is tried by a process of its own. */

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'workshop-'));
  mkdirSync(join(folder, 'root'));
  Bun.spawnSync(['git', 'init', '-q'], { cwd: join(folder, 'root') });
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const pidFile = () => join(folder, 'pid');

/** The test writes its pid down before it does what the mutant makes it do. */
function tryMutant(work: string, silenceMs = 50_000, always = '', stage = 0) {
  const root = join(folder, 'root');
  writeFileSync(join(root, 'a.ts'), 'export const isMutant = false;\n');
  writeFileSync(
    join(root, 'a.test.ts'),
    `import { test } from 'bun:test';
    import { existsSync, writeFileSync } from 'node:fs';
    import { isMutant } from './a.ts';
    test('a', async () => {
      writeFileSync(${JSON.stringify(pidFile())}, String(process.pid));
      ${always}
      if (isMutant) { ${work} }
    });\n`,
  );
  writeFileSync(
    join(folder, 'run.ts'),
    `import { Workshop } from ${JSON.stringify(join(import.meta.dir, 'workshop.ts'))};
    const workshop = new Workshop(${JSON.stringify(root)}, ${JSON.stringify(join(folder, 'copy'))}, '1', 1_000);
    const start = 'export const isMutant = '.length;
    const mutant = { file: 'a.ts', line: 1, source: '', change: '', start, end: start + 5, replacement: 'true' };
    console.log(await workshop.try(mutant, { files: ['a.test.ts'], stage: ${stage} }, ${silenceMs}));\n`,
  );
  return Bun.spawn([process.execPath, join(folder, 'run.ts')], { stdout: 'pipe', stderr: 'inherit' });
}

async function testPid(): Promise<number> {
  while (!existsSync(pidFile()) || readFileSync(pidFile(), 'utf8') === '') await Bun.sleep(5);
  return Number(readFileSync(pidFile(), 'utf8'));
}

async function gone(pid: number): Promise<void> {
  for (;;) {
    try {
      process.kill(pid, 0);
    } catch {
      return;
    }
    await Bun.sleep(5);
  }
}

const verdictOf = async (run: ReturnType<typeof tryMutant>) => (await new Response(run.stdout).text()).trim();

test('a mutant that no test minds survives, one that fails a test is killed', async () => {
  expect(await verdictOf(tryMutant(''))).toBe('survived');
  rmSync(join(folder, 'copy'), { recursive: true });
  expect(await verdictOf(tryMutant('throw new Error();'))).toBe('killed');
}, 60_000);

/** In the test: whether this is the first time that it runs with the mutant. */
const isFirst = () => {
  const seen = JSON.stringify(join(folder, 'seen'));
  return `(existsSync(${seen}) ? false : (writeFileSync(${seen}, ''), true))`;
};

test('one that hangs does so twice, and the unchanged code in between does not', async () => {
  expect(await verdictOf(tryMutant('await new Promise(() => undefined);', 1_000))).toBe('hangs');
}, 120_000);

test('one that hangs once and then ends has not hung', async () => {
  const once = tryMutant(`if (${isFirst()}) await new Promise(() => undefined);`, 1_000);
  expect(await verdictOf(once)).toBe('survived');
}, 120_000);

test('where the unchanged code does not pass either, nothing is known of the mutant', async () => {
  const run = tryMutant('await new Promise(() => undefined);', 1_000, 'if (!isMutant) throw new Error();');
  expect(await verdictOf(run)).toBe('undecided');
}, 120_000);

test('a test of a whole server that fails once and passes when it is run again has noticed nothing', async () => {
  const run = tryMutant(`if (${isFirst()}) throw new Error();`, 50_000, '', 1);
  expect(await verdictOf(run)).toBe('survived');
  rmSync(join(folder, 'copy'), { recursive: true });
  expect(await verdictOf(tryMutant('throw new Error();', 50_000, '', 1))).toBe('killed');
}, 120_000);

test('a machine that has become slow is no reason to call a mutant hanging', async () => {
  // The limit was set when it was quick: the unchanged code itself takes longer now.
  const slow = tryMutant('', 1, 'await Bun.sleep(1_500);');
  expect(await verdictOf(slow)).toBe('survived');
}, 120_000);

test.each(['SIGTERM', 'SIGINT'] as const)(
  'a run that is ended by %s ends the test it runs, whatever the mutant made of it',
  async (signal) => {
    const run = tryMutant('for (;;);');
    const pid = await testPid();
    run.kill(signal);
    await gone(pid);
    await run.exited;
  },
  60_000,
);

test.if(process.platform === 'linux')(
  'a mutant that takes all memory is killed long before the machine has none left',
  async () => {
    const run = tryMutant(
      'const all = []; for (;;) { all.push(Buffer.alloc(2 ** 24, 1)); await Bun.sleep(1); }',
    );
    const pid = await testPid();
    expect(await verdictOf(run)).toBe('killed');
    await gone(pid);
  },
  60_000,
);
