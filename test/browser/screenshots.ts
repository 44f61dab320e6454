/**
 * Pictures of every page, for looking at: desk and phone, light and dark, on a server filled with traffic.
 *
 *   bun test/browser/screenshots.ts FOLDER [part of a path]
 *   bun test/browser/screenshots.ts --readme                 those of the README, into docs/images
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { seed } from '../../scripts/seed.ts';
import { readConfig } from '../../src/main/config.ts';
import { makePasswords } from '../../src/identity/sign-in/password.ts';
import { makeUsers } from '../../src/identity/sign-in/users.ts';
import { systemClock } from '../../src/std/clock.ts';
import { silentLog } from '../../src/std/log.ts';
import { openStore } from '../../src/store/store.ts';
import { startTollgate } from '../../src/main/compose.ts';
import { PAGES, RENDERED_PAGES, type Who } from './pages.ts';
import { PASSWORD } from './user-steps.ts';
import { launchChromium } from './browser-environment.ts';
import { UsageHours } from '../../src/activity/usage-hours.ts';
import { TenDaySums } from '../../src/activity/ten-day-sums.ts';
import { LEDGER_SQL } from '../../src/ledger/postgres/functions.ts';

const LOOKS: Record<string, BrowserContextOptions> = {
  'desk-light': { viewport: { width: 1280, height: 800 }, colorScheme: 'light' },
  'desk-dark': { viewport: { width: 1280, height: 800 }, colorScheme: 'dark' },
  'phone-light': {
    viewport: { width: 390, height: 844 },
    colorScheme: 'light',
    isMobile: true,
    hasTouch: true,
  },
  'phone-dark': {
    viewport: { width: 390, height: 844 },
    colorScheme: 'dark',
    isMobile: true,
    hasTouch: true,
  },
};

const EMAILS = { user: 'seed-0@example.com', admin: 'seed-admin@example.com' };

const README_IMAGES = join(import.meta.dir, '../../docs/images');

/** What is done on a page before it is shot. */
const README_PAGES: readonly {
  readonly name: string;
  readonly who: Who;
  readonly path: string;
  readonly prepare?: (page: Page) => Promise<unknown>;
}[] = [
  { name: 'cover', who: 'anybody', path: '/' },
  { name: 'overview', who: 'user', path: '/app' },
  { name: 'requests', who: 'user', path: '/app/requests' },
  { name: 'usage', who: 'user', path: '/app/usage' },
  { name: 'traffic', who: 'admin', path: '/admin/traffic' },
  {
    name: 'playground',
    who: 'user',
    path: '/app/playground?model=svc_chat+house-guide',
    prepare: async (page) => {
      await page.getByPlaceholder('Ask something…').fill('What is a hold, and when is it released?');
      await page.keyboard.press('Enter');
      await page.getByRole('link', { name: 'Receipt', exact: true }).waitFor();
    },
  },
  {
    name: 'images',
    who: 'user',
    path: '/app/playground?tab=images',
    prepare: async (page) => {
      await page.getByLabel('Prompt', { exact: true }).fill('A toll gate at dawn, in mist');
      await page.getByRole('button', { name: /^Generate/ }).click();
      await page.getByRole('link', { name: 'Receipt', exact: true }).waitFor();
    },
  },
];

const [target, part = ''] = process.argv.slice(2);
if (!target) throw new Error('usage: bun test/browser/screenshots.ts FOLDER [part of a path] | --readme');
const folder = mkdtempSync(join(tmpdir(), 'tollgate-screenshots-'));
const dataDir = join(folder, 'data');
await fill();
const tollgate = await startTollgate(readConfig({ TOLLGATE_DATA: dataDir, TOLLGATE_PORT: '0' }), silentLog);
const browser = await launchChromium(folder);
try {
  if (target === '--readme') await shootForReadme(browser);
  else {
    mkdirSync(target, { recursive: true });
    for (const who of ['anybody', 'user', 'admin'] as const) await shootAll(browser, who, target);
  }
} finally {
  await browser.close();
  await tollgate.stop(0);
  rmSync(folder, { recursive: true, force: true });
}
process.exit(0);

async function fill(): Promise<void> {
  const store = await openStore({
    dataDir,
    databaseUrl: undefined,
    log: silentLog,
    clock: systemClock,
    ledgerSql: LEDGER_SQL,
  });
  const { busyAccount } = await seed(store, { requests: 20_000, accounts: 60, days: 60, now: Date.now() });
  const hours = new UsageHours({ store, clock: systemClock });
  while (!(await hours.count()));
  const tenDays = new TenDaySums({ store, clock: systemClock });
  while (!(await tenDays.count()));
  const users = makeUsers({ store, passwords: makePasswords(), clock: systemClock });
  await users.setPassword(busyAccount, PASSWORD);
  await users.create({ email: EMAILS.admin, password: PASSWORD, role: 'admin' });
  await store.close();
}

async function shootAll(from: Browser, who: Who, into: string): Promise<void> {
  const pages: readonly string[] = who === 'anybody' ? [...PAGES.anybody, ...RENDERED_PAGES] : PAGES[who];
  const paths = pages.filter((path) => path.includes(part));
  if (paths.length === 0) return;
  const state = who === 'anybody' ? {} : { storageState: await signIn(from, EMAILS[who]) };
  for (const [look, options] of Object.entries(LOOKS)) {
    const context = await from.newContext({ baseURL: tollgate.url, locale: 'en-US', ...options, ...state });
    const page = await context.newPage();
    for (const path of paths) {
      await open(page, path);
      const name = path.replaceAll(/\W+/g, '-').replaceAll(/^-|-$/g, '') || 'cover';
      await page.screenshot({ path: join(into, `${name}.${look}.png`) });
    }
    await context.close();
  }
}

async function open(page: Page, path: string): Promise<void> {
  await page.goto(path);
  await page.locator('h1').first().waitFor();
  await page.waitForLoadState('networkidle');
}

async function shootForReadme(from: Browser): Promise<void> {
  for (const { name, who, path, prepare } of README_PAGES) {
    const state = who === 'anybody' ? {} : { storageState: await signIn(from, EMAILS[who]) };
    const look = { ...LOOKS['desk-light'], baseURL: tollgate.url, locale: 'en-US' };
    const context = await from.newContext({ ...look, ...state });
    const page = await context.newPage();
    await open(page, path);
    await prepare?.(page);
    await page.waitForLoadState('networkidle');
    await page.screenshot({ path: join(README_IMAGES, `${name}.png`) });
    await context.close();
  }
}

async function signIn(from: Browser, email: string) {
  const context = await from.newContext({ baseURL: tollgate.url, locale: 'en-US' });
  const page = await context.newPage();
  await page.goto('/sign-in');
  await page.getByLabel('Email').fill(email);
  await page.getByLabel('Password').fill(PASSWORD);
  await page.keyboard.press('Enter');
  await page.waitForURL('**/app');
  const state = await context.storageState();
  await context.close();
  return state;
}
