import { afterAll, beforeAll, expect, test } from 'bun:test';
import { createHmac } from 'node:crypto';
import decodeQr from 'qr/decode.js';
import type { Locator } from 'playwright-core';
import { eventually } from '../support/node-process.ts';
import { confirmIfAsked, PASSWORD, setUpAdmin, signUp, takeToken } from './user-steps.ts';
import { follow, settled, BrowserEnvironment, type BrowserSession } from './browser-environment.ts';

/** What the walk-through leaves out: shortcuts, dialogs, the second factor, the catalog editor, the other language. */
let environment: BrowserEnvironment;
let admin: BrowserSession;
let user: BrowserSession;
const EMAIL = 'kim@example.com';

beforeAll(async () => {
  environment = await BrowserEnvironment.open();
  admin = await setUpAdmin(environment);
  user = await signUp(environment, EMAIL);
});

afterAll(async () => {
  await environment.close();
});

test('the palette finds a page and a model, and g with a letter goes there', async () => {
  const { page } = user;
  await page.keyboard.press('Control+k');
  await page.getByRole('dialog').waitFor();
  await page.keyboard.type('billing');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/app/billing');
  await page.keyboard.press('Control+k');
  await page.getByRole('dialog').waitFor();
  await page.keyboard.type('house-paint');
  await page.getByRole('dialog').getByRole('option').first().waitFor();
  await page.keyboard.press('Enter');
  await page.waitForURL('**/app/models/**');
  await page.keyboard.press('g');
  await page.keyboard.press('u');
  await page.waitForURL('**/app/usage');
});

test('a dialog keeps the focus, returns it, and closes with Escape', async () => {
  const { page } = admin;
  await follow(page, '/admin/accounts');
  const opener = page.getByRole('button', { name: 'New account' });
  await opener.focus();
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog', { name: 'New account' });
  await dialog.waitFor();
  expect(await dialog.getByLabel('Email').evaluate((input) => input === document.activeElement)).toBe(true);
  for (let press = 0; press < 12; press++) await page.keyboard.press('Tab');
  expect(
    await page.evaluate(
      () => document.activeElement?.closest('dialog') !== null || document.activeElement === document.body,
    ),
  ).toBe(true);
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'hidden' });
  expect(await opener.evaluate((button) => button === document.activeElement)).toBe(true);
});

test('an action that needs a fresh confirmation asks for the password and then continues by itself', async () => {
  const { page } = user;
  let asked = 0;
  await page.route('**/api/console/token', async (route) => {
    if (route.request().method() !== 'POST' || asked++ > 0) return await route.continue();
    const error = { code: 'confirmation_required', message: 'Confirm your password.', param: null };
    return await route.fulfill({
      status: 403,
      contentType: 'application/json',
      body: JSON.stringify({ error }),
    });
  });
  await follow(page, '/app/key');
  await page.getByRole('button', { name: 'Create token' }).click();
  const dialog = page.getByRole('dialog', { name: 'Confirm it’s you' });
  await dialog.getByLabel('Password').fill('not the password');
  await dialog.getByRole('button', { name: 'Confirm' }).click();
  await dialog.getByRole('alert').waitFor();
  await dialog.getByLabel('Password').fill(PASSWORD);
  await dialog.getByRole('button', { name: 'Confirm' }).click();
  await dialog.waitFor({ state: 'hidden' });
  await takeToken(page);
  await page.unroute('**/api/console/token');
});

test('the second factor is set up with an app, required at sign-in, and a backup code replaces it once', async () => {
  const { page } = user;
  await follow(page, '/app/settings');
  await page.getByRole('button', { name: 'Turn on' }).click();
  await page.getByRole('dialog').getByLabel('Password').fill(PASSWORD);
  await page.keyboard.press('Enter');
  const enrol = page.getByRole('dialog', { name: 'Scan with your authenticator app' });
  const scanned = new URL(await scan(enrol.getByRole('img', { name: 'QR code for the authenticator app' })));
  const secret = ((await enrol.locator('code').first().textContent()) ?? '').replaceAll(' ', '');
  expect(scanned.searchParams.get('secret')).toBe(secret);
  expect(decodeURIComponent(scanned.pathname)).toEndWith(`:${EMAIL}`);
  const backup = ((await enrol.locator('li').first().textContent()) ?? '').trim();
  await enrol.getByRole('textbox', { name: 'Code' }).fill(totp(secret));
  await enrol.getByRole('button', { name: 'Verify' }).click();
  await page.getByText('Two-factor authentication is on').first().waitFor();

  const elsewhere = await environment.newSession();
  await signInAgain(elsewhere);
  await elsewhere.page.getByLabel('Code').fill(totp(secret));
  await elsewhere.page.getByRole('button', { name: 'Verify' }).click();
  await elsewhere.page.waitForURL('**/app');
  await elsewhere.context.close();

  const lostPhone = await environment.newSession();
  await signInAgain(lostPhone);
  await lostPhone.page.getByRole('button', { name: 'Use a backup code instead' }).click();
  await lostPhone.page.getByLabel('Backup code').fill(backup);
  await lostPhone.page.getByRole('button', { name: 'Verify' }).click();
  await lostPhone.page.waitForURL('**/app');
  await lostPhone.context.close();
});

