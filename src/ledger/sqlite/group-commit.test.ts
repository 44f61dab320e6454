import { describe, expect, spyOn, test } from 'bun:test';
import { Fault } from '../../std/fault.ts';
import { makeLog } from '../../std/log.ts';
import { GroupCommit } from './group-commit.ts';

/** Which operations share a transaction, and who hears what when one fails. The test is the database. */

class StoreFailure extends Error {}

function begin() {
  const steps: string[] = [];
  const log: string[] = [];
  const state = {
    /** Answers of `begin`, in turn; then true. */
    begins: [] as (boolean | Error)[],
    isLocked: () => false,
    commits: [] as Error[],
    syncs: [] as (() => Promise<void>)[],
  };
  let ran: string[] = [];
  const commits = new GroupCommit<string[]>(
    {
      begin() {
        const next = state.begins.shift() ?? !state.isLocked();
        steps.push(next === true ? 'begin' : 'busy');
        if (next instanceof Error) throw next;
        return next;
      },
      work: () => (ran = []),
      commit(work) {
        const failure = state.commits.shift();
        if (failure) throw failure;
        steps.push(`commit ${work.join(' ')}`);
      },
      rollback: () => void steps.push(`rollback ${ran.join(' ')}`),
      sync: () => state.syncs.shift()?.() ?? Promise.resolve(),
      isUnavailable: (error) => error instanceof StoreFailure,
    },
    makeLog((line) => log.push((JSON.parse(line) as { event: string }).event)),
  );
  const submit = (name: string, durable = false, failure?: Error) =>
    commits.submit((work) => {
      work.push(name);
      if (failure) throw failure;
      return `${name} done`;
    }, durable);
  return { commits, submit, steps, log, state };
}

const refused = new Fault('invalid_field', 'no');
const settled = async (...all: Promise<string>[]) =>
  (await Promise.allSettled(all)).map((one) =>
    one.status === 'fulfilled' ? one.value : (one.reason as Fault).code,
  );

describe('operations that come together', () => {
  test('are one transaction, in their order, and each hears its own result', async () => {
    const { commits, submit, steps } = begin();
    expect(await settled(submit('a'), submit('b'), submit('c'))).toEqual(['a done', 'b done', 'c done']);
    expect(steps).toEqual(['begin', 'commit a b c']);
    expect(commits.load()).toMatchObject({ waiting: 0, sizes: { count: 1, sum: 3 } });
  });

  test.each([1, 44])('fill transactions of 256, one after another, down to the last %d', async (rest) => {
    const { submit, steps } = begin();
    const all = Array.from({ length: 256 + rest }, (_, index) => submit(`o${index}`));
    expect(new Set(await settled(...all)).size).toBe(256 + rest);
    expect(steps.map((step) => step.split(' ').length - 1)).toEqual([0, 256, 0, rest]);
  });

  test('go on being taken, batch after batch, however fast they come', async () => {
    const { submit, steps } = begin();
    for (let round = 0; round < 20; round++) {
      const all = Array.from({ length: 50 }, (_, index) => submit(`o${index}`));
      expect(await settled(...all)).toHaveLength(50);
    }
    expect(steps.filter((step) => step === 'begin').length).toBeLessThanOrEqual(40);
  });

  test('one that is refused is refused alone, and the others are committed', async () => {
    const { submit, steps } = begin();
    expect(await settled(submit('a'), submit('b', false, refused), submit('c'))).toEqual([
      'a done',
      'invalid_field',
      'c done',
    ]);
    expect(steps).toEqual(['begin', 'commit a b c']);
  });

  test('one that nobody foresaw undoes them all; then each has a transaction of its own and that one fails alone', async () => {
    const { submit, steps } = begin();
    expect(await settled(submit('a'), submit('b', false, new Error('strange')), submit('c'))).toEqual([
      'a done',
      'internal_error',
      'c done',
    ]);
    expect(steps).toEqual([
      'begin',
      'rollback a b',
      'begin',
      'commit a',
      'begin',
      'rollback b',
      'begin',
      'commit c',
    ]);
  });

  test('where another process takes the lock in between, the rest hear that the service is unavailable', async () => {
    const { submit, state } = begin();
    state.begins = [true, true, false];
    expect(await settled(submit('a'), submit('b', false, new Error('strange')))).toEqual([
      'a done',
      'service_unavailable',
    ]);
  });
});

test('when nothing is left to do, no transaction begins, however many came together', async () => {
  const { submit, steps } = begin();
  const turns = async (): Promise<void> => {
    for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
  };
  await submit('a');
  await turns();
  expect(steps).toEqual(['begin', 'commit a']);
  await settled(submit('b'), submit('c'), submit('d'));
  await turns();
  expect(steps.slice(2)).toEqual(['begin', 'commit b c d']);
});

