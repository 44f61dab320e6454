import { rmSync } from 'node:fs';
import { preparedDataFolder } from '../support/prepared-folder.ts';
import { openLedger } from '../../src/ledger/open-ledger.ts';
import type { Ledger } from '../../src/ledger/port.ts';
import { LEDGER_SQL } from '../../src/ledger/postgres/functions.ts';
import { Payments } from '../../src/payments/payments.ts';
import { StripeProvider } from '../../src/payments/stripe/stripe-provider.ts';
import type { AccountId } from '../../src/std/ids.ts';
import { systemRandom } from '../../src/std/ids.ts';
import { makeLog } from '../../src/std/log.ts';
import { nanoUsd } from '../../src/std/money.ts';
import { openStore, type Store } from '../../src/store/store.ts';
import { tablesOf } from '../support/dump.ts';
import { UsedSecrets } from '../support/leaks.ts';
import { testPostgres } from '../support/postgres.ts';
import { STRIPE_KEY } from './stripe-rules.ts';
import { StripeStandIn, WEBHOOK_SECRET } from './stripe-stand-in.ts';
import type { EventObject } from './stripe-objects.ts';

export const USD = 1_000_000_000;

export const STORES = [
  ['SQLite', () => Promise.resolve(undefined)],
  ['Postgres', async () => (await testPostgres()).freshDatabase()],
] as const;

/** Payments on a real store and ledger, with the stand-in of Stripe over real HTTP, and a clock that the test moves. */
export interface PaymentHarness {
  readonly store: Store;
  readonly ledger: Ledger;
  readonly stripe: StripeStandIn;
  readonly payments: Payments;
  /** Another node on the same store. */
  anotherNode(): Payments;
  advance(ms: number): void;
  /** An account with dollars on it. */
  account(usd: number): Promise<AccountId>;
  balance(accountId: string): Promise<number>;
  /** As if Stripe had sent them. */
  receive(...events: readonly EventObject[]): Promise<void>;
  close(): Promise<void>;
}

export async function paymentHarness(database: () => Promise<string | undefined>): Promise<PaymentHarness> {
  const dataDir = await preparedDataFolder('tollgate-payments-');
  let ahead = 0;
  let accounts = 0;
  const clock = { now: () => Date.now() + ahead };
  const lines: string[] = [];
  const log = makeLog((line) => lines.push(line));
  const databaseUrl = await database();
  const store = await openStore({ dataDir, databaseUrl, log, clock, ledgerSql: LEDGER_SQL });
  const { ledger, close } = openLedger(store, { node: 'test', clock, log, deadlineMs: 120_000 });
  const stripe = new StripeStandIn();
  const keys = { secretKey: STRIPE_KEY, webhookSecret: WEBHOOK_SECRET, address: stripe.url };
  const provider = new StripeProvider({ ...keys, now: clock.now });
  const open = (): Payments => new Payments({ store, ledger, provider, clock, random: systemRandom, log });
  const payments = open();
  return {
    store,
    ledger,
    stripe,
    payments,
    anotherNode: open,
    advance(ms) {
      ahead += ms;
      stripe.clock += Math.floor(ms / 1000);
    },
    async account(usd) {
      const accountId = `acc_payer${++accounts}` as AccountId;
      const email = `${accountId}@example.com`;
      await store.db.insertInto('account').values({ id: accountId, email, created_at: 1 }).execute();
      if (usd > 0)
        await ledger.post({ accountId, kind: 'credit', amount: usd * USD, cause: 'test', actor: 'test' });
      return accountId;
    },
    async balance(accountId) {
      const query = store.db.selectFrom('account').select('balance').where('id', '=', accountId);
      return (await query.executeTakeFirstOrThrow()).balance;
    },
    async receive(...events) {
      for (const event of events) await payments.receive(...(await stripe.signed(event, clock.now())));
    },
    async close() {
      await close();
      await store.close();
      await stripe.stop();
      const tables = await tablesOf(dataDir, databaseUrl);
      rmSync(dataDir, { recursive: true, force: true });
      const secrets = new UsedSecrets({ STRIPE_KEY, WEBHOOK_SECRET });
      secrets.requireNone({ url: '', log: lines.join('\n'), metrics: '', tables });
    },
  };
}

export function pageFor(accountId: AccountId) {
  return {
    accountId,
    title: 'Credit',
    returnUrl: 'https://gate.test/app/billing',
    cancelUrl: 'https://gate.test/app/billing',
  };
}

/** An account with a saved card and an automatic top-up of `amount` dollars below a threshold. */
export async function withAutomatic(
  { payments, stripe, account, receive }: PaymentHarness,
  rule: {
    readonly balance: number;
    readonly threshold: number;
    readonly amount: number;
    readonly monthlyMax: number;
  },
): Promise<AccountId> {
  const accountId = await account(rule.balance);
  const { url } = await payments.beginCard(pageFor(accountId));
  await receive(...stripe.pay(url.split('/').at(-1) ?? ''));
  await payments.setAutomatic(accountId, {
    threshold: nanoUsd(rule.threshold * USD),
    amount: nanoUsd(rule.amount * USD),
    monthlyMax: nanoUsd(rule.monthlyMax * USD),
  });
  return accountId;
}
