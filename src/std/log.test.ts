import { describe, expect, test } from 'bun:test';
import { makeLog, redact, NEVER_LEFT_OUT } from './log.ts';

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

describe('a burst', () => {
  function burst(count: number, write: (log: ReturnType<typeof makeLog>, index: number) => void) {
    const lines: string[] = [];
    const log = makeLog((line) => lines.push(line));
    for (let index = 0; index < count; index++) write(log, index);
    log.endBursts();
    const parsed = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    return {
      written: parsed.filter(({ event }) => event !== 'lines_left_out'),
      leftOut: parsed.filter(({ event }) => event === 'lines_left_out'),
    };
  }

  test('of equal lines has its first ones written, and the number of the others', () => {
    const { written, leftOut } = burst(1_000, (log, index) => log.error('request_failed', { index }));
    expect(written.map(({ index }) => index)).toEqual([...Array(20).keys()]);
    expect(leftOut).toMatchObject([{ level: 'error', of: 'request_failed', lines: 980 }]);
  });

  test('hides no other event, code or backend', () => {
    const { written, leftOut } = burst(500, (log, index) => {
      log.error('request_failed', { code: 'service_unavailable' });
      if (index === 400) log.error('request_failed', { code: 'internal_error' });
      log.warn('backend_attempt_failed', { backend: 'a' });
      if (index === 450) log.warn('backend_attempt_failed', { backend: 'b' });
    });
    expect(written).toContainEqual(expect.objectContaining({ code: 'internal_error' }));
    expect(written).toContainEqual(expect.objectContaining({ backend: 'b' }));
    expect(leftOut).toMatchObject([
      { level: 'error', of: 'request_failed', code: 'service_unavailable', lines: 480 },
      { level: 'warn', of: 'backend_attempt_failed', backend: 'a', lines: 480 },
    ]);
  });

  test.each(Object.keys(NEVER_LEFT_OUT))('of %s is written whole', (event) => {
    const { written, leftOut } = burst(1_000, (log, index) => log.warn(event, { index }));
    expect(written).toHaveLength(1_000);
    expect(leftOut).toEqual([]);
  });

  test('of more kinds than can be told apart still has a bound', () => {
    const { written, leftOut } = burst(5_000, (log, index) =>
      log.error('request_failed', { code: `c${index}` }),
    );
    expect(written).toHaveLength(1_000 + 20);
    expect(leftOut).toMatchObject([{ of: 'request_failed', lines: 5_000 - 1_020 }]);
  });

  test('that is over leaves nothing behind: the next one is written again', () => {
    const lines: string[] = [];
    const log = makeLog((line) => lines.push(line));
    for (let round = 0; round < 2; round++) {
      for (let index = 0; index < 30; index++) log.error('request_failed');
      log.endBursts();
    }
    log.endBursts();
    expect(lines).toHaveLength(2 * (20 + 1));
  });
});
