import { expect, test } from 'bun:test';
import type { ReceiptAttempt } from '../../lib/answers.ts';
import { timelineOf, type TimedReceipt } from './timeline.ts';

const attempt = (
  result: ReceiptAttempt['result'],
  durationMs: number,
  reason: string | null = null,
): ReceiptAttempt => ({ upstream: `backend-${result}`, result, reason, durationMs });

const receipt = (more: Partial<TimedReceipt>): TimedReceipt => ({
  at: 1_000_000,
  finishedAt: 1_002_000,
  state: 'posted',
  outcome: 'completed',
  stream: true,
  kind: 'chat',
  firstByteMs: 100,
  durationMs: 2_000,
  attempts: [attempt('served', 100)],
  ...more,
});

const times = (of: TimedReceipt) =>
  timelineOf(of).steps.map((step) => [step.kind, step.atMs] as [string, number | undefined]);

test('the steps of a retried stream stand at the times that the receipt knows', () => {
  const retried = receipt({
    firstByteMs: 700,
    attempts: [attempt('failed', 400, 'timeout'), attempt('served', 230)],
  });
  expect(times(retried)).toEqual([
    ['admitted', 0],
    ['attempt', 0],
    ['attempt', 470],
    ['first', 700],
    ['ended', 2_000],
    ['settled', 2_000],
  ]);
});

test('the parts of the bar follow each other without a gap and make up the whole time', () => {
  const { segments, totalMs } = timelineOf(
    receipt({ firstByteMs: 700, attempts: [attempt('failed', 400, 'server'), attempt('served', 230)] }),
  );
  expect(segments).toEqual([
    { kind: 'failed', fromMs: 0, toMs: 400 },
    { kind: 'other', fromMs: 400, toMs: 470 },
    { kind: 'waiting', fromMs: 470, toMs: 700 },
    { kind: 'answer', fromMs: 700, toMs: totalMs },
  ]);
});

test('where a pause is not recorded, the beginning of an attempt is only said to be the earliest possible', () => {
  const { steps } = timelineOf(
    receipt({
      state: 'void',
      outcome: 'upstream_failed',
      firstByteMs: null,
      durationMs: 900,
      attempts: [
        attempt('skipped', 0, 'resting'),
        attempt('failed', 300, 'connect'),
        attempt('failed', 500, 'server'),
      ],
    }),
  );
  const attempts = steps.filter((step) => step.kind === 'attempt');
  expect(attempts.map(({ atMs, isAtLeast, number }) => ({ atMs, isAtLeast, number }))).toEqual([
    { atMs: 0, isAtLeast: false, number: undefined },
    { atMs: 0, isAtLeast: false, number: 1 },
    { atMs: 300, isAtLeast: true, number: 2 },
  ]);
  expect(steps.some(({ kind }) => kind === 'first')).toBe(false);
});

test('a request that runs shows its admission and nothing that is not known yet', () => {
  const running = receipt({
    state: 'pending',
    outcome: null,
    finishedAt: null,
    firstByteMs: null,
    durationMs: null,
    attempts: [],
  });
  expect(timelineOf(running)).toMatchObject({
    totalMs: 0,
    segments: [],
    steps: [{ kind: 'admitted' }, { kind: 'running' }],
  });
});

test('a charge that was booked after its request had ended stands at its own time', () => {
  expect(times(receipt({ finishedAt: 1_060_000 })).at(-1)).toEqual(['settled', 60_000]);
});

test('a retry names the earlier request, and a whole answer has no first token', () => {
  const { steps } = timelineOf(
    receipt({ stream: false, attempts: [attempt('skipped', 0, 'retry_of:req_1'), attempt('served', 100)] }),
  );
  expect(steps.map(({ kind }) => kind)).toEqual(['admitted', 'retry', 'attempt', 'ended', 'settled']);
  expect(steps[1]).toMatchObject({ of: 'req_1' });
});
