import { expect, test } from 'bun:test';
import { makeLog, redact } from './log.ts';

test('keys, bearer tokens and query tokens are redacted wherever they appear', () => {
  const secret = 'sk-Cf9bL0CSN15ZABXfr9VMaL4QcCfPOERMQ4CYxcnokMH4NpCU6';
  const lines: string[] = [];
  const log = makeLog((line) => lines.push(line));
  log.error('boom', {
    url: `http://x/y?a=1&token=${secret}&b=2`,
    error: new Error(`bad ${secret}`, { cause: new Error(`Authorization: Bearer ${secret}`) }),
  });
  log.info(`saying ${secret}`);
  expect(lines).toHaveLength(2);
  for (const line of lines) {
    expect(line).not.toContain('Cf9bL0CSN15');
    expect(() => JSON.parse(line)).not.toThrow();
  }
  expect(redact('bearer abc.def')).toBe('bearer ‹redacted›');
});

test('no field takes the place of the time, the level or the event that a line is found by', () => {
  const lines: string[] = [];
  const log = makeLog(
    (line) => lines.push(line),
    () => 0,
  );
  log.warn('payment_refused', { time: 'x', level: 'info', event: 'evt_1', reason: 'other_amount' });
  expect(lines).toEqual([
    '{"time":"1970-01-01T00:00:00.000Z","level":"warn","event":"payment_refused","reason":"other_amount"}',
  ]);
});
