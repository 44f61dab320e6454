import { describe, expect, test } from 'bun:test';
import type { PriceRow } from './rows.ts';
import {
  countOf,
  draftedEdits,
  filledFromList,
  groupMargin,
  isInFilter,
  isWrong,
  marginOf,
  markedUp,
  NO_EDITS,
  rowKey,
  savedChanges,
  shownValue,
  withEdit,
} from './edits.ts';
import { pasted, sheetOf } from './sheet.ts';

const backend = { name: 'b', paused: false, isBuiltIn: false, listed: null, differs: false };
const row: PriceRow = {
  list: 'l',
  model: 'm',
  type: 'chat_completion',
  endpoints: [{ code: 'e' }],
  backends: [backend],
  free: false,
  hasMore: false,
  imageRange: null,
  published: null,
  isNew: false,
  isRemoved: false,
  name: 'M',
  input: '0.50',
  cachedInput: null,
  output: '2.00',
  image: null,
  context: null,
  maxOutput: 4096,
  vision: false,
  tools: true,
  reasoning: false,
  files: false,
  costs: { b: { input: '0.4', output: '1.5' } },
  groups: { vip: { output: '1.80' } },
  groupPrices: { vip: { input: '0.45', output: '1.80' }, few: 'hidden' },
};
const unknown: PriceRow = { ...row, model: 'own', costs: {} };
const painter: PriceRow = {
  ...row,
  model: 'paint',
  type: 'image_generation',
  input: null,
  output: null,
  image: '0.04',
  costs: { b: { image: '0.05' } },
};
const set = { kind: 'set_model', list: 'l' } as const;

test('what is typed is shown as it was typed, and a value as it is published is no change', () => {
  const edits = withEdit(NO_EDITS, row, { input: '0,75' });
  expect(shownValue(row, edits, 'input')).toBe('0,75');
  expect(savedChanges([row, unknown], NO_EDITS, edits)).toEqual([{ ...set, model: 'm', input: '0.75' }]);
  for (const same of ['0.5', '$0.500']) expect(withEdit(edits, row, { input: same }).size).toBe(0);
  expect(withEdit(NO_EDITS, row, { maxOutput: '4096', tools: 'yes', cachedInput: '' }).size).toBe(0);
});

test('a price of a group is saved at every endpoint of the model, emptied it follows the list, and below cost it is flagged', () => {
  const twice = { ...row, endpoints: [...row.endpoints, { code: 'f', unavailable: false }] };
  const edits = withEdit(NO_EDITS, twice, { 'group input vip': '0,30', 'group output vip': '' });
  const own = { kind: 'group_price', group: 'vip', model: 'm' } as const;
  expect(savedChanges([twice], NO_EDITS, edits)).toEqual([
    { ...own, endpoint: 'e', input: '0.30' },
    { ...own, endpoint: 'f', input: '0.30' },
    { ...own, endpoint: 'e', output: null },
    { ...own, endpoint: 'f', output: null },
  ]);
  expect(groupMargin(row, NO_EDITS, 'vip')).toMatchObject({ isBelowCost: false, shares: [0.1111, 0.1666] });
  expect(groupMargin(row, edits, 'vip')?.isBelowCost).toBe(true);
  expect(groupMargin(row, NO_EDITS, 'few')).toBeUndefined();
  expect([NO_EDITS, edits].map((some) => isInFilter(row, some, 'below'))).toEqual([false, true]);
  expect(isWrong(withEdit(NO_EDITS, row, { 'group input vip': 'much' }))).toBe(true);
});

