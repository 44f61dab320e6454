import { afterAll, beforeAll, expect, test } from 'bun:test';
import { MailServer, readMail } from '../../src/outbox/testing/mail-server.ts';
import { ScriptedBackend } from '../support/scripted-backend.ts';
import { BrowserEnvironment, follow, settled, type BrowserSession } from './browser-environment.ts';
import { setUpAdmin, signUp } from './user-steps.ts';

/** Mail and webhooks as people use them. The tests build on each other. */
let environment: BrowserEnvironment;
let mailServer: MailServer;
const receiver = new ScriptedBackend();
let admin: BrowserSession;
let user: BrowserSession;
const EMAIL = 'mara@example.com';
const NEW_PASSWORD = 'another gate by the sea';
const PUBLIC_URL = 'https://gate.example.com';

beforeAll(async () => {
  mailServer = await MailServer.start();
  receiver.script(() => new Response(null, { status: 204 }));
  environment = await BrowserEnvironment.open({
    env: {
      TOLLGATE_SMTP_URL: mailServer.config.smtpUrl,
      TOLLGATE_MAIL_FROM: 'gate@example.com',
      TOLLGATE_PUBLIC_URL: PUBLIC_URL,
      TOLLGATE_WEBHOOKS_PRIVATE: 'yes',
    },
  });
  admin = await setUpAdmin(environment);
  user = await signUp(environment, EMAIL);
});
afterAll(async () => {
  await environment.close();
  await mailServer.stop();
  await receiver.stop();
});

/** The path of the link in the newest mail with these words. */
async function linkIn(words: string): Promise<string> {
  for (;;) {
    const mail = mailServer.received.filter(({ to }) => to.includes(EMAIL)).map(readMail);
    const link = /https:\/\/gate\.example\.com(\/\S+)/.exec(
      mail.findLast(({ text }) => text.includes(words))?.text ?? '',
    )?.[1];
    if (link !== undefined) return link;
    await Bun.sleep(20);
  }
}

test('a new user confirms the address with the link in the mail', async () => {
  const { page } = user;
  await follow(page, '/app/settings');
  await page.getByText('This address is not confirmed yet.').waitFor();
  const link = await linkIn('Confirm the address');
  await page.goto(link);
  await page.getByText('Your address is confirmed.').waitFor();
  await page.goto('/app/settings');
  await page.getByText('Confirmed', { exact: true }).waitFor();
});

test('a user who forgot the password sets a new one without the operator', async () => {
  const { page, context, pageErrors } = await environment.newSession();
  await page.goto('/sign-in');
  await page.getByRole('link', { name: 'Forgot your password?' }).click();
  await page.getByLabel('Email').fill(EMAIL);
  await page.getByRole('button', { name: 'Send the link' }).click();
  await page.getByRole('heading', { name: 'Check your email' }).waitFor();
  await page.goto(await linkIn('Set a new password'));
  await page.getByLabel('New password').fill(NEW_PASSWORD);
  await page.getByRole('button', { name: 'Set new password' }).click();
  await page.getByRole('heading', { name: 'Password changed' }).waitFor();
  await page.goto('/sign-in');
  await page.getByLabel('Email').fill(EMAIL);
  await page.getByLabel('Password').fill(NEW_PASSWORD);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.waitForURL('**/app');
  await follow(page, '/app/webhooks');
  await page.getByRole('textbox', { name: 'Address' }).fill('https://127.0.0.1/hook');
  await page.getByRole('button', { name: 'Add a webhook' }).click();
  await page.getByText(/needs a public https address/).waitFor();
  expect(pageErrors).toEqual([]);
  await context.close();
});

test('the operator adds a webhook, tests it and mail, and sees every message', async () => {
  const { page, pageErrors } = admin;
  await follow(page, '/admin/messages');
  await page.getByRole('button', { name: 'Send me a test' }).click();
  await page.getByText('The mail server accepted the test').waitFor();
  await page.getByRole('textbox', { name: 'Address' }).fill(`${receiver.baseUrl}/hook`);
  await page.getByRole('button', { name: 'Add a webhook' }).click();
  const dialog = page.getByRole('dialog', { name: 'Signing secret' });
  expect(await dialog.locator('code').textContent()).toStartWith('whsec_');
  await dialog.getByRole('button', { name: 'Done' }).click();
  await page.getByRole('button', { name: 'Send a test', exact: true }).click();
  await page.getByText(/The test arrived in/).waitFor();
  await page.getByText('Working', { exact: true }).waitFor();
  await page.getByLabel('Send to').selectOption('discord');
  await page
    .getByRole('textbox', { name: 'Address' })
    .fill(`${receiver.baseUrl}/api/webhooks/1/secret-of-a-channel`);
  await page.getByRole('button', { name: 'Add a webhook' }).click();
  await page.getByText('Webhook added.').waitFor();
  receiver.script(() => Response.json({ message: 'Unknown Webhook', code: 10_015 }, { status: 404 }));
  await page.getByRole('button', { name: 'Send a test', exact: true }).last().click();
  await page.getByText('The test failed: answered 404: Unknown Webhook').waitFor();
  await page.getByText(/Failing since/).waitFor();
  expect(await page.content()).not.toContain('secret-of-a-channel');
  await page.getByLabel('Send to').selectOption('telegram');
  await page.getByLabel('Bot token').waitFor();
  await page.reload();
  await settled(page);
  const table = page.getByRole('region', { name: 'Sent and waiting' });
  await table.getByText(`${receiver.baseUrl}/hook`).first().waitFor();
  await table.getByRole('button', { name: /Test/ }).first().click();
  const attempts = page.getByRole('dialog', { name: 'Attempts of this message' });
  await attempts.getByText('Unknown Webhook').waitFor();
  expect([...pageErrors, ...user.pageErrors]).toEqual([]);
});

test('without mail the sign-in page names the operator instead', async () => {
  const other = await BrowserEnvironment.open();
  try {
    await setUpAdmin(other);
    const { page, context } = await other.newSession();
    await page.goto('/sign-in');
    await page.getByText('Forgot your password? Ask your operator for a reset link.').waitFor();
    expect(await page.getByRole('link', { name: 'Forgot your password?' }).count()).toBe(0);
    await context.close();
  } finally {
    await other.close();
  }
});
