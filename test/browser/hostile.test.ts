import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { CORPUS } from './hostile-corpus.ts';
import { PAGES } from './pages.ts';
import { confirmIfAsked, creditAs, setUpAdmin, signUp, takeToken } from './people.ts';
import { Stage, type Visitor } from './support.ts';

/** Whatever people, programs and models write is shown as text: nothing in it runs, on any page that shows it. */
let stage: Stage;
let admin: Visitor;
let user: Visitor;
let token: string;
const EMAIL = 'mallory@example.com';

beforeAll(async () => {
  stage = await Stage.open();
  admin = await setUpAdmin(stage);
  user = await signUp(stage, EMAIL);
  await creditAs(admin.page, EMAIL, '50');
  await user.page.goto('/app/key');
  await user.page.getByRole('button', { name: 'Create token' }).click();
  token = await takeToken(user.page);
  await Promise.all([alarm(admin.page), alarm(user.page)]);
});

afterAll(async () => {
  await stage.close();
});

test('a model that answers with every attack of the corpus runs none of them', async () => {
  const { page } = user;
  await page.goto('/app/playground');
  await page.getByLabel('Model').selectOption({ value: 'svc_chat house-echo' });
  // The echo model answers with the question: all of it goes through the Markdown of an answer.
  for (const part of chunks(CORPUS, 60)) {
    await page.getByLabel('Message').fill(part.join('\n\n'));
    await page.keyboard.press('Enter');
    await page
      .getByText(/first byte/)
      .last()
      .waitFor();
    await page.getByRole('button', { name: 'New chat' }).click();
  }
  await nothingRan();
});

test('attacks in names, causes, user agents, prompts and batches run on no page', async () => {
  await writeEverywhere();
  for (const path of PAGES.user) await visit(user.page, path);
  for (const path of PAGES.admin) await visit(admin.page, path);
  await admin.page.goto('/admin/accounts');
  await admin.page.getByRole('button', { name: `Account ${EMAIL}` }).click();
  await admin.page.getByRole('heading', { name: 'Latest entries' }).waitFor();
  await admin.page.goto('/admin/requests');
  await admin.page
    .getByRole('button', { name: /^Receipt of/ })
    .first()
    .click();
  await admin.page.getByText('Sum, rounded up once').waitFor();
  await user.page.goto('/app/images');
  await user.page
    .getByRole('button', { name: /^Open:/ })
    .first()
    .click();
  await user.page.getByRole('link', { name: 'Download' }).waitFor();
  await nothingRan();
});

test('attacks in the address run on no page', async () => {
  const payloads = CORPUS.slice(0, 40).map(encodeURIComponent);
  for (const payload of payloads) {
    await user.page.goto(`/app/requests?model=${payload}&endpoint=${payload}&id=${payload}`);
    await user.page.locator('h1').first().waitFor();
  }
  await visit(user.page, `/app/models/${payloads[0]}/${payloads[1]}`);
  await visit(user.page, `/docs/${payloads[2]}`);
  await visit(user.page, `/docs/errors/${payloads[3]}`);
  await visit(user.page, `/app/playground?model=${payloads[4]}&tab=${payloads[5]}`);
  await nothingRan();
});

async function writeEverywhere(): Promise<void> {
  const attack = CORPUS.slice(0, 12).join(' ').slice(0, 180);
  for (const agent of CORPUS.filter((text) => /^[\x20-\x7e]+$/.test(text)).slice(0, 25)) {
    await stage.gateway.chat(token, { model: 'house-echo' }, { headers: { 'user-agent': agent } });
  }
  await stage.gateway.image(token, { model: 'house-paint', prompt: attack, size: '256x256' });
  const { page } = user;
  await page.goto('/app/settings');
  await page.getByLabel('Name').fill(attack.slice(0, 100));
  await page.getByRole('button', { name: 'Save' }).first().click();
  await page.getByText('Saved').waitFor();
  await bookWith(admin.page, attack);
  await admin.page.goto('/admin/codes');
  await admin.page.getByRole('button', { name: 'Make codes' }).click();
  const dialog = admin.page.getByRole('dialog', { name: 'Make redeem codes' });
  await dialog.getByLabel('Amount each, USD').fill('1');
  await dialog.getByLabel('Name of the batch (optional)').fill(attack.slice(0, 60));
  await dialog.getByRole('button', { name: 'Make codes' }).click();
  await confirmIfAsked(admin.page, admin.page.getByTestId('codes'));
}

async function bookWith(page: Page, cause: string): Promise<void> {
  await page.goto('/admin/accounts');
  await page.getByRole('button', { name: `Account ${EMAIL}` }).click();
  const sheet = page.getByRole('dialog');
  await sheet.getByLabel('Amount in USD').fill('1');
  await sheet.getByLabel('Cause').fill(cause);
  await sheet.getByRole('button', { name: 'Credit', exact: true }).last().click();
  await confirmIfAsked(page, page.getByText(/^Booked\. New balance/));
}

/** Anything that runs calls this; the attacks of the corpus all try to. */
async function alarm(page: Page): Promise<void> {
  await page.exposeFunction('pwned', (how: string) => ran.push(how));
  page.on('dialog', (dialog) => {
    ran.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('request', (request) => {
    if (!request.url().startsWith(stage.url) && !/^(data|blob):/.test(request.url()))
      ran.push(`request: ${request.url()}`);
  });
}

const ran: string[] = [];

async function nothingRan(): Promise<void> {
  await user.page.waitForLoadState('networkidle');
  await admin.page.waitForLoadState('networkidle');
  expect(ran).toEqual([]);
  expect([...user.complaints, ...admin.complaints]).toEqual([]);
}

async function visit(page: Page, path: string): Promise<void> {
  await page.goto(path);
  await page.locator('h1').first().waitFor();
  await page.waitForLoadState('networkidle');
}

function chunks<Item>(items: readonly Item[], size: number): Item[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    items.slice(index * size, index * size + size),
  );
}
