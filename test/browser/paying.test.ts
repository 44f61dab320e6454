import { afterAll, beforeAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import type { AccountId } from '../../src/std/ids.ts';
import { MailServer, readMail } from '../../src/outbox/testing/mail-server.ts';
import { CARD_CODE, CARDS, CheckoutPage, leadTo } from '../payments/checkout-page.ts';
import { CARD_CANARIES } from '../payments/stripe-objects.ts';
import { STRIPE_KEY } from '../payments/stripe-rules.ts';
import { POOR_CARD, StripeStandIn, WEBHOOK_SECRET } from '../payments/stripe-stand-in.ts';
import { tablesOf } from '../support/dump.ts';
import { catalogFor } from '../support/gateway.ts';
import { completion, ScriptedBackend, usage } from '../support/scripted-backend.ts';
import { BrowserEnvironment, follow, settled, type BrowserSession } from './browser-environment.ts';
import { PASSWORD, setUpAdmin, signUp, takeToken } from './user-steps.ts';

/** Paying as a customer does it, with the card entered on Stripe's page. The tests build on each other. */
const EMAIL = 'payer@example.com';
const PUBLIC_URL = 'https://gate.example.com';
const MAIL_PASSWORD = 'smtp-password-canary';
const backend = new ScriptedBackend();
const stripe = new StripeStandIn();
let mailServer: MailServer;
let environment: BrowserEnvironment;
let admin: BrowserSession;
let user: BrowserSession;
let token = '';

beforeAll(async () => {
  mailServer = await MailServer.start({ password: MAIL_PASSWORD });
  const smtp = new URL(mailServer.config.smtpUrl);
  smtp.username = 'gate';
  smtp.password = MAIL_PASSWORD;
  environment = await BrowserEnvironment.open({
    // A cent for each token of output.
    yaml: catalogFor([backend.baseUrl], { prices: 'input: 0, output: 10000' }),
    env: {
      ...stripe.env,
      TOLLGATE_SMTP_URL: smtp.href,
      TOLLGATE_MAIL_FROM: 'gate@example.com',
      TOLLGATE_PUBLIC_URL: PUBLIC_URL,
    },
  });
  backend.script(() => completion('x', usage(1, 50)));
  admin = await setUpAdmin(environment);
  user = await signUp(environment, EMAIL);
  await new CheckoutPage(stripe, () => environment.gateway.url).serveTo(user.context);
  await user.context.route(`${PUBLIC_URL}/**`, async (route) => {
    const { pathname, search } = new URL(route.request().url());
    await leadTo(route, `${environment.url}${pathname}${search}`);
  });
});
afterAll(async () => {
  await environment.close();
  await mailServer.stop();
  await backend.stop();
  await stripe.stop();
});

async function enterCard(page: Page, number: string): Promise<void> {
  await page.getByRole('heading', { name: 'Pay with card' }).waitFor();
  await page.getByLabel('Card number').fill(number);
  await page.getByLabel('Security code').fill(CARD_CODE);
  await page.getByRole('button', { name: 'Pay' }).click();
}

async function chat(): Promise<number> {
  const answer = await environment.gateway.chat(token, { max_tokens: 50 });
  await answer.arrayBuffer();
  return answer.status;
}

async function deliver(events: Parameters<StripeStandIn['deliver']>[1][]): Promise<void> {
  for (const event of events) expect((await stripe.deliver(environment.gateway.url, event)).status).toBe(200);
}

/** Until a mail with these words has come. */
async function mailed(words: string): Promise<void> {
  const has = () =>
    mailServer.received.some((mail) => mail.to.includes(EMAIL) && readMail(mail).text.includes(words));
  while (!has()) await Bun.sleep(20);
}

test('a customer pays by card on Stripe’s page, sees the balance, and gets a receipt by mail', async () => {
  const { page } = user;
  await follow(page, '/app/billing');
  await page.getByLabel('Save this card for automatic top-ups').check();
  await page.getByRole('button', { name: 'Pay $10.00' }).click();
  await enterCard(page, CARDS.poor);
  await page.getByText('Your card has insufficient funds').waitFor();
  await enterCard(page, CARDS.good);
  await page.waitForURL('**/app/billing?payment=*');
  await page.getByText('Thank you. The balance rises').waitFor();
  await settled(page);
  await page.getByText('A card is saved at Stripe.').waitFor();
  const history = page.getByRole('region', { name: 'Payments by card' });
  await history.getByText('Paid', { exact: true }).waitFor();
  await mailed('$10.00');
  expect(user.pageErrors).toEqual([]);
});

test('the saved card is charged while requests run, and none of them is refused', async () => {
  const { page } = user;
  await page.getByLabel('When the balance falls below').fill('2');
  await page.getByLabel('Top up by').selectOption('25.00');
  await page.getByLabel('Monthly maximum (UTC)').fill('60');
  await page.getByRole('button', { name: 'Turn on' }).click();
  await page.getByText('On. $0.00 of $60.00 used this month.').waitFor();
  await follow(page, '/app/key');
  await page.getByRole('button', { name: 'Create token' }).click();
  token = await takeToken(page);
  const answers = await Promise.all(Array.from({ length: 40 }, chat));
  expect(answers).toEqual(answers.map(() => 200));
  expect(stripe.charged).toHaveLength(1);
  await page.goto('/app/billing');
  await page.getByText('On. $25.00 of $60.00 used this month.').waitFor();
  await page.getByText('Automatic top-up', { exact: true }).nth(1).waitFor();
  await mailed('$25.00');
});

test('a card that fails turns the automatic top-up off and says why, on the page and by mail', async () => {
  const { db } = environment.gateway.tollgate.services.store;
  await db.updateTable('top_up').set({ method_id: POOR_CARD, threshold: 100_000_000_000 }).execute();
  const { page } = user;
  while ((await db.selectFrom('top_up').select('enabled').executeTakeFirstOrThrow()).enabled === 1)
    await Bun.sleep(20);
  await page.reload();
  const why = 'Turned off because the last payment failed: there is not enough money on the card.';
  await page.getByText(why).waitFor();
  await mailed('there is not enough money on the card');
});

test('a refund takes what is there; a dispute of what was spent pauses the account, and both sides can read why', async () => {
  const { page } = user;
  const [byHand = '', automatic = ''] = await intents();
  await deliver(stripe.refund(byHand, 300).events);
  await page.goto('/app/billing');
  await page.getByText('$3.00 returned').waitFor();
  expect(await chat()).toBe(200);
  await deliver(stripe.dispute(automatic).events);
  await page.reload();
  await page.getByRole('alert').getByText('This account is paused because a disputed payment').waitFor();
  expect(await chat()).toBe(401);
  const operator = admin.page;
  await follow(operator, '/admin/payments?show=reversals');
  const reversals = operator.getByRole('region', { name: 'Refunds and disputes' });
  await reversals.getByText('Refund', { exact: true }).waitFor();
  await reversals.getByText('Dispute', { exact: true }).waitFor();
  await reversals.getByText(EMAIL).first().waitFor();
  expect((await environment.gateway.verify()).breaches).toEqual([]);
  expect([...admin.pageErrors, ...user.pageErrors]).toEqual([]);
});

/** In the order in which they were paid. */
async function intents(): Promise<string[]> {
  const { db } = environment.gateway.tollgate.services.store;
  const rows = await db
    .selectFrom('payment')
    .select('intent_id')
    .where('state', '=', 'paid')
    .orderBy('created_at')
    .execute();
  return rows.flatMap(({ intent_id }) => intent_id ?? []);
}

test('after all this no log line, table, waiting message or mail has a secret, a token or a card datum', async () => {
  const { services } = environment.gateway.tollgate;
  // One that still waits, as the others did.
  await services.accounts.replaceToken((await customerId()) as AccountId);
  const tables = await tablesOf(join(environment.gateway.folder, 'data'), undefined);
  expect([...tables.keys()]).toContain('outbox');
  expect(tables.get('account')).toContain(EMAIL);
  const mails = mailServer.received.map((mail) => {
    const { headers, text, html } = readMail(mail);
    return [headers, text, html, mail.raw].join('\n');
  });
  expect(mails.length).toBeGreaterThan(3);
  const cookies = [...(await user.context.cookies()), ...(await admin.context.cookies())];
  const secrets: [string, string][] = [
    ['Stripe’s key', STRIPE_KEY],
    ['the secret of Stripe’s webhook', WEBHOOK_SECRET],
    ['the password of the mail server', MAIL_PASSWORD],
    ['a password', PASSWORD],
    ['a token', token],
    ...Object.entries(CARDS),
    ...CARD_CANARIES.map((canary) => ['a card datum', canary] as [string, string]),
    ...cookies
      .filter(({ value }) => value.length > 20)
      .map(({ name, value }) => [name, decodeURIComponent(value)] as [string, string]),
  ];
  expect(cookies.length).toBeGreaterThan(1);
  const places: [string, string][] = [
    ['the log', environment.gateway.log.join('\n')],
    ...[...tables].map(([name, text]) => [`the table ${name}`, text] as [string, string]),
    ...mails.map((mail, index) => [`mail ${index + 1}`, mail] as [string, string]),
  ];
  const found = places.flatMap(([place, text]) =>
    secrets.filter(([, secret]) => text.includes(secret)).map(([name]) => `${name} in ${place}`),
  );
  expect(found).toEqual([]);
});

async function customerId(): Promise<string> {
  const { db } = environment.gateway.tollgate.services.store;
  const row = await db
    .selectFrom('account')
    .select('id')
    .where('email', '=', EMAIL)
    .executeTakeFirstOrThrow();
  return row.id;
}
