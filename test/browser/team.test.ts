import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Locator, Page } from 'playwright-core';
import { catalogFor } from '../support/gateway.ts';
import { eventually } from '../support/node-process.ts';
import { completion, ScriptedBackend, streamed, usage } from '../support/scripted-backend.ts';
import { BrowserEnvironment, follow, type BrowserSession } from './browser-environment.ts';
import { confirmIfAsked, creditAs, PASSWORD, setUpAdmin, signUp, takeToken } from './user-steps.ts';

/** A team from its beginning to the end of an app, in a real browser. The tests build on each other. */
const backend = new ScriptedBackend();
const OWNER = 'olga@example.com';
let environment: BrowserEnvironment;
let owner: BrowserSession;
let guest: BrowserSession;
let snippet: string;

beforeAll(async () => {
  backend.script(({ body }) =>
    body['stream'] === true
      ? streamed(['Hello', ' from the backend'], { prompt: 5, completion: 1_000 })
      : completion('Hello from the backend', usage(5, 1_000)),
  );
  const yaml = catalogFor([backend.baseUrl], { prices: 'input: 0, output: 10' });
  environment = await BrowserEnvironment.open({ yaml });
  const admin = await setUpAdmin(environment);
  owner = await signUp(environment, OWNER);
  await creditAs(admin.page, OWNER, '5');
});
afterAll(async () => {
  expect((await environment.gateway.verify()).breaches).toEqual([]);
  await environment.close();
  await backend.stop();
});

/** Runs the snippet in a shell, exactly as the page shows it. */
async function runSnippet(
  call = snippet,
): Promise<{ readonly text: string; readonly error?: Record<string, unknown> }> {
  const shell = Bun.spawn(['sh', '-c', call], { stdout: 'pipe', stderr: 'ignore' });
  const text = await new Response(shell.stdout).text();
  const { error } = JSON.parse(text) as { error?: Record<string, unknown> };
  return error ? { text, error } : { text };
}

function rowOf(page: Page, name: string): Locator {
  const table = page.getByRole('region', { name: 'Members and apps' });
  return table.getByRole('row').filter({ hasText: name });
}

async function choose(page: Page, name: string, action: string): Promise<void> {
  await page.getByRole('button', { name: `Actions for ${name}` }).click();
  await page.getByRole('menuitem', { name: action }).click();
}

test('a team is made with what its owner paid, after saying what ends and what others see', async () => {
  const { page } = owner;
  await follow(page, '/app/key');
  await page.getByRole('button', { name: 'Create token' }).click();
  const ownToken = await takeToken(page);
  await page.getByRole('link', { name: 'Team', exact: true }).click();
  await page.getByText('You are not in a team').waitFor();
  await page.getByRole('button', { name: 'Create a team' }).click();
  const dialog = page.getByRole('dialog', { name: 'Create a team' });
  expect(await dialog.textContent()).toContain('Your current API token stops working immediately');
  expect(await dialog.textContent()).toContain('see the team’s balance');
  await dialog.getByLabel('Team name').fill('Night shift');
  expect(await dialog.getByLabel('Move from your balance').inputValue()).toBe('5.00');
  await dialog.getByLabel('Move from your balance').fill('4');
  await dialog.getByRole('button', { name: 'Create team' }).click();
  await confirmIfAsked(page, page.getByRole('heading', { name: 'Night shift' }));
  await page.getByText('$4.00').first().waitFor();
  expect((await environment.gateway.chat(ownToken, {})).status).toBe(401);
});

