import { expect, test } from 'bun:test';
import { undeliveredPackages } from './bundled-packages.ts';

const LOCKFILE = {
  packages: {
    'node_modules/delivered': {},
    'node_modules/@scope/delivered': {},
    'node_modules/delivered/node_modules/inner': {},
    'node_modules/inner': { dev: true },
    'node_modules/@scope/tool': { dev: true },
  },
};

test('a bundle of our own files and of delivered packages, nested ones too, is complete in the bill', () => {
  const files = [
    'src/main/main.ts',
    'node_modules/delivered/index.js',
    'node_modules/@scope/delivered/lib/a.js',
    'node_modules/delivered/node_modules/inner/index.js',
  ];
  expect(undeliveredPackages(files, LOCKFILE)).toEqual([]);
});

test('a package that is only there to develop, or that the lockfile does not know, is named once', () => {
  const files = [
    'node_modules/@scope/tool/a.js',
    '../elsewhere/node_modules/@scope/tool/b.js',
    'node_modules/inner/index.js',
    'node_modules/stray/index.js',
  ];
  expect(undeliveredPackages(files, LOCKFILE)).toEqual([
    'node_modules/@scope/tool',
    'node_modules/inner',
    'node_modules/stray',
  ]);
});
