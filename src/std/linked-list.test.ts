import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { LinkedList, type ListItem } from './linked-list.ts';

class Numbered implements ListItem<Numbered> {
  previous: Numbered | undefined;
  next: Numbered | undefined;
  readonly number: number;

  constructor(number: number) {
    this.number = number;
  }
}

const steps = fc.array(fc.record({ does: fc.constantFrom('add', 'delete'), which: fc.nat(5) }), {
  maxLength: 60,
});

test('a linked list has what a set has after the same steps, in the same order', () => {
  fc.assert(
    fc.property(steps, (taken) => {
      const items = Array.from({ length: 6 }, (_, number) => new Numbered(number));
      const list = new LinkedList<Numbered>();
      const expected = new Set<Numbered>();
      for (const { does, which } of taken) {
        const item = items[which]!;
        for (const one of [list, expected]) one[does](item);
        expect([...list].map(({ number }) => number)).toEqual([...expected].map(({ number }) => number));
        for (const other of items) expect(list.has(other)).toBe(expected.has(other));
        expect(list.isEmpty).toBe(expected.size === 0);
      }
    }),
  );
});

test('what was deleted refers to nothing, so that it keeps no other item in memory', () => {
  const [first, second, third] = [new Numbered(1), new Numbered(2), new Numbered(3)];
  const list = new LinkedList<Numbered>();
  for (const item of [first, second, third]) list.add(item);
  list.delete(second);
  expect([second.previous, second.next]).toEqual([undefined, undefined]);
  expect([...list]).toEqual([first, third]);
});

test('items may be deleted while the list is gone through', () => {
  const items = [new Numbered(1), new Numbered(2), new Numbered(3)];
  const list = new LinkedList<Numbered>();
  for (const item of items) list.add(item);
  const seen: number[] = [];
  for (const item of list) {
    seen.push(item.number);
    list.delete(item);
  }
  expect(seen).toEqual([1, 2, 3]);
  expect(list.isEmpty).toBe(true);
});