test('an app is made in one dialog, and its snippet works as printed', async () => {
  const { page } = owner;
  await page.getByRole('button', { name: 'New app' }).click();
  const dialog = page.getByRole('dialog', { name: 'New app' });
  await dialog.getByLabel('App name').fill('nightly report');
  await dialog.getByLabel('Budget in USD').fill('0.03');
  await dialog.getByLabel('Per').selectOption('day');
  await dialog.getByLabel('Models').fill('svc_chat/*');
  await dialog.getByRole('button', { name: 'Create app' }).click();
  const shown = page.getByRole('dialog', { name: 'Token of nightly report' });
  const token = (await shown.getByTestId('token').textContent()) ?? '';
  snippet = (await shown.locator('pre').textContent()) ?? '';
  expect(snippet).toContain(token);
  await shown.getByLabel('I have saved it in a safe place').check();
  await shown.getByRole('button', { name: 'Done' }).click();
  expect((await runSnippet()).text).toContain('Hello from the backend');
  await page.reload();
  await rowOf(page, 'nightly report').waitFor();
  expect(await page.content()).not.toContain(token);
  expect(await rowOf(page, 'nightly report').textContent()).toContain('of $0.03 today');
});

test('at the end of its budget the app is refused in words that name the budget, and goes on once it is raised', async () => {
  const { page } = owner;
  let answer = await runSnippet();
  for (let calls = 0; !answer.error && calls < 40; calls++) answer = await runSnippet();
  expect(answer.error).toMatchObject({
    code: 'payment_required',
    reason: 'limit_reached',
    scope: 'account',
    limit: 'budget_day',
  });
  expect(String(answer.error?.['message'])).toMatch(/budget/i);
  await page.reload();
  const meter = page.getByRole('meter', { name: 'Budget used by nightly report' });
  await meter.waitFor();
  expect(Number(await meter.getAttribute('aria-valuenow'))).toBeGreaterThan(60);
  await choose(page, 'nightly report', 'Change limits');
  const dialog = page.getByRole('dialog', { name: 'Limits of nightly report' });
  expect(await dialog.getByLabel('Models').inputValue()).toBe('svc_chat/*');
  await dialog.getByLabel('Budget in USD').fill('1');
  await dialog.getByRole('button', { name: 'Save limits' }).click();
  await page.getByText('Limits saved').waitFor();
  expect((await runSnippet()).text).toContain('Hello from the backend');
});

test('somebody joins by a link, sees only the own account, and the link works once', async () => {
  const { page } = owner;
  await page.getByRole('button', { name: 'Invite' }).click();
  const dialog = page.getByRole('dialog', { name: 'Invite someone' });
  await dialog.getByLabel('Budget in USD').fill('2');
  await dialog.getByRole('button', { name: 'Create link' }).click();
  const made = page.getByRole('dialog', { name: 'Invitation link' });
  const link = (await made.getByTestId('invite').textContent()) ?? '';
  await made.getByRole('button', { name: 'Done' }).click();
  await page.getByRole('heading', { name: 'Open invitations' }).waitFor();
  guest = await signUp(environment, 'gus@example.com');
  await guest.context.clearCookies();
  await guest.page.goto(new URL(link).pathname + new URL(link).hash);
  await guest.page.waitForURL('**/sign-in?**');
  await guest.page.getByLabel('Email').fill('gus@example.com');
  await guest.page.getByLabel('Password').fill(PASSWORD);
  await guest.page.keyboard.press('Enter');
  await guest.page.getByRole('heading', { name: 'Join Night shift' }).waitFor();
  await guest.page.getByText('You can spend up to $2.00 per month.').waitFor();
  await guest.page.getByRole('button', { name: 'Join team' }).click();
  await guest.page.getByRole('heading', { name: 'Your account in this team' }).waitFor();
  expect(await guest.page.content()).not.toContain('nightly report');
  expect(await guest.page.getByRole('button', { name: 'New app' }).count()).toBe(0);
  const late = await signUp(environment, 'late@example.com');
  await late.page.goto(new URL(link).pathname + new URL(link).hash);
  await late.page.getByText('This invitation was used already').waitFor();
  for (const session of [guest, late]) expect(session.pageErrors).toEqual([]);
  await page.reload();
  await rowOf(page, 'gus@example.com').waitFor();
  await page
    .getByRole('button', { name: /^Receipt of/ })
    .first()
    .click();
  const receipt = page.getByRole('dialog', { name: 'Receipt' });
  await receipt.getByText('Total', { exact: true }).waitFor();
  await page.keyboard.press('Escape');
});

