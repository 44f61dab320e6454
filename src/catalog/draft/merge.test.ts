import { expect, test } from 'bun:test';
import type { CatalogMap } from '../catalog-data.ts';
import { catalogData } from '../parse.ts';
import { catalogYaml } from '../yaml-text.ts';
import { mergeCatalogs } from './merge.ts';

const BASE = `upstreams:
  a: { kind: openai, base_url: https://a.example/v1, api_key: \${A_API_KEY} }
lists:
  models:
    - { model: x, input: 0.000000001, output: 2 }
    - { model: w, input: 1, output: 2 }
endpoints:
  chat: { name: Chat, type: chat_completion, lists: [models], upstreams: [a] }
`;
const base = changed();

function changed(...pairs: [string, string][]): CatalogMap {
  return catalogData(pairs.reduce((text, [from, to]) => text.replace(from, to), BASE)) ?? {};
}

test('changes of two people to different entries are both kept, with exact amounts', () => {
  const mine = changed(['w, input: 1', 'w, input: 3'], ['lists:\n', '  b: { kind: house }\nlists:\n']);
  const theirs = changed(['w, input: 1, output: 2', 'w, input: 1, output: 7'], ['a.example', 'z.example']);
  const { merged, conflicts } = mergeCatalogs({ base, mine, theirs });
  expect(conflicts).toEqual([]);
  expect(catalogYaml(merged)).toBe(`upstreams:
  a: { kind: openai, base_url: "https://z.example/v1", api_key: \${A_API_KEY} }
  b: { kind: house }
lists:
  models:
    - { model: x, input: 0.000000001, output: 2.00 }
    - { model: w, input: 3.00, output: 7.00 }
endpoints:
  chat: { name: Chat, type: chat_completion, lists: [ models ], upstreams: [ a ] }
`);
});

test('what both have changed is named, and is the value of whoever is preferred', () => {
  const mine = changed(['w, input: 1', 'w, input: 3'], ['upstreams: [a]', 'upstreams: [a, b]']);
  const theirs = changed(['w, input: 1', 'w, input: 5']);
  const merge = { base, mine, theirs };
  expect(mergeCatalogs(merge).conflicts).toEqual(['lists.models.w.input']);
  const own = catalogYaml(mergeCatalogs({ ...merge, prefer: 'mine' }).merged);
  expect(own).toContain('model: w, input: 3.00');
  const others = catalogYaml(mergeCatalogs({ ...merge, prefer: 'theirs' }).merged);
  expect(others).toContain('model: w, input: 5.00');
  expect(others).toContain('upstreams: [ a, b ]');
});

test('a model that one removed and the other left alone is gone; one that the other changed is a conflict', () => {
  const mine = changed(['    - { model: w, input: 1, output: 2 }\n', '']);
  const { merged, conflicts } = mergeCatalogs({
    base,
    mine,
    theirs: changed(['x, input', 'x, vision: true, input']),
  });
  expect(conflicts).toEqual([]);
  expect(merged['lists']).toEqual({
    models: [{ model: 'x', vision: true, input: '0.000000001', output: 2 }],
  });
  const theirs = changed(['w, input: 1', 'w, input: 5']);
  expect(mergeCatalogs({ base, mine, theirs }).conflicts).toEqual(['lists.models.w']);
});

test('an amount that is only written otherwise is no change', () => {
  const mine = changed(['w, input: 1,', 'w, input: 1.00,']);
  expect(mergeCatalogs({ base, mine, theirs: changed(['w, input: 1,', 'w, input: 4,']) }).conflicts).toEqual(
    [],
  );
});
