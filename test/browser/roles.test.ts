import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Page, Route } from 'playwright-core';
import { ROUTES } from '../../src/console/routes.ts';
import { OPERATOR_RIGHTS, operatorMay, type OperatorRight } from '../../src/identity/accounts/roles.ts';
import type { OperatorRole } from '../../src/store/schema-services.ts';
import { BrowserEnvironment, follow, settled, type BrowserSession } from './browser-environment.ts';
import { PAGES } from './pages.ts';
import { PASSWORD, setUpAdmin, signUp } from './user-steps.ts';

/** A role is offered what it may do, and sees the rest as text: nobody finds out by being refused. */
let environment: BrowserEnvironment;
let owner: BrowserSession;
const EMAILS = { read: 'rita@example.com', support: 'sven@example.com', finance: 'fina@example.com' };
const CUSTOMER = 'nora@example.com';
const PAGES_WITH_CONTENT = [...PAGES.admin, '/admin/backends/spare', `/admin/accounts?search=${CUSTOMER}`];

beforeAll(async () => {
  environment = await BrowserEnvironment.open({ env: { SPARE_API_KEY: 'sk-spare' } });
  owner = await setUpAdmin(environment);
  const people = [CUSTOMER, ...Object.values(EMAILS)];
  for (const email of people) await (await signUp(environment, email)).context.close();
  await fill(owner.page);
});
afterAll(async () => {
  await environment.close();
});

for (const role of ['read', 'support', 'finance'] as const)
  test(`nothing that ${role} can press or send on any page is refused for the role`, async () => {
    const session = await signIn(EMAILS[role]);
    const { sent, refused } = await pressEverything(session, await shownTo(session.page));
    expect(sent.filter(({ may }) => !operatorMay(role, may)).map(({ name }) => name)).toEqual([]);
    expect(refused).toEqual([]);
    // Forms that are not sent for want of a right are not there.
    if (role === 'read') expect(sent.map(({ name }) => name)).toEqual([]);
    expect(session.pageErrors).toEqual([]);
    await session.context.close();
  });

test('the same presses by an owner send changes of every kind that pages offer', async () => {
  const { sent } = await pressEverything(owner, PAGES_WITH_CONTENT);
  const wanted = Object.keys(OPERATOR_RIGHTS).filter((right) => !right.startsWith('see_'));
  expect([...new Set(sent.map(({ may }): string => may))].sort()).toEqual(wanted.sort());
});

test('who may only look reads the settings, the prices and a backend as text, without fields', async () => {
  const { page, context } = await signIn(EMAILS.read);
  for (const [path, text] of [
    ['/admin/settings', 'Tollgate'],
    ['/admin/prices', 'house-guide'],
    ['/admin/backends/spare', 'https://spare.example.com/v1'],
    ['/admin/catalog?view=edit', 'spare.example.com'],
  ] as const) {
    await page.goto(path);
    await settled(page);
    await page.getByRole('main').getByText(text).first().waitFor();
    const fields = page.getByRole('main').locator('form:not([role=search]) :is(input, textarea, select)');
    expect([path, await fields.count()]).toEqual([path, 0]);
  }
  await context.close();
});

async function signIn(email: string): Promise<BrowserSession> {
  const session = await environment.newSession();
  const { page } = session;
  await page.goto('/sign-in');
  await page.getByLabel('Email').fill(email);
  await page.getByLabel('Password').fill(PASSWORD);
  await page.keyboard.press('Enter');
  await page.waitForURL('**/app');
  return session;
}

/** The pages to which the navigation leads the signed-in role. */
async function shownTo(page: Page): Promise<string[]> {
  await page.goto('/admin');
  await settled(page);
  const links = await page
    .locator('nav a[href^="/admin"]')
    .evaluateAll((all) => all.map((link) => link.getAttribute('href') ?? ''));
  return PAGES_WITH_CONTENT.filter((path) =>
    links.some((link) => (link === '/admin' ? path === link : path.startsWith(link))),
  );
}

interface Sent {
  readonly name: string;
  readonly may: OperatorRight;
}

/** Presses every button of each page and of the dialogs that open, with every field filled; no change arrives. */
async function pressEverything({ page, context }: BrowserSession, paths: readonly string[]) {
  const sent: Sent[] = [];
  const refused: string[] = [];
  page.on('response', (answer) => {
    if (answer.status() === 403) refused.push(new URL(answer.url()).pathname);
  });
  const hold = async (route: Route): Promise<void> => {
    const request = route.request();
    const operation = operationOf(request.method(), new URL(request.url()).pathname);
    if (!operation || request.method() === 'GET' || operation.may.startsWith('see_'))
      return await route.continue();
    sent.push(operation);
    await route.fulfill({ status: 400, json: { error: { code: 'invalid_field', message: 'not sent' } } });
  };
  await context.route('**/api/console/admin/**', hold);
  for (const path of paths) {
    await follow(page, '/docs/no-such-page');
    await follow(page, path);
    for (let round = 0; round < MOST_ROUNDS && (await page.evaluate(pressAll)); round++) await settled(page);
  }
  await context.unroute('**/api/console/admin/**', hold);
  return { sent, refused };
}

