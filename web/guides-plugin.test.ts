import { expect, test } from 'bun:test';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { FOR_OPERATORS } from './guides-plugin.ts';

const FOLDER = join(import.meta.dir, '../docs/guide');

test('a customer is never told to install, configure or run a server', async () => {
  const names = (await readdir(FOLDER)).filter((name) => name.endsWith('.md'));
  const forCustomers = names.filter((name) => !FOR_OPERATORS.includes(name.slice(0, -3)));
  expect(names.length - forCustomers.length).toBe(FOR_OPERATORS.length);
  for (const name of forCustomers) {
    const text = await Bun.file(join(FOLDER, name)).text();
    const told = text.match(/npm (?:install|start|run|ci)|tollgate (?:account|serve|catalog)/g) ?? [];
    expect([name, told]).toEqual([name, []]);
  }
});
