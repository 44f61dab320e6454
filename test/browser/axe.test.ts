import { afterAll, beforeAll, expect, test } from 'bun:test';
import axe from 'axe-core';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { PAGES, RENDERED_PAGES, type Who } from './pages.ts';
import { creditAs, setUpAdmin, signUp, takeToken } from './user-steps.ts';
import { follow, settled, BrowserEnvironment } from './browser-environment.ts';

/** No page may have an accessibility error, in either theme and language, on a desktop or a phone. */
let environment: BrowserEnvironment;
const EMAIL = 'ada@example.com';
const signedIn = new Map<Who, BrowserContextOptions['storageState']>();

const EVERYTHING = { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] };
/** Colours differ by theme and structure by width; checking each where it differs keeps the run short. */
const CONTRAST = { runOnly: { type: 'rule', values: ['color-contrast'] } };
const STRUCTURE = { ...EVERYTHING, rules: { 'color-contrast': { enabled: false } } };

/** What a dialog changes about the page behind it, which is checked by itself. */
const BEHIND_DIALOGS = { runOnly: { type: 'rule', values: ['aria-hidden-focus'] } };
const LAST_DIALOG = '[data-last-dialog]';

const EVERYBODY = ['anybody', 'user', 'admin'] as const;
const DESK = { viewport: { width: 1280, height: 720 } };
/** The longer language on the narrower screen: one visit shows what either of them breaks. */
const PHONE = { viewport: { width: 390, height: 844 }, locale: 'de-DE' };

beforeAll(async () => {
  environment = await BrowserEnvironment.open();
  const admin = await setUpAdmin(environment);
  const user = await signUp(environment, EMAIL);
  await creditAs(admin.page, EMAIL, '5');
  await fillWithTraffic(user.page);
  await makeTeam(user.page);
  await planPrices(admin.page);
  signedIn.set('user', await user.context.storageState());
  signedIn.set('admin', await admin.context.storageState());
  await user.context.close();
  await admin.context.close();
});

afterAll(async () => {
  await environment.close();
});

for (const who of EVERYBODY) {
  test.concurrent(`pages for ${who} have no accessibility error, light or dark`, async () => {
    expect(
      await faultsOfAll(who, DESK, async (page) => {
        const light = await faultsOf(page, EVERYTHING);
        await page.evaluate(hideRepeatedSections);
        await page.emulateMedia({ colorScheme: 'dark' });
        await settled(page);
        const dark = await faultsOf(page, CONTRAST);
        await page.emulateMedia({ colorScheme: 'light' });
        return [...light, ...dark.map((fault) => `dark: ${fault}`)];
      }),
    ).toEqual([]);
  });
}

/** What is pressed on a page, one after the other, until a dialog is open; a text is the whole name of a button. */
type DialogWay = readonly [path: string, ...pressed: (string | RegExp)[]];

const RECEIPT = /^Receipt of/;
const OWN_ACCOUNT = `Account ${EMAIL}`;
const ROW_MENU = /^Actions for nightly/;

const DIALOGS: Readonly<Record<'user' | 'admin', readonly DialogWay[]>> = {
  user: [
    ['/app/requests', RECEIPT],
    ['/app/requests', RECEIPT, 'Share'],
    ['/app/key', 'Replace'],
    ['/app/key', 'Revoke'],
    ['/app/team', 'Invite'],
    ['/app/team', 'Invite', 'Create link'],
    ['/app/team', 'New app'],
    ['/app/team', 'Leave team'],
    ['/app/team', 'Close team'],
    ['/app/team', ROW_MENU, 'Change limits'],
    ['/app/team', ROW_MENU, 'Replace token'],
    ['/app/team', ROW_MENU, 'End app'],
    ['/app/settings', 'Add a passkey'],
    ['/app/settings', 'Turn on'],
    ['/app/images', /a gate/],
    ['/app/images', 'Select', 'Select all shown', 'Delete'],
    ['/app/playground?model=svc_chat+house-echo', 'Chats'],
    ['/app/playground?model=svc_chat+house-echo', 'Get code'],
    ['/app/playground?model=svc_chat+house-echo', 'Add a tool'],
  ],
  admin: [
    ['/admin/requests', RECEIPT],
    ['/admin/accounts', OWN_ACCOUNT],
    ['/admin/accounts', OWN_ACCOUNT, 'Remove account'],
    ['/admin/accounts', 'New account'],
    ['/admin/codes', 'Create codes'],
    ['/admin/codes', 'New invite'],
    ['/admin/operators', 'Create a token'],
    ['/admin/prices', 'Paste from a sheet'],
    ['/admin/backends/house', 'Remove house …'],
    ['/app/key', 'Change limits'],
    ['/app/key', 'Create token'],
    ['/app/team', 'Create a team'],
  ],
};

