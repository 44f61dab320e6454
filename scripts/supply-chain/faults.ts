import type { BillOfMaterials } from './bill.ts';

/** What is wrong with the packages that Tollgate is delivered with, as sentences; none if all is well. */
export function supplyChainFaults({ manifest, lockfile, bill }: SupplyChain): string[] {
  return [...versionFaults(manifest), ...scriptFaults(manifest, lockfile), ...licenceFaults(bill)];
}

export interface SupplyChain {
  readonly manifest: Manifest;
  readonly lockfile: Lockfile;
  readonly bill: BillOfMaterials;
}

/** `package.json`, as far as it is checked. */
export interface Manifest {
  readonly dependencies?: Versions;
  readonly devDependencies?: Versions;
  readonly overrides?: Overrides;
  readonly allowScripts?: Readonly<Record<string, boolean>>;
}

type Versions = Readonly<Record<string, string>>;
interface Overrides {
  readonly [name: string]: string | Overrides;
}

export interface Lockfile {
  readonly packages: Readonly<
    Record<string, { readonly dev?: boolean; readonly hasInstallScript?: boolean }>
  >;
}

/**
 * Licences that a closed product may be delivered with, under no condition but that they are named. A new one is added
 * by somebody who has read it.
 */
const ALLOWED_LICENCES: ReadonlySet<string> = new Set([
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'ISC',
  'MIT',
  'MIT-0',
  // Of fonts: they may be bundled, not sold alone.
  'OFL-1.1',
  'Unlicense',
]);

const EXACT_VERSION = /^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?$/;

function versionFaults({ dependencies = {}, devDependencies = {}, overrides = {} }: Manifest): string[] {
  const asked = [
    ...Object.entries(dependencies),
    ...Object.entries(devDependencies),
    ...overriddenVersions(overrides),
  ];
  return asked
    .filter(([, version]) => !EXACT_VERSION.test(version))
    .map(([name, version]) => `${name}: "${version}" is not an exact version`);
}

function overriddenVersions(overrides: Overrides): [name: string, version: string][] {
  return Object.entries(overrides).flatMap(([name, value]): [string, string][] => {
    if (typeof value !== 'string') return overriddenVersions(value);
    // `$name` is the version that `dependencies` has, which is checked there.
    return value.startsWith('$') ? [] : [[name, value]];
  });
}

/** Packages of other platforms need no script here, so only what is always installed must be on the list. */
function scriptFaults({ allowScripts = {} }: Manifest, { packages }: Lockfile): string[] {
  const locked = new Map(
    Object.entries(packages).map(([path, entry]) => [
      path.slice(path.lastIndexOf('node_modules/') + 13),
      entry,
    ]),
  );
  const unlisted = [...locked]
    .filter(([name, entry]) => entry.hasInstallScript && !entry.dev && allowScripts[name] === undefined)
    .map(([name]) => `${name}: has an install script that allowScripts neither allows nor refuses`);
  const unknown = Object.keys(allowScripts)
    .filter((name) => !locked.get(name)?.hasInstallScript)
    .map((name) => `${name}: is in allowScripts, but has no install script`);
  return [...unlisted, ...unknown];
}

function licenceFaults({ bomFormat, components }: BillOfMaterials): string[] {
  if (bomFormat !== 'CycloneDX' || components.length === 0) return ['the bill of materials is empty'];
  return components.flatMap(({ name, version, licenses = [] }) => {
    if (licenses.length === 0) return [`${name}@${version}: has no licence`];
    return licenses
      .map(({ license, expression }) => expression ?? license?.id ?? license?.name ?? '')
      .filter((licence) => !isAllowed(licence))
      .map((licence) => `${name}@${version}: the licence "${licence}" is not on the list`);
  });
}

/** Of alternatives one must be allowed, of conditions all. Brackets inside brackets are left to a reader. */
function isAllowed(expression: string): boolean {
  const alternatives = expression.replace(/^\((.*)\)$/, '$1').split(' OR ');
  return alternatives.some((all) =>
    all.split(' AND ').every((licence) => ALLOWED_LICENCES.has(licence.trim())),
  );
}
