import { afterAll, beforeAll, expect, test } from 'bun:test';
import { confirmIfAsked, PASSWORD, setUpAdmin, signUp } from './user-steps.ts';
import { settled, BrowserEnvironment, type BrowserSession } from './browser-environment.ts';

/** From a new server to a user who forgot their password. The tests build on each other. */
let environment: BrowserEnvironment;
let admin: BrowserSession;
let user: BrowserSession;
let link: string;
const EMAIL = 'frida@example.com';
const NEW_PASSWORD = 'another gate by the sea';

beforeAll(async () => {
  environment = await BrowserEnvironment.open();
});

afterAll(async () => {
  await environment.close();
});

test('before there is an administrator, registration is closed and the pages say so', async () => {
  const early = await environment.newSession();
  for (const path of ['/sign-up', '/sign-in', '/']) {
    await early.page.goto(path);
    await early.page.getByRole('heading', { name: 'This server is being set up' }).waitFor();
    await early.page.getByText(/open the one-time setup link/).waitFor();
    expect(await early.page.getByRole('textbox').count()).toBe(0);
  }
  const answer = await early.page.evaluate(
    async (body) => {
      const headers = { 'content-type': 'application/json' };
      const reply = await fetch('/api/auth/sign-up/email', { method: 'POST', headers, body });
      return [reply.status, await reply.text()];
    },
    JSON.stringify({ email: EMAIL, password: PASSWORD }),
  );
  expect(answer).toEqual([403, expect.stringContaining('setup_needed')]);
  await early.context.close();
});

test('afterwards registration is open', async () => {
  admin = await setUpAdmin(environment);
  user = await signUp(environment, EMAIL);
  await user.page.getByRole('button', { name: new RegExp(EMAIL) }).waitFor();
});

test('the sign-in page shows the operator’s contact', async () => {
  const { page } = await environment.newSession();
  await page.goto('/sign-in');
  await page.getByText('Forgot your password? Ask your operator for a reset link.').waitFor();
  await settled(page);
  expect(await page.getByRole('alert').allTextContents()).toEqual([]);
  await admin.page.goto('/admin/settings');
  const field = admin.page.getByLabel('Contact (optional)');
  await field.fill('help@example.com');
  await admin.page.locator('form').filter({ has: field }).getByRole('button', { name: 'Save' }).click();
  await admin.page.getByText('Saved', { exact: true }).waitFor();
  await page.reload();
  const contact = page.getByRole('link', { name: 'help@example.com' });
  expect(await contact.getAttribute('href')).toBe('mailto:help@example.com');
  await page.context().close();
});

test('the operator makes a link in the console', async () => {
  const { page } = admin;
  await page.goto('/admin/accounts');
  await page.getByRole('button', { name: `Account ${EMAIL}` }).click();
  await page.getByRole('button', { name: 'Create a reset link' }).click();
  const dialog = page.getByRole('dialog', { name: 'Password reset link' });
  await confirmIfAsked(page, dialog);
  link = (await dialog.locator('code').textContent()) ?? '';
  expect(link).toStartWith(`${environment.url}/reset-password#`);
  await dialog.getByRole('button', { name: 'Done' }).click();
});

test('the link leads to a new password, and no request or log line holds its token', async () => {
  const { page, pageErrors } = await environment.newSession();
  const token = link.split('#')[1] ?? '';
  const sent: string[] = [];
  page.on('request', (request) => sent.push(request.url(), ...Object.values(request.headers())));
  await page.goto(link);
  await page.getByText(`for ${EMAIL}`).waitFor();
  await page.getByLabel('New password').fill('password123');
  await page.getByRole('button', { name: 'Set new password' }).click();
  await page.getByText(/too easy to guess/).waitFor();
  await page.reload();
  await page.getByLabel('New password').fill(NEW_PASSWORD);
  await page.getByRole('button', { name: 'Set new password' }).click();
  await page.getByRole('heading', { name: 'Password changed' }).waitFor();
  expect(page.url()).toBe(`${environment.url}/reset-password`);
  await page.getByRole('main').getByRole('link', { name: 'Sign in' }).click();
  await page.getByLabel('Email').fill(EMAIL);
  await page.getByLabel('Password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByText('The email address or the password is wrong.').waitFor();
  await page.getByLabel('Password').fill(NEW_PASSWORD);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.waitForURL('**/app');
  expect(sent.filter((text) => text.includes(token))).toEqual([]);
  expect(environment.gateway.log.filter((line) => line.includes(token))).toEqual([]);
  expect(pageErrors).toEqual([]);
  await page.context().close();
});

test('earlier sessions have ended', async () => {
  await user.page.goto('/app/settings');
  await user.page.waitForURL(/\/sign-in/);
});

test('a second use is refused, in either language', async () => {
  for (const [locale, words] of [
    ['en-US', 'This reset link is no longer valid'],
    ['de-DE', 'Dieser Link gilt nicht mehr'],
  ] as const) {
    const { page } = await environment.newSession({ locale });
    await page.goto(link);
    await page.getByRole('heading', { name: words }).waitFor();
    expect(await page.getByRole('textbox').count()).toBe(0);
    await page.getByRole('link', { name: 'help@example.com' }).waitFor();
    await page.context().close();
  }
});

test('two tabs with one link: the later one is told', async () => {
  const { page } = admin;
  await page.getByRole('button', { name: 'Create a reset link' }).click();
  const dialog = page.getByRole('dialog', { name: 'Password reset link' });
  await confirmIfAsked(page, dialog);
  const next = (await dialog.locator('code').textContent()) ?? '';
  const tabs = [await environment.newSession(), await environment.newSession()];
  for (const tab of tabs) {
    await tab.page.goto(next);
    await tab.page.getByLabel('New password').fill(NEW_PASSWORD);
  }
  for (const [n, words] of ['Password changed', 'This reset link is no longer valid'].entries()) {
    const tab = tabs[n];
    await tab?.page.getByRole('button', { name: 'Set new password' }).click();
    await tab?.page.getByRole('heading', { name: words }).waitFor();
  }
  for (const tab of tabs) await tab.context.close();
});

test('the audit log says who made the links, and that they were used', async () => {
  const { page } = admin;
  await page.goto('/admin/audit');
  await settled(page);
  const actions = await page.locator('td [title^="account.reset-link"]').allTextContents();
  expect(actions).toEqual([
    'Link for a new password used',
    'Create a link for a new password',
    'Link for a new password used',
    'Create a link for a new password',
  ]);
  expect([...admin.pageErrors, ...user.pageErrors]).toEqual([]);
});