for (const who of ['user', 'admin'] as const) {
  test.concurrent(`every dialog that ${who} can open from a page has no accessibility error`, async () => {
    const { page, context, pageErrors } = await environment.newSession({
      ...DESK,
      ...stateOf(who),
      colorScheme: 'dark',
    });
    const faults: string[] = [];
    await page.goto('/app');
    for (const way of DIALOGS[who]) {
      const name = way.join(' > ');
      await follow(page, way[0]);
      await openDialog(page, way).catch((error: Error) => faults.push(`${name}: ${error.message}`));
      const found = [
        ...(await faultsOf(page, EVERYTHING, LAST_DIALOG)),
        ...(await faultsOf(page, BEHIND_DIALOGS)),
      ];
      faults.push(...found.map((fault) => `${name}: ${fault}`));
      await leaveDialogs(page);
    }
    await page.goto('/app/playground?model=svc_chat+house-echo');
    await page.getByRole('radio', { name: 'JSON schema', exact: true }).click();
    await page.getByLabel('JSON schema of the answer').fill('{"type":"objec"}');
    await page.getByRole('alert').getByText('is not a type').waitFor();
    faults.push(...(await faultsOf(page, EVERYTHING)).map((fault) => `schema editor: ${fault}`));
    await page.goto('/app');
    await settled(page);
    await page.keyboard.press('Control+k');
    await page.getByPlaceholder('Page, model or request ID…').waitFor();
    await settled(page);
    faults.push(...(await faultsOf(page, EVERYTHING)).map((fault) => `palette: ${fault}`));
    await context.close();
    expect([...faults, ...pageErrors]).toEqual([]);
  });
}

/** One that shows a secret ends with its page. */
async function leaveDialogs(page: Page): Promise<void> {
  for (const press of ['Escape', 'Escape']) await page.keyboard.press(press);
  await follow(page, '/docs/no-such-page');
  await page.getByRole('dialog').first().waitFor({ state: 'hidden' });
}

async function openDialog(page: Page, [, ...pressed]: DialogWay): Promise<void> {
  await settled(page);
  for (const name of pressed) {
    const named = { name, exact: typeof name === 'string' };
    const open = page.getByRole('dialog').last();
    const within = (await open.isVisible()) ? open : page.locator('body');
    await within.getByRole('button', named).or(page.getByRole('menuitem', named)).first().click();
    await settled(page);
  }
  const opened = page.getByRole('dialog').last();
  await opened.waitFor();
  await opened.evaluate((dialog) => dialog.setAttribute('data-last-dialog', ''));
  // A dialog that is still fading in is paler than it will be.
  await settled(page);
}

for (const who of EVERYBODY) {
  test.concurrent(`pages for ${who} have no accessibility error in German on a phone`, async () => {
    expect(
      await faultsOfAll(who, PHONE, async (page) => {
        await page.evaluate(hideRepeatedSections);
        return await faultsOf(page, STRUCTURE);
      }),
    ).toEqual([]);
  });
}

