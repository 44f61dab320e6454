import { expect, test } from 'bun:test';
import { Fault, type FaultCode } from '../std/fault.ts';

test('each code of an error is told with the status that it is sent with', async () => {
  const text = await Bun.file(new URL('contract.ts', import.meta.url)).text();
  const [, codes = ''] = /export type ErrorCode =\n([^;]+);/.exec(text) ?? [];
  const told = [...codes.matchAll(/\/\*\* (?<statuses>\d{3}(?:, \d{3})*)\b.*|'(?<code>\w+)'/g)];
  let statuses: readonly number[] = [];
  let count = 0;
  for (const { groups } of told) {
    const code = groups?.['code'];
    if (code === undefined) statuses = (groups?.['statuses'] ?? '').split(', ').map(Number);
    else {
      count++;
      const { status } = new Fault(code as FaultCode, 'x');
      expect({ code, status, told: statuses.includes(status) }).toEqual({ code, status, told: true });
    }
  }
  expect(count).toBeGreaterThan(30);
});
