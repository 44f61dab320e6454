/**
 * `npm run check`: everything that must hold before a change lands. The steps of a stage run side by side, what is
 * cheap before what is dear, and nothing follows a stage that does not hold. With `-- --timings` the tests tell their
 * CPU seconds, as the other steps always do.
 */
import { FEW_COLLECTIONS, ONLY_TESTED, TYPES } from './static-steps.ts';

interface Step {
  readonly name: string;
  readonly command: readonly string[];
}

/** Two at a time: types and lint take two gigabytes each. */
const STATIC_STAGES: readonly (readonly Step[])[] = [
  [
    { name: 'types', command: TYPES },
    { name: 'lint', command: ['oxlint', '--type-aware', '--deny-warnings'] },
  ],
  [
    { name: 'format', command: ['oxfmt', '--check'] },
    { name: 'dead code', command: ['knip'] },
  ],
  [
    { name: 'code that only tests use', command: ONLY_TESTED },
    { name: 'dependencies', command: ['bun', 'scripts/sbom.ts', '--check'] },
  ],
];

const env = { ...process.env, PATH: `${process.cwd()}/node_modules/.bin:${process.env['PATH'] ?? ''}` };
for (const stage of STATIC_STAGES) {
  const held = await Promise.all(stage.map(holds));
  if (held.every(Boolean)) continue;
  console.log('0 passed, 1 failed');
  process.exit(1);
}
const tests = Bun.spawnSync(['bun', 'scripts/test.ts', ...process.argv.slice(2)], {
  stdio: ['ignore', 'inherit', 'inherit'],
  env,
});
// What the tests say last is what CI reads.
if (tests.exitCode !== 0) console.error('✗ tests');
process.exit(tests.exitCode === 0 ? 0 : 1);

/** Its output comes at once when it ends, so that those of two steps are not mixed. */
async function holds({ name, command }: Step): Promise<boolean> {
  const startedAt = performance.now();
  const child = Bun.spawn([...command], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...env, ...FEW_COLLECTIONS },
  });
  const [output, errors] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  const held = (await child.exited) === 0;
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  const cpuSeconds = (Number(child.resourceUsage()?.cpuTime.total ?? 0) / 1e6).toFixed(1);
  process.stdout.write(output);
  process.stderr.write(errors);
  console.log(`${held ? '✓' : '✗'} ${name} in ${seconds} s, ${cpuSeconds} s of CPU`);
  return held;
}
