/** `npm run check`: everything that must hold before a change lands, cheapest first, stopping at the first that does not. */
const STEPS: readonly { readonly name: string; readonly command: readonly string[] }[] = [
  { name: 'types', command: ['tsc', '-p', '.'] },
  { name: 'lint', command: ['oxlint', '--type-aware', '--deny-warnings'] },
  { name: 'format', command: ['oxfmt', '--check'] },
  { name: 'dead code', command: ['knip'] },
  { name: 'dependencies', command: ['bun', 'scripts/sbom.ts', '--check'] },
  { name: 'tests', command: ['npm', 'test'] },
];

for (const { name, command } of STEPS) {
  console.log(`── ${name}`);
  const path = `${process.cwd()}/node_modules/.bin:${process.env['PATH'] ?? ''}`;
  const child = Bun.spawnSync([...command], {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, PATH: path },
  });
  if (child.exitCode === 0) continue;
  console.error(`✗ ${name}`);
  if (name !== 'tests') console.log('0 passed, 1 failed');
  process.exit(1);
}
