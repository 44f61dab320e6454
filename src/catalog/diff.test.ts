import { expect, test } from 'bun:test';
import { catalogText } from '../../test/support/marked-catalog.ts';
import { catalogChanges } from './diff.ts';
import { parseCatalog } from './parse.ts';

test('a preview shows changes of a model’s request form', () => {
  const read = (models: string) =>
    parseCatalog(catalogText({ models }), { fileName: 'tollgate.yaml', env: {} });
  const before = read('{ model: m, input: 1, output: 2 }');
  const after = read('{ model: m, input: 1, output: 2, cap_field: max_completion_tokens }');
  expect(catalogChanges(before, after)).toMatchObject([
    {
      kind: 'changed',
      subject: 'model chat/m: output cap',
      before: 'as the backend needs it',
      after: 'max_completion_tokens',
    },
  ]);
});
