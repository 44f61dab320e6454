import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import type { AccountId } from '../../src/std/ids.ts';
import { setUpAdmin, signUp } from './user-steps.ts';
import { settled, BrowserEnvironment, type BrowserSession } from './browser-environment.ts';

/** What a new customer sees first, on a real server in a real browser. */
let environment: BrowserEnvironment;
let admin: BrowserSession;
let customer: BrowserSession;
const EMAIL = 'new@example.com';
const ALARM = '.barrier, .bg-bad-soft, .bg-warn-soft';

beforeAll(async () => {
  environment = await BrowserEnvironment.open();
  admin = await setUpAdmin(environment);
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
  expect(await steps(customer).nth(0).textContent()).toContain('Add funds to make your first request');
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
  await notice.getByRole('link', { name: 'Add funds' }).waitFor();
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

const ECHO = '/app/playground?model=svc_chat+house-echo';

async function say(page: Page, text: string): Promise<void> {
  await page.getByLabel('Message').fill(text);
  await page.keyboard.press('Enter');
}

test('an answer by a schema is checked against it, and a wrong schema is told beside its field and not sent', async () => {
  const { page } = customer;
  await page.goto(ECHO);
  await page.getByRole('radio', { name: 'JSON schema', exact: true }).click();
  await page.getByText('Write the JSON schema first.').waitFor();
  await page.getByRole('button', { name: 'Example: contact' }).click();
  await say(page, 'Eva, eva@example.com');
  await page.getByText('Matches the schema').waitFor();
  expect(await page.getByLabel('JSON answer').textContent()).toContain('"name": "name"');
  const schema = page.getByLabel('JSON schema of the answer');
  const sent: string[] = [];
  page.on('request', (request) => sent.push(new URL(request.url()).pathname));
  await schema.fill('{"type":"object","properties":{"a":{"type":"strin"}}}');
  await page.getByRole('alert').getByText('properties.a.type: "strin" is not a type.').waitFor();
  expect(await schema.getAttribute('aria-invalid')).toBe('true');
  await say(page, 'again');
  expect(await page.getByRole('button', { name: 'Send' }).isDisabled()).toBe(true);
  await schema.fill('{"type":"object","properties":{"a":{"type":"string","pattern":"^[0-9]+$"}}}');
  await say(page, 'again');
  await page.getByText('Does not match the schema in 1 place').waitFor();
  await page.getByText('a: must match ^[0-9]+$').waitFor();
  expect(sent.filter((path) => path.endsWith('/playground/chat'))).toHaveLength(1);
  await say(page, '/long 5');
  await page.getByText('Not valid JSON').waitFor();
  await page.getByRole('button', { name: 'Get code' }).click();
  await page.getByRole('tab', { name: 'Python' }).click();
  expect(await page.getByRole('dialog').locator('pre').textContent()).toContain('response_format={');
  await page.keyboard.press('Escape');
  expect(customer.pageErrors).toEqual([]);
});

test('with the keyboard alone a tool is added, called by the model, answered, and kept with the chat', async () => {
  const { page } = customer;
  await page.goto(ECHO);
  await settled(page);
  const tabTo = async (role: 'button' | 'textbox', name: string): Promise<void> => {
    const wanted = await page.getByRole(role, { name, exact: true }).first().elementHandle();
    for (let step = 0; step < 150; step++) {
      if (await wanted?.evaluate((element) => element === document.activeElement)) return;
      await page.keyboard.press('Tab');
    }
    throw new Error(`the keyboard does not reach ${name}`);
  };
  await tabTo('button', 'Add a tool');
  await page.keyboard.press('Enter');
  await page.keyboard.type('get weather');
  await page.getByRole('alert').getByText('Use letters, digits, _ and - only.').waitFor();
  await tabTo('button', 'Use an example');
  await page.keyboard.press('Enter');
  await tabTo('button', 'Save');
  await page.keyboard.press('Enter');
  await page.getByText('House Echo calls a tool when you write “/tool get_weather”.').waitFor();
  await tabTo('textbox', 'Message');
  await page.keyboard.type('/tool get_weather {"city":"Oslo"}');
  await page.keyboard.press('Enter');
  const call = page.getByRole('region', { name: 'Calls get_weather' });
  await call.getByText('"Oslo"').waitFor();
  await page.getByText(/first token/).waitFor();
  await tabTo('textbox', 'Result of get_weather');
  await page.keyboard.type('21 degrees');
  await tabTo('button', 'Send the result');
  await page.keyboard.press('Enter');
  await page.getByText('The tool get_weather answered: 21 degrees').waitFor();
  await page
    .getByText(/first token/)
    .nth(1)
    .waitFor();
  await page.goto('/app/playground');
  await page.getByRole('button', { name: 'Chats', exact: true }).click();
  await page.getByRole('button', { name: /^\/tool get_weather/ }).click();
  await call.getByText('21 degrees').waitFor();
  await page.getByRole('button', { name: 'Remove get_weather' }).waitFor();
  expect(customer.pageErrors).toEqual([]);
});

test('files are attached by button, drag and paste, counted before sending, removed and sent', async () => {
  const { page } = customer;
  await page.goto(ECHO);
  await settled(page);
  await page.getByText('Text files up to 100 kB, images and PDF up to 8 MB').waitFor();
  const list = page.getByRole('list', { name: 'Attached files' });
  await page.locator('input[type=file]').setInputFiles([
    { name: 'orders.csv', mimeType: 'text/csv', buffer: Buffer.from('id;sum\n1;2\n') },
    { name: 'paper.pdf', mimeType: 'application/pdf', buffer: Buffer.from('%PDF-1.4 a paper') },
    { name: 'archive.zip', mimeType: 'application/zip', buffer: Buffer.from([80, 75, 0, 255]) },
  ]);
  await page.getByText('archive.zip is neither text, an image nor a PDF file.').waitFor();
  await list.getByText('paper.pdf').waitFor();
  const atMost = page.getByText(/^At most \$/);
  const withTwo = await atMost.textContent();
  await give(page, 'drop', { name: 'notes.md', text: `# Notes\n${'a word and another\n'.repeat(200)}` });
  await list.getByText('notes.md').waitFor();
  await page.waitForFunction((before) => {
    const now = [...document.querySelectorAll('[role=status]')].map((one) => one.textContent);
    return now.some((text) => text?.startsWith('At most $') && text !== before);
  }, withTwo);
  await give(page, 'paste', { name: 'pasted.txt', text: 'from the clipboard' });
  await list.getByText('pasted.txt').waitFor();
  await list.getByRole('button', { name: 'Remove notes.md' }).click();
  expect(await list.getByRole('listitem').allTextContents()).toEqual([
    'orders.csv11 B',
    'paper.pdf16 B',
    'pasted.txt18 B',
  ]);
  const sending = page.waitForRequest(/\/playground\/chat\?wallet=own$/);
  await say(page, '/see');
  const { messages } = (await sending).postDataJSON() as { messages: { content: unknown }[] };
  expect(messages.at(-1)?.content).toEqual([
    {
      type: 'text',
      text: '/see\n\nFile "orders.csv":\n```\nid;sum\n1;2\n```\n\nFile "pasted.txt":\n```\nfrom the clipboard\n```',
    },
    {
      type: 'file',
      file: {
        filename: 'paper.pdf',
        file_data: `data:application/pdf;base64,${Buffer.from('%PDF-1.4 a paper').toString('base64')}`,
      },
    },
  ]);
  await page.getByText('application/pdf, 16 bytes').waitFor();
  await list.waitFor({ state: 'hidden' });
});

test('a model that takes no PDF is not sent one', async () => {
  const { page } = customer;
  await page.goto('/app/playground?model=svc_chat+house-guide');
  await page.getByText('Text files up to 100 kB', { exact: true }).waitFor();
  await page
    .locator('input[type=file]')
    .setInputFiles({ name: 'paper.pdf', mimeType: 'application/pdf', buffer: Buffer.from('%PDF-1.4') });
  await page.getByText('House Guide does not accept PDF files.').waitFor();
  expect(await page.getByRole('button', { name: 'Send' }).isDisabled()).toBe(true);
  await page.getByRole('button', { name: 'Remove paper.pdf' }).click();
  await page.getByText('Text files up to 100 kB', { exact: true }).waitFor();
  expect(customer.pageErrors).toEqual([]);
});

test('an operator closes the public pages with a switch, and the start page no longer leads to them', async () => {
  const { page } = admin;
  const leads = page.locator('a:is([href="/models"], [href="/status"], [href="/llms.txt"])');
  await page.goto('/');
  await leads.nth(2).waitFor();
  await page.goto('/admin/settings');
  const open = page.getByRole('switch', { name: 'Anyone can see models, prices and status' });
  await open.click();
  await page.getByText('The public pages are closed.').waitFor();
  await page.goto('/');
  await settled(page);
  expect(await leads.count()).toBe(0);
  await page.goto('/admin/settings');
  expect(await open.getAttribute('aria-checked')).toBe('false');
  await open.click();
  await page.getByText('The public pages are open.').waitFor();
  await page.goto('/');
  await leads.nth(2).waitFor();
  expect(admin.pageErrors).toEqual([]);
});

/** A file dropped on the message, or pasted into it. */
async function give(page: Page, how: 'drop' | 'paste', file: { name: string; text: string }): Promise<void> {
  await page.getByLabel('Message').evaluate(
    (field, { event, name, text }) => {
      const data = new DataTransfer();
      data.items.add(new File([text], name, { type: 'text/plain' }));
      const options = { bubbles: true, cancelable: true };
      field.dispatchEvent(
        event === 'drop'
          ? new DragEvent('drop', { ...options, dataTransfer: data })
          : new ClipboardEvent('paste', { ...options, clipboardData: data }),
      );
    },
    { event: how, ...file },
  );
}
