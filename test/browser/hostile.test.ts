import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { CORPUS } from './hostile-corpus.ts';
import { PAGES } from './pages.ts';
import { confirmIfAsked, creditAs, setUpAdmin, signUp, takeToken } from './user-steps.ts';
import { follow, settled, BrowserEnvironment, type BrowserSession } from './browser-environment.ts';

/** Whatever people, programs and models write is shown as text: nothing in it runs, on any page that shows it. */
let environment: BrowserEnvironment;
let admin: BrowserSession;
let user: BrowserSession;
let token: string;
const EMAIL = 'mallory@example.com';

beforeAll(async () => {
  environment = await BrowserEnvironment.open();
  admin = await setUpAdmin(environment);
  user = await signUp(environment, EMAIL);
  await creditAs(admin.page, EMAIL, '50');
  await follow(user.page, '/app/key');
  await user.page.getByRole('button', { name: 'Create token' }).click();
  token = await takeToken(user.page);
  await Promise.all([alarm(admin.page), alarm(user.page)]);
});

afterAll(async () => {
  await environment.close();
});

test('a model that answers with every attack of the corpus runs none of them', async () => {
  const { page } = user;
  await follow(page, '/app/playground');
  await page.getByLabel('Model').selectOption({ value: 'svc_chat house-echo' });
  // The echo model answers with the question: all of it goes through the Markdown of an answer.
  for (const part of chunks(CORPUS, 60)) {
    await page.getByLabel('Message').fill(part.join('\n\n'));
    await page.keyboard.press('Enter');
    await page
      .getByText(/first token/)
      .last()
      .waitFor();
    await page.getByRole('button', { name: 'New chat' }).click();
  }
  await nothingRan();
});

test('attacks in names, causes, user agents, prompts and batches run on no page', async () => {
  await writeEverywhere();
  await Promise.all([
    visitAll(user.page, ['/app', ...PAGES.user]),
    visitAll(admin.page, ['/admin', ...PAGES.admin]),
  ]);
  await follow(admin.page, '/admin/accounts');
  await admin.page.getByRole('button', { name: `Account ${EMAIL}` }).click();
  await admin.page.getByRole('heading', { name: 'Latest entries' }).waitFor();
  await follow(admin.page, '/admin/requests');
  await admin.page
    .getByRole('button', { name: /^Receipt of/ })
    .first()
    .click();
  await admin.page.getByText('Total', { exact: true }).waitFor();
  await follow(user.page, '/app/images');
  await user.page
    .getByRole('button', { name: /^Open:/ })
    .first()
    .click();
  await user.page.getByRole('link', { name: 'Download' }).waitFor();
  await nothingRan();
});

test('attacks in the address run on no page', async () => {
  const { page } = user;
  const attacks = CORPUS.slice(0, 40);
  for (const part of chunks(attacks, 10)) {
    const all = encodeURIComponent(part.join(' '));
    await load(page, `/app/requests?model=${all}&endpoint=${all}&id=${all}`);
  }
  // Also one by one, so that no other attack can interfere; a link is enough for that.
  for (const payload of attacks.map(encodeURIComponent))
    await follow(page, `/app/requests?model=${payload}&endpoint=${payload}&id=${payload}`);
  const [first, second, third, fourth] = chunks(attacks, 10).map((part) =>
    encodeURIComponent(part.join(' ')),
  );
  await load(page, `/app/models/${first}/${second}`);
  await load(page, `/docs/${second}`);
  await load(page, `/docs/errors/${third}`);
  await load(page, `/app/playground?model=${fourth}&tab=${first}`);
  await nothingRan();
});

async function writeEverywhere(): Promise<void> {
  const attack = CORPUS.slice(0, 12).join(' ').slice(0, 180);
  for (const agent of CORPUS.filter((text) => /^[\x20-\x7e]+$/.test(text)).slice(0, 25)) {
    await environment.gateway.chat(token, { model: 'house-echo' }, { headers: { 'user-agent': agent } });
  }
  await environment.gateway.image(token, { model: 'house-paint', prompt: attack, size: '256x256' });
  const { page } = user;
  await follow(page, '/app/settings');
  await page.getByLabel('Name').fill(attack.slice(0, 100));
  await page.getByRole('button', { name: 'Save' }).first().click();
  await page.getByText('Saved').waitFor();
  await bookWith(admin.page, attack);
  await follow(admin.page, '/admin/codes');
  await admin.page.getByRole('button', { name: 'Create codes' }).click();
  const dialog = admin.page.getByRole('dialog', { name: 'Create redeem codes' });
  await dialog.getByLabel('Amount per code (USD)').fill('1');
  await dialog.getByLabel('Batch name (optional)').fill(attack.slice(0, 60));
  await dialog.getByRole('button', { name: 'Create codes' }).click();
  await confirmIfAsked(admin.page, admin.page.getByTestId('codes'));
}

async function bookWith(page: Page, cause: string): Promise<void> {
  await follow(page, '/admin/accounts');
  await page.getByRole('button', { name: `Account ${EMAIL}` }).click();
  const sheet = page.getByRole('dialog');
  await sheet.getByLabel('Amount in USD').fill('1');
  await sheet.getByLabel('Reason').fill(cause);
  await sheet.getByRole('button', { name: 'Credit', exact: true }).last().click();
  await confirmIfAsked(page, page.getByText(/^Done\. New balance/));
}

/** Anything that runs calls this; the attacks of the corpus all try to. */
async function alarm(page: Page): Promise<void> {
  await page.exposeFunction('pwned', (how: string) => ran.push(how));
  page.on('dialog', (dialog) => {
    ran.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('request', (request) => {
    if (!request.url().startsWith(environment.url) && !/^(data|blob):/.test(request.url()))
      ran.push(`request: ${request.url()}`);
  });
}

const ran: string[] = [];

async function nothingRan(): Promise<void> {
  await Promise.all([settled(user.page), settled(admin.page)]);
  expect(ran).toEqual([]);
  expect([...user.pageErrors, ...admin.pageErrors]).toEqual([]);
}

async function load(page: Page, path: string): Promise<void> {
  await page.goto(path);
  await settled(page);
}

/** The first is loaded, to the others lead links. */
async function visitAll(page: Page, [first, ...others]: readonly [string, ...string[]]): Promise<void> {
  await load(page, first);
  for (const path of others) await follow(page, path);
}

function chunks<Item>(items: readonly Item[], size: number): Item[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    items.slice(index * size, index * size + size),
  );
}
