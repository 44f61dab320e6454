import { afterAll, beforeAll, expect, test } from 'bun:test';
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
});

async function ask(): Promise<Response> {
  return await environment.gateway.chat(token, {
    endpoint: NAME,
    model: MODEL,
    messages: [{ role: 'user', content: 'hi' }],
    max_tokens: 20,
  });
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
  await page.getByRole('button', { name: 'Store key' }).click();
  await confirmIfAsked(page, page.getByLabel('Input price'));
  await page.getByLabel('Input price').fill('1');
  await page.getByLabel('Output price').fill('2,5');
  await page.getByRole('button', { name: 'List models' }).click();
  await page.getByLabel(`Select ${MODEL}`).check();
  await page.getByRole('button', { name: 'Continue with 1 model' }).click();
  await page.getByRole('button', { name: `Test ${MODEL}` }).click();
  await page.getByText(/^Answered in/).waitFor();
  await page.getByText(`upstream ${NAME}`).waitFor();
  await page.getByRole('button', { name: 'Publish' }).click();
  await page.getByRole('heading', { name: NAME, exact: true }).waitFor();
  const answer = await ask();
  expect(answer.status).toBe(200);
  expect(admin.pageErrors).toEqual([]);
});

test('prices are edited in a table, with undo and a margin below cost in sight, and published', async () => {
  const { page } = admin;
  await page.goto('/admin/catalog?view=prices');
  const output = page.getByLabel(`Output price of ${MODEL}`);
  await output.fill('3');
  await page.getByLabel(`Input price of ${MODEL}`).fill('nonsense');
  expect(await page.getByRole('button', { name: 'Review and publish' }).isDisabled()).toBe(true);
  await page.getByRole('button', { name: 'Undo' }).click();
  expect(await output.inputValue()).toBe('3');
  await page.getByRole('button', { name: 'Paste prices' }).click();
  await page.getByLabel('Prices as text').fill(`${MODEL}; 1,5; 4`);
  await page.getByRole('button', { name: 'Take over' }).click();
  expect(await output.inputValue()).toBe('4');
  await page.getByRole('button', { name: 'Review and publish' }).click();
  await page.getByText('1.50 in, 1.50 cached, 4.00 out (USD per million tokens)').waitFor();
  await page.getByRole('button', { name: 'Publish', exact: true }).click();
  await page.getByText(/^Published\./).waitFor();
  expect(await output.inputValue()).toBe('4.00');
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
  await card.getByText(/^Last error/).waitFor();
  await card.getByRole('button', { name: 'Test call' }).click();
  await card.getByText(/^Failed after/).waitFor();
  await card.getByText('Test failed', { exact: true }).first().waitFor();
});
