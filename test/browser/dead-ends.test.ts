import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Page, Response as PageResponse } from 'playwright-core';
import { follow, settled, BrowserEnvironment, type BrowserSession } from './browser-environment.ts';
import type { AccountId } from '../../src/std/ids.ts';
import { bareModel, ListingServer } from '../import/listing-server.ts';
import { PAGES } from './pages.ts';
import { confirmIfAsked, PASSWORD, signUp } from './user-steps.ts';

/** Where a page cannot go on, it says so, keeps what was typed, and goes on when it can. */
let environment: BrowserEnvironment;
let admin: BrowserSession;
let user: BrowserSession;
const EMAIL = 'nora@example.com';
const CATALOG_PAGES = /\/(?:catalog|prices|backends)/;
const server = new ListingServer([bareModel('llama-3')]);

beforeAll(async () => {
  environment = await BrowserEnvironment.open();
});
afterAll(async () => {
  await environment.close();
  await server.stop();
});

test('a setup that is reloaded at any of its steps goes on where it was', async () => {
  admin = await environment.newSession();
  const { page } = admin;
  const reloaded = async (step: string, done: number): Promise<void> => {
    await page.reload();
    await page.locator('li[aria-current=step] h2').filter({ hasText: step }).waitFor();
    const marks = page.locator('main ol > li').getByLabel('Done');
    // The last of them comes with an answer of its own.
    if (done > 0) await marks.nth(done - 1).waitFor();
    expect(await marks.count()).toBe(done);
  };
  await page.goto(new URL(environment.gateway.tollgate.setupLink ?? '').pathname);
  await reloaded('Create your administrator account', 0);
  await page.getByLabel('Email').fill('keeper@example.com');
  await page.getByLabel('Password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Create administrator' }).click();
  await page.getByText('keeper@example.com').first().waitFor();
  await reloaded('Make a first call', 1);
  await page.getByRole('button', { name: 'Create token' }).click();
  await page.getByTestId('token').waitFor();
  await reloaded('Make a first call', 2);
  await page.getByRole('button', { name: 'Make the first call' }).click();
  await page.getByRole('region', { name: 'Receipt' }).getByText(/^req_/).waitFor();
  await reloaded('Connect a real backend', 3);
  expect(await page.locator('main ol > li').nth(0).textContent()).toContain('keeper@example.com');
  expect(admin.pageErrors).toEqual([]);
});

test('without a connection the shell stays and says so, and the page opens by itself when it is back', async () => {
  user = await signUp(environment, EMAIL);
  const { page, context } = user;
  await settled(page);
  await context.setOffline(true);
  await page.getByRole('link', { name: 'Playground' }).first().click();
  await notice(page).waitFor();
  await page.getByRole('link', { name: 'Usage' }).first().waitFor();
  expect(await page.getByText('This page crashed').count()).toBe(0);
  await context.setOffline(false);
  await page.getByLabel('Message').waitFor();
  await notice(page).waitFor({ state: 'hidden' });
});

/** Pages by the part of the program that they are loaded with, each opened from a page of another part. */
const PAGE_GROUPS = [
  {
    who: () => user,
    from: '/app/settings',
    pages: ['/app/playground?tab=images', '/app/images', '/app/playground'],
  },
  { who: () => user, from: '/app/playground', pages: ['/app/team'] },
  { who: () => user, from: '/app/team', pages: ['/docs'] },
  {
    who: () => user,
    from: '/app/playground',
    pages: PAGES.user.filter((path) => !/playground|images|team/.test(path)),
  },
  { who: () => admin, from: '/app/settings', pages: PAGES.admin.filter((path) => !CATALOG_PAGES.test(path)) },
  { who: () => admin, from: '/app/settings', pages: PAGES.admin.filter((path) => CATALOG_PAGES.test(path)) },
];

