import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { Fault } from './fault.ts';
import { HeldMemory, RequestMemory } from './held-memory.ts';

const LIMITS = { total: 100, ofAccount: 60 };

function refusal(take: () => void): Fault {
  try {
    take();
  } catch (thrown) {
    if (thrown instanceof Fault) return thrown;
  }
  throw new Error('it was not refused');
}

describe('held memory', () => {
  test('is bounded for an account and for all of them, and a refusal says when to come again and holds nothing', () => {
    const memory = new HeldMemory(LIMITS);
    const [own, other] = [memory.open('a'), memory.open('b')];
    own.take(60);
    const refused = refusal(() => memory.open('a').take(1));
    expect([refused.code, refused.retryAfterMs]).toEqual(['service_unavailable', 1_000]);
    other.take(40);
    expect(refusal(() => other.take(1)).code).toBe('service_unavailable');
    expect(memory.total).toBe(100);
    own.give(10);
    other.take(10);
    expect(memory.total).toBe(100);
  });

  test('comes back once, however often it is released, and never more than was taken', () => {
    const memory = new HeldMemory(LIMITS);
    const [first, second] = [memory.open('a'), memory.open('a')];
    first.take(30);
    second.take(30);
    first.give(1_000);
    expect(memory.total).toBe(30);
    for (let times = 0; times < 3; times++) first.release();
    expect(memory.total).toBe(30);
    second.release();
    expect(memory.total).toBe(0);
    expect(() => second.take(1)).toThrow('was released');
  });

  test('is the sum of what its leases hold, in any order of taking and giving', () => {
    const step = fc.record({
      lease: fc.nat(5),
      act: fc.constantFrom('take', 'give', 'release'),
      bytes: fc.nat(70),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const memory = new HeldMemory(LIMITS);
        const leases = Array.from({ length: 6 }, (_, index) => ({
          account: index % 3,
          lease: memory.open(String(index % 3)),
          own: 0,
          isOpen: true,
        }));
        const sum = (account?: number) =>
          leases
            .filter((one) => account === undefined || one.account === account)
            .reduce((total, { own }) => total + own, 0);
        for (const { lease: index, act, bytes } of steps) {
          const one = leases[index]!;
          if (act === 'release') {
            one.lease.release();
            Object.assign(one, { own: 0, isOpen: false });
          } else if (act === 'give') {
            one.lease.give(bytes);
            one.own = Math.max(0, one.own - bytes);
          } else if (one.isOpen) {
            const fits = sum() + bytes <= LIMITS.total && sum(one.account) + bytes <= LIMITS.ofAccount;
            if (fits) one.lease.take(bytes);
            else refusal(() => one.lease.take(bytes));
            if (fits) one.own += bytes;
          }
          expect(memory.total).toBe(sum());
        }
      }),
    );
  });
});

describe('the memory of a request', () => {
  test('is held until it is answered', async () => {
    const held = new HeldMemory(LIMITS);
    const request = new RequestMemory(async () => held.open('a'));
    await request.hold(10);
    await request.hold(20);
    await request.hold(5);
    expect(held.total).toBe(35);
    request.answered();
    expect(held.total).toBe(0);
  });

  test('outlives the answer while something keeps it, and ends with the last of them', async () => {
    const held = new HeldMemory(LIMITS);
    const request = new RequestMemory(async () => held.open('a'));
    await request.hold(10);
    const [one, other] = [request.keep(), request.keep()];
    request.answered();
    one();
    one();
    expect(held.total).toBe(10);
    other();
    expect(held.total).toBe(0);
  });

  test('is held until the answer, although what kept it has ended before', async () => {
    const held = new HeldMemory(LIMITS);
    const request = new RequestMemory(async () => held.open('a'));
    await request.hold(10);
    request.keep()();
    expect(held.total).toBe(10);
    request.answered();
    expect(held.total).toBe(0);
  });
});
