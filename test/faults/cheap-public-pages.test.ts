import { afterAll, beforeAll, expect, test } from 'bun:test';
import { NodeProcess } from '../support/node-process.ts';

/** What strangers can make the main thread do by asking for pages. */

const MODELS = 150;
const ENDPOINTS = 40;
const YAML = `
upstreams:
  house: { kind: house }
lists:
  chat:
${Array.from({ length: MODELS }, (_, n) => `    - { model: vendor/model-${n}, display_name: Model ${n}, input: 1.${n}, output: 2.${n}, context: 128000 }`).join('\n')}
endpoints:
${Array.from({ length: ENDPOINTS }, (_, n) => `  svc_chat_${n}: { name: Chat ${n}, type: chat_completion, lists: [chat], upstreams: [house] }`).join('\n')}
`;
/** So many that drawing a page once, and what a fast machine cannot tell from nothing, do not matter. */
const REQUESTS = 1200;

let node: NodeProcess;
beforeAll(async () => {
  node = await NodeProcess.start({ yaml: YAML });
}, 60_000);
afterAll(() => node.stop());

async function get(path: string, headers: Record<string, string> = {}): Promise<string> {
  return await (await answerTo(path, { headers })).text();
}

async function answerTo(path: string, options: BunFetchRequestInit): Promise<Response> {
  const reply = await fetch(`${node.url}${path}`, options);
  expect([path, reply.status]).toEqual([path, 200]);
  return reply;
}

/** Compressed as it is, nobody reads it: the visitors take less of the processor than the server that is measured. */
async function visit(path: string, headers: Record<string, string> = {}): Promise<void> {
  await (await answerTo(path, { headers, decompress: false })).arrayBuffer();
}

/** Milliseconds of the main thread for so many requests. */
async function mainThreadMs(ask: (n: number) => Promise<void>): Promise<number> {
  await ask(0);
  const before = node.mainThread().ranMs;
  for (let n = 1; n <= REQUESTS; n += 8)
    await Promise.all(Array.from({ length: 8 }, (_, more) => ask(n + more)));
  return node.mainThread().ranMs - before;
}

test.each<[string, number, (n: number) => Promise<void>]>([
  ['the status', 12, () => visit('/status')],
  ['the status for programs', 5, () => visit('/status.json')],
  ['the models', 12, () => visit('/models')],
  ['a model', 12, () => visit('/models/vendor/model-7')],
  ['the list for language models', 5, () => visit('/llms.txt')],
  ['the status with other words in each query', 12, (n) => visit(`/status?x=${n}`)],
  ['the models with other words in each query', 12, (n) => visit(`/models?page=${n + 50}&utm_source=${n}`)],
])(
  '%s: many visits take no more than a few times the main thread’s time for as many of a small text',
  async (_, times, ask) => {
    const small = await mainThreadMs(() => visit('/robots.txt'));
    expect(await mainThreadMs(ask)).toBeLessThan(times * small);
  },
  120_000,
);

// Another address has to be put into the page, and the whole page to be sent as it is: what that takes depends on the machine.
test.each(['/models', '/status'])(
  '%s by another host name each time: put in and sent, not drawn again',
  async (path) => {
    const small = await mainThreadMs(() => visit('/robots.txt'));
    const sent = await mainThreadMs(() => visit(path, { 'accept-encoding': 'identity' }));
    const byHost = await mainThreadMs((n) => visit(path, { host: `h${n}.example.com` }));
    expect(byHost).toBeLessThan(12 * small + 3 * sent);
  },
  120_000,
);

test('strangers do not fill the memory by what they write into queries and host names', async () => {
  const visitBoth = async (n: number): Promise<void> => {
    await Promise.all([
      visit(`/models?q=model&page=${n}`, { host: `g${n}.example.com`, 'accept-encoding': 'br' }),
      visit(`/models/vendor/model-${n % MODELS}?x=${n}`, { host: `g${n}.example.com` }),
    ]);
  };
  for (let n = 0; n < 200; n++) await visitBoth(n);
  const before = node.mostMegabytes();
  for (let n = 200; n < 500; n++) await visitBoth(n);
  // As often asked for again: were every answer kept, they alone would be more than this.
  expect(node.mostMegabytes() - before).toBeLessThan(60);
}, 120_000);

test('every visitor gets links to the host name by which they came', async () => {
  for (const host of Array.from({ length: 8 }, (_, n) => `shop${n}.example.com`)) {
    expect(await get('/models', { host })).toContain(`<link rel="canonical" href="http://${host}/models" />`);
    expect(await get('/sitemap.xml', { host })).toContain(`<loc>http://${host}/models</loc>`);
    expect(await get('/llms.txt', { host })).not.toContain('.invalid');
  }
});
