/**
 * `npm run release`: everything of one version, in `dist`: a binary for each platform, the npm package, the bill of
 * materials, and `SHA256SUMS` over all of them. The commit is inside, so nothing may be changed since; and what an
 * operator must know of the version stands in CHANGELOG.md.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { version } from '../package.json' with { type: 'json' };
import { commitOf } from '../src/std/release.ts';
import { ROOT } from './release/server-bundle.ts';

/** Where the server has what it needs. Bun builds for Windows too, but there the server has no way to restart itself. */
const PLATFORMS = ['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64'];
const DIST = join(ROOT, 'dist');

const commit = commitOf(ROOT);
if (commit === undefined || commit.endsWith('-dirty'))
  refuse(`a release is made from a commit, and here is ${commit ?? 'none'}`);
const changelog = await Bun.file(join(ROOT, 'CHANGELOG.md')).text();
if (!changelog.includes(`\n## [${version}]`)) refuse(`CHANGELOG.md has no part "## [${version}]"`);

mkdirSync(DIST, { recursive: true });
const binaries = PLATFORMS.map((platform) => `tollgate-${version}-${platform}`);
for (const [index, name] of binaries.entries())
  run('build.ts', join(DIST, name), '--target', `bun-${PLATFORMS[index] ?? ''}`);
run('package.ts', DIST);
run('sbom.ts');

const sums = await Promise.all(
  [...binaries, `tollgate-${version}.tgz`, 'sbom.cdx.json'].map(async (name) => {
    const hasher = new Bun.CryptoHasher('sha256');
    for await (const bytes of Bun.file(join(DIST, name)).stream()) hasher.update(bytes);
    return `${hasher.digest('hex')}  ${name}\n`;
  }),
);
writeFileSync(join(DIST, 'SHA256SUMS'), sums.join(''));
console.log(`dist/SHA256SUMS  ${version} (${commit})`);

function run(script: string, ...words: readonly string[]): void {
  const { success } = Bun.spawnSync([process.execPath, join(import.meta.dir, script), ...words], {
    cwd: ROOT,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  if (!success) process.exit(1);
}

function refuse(reason: string): never {
  console.error(reason);
  process.exit(1);
}
