import type { Page } from 'playwright-core';
import { launchChromium } from '../../test/browser/browser-environment.ts';
import type { UndisturbedRounds } from '../harness/undisturbed.ts';
import { percentiles, type Took } from './client.ts';
import { ADMIN, CUSTOMER, PASSWORD } from './fill.ts';

const ROUNDS = 20;
const WAIT_MS = 15_000;
const LOOK_MS = 1_000;

/** What a person does: opens another page, presses something, chooses from a list, or types. */
type Act =
  | { readonly open: string }
  | { readonly press: string; readonly text?: string }
  | { readonly choose: string; readonly value: string }
  | { readonly typeInto: string; readonly text: string };

/** What is only there when it is done. */
interface Sign {
  readonly selector: string;
  readonly text?: string;
  /** Part of the address. */
  readonly search?: string;
}

interface Interaction {
  readonly title: string;
  /** Where it begins; not measured. */
  readonly from: string;
  readonly act: Act;
  readonly done: Sign;
}

const ROW = 'tbody tr';
const heading = (text: string): Sign => ({ selector: 'h1', text });
const sortedBy = (text: string): Sign => ({ selector: 'th[aria-sort=descending]', text });
const SORT = 'th button';
const CHOICE = '[role=radio]';
const PRICES = '/admin/prices';
const RARE_MODEL = 'model-4750';
const RARE_TITLE = 'Model 4750';

const CUSTOMERS: readonly Interaction[] = [
  { title: 'open Overview', from: '/app/key', act: { open: '/app' }, done: heading('Overview') },
  { title: 'open Usage', from: '/app/key', act: { open: '/app/usage' }, done: { selector: ROW } },
  {
    title: 'Usage: the last 90 days',
    from: '/app/usage',
    act: { choose: 'select', value: '90' },
    done: { selector: ROW, search: 'from=' },
  },
  {
    title: 'Usage: by endpoint',
    from: '/app/usage',
    act: { press: CHOICE, text: 'Endpoint' },
    done: { selector: 'td code' },
  },
  {
    title: 'Usage: by client',
    from: '/app/usage',
    act: { press: CHOICE, text: 'Client' },
    done: { selector: 'td', text: 'OpenAI/Python' },
  },
  {
    title: 'Usage: sort by requests',
    from: '/app/usage',
    act: { press: SORT, text: 'Requests' },
    done: sortedBy('Requests'),
  },
  { title: 'open Requests', from: '/app/key', act: { open: '/app/requests' }, done: { selector: ROW } },
  {
    title: 'Requests: sort by cost',
    from: '/app/requests',
    act: { press: SORT, text: 'Cost' },
    done: sortedBy('Cost'),
  },
  {
    title: 'Requests: only failures',
    from: '/app/requests',
    act: { choose: 'select', value: 'failed' },
    done: { selector: ROW, search: 'status=failed' },
  },
  {
    title: 'Requests: open a receipt',
    from: '/app/requests',
    act: { press: 'button[aria-label^="Receipt of"]' },
    done: { selector: 'dialog[open]', text: 'Total' },
  },
  { title: 'open Models', from: '/app/key', act: { open: '/app/models' }, done: { selector: ROW } },
  {
    title: 'Models: search',
    from: '/app/models',
    act: { typeInto: 'main input[type=search]', text: RARE_MODEL },
    done: { selector: ROW, text: RARE_MODEL },
  },
  {
    title: 'Playground: search a model',
    from: '/app/playground',
    act: { typeInto: '[role=combobox]', text: RARE_TITLE },
    done: { selector: '[role=option]', text: RARE_TITLE },
  },
  { title: 'open Billing', from: '/app/key', act: { open: '/app/billing' }, done: { selector: ROW } },
];

const opened = (title: string, path: string): Interaction => ({
  title: `open ${title}`,
  from: '/admin/settings',
  act: { open: path },
  done: { selector: ROW },
});

const ADMINS: readonly Interaction[] = [
  opened('Accounts', '/admin/accounts'),
  opened('all Requests', '/admin/requests'),
  {
    title: 'all Requests: sort by duration',
    from: '/admin/requests',
    act: { press: SORT, text: 'Duration' },
    done: sortedBy('Duration'),
  },
  opened('Prices', PRICES),
  {
    title: 'Prices: search',
    from: PRICES,
    act: { typeInto: 'main input[type=search]', text: RARE_MODEL },
    done: { selector: ROW, text: RARE_MODEL },
  },
  opened('Margin', '/admin/margin'),
  opened('refused calls', '/admin/refused'),
  opened('Ledger', '/admin/ledger'),
  opened('Messages', '/admin/messages'),
  opened('Audit', '/admin/audit'),
];

