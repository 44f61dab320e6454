import { expect, test } from 'bun:test';
import type { AccountId } from '../std/ids.ts';
import { nanoUsd } from '../std/money.ts';
import type { Archived } from './port.ts';
import { applyRetention } from './retention.ts';

/** What a run of retention says about the days that did not leave. The ledger's own suites show which those are. */
const ENDS: readonly Archived[] = [
  { kind: 'archived', requests: 3, charged: nanoUsd(9) },
  { kind: 'refused', reason: 'open_hold' },
  { kind: 'refused', reason: 'archived_before' },
  { kind: 'refused', reason: 'sums_differ' },
  { kind: 'refused', reason: 'no_requests' },
  { kind: 'refused', reason: 'not_over' },
  { kind: 'archived', requests: 4, charged: nanoUsd(1) },
];

const days = ENDS.map((_, place) => ({
  accountId: 'acc_1' as AccountId,
  day: 20_300_101 + place,
  requests: 1,
  charged: nanoUsd(1),
}));
const ledger = {
  archivable: () => Promise.resolve(days),
  archive: ({ day }: { readonly day: number }) => Promise.resolve(ENDS[day - 20_300_101]!),
};

test('days that somebody has to look at are named, and those that need nobody are not', async () => {
  expect(await applyRetention(ledger, 30)).toEqual({
    days: 2,
    requests: 7,
    refused: [
      { accountId: 'acc_1' as AccountId, day: 20_300_102, reason: 'open_hold' },
      { accountId: 'acc_1' as AccountId, day: 20_300_104, reason: 'sums_differ' },
    ],
  });
});

test('a run ends after so many days, or when it is told to', async () => {
  expect(await applyRetention(ledger, 30, { maxDays: 1 })).toMatchObject({ days: 1, refused: [] });
  expect(await applyRetention(ledger, 30, { isOver: () => true })).toMatchObject({ days: 0 });
});
