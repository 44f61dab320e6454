import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Locator } from 'playwright-core';
import type { Answer } from '../../src/console/contract/routes.ts';
import { parseUsd } from '../../src/std/money.ts';
import { bareModel, ListingServer } from '../import/listing-server.ts';
import { STRICT_PROVIDERS } from '../providers/strict-providers.ts';
import { StrictServer } from '../providers/strict-server.ts';
import { BrowserEnvironment, settled, type BrowserSession } from './browser-environment.ts';
import { confirmIfAsked, creditAs, setUpAdmin, signUp, takeToken } from './user-steps.ts';

/** An operator adds a backend without YAML, and sees how it does. The tests build on each other. */
let environment: BrowserEnvironment;
let provider: StrictServer;
let admin: BrowserSession;
let token: string;
const EMAIL = 'ada@example.com';
const MODEL = 'llama-3.3-70b-versatile';
const NAME = 'quick';
const every = new ListingServer(['llama-3', 'nomic-embed', 'flux-schnell'].map(bareModel));

beforeAll(async () => {
  const strict = STRICT_PROVIDERS.find(({ preset }) => preset === 'groq');
  if (!strict) throw new Error('there is no such stand-in');
  provider = new StrictServer(strict);
  environment = await BrowserEnvironment.open();
  admin = await setUpAdmin(environment);
  const user = await signUp(environment, EMAIL);
  await creditAs(admin.page, EMAIL, '5');
  await user.page.goto('/app/key');
  await user.page.getByRole('button', { name: 'Create token' }).click();
  token = await takeToken(user.page);
  await user.context.close();
});
afterAll(async () => {
  await environment.close();
  await provider.stop();
  await every.stop();
});

async function ask(): Promise<Response> {
  return await environment.gateway.chat(token, {
    endpoint: NAME,
    model: MODEL,
    messages: [{ role: 'user', content: 'hi' }],
    max_tokens: 20,
  });
}

async function ready(button: Locator): Promise<void> {
  await button.and(admin.page.locator(':enabled')).waitFor();
}

test('from the address of a server to a model that customers can call: key, models, price, test, publish', async () => {
  const { page } = admin;
  await page.goto('/admin/backends');
  await page.getByRole('link', { name: 'Add a backend' }).click();
  await page.getByRole('heading', { name: 'Providers' }).waitFor();
  expect(await page.getByRole('button', { name: /api\.openai\.com/ }).count()).toBe(1);
  await page.getByLabel('Name').fill(NAME);
  await page.getByLabel('Address').fill(provider.baseUrl);
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByLabel(`API key of ${NAME}`).fill(provider.key);
  await page.getByRole('button', { name: 'Check and store key' }).click();
  await confirmIfAsked(page, page.getByLabel('Input price'));
  await page.getByLabel('Input price').fill('1');
  await page.getByLabel('Output price').fill('2,5');
  await page.getByRole('button', { name: 'List models' }).click();
  await page.getByLabel(`Select ${MODEL}`).check();
  await page.getByRole('button', { name: 'Continue with 1 model' }).click();
  await page.getByRole('button', { name: `Test ${MODEL}` }).click();
  await page.getByText(/^Answered in/).waitFor();
  await page
    .getByRole('listitem')
    .filter({ hasText: `addedBackend${NAME}` })
    .waitFor();
  await page.getByRole('button', { name: 'Publish' }).click();
  await page.waitForURL('**/admin/backends');
  await page.getByRole('heading', { name: NAME, exact: true }).waitFor();
  const answer = await ask();
  expect(answer.status).toBe(200);
  expect(admin.pageErrors).toEqual([]);
});

