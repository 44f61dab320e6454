import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import {
  chromium,
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  type Page,
  type Request,
} from 'playwright-core';
import { devDependencies } from '../../package.json';
import { Gateway, type GatewayOptions } from '../support/gateway.ts';
import { notePasswords, noteSession } from '../support/leaks.ts';

/** A page that hangs is a failure. Where four groups of tests share two cores, one that does not has taken ten seconds. */
const WAIT_MS = 120_000;
/** Tests are about what pages hold, not about how they move: nothing glides, so no frame of it is drawn or waited for. */
const STILL = { reducedMotion: 'reduce' } as const satisfies BrowserContextOptions;
/** The end of a request is an event that may have been before anybody waited for it. */
const LOOK_AGAIN_MS = 10;
/** In every language of the console. */
const WAITING = '[role=status]:is([aria-label^="Loading"], [aria-label^="Wird geladen"])';

/** A real Tollgate with its console, and the real Chromium of this process. */
export class BrowserEnvironment {
  readonly gateway: Gateway;
  readonly browser: Browser;
  readonly #contexts: BrowserContext[] = [];

  private constructor(gateway: Gateway, browser: Browser) {
    this.gateway = gateway;
    this.browser = browser;
  }

  static async open(options: GatewayOptions = {}): Promise<BrowserEnvironment> {
    // First: while Chromium is unpacked, this process has another folder for what is temporary, which is then removed.
    const browser = await (shared ??= launchShared());
    return new BrowserEnvironment(await Gateway.start(options), browser);
  }

  /** With a host name: passkeys need one. */
  get url(): string {
    return this.gateway.url.replace('127.0.0.1', 'localhost');
  }

  /** A new browser session without cookies or storage. Errors of its pages are collected. */
  async newSession({ savesData = true, ...options }: SessionOptions = {}): Promise<BrowserSession> {
    const context = await this.browser.newContext({
      baseURL: this.url,
      locale: 'en-US',
      ...STILL,
      ...options,
    });
    this.#contexts.push(context);
    if (savesData) await context.addInitScript(saveData);
    context.setDefaultTimeout(WAIT_MS);
    const page = await context.newPage();
    trackRequests(page);
    noteSecrets(page, this.gateway.url);
    return { context, page, pageErrors: collectErrors(page) };
  }

  async close(): Promise<void> {
    await Promise.all(this.#contexts.map((context) => context.close()));
    await this.gateway.stop();
  }
}

interface SessionOptions extends BrowserContextOptions {
  /** Otherwise code is loaded ahead, before or after what a test does, as the machine has time. */
  readonly savesData?: boolean;
}

/** Runs in the page. */
function saveData(): void {
  Object.defineProperty(Navigator.prototype, 'connection', { value: { saveData: true } });
}

let shared: Promise<Browser> | undefined;

/**
 * One for all files of a run: to start it takes longer than most of their tests, and a session shares nothing with another.
 * The browser keeps its profile in a folder of its own: a shared one races with other runs.
 */
async function launchShared(): Promise<Browser> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-browser-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  return await launchChromium(folder);
}

export interface BrowserSession {
  readonly context: BrowserContext;
  readonly page: Page;
  /** Uncaught errors, crashes that were caught, and violations of the content policy: no page may have any. */
  readonly pageErrors: string[];
}

/** Goes to a page like a link of the console: the application stays loaded, the page changes. */
export async function follow(page: Page, path: string): Promise<void> {
  await page.evaluate((to) => history.pushState(null, '', to), path);
  await settled(page);
}

/**
 * The page has its code and its data: it has a heading, nothing says "Loading", no request is pending, and all
 * animations have finished. What arrived last may request more, so all of it has to hold at once.
 */
export async function settled(page: Page): Promise<void> {
  const requests = pendingRequests.get(page);
  if (!requests) throw new Error('this page is not of a environment');
  const deadline = Date.now() + WAIT_MS;
  for (;;) {
    await page.waitForFunction(
      (waiting) => document.querySelector('h1') && !document.querySelector(waiting),
      WAITING,
    );
    while (requests.size > 0) {
      if (Date.now() > deadline) throw new Error(`${page.url()} is never done: ${urlsOf(requests)}`);
      await Bun.sleep(LOOK_AGAIN_MS);
    }
    if ((await page.evaluate(animationsFinished, WAITING)) && requests.size === 0) return;
    if (Date.now() > deadline) throw new Error(`${page.url()} never comes to rest`);
  }
}