test('no page of any group crashes without a connection, and the one that was asked for opens when it is back', async () => {
  for (const { who, from, pages } of PAGE_GROUPS) {
    const { page, context } = who();
    await page.goto(from);
    await settled(page);
    await context.setOffline(true);
    for (const path of pages) {
      await page.evaluate(openInTwoFrames, path);
      await notice(page).waitFor();
      expect([path, await page.getByText('This page crashed').count()]).toEqual([path, 0]);
    }
    await context.setOffline(false);
    await notice(page).waitFor({ state: 'hidden' });
    await settled(page);
    expect([pages.at(-1), await page.getByText(/This page crashed|Something went wrong/).count()]).toEqual([
      pages.at(-1),
      0,
    ]);
  }
  // The browser itself reports a part that it could not fetch.
  const errors = [...user.pageErrors.splice(0), ...admin.pageErrors.splice(0)];
  expect(errors.filter((error) => !error.includes('Failed to fetch dynamically imported module'))).toEqual(
    [],
  );
});

/** Runs in the page: follows a link, and gives what it leads to the time to be shown. */
async function openInTwoFrames(path: string): Promise<void> {
  const frame = (): Promise<unknown> => new Promise((resolve) => requestAnimationFrame(resolve));
  history.pushState(null, '', path);
  await frame();
  await frame();
}

test('a server that is away behind its proxy is waited for like a lost connection', async () => {
  const { page, context } = user;
  await context.route('**/api/**', (route) => route.fulfill({ status: 502, body: 'Bad gateway' }));
  await page.getByRole('link', { name: 'Usage' }).first().click();
  await notice(page).waitFor();
  await context.unroute('**/api/**');
  await page.getByRole('heading', { name: 'Usage', level: 1 }).waitFor();
  await settled(page);
  await notice(page).waitFor({ state: 'hidden' });
  expect(await page.getByText('Something went wrong').count()).toBe(0);
});

test('a change without a connection is not made later by itself, and its form keeps what was typed', async () => {
  const { page, context } = user;
  await follow(page, '/app/settings');
  const threshold = page.getByLabel('Warn below (USD)');
  const save = page.locator('form').filter({ has: threshold }).getByRole('button', { name: 'Save' });
  await threshold.fill('7.25');
  await context.setOffline(true);
  await save.click();
  await page.getByRole('alert').getByText('Your entries are kept').waitFor();
  await context.setOffline(false);
  await notice(page).waitFor({ state: 'hidden' });
  expect(await threshold.inputValue()).toBe('7.25');
  const saved = page.waitForResponse((response) => response.request().method() !== 'GET');
  await save.click();
  expect((await saved).status()).toBe(200);
});

test('a part of the program that an update has removed is fetched by loading the page once, and the text stays', async () => {
  const { page, context } = user;
  await page.goto('/app/settings');
  await settled(page);
  await page.getByLabel('Warn below (USD)').fill('a text half typed');
  // The palette is loaded when it is first opened. The server has another one now, and a page that names it.
  let isOld = true;
  await context.route('**/assets/chunk-*.js', (route) =>
    isOld ? route.fulfill({ status: 404, body: '' }) : route.continue(),
  );
  await context.route('**/app/settings*', (route) => {
    isOld = false;
    return route.continue();
  });
  let loads = 0;
  page.on('load', () => loads++);
  const loaded = page.waitForEvent('load');
  await page.keyboard.press('ControlOrMeta+k');
  await loaded;
  await settled(page);
  expect(await page.getByLabel('Warn below (USD)').inputValue()).toBe('a text half typed');
  await page.keyboard.press('ControlOrMeta+k');
  await page.getByPlaceholder('Page, model or request ID…').waitFor();
  expect(loads).toBe(1);
  await page.keyboard.press('Escape');
  await context.unrouteAll();
});

