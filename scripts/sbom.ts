/**
 * `npm run sbom`: the bill of materials of what is delivered, as CycloneDX, in dist/sbom.cdx.json. It comes from the
 * lockfile, so it is the same on every platform and needs no network. Fails if a package has no licence or an unlisted one,
 * a version is not exact, or an install script is not decided on. `--check` writes nothing.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { deliveredBill, type BillOfMaterials } from './supply-chain/bill.ts';
import { supplyChainFaults, type Lockfile, type Manifest } from './supply-chain/faults.ts';

const FILE = 'dist/sbom.cdx.json';
const TIMEOUT_MS = 60_000;
const OPTIONS =
  '--sbom-format=cyclonedx --sbom-type=application --package-lock-only --offline --no-update-notifier';

const npm = Bun.spawnSync(['npm', 'sbom', ...OPTIONS.split(' ')], {
  stdio: ['ignore', 'pipe', 'pipe'],
  timeout: TIMEOUT_MS,
});
if (npm.exitCode !== 0) {
  console.error(npm.stderr.toString());
  process.exit(1);
}
const bill = deliveredBill(JSON.parse(npm.stdout.toString()) as BillOfMaterials);
const faults = supplyChainFaults({
  manifest: (await Bun.file('package.json').json()) as Manifest,
  lockfile: (await Bun.file('package-lock.json').json()) as Lockfile,
  bill,
});
for (const fault of faults) console.error(fault);
if (faults.length > 0) process.exit(1);
if (process.argv.includes('--check')) {
  console.log(`${bill.components.length} packages, every licence allowed, every version exact`);
} else {
  mkdirSync('dist', { recursive: true });
  writeFileSync(FILE, `${JSON.stringify(bill, null, 2)}\n`);
  console.log(`${FILE}: ${bill.components.length} packages`);
}
