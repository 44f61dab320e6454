/**
 * `npm run package [FOLDER]`: the npm package, `tollgate-VERSION.tgz` in `dist` unless another folder is named. It has the
 * server as one bundle and needs Bun alone: a package that named all the others would be given newer ones than were
 * tested, because npm obeys neither the lockfile nor the `overrides` of what it installs.
 */
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import manifest from '../package.json' with { type: 'json' };
import { undeliveredPackages, type Lockfile } from './supply-chain/bundled-packages.ts';
import { ROOT, serverBundle } from './release/server-bundle.ts';

/** What somebody who installs it reads or copies. */
const FILES = [
  'bin',
  'deploy',
  'docs',
  'schema',
  'tollgate.example.yaml',
  'README.md',
  'CHANGELOG.md',
  'LICENSE',
  'SECURITY.md',
];

const folder = resolve(process.argv[2] ?? join(ROOT, 'dist'));
const staged = mkdtempSync(join(tmpdir(), 'tollgate-package-'));
try {
  mkdirSync(folder, { recursive: true });
  await bundleInto(join(staged, 'lib'));
  for (const name of FILES) cpSync(join(ROOT, name), join(staged, name), { recursive: true });
  writeFileSync(join(staged, 'package.json'), `${JSON.stringify(packagedManifest(), null, 2)}\n`);
  const npm = Bun.spawnSync(['npm', 'pack', '--silent', '--pack-destination', folder], {
    cwd: staged,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (!npm.success) throw new Error(`npm pack ended with ${npm.exitCode}`);
  const file = join(folder, npm.stdout.toString().trim());
  console.log(`${relative(process.cwd(), file)}  ${(Bun.file(file).size / 1_048_576).toFixed(0)} MB`);
} finally {
  rmSync(staged, { recursive: true, force: true });
}

async function bundleInto(outdir: string): Promise<void> {
  const result = await Bun.build({
    ...(await serverBundle()),
    outdir,
    // What a server does not need at once stays in files of its own, as deep as the program: `workerUrl` counts on it.
    splitting: true,
    naming: { chunk: 'main/[name]-[hash].[ext]' },
    metafile: true,
  });
  if (!result.success) throw new AggregateError(result.logs, 'the server could not be bundled');
  const lockfile = (await Bun.file(join(ROOT, 'package-lock.json')).json()) as Lockfile;
  const missing = undeliveredPackages(Object.keys(result.metafile?.inputs ?? {}), lockfile);
  if (missing.length > 0)
    throw new Error(`bundled, but not in the bill of materials as delivered: ${missing.join(', ')}`);
}

function packagedManifest() {
  const { name, version, description, license, bin, type, engines, dependencies } = manifest;
  return { name, version, description, license, bin, type, engines, dependencies: { bun: dependencies.bun } };
}
