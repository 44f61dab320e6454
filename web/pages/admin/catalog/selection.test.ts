import { expect, test } from 'bun:test';
import type { AdminCatalogImport } from '../../../lib/answers.ts';
import { importRows, markupOf, wantedModels } from './selection.ts';

const IMPORT: AdminCatalogImport = {
  upstream: 'shop',
  list: 'list 1',
  markup: '1.1',
  new: [
    {
      model: 'gpt-5-mini',
      name: 'GPT-5 mini',
      type: 'chat_completion',
      price: { input: '0.275', output: '2.20' },
      cost: { input: '0.25', output: '2.00' },
      context: 400_000,
      max_output: null,
      abilities: [],
    },
  ],
  changed: [
    {
      model: 'ours',
      list: 'l',
      offered: 'theirs',
      before: { input: '1.00', output: '2.00' },
      after: { input: '1.10', output: '2.20' },
    },
  ],
  differing: [],
  gone: [],
  skipped: [],
  same: 0,
  yaml: null,
  revision: 1,
  paste: '',
};

test('the margin of a new model is the part of its price that the cost leaves', () => {
  expect(importRows(IMPORT)[0]?.margin).toEqual([0.025 / 0.275, 0.2 / 2.2]);
});

test('a model is asked for by the backend’s name of it, and everything by none', () => {
  const rows = importRows(IMPORT);
  expect(rows.map(({ name, model }) => [name, model])).toEqual([
    ['gpt-5-mini', 'gpt-5-mini'],
    ['theirs', 'ours'],
  ]);
  expect(wantedModels(rows, new Set(['theirs']))).toEqual(['theirs']);
  expect(wantedModels(rows, new Set(['theirs', 'gpt-5-mini']))).toBeUndefined();
});

test('a markup is typed in percent', () => {
  expect(['20', '12,5', '0', '', '0.0001'].map(markupOf)).toEqual(['1.2', '1.125', '1', '', '1.000001']);
  expect(['-5', 'much', '1e3', '99999'].map(markupOf)).toEqual([undefined, undefined, undefined, undefined]);
});
