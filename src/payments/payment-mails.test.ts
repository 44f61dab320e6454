import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test';
import { testConsole, type TestConsole } from '../console/testing/harness.ts';
import { MailServer, readMail } from '../outbox/testing/mail-server.ts';
import { OPERATOR } from '../outbox/events.ts';
import { silentLog } from '../std/log.ts';
import { PaymentEventHandler } from './payment-events.ts';
import type { PaymentFact } from './port.ts';

let server: MailServer;
let site: TestConsole;
let account: string;
beforeAll(async () => {
  server = await MailServer.start();
  const lookup = () => Promise.resolve(['93.184.216.34']);
  const publicUrl = 'https://gate.example.com';
  site = await testConsole({ mail: server.config, publicUrl, webhookRules: { lookup } });
  await site.admin();
  account = await (await site.user('payer@example.com')).accountId();
  await site.messages.webhooks.add(OPERATOR, { url: 'https://hooks.example/o', events: ['payment.failed'] });
});
afterAll(async () => {
  await site.close();
  await server.stop();
});
beforeEach(async () => {
  await site.store.db.deleteFrom('outbox').execute();
  server.received.length = 0;
});

async function payment(id: string, kind: 'top_up' | 'automatic'): Promise<void> {
  const row = {
    id,
    account_id: account,
    kind,
    state: 'open',
    amount: 25_000_000_000,
    created_at: 1,
  } as const;
  await site.store.db.insertInto('payment').values(row).execute();
}

/** Every event comes three times. */
async function told(fact: PaymentFact): Promise<void> {
  const { store, ledger, clock, messages } = site;
  const handler = new PaymentEventHandler({
    store,
    ledger,
    clock,
    log: silentLog,
    notices: messages.notices,
  });
  const event = {
    id: `evt_${fact.kind}`,
    type: 'test',
    objectId: 'obj',
    facts: [fact],
    unreadable: undefined,
  };
  for (let index = 0; index < 3; index++) await handler.apply(event as never);
}

async function mails(): Promise<string[]> {
  const rows = await site.store.db.selectFrom('outbox').select('id').where('kind', '=', 'mail').execute();
  for (const { id } of rows) await site.messages.sender.sendNow(id);
  return server.received.map((mail) => readMail(mail).text);
}

test.each([
  ['top_up', 'We received $25.00'],
  ['automatic', 'charged the saved card with $25.00'],
] as const)('a payment of kind %s has one receipt, however often its event comes', async (kind, words) => {
  const id = `pay_${kind}`;
  await payment(id, kind);
  const paid = { kind: 'paid', paymentId: id, intentId: `pi_${kind}`, accountId: account, cents: 2_500 };
  await told({ ...paid, currency: 'usd' } as never);
  const [text = '', ...more] = await mails();
  expect(more).toEqual([]);
  expect(text).toContain(words);
  expect(text).toContain(`Reference: ${id}`);
  const { balance } = await site.store.db
    .selectFrom('account')
    .select('balance')
    .where('id', '=', account)
    .executeTakeFirstOrThrow();
  expect(text).toContain(`$${balance / 1_000_000_000}.00`);
});

test('a saved card that cannot be charged is told to its owner by mail and to the operator as an event, once', async () => {
  await payment('pay_failed', 'automatic');
  await told({ kind: 'not_paid', paymentId: 'pay_failed', reason: 'card_declined' } as never);
  const rows = await site.store.db.selectFrom('outbox').selectAll().orderBy('topic').execute();
  expect(rows.map(({ topic, account_id }) => [topic, account_id])).toEqual([
    ['payment.failed', OPERATOR],
    ['top-up.failed', account],
  ]);
  expect(site.messages.outbox.read(rows[0]!)).toMatchObject({
    data: { account, payment: 'pay_failed', amount_usd: 25, reason: 'card_declined' },
  });
  const [text = ''] = await mails();
  expect(text).toContain('failed: the bank declined the card.');
});

test('who has automatic top-up is told once that a refund turned it off, and who has none is told nothing', async () => {
  await payment('pay_back', 'automatic');
  const paid = { kind: 'paid', paymentId: 'pay_back', intentId: 'pi_back', accountId: account };
  await told({ ...paid, cents: 2_500, currency: 'usd' } as never);
  await site.store.db.deleteFrom('outbox').execute();
  const refund = async (reversalId: string): Promise<string[]> => {
    const reversed = { kind: 'reversed', reversalId, reversal: 'refund', intentId: 'pi_back' };
    await told({ ...reversed, cents: 100, currency: 'usd', stage: 'gone' } as never);
    return await mails();
  };
  expect(await refund('re_1')).toEqual([]);
  await site.store.db
    .insertInto('top_up')
    .values({ account_id: account, customer_id: 'cus_1', method_id: 'pm_1', enabled: 1, updated_at: 1 })
    .execute();
  const [text = '', ...more] = await refund('re_2');
  expect(more).toEqual([]);
  expect(text).toContain('A payment by card was refunded');
  expect(text).toContain('It stays off until you turn it on again.');
});
