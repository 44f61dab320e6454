import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { runCli } from '../../src/cli/cli.ts';
import type { CliContext } from '../../src/cli/command.ts';
import type { Answer } from '../../src/console/contract/routes.ts';
import { removeAccount } from '../../src/identity/accounts/removal.ts';
import type { AccountId } from '../../src/std/ids.ts';
import { nanoUsd } from '../../src/std/money.ts';
import { catalogFor, Gateway } from '../support/gateway.ts';
import { eventually } from '../support/node-process.ts';
import { completion, ScriptedBackend, usage } from '../support/scripted-backend.ts';
import { Payer } from './payer.ts';
import { STORES, USD } from './payment-harness.ts';
import type { EventObject } from './stripe-objects.ts';
import { StripeStandIn } from './stripe-stand-in.ts';

type CardPayments = Answer<'GET /api/console/payments'>;
type Overview = Answer<'GET /api/console/overview'>;
type AdminReversals = Answer<'GET /api/console/admin/payments/reversals'>;

const PATIENCE_MS = 60_000;

describe.each(STORES)('money that goes back on %s', (_, database) => {
  let backend: ScriptedBackend;
  let stripe: StripeStandIn;
  let gateway: Gateway;
  let admin: Payer;
  let people = 0;

  beforeAll(async () => {
    backend = new ScriptedBackend();
    stripe = new StripeStandIn();
    // A cent for each token of output.
    const yaml = catalogFor([backend.baseUrl], { prices: 'input: 0, output: 10000' });
    const databaseUrl = await database();
    gateway = await Gateway.start({
      yaml,
      env: stripe.env,
      ...(databaseUrl === undefined ? {} : { databaseUrl }),
    });
    admin = await Payer.admin(gateway);
  }, 300_000);
  afterAll(async () => {
    await gateway.stop();
    await backend.stop();
    await stripe.stop();
  });

  const deliver = async (...events: readonly EventObject[]): Promise<void> => {
    for (const event of events) expect((await stripe.deliver(gateway.url, event)).status).toBe(200);
  };

  /** Somebody with ten dollars, of which a running request holds 9.85. */
  async function withOpenHold() {
    const customer = await Payer.signUp(gateway, `back${++people}@example.com`);
    const { events, intentId } = await customer.pays(stripe, '10');
    await deliver(...events);
    const token = await gateway.tollgate.services.accounts.replaceToken(customer.accountId as AccountId);
    const answered = Promise.withResolvers<undefined>();
    backend.script(async () => {
      await answered.promise;
      // Four cents.
      return completion('x', usage(1, 4));
    });
    const calls = backend.calls.length;
    const running = gateway.chat(token, { max_tokens: 985 });
    await backend.called(calls + 1);
    const end = async (): Promise<void> => {
      answered.resolve(undefined);
      const answer = await running;
      await answer.arrayBuffer();
      expect(answer.status).toBe(200);
    };
    return { customer, intentId, token, end };
  }

  async function reversal(id: string) {
    const { items } = await admin.get<AdminReversals>('admin/payments/reversals');
    return items.find((item) => item.id === id);
  }

  /** What a command of an operator prints, each line as JSON. */
  async function tollgate(...words: readonly string[]): Promise<unknown[]> {
    const printed: unknown[] = [];
    const { store, accounts, teams, ledger, clock } = gateway.tollgate.services;
    const context = {
      env: {},
      clock,
      machineUser: 'deploy',
      print: (line: string) => printed.push(JSON.parse(line)),
      withServices: (work: (given: unknown) => Promise<unknown>) =>
        work({ store, accounts, teams, ledger: ledger.ledger }),
    } as unknown as CliContext;
    const code = await runCli([...words, '--json'], context, (line) => printed.push(line));
    expect({ words, code, printed }).toMatchObject({ code: 0 });
    return printed;
  }

  async function verified(): Promise<void> {
    expect((await gateway.verify()).breaches).toEqual([]);
  }

  test('a refund while a request runs is owed and taken when it ends: nothing is lost and nobody is paused', async () => {
    const { customer, intentId, token, end } = await withOpenHold();
    const refund = stripe.refund(intentId, 900);
    await deliver(...refund.events, ...refund.events);
    expect(await reversal(refund.id)).toMatchObject({ takenUsd: '0.15', owedUsd: '8.85', lostUsd: '0.00' });
    expect(await customer.get<Overview>('overview')).toMatchObject({ owedUsd: '8.85', availableUsd: '0.00' });
    const refused = await gateway.chat(token, { max_tokens: 1 });
    expect(refused.status).toBe(402);
    await verified();
    await end();
    await eventually(
      'it is taken',
      async () => (await reversal(refund.id))?.takenUsd === '9.00',
      PATIENCE_MS,
    );
    expect(await reversal(refund.id)).toMatchObject({ owedUsd: '0.00', lostUsd: '0.00' });
    expect(await customer.balance()).toBe(0.96 * USD);
    expect(await customer.get<CardPayments>('payments')).toMatchObject({ pausedBy: null });
    await verified();
  }, 120_000);

  test('what the running request used of a refunded payment is the loss, and no more; then the account is paused', async () => {
    const { customer, intentId, end } = await withOpenHold();
    const refund = stripe.refund(intentId);
    await deliver(...refund.events);
    expect(await customer.get<CardPayments>('payments')).toMatchObject({ pausedBy: null });
    await end();
    await eventually('it is lost', async () => (await reversal(refund.id))?.owedUsd === '0.00', PATIENCE_MS);
    expect(await reversal(refund.id)).toMatchObject({ takenUsd: '9.96', lostUsd: '0.04' });
    expect(await customer.balance()).toBe(0);
    expect(await customer.get<CardPayments>('payments')).toMatchObject({ pausedBy: 'refund' });
    await verified();
  }, 120_000);

  test('a payment while a request runs pays what is owed first', async () => {
    const { customer, intentId, end } = await withOpenHold();
    const refund = stripe.refund(intentId);
    await deliver(...refund.events);
    await deliver(...(await customer.pays(stripe, '10')).events);
    await eventually(
      'it is taken',
      async () => (await reversal(refund.id))?.takenUsd === '10.00',
      PATIENCE_MS,
    );
    expect(await customer.get<Overview>('overview')).toMatchObject({ owedUsd: '0.00', availableUsd: '0.15' });
    await end();
    await eventually('it is charged', async () => (await customer.balance()) === 9.96 * USD, PATIENCE_MS);
    await verified();
  }, 120_000);

  test('a dispute that is won while a request runs leaves nothing owed', async () => {
    const { customer, intentId, end } = await withOpenHold();
    const dispute = stripe.dispute(intentId);
    await deliver(...dispute.events);
    expect(await reversal(dispute.id)).toMatchObject({ takenUsd: '0.15', owedUsd: '9.85' });
    await deliver(...stripe.closeDispute(dispute.id, 'won'), ...dispute.events);
    expect(await customer.get<Overview>('overview')).toMatchObject({ owedUsd: '0.00', availableUsd: '0.15' });
    await end();
    await eventually('it is charged', async () => (await customer.balance()) === 9.96 * USD, PATIENCE_MS);
    await verified();
  }, 120_000);

  test('after a dispute no card is taken until an operator allows it, and both can read that', async () => {
    const customer = await Payer.signUp(gateway, `back${++people}@example.com`);
    const { events, intentId } = await customer.pays(stripe, '10');
    await deliver(...events, ...stripe.dispute(intentId).events);
    const offered = { amountUsd: '10', saveCard: false };
    const pay = async (): Promise<number> =>
      (await customer.send('POST', 'payments/checkout', offered)).status;
    expect(await customer.get<CardPayments>('payments')).toMatchObject({ cardsOff: true, pausedBy: null });
    expect(await pay()).toBe(403);
    const account = `admin/accounts/${customer.accountId}`;
    expect(await admin.get(account)).toMatchObject({ cardsOff: true });
    expect((await customer.send('POST', `${account}/allow-cards`, {})).status).toBe(403);
    expect((await admin.send('POST', `${account}/allow-cards`, {})).status).toBe(200);
    expect(await customer.get<CardPayments>('payments')).toMatchObject({ cardsOff: false });
    expect(await pay()).toBe(200);
  }, 120_000);

  test('a disputed payment that was moved to a team is taken back from the team, and its apps spend it no more', async () => {
    const customer = await Payer.signUp(gateway, `back${++people}@example.com`);
    const { events, intentId } = await customer.pays(stripe, '10');
    await deliver(...events);
    const { teams } = gateway.tollgate.services;
    const person = { id: customer.accountId as AccountId, email: `back${people}@example.com` };
    const options = { moved: nanoUsd(8 * USD), actor: customer.accountId };
    const team = await teams.create(`moved ${people}`, person, options);
    const { token } = await teams.makeApp(team.id, 'spender', {});
    backend.script(() => completion('x', usage(1, 100)));
    expect((await gateway.chat(token, { max_tokens: 100 })).status).toBe(200);
    const dispute = stripe.dispute(intentId);
    await deliver(...dispute.events);
    // A dollar was spent; two were still the payer's own.
    expect(await reversal(dispute.id)).toMatchObject({ takenUsd: '9.00', owedUsd: '0.00', lostUsd: '1.00' });
    expect(await customer.balance()).toBe(0);
    expect((await teams.require(`moved ${people}`)).balance).toBe(0);
    const refused = await gateway.chat(token, { max_tokens: 1 });
    expect([refused.status, await refused.json()]).toMatchObject([402, { error: { scope: 'team' } }]);
    await verified();
  }, 120_000);

  test('whoever is paused for a disputed payment spends no team’s money either, and pays for a team with no card, until an operator lets them', async () => {
    const customer = await Payer.signUp(gateway, `back${++people}@example.com`);
    const { events, intentId } = await customer.pays(stripe, '10');
    await deliver(...events);
    const { teams, accounts } = gateway.tollgate.services;
    const person = { id: customer.accountId as AccountId, email: `back${people}@example.com` };
    const options = { moved: nanoUsd(10 * USD), actor: customer.accountId };
    const team = await teams.create(`paused ${people}`, person, options);
    const member = await teams.membership(customer.accountId);
    const token = await accounts.replaceToken(member?.id as AccountId);
    const app = await teams.makeApp(team.id, 'colleague', {});
    backend.script(({ body }) => completion('x', usage(1, Number(body['max_tokens']))));
    expect((await gateway.chat(token, { max_tokens: 100 })).status).toBe(200);
    await deliver(...stripe.dispute(intentId).events);
    await tollgate('team', 'credit', `paused ${people}`, '5');
    const ask = async (which: string): Promise<number> =>
      (await gateway.chat(which, { max_tokens: 1 })).status;
    // The others of the team go on with what others paid.
    expect([await ask(token), await ask(app.token)]).toEqual([401, 200]);
    const pay = async (): Promise<number> =>
      (await customer.send('POST', 'payments/checkout?wallet=team', { amountUsd: '10', saveCard: false }))
        .status;
    const shown = async () => await customer.get<CardPayments>('payments?wallet=team');
    expect(await shown()).toMatchObject({ canPay: false, cardsOff: true, pausedBy: 'dispute' });
    expect(await pay()).toBe(403);
    const account = `admin/accounts/${customer.accountId}`;
    expect((await admin.send('POST', `${account}/allow-cards`, {})).status).toBe(200);
    expect(await shown()).toMatchObject({ canPay: false, cardsOff: false, pausedBy: 'dispute' });
    expect(await pay()).toBe(403);
    expect((await admin.send('POST', `${account}/enable`, {})).status).toBe(200);
    expect(await ask(token)).toBe(200);
    await verified();
  }, 120_000);

  test('a team that disputes what it has spent is paused with all of its accounts, until an operator lets it go on', async () => {
    const customer = await Payer.signUp(gateway, `back${++people}@example.com`);
    const { teams } = gateway.tollgate.services;
    const person = { id: customer.accountId as AccountId, email: `back${people}@example.com` };
    const team = await teams.create(`disputing ${people}`, person, { actor: customer.accountId });
    const { token } = await teams.makeApp(team.id, 'spender', {});
    const { events, intentId } = await customer.pays(stripe, '10', 'team');
    await deliver(...events);
    backend.script(({ body }) => completion('x', usage(1, Number(body['max_tokens']))));
    expect((await gateway.chat(token, { max_tokens: 100 })).status).toBe(200);
    const dispute = stripe.dispute(intentId);
    await deliver(...dispute.events);
    expect(await reversal(dispute.id)).toMatchObject({ takenUsd: '9.00', lostUsd: '1.00' });
    await tollgate('team', 'credit', `disputing ${people}`, '5');
    const refused = await gateway.chat(token, { max_tokens: 1 });
    expect([refused.status, await refused.json()]).toMatchObject([401, { error: { code: 'invalid_token' } }]);
    expect((await admin.send('POST', `admin/accounts/${team.id}/enable`, {})).status).toBe(200);
    expect((await gateway.chat(token, { max_tokens: 1 })).status).toBe(200);
    await verified();
  }, 120_000);

  test('a command allows cards after a dispute as the console does, and says whether they were off', async () => {
    const email = `back${++people}@example.com`;
    const customer = await Payer.signUp(gateway, email);
    const { events, intentId } = await customer.pays(stripe, '10');
    const [before] = await tollgate('account', 'show', email);
    expect(before).toMatchObject({ cards_off_since: null });
    await deliver(...events, ...stripe.dispute(intentId).events);
    const [disputed] = await tollgate('account', 'show', email);
    expect(disputed).toMatchObject({ cards_off_since: expect.stringMatching(/^\d{4}-\d\d-\d\dT/) });
    expect(await tollgate('account', 'allow-cards', email)).toMatchObject([{ email, was_off: true }]);
    expect(await customer.get<CardPayments>('payments')).toMatchObject({ cardsOff: false });
    const offered = { amountUsd: '10', saveCard: false };
    expect((await customer.send('POST', 'payments/checkout', offered)).status).toBe(200);
    expect(await tollgate('account', 'allow-cards', email)).toMatchObject([{ email, was_off: false }]);
    await verified();
  }, 120_000);

  test('a payment for an account that was removed meanwhile is on the operator’s list and credited to nobody', async () => {
    const customer = await Payer.signUp(gateway, `back${++people}@example.com`);
    const { events } = await customer.pays(stripe, '10');
    const { store, ledger, clock } = gateway.tollgate.services;
    const images = { removeOfAccount: () => Promise.resolve() };
    await removeAccount(
      { store, ledger: ledger.ledger, clock, images },
      { accountId: customer.accountId, actor: 'test' },
    );
    await deliver(...events, ...events);
    expect(await customer.balance()).toBe(0);
    const problems =
      await admin.get<Answer<'GET /api/console/admin/payments/problems'>>('admin/payments/problems');
    const reasons = problems.items.filter(({ accountId }) => accountId === customer.accountId);
    expect(reasons.map(({ reason }) => reason)).toEqual(events.map(() => 'This account was removed.'));
    await verified();
  }, 120_000);
});