test('everything of a model is saved by its own field; an emptied one becomes unknown', () => {
  const typed = { context: '128k', maxOutput: '', cachedInput: '0.05', tools: '', vision: 'yes' } as const;
  expect(savedChanges([row], NO_EDITS, withEdit(NO_EDITS, row, typed))).toEqual([
    {
      ...set,
      model: 'm',
      context: 128_000,
      max_output: null,
      cached_input: '0.05',
      tools: false,
      vision: true,
    },
  ]);
  expect(['1', '2m', '128K', '0', '1.5', 'x', '11m'].map(countOf)).toEqual([
    1,
    2_000_000,
    128_000,
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});

test('a cost is saved as a whole or not at all, because half of it would be taken for the whole', () => {
  const half = withEdit(NO_EDITS, unknown, { 'cost input b': '1' });
  expect(savedChanges([unknown], NO_EDITS, half)).toEqual([]);
  const whole = withEdit(half, unknown, { 'cost output b': '3' });
  expect(savedChanges([unknown], half, whole)).toEqual([
    { ...set, model: 'own', cost: { b: { input: '1', output: '3' } } },
  ]);
  const none = withEdit(NO_EDITS, row, { 'cost input b': '', 'cost output b': '' });
  expect(savedChanges([row], NO_EDITS, none)).toEqual([{ ...set, model: 'm', cost: { b: null } }]);
  expect(savedChanges([painter], NO_EDITS, withEdit(NO_EDITS, painter, { 'cost image b': '0.01' }))).toEqual([
    { ...set, model: 'paint', cost: { b: { image: '0.01' } } },
  ]);
});

test('what is no amount is kept in its field, and nothing is sent', () => {
  for (const typed of ['', 'x', '-1', '1.0000000001', '123456', '1.2.3']) {
    const edits = withEdit(NO_EDITS, row, { output: typed });
    expect(shownValue(row, edits, 'output')).toBe(typed);
    expect(isWrong(edits)).toBe(true);
    expect(savedChanges([row], NO_EDITS, edits)).toEqual([]);
    expect(marginOf(row, edits)).toBeUndefined();
  }
});

test('a markup is of the cost, exact, and rounded up to a nano-dollar; without a known cost nothing changes', () => {
  expect(savedChanges([row, unknown], NO_EDITS, markedUp(NO_EDITS, [row, unknown], 20))).toEqual([
    { ...set, model: 'm', input: '0.48', output: '1.8' },
  ]);
  const odd = { ...row, costs: { b: { input: '0.000000001', output: '3' } } };
  const edits = markedUp(NO_EDITS, [odd, painter], 0.5);
  expect(shownValue(odd, edits, 'input')).toBe('0.000000002');
  expect(shownValue(odd, edits, 'output')).toBe('3.015');
  expect(shownValue(painter, edits, 'image')).toBe('0.05025');
});

test('what the draft says is shown as typed, and undoing it says what is published', () => {
  const drafted: PriceRow = { ...row, input: '0.75', costs: {}, published: row };
  const edits = draftedEdits([drafted, unknown]);
  expect(shownValue(drafted, edits, 'input')).toBe('0.75');
  expect(shownValue(drafted, edits, 'cost input b')).toBe('');
  expect(savedChanges([drafted], edits, edits)).toEqual([]);
  expect(savedChanges([drafted], edits, NO_EDITS)).toEqual([
    { ...set, model: 'm', input: '0.50', cost: { b: { input: '0.4', output: '1.5' } } },
  ]);
});

test('the margin is told of the most expensive backend, and rows are found by what is wrong with them', () => {
  expect(marginOf(row, NO_EDITS)).toEqual({ shares: [0.2, 0.25], isBelowCost: false });
  expect(marginOf(painter, NO_EDITS)).toEqual({ shares: [-0.25], isBelowCost: true });
  expect(marginOf(unknown, NO_EDITS)).toBeUndefined();
  const two = { ...row, backends: [backend, { ...backend, name: 'c' }] };
  const dear = { ...two, costs: { ...row.costs, c: { input: '0.6', output: '1' } } };
  expect(marginOf(dear, NO_EDITS)?.isBelowCost).toBe(true);
  const rows = [row, unknown, painter, { ...row, model: 'off', endpoints: [] }];
  const found = (filter: 'below' | 'unknown' | 'unsold') =>
    rows.filter((one) => isInFilter(one, NO_EDITS, filter)).map(({ model }) => model);
  expect([found('below'), found('unknown'), found('unsold')]).toEqual([['paint'], ['own'], ['off']]);
});

test('the price list fills in what is unknown and nothing else', () => {
  const listed = { input: '0.3', output: '1.2', context: 64_000 };
  const rows = [row, unknown].map((one) => ({ ...one, backends: [{ ...backend, listed }] }));
  expect(savedChanges(rows, NO_EDITS, filledFromList(NO_EDITS, rows))).toEqual([
    { ...set, model: 'm', context: 64_000 },
    { ...set, model: 'own', context: 64_000, cost: { b: { input: '0.3', output: '1.2' } } },
  ]);
});

describe('a pasted sheet', () => {
  const other = { ...row, list: 'second' };
  test('is taken from any common table, with a heading or without', () => {
    for (const text of [
      'model,input,output\nm,1,2.5',
      'Output\tmodel\tInput\n2.5\tm\t1',
      'm;1;2,5',
      '"m"\t1\t2.5\n\n',
      ' m , $1 , $2.5 ',
      'Name,In,Out\nm,1,2.5',
    ]) {
      const { edits, problems } = pasted(NO_EDITS, [row, other], text);
      expect({ text, problems }).toEqual({ text, problems: [] });
      for (const one of [row, other]) {
        expect([text, edits.get(rowKey(one))?.input]).toEqual([text, '1']);
        expect(edits.get(rowKey(one))?.output).toStartWith('2');
      }
    }
    expect(pasted(NO_EDITS, [painter], 'paint, 0.08').edits.get(rowKey(painter))).toEqual({ image: '0.08' });
  });

  test('that was copied here changes nothing, and an empty cell stays as it is', () => {
    const rows = [row, unknown, painter];
    expect(pasted(NO_EDITS, rows, sheetOf(rows, NO_EDITS))).toEqual({ edits: NO_EDITS, problems: [] });
    const { edits } = pasted(NO_EDITS, rows, 'model\tcost_input\tinput\tcontext\nm\t0.45\t\t32k');
    expect(edits.get(rowKey(row))).toEqual({ 'cost input b': '0.45', context: '32k' });
  });

  test('that names no model, or no amounts, is told of by its line', () => {
    const { edits, problems } = pasted(NO_EDITS, [row], 'm,1,2\nnobody,1,2\nm,one,2\nm,1');
    expect(problems).toEqual([
      { kind: 'unknown', line: 2, model: 'nobody' },
      { kind: 'bad', line: 3 },
      { kind: 'bad', line: 4 },
    ]);
    expect(edits.get(rowKey(row))).toEqual({ input: '1' });
    expect(pasted(NO_EDITS, [row], 'm,1.2.3,4').problems).toEqual([{ kind: 'bad', line: 1 }]);
  });
});
