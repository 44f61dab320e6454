import { afterAll, beforeAll, expect, test } from 'bun:test';
import { dayOf } from '../std/calendar.ts';
import type { AccountId } from '../std/ids.ts';
import type { Answer } from './contract/routes.ts';
import { testConsole, type TestConsole } from './testing/harness.ts';

let site: TestConsole;
beforeAll(async () => {
  site = await testConsole();
});
afterAll(() => site.close());

test('an archived day is one line of the statement, and a refund that names one of its requests is refused with a reason', async () => {
  const admin = await site.admin();
  const user = await site.user('old@example.com');
  const id = await user.accountId();
  await site.credit(id, 5);
  const requestId = await site.charge(id);
  const day = dayOf(site.clock.now());
  site.advance(100 * 86_400_000);
  expect(await site.ledger.archive({ accountId: id as AccountId, day })).toMatchObject({ requests: 1 });
  site.advance(-100 * 86_400_000);
  const { items } = await user.must<Answer<'GET /api/console/entries'>>('GET', '/api/console/entries');
  const iso = String(day).replace(/^(....)(..)(..)$/, '$1-$2-$3');
  expect(items.filter(({ kind }) => kind === 'charge')).toMatchObject([
    { charges: { day: iso, requests: 1, archived: true }, requestId: null },
  ]);
  expect(items.find(({ kind }) => kind === 'credit')).toMatchObject({ charges: null });
  const refund = { amountUsd: '0.0001', cause: 'sorry', requestId };
  const path = `/api/console/admin/accounts/${id}/refund`;
  expect(await admin.call('POST', path, refund)).toMatchObject({
    status: 400,
    body: { error: { param: 'requestId', message: expect.stringContaining('no longer kept') } },
  });
  const other = { ...refund, requestId: 'req_00000000abcdefgh12345678' };
  expect((await admin.call('POST', path, other)).status).toBe(404);
  const { requestId: _, ...unnamed } = refund;
  await admin.must('POST', path, unnamed);
  expect((await site.ledger.verify({ full: true })).breaches).toEqual([]);
});
