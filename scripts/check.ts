/**
 * `npm run check`: everything that must hold before a change lands, cheapest first, stopping at the first that does not.
 * With `-- --timings` the tests tell their CPU seconds, as the other steps always do.
 */
import { FEW_COLLECTIONS, ONLY_TESTED, TYPES } from './static-steps.ts';

const STEPS: readonly { readonly name: string; readonly command: readonly string[] }[] = [
  { name: 'types', command: TYPES },
  { name: 'lint', command: ['oxlint', '--type-aware', '--deny-warnings'] },
  { name: 'format', command: ['oxfmt', '--check'] },
  { name: 'dead code', command: ['knip'] },
  { name: 'code that only tests use', command: ONLY_TESTED },
  { name: 'dependencies', command: ['bun', 'scripts/sbom.ts', '--check'] },
  { name: 'tests', command: ['bun', 'scripts/test.ts', ...process.argv.slice(2)] },
];

const path = `${process.cwd()}/node_modules/.bin:${process.env['PATH'] ?? ''}`;
for (const { name, command } of STEPS) {
  console.log(`── ${name}`);
  const startedAt = performance.now();
  const child = Bun.spawnSync([...command], {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, ...(name === 'tests' ? {} : FEW_COLLECTIONS), PATH: path },
  });
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  if (child.exitCode === 0) {
    // What the tests say last is what CI reads.
    const cpuSeconds = (Number(child.resourceUsage.cpuTime.total) / 1e6).toFixed(1);
    if (name !== 'tests') console.log(`${name} in ${seconds} s, ${cpuSeconds} s of CPU`);
    continue;
  }
  console.error(`✗ ${name}`);
  if (name !== 'tests') console.log('0 passed, 1 failed');
  process.exit(1);
}
