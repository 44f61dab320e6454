import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { AccountId } from '../../src/std/ids.ts';
import { setUpAdmin, signUp } from './user-steps.ts';
import { settled, BrowserEnvironment, type BrowserSession } from './browser-environment.ts';

/** What a new customer sees first, on a real server in a real browser. */
let environment: BrowserEnvironment;
let customer: BrowserSession;
const EMAIL = 'new@example.com';
const ALARM = '.barrier, .bg-bad-soft, .bg-warn-soft';

beforeAll(async () => {
  environment = await BrowserEnvironment.open();
  await setUpAdmin(environment);
  customer = await signUp(environment, EMAIL);
});

afterAll(async () => {
  await environment.close();
});

const steps = (session: BrowserSession) => session.page.getByRole('main').locator('ol > li');

async function post(amount: number): Promise<void> {
  const { store, ledger } = environment.gateway.tollgate.services;
  const { id } = await store.db
    .selectFrom('account')
    .select('id')
    .where('email', '=', EMAIL)
    .executeTakeFirstOrThrow();
  const entry = { kind: 'adjustment', amount, cause: 'test', actor: 'test' } as const;
  await ledger.ledger.post({ accountId: id as AccountId, ...entry });
}

async function reload({ page }: BrowserSession): Promise<void> {
  await page.goto('/app');
  await settled(page);
}

test('a new customer is shown the steps to the first request, and no alarm', async () => {
  const { page } = customer;
  await page.getByRole('heading', { name: 'Three steps to your first request' }).waitFor();
  await settled(page);
  expect(await steps(customer).getByRole('link').count()).toBe(3);
  expect(await steps(customer).nth(0).textContent()).toContain('Add balance to make your first request');
  expect(await steps(customer).nth(0).getAttribute('aria-current')).toBe('step');
  expect(await steps(customer).nth(1).textContent()).toContain('Create your API token');
  expect(await steps(customer).nth(2).textContent()).toContain('Make your first call');
  expect(await page.locator(ALARM).count()).toBe(0);
  for (const path of ['/app/billing', '/app/quickstart', '/app/playground']) {
    await page.goto(path);
    await settled(page);
    expect({ path, alarms: await page.locator(ALARM).count() }).toEqual({ path, alarms: 0 });
  }
});

test('the same in German', async () => {
  const state = await customer.context.storageState();
  const german = await environment.newSession({ locale: 'de-DE', storageState: state });
  await german.page.goto('/app');
  await german.page.getByRole('heading', { name: 'Drei Schritte zur ersten Anfrage' }).waitFor();
  expect(await steps(german).nth(0).textContent()).toContain('Guthaben für die erste Anfrage hinzufügen');
  expect(await german.page.locator(ALARM).count()).toBe(0);
  expect(german.pageErrors).toEqual([]);
  await german.context.close();
});

test('a balance ticks the first step while the page is open, and leads to the token', async () => {
  await reload(customer);
  await post(1_000_000);
  await steps(customer).nth(0).getByLabel('Done').waitFor();
  expect(await steps(customer).nth(1).getAttribute('aria-current')).toBe('step');
  expect(await customer.page.locator(ALARM).count()).toBe(0);
});

test('an account without balance is told so clearly', async () => {
  await post(-1_000_000);
  await reload(customer);
  const notice = customer.page.getByRole('status').filter({ hasText: 'Your balance is empty.' });
  await notice.getByRole('link', { name: 'Top up' }).waitFor();
  expect(await customer.page.locator('.bg-bad-soft').count()).toBe(1);
  expect(customer.pageErrors).toEqual([]);
});

test('the playground suggests what the guide can answer, a click asks it, and the last step is ticked', async () => {
  await post(1_000_000_000);
  const { page } = customer;
  const overview = await customer.context.newPage();
  await overview.goto('/app');
  const lastStep = overview.getByRole('main').locator('ol > li').nth(2);
  await lastStep.waitFor();
  await page.goto('/app/playground');
  const suggestions = page.getByRole('list', { name: 'Suggested questions' });
  await suggestions.waitFor();
  expect(await suggestions.getByRole('button').count()).toBe(10);
  await suggestions.getByRole('button', { name: 'What are the rate limits?' }).click();
  await page.getByRole('cell', { name: 'chat requests per minute' }).waitFor();
  await lastStep.getByLabel('Done').waitFor();
  expect(customer.pageErrors).toEqual([]);
});
