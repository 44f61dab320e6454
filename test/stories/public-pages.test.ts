import { afterAll, beforeAll, expect, test } from 'bun:test';
import { countModelDays } from '../../src/activity/model-days.ts';
import type { Answer } from '../../src/console/contract/routes.ts';
import { Browser, PASSWORD } from '../../src/console/testing/harness.ts';
import { FAILED, used } from '../../src/ledger/testing/contract-harness.ts';
import { newRequestId, type RequestId } from '../../src/std/ids.ts';
import { Gateway, type TestAccount } from '../support/gateway.ts';

type OfferFigures = Answer<'GET /api/console/figures'>;

/** What anybody may see of the models, without an account and without script. */

const GENERATED = 320;
const PER_PAGE = 100;
/** Of llms.txt. */
const MOST_LISTED = 300;
const HOSTILE = '"><img/src=x/onerror=alert(1)>';
const EVIL_NAME = `</title></script><script>alert('x')</script> & "Evil"`;
const YAML = `
upstreams:
  house: { kind: house }
lists:
  chat:
    - { model: house-echo, display_name: House Echo, input: 0.05, cached_input: 0.02, output: 0.20, request: 0.001, context: 32000, max_output: 4000, tools: true, vision: true }
    - { model: vendor/nested:free, display_name: Nested, free: true }
    - { model: '${HOSTILE}', display_name: '${EVIL_NAME.replaceAll("'", "''")}', input: 1, output: 2 }
${Array.from({ length: GENERATED }, (_, index) => `    - { model: vendor/model-${index}, display_name: Model ${index}, input: 1.${index}, output: 2 }`).join('\n')}
  images:
    - { model: house-paint, display_name: House Paint, image: 0.013, sizes: [512x512, 256x256] }
endpoints:
  svc_chat: { name: Primary chat, type: chat_completion, lists: [chat], upstreams: [house] }
  svc_more: { name: More chat, type: chat_completion, lists: [chat], upstreams: [house] }
  svc_tgter: { name: Images, type: image_generation, lists: [images], upstreams: [house] }
  partner_chat: { name: Partner, type: chat_completion, unavailable: Set SECRET_VARIABLE. }
`;

let gateway: Gateway;
let account: TestAccount;

beforeAll(async () => {
  gateway = await Gateway.start({ yaml: YAML });
  account = await gateway.account('10');
  for (let made = 0; made < 20; made++) await measuredStream('svc_chat', 'house-echo');
  for (let failed = 0; failed < 5; failed++) await failure('svc_more', 'vendor/model-1');
  await gateway.settled(account);
  await countModelDays(gateway.tollgate.services);
}, 60_000);
afterAll(() => gateway.stop());

/** A stream of thirty tokens in 400 ms after its first one: a real one may be over before a millisecond is. */
async function measuredStream(endpoint: string, model: string): Promise<void> {
  const requestId = await admitted(endpoint, model, true);
  await gateway.tollgate.services.ledger.ledger.settle(
    requestId,
    used({ input: 10, output: 30 }, { firstByteMs: 100, durationMs: 500 }),
  );
}

/** A request that its backend let down. */
async function failure(endpoint: string, model: string): Promise<void> {
  const requestId = await admitted(endpoint, model, false);
  await gateway.tollgate.services.ledger.ledger.void(requestId, FAILED);
}

async function admitted(endpoint: string, model: string, stream: boolean): Promise<RequestId> {
  const requestId = newRequestId(Date.now());
  const admission = await gateway.tollgate.services.ledger.ledger.admit({
    requestId,
    caller: { kind: 'account', id: account.id },
    rate: 'chat',
    endpoint,
    model,
    price: { kind: 'tokens', input: 1, cachedInput: 1, output: 1 },
    ceiling: { kind: 'tokens', input: 10, output: 30, choices: 1 },
    stream,
    client: 'test',
    limits: { chatPerMinute: 1_000, imagesPerMinute: 1_000, concurrent: 1_000 },
  });
  expect(admission.kind).toBe('admitted');
  return requestId;
}

interface RenderedPage {
  readonly response: Response;
  readonly text: string;
  /** Every element, by its name, with its attributes. */
  readonly elements: readonly { readonly name: string; readonly attributes: ReadonlyMap<string, string> }[];
}

