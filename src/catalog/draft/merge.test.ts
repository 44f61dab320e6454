import { expect, test } from 'bun:test';
import { mergeCatalogs } from './merge.ts';

const BASE = `# ours
upstreams:
  a: { kind: openai, base_url: https://a.example/v1, api_key: \${A_API_KEY} }
lists:
  models:
    - { model: x, input: 0.000000001, output: 2 } # the small one
    - { model: y, input: 1, output: 2 }
endpoints:
  chat: { name: Chat, type: chat_completion, lists: [models], upstreams: [a] }
`;
const changed = (...pairs: [string, string][]): string =>
  pairs.reduce((text, [from, to]) => text.replace(from, to), BASE);

test('changes of two people to different entries are both kept, with comments and exact amounts', () => {
  const mine = changed(['y, input: 1', 'y, input: 3'], ['lists:\n', '  b: { kind: house }\nlists:\n']);
  const theirs = changed(['y, input: 1, output: 2', 'y, input: 1, output: 7'], ['a.example', 'z.example']);
  const { text, conflicts } = mergeCatalogs({ base: BASE, mine, theirs });
  expect(conflicts).toEqual([]);
  expect(text).toContain('# ours\n');
  expect(text).toContain('{ model: x, input: 0.000000001, output: 2 } # the small one');
  expect(text).toContain('{ model: y, input: 3, output: 7 }');
  expect(text).toContain('base_url: https://z.example/v1, api_key: ${A_API_KEY} }');
  expect(text).toContain('b: { kind: house }');
});

test('what both have changed is named, and is the value of whoever is preferred', () => {
  const mine = changed(['y, input: 1', 'y, input: 3'], ['upstreams: [a]', 'upstreams: [a, b]']);
  const theirs = changed(['y, input: 1', 'y, input: 5']);
  const merge = { base: BASE, mine, theirs };
  expect(mergeCatalogs(merge).conflicts).toEqual(['lists.models.y.input']);
  const own = mergeCatalogs({ ...merge, prefer: 'mine' }).text;
  expect(own).toContain('model: y, input: 3');
  const others = mergeCatalogs({ ...merge, prefer: 'theirs' }).text;
  expect(others).toContain('model: y, input: 5');
  expect(others).toContain('upstreams: [ a, b ]');
});

test('a model that one removed and the other left alone is gone; one that the other changed is a conflict', () => {
  const mine = changed(['    - { model: y, input: 1, output: 2 }\n', '']);
  expect(
    mergeCatalogs({ base: BASE, mine, theirs: changed(['x, input', 'x, vision: true, input']) }),
  ).toEqual({
    conflicts: [],
    text: expect.not.stringContaining('model: y'),
  });
  const theirs = changed(['y, input: 1', 'y, input: 5']);
  expect(mergeCatalogs({ base: BASE, mine, theirs }).conflicts).toEqual(['lists.models.y']);
});