test('pages that the server renders have no accessibility error, light, dark, German or on a phone', async () => {
  const looks = [
    { options: { ...DESK, colorScheme: 'light' }, rules: EVERYTHING },
    { options: { ...DESK, colorScheme: 'dark' }, rules: CONTRAST },
    { options: { ...PHONE, locale: 'de-DE' }, rules: STRUCTURE },
  ] as const;
  const faults: string[] = [];
  for (const { options, rules } of looks) {
    const { page, context, pageErrors } = await environment.newSession(options);
    for (const path of RENDERED_PAGES) {
      await page.goto(path);
      const found = await faultsOf(page, rules);
      if (await scrollsSideways(page)) found.push('scrolls sideways');
      faults.push(...found.map((fault) => `${path}: ${fault}`));
    }
    faults.push(...pageErrors);
    await context.close();
  }
  expect(faults).toEqual([]);
});

/** One visit to all pages; each is entered by a link, so that the application and the checker are loaded once. */
async function faultsOfAll(
  who: Who,
  options: BrowserContextOptions,
  look: (page: Page) => Promise<string[]>,
): Promise<string[]> {
  const session = await environment.newSession({ colorScheme: 'light', ...options, ...stateOf(who) });
  const { page, context, pageErrors } = session;
  // An account has a language of its own, which yields to that of the device.
  if (options.locale === PHONE.locale)
    await context.addInitScript(() => localStorage.setItem('tollgate.language', 'de'));
  await page.goto(PAGES[who][0]);
  const faults: string[] = [];
  for (const path of PAGES[who]) {
    await follow(page, path);
    expect(page.url()).toBe(`${environment.url}${path}`);
    // With all of its sections.
    const isTooWide = await scrollsSideways(page);
    const found = [...(isTooWide ? ['scrolls sideways'] : []), ...(await look(page))];
    faults.push(...found.map((fault) => `${path}: ${fault}`));
  }
  await context.close();
  // A page that crashed shows an error page, which has no accessibility errors.
  return [...faults, ...pageErrors];
}

function stateOf(who: Who): BrowserContextOptions {
  const storageState = signedIn.get(who);
  return storageState ? { storageState } : {};
}

async function fillWithTraffic(page: Page): Promise<void> {
  await page.goto('/app/key');
  await page.getByRole('button', { name: 'Create token' }).click();
  const token = await takeToken(page);
  for (const content of ['one', 'two', 'fail']) {
    await environment.gateway.chat(token, { model: 'house-echo', messages: [{ role: 'user', content }] });
  }
  await environment.gateway.image(token, { model: 'house-paint', prompt: 'a gate', size: '256x256' });
}

/** With an app and an open invitation; the token that fills the other pages is the member's from now on. */
async function makeTeam(page: Page): Promise<void> {
  const steps: readonly (readonly [path: string, body: object])[] = [
    ['team', { name: 'Night shift', moveUsd: '1' }],
    ['team/apps', { name: 'nightly', budget: { amountUsd: '1', per: 'day' }, models: ['svc_chat/*'] }],
    ['team/invites', { role: 'viewer' }],
    ['token', {}],
  ];
  for (const [path, data] of steps) {
    const answer = await page.request.post(`/api/console/${path}`, {
      data,
      headers: { 'sec-fetch-site': 'same-origin' },
    });
    expect([path, answer.status()]).toEqual([path, 200]);
  }
  for (const wallet of ['own', 'team']) {
    const path = `/api/console/tags?wallet=${wallet}`;
    const data = { names: ['project', 'user'] };
    const answer = await page.request.put(path, { data, headers: { 'sec-fetch-site': 'same-origin' } });
    expect([path, answer.status()]).toEqual([path, 200]);
  }
}

/** A price group, and another price at a date. */
async function planPrices(page: Page): Promise<void> {
  const path = '/api/console/admin/catalog';
  const { yaml } = (await (await page.request.get(path)).json()) as { yaml: string };
  const grouped = `${yaml}groups:\n  vip: { factor: 0.5, hide: [svc_chat/house-echo] }\n`;
  const dearer = grouped.replace('House Guide, input: 0.10', 'House Guide, input: 0.30');
  const published = [
    { yaml: grouped, note: 'groups', revision: 0 },
    { yaml: dearer, note: 'new prices', revision: 2, from: Date.now() + 30 * 86_400_000 },
  ];
  for (const data of published) {
    const answer = await page.request.post(path, { data, headers: { 'sec-fetch-site': 'same-origin' } });
    expect([await answer.text(), answer.status()]).toEqual([expect.any(String), 200]);
  }
}