const MOST_ROUNDS = 60;

function operationOf(method: string, path: string): Sent | undefined {
  for (const { name, may } of ROUTES as readonly { name: string; may?: OperatorRight }[]) {
    const [verb = '', pattern = ''] = name.split(' ');
    const expression = new RegExp(`^${pattern.replaceAll(/\{\w+\}/g, '[^/]+')}$`);
    if (may && verb === method && expression.test(path)) return { name, may };
  }
  return undefined;
}

/** Runs in the page: false once everything was pressed. What is within a dialog comes first, and then it is closed. */
function pressAll(): boolean {
  const dialog = [...document.querySelectorAll('dialog[open]')].at(-1);
  const within = dialog ?? document.querySelector('main');
  const samples: Readonly<Record<string, string>> = {
    email: 'x@example.com',
    date: '2099-01-01',
    number: '3',
    search: '',
  };
  const write = (field: HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement, value: string): void => {
    Object.getOwnPropertyDescriptor(Object.getPrototypeOf(field), 'value')?.set?.call(field, value);
    for (const kind of ['input', 'change']) field.dispatchEvent(new Event(kind, { bubbles: true }));
  };
  for (const form of within?.querySelectorAll('form') ?? []) form.noValidate = true;
  for (const field of within?.querySelectorAll<HTMLInputElement>('form:not([role=search]) input') ?? [])
    if (field.value === '' && field.type !== 'file') write(field, samples[field.type] ?? '7');
  for (const field of dialog?.querySelectorAll('select') ?? []) {
    const other = [...field.options].find(({ value }) => value !== field.value);
    if (other && !field.dataset['pressed']) write(field, other.value);
    field.dataset['pressed'] = 'yes';
  }
  const buttons = [
    ...(within?.querySelectorAll<HTMLButtonElement>('button:enabled:not(th button)') ?? []),
  ].filter(
    (button) => !button.dataset['pressed'] && button.checkVisibility() && button.ariaLabel !== 'Close',
  );
  // In a dialog one after the other, the last first: each may ask again, and before that button is one to leave.
  for (const button of dialog ? buttons.slice(-1) : buttons) {
    button.dataset['pressed'] = 'yes';
    button.click();
  }
  if (buttons.length > 0) return true;
  dialog?.dispatchEvent(new Event('cancel', { cancelable: true }));
  return dialog !== undefined;
}

/** A backend with an address, its key stored beside, codes, an invitation, a webhook, a plan, a token and roles. */
async function fill(page: Page): Promise<void> {
  const send = async (method: string, path: string, data: object): Promise<unknown> => {
    const answer = await page.request.fetch(`/api/console/admin/${path}`, {
      method,
      data,
      headers: { 'sec-fetch-site': 'same-origin', 'idempotency-key': crypto.randomUUID() },
    });
    expect([path, answer.status(), answer.ok() || (await answer.text())]).toEqual([path, 200, true]);
    return await answer.json();
  };
  const { yaml } = (await send('GET', 'catalog', {})) as { yaml: string };
  const spare = `${yaml.replace(
    'upstreams:',
    'upstreams:\n  spare: { kind: openai, base_url: "https://spare.example.com/v1", api_key: "${SPARE_API_KEY}" }',
  )}groups:\n  vip: { factor: 0.5 }\n`;
  await send('POST', 'catalog', { yaml: spare, note: '', revision: 0 });
  await send('POST', 'catalog', {
    yaml: spare.replace('input: 0.10', 'input: 0.30'),
    note: '',
    revision: 2,
    from: Date.now() + 30 * 86_400_000,
  });
  await send('POST', 'codes', { amountUsd: '1', count: 2 });
  await send('POST', 'invites', {});
  await send('PUT', 'catalog/keys/UNUSED_API_KEY', { value: 'sk-unused', host: 'https://spare.example.com' });
  const { items } = (await send('GET', 'accounts', {})) as { items: { id: string; email: string }[] };
  const idOf = (email: string): string => items.find((item) => item.email === email)?.id ?? '';
  await send('POST', `accounts/${idOf(CUSTOMER)}/token`, {});
  for (const [role, email] of Object.entries(EMAILS) as [OperatorRole, string][])
    await send('PUT', `accounts/${idOf(email)}/role`, { role });
}
