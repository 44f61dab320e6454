import { dataBlock, html, type Markup } from './html.ts';
import { TEXTS_DE } from './texts-de.ts';
import { TEXTS_EN, type PublicTexts } from './texts-en.ts';

export const PAGE_LANGUAGES = ['en', 'de'] as const;
export type PageLanguage = (typeof PAGE_LANGUAGES)[number];

/** What the server needs to render any page. */
export interface PageContext {
  readonly language: PageLanguage;
  /** The visitor chose the language; links keep it. */
  readonly isChosen: boolean;
  readonly t: PublicTexts;
  /** Where customers reach this server. */
  readonly origin: string;
  readonly siteName: string;
  readonly version: string;
  readonly assets: PageAssets;
}

/** The console's own files, so that all pages look alike. */
export interface PageAssets {
  readonly style?: string | undefined;
  /** The dark colours, for browsers without script. */
  readonly dark?: string | undefined;
  readonly theme?: string | undefined;
  readonly icon?: string | undefined;
  readonly font?: string | undefined;
}

export function pageTexts(language: PageLanguage): PublicTexts {
  return language === 'de' ? TEXTS_DE : TEXTS_EN;
}

/** The address of a page, in the language that was chosen. */
export function pageHref(
  { isChosen, language }: Pick<PageContext, 'isChosen' | 'language'>,
  path: string,
): string {
  if (!isChosen) return path;
  return `${path}${path.includes('?') ? '&' : '?'}lang=${language}`;
}

export interface PageContent {
  readonly title: string;
  readonly description: string;
  /** Path and query of the page, without a language. */
  readonly path: string;
  readonly current?: 'models' | 'status';
  /** Search results are not for search engines. */
  readonly isIndexed: boolean;
  readonly data?: unknown;
  readonly main: Markup;
}

export function framed(context: PageContext, page: PageContent): string {
  const { language } = context;
  const document = html`<!doctype html>
    <html lang="${language}">
      <head>
        ${head(context, page)}
      </head>
      <body>
        <div id="root" class="flex min-h-dvh flex-col">
          ${header(context, page)}
          <main class="mx-auto w-full max-w-[76rem] flex-1 px-4 py-8 sm:px-8 lg:py-10">${page.main}</main>
          ${footer(context, page)}
        </div>
      </body>
    </html> `;
  return document.text;
}

function head(context: PageContext, { title, description, path, isIndexed, data }: PageContent): Markup {
  const { origin, siteName, assets, language } = context;
  const whole = `${title} · ${siteName}`;
  const inLanguage = (code: PageLanguage): string => `${path}${path.includes('?') ? '&' : '?'}lang=${code}`;
  return html`<meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <title>${whole}</title>
    <meta name="description" content="${description}" />
    ${isIndexed ? html`<link rel="canonical" href="${origin}${path}" />` : html`<meta name="robots" content="noindex, follow" />`}
    ${PAGE_LANGUAGES.map((code) => html`<link rel="alternate" hreflang="${code}" href="${origin}${inLanguage(code)}" />`)}
    <meta property="og:type" content="website" />
    <meta property="og:site_name" content="${siteName}" />
    <meta property="og:title" content="${title}" />
    <meta property="og:description" content="${description}" />
    <meta property="og:url" content="${origin}${path}" />
    <meta property="og:locale" content="${language === 'de' ? 'de_DE' : 'en_US'}" />
    <meta name="twitter:card" content="summary" />
    ${assets.icon === undefined ? undefined : html`<link rel="icon" type="image/svg+xml" href="${assets.icon}" />`}
    ${assets.theme === undefined ? undefined : html`<script src="${assets.theme}"></script>`}
    ${assets.style === undefined ? undefined : html`<link rel="stylesheet" href="${assets.style}" />`}
    ${assets.dark === undefined ? undefined : html`<noscript><link rel="stylesheet" media="(prefers-color-scheme: dark)" href="${assets.dark}" /></noscript>`}
    ${assets.font === undefined ? undefined : html`<link rel="preload" as="font" type="font/woff2" crossorigin href="${assets.font}" />`}
    ${data === undefined ? undefined : dataBlock('application/ld+json', data)}`;
}

const NAV_LINK =
  'inline-flex h-9 items-center rounded-md px-2.5 sm:px-3 hover:bg-hover hover:text-ink aria-[current=page]:text-ink aria-[current=page]:font-medium text-ink-2';

function header(context: PageContext, { current }: PageContent): Markup {
  const { t, siteName } = context;
  const link = (name: 'models' | 'status') =>
    html`<a
      href="${pageHref(context, `/${name}`)}"
      class="${NAV_LINK}"
      ${current === name ? html` aria-current="page"` : undefined}
      >${t[name]}</a
    >`;
  return html`<header class="sticky top-0 z-20 border-b border-line bg-page">
    <div class="mx-auto flex h-14 max-w-[76rem] items-center gap-1 px-4 sm:gap-2 sm:px-8">
      <a href="/" class="mr-auto flex min-w-0 items-center rounded-sm"
        ><span class="inline-flex max-w-full items-center gap-2"
          >${LOGO}<span class="truncate text-lg font-semibold tracking-tight max-sm:sr-only"
            >${siteName}</span
          ></span
        ></a
      >
      <nav aria-label="${t.nav}" class="flex items-center gap-0 sm:gap-1">
        ${link('models')} ${link('status')}
        <a href="/docs" class="${NAV_LINK}">${t.docs}</a>
        <a
          href="/sign-in"
          class="inline-flex h-9 items-center justify-center rounded-md border border-line bg-surface px-3 font-medium whitespace-nowrap text-ink hover:bg-hover sm:px-4"
          >${t.signIn}</a
        >
      </nav>
    </div>
  </header>`;
}

function footer(context: PageContext, { path }: PageContent): Markup {
  const { t, version, language } = context;
  const other = language === 'en' ? 'de' : 'en';
  const href = `${path}${path.includes('?') ? '&' : '?'}lang=${other}`;
  return html`<footer class="border-t border-line">
    <div
      class="mx-auto flex max-w-[76rem] flex-wrap items-center gap-x-6 gap-y-2 px-4 py-6 text-sm text-ink-3 sm:px-8"
    >
      <span class="mr-auto">Tollgate ${version} · ${t.footer}</span>
      <a href="${href}" hreflang="${other}" lang="${other}" class="hover:text-ink">${t.otherLanguage}</a>
      <a href="/llms.txt" class="hover:text-ink">llms.txt</a>
      <a href="/api/public/v1/openapi.json" class="hover:text-ink">openapi.json</a>
    </div>
  </footer>`;
}

/** The same as web/ui/Logo.tsx. */
const LOGO = html`<svg
  width="24"
  height="24"
  viewBox="0 0 24 24"
  fill="none"
  aria-hidden="true"
  class="shrink-0"
>
  <path d="M3.5 20.5V11a2 2 0 0 1 2-2h0a2 2 0 0 1 2 2v9.5z" fill="currentColor" />
  <path d="M4.6 9.2 21.6 3" stroke="currentColor" stroke-width="3.3" />
  <path d="M8.6 7.75 21.6 3" stroke="var(--c-accent)" stroke-width="3.3" stroke-dasharray="3.46 3.46" />
  <path d="M1.5 21.2h21" stroke="currentColor" stroke-width="1.4" stroke-linecap="round" opacity=".4" />
</svg>`;