interface Violation {
  readonly id: string;
  readonly impact: string | null;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

/** The library puts itself into the page's global scope. */
interface WithAxe {
  readonly axe?: {
    configure: (spec: object) => void;
    run: (within: string, options: object) => Promise<{ violations: readonly Violation[] }>;
  };
}

/** Nothing of this is read: what passed, where elements are in the tree, and what frames and style sheets hold. */
const QUICK = {
  resultTypes: ['violations'],
  selectors: false,
  iframes: false,
  preload: false,
};

const DISTINCT = 'data-distinct-text';

/**
 * The contrast of all texts takes many times as long as all other rules together, and most of a page repeats what was
 * checked: only one element of each combination of colours, size and weight is looked at.
 */
async function faultsOf(page: Page, rules: object, within = 'html'): Promise<string[]> {
  if (!(await page.evaluate(() => 'axe' in globalThis))) {
    await page.evaluate(axe.source);
    await page.evaluate((rule) => (globalThis as WithAxe).axe?.configure({ rules: [rule] }), {
      id: 'color-contrast',
      selector: `[${DISTINCT}]`,
    });
  }
  if (rules !== STRUCTURE && rules !== BEHIND_DIALOGS) await page.evaluate(markDistinctTexts, DISTINCT);
  const violations = await page.evaluate<readonly Violation[] | undefined, [string, object]>(
    async ([scope, options]) => (await (globalThis as WithAxe).axe?.run(scope, options))?.violations,
    [within, { ...rules, ...QUICK }],
  );
  if (!violations) throw new Error('the checker did not load');
  return violations.map(
    ({ id, impact, nodes }) =>
      `${id}, ${impact} (${nodes.length}) ${nodes[0]?.html.slice(0, 200)} ${nodes[0]?.failureSummary}`,
  );
}

/** Runs in the page. */
function markDistinctTexts(attribute: string): void {
  const seen = new Set<string>();
  const backgroundOf = (element: Element | null): string => {
    if (!element) return '';
    const { backgroundColor, backgroundImage, opacity } = getComputedStyle(element);
    const own = backgroundImage === 'none' && backgroundColor.endsWith(', 0)') ? '' : backgroundColor;
    const behind = own === '' || /[,/] ?0?\.\d+\)$/.test(own) ? backgroundOf(element.parentElement) : '';
    return `${opacity === '1' ? '' : opacity} ${own} ${behind}`;
  };
  for (const element of document.querySelectorAll('body *')) {
    element.removeAttribute(attribute);
    const hasText = [...element.childNodes].some((node) => node.nodeType === 3 && node.nodeValue?.trim());
    // One that is hidden says nothing about those that are not.
    if (!element.checkVisibility() || (!hasText && !('placeholder' in element))) continue;
    const { color, fontSize, fontWeight, textShadow } = getComputedStyle(element);
    const look = [color, fontSize, fontWeight, textShadow, backgroundOf(element)].join(' | ');
    if (!seen.has(look)) element.setAttribute(attribute, '');
    seen.add(look);
  }
}

/**
 * Runs in the page. A section without any kind of element that the ones before it do not have is hidden: the reference has
 * one of thousands of elements for each operation.
 */
function hideRepeatedSections(): void {
  const seen = new Set<string>();
  for (const section of document.querySelectorAll<HTMLElement>('main section')) {
    const kinds = [section, ...section.querySelectorAll('*')].map((element) => {
      const attributes = element
        .getAttributeNames()
        .map((name) =>
          name === 'id'
            ? name
            : `${name}=${/^(?:class|role|type)$/.test(name) ? element.getAttribute(name) : ''}`,
        );
      return `${element.tagName} ${attributes.sort().join(' ')}`;
    });
    if (kinds.every((kind) => seen.has(kind))) section.style.display = 'none';
    for (const kind of kinds) seen.add(kind);
  }
}

async function scrollsSideways(page: Page): Promise<boolean> {
  return await page.evaluate(
    () => document.documentElement.scrollWidth > document.documentElement.clientWidth + 1,
  );
}
