import { afterEach, describe, expect, test } from 'bun:test';
import { momentOf } from './spending-limits.ts';

describe('a moment at the command line', () => {
  const zone = process.env['TZ'];
  afterEach(() => {
    if (zone === undefined) delete process.env['TZ'];
    else process.env['TZ'] = zone;
  });

  test.each(['UTC', 'America/New_York', 'Asia/Tokyo'])('is UTC on a machine of %s', (machine) => {
    process.env['TZ'] = machine;
    for (const text of ['2030-01-01', '2030-01-01T00:00', '2030-01-01T00:00:00', '2030-01-01T01:00+01:00'])
      expect([text, momentOf(text)]).toEqual([text, Date.UTC(2030, 0, 1)]);
  });

  test('that is none is refused', () => {
    for (const text of ['', 'soon', '1', '01/02/2030', '2030-13-01', '2030-01-01 00:00', 'Z'])
      expect(() => momentOf(text)).toThrow('is not a date');
  });
});
