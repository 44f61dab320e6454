import { expect, test } from 'bun:test';
import { filterQuery } from './RequestFilters.tsx';

test('a day of the filter begins at its midnight and ends before the next, in the reader’s zone or in UTC', () => {
  const utc = filterQuery({ from: '2030-02-27', to: '2030-02-28', zone: 'utc' });
  expect([utc['from'], utc['to']].map((at) => new Date(Number(at)).toISOString())).toEqual([
    '2030-02-27T00:00:00.000Z',
    '2030-02-28T23:59:59.999Z',
  ]);
  const own = filterQuery({ from: '2030-02-28', to: '2030-02-28' });
  expect(Number(own['from'])).toBe(new Date(2030, 1, 28).getTime());
  expect(Number(own['to'])).toBe(new Date(2030, 2, 1).getTime() - 1);
});

test('what is no day is left out of the filter', () => {
  expect(filterQuery({ from: 'yesterday', to: '2030-99-99' })).toMatchObject({
    from: undefined,
    to: undefined,
  });
});
