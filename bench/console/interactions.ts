import type { Page } from 'playwright-core';
import { launchChromium } from '../../test/browser/browser-environment.ts';
import { percentiles, type Took } from './client.ts';
import { ADMIN, CUSTOMER, PASSWORD } from './fill.ts';

const ROUNDS = 10;
const WAIT_MS = 60_000;

interface Interaction {
  readonly title: string;
  /** Where it begins; not measured. */
  readonly from: string;
  act(page: Page): Promise<unknown>;
  /** Text or role that is only there when it is done. */
  done(page: Page): Promise<unknown>;
}

const rows = (page: Page): Promise<unknown> => page.locator('tbody tr').first().waitFor();
const follow = (path: string) => (page: Page) => page.evaluate((to) => history.pushState(null, '', to), path);
const heading = (name: string) => (page: Page) => page.getByRole('heading', { level: 1, name }).waitFor();
const address = (part: string) => (page: Page) =>
  page.waitForFunction((text) => location.search.includes(text), part);
const sorted = (name: string) => async (page: Page) => {
  await page.locator('th[aria-sort=descending]', { hasText: name }).waitFor();
  await rows(page);
};

const CUSTOMERS: readonly Interaction[] = [
  { title: 'open Overview', from: '/app/key', act: follow('/app'), done: heading('Overview') },
  { title: 'open Usage', from: '/app/key', act: follow('/app/usage'), done: rows },
  {
    title: 'Usage: the last 90 days',
    from: '/app/usage',
    act: (page) => page.getByText('Last 90 days').click(),
    done: address('days=90'),
  },
  {
    title: 'Usage: by endpoint',
    from: '/app/usage',
    act: (page) => page.getByText('Endpoint', { exact: true }).first().click(),
    done: (page) => page.locator('td code').first().waitFor(),
  },
  {
    title: 'Usage: by client',
    from: '/app/usage',
    act: (page) => page.getByText('Client', { exact: true }).first().click(),
    done: (page) => page.getByText('OpenAI/Python', { exact: true }).last().waitFor(),
  },
  {
    title: 'Usage: sort by requests',
    from: '/app/usage',
    act: (page) => page.getByRole('columnheader', { name: 'Requests' }).getByRole('button').click(),
    done: sorted('Requests'),
  },
  { title: 'open Requests', from: '/app/key', act: follow('/app/requests'), done: rows },
  {
    title: 'Requests: sort by cost',
    from: '/app/requests',
    act: (page) => page.getByRole('columnheader', { name: 'Cost' }).getByRole('button').click(),
    done: sorted('Cost'),
  },
  {
    title: 'Requests: only failures',
    from: '/app/requests',
    act: (page) => page.getByLabel('Status').selectOption('failed'),
    done: address('status=failed'),
  },
  {
    title: 'Requests: open a receipt',
    from: '/app/requests',
    act: (page) =>
      page
        .getByRole('button', { name: /^Receipt of/ })
        .first()
        .click(),
    done: (page) => page.getByRole('dialog').getByText('Total').first().waitFor(),
  },
  { title: 'open Billing', from: '/app/key', act: follow('/app/billing'), done: heading('Billing') },
];

const ADMINS: readonly Interaction[] = [
  { title: 'open Accounts', from: '/admin/settings', act: follow('/admin/accounts'), done: rows },
  { title: 'open all Requests', from: '/admin/settings', act: follow('/admin/requests'), done: rows },
  {
    title: 'all Requests: sort by duration',
    from: '/admin/requests',
    act: (page) => page.getByRole('columnheader', { name: 'Duration' }).getByRole('button').click(),
    done: sorted('Duration'),
  },
  { title: 'open Margin', from: '/admin/settings', act: follow('/admin/margin'), done: rows },
  { title: 'open refused calls', from: '/admin/settings', act: follow('/admin/refused'), done: rows },
  { title: 'open Ledger', from: '/admin/settings', act: follow('/admin/ledger'), done: rows },
  { title: 'open Messages', from: '/admin/settings', act: follow('/admin/messages'), done: rows },
  { title: 'open Audit', from: '/admin/settings', act: follow('/admin/audit'), done: rows },
];

/** Each interaction in a real browser, from the act to the frame in which its result is painted. */
export async function timeInteractions(url: string, folder: string): Promise<Map<string, Took>> {
  const browser = await launchChromium(folder);
  try {
    const took = new Map<string, Took>();
    for (const [who, email, list] of [
      ['account', CUSTOMER, CUSTOMERS],
      ['admin', ADMIN, ADMINS],
    ] as const) {
      const context = await browser.newContext({
        baseURL: url,
        locale: 'en-US',
        viewport: { width: 1280, height: 800 },
      });
      context.setDefaultTimeout(WAIT_MS);
      const page = await context.newPage();
      await signInAs(page, email);
      for (const one of list) took.set(`${who}: ${one.title}`, { ...(await timed(page, one)), bytes: 0 });
      await context.close();
    }
    return took;
  } finally {
    await browser.close();
  }
}

async function signInAs(page: Page, email: string): Promise<void> {
  await page.goto('/sign-in');
  await page.getByLabel('Email').fill(email);
  await page.getByLabel('Password').fill(PASSWORD);
  await page.keyboard.press('Enter');
  await page.waitForURL('**/app');
}

async function timed(page: Page, { from, act, done }: Interaction): Promise<{ median: number; p95: number }> {
  const took: number[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    // Loaded anew: the data of the round before is not in the page's memory any more.
    await page.goto(from);
    await page.locator('h1').first().waitFor();
    await page.waitForLoadState('networkidle');
    const start = performance.now();
    await act(page);
    await done(page);
    await page.evaluate(nextFrame);
    // The first round loads the page's code, as the first visit does.
    if (round > 0) took.push(performance.now() - start);
  }
  return percentiles(took);
}

/** Runs in the page. */
function nextFrame(): Promise<unknown> {
  return new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 0)));
}