test('the catalog is edited with messages, a preview and a history', async () => {
  const { page } = admin;
  await follow(page, '/admin/catalog?view=edit');
  const text = page.getByLabel('Catalog in YAML');
  const yaml = await text.inputValue();
  await text.fill(yaml.replace(/display_name: House Guide/, 'display_name: ""'));
  await page.getByRole('button', { name: 'Check and preview' }).click();
  await page.getByText(/^\d+ problems?$/).waitFor();
  await page
    .getByText(/^Line \d+$/)
    .first()
    .waitFor();
  await text.fill(yaml.replace(/display_name: House Guide/, 'display_name: Our Guide'));
  await page.getByRole('button', { name: 'Check and preview' }).click();
  await page.getByRole('heading', { name: 'What will change' }).waitFor();
  await page.getByLabel('Note for the history').fill('our own name');
  await leaveAdminSessionOpen();
  await page.getByRole('button', { name: 'Publish', exact: true }).click();
  const dialog = page.getByRole('dialog', { name: 'Confirm it’s you' });
  await dialog.getByLabel('Password').fill(PASSWORD);
  await dialog.getByRole('button', { name: 'Confirm' }).click();
  await page.getByText(/^Published\./).waitFor();
  await page.getByRole('tab', { name: 'History' }).click();
  await page.getByText('our own name').waitFor();
  await page.getByText(/^Changed the name of \d models from House Guide to Our Guide: svc_chat/).waitFor();
  await user.page.goto('/app/models');
  await user.page.getByText('Our Guide').first().waitFor();
});

test('a provider key is stored with its host, which is known for common names', async () => {
  const { page } = admin;
  await follow(page, '/admin/catalog?view=keys');
  const host = page.getByLabel('Host');
  await page.getByLabel('Name').fill('OPENAI_API_KEY');
  expect(await host.inputValue()).toBe('https://api.openai.com');
  await page.getByLabel('Name').fill('TEAM_API_KEY');
  expect(await host.inputValue()).toBe('');
  await host.fill('llm.example.com/v1');
  await page.getByLabel('Value').fill('sk-team-0123456789');
  await page.getByRole('button', { name: 'Save' }).click();
  await confirmIfAsked(page, page.getByText('https://llm.example.com', { exact: true }));
});

/** An hour passes for the sessions of admins. */
async function leaveAdminSessionOpen(): Promise<void> {
  const { db } = environment.gateway.tollgate.services.store;
  const admins = db.selectFrom('account').select('id').where('role', '=', 'admin');
  const createdAt = new Date(Date.now() - 3_600_000).toISOString();
  await db
    .updateTable('auth_session')
    .set({ createdAt, confirmedAt: null })
    .where('userId', 'in', admins)
    .execute();
}

test('a catalog file of the operator is shown and cannot be edited', async () => {
  const own = await BrowserEnvironment.open({ yaml: FILE });
  try {
    const keeper = await setUpAdmin(own);
    await keeper.page.goto('/admin/catalog');
    await keeper.page.getByText(/^The catalog is read from .*tollgate\.yaml/).waitFor();
    await keeper.page.getByRole('tab', { name: 'YAML' }).click();
    await keeper.page.getByText('House Echo').first().waitFor();
    expect(await keeper.page.getByRole('button', { name: 'Check and preview' }).count()).toBe(0);
  } finally {
    await own.close();
  }
});

test('the language changes at once and is remembered', async () => {
  const { page } = user;
  await follow(page, '/app/settings');
  await page.getByLabel('Language').selectOption('de');
  await page.getByRole('heading', { name: 'Einstellungen' }).waitFor();
  await page.reload();
  await page.getByRole('heading', { name: 'Einstellungen' }).waitFor();
  expect(await page.locator('html').getAttribute('lang')).toBe('de');
});

test('a first page weighs less than 250 kB of JavaScript, whichever it is', async () => {
  const storageState = await admin.context.storageState();
  const paths = ['/', '/app', '/app/playground', '/admin', '/docs/reference'];
  const heavy = await Promise.all(
    paths.map(async (path) => {
      const { page, context } = await environment.newSession({ storageState });
      const scripts: Promise<number>[] = [];
      page.on('response', (response) => {
        if (response.headers()['content-type']?.startsWith('text/javascript')) {
          scripts.push(response.body().then((body) => Bun.gzipSync(new Uint8Array(body)).length));
        }
      });
      await page.goto(path);
      await settled(page);
      const bytes = (await Promise.all(scripts)).reduce((sum, length) => sum + length, 0);
      await context.close();
      return bytes > 50_000 && bytes < 250_000 ? [] : [`${path}: ${bytes} bytes`];
    }),
  );
  expect(heavy.flat()).toEqual([]);
});

