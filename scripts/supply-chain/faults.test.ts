import { describe, expect, test } from 'bun:test';
import { deliveredBill, type BillOfMaterials } from './bill.ts';
import { supplyChainFaults, type SupplyChain } from './faults.ts';

const sound: SupplyChain = {
  manifest: {
    dependencies: { a: '1.0.0', b: '2.0.0-beta.17' },
    overrides: { a: { b: '$b', c: { '.': '3.0.0' } } },
    allowScripts: { b: true },
  },
  lockfile: {
    packages: {
      '': {},
      'node_modules/a': {},
      'node_modules/a/node_modules/b': { hasInstallScript: true },
      'node_modules/d': { hasInstallScript: true, dev: true },
    },
  },
  bill: billOf([{ license: { id: 'MIT' } }]),
};

test('packages that are pinned, licensed and decided on have no fault', () => {
  expect(supplyChainFaults(sound)).toEqual([]);
});

describe('a licence', () => {
  const faultsOf = (licenses: BillOfMaterials['components'][number]['licenses']) =>
    supplyChainFaults({ ...sound, bill: billOf(licenses) });

  test.each([
    { license: { id: 'GPL-3.0-only' } },
    { license: { name: 'SEE LICENSE IN LICENSE.md' } },
    { license: {} },
    { expression: '(MIT AND GPL-3.0-only)' },
    { expression: 'GPL-2.0-only OR AGPL-3.0-only' },
    { expression: 'MIT WITH something' },
  ])('that is not on the list fails: %j', (licence) => {
    expect(faultsOf([licence])).toHaveLength(1);
  });

  test('that is missing fails', () => {
    expect(faultsOf(undefined)).toEqual(['a@1.0.0: has no licence']);
  });

  test('may be chosen from alternatives, and every licence of several is checked', () => {
    expect(faultsOf([{ expression: '(AFL-2.1 OR BSD-3-Clause)' }])).toEqual([]);
    expect(faultsOf([{ license: { id: 'MIT' } }, { license: { id: 'SSPL-1.0' } }])).toHaveLength(1);
  });

  test('cannot be checked in an empty bill of materials', () => {
    expect(supplyChainFaults({ ...sound, bill: { ...sound.bill, components: [] } })).toHaveLength(1);
  });
});

test.each(['^1.0.0', '~1.0.0', '1.x', '*', 'latest', 'github:a/b', 'https://example.com/a.tgz'])(
  'a version that is not exact fails, wherever it is asked for: %s',
  (version) => {
    const manifests = [
      { dependencies: { a: version } },
      { devDependencies: { a: version } },
      { overrides: { b: { a: version } } },
    ];
    for (const manifest of manifests)
      expect(supplyChainFaults({ ...sound, manifest: { ...manifest, allowScripts: { b: true } } })).toEqual([
        `a: "${version}" is not an exact version`,
      ]);
  },
);

test('an install script nobody decided on fails, and so does a decision about none', () => {
  const { allowScripts: _, ...undecided } = sound.manifest;
  expect(supplyChainFaults({ ...sound, manifest: undecided })).toHaveLength(1);
  const stale = { ...sound.manifest, allowScripts: { b: false, a: true } };
  expect(supplyChainFaults({ ...sound, manifest: stale })).toEqual([
    'a: is in allowScripts, but has no install script',
  ]);
});

test('the bill has what is delivered, also where development needs it as well, and nothing else', () => {
  const one = { version: '1.0.0', licenses: [] };
  const development = [{ name: 'cdx:npm:package:development', value: 'true' }];
  const bill = deliveredBill({
    ...sound.bill,
    components: [
      { 'bom-ref': 'both', name: 'both', ...one },
      { 'bom-ref': 'tests', name: 'tests', properties: development, ...one },
    ],
    dependencies: [
      { ref: 'root', dependsOn: ['both', 'tests'] },
      { ref: 'tests', dependsOn: ['both'] },
      { ref: 'both' },
    ],
  });
  expect(bill.components.map(({ name }) => name)).toEqual(['both']);
  expect(bill.dependencies).toEqual([
    { ref: 'root', dependsOn: ['both'] },
    { ref: 'both', dependsOn: [] },
  ]);
});

function billOf(licenses: BillOfMaterials['components'][number]['licenses']): BillOfMaterials {
  const component = { 'bom-ref': 'a@1.0.0', name: 'a', version: '1.0.0', ...(licenses ? { licenses } : {}) };
  return {
    bomFormat: 'CycloneDX',
    metadata: { component: { 'bom-ref': 'root' } },
    components: [component],
    dependencies: [],
  };
}
