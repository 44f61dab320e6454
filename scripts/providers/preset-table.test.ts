import { expect, test } from 'bun:test';
import { PRESETS } from '../../src/catalog/presets.ts';
import { PAGE, withPresetTable } from './preset-table.ts';

test('the page about providers has the presets as they are', async () => {
  const page = await Bun.file(PAGE).text();
  expect(page).toBe(withPresetTable(page));
  for (const name of Object.keys(PRESETS)) expect(page).toContain(`| \`${name}\` |`);
});