export async function launchChromium(folder: string): Promise<Browser> {
  const executablePath = await findChromium();
  return await chromium.launch({
    executablePath,
    args: ['--no-sandbox'],
    env: { ...definedOnly(process.env), TMPDIR: folder },
  });
}

const UNPACKED = resolve(import.meta.dir, '../../node_modules/.cache/tollgate-chromium');
/** Versions of packages are exact. */
const chromiumVersion = devDependencies['@sparticuz/chromium'];
const SYSTEM_PATHS = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/opt/google/chrome/chrome',
];

/** The one named by CHROMIUM_PATH, or the one from npm where it runs (Linux on x64), or one of the system. */
async function findChromium(): Promise<string> {
  const named = process.env['CHROMIUM_PATH'];
  if (named) return named;
  if (process.platform === 'linux' && process.arch === 'x64') return await unpackChromium();
  const installed = SYSTEM_PATHS.find((path) => existsSync(path));
  if (installed) return installed;
  throw new Error(
    `No Chromium for ${process.platform}/${process.arch}: the one from npm is for Linux on x64 only. ` +
      'Install one (Debian: apt-get install chromium) or name it in CHROMIUM_PATH.',
  );
}

/** Unpacking takes seconds of CPU, so what a version of the package has unpacked is kept for all tests and runs. */
async function unpackChromium(): Promise<string> {
  const kept = join(UNPACKED, chromiumVersion);
  const program = join(kept, 'chromium');
  if (existsSync(program)) return program;
  mkdirSync(UNPACKED, { recursive: true });
  const folder = mkdtempSync(join(UNPACKED, 'unfinished-'));
  await unpackInto(folder);
  try {
    renameSync(folder, kept);
  } catch (error) {
    // Another process has unpacked it meanwhile.
    rmSync(folder, { recursive: true, force: true });
    if (!existsSync(program)) throw error;
  }
  return program;
}

/** The package unpacks into the folder for temporary files. */
async function unpackInto(folder: string): Promise<void> {
  const before = process.env['TMPDIR'];
  process.env['TMPDIR'] = folder;
  try {
    const { default: packaged } = await import('@sparticuz/chromium');
    await packaged.executablePath();
  } finally {
    if (before === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = before;
  }
}

const pendingRequests = new WeakMap<Page, Set<Request>>();

function trackRequests(page: Page): void {
  const requests = new Set<Request>();
  pendingRequests.set(page, requests);
  page.on('request', (request) => requests.add(request));
  page.on('requestfinished', (request) => requests.delete(request));
  page.on('requestfailed', (request) => requests.delete(request));
}

/** What the page sends and gets, to be looked for when the server stops. */
function noteSecrets(page: Page, url: string): void {
  page.on('request', (request) => {
    if (request.url().includes('/api/') && request.method() !== 'GET')
      notePasswords(url, JSON.parse(request.postData() || '{}'));
  });
  page.on('response', (response) => {
    if (!/\/api\/(?:auth|console\/setup)/.test(response.url())) return;
    // A page that is closed meanwhile has no headers to tell.
    response.headerValues('set-cookie').then(
      (lines) => lines.forEach((line) => noteSession(url, line)),
      () => undefined,
    );
  });
}

function urlsOf(requests: ReadonlySet<Request>): string {
  return [...requests].map((request) => request.url()).join(', ');
}

/** Runs in the page. Two frames: the first shows what has arrived, the second what that led to. */
async function animationsFinished(waiting: string): Promise<boolean> {
  const frame = (): Promise<unknown> => new Promise((resolve) => requestAnimationFrame(resolve));
  await frame();
  await frame();
  const passing = document.getAnimations().filter((a) => a.effect?.getTiming().iterations !== Infinity);
  await Promise.allSettled(passing.map((animation) => animation.finished));
  return document.querySelector(waiting) === null;
}

function collectErrors(page: Page): string[] {
  const pageErrors: string[] = [];
  page.on('pageerror', (error) => pageErrors.push(`uncaught: ${error.message}`));
  page.on('console', (message) => {
    // The browser also reports a refused request as an error, but it is an ordinary answer.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      pageErrors.push(message.text());
  });
  return pageErrors;
}

function definedOnly(env: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}
