import { expect, test } from 'bun:test';
import { join } from 'node:path';

/**
 * `npm ci` refuses a lockfile in which a package of another platform has no entry. npm silently writes such a lockfile
 * when a release names builds that were not published: pin the newest release that has them all.
 */

interface Entry {
  readonly version?: string;
  readonly engines?: { readonly node?: string } | readonly string[];
  readonly resolved?: string;
  readonly integrity?: string;
  readonly link?: boolean;
  readonly inBundle?: boolean;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const PUBLIC_REGISTRY = 'https://registry.npmjs.org/';
const file = Bun.file(join(import.meta.dir, '../../package-lock.json'));
const { packages } = (await file.json()) as { packages: Readonly<Record<string, Entry>> };

test('every optional package of every platform has its entry in the lockfile, of the version asked for', () => {
  const named = Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
    Object.entries(optionalDependencies).map(([name, range]) => ({ path, name, range })),
  );
  expect(named.length).toBeGreaterThan(0);
  const missing = named.filter(({ path, name, range }) => {
    const version = entryFor(name, path)?.version;
    return version === undefined || !Bun.semver.satisfies(version, range);
  });
  expect(missing.map(({ path, name, range }) => `${path} needs ${name}@${range}`)).toEqual([]);
});

test('the oldest Node that the project names is new enough for every package', () => {
  const nodeOf = ({ engines }: Entry): string => (engines && 'node' in engines ? (engines.node ?? '*') : '*');
  const oldest = /^>=(\d+\.\d+\.\d+)$/.exec(nodeOf(packages[''] ?? {}))?.[1] ?? '';
  expect(oldest).not.toBe('');
  const refused = Object.entries(packages).filter(
    ([, entry]) => !Bun.semver.satisfies(oldest, nodeOf(entry)),
  );
  expect(refused.map(([path, entry]) => `${path} needs ${nodeOf(entry)}`)).toEqual([]);
});

test('every package in the lockfile is checked by its hash', () => {
  const unchecked = Object.entries(packages).filter(
    // The project itself is not downloaded, nor is a link; what a package brings along is covered by its hash.
    ([path, { link, inBundle, integrity }]) => path !== '' && !link && !inBundle && !integrity,
  );
  expect(unchecked.map(([path]) => path)).toEqual([]);
});

test('the lockfile names no registry but the public one', () => {
  const elsewhere = Object.values(packages)
    .map(({ resolved }) => resolved)
    .filter((resolved) => resolved !== undefined && !resolved.startsWith(PUBLIC_REGISTRY));
  expect(elsewhere).toEqual([]);
});

/** As Node looks for it: in the package's own folder, then in every folder above. */
function entryFor(name: string, path: string): Entry | undefined {
  const own = packages[path === '' ? `node_modules/${name}` : `${path}/node_modules/${name}`];
  if (own || path === '') return own;
  const above = path.slice(0, path.lastIndexOf('node_modules/')).replace(/\/$/, '');
  return entryFor(name, above);
}