async function visit(path: string, headers: Record<string, string> = {}): Promise<RenderedPage> {
  const response = await gateway.fetch(path, { headers });
  const text = await response.text();
  const elements: RenderedPage['elements'][number][] = [];
  new HTMLRewriter()
    .on('*', {
      element: ({ tagName, attributes }) => {
        elements.push({ name: tagName, attributes: new Map([...attributes] as [string, string][]) });
      },
    })
    .transform(text);
  return { response, text, elements };
}

function attribute({ elements }: RenderedPage, name: string, wanted: string, asked: string) {
  return elements
    .filter((one) => one.name === name && [...one.attributes.values()].includes(wanted))
    .map((one) => one.attributes.get(asked));
}

function links(page: RenderedPage): string[] {
  return page.elements.flatMap(({ name, attributes }) =>
    name === 'a' ? [attributes.get('href') ?? ''] : [],
  );
}

test('a model has one page with all its offers, every price, and what typical use costs to the last digit', async () => {
  const page = await visit('/models/house-echo');
  expect(page.response.status).toBe(200);
  expect(page.response.headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect(attribute(page, 'link', 'canonical', 'href')).toEqual([`${gateway.url}/models/house-echo`]);
  expect(attribute(page, 'meta', 'og:title', 'content')[0]).toContain('House Echo');
  expect(attribute(page, 'meta', 'description', 'content')[0]).toContain('$0.05');
  for (const text of [
    'svc_chat/house-echo',
    'svc_more/house-echo',
    '$0.02',
    '$0.20',
    '32,000 tokens',
    '4,000 tokens',
  ])
    expect(page.text).toContain(text);
  // 1,000 × (500 × 0.05 + 300 × 0.20 dollars per million + 0.001 dollars per request).
  expect(page.text).toContain('$1.085');
  for (const language of ['curl', 'JavaScript', 'Python'])
    expect(page.text).toContain(`${language}</summary>`);
  expect(links(page)).toContain('/app/playground?model=svc_chat%20house-echo');
  const data = JSON.parse(/<script type="application\/ld\+json">(.*?)<\/script>/.exec(page.text)?.[1] ?? '');
  expect(data).toMatchObject({ '@type': 'Product', sku: 'house-echo' });
  expect(data.offers).toHaveLength(2);
  expect(data.offers[0].priceSpecification).toContainEqual(
    expect.objectContaining({ name: 'request', price: '0.001', priceCurrency: 'USD' }),
  );
});

test('speed and uptime are those of requests that were made, and nothing is said from too few', async () => {
  const { text } = await visit('/models/house-echo');
  const [, used = '', unused = ''] = text.split(/<h2\s+class="flex/);
  expect(used).toContain('Time to first token');
  expect(used).toContain('Tokens per second');
  expect(used).toContain('100% of the requests in the last 90 days did not fail.');
  expect(used.match(/<rect\s/g)).toHaveLength(90);
  expect(unused).not.toContain('Time to first token');
  expect(unused).toContain('Not measured yet');
});

test('the text of a catalog is text on every page, whatever it looks like', async () => {
  const path = `/models/${encodeURIComponent(HOSTILE).replaceAll('%2F', '/')}`;
  for (const address of [path, '/models?q=evil', `/models?compare=${encodeURIComponent(HOSTILE)}`]) {
    const page = await visit(address);
    expect(page.response.status).toBe(200);
    expect(page.text).toContain('&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt; &amp; &quot;Evil&quot;');
    requireNothingActive(page);
  }
  const search = await visit(`/models?q=${encodeURIComponent(HOSTILE)}&kind=${encodeURIComponent(HOSTILE)}`);
  expect(search.text).toMatch(/\s1 model\s*</);
  requireNothingActive(search);
  expect(await (await gateway.fetch('/sitemap.xml')).text()).not.toContain('<img');
  expect(await (await gateway.fetch('/llms.txt')).text()).not.toContain('<script>');
});

/** No script but the console's file, no image, no style or handler in an attribute. */
function requireNothingActive({ elements, response }: RenderedPage): void {
  expect(elements.filter(({ name }) => name === 'img' || name === 'style' || name === 'iframe')).toEqual([]);
  for (const { name, attributes } of elements) {
    if (name === 'script')
      expect(attributes.get('src') ?? attributes.get('type')).toMatch(
        /^\/assets\/theme-boot-|^application\/ld\+json$/,
      );
    expect([...attributes.keys()].filter((key) => key === 'style' || key.startsWith('on'))).toEqual([]);
  }
  const policy = response.headers.get('content-security-policy') ?? '';
  expect(policy).toContain("script-src 'self'");
  expect(policy).not.toContain('unsafe');
}

test('every model of the catalog has its page; what is not sold has none', async () => {
  expect((await visit('/models/vendor/nested:free')).text).toContain('Nested');
  expect((await visit('/models/vendor%2Fnested%3Afree')).response.status).toBe(200);
  for (const path of ['/models/nothing', '/models/%E0%A4%A', '/models/vendor']) {
    const missing = await visit(path);
    expect([path, missing.response.status]).toEqual([path, 404]);
    expect(missing.text).toContain('Model not found');
    expect(missing.text).toContain('noindex');
  }
  const sitemap = await (await gateway.fetch('/sitemap.xml')).text();
  expect(sitemap.match(/<loc>/g)).toHaveLength(GENERATED + 4 + 4);
  expect(sitemap).toContain(`<loc>${gateway.url}/models/vendor/nested%3Afree</loc>`);
  const robots = await (await gateway.fetch('/robots.txt')).text();
  expect(robots).toContain(`Sitemap: ${gateway.url}/sitemap.xml`);
  for (const hidden of ['/app', '/admin', '/receipt', '/api'])
    expect(robots).toContain(`Disallow: ${hidden}\n`);
});

test('the list shows a model once, a page at a time, and is searched, filtered and sorted by the server', async () => {
  const models = async (query: string) =>
    links(await visit(`/models${query}`)).filter((href) => href.startsWith('/models/'));
  const first = await models('');
  expect(first).toHaveLength(PER_PAGE);
  expect(first.slice(0, 2)).toEqual(['/models/house-echo', '/models/vendor/nested%3Afree']);
  const others = [...(await models('?page=2')), ...(await models('?page=3')), ...(await models('?page=4'))];
  expect(new Set([...first, ...others]).size).toBe(GENERATED + 4);
  expect(await models('?page=99')).toEqual(await models('?page=4'));
  expect(await models('?q=MODEL+229')).toEqual(['/models/vendor/model-229']);
  expect(await models('?q=nothing+like+it')).toEqual([]);
  expect(await models('?free=1')).toEqual(['/models/vendor/nested%3Afree']);
  expect(await models('?kind=image_generation')).toEqual(['/models/house-paint']);
  expect(await models('?tools=1&vision=1')).toEqual(['/models/house-echo']);
  expect((await models('?sort=input')).slice(0, 3)).toEqual([
    '/models/vendor/nested%3Afree',
    '/models/house-echo',
    expect.stringContaining('onerror%3Dalert%281%29'),
  ]);
  expect((await visit('/models?q=model')).text).toContain('noindex');
  expect((await visit('/models?page=2')).text).not.toContain('noindex');
});

test('at most four models are compared', async () => {
  const chosen = Array.from({ length: 6 }, (_, index) => `compare=vendor/model-${index}`).join('&');
  const page = await visit(`/models?${chosen}`);
  expect(links(page).filter((href) => href.startsWith('/models/'))).toHaveLength(4);
  expect(page.text).toContain('Only the first four are shown.');
  expect((await visit('/models?compare=house-echo&compare=house-paint')).text).toContain('$0.013');
});

test('a page that has not changed is not sent again, and is sent compressed where that is wanted', async () => {
  const { response } = await visit('/models/house-paint');
  expect(response.headers.get('cache-control')).toBe('public, max-age=60');
  const tag = response.headers.get('etag') ?? '';
  const again = await gateway.fetch('/models/house-paint', { headers: { 'if-none-match': tag } });
  expect([again.status, await again.text()]).toEqual([304, '']);
  expect((await gateway.fetch('/models/house-echo', { headers: { 'if-none-match': tag } })).status).toBe(200);
  const packed = await fetch(`${gateway.url}/models`, {
    headers: { 'accept-encoding': 'gzip' },
    decompress: false,
  });
  expect(packed.headers.get('content-encoding')).toBe('gzip');
  expect(packed.headers.get('vary')).toContain('accept-language');
});

test('pages are in the language of the browser, or the one that was chosen', async () => {
  const german = await visit('/models', { 'accept-language': 'de-AT,en;q=0.5' });
  expect(german.text).toContain('<html lang="de">');
  expect(german.text).toContain('Alle Modelle auf Tollgate');
  const chosen = await visit('/models?lang=de', { 'accept-language': 'en' });
  expect(links(chosen)).toContain('/models/house-echo?lang=de');
  expect((await visit('/status?lang=en', { 'accept-language': 'de' })).text).toContain('Recent incidents');
});

test('a client whose base URL lacks /v1 is told so, and gets no page', async () => {
  const answer = await gateway.fetch('/models', { token: account.token });
  expect(answer.status).toBe(404);
  expect(await answer.text()).toContain('/v1/models exists');
});

test('the console shows who is signed in the same figures', async () => {
  const admin = new Browser(gateway.url, '127.0.0.1');
  const token = gateway.tollgate.setupLink?.split('/').at(-1);
  await admin.must('POST', '/api/console/setup', { token, email: 'ann@example.com', password: PASSWORD });
  const figures = async (query: string) => await admin.call('GET', `/api/console/figures?${query}`);
  const { body: busy } = await admin.call<OfferFigures>(
    'GET',
    '/api/console/figures?endpoint=svc_chat&model=house-echo',
  );
  expect(busy).toMatchObject({ uptime: 1, typicalUsd: '1.085' });
  expect([busy.days.length, busy.days.at(-1)?.uptime]).toEqual([90, 1]);
  // 100 ms, and 30 tokens in 400 ms, as exactly as the ranges are in which they are counted.
  for (const [quantiles, exact] of [
    [busy.wait, 100],
    [busy.speed, 75],
  ] as const)
    for (const value of [quantiles?.p50 ?? 0, quantiles?.p95 ?? 0])
      expect(Math.abs(Math.log2(value / exact))).toBeLessThan(0.5);
  const { body: unused } = await figures('endpoint=svc_more&model=house-echo');
  expect(unused).toMatchObject({ uptime: null, wait: null, speed: null });
  expect((await figures('endpoint=svc_chat&model=nothing')).status).toBe(404);
  expect((await gateway.fetch('/api/console/figures?endpoint=svc_chat&model=house-echo')).status).toBe(401);
});

test('the status says what works, how it went, and nothing about backends or how much is sold', async () => {
  const status = await (await gateway.fetch('/status.json')).json();
  expect(status).toMatchObject({ status: 'up', api: 'up' });
  expect(status.endpoints.map(({ endpoint }: { endpoint: string }) => endpoint)).toEqual([
    'svc_chat',
    'svc_more',
    'svc_tgter',
  ]);
  const [used, failing, unused] = status.endpoints;
  expect([used.uptime_90_days, failing.uptime_90_days, unused.uptime_90_days]).toEqual([1, 0, null]);
  expect(used.days).toHaveLength(90);
  expect(status.incidents).toEqual([
    { day: new Date().toISOString().slice(0, 10), endpoint: 'svc_more', failed_share: 1 },
  ]);
  const page = await visit('/status');
  expect(page.text).toContain('All systems operational');
  expect(page.text).toContain('100% of the requests failed');
  expect(Object.keys(used)).toEqual(['endpoint', 'name', 'type', 'status', 'uptime_90_days', 'days']);
  expect(Object.keys(used.days[0])).toEqual(['day', 'uptime']);
  for (const secret of ['SECRET_VARIABLE', 'house', 'partner_chat'])
    expect([secret, JSON.stringify(status).includes(secret), page.text.includes(secret)]).toEqual([
      secret,
      false,
      false,
    ]);
  requireNothingActive(page);
});

test('llms.txt is made from what is sold now, and stays short', async () => {
  const text = await (await gateway.fetch('/llms.txt')).text();
  expect(text).toContain(
    `[House Echo](${gateway.url}/models/house-echo): chat, $0.05 / $0.20, context 32000, vision, tools`,
  );
  expect(text).toContain('svc_chat/house-echo, svc_more/house-echo');
  expect(text).toContain(`${gateway.url}/docs/reference`);
  expect(text.match(/^- \[[^\]]*\]\([^)]*\/models\/[^)]*\):/gm)).toHaveLength(MOST_LISTED);
  expect(text).toContain(`and ${GENERATED + 4 - MOST_LISTED} more: ${gateway.url}/models`);
});