test('a member’s message in the playground is paid by the team, from the own budget, and shown as such at once', async () => {
  const { page } = guest;
  await page.getByRole('radio', { name: 'Night shift' }).click();
  await page.getByRole('link', { name: 'Playground' }).click();
  await page.getByText('Requests are charged to your account in Night shift.').waitFor();
  const sending = page.waitForRequest(/\/playground\/chat\?wallet=team$/);
  await page.getByLabel('Message').fill('Who pays for this?');
  await page.keyboard.press('Enter');
  await sending;
  await page.getByText('Hello from the backend').waitFor();
  await page.getByRole('link', { name: 'Team', exact: true }).click();
  await page.getByText('$0.01 of $2.00 this month').waitFor();
  await owner.page.reload();
  await rowOf(owner.page, 'gus@example.com').getByText('$0.01 of $2.00 this month').waitFor();
});

test('tags are chosen, kept with what is called next, and add up beside the rest', async () => {
  const { page } = owner;
  const tags = page.locator('section').filter({ has: page.getByRole('heading', { name: 'Usage by tag' }) });
  await tags.getByRole('button', { name: 'Choose tags' }).click();
  const dialog = page.getByRole('dialog', { name: 'Choose tags' });
  await dialog.getByLabel('Tags to keep').fill('project\ncustomer');
  await dialog.getByRole('button', { name: 'Save tags' }).click();
  await page.getByText('Tags saved').waitFor();
  const tagged = snippet.replace('"model":', '"metadata": { "project": "=bridge" }, "model":');
  expect(tagged).not.toBe(snippet);
  await eventually('the tag is known', async () => {
    await runSnippet(tagged);
    await page.reload();
    await tags.getByLabel('Tag', { exact: true }).waitFor();
    return (await tags.getByText('=bridge').count()) > 0;
  });
  await tags.getByText('All other requests').waitFor();
  const downloading = page.waitForEvent('download');
  await tags.getByRole('link', { name: 'Export' }).click();
  expect(await Bun.file(await (await downloading).path()).text()).toContain(",'=bridge,svc_chat,m,");
});

test('a member who is removed is out at once: token, playground and page', async () => {
  const { page } = guest;
  await follow(page, '/app/key');
  await page.getByRole('button', { name: 'Create token' }).click();
  const token = await takeToken(page);
  expect((await environment.gateway.chat(token, {})).status).toBe(200);
  await owner.page.reload();
  await choose(owner.page, 'gus@example.com', 'Remove from team');
  const dialog = owner.page.getByRole('dialog', { name: 'Remove gus@example.com?' });
  expect(await dialog.textContent()).toContain('stops working immediately');
  await dialog.getByRole('button', { name: 'Remove from team' }).click();
  await owner.page.getByText('gus@example.com was removed').waitFor();
  expect((await environment.gateway.chat(token, {})).status).toBe(401);
  await rowOf(owner.page, 'gus@example.com').waitFor({ state: 'detached' });
  await page.goto('/app/team');
  await page.getByText('You are not in a team').waitFor();
  expect(guest.pageErrors).toEqual([]);
});

test('an app that has ended is refused and gone from the table', async () => {
  const { page } = owner;
  await choose(page, 'nightly report', 'End app');
  const dialog = page.getByRole('dialog', { name: 'End nightly report?' });
  expect(await dialog.textContent()).toContain('stops working immediately');
  await dialog.getByRole('button', { name: 'End app' }).click();
  await page.getByText('nightly report has ended').waitFor();
  await rowOf(page, 'nightly report').waitFor({ state: 'detached' });
  expect((await runSnippet()).error).toMatchObject({ code: 'invalid_token' });
  expect(owner.pageErrors).toEqual([]);
});
