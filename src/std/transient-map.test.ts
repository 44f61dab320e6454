import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { TransientMap } from './transient-map.ts';

const key = fc.nat(9);
interface Step {
  readonly does: 'set' | 'delete' | 'clear';
  readonly key?: number;
  readonly value?: number;
}

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof<fc.Arbitrary<Step>[]>(
    fc.record({ does: fc.constant('set'), key, value: fc.nat() }),
    fc.record({ does: fc.constant('delete'), key }),
    fc.record({ does: fc.constant('clear') }),
  ),
  { maxLength: 60 },
);

test('a transient map has what a map has after the same steps, in the same order', () => {
  fc.assert(
    fc.property(steps, (taken) => {
      const map = new TransientMap<number, { readonly value: number }>();
      const expected = new Map<number, { readonly value: number }>();
      for (const { does, key: at = 0, value = 0 } of taken) {
        for (const one of [map, expected]) {
          if (does === 'set') one.set(at, { value });
          else if (does === 'delete') one.delete(at);
          else one.clear();
        }
        expect([...map.values()]).toEqual([...expected.values()]);
        expect(map.size).toBe(expected.size);
        for (let number = 0; number < 10; number++) {
          expect(map.get(number)).toEqual(expected.get(number));
          expect(map.has(number)).toBe(expected.has(number));
        }
      }
    }),
  );
});

test('an entry may leave while the others are read, and is not met any more', () => {
  const map = new TransientMap<string, { readonly name: string }>();
  for (const name of ['a', 'b', 'c']) map.set(name, { name });
  const met: string[] = [];
  for (const { name } of map.values()) {
    met.push(name);
    map.delete('b');
  }
  expect(met).toEqual(['a', 'c']);
});
