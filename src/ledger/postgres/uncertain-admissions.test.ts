import { afterEach, expect, spyOn, test } from 'bun:test';
import type { RequestId } from '../../std/ids.ts';
import { UncertainAdmissions } from './uncertain-admissions.ts';

/** The database is asked again and again what became of admissions whose answer was lost. The test is the database. */

let open: UncertainAdmissions | undefined;
afterEach(() => open?.close());

function begin() {
  const looks: { ids: readonly string[]; answer: (found: readonly string[] | Error) => void }[] = [];
  let woken = Promise.withResolvers<void>();
  const uncertain = new UncertainAdmissions(
    (ids) =>
      new Promise((resolve, reject) => {
        looks.push({
          ids,
          answer: (found) => (found instanceof Error ? reject(found) : resolve(new Set(found))),
        });
        woken.resolve();
        woken = Promise.withResolvers();
      }),
  );
  open = uncertain;
  const look = async (index: number) => {
    for (;;) {
      const found = looks[index];
      if (found) return found;
      await woken.promise;
    }
  };
  return { uncertain, look, looks };
}

const id = (n: number): RequestId => `req_${n}` as RequestId;

test('all of them are looked for together, and one that was found is not looked for again', async () => {
  const { uncertain, look } = begin();
  uncertain.add(id(1));
  uncertain.add(id(2));
  const first = await look(0);
  expect(first.ids).toEqual(['req_1', 'req_2']);
  first.answer(['req_1']);
  const second = await look(1);
  expect(second.ids).toEqual(['req_2']);
  second.answer(['req_2']);
  // Nothing was left; the next one begins anew.
  uncertain.add(id(3));
  expect((await look(2)).ids).toEqual(['req_3']);
});

test('a database that is away is asked again for the same ones', async () => {
  const { uncertain, look } = begin();
  uncertain.add(id(1));
  (await look(0)).answer(new Error('away'));
  expect((await look(1)).ids).toEqual(['req_1']);
});

test('one that does not turn up is forgotten after ten seconds, in which the database was there', async () => {
  let nowMs = 1_000;
  const clock = spyOn(performance, 'now').mockImplementation(() => nowMs);
  try {
    const { uncertain, look, looks } = begin();
    uncertain.add(id(1));
    nowMs += 9_000;
    (await look(0)).answer(new Error('away'));
    const second = await look(1);
    nowMs += 10_000;
    second.answer([]);
    const third = await look(2);
    expect(third.ids).toEqual(['req_1']);
    uncertain.add(id(2));
    nowMs += 1;
    third.answer([]);
    expect((await look(3)).ids).toEqual(['req_2']);
    expect(looks).toHaveLength(4);
  } finally {
    clock.mockRestore();
  }
});

test('five hundred are looked for at once at most, and the rest when those are known', async () => {
  const { uncertain, look } = begin();
  for (let n = 0; n < 501; n++) uncertain.add(id(n));
  const first = await look(0);
  expect(first.ids).toHaveLength(500);
  first.answer(first.ids);
  expect((await look(1)).ids).toEqual(['req_500']);
});

test('after the end nothing is looked for, nor taken', async () => {
  const { uncertain, looks, look } = begin();
  uncertain.add(id(1));
  const { answer } = await look(0);
  uncertain.close();
  uncertain.add(id(2));
  answer([]);
  const other = begin();
  // One that began later has looked twice by then.
  other.uncertain.add(id(3));
  (await other.look(0)).answer([]);
  await other.look(1);
  expect(looks).toHaveLength(1);
});

test('after the end nothing is looked for that was waiting to be', () => {
  const cleared = spyOn(globalThis, 'clearTimeout');
  try {
    const { uncertain } = begin();
    uncertain.add(id(1));
    uncertain.close();
    expect(cleared).toHaveBeenCalledWith(expect.objectContaining({}));
  } finally {
    cleared.mockRestore();
  }
});