test('a server with chat, embedding and image models is added, priced and sold without YAML, each can be called, and their margin is known', async () => {
  const { page } = admin;
  await page.goto('/admin/backends/new');
  await page.getByLabel('Name').fill('atelier');
  await page.getByLabel('Address').fill(every.baseUrl);
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByLabel('API key of atelier').fill(every.key);
  await page.getByRole('button', { name: 'Check and store key' }).click();
  const amounts = {
    'Input price': '1000', 'Output price': '2000', 'Embedding price': '3000', 'Image price': '0.04',
    'Input cost': '500', 'Output cost': '1500', 'Embedding cost': '1000', 'Image cost': '0.03',
  }; // prettier-ignore
  await confirmIfAsked(page, page.getByLabel('Input price'));
  for (const [label, amount] of Object.entries(amounts)) await page.getByLabel(label).fill(amount);
  await page.getByRole('button', { name: 'List models' }).click();
  await page.getByLabel('Select all').check();
  await page.getByRole('button', { name: 'Continue with 3 models' }).click();
  await page.getByRole('button', { name: 'Publish' }).click();
  await page.waitForURL('**/admin/backends');
  const call = (path: string, body: object) => environment.gateway.post(path, token, body);
  const message = { role: 'user', content: 'hi' };
  const asked = [
    await call('/api/public/v1/chat/completions', {
      endpoint: 'atelier',
      model: 'llama-3',
      messages: [message],
      max_tokens: 9,
    }),
    await call('/v1/embeddings', { model: 'nomic-embed', input: 'hi' }),
    await call('/api/public/v1/images/generations', {
      endpoint: 'atelier_images',
      model: 'flux-schnell',
      prompt: 'a gate',
    }),
  ];
  expect(asked.map(({ status }) => status)).toEqual([200, 200, 200]);
  await page.goto('/admin/margin?by=model');
  for (const model of ['llama-3', 'nomic-embed', 'flux-schnell']) {
    const row = page.getByRole('row', { name: new RegExp(`^${model} 1 `) });
    // Charged 0.013, 0.012 and 0.04; costs 0.0075, 0.004 and 0.03.
    await row
      .getByRole('cell', { name: /^\$0\.01( \d+%)?$/ })
      .last()
      .waitFor();
    expect(await row.textContent()).not.toContain('unknown');
  }
  expect(admin.pageErrors).toEqual([]);
});

test('prices are edited on one page: typed, pasted, raised together, with undo and a margin below cost in sight; a draft is found again and published', async () => {
  const { page } = admin;
  await page.goto('/admin/prices');
  const output = page.getByLabel(`Output price of ${MODEL}`);
  const review = page.getByRole('button', { name: 'Review and publish' });
  await output.fill('3');
  await ready(review);
  await page.getByLabel(`Input price of ${MODEL}`).fill('nonsense');
  await page.getByText('Not saved yet').waitFor();
  expect(await review.isDisabled()).toBe(true);
  await page.getByRole('button', { name: 'Undo' }).click();
  expect(await output.inputValue()).toBe('3');
  await page.getByRole('button', { name: 'Paste from a sheet' }).click();
  await page.getByLabel('Prices as text').fill(`${MODEL}; 1,5; 4`);
  await page.getByRole('button', { name: 'Apply', exact: true }).click();
  expect(await output.inputValue()).toBe('4');
  await page.getByText('Not saved yet').waitFor();
  await page.getByText(/^Unpublished changes Saved/).waitFor();
  await page.goto('/admin/backends');
  await page.getByText(/^Unpublished changes/).waitFor();
  await page.goto('/admin/catalog?view=edit');
  const yaml = page.getByLabel('Catalog in YAML');
  await yaml.fill(`# checked\n${await yaml.inputValue()}`);
  await page.getByText('Saved as a draft').waitFor();
  await page.goto('/admin/prices');
  await ready(review);
  expect(await output.inputValue()).toBe('4.00');
  // Of a cost that nobody knew the margin is known once it is given.
  const row = page.getByRole('row').filter({ hasText: MODEL });
  const show = page.getByLabel('Show', { exact: true });
  await show.selectOption('unknown');
  await page.getByLabel(`Input cost of ${MODEL} at ${NAME}`).fill('1.2');
  await page.getByLabel(`Output cost of ${MODEL} at ${NAME}`).fill('5');
  await row.getByText('below cost').waitFor();
  await page.getByText(/^Unpublished changes Saved/).waitFor();
  await show.selectOption('all');
  await page.getByLabel('Search models').fill(MODEL);
  await page.getByRole('button', { name: 'Apply to 1 model' }).click();
  await page.locator(`input[aria-label="Output price of ${MODEL}"][value="4.40"]`).waitFor();
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.locator(`input[aria-label="Output price of ${MODEL}"][value="4.00"]`).waitFor();
  await page.getByRole('button', { name: 'Apply to 1 model' }).click();
  await page.locator(`input[aria-label="Output price of ${MODEL}"][value="4.40"]`).waitFor();
  await ready(review);
  await review.click();
  await page.getByText('1.65 in, 1.65 cached, 4.40 out (USD per million tokens)').waitFor();
  await page.getByRole('button', { name: 'Publish', exact: true }).click();
  await page.getByText(/^Published\./).waitFor();
  expect(await output.inputValue()).toBe('4.40');
  await review.waitFor({ state: 'detached' });
  expect(admin.pageErrors).toEqual([]);
});

