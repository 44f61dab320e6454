import { describe, expect, test } from 'bun:test';
import * as fc from 'fast-check';
import { catalogText as file, markedMistakes, type MistakeCase } from '../../test/support/marked-catalog.ts';
import { priceFor } from './catalog.ts';
import { catalogChanges } from './diff.ts';
import { draftEdit, editDraft } from './draft/draft-edit.ts';
import { catalogFor } from './groups.ts';
import { catalogData, inspectCatalog, parseCatalog } from './parse.ts';
import { catalogYaml } from './yaml-text.ts';

const SOLD = `upstreams: { house: { kind: house } }
lists:
  list:
    - { model: plain, input: 1.000000001, output: 2 }
    - model: rich
      input: 1
      cached_input: 0.1
      output: 10
      reasoning: 12
      request: 0.01
      tool_calls: { web_search: 0.02 }
      above: { 1000: { input: 2, output: 20 } }
      service_tiers: { flex: 0.5 }
    - { model: gift, free: true }
  pictures:
    - { model: map, image: { 512x512: { low: 0.01, high: 0.04 }, default: 0.03 }, sizes: [512x512, 256x256] }
    - { model: pixel, image: { per_megapixel: 0.03 }, input_image: 0.001, sizes: [512x512] }
endpoints:
  chat: { name: Chat, type: chat_completion, lists: [list], upstreams: [house] }
  paint: { name: Paint, type: image_generation, lists: [pictures], upstreams: [house] }
aliases: { best: chat/rich }
`;

function read(groups: string) {
  return parseCatalog(`${SOLD}groups:\n  ${groups}\n`, { fileName: 'tollgate.yaml', env: {} });
}

function modelOf(groups: string, id: string, group = 'vip') {
  const { endpoints } = catalogFor(read(groups), group);
  const found = [...endpoints.values()].flatMap(({ models }) => models).find((model) => model.id === id);
  if (!found) throw new Error(`no model ${id}`);
  return found;
}

/** Schoolbook multiplication of decimals: nothing of it is the program's. */
function expected(nano: number, factor: string): number {
  const [whole = '0', fraction = ''] = factor.split('.');
  const unit = 10n ** BigInt(fraction.length);
  const product = BigInt(nano) * BigInt(whole + fraction);
  return Number(product / unit) + (product % unit === 0n ? 0 : 1);
}

describe('a price of a group', () => {
  test('is every price that the catalog names times the factor, exact, rounded up once', () => {
    const factor = '0.333333';
    const by = (nano: number): number => expected(nano, factor);
    expect<object>(modelOf(`vip: { factor: ${factor} }`, 'rich').price).toEqual({
      kind: 'tokens',
      input: by(1_000_000_000),
      cachedInput: by(100_000_000),
      output: by(10_000_000_000),
      extra: {
        reasoning: by(12_000_000_000),
        request: by(10_000_000),
        webSearch: by(20_000_000),
        above: [{ above: 1000, input: by(2_000_000_000), output: by(20_000_000_000) }],
        serviceTiers: { flex: 500_000 },
      },
      group: 'vip',
    });
    const map = modelOf(`vip: { factor: ${factor} }`, 'map');
    expect<object>(priceFor(map, { size: '512x512', quality: 'high' })).toEqual({
      kind: 'images',
      image: by(40_000_000),
      group: 'vip',
    });
    expect(priceFor(map, { size: '256x256' })).toMatchObject({ image: by(30_000_000), group: 'vip' });
    expect(priceFor(modelOf(`vip: { factor: ${factor} }`, 'pixel'))).toMatchObject({
      extra: { megapixel: by(30_000_000), inputImage: by(1_000_000) },
    });
  });

  test('is right for any price and factor', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 10_000_000_000 }),
        fc.integer({ min: 1, max: 1_000_000 }),
        (nano, millionths) => {
          const factor = (millionths / 1_000_000).toFixed(6);
          const text = `${file({ models: `{ model: m, input: ${(nano / 1e9).toFixed(9)}, output: 1 }` })}groups: { vip: { factor: ${factor} } }\n`;
          const view = catalogFor(parseCatalog(text, { fileName: 'f', env: {} }), 'vip');
          const price = view.endpoints.get('chat')?.models[0]?.price;
          expect(price).toMatchObject({
            input: expected(nano, factor),
            cachedInput: expected(nano, factor),
            output: expected(1_000_000_000, factor),
          });
        },
      ),
    );
  });

  test('that the group names itself is not multiplied, and what follows from it follows', () => {
    const own = modelOf('vip: { factor: 0.5, prices: { chat/plain: { input: 3 } } }', 'plain').price;
    expect(own).toMatchObject({ input: 3_000_000_000, cachedInput: 3_000_000_000, output: 1_000_000_000 });
  });

  test('of a free model is nothing', () => {
    expect(modelOf('vip: { factor: 3 }', 'gift')).toMatchObject({
      free: true,
      price: { input: 0, output: 0 },
    });
  });

  test('of a group that the catalog does not have is the list price, and is called so', () => {
    const { price } = modelOf('vip: { factor: 0.5 }', 'plain', 'gone');
    expect([price.kind === 'tokens' && price.input, price.group]).toEqual([1_000_000_001, undefined]);
    expect(catalogFor(read('vip: { factor: 0.5 }'), 'gone').viewOf).toBe('gone');
  });
});

test('a group does not see what is hidden from it, nor its aliases; everybody else does', () => {
  const catalog = read('vip: { hide: [chat/r*, "*/map"] }');
  const seen = (view: typeof catalog) => ({
    models: [...view.endpoints.values()].flatMap(({ models }) => models.map(({ id }) => id)),
    aliases: [...view.aliases.keys()],
  });
  expect(seen(catalogFor(catalog, 'vip'))).toEqual({ models: ['plain', 'gift', 'pixel'], aliases: [] });
  expect(seen(catalogFor(catalog, undefined)).models).toHaveLength(5);
});

