import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import type { Locator, Page } from 'playwright-core';
import { ScriptedBackend } from '../support/scripted-backend.ts';
import { creditAs, setUpAdmin, signUp } from './user-steps.ts';
import { follow, BrowserEnvironment, settled, type BrowserSession } from './browser-environment.ts';

/** Images from the first idea to the file, in a real browser. The tests build on each other; an image costs a cent or four. */
let backend: ScriptedBackend;
let environment: BrowserEnvironment;
let user: BrowserSession;
let page: Page;
const EMAIL = 'dora@example.com';
const GATE = 'a gate at dawn';

beforeAll(async () => {
  backend = new ScriptedBackend();
  environment = await BrowserEnvironment.open({
    yaml: `
upstreams: { b: { kind: openai, base_url: "${backend.baseUrl}" }, house: { kind: house } }
lists:
  paint:
    - { model: house-paint, display_name: House Paint, image: 0.01, partial_image: 0.001, sizes: [256x256, 512x512], abilities: { partial_images: 2, style: [vivid, pastel], seed: true } }
  editors:
    - { model: editor, display_name: Editor, image: 0.04, sizes: [256x256], abilities: { reference_images: 2, mask: true } }
endpoints:
  paint: { name: Paint, type: image_generation, lists: [paint], upstreams: [house] }
  editors: { name: Editors, type: image_generation, lists: [editors], upstreams: [b] }
`,
  });
  const admin = await setUpAdmin(environment);
  user = await signUp(environment, EMAIL);
  ({ page } = user);
  await creditAs(admin.page, EMAIL, '5');
}, 120_000);

afterAll(async () => {
  await environment.close();
  await backend.stop();
});

const prompt = (): Locator => page.getByLabel('Prompt', { exact: true });
const shown = (): Locator => page.getByRole('region', { name: 'Results' }).getByRole('article');
const picture = (): Locator =>
  shown()
    .getByRole('button', { name: /^Open: / })
    .locator('img');

/** The pixels that the browser drew, as text. */
async function drawn(image: Locator): Promise<string> {
  await image.waitFor();
  return await image.evaluate(async (element: HTMLImageElement) => {
    await element.decode();
    const canvas = document.createElement('canvas');
    canvas.width = element.naturalWidth;
    canvas.height = element.naturalHeight;
    canvas.getContext('2d')?.drawImage(element, 0, 0);
    return canvas.toDataURL('image/png');
  });
}

test('a model’s own controls make an image whose price is known before and charged after', async () => {
  await follow(page, '/app/playground?tab=images');
  // The built-in backend's models come last.
  await page.getByRole('button', { name: 'Generate for $0.04', exact: true }).waitFor();
  await page.getByLabel('Model', { exact: true }).selectOption({ label: 'House Paint' });
  await page.getByRole('button', { name: 'Generate for $0.01', exact: true }).waitFor();
  await prompt().fill(GATE);
  await page.getByLabel('Style').selectOption('pastel');
  await page.getByLabel('Previews').selectOption('2');
  expect(await page.getByLabel('Quality').count()).toBe(0);
  await page.getByRole('button', { name: 'Generate for $0.012', exact: true }).click();
  await shown().getByText('Charged $0.012').waitFor();
  const receipt = shown().getByRole('link', { name: 'Receipt' });
  expect(await receipt.getAttribute('href')).toMatch(/^\/app\/requests\?id=req_/);
  await shown().getByText('pastel').waitFor();
});

test('the same seed makes the same picture again, and the request can be taken along as code', async () => {
  const first = await drawn(picture());
  const seed = await shown().locator('dt', { hasText: 'seed' }).locator('+ dd').textContent();
  await shown().getByRole('button', { name: 'Copy as request' }).click();
  const code = page.getByRole('dialog', { name: 'This image as code' });
  expect(await code.locator('pre').textContent()).toContain(`"seed": ${seed}`);
  await page.keyboard.press('Escape');
  await shown().getByRole('button', { name: 'Repeat' }).click();
  expect(await page.getByLabel('Seed', { exact: true }).inputValue()).toBe(seed ?? '');
  await page.getByLabel('Previews').selectOption('0');
  await page.getByRole('button', { name: 'Generate for $0.01', exact: true }).click();
  await shown().getByText('Charged $0.01', { exact: true }).waitFor();
  expect(await drawn(picture())).toBe(first);
});

test('a result is edited where its mask was painted, and nowhere else', async () => {
  const source = (await drawn(picture())).split(',')[1] ?? '';
  backend.script(() => Response.json({ created: 1, data: [{ b64_json: source }] }));
  await shown().getByRole('button', { name: 'Edit this' }).click();
  await page.getByText('House Paint works from text only.').waitFor();
  await page.getByRole('button', { name: 'Use Editor' }).click();
  await page.getByRole('button', { name: 'Select an area' }).click();
  const canvas = page.getByRole('img', { name: 'Area to change' });
  const box = await canvas.boundingBox();
  if (!box) throw new Error('the mask has no canvas');
  await page.mouse.move(box.x + box.width * 0.25, box.y + box.height * 0.5);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.75, box.y + box.height * 0.5, { steps: 5 });
  await page.mouse.up();
  await page.getByRole('button', { name: 'Use this area' }).click();
  await prompt().fill('the gate is open');
  const sending = page.waitForRequest(/\/playground\/images\?wallet=own$/);
  await page.getByRole('button', { name: 'Edit for $0.04', exact: true }).click();
  const { mask } = (await sending).postDataJSON() as { mask: string };
  expect(await page.evaluate(alphaAt, mask)).toEqual({ middle: 0, corner: 255 });
  await shown().getByText('Charged $0.04').waitFor();
  const { path, text } = backend.calls[0] ?? { path: '', text: '' };
  expect(path).toBe('/v1/images/edits');
  expect([...text.matchAll(/name="(image|mask)"; filename/g)].map(([, name]) => name)).toEqual([
    'image',
    'mask',
  ]);
});