test('the code of the pages that an operator is led to is loaded while the first one is looked at', async () => {
  const storageState = await admin.context.storageState();
  const scriptsOf = async (savesData: boolean, paths: readonly string[]) => {
    const { page, context } = await environment.newSession({ storageState, savesData });
    const scripts = new Set<string>();
    page.on('requestfinished', (request) => {
      if (request.resourceType() === 'script') scripts.add(new URL(request.url()).pathname);
    });
    await page.goto('/admin/settings');
    await settled(page);
    for (const path of paths) await follow(page, path);
    return { scripts, context };
  };
  const visited = await scriptsOf(true, ['/admin/accounts', '/admin/prices']);
  const looking = await scriptsOf(false, []);
  await eventually('all of it is loaded', () => visited.scripts.isSubsetOf(looking.scripts));
  for (const { context } of [visited, looking]) await context.close();
});

test('a page whose code has been loaded is there after two frames, and nothing stands in for it meanwhile', async () => {
  const { page } = admin;
  await page.goto('/app/key');
  await settled(page);
  const headings = await page.evaluate(async () => {
    const seen: string[] = [];
    for (const path of ['/app/models', '/app/usage', '/app']) {
      history.pushState(null, '', path);
      for (const _frame of [1, 2]) await new Promise((resolve) => requestAnimationFrame(resolve));
      seen.push(document.querySelector('h1')?.textContent ?? '');
    }
    return seen;
  });
  expect(headings).toEqual(['Models', 'Usage', 'Overview']);
});

test('whatever a browser could show as a page has the rules of one, and is never taken for another type', async () => {
  const { page, context } = await environment.newSession();
  const faults: string[] = [];
  const kinds = new Set<string>();
  page.on('response', (response) => {
    const { 'content-type': type = '', ...headers } = response.headers();
    const isDocument = /html|svg/.test(type);
    kinds.add(isDocument ? 'document' : 'file');
    const hasRules = headers['content-security-policy']?.includes("script-src 'self';") === true;
    const isApi = type.startsWith('application/json');
    if ((isDocument && !hasRules) || headers['x-content-type-options'] !== 'nosniff')
      faults.push(response.url());
    // Fifty files of a first page would each carry half a kilobyte that no browser reads.
    if (!isDocument && !isApi && headers['content-security-policy'] !== undefined)
      faults.push(response.url());
  });
  await page.goto('/');
  await settled(page);
  const icon = await page.locator('link[rel=icon]').getAttribute('href');
  await page.goto(icon ?? '');
  await context.close();
  expect([faults, [...kinds].toSorted()]).toEqual([[], ['document', 'file']]);
});

test('no page has reported an error', () => {
  expect([...admin.pageErrors, ...user.pageErrors]).toEqual([]);
});

async function signInAgain({ page }: BrowserSession): Promise<void> {
  await page.goto('/sign-in');
  await page.getByLabel('Email').fill(EMAIL);
  await page.getByLabel('Password').fill(PASSWORD);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Two-factor authentication' }).waitFor();
}

/** What a camera reads from the code as it is on the screen. */
async function scan(code: Locator): Promise<string> {
  const picture = (await code.screenshot()).toString('base64');
  const { width, height, rgba } = await code.page().evaluate(async (base64) => {
    const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
    const bitmap = await createImageBitmap(new Blob([bytes], { type: 'image/png' }));
    const canvas = new OffscreenCanvas(bitmap.width, bitmap.height).getContext('2d');
    canvas?.drawImage(bitmap, 0, 0);
    const pixels = canvas?.getImageData(0, 0, bitmap.width, bitmap.height).data ?? [];
    return { width: bitmap.width, height: bitmap.height, rgba: Array.from(pixels) };
  }, picture);
  return decodeQr({ width, height, data: Uint8Array.from(rgba) }, { timeLimit: 60_000 });
}

/** RFC 6238 with the usual 30 seconds and six digits. */
function totp(secret: string): string {
  const bits = Array.from(secret, (letter) =>
    'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(letter).toString(2).padStart(5, '0'),
  ).join('');
  const key = Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000)));
  const digest = createHmac('sha1', key).update(counter).digest();
  const offset = (digest.at(-1) ?? 0) & 15;
  return String((digest.readUInt32BE(offset) & 0x7fffffff) % 1_000_000).padStart(6, '0');
}

const FILE = `upstreams:
  house: { kind: house }
lists:
  chat_models:
    - { model: house-echo, display_name: House Echo, input: 1, output: 2, context: 8000, max_output: 4000 }
endpoints:
  svc_chat: { name: primary chat, type: chat_completion, lists: [chat_models], upstreams: [house] }
`;