test('a part that stays missing does not reload the page again and again, and the other pages can be opened', async () => {
  const { page, context } = user;
  const known = new Set<string>();
  page.on('request', (request) => {
    if (loads === undefined) known.add(request.url());
  });
  let loads: number | undefined;
  await page.goto('/app/models');
  await settled(page);
  await context.route('**/assets/chunk-*.js', (route) =>
    known.has(route.request().url()) ? route.continue() : route.fulfill({ status: 404, body: '' }),
  );
  loads = 0;
  page.on('load', () => (loads = (loads ?? 0) + 1));
  await page.getByRole('link', { name: 'Playground' }).first().click();
  await page.getByText('This page crashed').waitFor();
  expect(loads).toBe(1);
  await context.unrouteAll();
  await page.getByRole('link', { name: 'Overview' }).first().click();
  await page.getByRole('heading', { name: 'Three steps to your first request' }).waitFor();
  expect(await page.getByText('This page crashed').count()).toBe(0);
});

test('a session that ended is renewed over the page, and the change that needed it is made', async () => {
  const { page } = admin;
  await page.goto('/admin/settings');
  await settled(page);
  await page.getByLabel('Server name').fill('Nightgate');
  await endSessionsOf('keeper@example.com');
  await page.getByRole('button', { name: 'Save' }).first().click();
  const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
  await dialog.getByLabel('Password').waitFor();
  expect(await dialog.getByLabel('Email').inputValue()).toBe('keeper@example.com');
  await dialog.getByLabel('Password').fill('wrong one');
  await dialog.getByRole('button', { name: 'Sign in', exact: true }).click();
  await dialog.getByRole('alert').waitFor();
  await dialog.getByLabel('Password').fill(PASSWORD);
  const saved = page.waitForResponse(
    (response) => response.request().method() === 'PATCH' && response.url().endsWith('/admin/settings'),
  );
  await dialog.getByRole('button', { name: 'Sign in', exact: true }).click();
  expect((await saved).status()).toBe(200);
  await dialog.waitFor({ state: 'hidden' });
  expect(await page.getByLabel('Server name').inputValue()).toBe('Nightgate');
});

/** Each form that changes something: where it is, and what is typed and pressed in it. */
const FORMS: readonly {
  readonly who: 'user' | 'admin';
  readonly path: string;
  readonly send: (page: Page) => Promise<void>;
}[] = [
  { who: 'user', path: '/app/settings', send: (page) => sendForm(page, { Name: 'Nora' }, 'Save') },
  {
    who: 'user',
    path: '/app/settings',
    send: (page) => sendForm(page, { 'Warn below (USD)': '3' }, 'Save'),
  },
  { who: 'user', path: '/app/billing', send: (page) => sendForm(page, { Code: 'TG-NOT-A-CODE' }, 'Redeem') },
  {
    who: 'user',
    path: '/app/webhooks',
    send: (page) => sendForm(page, { Address: 'https://hooks.example.com/a' }, 'Add a webhook'),
  },
  {
    who: 'user',
    path: '/app/key',
    send: (page) => page.getByRole('button', { name: 'Create token' }).click(),
  },
  {
    who: 'user',
    path: '/app/playground',
    async send(page) {
      await page.getByLabel('Message').fill('hello');
      await page.keyboard.press('Enter');
    },
  },
  {
    who: 'admin',
    path: '/admin/settings',
    send: (page) => sendForm(page, { 'Amount in USD': '0.5' }, 'Save'),
  },
  {
    who: 'admin',
    path: '/admin/settings',
    send: (page) => sendForm(page, { 'Report losses from (USD)': '2' }, 'Save'),
  },
  {
    who: 'admin',
    path: '/admin/accounts',
    async send(page) {
      await page.getByRole('button', { name: 'New account' }).click();
      await sendForm(page, { Email: 'mila@example.com' }, 'Create account');
    },
  },
  {
    who: 'admin',
    path: '/admin/codes',
    async send(page) {
      await page.getByRole('button', { name: 'Create codes' }).first().click();
      await sendForm(page, { 'Amount per code (USD)': '1', 'Number of codes': '1' }, 'Create codes');
    },
  },
  {
    who: 'admin',
    path: '/admin/operators',
    async send(page) {
      await page.getByRole('button', { name: 'Create a token' }).click();
      await sendForm(page, { Name: 'robot', Expires: '2099-01-01' }, 'Create a token');
    },
  },
  {
    who: 'admin',
    path: '/admin/catalog?view=keys',
    send: (page) =>
      sendForm(page, { Name: 'SPARE_API_KEY', Host: 'https://spare.example.com', Value: 'sk-spare' }, 'Save'),
  },
  {
    who: 'admin',
    path: '/admin/catalog?view=edit',
    send: (page) => page.getByRole('button', { name: 'Check and preview' }).click(),
  },
  {
    who: 'admin',
    path: '/admin/ledger',
    send: (page) => page.getByRole('button', { name: 'Check the ledger' }).click(),
  },
  {
    who: 'admin',
    path: '/admin/prices',
    send: (page) => page.getByLabel('Output price of house-guide').first().fill('7'),
  },
];

