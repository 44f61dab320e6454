import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Locator, Page } from 'playwright-core';
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

test('the first run is one page: administrator, credit, token, an answered call with its receipt, and a real backend', async () => {
  admin = await setUpAdmin(environment);
  const { page } = admin;
  const step = page.locator('li[aria-current=step]');
  expect(await step.getByRole('heading', { level: 2 }).textContent()).toContain('Make a first call');
  await page.getByText('Your account starts with $10.00').waitFor();
  await page.getByRole('button', { name: 'Create token' }).click();
  expect(await page.getByTestId('token').textContent()).toMatch(/^sk-\w{40,}$/);
  const receipt = page.getByRole('region', { name: 'Receipt' });
  expect(await receipt.textContent()).toContain('Fills in while the call runs.');
  await page.getByRole('button', { name: 'Make the first call' }).click();
  await receipt.getByText(/^req_/).waitFor();
  await expectRendered(page.getByRole('article'));
  await expectToAddUp(receipt);
  expect(await step.getByRole('heading', { level: 2 }).textContent()).toContain('Connect a real backend');
  await page.getByText('A built-in demo model answered.').waitFor();
  await page.getByRole('link', { name: /Connect a backend/ }).click();
  await page.waitForURL('**/admin/backends/new');
  await page.getByRole('heading', { level: 1 }).waitFor();
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

test('a chat is kept in the browser, can be renamed, and its link opens it without the server', async () => {
  const { page } = user;
  await page.goto('/app/playground');
  await page.getByRole('button', { name: 'Chats', exact: true }).click();
  const sheet = page.getByRole('dialog', { name: 'Your chats' });
  await sheet.getByRole('button', { name: 'Rename “What is a hold?”' }).click();
  await sheet.getByLabel('Name of the chat').fill('About holds');
  await page.keyboard.press('Enter');
  await user.context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await sheet.getByRole('button', { name: 'Copy a link to “About holds”' }).click();
  await page.getByText('Link copied.').waitFor();
  const link = new URL(await page.evaluate(() => navigator.clipboard.readText()));
  await sheet.getByRole('button', { name: 'Delete “About holds”' }).click();
  await sheet.getByText('No chats yet').waitFor();
  await page.goto('about:blank');
  await page.goto(link.pathname + link.hash);
  await page.getByText('What is a hold?').first().waitFor();
  expect(new URL(page.url()).hash).toBe('');
});

test('a refused answer says why and is tried on another model', async () => {
  const { page } = user;
  await page.getByRole('button', { name: 'New chat' }).click();
  await page.getByLabel('Temperature').fill('9');
  await page.getByLabel('Message').fill('ping');
  await page.keyboard.press('Enter');
  await page.getByRole('link', { name: 'Why was it refused?' }).waitFor();
  await page.getByLabel('Temperature').fill('');
  await page.getByRole('button', { name: 'Try on House Echo' }).click();
  await page.getByText(/first token/).waitFor();
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
  await page.getByLabel('Prompt', { exact: true }).fill('a gate at dawn');
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

test('usage by client and hour: a heat map in the reader’s own time zone by keyboard, what caching saved, all in the address', async () => {
  const storageState = await user.context.storageState();
  const abroad = await environment.newSession({ timezoneId: 'Asia/Kathmandu', storageState });
  const { page } = abroad;
  await page.goto('/app/usage?measure=requests');
  const heat = page.getByRole('table', { name: 'Requests by weekday and hour' });
  await heat.waitFor();
  await page.getByText('Hours in your time zone: Asia/Kat').waitFor();
  const cells = (await heat.getByRole('cell').allTextContents()).filter((text) => text !== '');
  expect(cells).toHaveLength(7 * 24);
  const total = page.getByRole('region', { name: 'Usage' }).getByRole('row', { name: /^Total/ });
  const requests = Number(await total.getByRole('cell').nth(1).textContent());
  expect(requests).toBeGreaterThan(1);
  expect(cells.reduce((sum, text) => sum + Number(text), 0)).toBe(requests);
  await expectSameByKeyboard(page, cells);
  await page.getByText('No input came from a cache in this range.').waitFor();
  await page.getByRole('radio', { name: 'Client' }).click();
  await page.getByRole('heading', { name: 'Requests by client and day' }).waitFor();
  const series = page.locator('li > button[aria-pressed]').first();
  await series.click();
  await page.waitForURL(/by=client.*series=/);
  await page.reload();
  await page.locator('li > button[aria-pressed=true]').waitFor();
  await page.getByRole('radio', { name: 'Hour' }).click();
  await page
    .getByRole('row', { name: /GMT\+5:45/ })
    .first()
    .waitFor();
  const href = (await page.getByRole('link', { name: 'Export CSV' }).getAttribute('href')) ?? '';
  const file = await (await page.request.get(href)).text();
  expect(file).toMatch(/^hour,requests,[^\r]*\r\n\d{4}-\d\d-\d\dT\d\d:00\+05:45,/);
  expect(abroad.pageErrors).toEqual([]);
  await abroad.context.close();
});

/** Walks to the busiest hour with the arrow keys, and hears its figure. */
async function expectSameByKeyboard(page: Page, cells: readonly string[]): Promise<void> {
  const most = Math.max(...cells.map(Number));
  const place = cells.findIndex((text) => Number(text) === most);
  const group = page.getByRole('group', { name: /^Requests by weekday and hour/ });
  await group.focus();
  await page.keyboard.press('ArrowRight');
  for (let day = 0; day < Math.floor(place / 24); day++) await page.keyboard.press('ArrowDown');
  for (let hour = 0; hour < place % 24; hour++) await page.keyboard.press('ArrowRight');
  const said = (await group.getByRole('status').textContent()) ?? '';
  const day = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'][
    Math.floor(place / 24)
  ];
  expect(said).toMatch(new RegExp(`^${day}, .*: ${most}$`));
  // Requests were made within the last hours of the clock in Kathmandu, 5:45 ahead of UTC.
  const local = new Date(Date.now() + (5 * 60 + 45) * 60_000);
  const now = ((local.getUTCDay() + 6) % 7) * 24 + local.getUTCHours();
  expect([0, 1, 2]).toContain((now - place + 7 * 24) % (7 * 24));
}

test('usage leads to the log, which sorts and filters by its address, and the log to a receipt that adds up', async () => {
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
  const sortedBy = (name: string) => page.locator('th[aria-sort=descending]', { hasText: name });
  await sortedBy('Time').waitFor();
  await page.getByRole('button', { name: 'Cost', exact: true }).click();
  await sortedBy('Cost').waitFor();
  expect(page.url()).toContain('sort=-cost');
  await page.getByLabel('Search by ID, client or error').pressSequentially('nobody has this');
  await page.getByText('Try fewer words or other filters.').waitFor();
  await page.getByRole('button', { name: 'Clear search and filters' }).waitFor();
  // One step back takes away all that was typed, the next one the order.
  await page.goBack();
  await sortedBy('Cost').waitFor();
  expect(await page.getByLabel('Search by ID, client or error').inputValue()).toBe('');
  await page.goBack();
  await sortedBy('Time').waitFor();
  await page
    .getByRole('button', { name: /^Receipt of req_/ })
    .first()
    .click();
  const receipt = page.getByRole('dialog', { name: 'Receipt' });
  await receipt.getByText('Total', { exact: true }).waitFor();
  const { lines, sum, charged, held } = await readBill(receipt);
  const tokens = lines.map(({ quantity }) => (quantity === 1n ? 'token' : 'tokens'));
  expect(lines.map(({ item }) => item)).toEqual([`input ${tokens[0]}`, `output ${tokens[1]}`]);
  for (const { quantity, price, amount } of lines) expect(amount).toBe((quantity * price) / MILLION);
  const exact = lines.reduce((total, { amount }) => total + amount, 0n);
  expect(exact).toBeGreaterThan(0n);
  expect(sum).toBe(((exact + NANO - 1n) / NANO) * NANO);
  expect(charged).toBe(sum);
  expect(held).toBeGreaterThanOrEqual(charged);
  await receipt.getByRole('button', { name: 'Copy as curl' }).waitFor();
});

test('a receipt is a timeline, opens in the playground, and its link shows it to anybody without the account', async () => {
  const { page } = user;
  const receipt = page.getByRole('dialog', { name: 'Receipt' });
  const steps = await receipt.getByRole('list').getByRole('listitem').allTextContents();
  expect(steps.map((step) => step.replace(/^[≥+]?\s?[\d.,]+\s(?:ms|s)/, '').split('$')[0])).toEqual([
    'Admitted',
    expect.stringContaining('Attempt 1: house'),
    'Time to first token',
    'Answer complete',
    'Settled',
  ]);
  await receipt.getByRole('button', { name: 'Share' }).click();
  const dialog = page.getByRole('dialog', { name: 'Share this receipt' });
  await dialog.getByRole('button', { name: 'Create link' }).click();
  const link = new URL(await dialog.getByLabel('Link', { exact: true }).inputValue());
  const links = dialog.getByRole('region', { name: 'Your links to this receipt' });
  await links.getByText('works until').waitFor();
  const stranger = await environment.newSession();
  await stranger.page.goto(link.pathname + link.hash);
  await stranger.page.getByText('Attempt 1: house').waitFor();
  const shown = (await stranger.page.getByRole('main').textContent()) ?? '';
  expect(shown).not.toContain(EMAIL);
  await links.getByRole('button', { name: 'End the link' }).click();
  await links.getByText(/, ended /).waitFor();
  await dialog.getByLabel('Link', { exact: true }).waitFor({ state: 'hidden' });
  await dialog.getByRole('button', { name: 'Close' }).click();
  await stranger.page.reload();
  await stranger.page.getByText('This link has ended').waitFor();
  expect(stranger.pageErrors).toEqual([]);
  await stranger.context.close();
  await receipt.getByRole('link', { name: 'Open in playground' }).click();
  await page.getByLabel('Model').waitFor();
  expect(new URL(page.url()).searchParams.get('model')).toMatch(/ house-echo$/);
  expect(await page.getByLabel('Max tokens').inputValue()).toMatch(/^\d+$/);
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
    held: labelled('Held before the request'),
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

test('a customer’s charges open into the requests of their day, and lists are searched and sorted by their address, which a reload keeps', async () => {
  const { page } = user;
  await follow(page, '/app/billing');
  const statement = page.getByRole('region', { name: 'Transactions' });
  const search = page.getByRole('searchbox', { name: 'Search by reason or request ID' });
  await search.fill('%%');
  await page.waitForURL(/search=%25%25/);
  await page.getByText('Try fewer words or other filters.').waitFor();
  await page.reload();
  expect(await search.inputValue()).toBe('%%');
  await page.getByRole('button', { name: 'Clear search and filters' }).click();
  await statement.getByText('Credit', { exact: true }).first().waitFor();
  expect(new URL(page.url()).search).toBe('');
  await page.getByLabel('Kind').selectOption({ label: 'Charges' });
  await page
    .getByText(/^\d+ results?$/)
    .first()
    .waitFor();
  await statement.getByText('Credit', { exact: true }).first().waitFor({ state: 'detached' });
  const charges = statement.getByRole('link', { name: /^\d+ requests?$/ }).first();
  const [count] = /\d+/.exec((await charges.textContent()) ?? '') ?? [];
  await charges.click();
  await page.waitForURL(/\/app\/requests\?from=(\S+)&to=\1&zone=utc/);
  const requests = page.getByRole('region', { name: 'Requests' });
  await requests.locator('tbody tr').first().waitFor();
  expect(await requests.locator('tbody tr').count()).toBe(Number(count));

  await follow(admin.page, '/admin/accounts');
  const accounts = admin.page.getByRole('region', { name: 'Accounts' });
  await accounts.getByRole('button', { name: 'Email' }).click();
  await accounts.locator('th[aria-sort=ascending]', { hasText: 'Email' }).waitFor();
  const emails = (await accounts.locator('tbody tr td:first-child').allTextContents()).map((text) => text);
  expect(emails.length).toBeGreaterThan(1);
  expect(emails).toEqual(emails.toSorted());
  await admin.page.getByRole('searchbox').fill('DORA@');
  await accounts.getByRole('row').nth(2).waitFor({ state: 'detached' });
  await admin.page.reload();
  await accounts.getByText(EMAIL).waitFor();
  expect(await accounts.locator('tbody tr').count()).toBe(1);
  expect(await admin.page.getByRole('searchbox').inputValue()).toBe('DORA@');
  expect(new URL(admin.page.url()).searchParams.get('sort')).toBe('account');
});

test('a model is one choice however many endpoints sell it, and both choices are remembered', async () => {
  const { page } = user;
  await page.goto('/app/playground');
  const model = page.getByLabel('Model');
  await model.locator('option', { hasText: 'House Echo' }).first().waitFor({ state: 'attached' });
  const names = await model.locator('option').allTextContents();
  expect(names.filter((name) => name === 'House Echo')).toHaveLength(1);
  await model.selectOption({ label: 'House Echo' });
  const endpoint = page.getByLabel('Endpoint');
  await endpoint.selectOption('svcv3_chat house-echo');
  await page.reload();
  expect(await endpoint.inputValue()).toBe('svcv3_chat house-echo');
  expect(await model.locator('option:checked').textContent()).toBe('House Echo');
});

test('replacing the token refuses the old one at once, and another tab shows the new one', async () => {
  const { page } = user;
  const other = await user.context.newPage();
  await other.goto('/app/key');
  await other.getByText(token.slice(-4)).waitFor();
  await follow(page, '/app/key');
  await page.getByRole('button', { name: 'Replace' }).click();
  await page.getByRole('button', { name: 'Replace now' }).click();
  const next = await takeToken(page);
  expect(next).not.toBe(token);
  await other.getByText(next.slice(-4)).waitFor();
  await other.close();
  expect((await environment.gateway.chat(token, { model: 'house-echo' })).status).toBe(401);
  expect((await environment.gateway.chat(next, { model: 'house-echo' })).status).toBe(200);
});

test('the admin sees what needs attention and where requests go, the ledger is consistent, and the action is in the audit log', async () => {
  const { page } = admin;
  await follow(page, '/admin');
  await page.getByRole('heading', { name: 'Needs attention' }).waitFor();
  const figures = page.getByRole('region', { name: 'Figures' });
  await figures
    .getByText(/^vs\. \$0\.00 in the previous 7 days$/)
    .first()
    .waitFor();
  await follow(page, '/admin/traffic');
  // Every node of the picture can be reached and opened by keyboard.
  await page.getByRole('link', { name: /^house \d.*Backend house/ }).focus();
  await page.keyboard.press('Enter');
  await page.waitForURL('**/admin/backends');
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
  expect(text).toContain('the hold is released immediately');
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
  expect(await value('Held before the request')).toBeGreaterThanOrEqual(charged);
  expect(await value('Available now')).toBeCloseTo(10 - charged, 9);
}