describe('a store that fails', () => {
  test('fails everybody in the transaction, with when to come back; the operator hears of it once, and of its return', async () => {
    const { submit, steps, log, state } = begin();
    state.commits = [new StoreFailure('disk full'), new StoreFailure('disk full')];
    expect(await settled(submit('a'), submit('b'))).toEqual(['service_unavailable', 'service_unavailable']);
    expect(steps).toEqual(['begin', 'rollback a b']);
    expect(log).toEqual(['ledger_unavailable']);
    const failed = await submit('c').catch((thrown: unknown) => thrown);
    expect(failed).toMatchObject({ code: 'service_unavailable', retryAfterMs: 1_000 });
    expect(log).toEqual(['ledger_unavailable']);
    expect(await settled(submit('e'))).toEqual(['e done']);
    expect(log).toEqual(['ledger_unavailable', 'ledger_recovered']);
    await settled(submit('f'));
    expect(log).toEqual(['ledger_unavailable', 'ledger_recovered']);
    state.commits = [new StoreFailure('disk full')];
    await settled(submit('g'));
    expect(log.slice(2)).toEqual(['ledger_unavailable']);
  });

  test('before a transaction begins fails all that wait', async () => {
    const { submit, steps, state } = begin();
    state.begins = [new StoreFailure('gone')];
    expect(await settled(submit('a'), submit('b', true))).toEqual([
      'service_unavailable',
      'service_unavailable',
    ]);
    expect(steps).toEqual(['busy']);
    expect(await settled(submit('c'))).toEqual(['c done']);
  });

  test('at the sync fails those that wait for the disk alone', async () => {
    const { submit, state } = begin();
    state.syncs = [() => Promise.reject(new StoreFailure('I/O'))];
    expect(await settled(submit('a'), submit('b', true))).toEqual(['a done', 'service_unavailable']);
  });
});

test('while another process holds the lock nothing is lost: all come in the transaction that begins', async () => {
  const { submit, steps, state } = begin();
  state.begins = [false, false, false];
  expect(await settled(submit('a'), submit('b'))).toEqual(['a done', 'b done']);
  expect(steps).toEqual(['busy', 'busy', 'busy', 'begin', 'commit a b']);
});

test('who has waited for the lock for 800 ms hears that the service is unavailable, who came later waits on', async () => {
  const { submit, steps, state } = begin();
  let nowMs = 1_000;
  const clock = spyOn(performance, 'now').mockImplementation(() => nowMs);
  try {
    let locked = true;
    state.isLocked = () => locked;
    const first = settled(submit('a'));
    nowMs += 500;
    const second = submit('b');
    nowMs += 301;
    expect(await first).toEqual(['service_unavailable']);
    locked = false;
    expect(await second).toBe('b done');
    expect(steps.at(-1)).toBe('commit b');
  } finally {
    clock.mockRestore();
  }
});

describe('what must survive a power cut', () => {
  test('is answered after the sync, the rest before it', async () => {
    const { submit, state } = begin();
    const synced = Promise.withResolvers<void>();
    state.syncs = [() => synced.promise];
    let isAnswered = false;
    const durable = submit('a', true).finally(() => (isAnswered = true));
    expect(await submit('b')).toBe('b done');
    expect(await submit('c')).toBe('c done');
    expect(isAnswered).toBe(false);
    synced.resolve();
    expect(await durable).toBe('a done');
  });

  test('one that was refused waits for no sync', async () => {
    const { submit, state } = begin();
    state.syncs = [() => new Promise(() => undefined)];
    expect(await settled(submit('a', true, refused))).toEqual(['invalid_field']);
  });
});

describe('closing', () => {
  test('waits for what was submitted, and for its sync, then refuses', async () => {
    const { commits, submit, state } = begin();
    const synced = Promise.withResolvers<void>();
    state.syncs = [() => synced.promise];
    let isClosed = false;
    const durable = submit('a', true);
    const closed = commits.close().finally(() => (isClosed = true));
    expect(submit('late')).rejects.toMatchObject({ code: 'service_unavailable' });
    await Bun.sleep(0);
    await Bun.sleep(0);
    expect(isClosed).toBe(false);
    synced.resolve();
    expect(await durable).toBe('a done');
    await closed;
  });

  test('has nothing to wait for when nothing is under way', async () => {
    const { commits, submit } = begin();
    await submit('a', true);
    await commits.close();
  });

  test('ends even where the store fails what was submitted', async () => {
    const { commits, submit, state } = begin();
    state.begins = [new StoreFailure('gone')];
    const failing = settled(submit('a'));
    await commits.close();
    expect(await failing).toEqual(['service_unavailable']);
    const other = begin();
    other.state.syncs = [() => Promise.reject(new StoreFailure('I/O'))];
    const unsynced = settled(other.submit('a', true));
    await other.commits.close();
    expect(await unsynced).toEqual(['service_unavailable']);
  });
});
