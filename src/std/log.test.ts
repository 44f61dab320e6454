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
