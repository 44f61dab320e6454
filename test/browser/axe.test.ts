import { afterAll, beforeAll, expect, test } from 'bun:test';
import axe from 'axe-core';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { PAGES, type Who } from './pages.ts';
import { creditAs, setUpAdmin, signUp, takeToken } from './people.ts';
import { Stage } from './support.ts';

/** No page may have a serious accessibility fault, in either theme, on a desk or on a phone. */
let stage: Stage;
const EMAIL = 'ada@example.com';
const signedIn = new Map<Who, BrowserContextOptions['storageState']>();

/** Colours differ by theme and structure by width; checking each where it differs keeps the run short. */
const EVERYTHING = { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] };
const CONTRAST = { runOnly: { type: 'rule', values: ['color-contrast'] } };
const STRUCTURE = { ...EVERYTHING, rules: { 'color-contrast': { enabled: false } } };

const LOOKS: readonly {
  readonly name: string;
  readonly options: BrowserContextOptions;
  readonly rules: object;
}[] = [
  { name: 'light', options: { colorScheme: 'light' }, rules: EVERYTHING },
  { name: 'dark', options: { colorScheme: 'dark' }, rules: CONTRAST },
  {
    name: 'on a phone',
    options: { colorScheme: 'light', viewport: { width: 390, height: 844 } },
    rules: STRUCTURE,
  },
];

beforeAll(async () => {
  stage = await Stage.open();
  const admin = await setUpAdmin(stage);
  const user = await signUp(stage, EMAIL);
  await creditAs(admin.page, EMAIL, '5');
  await fillWithTraffic(user.page);
  signedIn.set('user', await user.context.storageState());
  signedIn.set('admin', await admin.context.storageState());
  await user.context.close();
  await admin.context.close();
});

afterAll(async () => {
  await stage.close();
});

for (const look of LOOKS) {
  for (const who of ['anybody', 'user', 'admin'] as const) {
    test(`pages for ${who} have no serious fault, ${look.name}`, async () => {
      const { page, context } = await stage.visitor({ ...look.options, ...stateOf(who) });
      const faults: string[] = [];
      for (const path of PAGES[who]) {
        await page.goto(path);
        await settle(page);
        faults.push(...(await faultsOf(page, look.rules)).map((fault) => `${path}: ${fault}`));
        if (await scrollsSideways(page)) faults.push(`${path}: scrolls sideways`);
      }
      await context.close();
      expect(faults).toEqual([]);
    });
  }
}

test('sheets, dialogs and the palette have no serious fault', async () => {
  const { page, context } = await stage.visitor({ ...stateOf('admin'), colorScheme: 'dark' });
  const faults: string[] = [];
  const look = async (what: string): Promise<void> => {
    await page.getByRole('dialog').first().waitFor();
    faults.push(...(await faultsOf(page, EVERYTHING)).map((fault) => `${what}: ${fault}`));
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').first().waitFor({ state: 'hidden' });
  };
  await page.goto('/admin/requests');
  await page
    .getByRole('button', { name: /^Receipt of/ })
    .first()
    .click();
  await page.getByText('Sum, rounded up once').waitFor();
  await look('receipt');
  await page.goto('/admin/accounts');
  await page.getByRole('button', { name: `Account ${EMAIL}` }).click();
  await page.getByRole('heading', { name: 'Limits' }).waitFor();
  await look('account');
  await page.getByRole('button', { name: 'New account' }).click();
  await look('new account');
  await page.keyboard.press('Control+k');
  await page.getByPlaceholder('Page, model or request id…').waitFor();
  await look('palette');
  await context.close();
  expect(faults).toEqual([]);
});

function stateOf(who: Who): BrowserContextOptions {
  const storageState = signedIn.get(who);
  return storageState ? { storageState } : {};
}

async function fillWithTraffic(page: Page): Promise<void> {
  await page.goto('/app/key');
  await page.getByRole('button', { name: 'Create token' }).click();
  const token = await takeToken(page);
  for (const content of ['one', 'two', 'fail']) {
    await stage.gateway.chat(token, { model: 'house-echo', messages: [{ role: 'user', content }] });
  }
  await stage.gateway.image(token, { model: 'house-paint', prompt: 'a gate', size: '256x256' });
}

/** The page has its data and its code: nothing says "Loading" any more, and animations are over. */
async function settle(page: Page): Promise<void> {
  await page.locator('h1').first().waitFor();
  await page.waitForFunction(() => document.querySelector('[role=status][aria-label^="Loading"]') === null);
  await page.waitForLoadState('networkidle');
  await page.evaluate(() =>
    Promise.allSettled(
      document
        .getAnimations()
        .filter((a) => a.effect?.getTiming().iterations !== Infinity)
        .map((a) => a.finished),
    ),
  );
}

interface Found {
  readonly violations: readonly {
    readonly id: string;
    readonly impact: string | null;
    readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
  }[];
}

async function faultsOf(page: Page, rules: object): Promise<string[]> {
  await page.evaluate(axe.source);
  // The library puts itself into the page's global scope.
  const found = await page.evaluate<Found, object>(
    async (options) =>
      await (globalThis as unknown as { axe: { run: (options: object) => Promise<Found> } }).axe.run(options),
    rules,
  );
  return found.violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(
      ({ id, nodes }) =>
        `${id} (${nodes.length}) ${nodes[0]?.html.slice(0, 200)} ${nodes[0]?.failureSummary}`,
    );
}

async function scrollsSideways(page: Page): Promise<boolean> {
  return await page.evaluate(
    () => document.documentElement.scrollWidth > document.documentElement.clientWidth + 1,
  );
}