test('a pattern made to backtrack costs no more than any other', () => {
  const pattern = `chat/${'*a'.repeat(60)}*b`;
  const catalog = read(`vip: { hide: [${JSON.stringify(pattern)}] }`);
  const id = 'a'.repeat(200);
  const models = [{ ...catalog.endpoints.get('chat')!.models[0]!, id }];
  const many = {
    ...catalog,
    endpoints: new Map(
      Array.from({ length: 2_000 }, (_, at) => [`chat${at}`, { ...catalog.endpoints.get('chat')!, models }]),
    ),
  };
  // A matcher that tries again would not come to an end.
  expect(catalogFor(many, 'vip').endpoints.size).toBe(2_000);
});

const MISTAKES: MistakeCase[] = [
  ['a factor of nothing', 'groups: { vip: { factor: ¦0 } }', 'groups.vip.factor', /factor above 0/],
  ['a negative factor', 'groups: { vip: { factor: ¦-1 } }', 'groups.vip.factor', /factor above 0/],
  ['a huge factor', 'groups: { vip: { factor: ¦1e300 } }', 'groups.vip.factor', /up to 100/],
  [
    'a factor of many decimals',
    'groups: { vip: { factor: ¦0.1234567 } }',
    'groups.vip.factor',
    /six decimals/,
  ],
  ['an unknown key', 'groups: { vip: { ¦factr: 1 } }', 'groups.vip.factr', /did you mean factor\?/],
  ['a group called none', 'groups: { ¦none: {} }', 'groups.none', /choose another name/],
  ['no pattern', 'groups: { vip: { hide: [¦"two words"] } }', 'groups.vip.hide[0]', /must be a pattern/],
  [
    'a model that is not sold',
    'groups: { vip: { prices: { chat/x: ¦{ input: 1 } } } }',
    'groups.vip.prices.chat/x',
    /must be a model that is sold/,
  ],
  [
    'a price of another kind',
    'groups: { vip: { prices: { chat/m: { image: ¦1 } } } }',
    'groups.vip.prices.chat/m.image',
    /keep one of them/,
  ],
  [
    'a model made free',
    'groups: { vip: { prices: { chat/m: { input: ¦0, output: 0 } } } }',
    'groups.vip.prices.chat/m.input',
    /makes the model free/,
  ],
  [
    'a negative price',
    'groups: { vip: { prices: { chat/m: { input: ¦-1 } } } }',
    'groups.vip.prices.chat/m.input',
    /must not be negative/,
  ],
];

for (const [about, text, path, message] of MISTAKES)
  test(`refused with its place: ${about}`, () => {
    const { mistakes, place } = markedMistakes(`${file({})}${text}\n`);
    expect(mistakes).toEqual([expect.objectContaining({ path, ...place })]);
    expect(mistakes[0]?.message).toMatch(message);
  });

test('refused: a factor that makes a price too high for the ledger', () => {
  const { mistakes } = markedMistakes(
    `${file({ models: '{ model: m, input: 9000, output: 1 }' })}groups: { vip: { factor: ¦2 } }\n`,
  );
  expect(mistakes[0]).toMatchObject({ path: 'groups.vip.factor' });
});

test('the history tells of groups in words', () => {
  const none = parseCatalog(SOLD, { fileName: 'f', env: {} });
  const before = read('vip: { factor: 0.9 }');
  const after = read('vip: { factor: 0.8, hide: [chat/rich], prices: { chat/plain: { output: 3 } } }');
  expect(catalogChanges(none, before)).toMatchObject([
    { kind: 'added', subject: 'group vip', before: undefined, after: '× 0.9' },
  ]);
  expect(catalogChanges(before, after)).toMatchObject([
    { kind: 'changed', subject: 'group vip: factor', before: '× 0.9', after: '× 0.8' },
    { kind: 'changed', subject: 'group vip: hides', before: 'none', after: 'chat/rich' },
    {
      kind: 'added',
      subject: 'price of chat/plain for vip',
      before: undefined,
      after: '0.800000001 in, 0.800000001 cached, 3.00 out (USD per million tokens)',
    },
  ]);
});

test('a draft’s groups are edited, printed and read again as they were', () => {
  const start = `${SOLD}groups: { old: { factor: 0.5, prices: { chat/plain: { input: 4 } } } }\n`;
  const inspected = inspectCatalog(start, { env: {} });
  const edited = editDraft(
    catalogData(start)!,
    inspected.file!,
    draftEdit.array().parse([
      { kind: 'group', group: 'vip', factor: '0.90', hide: ['chat/rich'] },
      {
        kind: 'group_price',
        group: 'old',
        endpoint: 'chat',
        model: 'rich',
        input: '0.70',
        output: undefined,
      },
      { kind: 'group_price', group: 'old', endpoint: 'chat', model: 'plain', input: null },
    ]),
  );
  expect(edited['groups']).toEqual({
    old: { factor: '0.5', prices: { 'chat/rich': { input: '0.7' } } },
    vip: { factor: '0.9', hide: ['chat/rich'] },
  });
  const printed = catalogYaml(edited);
  expect(printed).toContain('  vip: { factor: 0.90, hide: [ chat/rich ] }');
  expect(catalogData(printed)).toEqual(edited);
  const without = editDraft(edited, inspectCatalog(printed, { env: {} }).file!, [
    { kind: 'remove_group', group: 'vip' },
    { kind: 'remove_model', list: 'list', model: 'rich' },
  ]);
  expect(without['groups']).toEqual({ old: { factor: '0.5' } });
});