test('in every form a session that ended is renewed, and what was sent then is done', async () => {
  for (const { page } of [user, admin]) {
    await page.goto('/app');
    await settled(page);
  }
  for (const { who, path, send } of FORMS) {
    const { page } = who === 'user' ? user : admin;
    await follow(page, path);
    const refused = page.waitForResponse((answer) => isChange(answer) && answer.status() === 401);
    await endSessionsOf(who === 'user' ? EMAIL : 'keeper@example.com');
    await send(page);
    const { url } = await refused.then((answer) => ({ url: answer.url() }));
    const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
    await dialog.getByLabel('Password').fill(PASSWORD);
    const done = page.waitForResponse((answer) => isChange(answer) && answer.url() === url);
    await dialog.getByRole('button', { name: 'Sign in', exact: true }).click();
    expect([path, (await done).status()]).not.toEqual([path, 401]);
    await dialog.waitFor({ state: 'hidden' });
  }
});

function isChange(answer: PageResponse): boolean {
  return answer.request().method() !== 'GET' && answer.url().includes('/api/console/');
}

async function sendForm(page: Page, fields: Readonly<Record<string, string>>, button: string): Promise<void> {
  const [first = ''] = Object.keys(fields);
  const form = page.locator('form').filter({ has: page.getByLabel(first, { exact: true }) });
  for (const [label, text] of Object.entries(fields))
    await form.getByLabel(label, { exact: true }).fill(text);
  await form.getByRole('button', { name: button, exact: true }).click();
}

test('opening a page after the session ended asks over it as well, and somebody else who signs in sees nothing of it', async () => {
  const { page } = user;
  await page.goto('/app/settings');
  await settled(page);
  await endSessionsOf(EMAIL);
  await page.getByRole('link', { name: 'Billing' }).first().click();
  const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
  await dialog.getByLabel('Email').fill('keeper@example.com');
  await dialog.getByLabel('Password').fill(PASSWORD);
  const loaded = page.waitForEvent('load');
  await dialog.getByRole('button', { name: 'Sign in', exact: true }).click();
  await loaded;
  await settled(page);
  await page.getByText('keeper@example.com').first().waitFor();
});

test('a wrong key is refused with the provider’s words and not stored, and nothing that was entered is lost, by loading the page again neither', async () => {
  const { page } = admin;
  await page.goto('/admin/backends/new');
  await page.getByLabel('Name').fill('attic');
  await page.getByLabel('Address').fill(server.baseUrl);
  await page.getByRole('button', { name: 'Continue' }).click();
  const key = page.getByLabel('API key of attic');
  await key.waitFor();
  await page.reload();
  await key.fill('sk-wrong');
  await page.getByRole('button', { name: 'Check and store key' }).click();
  const refusal = page
    .getByRole('alert')
    .filter({ hasText: 'does not list its models: status 401: Incorrect API key provided' });
  await confirmIfAsked(page, refusal);
  expect(await refusal.textContent()).not.toContain('..');
  expect(await key.inputValue()).toBe('sk-wrong');
  await page.getByRole('button', { name: 'Change provider' }).click();
  expect(await page.getByLabel('Name').inputValue()).toBe('attic');
  expect(await page.getByLabel('Address').inputValue()).toBe(server.baseUrl);
  await page.getByRole('button', { name: 'Continue' }).click();
  await key.fill(server.key);
  await page.getByRole('button', { name: 'Check and store key' }).click();
  await page.getByRole('button', { name: 'Replace key' }).waitFor();
  await page.reload();
  await page.getByRole('button', { name: 'Replace key' }).waitFor();
});