/** Each interaction in a real browser, from the act to the frame in which all that it asked for is painted. */
export async function timeInteractions(
  url: string,
  folder: string,
  undisturbed: UndisturbedRounds,
  only = '',
): Promise<Map<string, Took>> {
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
      const first = await context.newPage();
      await signInAs(first, email);
      await first.close();
      for (const one of list) {
        const name = `${who}: ${one.title}`;
        if (!name.includes(only)) continue;
        // In a tab of its own: a tab that loaded hundreds of pages has gigabytes to look through.
        const page = await context.newPage();
        const { median, p95 } = await timed(page, one, undisturbed);
        took.set(name, { median, p95, bytes: 0 });
        console.log(`${name}: median ${median.toFixed(0)} ms, p95 ${p95.toFixed(0)} ms`);
        await page.close();
      }
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

async function timed(
  page: Page,
  { title, from, act, done }: Interaction,
  undisturbed: UndisturbedRounds,
): Promise<{ median: number; p95: number }> {
  // Loaded anew: the data of the round before is not in the page's memory any more.
  const load = async (): Promise<void> => {
    await page.goto(from);
    await page.locator('h1').first().waitFor();
    await page.waitForLoadState('networkidle');
    // A person looks at the page first, and what it loads ahead is there.
    await page.waitForTimeout(LOOK_MS);
    if ('press' in act) await page.locator(act.press).first().waitFor();
  };
  const perform = (): Promise<number> =>
    page.evaluate(performed, { act, done, withinMs: WAIT_MS }).catch((cause: unknown) => {
      throw new Error(`${title} failed`, { cause });
    });
  const took: number[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const ms = await undisturbed.of(perform, load);
    // The first round loads the page's code, as the first visit does.
    if (round > 0) took.push(ms);
  }
  return percentiles(took);
}

/**
 * Runs in the page, which looks in every frame whether it is done: a test tool looks after growing pauses of up to half a
 * second, and would measure those. Rows of before may be shown while new ones are on their way, so every answer is
 * waited for too.
 */
async function performed({
  act,
  done,
  withinMs,
}: {
  act: Act;
  done: Sign;
  withinMs: number;
}): Promise<number> {
  const find = (selector: string, text?: string): HTMLElement | undefined =>
    [...document.querySelectorAll<HTMLElement>(selector)].find(
      (element) =>
        element.getClientRects().length > 0 && (text === undefined || element.textContent.includes(text)),
    );
  const frame = (): Promise<unknown> =>
    new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 0)));
  let awaited = 0;
  const counted = async <Value>(answer: Promise<Value>): Promise<Value> => {
    awaited++;
    return await answer.finally(() => awaited--);
  };
  // The page is loaded anew for each round, so nothing of this is undone.
  const { fetch } = globalThis;
  const { json, text } = Response.prototype;
  globalThis.fetch = ((...args: Parameters<typeof fetch>) => counted(fetch(...args))) as typeof fetch;
  Response.prototype.json = function (this: Response) {
    return counted(json.call(this));
  };
  Response.prototype.text = function (this: Response) {
    return counted(text.call(this));
  };
  const isDone = (): boolean =>
    awaited === 0 &&
    location.search.includes(done.search ?? '') &&
    find(done.selector, done.text) !== undefined;
  const start = performance.now();
  if ('open' in act) history.pushState(null, '', act.open);
  else if ('press' in act) {
    const pressed = find(act.press, act.text);
    if (!pressed) throw new Error(`nothing to press: ${act.press} ${act.text ?? ''}`);
    pressed.click();
  } else if ('typeInto' in act) {
    const field = find(act.typeInto) as HTMLInputElement | undefined;
    if (!field) throw new Error(`nothing to type into: ${act.typeInto}`);
    field.focus();
    document.execCommand('selectAll');
    document.execCommand('insertText', false, act.text);
  } else {
    const lists = [...document.querySelectorAll<HTMLSelectElement>(act.choose)];
    const list = lists.find((one) => [...one.options].some(({ value }) => value === act.value));
    if (!list) throw new Error(`nothing to choose from: ${act.value}`);
    list.value = act.value;
    list.dispatchEvent(new Event('change', { bubbles: true }));
  }
  // What has arrived is painted a frame later.
  for (let frames = 0; frames < 2; frames = isDone() ? frames + 1 : 0) {
    if (performance.now() - start > withinMs) throw new Error('it was not done in time');
    await frame();
  }
  return performance.now() - start;
}
