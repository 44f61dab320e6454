import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { CDPSession, Page } from 'playwright-core';
import { PASSWORD, setUpAdmin, signUp } from './user-steps.ts';
import { follow, settled, BrowserEnvironment, type BrowserSession } from './browser-environment.ts';

/** A passkey from creation to removal, with the browser's virtual authenticator. */
let environment: BrowserEnvironment;
let user: BrowserSession;
const EMAIL = 'pia@example.com';

beforeAll(async () => {
  environment = await BrowserEnvironment.open();
  await (await setUpAdmin(environment)).context.close();
  user = await signUp(environment, EMAIL);
});

afterAll(async () => {
  await environment.close();
});

test('a passkey is added with a name and listed', async () => {
  const { page } = user;
  await withAuthenticator(page);
  await follow(page, '/app/settings');
  await page.getByRole('button', { name: 'Add a passkey' }).click();
  await page.getByLabel('Passkey name').fill('Work laptop');
  await page.getByRole('button', { name: 'Create passkey' }).click();
  await page.getByText('Passkey added').waitFor();
  await page.getByText('Work laptop').waitFor();
  await page.getByText(/never used/).waitFor();
});

test('the same device is not added twice', async () => {
  const { page } = user;
  await page.getByRole('button', { name: 'Add a passkey' }).click();
  await page.getByLabel('Passkey name').fill('Again');
  await page.getByRole('button', { name: 'Create passkey' }).click();
  await page.getByText('This device already has a passkey for your account.').waitFor();
  await page.keyboard.press('Escape');
});

test('it is renamed', async () => {
  const { page } = user;
  await page.getByRole('button', { name: 'Rename Work laptop' }).click();
  await page.getByLabel('Passkey name').fill('Old laptop');
  await page.getByRole('button', { name: 'Save' }).last().click();
  await page.getByText('Old laptop').waitFor();
});

test('it signs in again without email or password', async () => {
  const { page } = user;
  await signOut(page);
  await touch(true);
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
  await page.waitForURL('**/app');
  await follow(page, '/app/settings');
  await page.getByText(/used now/).waitFor();
});

test('it is offered in the email field, without the button', async () => {
  const { page } = user;
  await signOut(page);
  await touch(true);
  await page.reload();
  await page.waitForURL('**/app');
});

test('a device that does not recognise its owner signs nobody in', async () => {
  const { page } = user;
  await signOut(page);
  await authenticator.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: false });
  await touch(true);
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
  await page.getByText(/Signing in with a passkey was cancelled/).waitFor();
  expect(page.url()).toContain('/sign-in');
  await authenticator.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: true });
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
  await page.waitForURL('**/app');
});

test('removed, it is refused', async () => {
  const { page } = user;
  await follow(page, '/app/settings');
  await page.getByRole('button', { name: 'Remove Old laptop' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
  await page.getByText('Passkey removed').waitFor();
  expect(await page.getByText('Old laptop').count()).toBe(0);
  await signOut(page);
  await touch(true);
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
  await page.getByText('This passkey opens nothing here.').waitFor();
  await page.getByLabel('Email').fill(EMAIL);
  await page.getByLabel('Password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.waitForURL('**/app');
});

test('on an IP address instead of a host name, the console says why there are none', async () => {
  const { page, context } = await environment.newSession({ baseURL: environment.gateway.url });
  await page.goto('/sign-in');
  await settled(page);
  expect(await page.getByRole('button', { name: 'Sign in with a passkey' }).count()).toBe(0);
  await page.getByLabel('Email').fill(EMAIL);
  await page.getByLabel('Password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.waitForURL('**/app');
  await page.goto('/app/settings');
  await page.getByText(/Passkeys need a host name/).waitFor();
  await context.close();
});

test('no page has reported an error', () => {
  expect(user.pageErrors).toEqual([]);
});

let authenticator: CDPSession;
let authenticatorId: string;

async function withAuthenticator(page: Page): Promise<void> {
  await page.addInitScript(() => {
    const get = navigator.credentials.get.bind(navigator.credentials);
    navigator.credentials.get = async (options) => {
      document.documentElement.dataset['asked'] = options?.mediation ?? 'by button';
      return await get(options);
    };
  });
  authenticator = await page.context().newCDPSession(page);
  await authenticator.send('WebAuthn.enable');
  const options = {
    protocol: 'ctap2',
    transport: 'internal',
    hasResidentKey: true,
    hasUserVerification: true,
    isUserVerified: true,
    automaticPresenceSimulation: true,
  } as const;
  ({ authenticatorId } = await authenticator.send('WebAuthn.addVirtualAuthenticator', { options }));
}

/** Whether the user touches the device on future requests; a pending request stays pending. */
async function touch(enabled: boolean): Promise<void> {
  await authenticator.send('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId, enabled });
}

async function signOut(page: Page): Promise<void> {
  await touch(false);
  await page.getByRole('button', { name: new RegExp(EMAIL) }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await page.waitForURL('**/sign-in');
  await page.locator('html[data-asked=conditional]').waitFor();
}