/** Runs in the page. How opaque a mask is where it was painted, and where not. */
async function alphaAt(src: string): Promise<{ middle: number | undefined; corner: number | undefined }> {
  const image = new Image();
  image.src = src;
  await image.decode();
  const canvas = document.createElement('canvas');
  canvas.width = image.naturalWidth;
  canvas.height = image.naturalHeight;
  const context = canvas.getContext('2d');
  context?.drawImage(image, 0, 0);
  const alpha = (x: number, y: number) => context?.getImageData(x, y, 1, 1).data[3];
  return { middle: alpha(canvas.width / 2, canvas.height / 2), corner: alpha(2, 2) };
}

test('a failure says why, that nothing was charged, and where that is written', async () => {
  backend.script(() => new Response('out of order', { status: 500 }));
  await page.getByRole('button', { name: 'Edit for $0.04', exact: true }).click();
  await shown().getByRole('alert').getByText('The backend could not answer').waitFor();
  await shown().getByText('Charged $0.00').waitFor();
  await shown().getByRole('link', { name: 'Receipt' }).waitFor();
});

test('a background job goes on while the page is away, and its image is there afterwards', async () => {
  const gate = Promise.withResolvers<void>();
  const source = (await drawn(page.getByAltText(/^Reference 1/))).split(',')[1] ?? '';
  backend.script(async () => {
    await gate.promise;
    return Response.json({ created: 1, data: [{ b64_json: source }] });
  });
  await prompt().fill('made meanwhile');
  await page.getByRole('button', { name: 'Run in background' }).click();
  const job = page.getByRole('listitem', { name: 'made meanwhile' });
  await job.getByText('Running').waitFor();
  await page.reload();
  await job.getByText('Running').waitFor();
  gate.resolve();
  await job.getByText('Done').waitFor();
  await job.getByText('Charged $0.04').waitFor();
  await job.getByRole('button', { name: 'Open: made meanwhile' }).waitFor();
});

test('two models are compared with one prompt, the sum first and each charge after', async () => {
  await follow(page, '/app/playground?tab=images&view=compare');
  await prompt().fill('two gates');
  await page.getByRole('button', { name: 'Generate for $0.05', exact: true }).click();
  await page.getByRole('region', { name: 'House Paint · paint' }).getByText('Charged $0.01').waitFor();
  await page.getByRole('region', { name: 'Editor · editors' }).getByText('Charged $0.04').waitFor();
});

test('the gallery finds it by a word, keeps the search in the address, downloads it and deletes it', async () => {
  await follow(page, '/app/images');
  await page.getByLabel('Search prompts and models').fill('MEANWHILE');
  await page.waitForURL(/\/app\/images\?q=MEANWHILE$/);
  await page.reload();
  await settled(page);
  const found = page.getByRole('button', { name: /^Open: / });
  await found.first().waitFor();
  expect(await found.count()).toBe(1);
  await found.click();
  const box = page.getByRole('dialog', { name: 'Image' });
  await box.getByText('256 × 256').waitFor();
  const downloading = page.waitForEvent('download');
  await box.getByRole('link', { name: 'Download' }).click();
  const download = await downloading;
  expect(download.suggestedFilename()).toMatch(/^made-meanwhile-\w{6}\.png$/);
  expect(
    readFileSync(await download.path())
      .subarray(1, 4)
      .toString(),
  ).toBe('PNG');
  await box.getByRole('button', { name: 'Delete' }).click();
  const ask = page.getByRole('dialog', { name: 'Delete 1 image?' });
  await ask.getByText('cannot be restored').waitFor();
  await ask.getByRole('button', { name: 'Delete' }).click();
  await page.getByText('No images match').waitFor();
});

test('an image of the gallery fills the form again, and several are deleted together', async () => {
  await follow(page, '/app/images?q=dawn');
  await page
    .getByRole('button', { name: `Open: ${GATE}` })
    .first()
    .click();
  await page.getByRole('button', { name: 'Repeat' }).click();
  await page.waitForURL(/\/app\/playground\?tab=images$/);
  expect(await prompt().inputValue()).toBe(GATE);
  expect(await page.getByLabel('Style').inputValue()).toBe('pastel');
  await follow(page, '/app/images?q=dawn');
  await page.getByRole('button', { name: 'Select', exact: true }).click();
  await page.getByRole('button', { name: 'Select all shown' }).click();
  await page.getByText('2 selected').waitFor();
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await page
    .getByRole('dialog', { name: 'Delete 2 images?' })
    .getByRole('button', { name: 'Delete' })
    .click();
  await page.getByText('No images match').waitFor();
});

test('no page has reported an error', () => {
  expect(user.pageErrors).toEqual([]);
});
