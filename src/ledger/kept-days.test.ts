import { describe, expect, test } from 'bun:test';
import { archiveEntry, firstKeptDay, spanOf } from './archive.ts';

/** Which days of receipts may leave, and how the charge that stands for one is written. */

const at = (date: string): number => Date.parse(`${date}T12:00:00Z`);

describe('the first day that stays', () => {
  test.each([
    ['the month before, also over the turn of a year', '2030-01-15', 1, 20_291_201],
    ['the month before in February', '2030-02-01', 1, 20_300_101],
    ['the month before in December', '2030-12-31', 10, 20_301_101],
    ['the month before where the days reach just into it', '2030-05-15', 44, 20_300_401],
    ['further back where more days are kept', '2030-05-15', 45, 20_300_331],
    ['further back over the turn of a year', '2030-02-10', 60, 20_291_212],
  ])('is that of %s', (_, now, keepDays, day) => {
    expect(firstKeptDay(at(now), keepDays)).toBe(day);
  });
});

test('the charge of a day is dated to its last moment, and can be made once', () => {
  expect(archiveEntry('acc_1', spanOf(20_300_501))).toEqual({
    once: 'archive:acc_1:20300501',
    cause: 'requests of 2030-05-01',
    actor: 'retention',
    createdAt: Date.UTC(2030, 4, 2) - 1,
  });
});