test('the whole list is raised by 10 % in one step, images and embeddings with it, and each price is sold at exactly that', async () => {
  const { page } = admin;
  const before = await listedPrices();
  await page.goto('/admin/prices');
  await page.getByRole('button', { name: /^Apply to \d+ models$/ }).click();
  const review = page.getByRole('button', { name: 'Review and publish' });
  await ready(review);
  await review.click();
  await page.getByRole('button', { name: 'Publish', exact: true }).click();
  await page.getByText(/^Published\./).waitFor();
  const raised = [...before].map(([price, nano]) => [price, Math.floor((nano * 11 + 9) / 10)] as const);
  expect(raised.length).toBeGreaterThan(10);
  expect(await listedPrices()).toEqual(new Map(raised));
  expect(admin.pageErrors).toEqual([]);
});

/** Every price of the published list by model and kind, in nano-dollars. */
async function listedPrices(): Promise<Map<string, number>> {
  const answer = await admin.page.request.get('/api/console/admin/prices');
  const { items } = (await answer.json()) as Answer<'GET /api/console/admin/prices'>;
  return new Map(
    items.flatMap(({ list, model, input, cachedInput, output, image, imageRange }) =>
      Object.entries({
        input,
        cachedInput,
        output,
        image,
        from: imageRange?.from,
        to: imageRange?.to,
      }).flatMap(([kind, usd]) =>
        usd ? [[`${list}/${model} ${kind}`, Number(parseUsd(usd))] as const] : [],
      ),
    ),
  );
}

test('a backend is edited without YAML: another endpoint, order by keyboard, weights in percent, one more key', async () => {
  const { page } = admin;
  await page.goto('/admin/backends');
  await page.getByRole('link', { name: `Edit ${NAME}` }).click();
  await page.getByLabel('Add to an endpoint').selectOption('svc_chat');
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  const order = page.getByLabel(/^Order of/).filter({ hasText: 'svc_chat' });
  await order.getByRole('button', { name: `Move ${NAME} up` }).focus();
  await page.keyboard.press('Enter');
  await order.getByLabel('Shares the load with the one above').check();
  await order.getByLabel(`Weight of ${NAME}`).fill('3');
  await page.getByText('75%').waitFor();
  await page.getByRole('button', { name: 'Add a key' }).click();
  await page.getByLabel('API key QUICK_API_KEY_2').fill('sk-another');
  await page.getByRole('button', { name: 'Store and use' }).click();
  await confirmIfAsked(page, page.getByRole('button', { name: 'Disable QUICK_API_KEY_2' }));
  const review = page.getByRole('button', { name: 'Review and publish' });
  await ready(review);
  await review.click();
  await page.getByText(`${NAME} × 3 + house × 1`).waitFor();
  await page.getByRole('button', { name: 'Publish', exact: true }).click();
  await page.getByText(/^Published\./).waitFor();
  await page.getByRole('button', { name: 'Disable QUICK_API_KEY_2' }).click();
  await page.getByRole('button', { name: 'Use QUICK_API_KEY_2' }).waitFor();
  await page.getByRole('button', { name: `Remove ${NAME} …` }).click();
  await page.getByRole('dialog').getByText('svc_chat').waitFor();
  await page.getByRole('button', { name: 'Cancel' }).click();
  await ready(review);
  await review.click();
  // The note of the first time may still be there.
  const published = page.waitForResponse((answer) => answer.url().endsWith('/admin/catalog') && answer.ok());
  await page.getByRole('button', { name: 'Publish', exact: true }).click();
  await published;
  await page.goto('/admin/backends');
  await settled(page);
  expect(admin.pageErrors).toEqual([]);
});

test('a paused backend gets no new requests until it is resumed', async () => {
  const { page } = admin;
  const card = page
    .locator('section')
    .filter({ has: page.getByRole('heading', { name: NAME, exact: true }) });
  await card.getByRole('button', { name: 'Pause' }).click();
  await card.getByText('Paused by you').waitFor();
  await card.getByText('Paused. No requests running.').waitFor();
  const before = provider.received.length;
  expect((await ask()).status).toBe(500);
  expect(provider.received.length).toBe(before);
  await card.getByRole('button', { name: 'Resume' }).click();
  await card.getByRole('button', { name: 'Pause' }).waitFor();
  expect((await ask()).status).toBe(200);
});

test('a backend that fails is seen to fail, with the reason', async () => {
  const { page } = admin;
  await provider.stop();
  expect((await ask()).status).toBe(500);
  await page.goto('/admin/backends');
  await settled(page);
  const card = page
    .locator('section')
    .filter({ has: page.getByRole('heading', { name: NAME, exact: true }) });
  await card.getByText(/^Last error.*(?:it cannot be reached|the connection broke)$/).waitFor();
  await card.getByRole('button', { name: 'Test call' }).click();
  await card.getByText(/^Failed after/).waitFor();
  await card.getByText('Test failed', { exact: true }).first().waitFor();
});
