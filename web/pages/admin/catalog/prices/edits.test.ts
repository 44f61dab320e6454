import { describe, expect, test } from 'bun:test';
import {
  draftedEdits,
  isWrong,
  marginOf,
  markedUp,
  NO_EDITS,
  pasted,
  rowKey,
  savedChanges,
  shownAmounts,
  withEdit,
} from './edits.ts';

const row = {
  list: 'l',
  model: 'm',
  name: 'M',
  input: '0.50',
  output: '2.00',
  draft: null,
  cost: { input: '0.4', output: '1.5' },
};
const free = { ...row, model: 'own', cost: null };

test('what is typed is shown as it was typed, and a price as it is sold is no change', () => {
  const edits = withEdit(NO_EDITS, row, { input: '0,75' });
  expect(shownAmounts(row, edits)).toEqual({ input: '0,75', output: '2.00' });
  expect(savedChanges([row, free], NO_EDITS, edits)).toEqual([
    { list: 'l', model: 'm', input: '0.75', output: '2.00' },
  ]);
  expect(withEdit(edits, row, { input: '0.5' }).size).toBe(0);
  expect(withEdit(edits, row, { input: '$0.500' }).size).toBe(0);
});

test('what is no amount is kept in its field, and nothing is sent', () => {
  for (const typed of ['', 'x', '-1', '1.0000000001', '123456', '1.2.3']) {
    const edits = withEdit(NO_EDITS, row, { output: typed });
    expect(shownAmounts(row, edits).output).toBe(typed);
    expect(isWrong(edits)).toBe(true);
    expect(savedChanges([row], NO_EDITS, edits)).toEqual([]);
    expect(marginOf(row, edits)).toBeUndefined();
  }
});

test('a markup is of the cost, exact, and rounded up to a nano-dollar; without a known cost nothing changes', () => {
  const edits = markedUp(NO_EDITS, [row, free], 20);
  expect(savedChanges([row, free], NO_EDITS, edits)).toEqual([
    { list: 'l', model: 'm', input: '0.48', output: '1.8' },
  ]);
  const odd = { ...row, cost: { input: '0.000000001', output: '3' } };
  expect(shownAmounts(odd, markedUp(NO_EDITS, [odd], 0.5))).toEqual({
    input: '0.000000002',
    output: '3.015',
  });
});

test('what the draft says is shown as typed, and undoing it says what is published', () => {
  const drafted = { ...row, draft: { input: '0.75', output: '2.00' } };
  const edits = draftedEdits([drafted, free]);
  expect(shownAmounts(drafted, edits)).toEqual({ input: '0.75', output: '2.00' });
  expect(savedChanges([drafted], edits, edits)).toEqual([]);
  expect(savedChanges([drafted], edits, NO_EDITS)).toEqual([
    { list: 'l', model: 'm', input: '0.50', output: '2.00' },
  ]);
});

test('the margin is told, and when a price is below the cost', () => {
  expect(marginOf(row, NO_EDITS)).toEqual({ input: '0.10', output: '0.50', isBelowCost: false });
  expect(marginOf(row, withEdit(NO_EDITS, row, { input: '0.1' }))?.isBelowCost).toBe(true);
  expect(marginOf(free, NO_EDITS)).toBeUndefined();
});

describe('pasted prices', () => {
  const other = { ...row, list: 'second' };
  test('are taken from any common table, with a heading or without', () => {
    for (const text of ['model,input,output\nm,1,2.5', 'm;1;2,5', '"m"\t1\t2.5\n\n', ' m , $1 , $2.5 ']) {
      const { edits, problems } = pasted(NO_EDITS, [row, other], text);
      expect({ text, problems }).toEqual({ text, problems: [] });
      expect(edits.get(rowKey(row))).toMatchObject({ input: '1' });
      expect(edits.get(rowKey(other))).toMatchObject({ input: '1' });
    }
  });

  test('that name no model, or no amounts, are told by their line', () => {
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