test('models of another server have no price until one is entered, and are free only if that is said', async () => {
  const { page } = admin;
  const input = page.getByLabel('Input price');
  const list = page.getByRole('button', { name: 'List models' });
  expect(await input.inputValue()).toBe('');
  const asked: string[] = [];
  page.on('request', (request) => {
    if (request.url().endsWith('/backends/preview')) asked.push(request.postData() ?? '');
  });
  await list.click();
  await input.fill('0');
  await page.getByLabel('Output price').fill('0');
  await list.click();
  await page.getByText('To charge nothing, select').waitFor();
  expect(asked).toEqual([]);
  await page.getByLabel('Offer these models for free').check();
  await list.click();
  await page.getByLabel('Select llama-3').waitFor();
  expect(asked).toHaveLength(1);
  expect(asked[0]).toContain('"ownPrice":"free"');
  expect(admin.pageErrors).toEqual([]);
});

test('without money the playground says what is missing and where to add it, and offers no other model', async () => {
  const poor = await signUp(environment, 'ivo@example.com');
  const { page } = poor;
  await page.goto('/app/playground');
  await page.getByLabel('Message').fill('hello');
  await page.keyboard.press('Enter');
  const alert = page.getByRole('main').getByRole('alert');
  await alert.getByText(/Available: \$0\.00\. Required for this request: \$0\.\d+/).waitFor();
  expect(await alert.getByRole('link', { name: 'Add funds' }).getAttribute('href')).toBe('/app/billing');
  expect(await page.getByRole('button', { name: /^Try on/ }).count()).toBe(0);
  await poor.context.close();
});

test('beyond the rate the playground counts the seconds down and then asks again on a click', async () => {
  const { page } = admin;
  const { accounts } = environment.gateway.tollgate.services;
  const id = await accountIdOf('keeper@example.com');
  await accounts.setLimits(id, { chatPerMinute: 1 });
  await page.goto('/app/playground');
  const say = async (text: string): Promise<void> => {
    await page.getByLabel('Message').fill(text);
    await page.keyboard.press('Enter');
  };
  await say('one');
  await page.getByText(/first token/).waitFor();
  // Until the answer has ended, nothing else is sent.
  await page.getByRole('button', { name: 'Regenerate' }).waitFor();
  await say('two');
  const alert = page.getByRole('main').getByRole('alert');
  await alert.getByText(/^Try again in \d+ seconds?\.$/).waitFor();
  const retry = alert.getByRole('button', { name: 'Try again' });
  expect(await retry.isDisabled()).toBe(true);
  expect(await page.getByRole('button', { name: /^Try on/ }).count()).toBe(0);
  await accounts.setLimits(id, { chatPerMinute: 1_000_000 });
  await page.clock.install();
  await page.clock.fastForward(61_000);
  await retry.click();
  await page
    .getByText(/first token/)
    .nth(1)
    .waitFor();
});

function notice(page: Page) {
  return page.getByText('Can’t reach the server. Trying again…');
}

async function endSessionsOf(email: string): Promise<void> {
  const { store } = environment.gateway.tollgate.services;
  await store.db
    .deleteFrom('auth_session')
    .where('userId', '=', await accountIdOf(email))
    .execute();
}

async function accountIdOf(email: string): Promise<AccountId> {
  const { store } = environment.gateway.tollgate.services;
  const { id } = await store.db
    .selectFrom('account')
    .select('id')
    .where('email', '=', email)
    .executeTakeFirstOrThrow();
  return id as AccountId;
}
