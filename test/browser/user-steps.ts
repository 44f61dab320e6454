import { expect } from 'bun:test';
import type { Locator, Page } from 'playwright-core';
import type { BrowserEnvironment, BrowserSession } from './browser-environment.ts';

export const PASSWORD = 'a quiet gate at dawn';

/** The first administrator, through the pages of the first run, up to the console. */
export async function setUpAdmin(
  environment: BrowserEnvironment,
  email = 'keeper@example.com',
): Promise<BrowserSession> {
  const session = await environment.newSession();
  const { page } = session;
  const link = environment.gateway.tollgate.setupLink;
  if (!link) throw new Error('this server was set up already');
  await page.goto(new URL(link).pathname);
  await page.getByLabel('Email').fill(email);
  await page.getByLabel('Password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Create administrator' }).click();
  // The account is there; a catalog without a chat model has no first call.
  await page.getByText(email).first().waitFor();
  return session;
}

export async function signUp(environment: BrowserEnvironment, email: string): Promise<BrowserSession> {
  const session = await environment.newSession();
  const { page } = session;
  await page.goto('/sign-up');
  await page.getByLabel('Email').fill(email);
  await page.getByLabel('Password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Create account' }).click();
  await page.waitForURL('**/app');
  return session;
}

/** Puts dollars on an account the way an admin does it: search, open, credit, in the slide-over. */
export async function creditAs(admin: Page, email: string, dollars: string): Promise<void> {
  await admin.goto('/admin/accounts');
  await admin.getByRole('searchbox').fill(email);
  await admin.getByRole('button', { name: `Account ${email}` }).click();
  const sheet = admin.getByRole('dialog');
  await sheet.getByLabel('Amount in USD').fill(dollars);
  await sheet.getByLabel('Reason').fill('paid in cash');
  await sheet.getByRole('button', { name: 'Credit', exact: true }).last().click();
  await confirmIfAsked(admin, admin.getByText(/^Done\. New balance/));
}

/** Sensitive actions may ask for the password first; after signing in a moment ago they do not. */
export async function confirmIfAsked(page: Page, outcome: Locator): Promise<void> {
  const dialog = page.getByRole('dialog', { name: 'Confirm it’s you' });
  await dialog.or(outcome).first().waitFor();
  if (!(await dialog.isVisible())) return;
  await dialog.getByLabel('Password').fill(PASSWORD);
  await dialog.getByRole('button', { name: 'Confirm' }).click();
  await outcome.waitFor();
}

/** Creates or replaces the token on its page and returns what was shown, once. */
export async function takeToken(page: Page): Promise<string> {
  const dialog = page.getByRole('dialog', { name: 'Your new token' });
  await confirmIfAsked(page, dialog);
  const token = (await dialog.getByTestId('token').textContent()) ?? '';
  expect(token).toMatch(/^sk-\w{40,}$/);
  expect(await dialog.getByRole('button', { name: 'Done' }).isDisabled()).toBe(true);
  await dialog.getByLabel('I have saved it in a safe place').check();
  await dialog.getByRole('button', { name: 'Done' }).click();
  return token;
}
