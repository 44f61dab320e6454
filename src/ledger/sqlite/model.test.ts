import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { ledgerModel } from '../testing/model.ts';
import { retentionModel } from '../testing/retention-model.ts';
import { sqliteHarness } from '../testing/sqlite-harness.ts';

ledgerModel('SQLite', () => sqliteHarness());
retentionModel('SQLite', () => sqliteHarness());

test('the reference calls nothing of the ledger: it imports types, and its own rules', async () => {
  for (const file of ['model-rules.ts', 'model-reference.ts']) {
    const text = await Bun.file(join(import.meta.dir, '../testing', file)).text();
    const imports = [...text.matchAll(/^import (type )?[^;]*? from '([^']+)'/gm)];
    expect(imports.length).toBeGreaterThan(1);
    const values = imports.filter(([, type]) => type === undefined).map(([, , from]) => from);
    expect({ file, values }).toEqual({
      file,
      values: file === 'model-rules.ts' ? [] : ['./model-rules.ts'],
    });
  }
});
