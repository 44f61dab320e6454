import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Locator } from 'playwright-core';
import { creditAs, setUpAdmin, signUp, takeToken } from './user-steps.ts';
import { follow, BrowserEnvironment, type BrowserSession } from './browser-environment.ts';

/**
 * A new user's complete use of the console, on a real server in a real browser. The tests build on each other.
 */
let environment: BrowserEnvironment;
let admin: BrowserSession;
let user: BrowserSession;
let token: string;
const EMAIL = 'dora@example.com';

beforeAll(async () => {
  environment = await BrowserEnvironment.open();
});

afterAll(async () => {
  await environment.close();
});

test('the first run makes the administrator, shows the endpoints, and its first call is answered and receipted', async () => {
  admin = await setUpAdmin(environment);
  const { page } = admin;
  await page.getByText('svc_chat', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Next' }).click();
  await page.getByText('Your account starts with $10.00.').waitFor();
  await page.getByRole('button', { name: 'Make the first call' }).click();
  const receipt = page.getByRole('region', { name: 'Receipt' });
  await receipt.waitFor();
  await expectRendered(page.getByRole('article'));
  await expectToAddUp(receipt);
  await page.getByRole('button', { name: 'Next' }).click();
  await page.getByRole('heading', { name: 'You’re all set' }).waitFor();
  await page.getByRole('link', { name: /Create your API token/ }).click();
  await page.waitForURL('**/app/quickstart');
});

test('the setup link is gone afterwards', async () => {
  const late = await environment.newSession();
  await late.page.goto(environment.gateway.tollgate.setupLink ?? '/setup/none');
  await late.page.getByText('This link is no longer valid').waitFor();
  await late.context.close();
});

test('somebody signs up and finds the first steps', async () => {
  user = await signUp(environment, EMAIL);
  await user.page.getByRole('heading', { name: 'Three steps to your first request' }).waitFor();
});

test('the admin credits the account from its row', async () => {
  await creditAs(admin.page, EMAIL, '5');
  await user.page.goto('/app');
  await user.page.getByText('$5.00').first().waitFor();
});

test('the token is shown once, fills the examples, and is gone after a reload', async () => {
  const { page } = user;
  await follow(page, '/app/quickstart');
  await page.getByText('Waiting for your first request…').waitFor();
  await page.getByRole('button', { name: 'Create token' }).click();
  token = await takeToken(page);
  expect(await page.locator('pre').first().textContent()).toContain(token);
  await page.reload();
  await page.getByRole('heading', { name: 'Quickstart' }).waitFor();
  await page.locator('pre').first().waitFor();
  expect(await page.content()).not.toContain(token);
});

test('the quickstart turns green at the first request', async () => {
  const { page } = user;
  await page.getByText('Waiting for your first request…').waitFor();
  const answer = await environment.gateway.chat(token, {
    model: 'house-echo',
    messages: [{ role: 'user', content: 'hello from a program' }],
  });
  expect(answer.status).toBe(200);
  await page.getByText('Your first request arrived').waitFor();
  await page.getByRole('link', { name: 'View receipt' }).click();
  await page.getByRole('dialog', { name: 'Receipt' }).getByText('house-echo').first().waitFor();
});

test('the playground streams an answer with its tokens, cost and time', async () => {
  const { page } = user;
  await follow(page, '/app/playground');
  await page.getByLabel('Message').fill('What is a hold?');
  await page.keyboard.press('Enter');
  await page.getByText(/first token/).waitFor();
  await page.getByText(/\d+ in, \d+ out/).waitFor();
  await page.getByRole('button', { name: 'Regenerate' }).click();
  await page
    .getByRole('button', { name: 'Stop' })
    .or(page.getByText(/first token/))
    .first()
    .waitFor();
  await page.getByText(/first token/).waitFor();
  await page.getByRole('button', { name: 'Get code' }).click();
  const code = page.getByRole('dialog', { name: 'This conversation as code' });
  expect(await code.locator('pre').textContent()).toContain('What is a hold?');
  await page.keyboard.press('Escape');
});

test('compare asks two models at once', async () => {
  const { page } = user;
  await follow(page, '/app/playground?tab=compare');
  await page.getByLabel('Message').fill('ping');
  await page.keyboard.press('Enter');
  await page
    .getByText(/first token/)
    .nth(1)
    .waitFor();
});

test('an image shows its price before the click and is in the gallery afterwards', async () => {
  const { page } = user;
  await follow(page, '/app/playground?tab=images');
  await page.getByLabel('Prompt').fill('a gate at dawn');
  await page.getByRole('button', { name: /^Generate for \$/ }).click();
  await page.getByRole('button', { name: 'Open: a gate at dawn' }).click();
  const box = page.getByRole('dialog', { name: 'Image' });
  await box.getByRole('link', { name: 'Download' }).waitFor();
  const drawn = await box
    .locator('img')
    .evaluate((image: HTMLImageElement) => image.decode().then(() => image.naturalWidth));
  expect(drawn).toBeGreaterThan(100);
  await follow(page, '/app/images');
  await page.getByRole('button', { name: 'Open: a gate at dawn' }).waitFor();
});

test('usage leads to the log, and the log to a receipt that adds up', async () => {
  const { page } = user;
  await follow(page, '/app/usage');
  await page
    .getByRole('region', { name: 'Usage' })
    .getByRole('row', { name: /house-echo/ })
    .first()
    .getByRole('link')
    .first()
    .click();
  await page.waitForURL(/\/app\/requests\?.*model=house-echo/);
  await page
    .getByRole('button', { name: /^Receipt of req_/ })
    .first()
    .click();
  const receipt = page.getByRole('dialog', { name: 'Receipt' });
  await receipt.getByText('Total', { exact: true }).waitFor();
  const { lines, sum, charged, held } = await readBill(receipt);
  expect(lines.map(({ item }) => item)).toEqual(['input tokens', 'output tokens']);
  for (const { quantity, price, amount } of lines) expect(amount).toBe((quantity * price) / MILLION);
  const exact = lines.reduce((total, { amount }) => total + amount, 0n);
  expect(exact).toBeGreaterThan(0n);
  expect(sum).toBe(((exact + NANO - 1n) / NANO) * NANO);
  expect(charged).toBe(sum);
  expect(held).toBeGreaterThanOrEqual(charged);
  await receipt.getByRole('button', { name: 'Copy as curl' }).waitFor();
});

const MILLION = 1_000_000n;
/** Dollars are read with fifteen decimals: a price has nine, and a token is a millionth of it. */
const DECIMALS = 15;
const NANO = 10n ** BigInt(DECIMALS - 9);

function usdIn(text: string): bigint {
  const [, whole = '', fraction = ''] = /\$([\d,]+)(?:\.(\d+))?/.exec(text) ?? [];
  if (whole === '') throw new Error(`no amount in '${text}'`);
  return BigInt(whole.replaceAll(',', '') + fraction.padEnd(DECIMALS, '0'));
}

/** The bill as its reader sees it: the lines with their prices, and the three amounts below them. */
async function readBill(receipt: Locator) {
  const rows = await receipt
    .locator('dl')
    .first()
    .locator('> div')
    .evaluateAll((all) => all.map((row) => [...row.children].map((cell) => cell.textContent ?? '')));
  const lines = rows.slice(0, -3).map(([label = '', amount = '', note = '']) => ({
    item: label.replace(/^[\d,]+ /, ''),
    quantity: BigInt((/^[\d,]+/.exec(label)?.[0] ?? '').replaceAll(',', '')),
    price: usdIn(note),
    amount: usdIn(amount),
  }));
  const below = new Map(rows.slice(-3).map(([label = '', amount = '']) => [label, usdIn(amount)]));
  const labelled = (label: string): bigint => {
    const amount = below.get(label);
    if (amount === undefined) throw new Error(`the bill has no '${label}'`);
    return amount;
  };
  return {
    lines,
    sum: labelled('Total'),
    held: labelled('Held before the call'),
    charged: labelled('Charged'),
  };
}

test('a redeem code made by the admin adds its amount once', async () => {
  await follow(admin.page, '/admin/codes');
  await admin.page.getByRole('button', { name: 'Create codes' }).click();
  const dialog = admin.page.getByRole('dialog', { name: 'Create redeem codes' });
  await dialog.getByLabel('Amount per code (USD)').fill('2,50');
  await dialog.getByRole('button', { name: 'Create codes' }).click();
  const code = ((await admin.page.getByTestId('codes').textContent()) ?? '').trim();
  const { page } = user;
  await follow(page, '/app/billing');
  await page.getByLabel('Code').fill(code);
  await page.getByRole('button', { name: 'Redeem' }).click();
  await page.getByText(/^\$2\.50 added\. New balance/).waitFor();
  await page.getByLabel('Code').fill(code);
  await page.getByRole('button', { name: 'Redeem' }).click();
  await page.getByRole('alert').first().waitFor();
});

test('replacing the token refuses the old one at once', async () => {
  const { page } = user;
  await follow(page, '/app/key');
  await page.getByRole('button', { name: 'Replace' }).click();
  await page.getByRole('button', { name: 'Replace now' }).click();
  const next = await takeToken(page);
  expect(next).not.toBe(token);
  expect((await environment.gateway.chat(token, { model: 'house-echo' })).status).toBe(401);
  expect((await environment.gateway.chat(next, { model: 'house-echo' })).status).toBe(200);
});

test('the admin sees the traffic, the ledger is consistent, and the action is in the audit log', async () => {
  const { page } = admin;
  await follow(page, '/admin/requests');
  await page.getByRole('link', { name: EMAIL }).first().waitFor();
  await follow(page, '/admin/ledger');
  await page.getByRole('button', { name: 'Check the ledger' }).click();
  await page.getByText('Everything adds up').waitFor();
  await follow(page, '/admin/audit');
  await page.getByRole('cell', { name: 'Credit an account' }).first().waitFor();
});

test('signing out leaves nothing behind, and the last page is remembered', async () => {
  const { page } = user;
  await follow(page, '/app/usage?days=7');
  await page.getByRole('button', { name: new RegExp(EMAIL) }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await page.waitForURL('**/sign-in');
  await page.goto('/app/usage?days=7');
  await page.waitForURL(/\/sign-in\?next=/);
  await page.goto('/sign-in?next=//evil.example');
  await page.getByLabel('Email').fill(EMAIL);
  await page.getByLabel('Password').fill('a quiet gate at dawn');
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.waitForURL(`${environment.url}/app`);
});

test('no page has reported an error', () => {
  expect([...admin.pageErrors, ...user.pageErrors]).toEqual([]);
});

/** An answer from the guide, rendered as a page and not as Markdown source. */
async function expectRendered(answer: Locator): Promise<void> {
  await answer.getByRole('heading', { name: 'Holds' }).waitFor();
  const text = (await answer.textContent()) ?? '';
  expect(text).toContain('the hold is released at once');
  expect(text).not.toContain('I could not find that');
  expect(text).not.toMatch(/###|\*\*|`/);
  // The setup would be lost with this page.
  expect(await answer.getByRole('link', { name: 'Money: Holds' }).getAttribute('target')).toBe('_blank');
}

/** What was held covers what was charged, and the starting credit less the charge is the balance. */
async function expectToAddUp(receipt: Locator): Promise<void> {
  const value = async (label: string): Promise<number> => {
    const line = receipt.locator('dl > div', { hasText: label });
    return Number((await line.locator('dd').textContent())?.replaceAll(/[$,]/g, ''));
  };
  expect(await value('Input tokens')).toBeGreaterThan(0);
  expect(await value('Output tokens')).toBeGreaterThan(100);
  const charged = await value('Charged');
  expect(charged).toBeGreaterThan(0);
  expect(await value('Held before the call')).toBeGreaterThanOrEqual(charged);
  expect(await value('Available now')).toBeCloseTo(10 - charged, 9);
}
