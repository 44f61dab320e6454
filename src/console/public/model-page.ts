import { LEAST_MEASURED, type Quantiles } from '../../activity/model-figures.ts';
import type { ModelItem, Usd } from '../contract.ts';
import { html, type Markup } from './html.ts';
import { modelSnippets } from './model-snippets.ts';
import { pageHref, type PageContent, type PageContext } from './page-frame.ts';
import { countText, priceText, secondsText, shareText, speedText } from './page-numbers.ts';
import {
  CARD,
  cardTitle,
  featureBadges,
  ledgerLine,
  PLAIN_BUTTON,
  priceLines,
  PRIMARY_BUTTON,
  stateDot,
  uptimeStrip,
} from './page-parts.ts';
import type { ShownOffer } from './shown-offer.ts';
import type { SoldModel } from './sold-models.ts';
import { productData } from './structured-data.ts';

export function modelPage(
  context: PageContext,
  { id, path, best }: SoldModel,
  offers: readonly ShownOffer[],
): PageContent {
  const { t, siteName, origin } = context;
  return {
    title: t.modelTitle(best.displayName),
    description: t.modelDescription(best.displayName, factsText(context, best), siteName),
    path,
    current: 'models',
    isIndexed: true,
    data: productData({ id, path, best }, offers, { origin, siteName }),
    main: html`<p class="text-sm">
        <a href="${pageHref(context, '/models')}" class="text-accent underline-offset-2 hover:underline"
          >${t.models}</a
        >
      </p>
      <header class="mt-1 mb-6 flex flex-wrap items-end gap-x-6 gap-y-3">
        <div class="min-w-0 flex-1 basis-64">
          <h1 class="text-2xl font-semibold tracking-tight break-words">${best.displayName}</h1>
          <p class="mt-1 flex flex-wrap items-center gap-x-3 gap-y-1">
            <code class="text-sm break-all text-ink-3">${id}</code>${featureBadges(best, context)}
          </p>
        </div>
        ${best.unavailable === null ? html`<a href="${tryHref(best)}" class="${PRIMARY_BUTTON}">${t.tryIt}</a>` : undefined}
      </header>
      <div class="flex flex-col gap-5">
        ${best.unavailable === null ? undefined : html`<p class="rounded-md border border-warn-line bg-warn-soft px-4 py-3 text-warn">${t.unavailable}</p>`}
        ${details(context, best)} ${offers.map((offer) => offerCard(context, offer))}
        ${snippetCard(context, best)}
      </div>`,
  };
}

export function modelMissing(context: PageContext, path: string): PageContent {
  const { t } = context;
  return {
    title: t.notFound,
    description: t.notFoundLead,
    path,
    current: 'models',
    isIndexed: false,
    main: html`<div class="py-16 text-center">
      <h1 class="text-xl font-semibold tracking-tight">${t.notFound}</h1>
      <p class="mt-1 mb-5 text-ink-3">${t.notFoundLead}</p>
      <a href="${pageHref(context, '/models')}" class="${PLAIN_BUTTON}">${t.allModels}</a>
    </div>`,
  };
}

/** The playground; who is not signed in is asked to, and comes back there. */
function tryHref({ type, endpoint, model }: ModelItem): string {
  const tab = type === 'image_generation' ? '&tab=images' : '';
  return `/app/playground?model=${encodeURIComponent(`${endpoint} ${model}`)}${tab}`;
}

/** The most important facts in a line, for search engines. */
function factsText(context: PageContext, best: ModelItem): string {
  const { t } = context;
  const prices = priceLines(best, context)
    .slice(0, 3)
    .map(([label, amount]) => `${label} ${amount}`);
  const length = best.contextTokens > 0 && best.type !== 'image_generation';
  const tokens = countText(best.contextTokens, context.language);
  return `${[...prices, ...(length ? [`${t.context} ${t.tokens(tokens)}`] : [])].join(', ')}.`;
}

function details(context: PageContext, best: ModelItem): Markup {
  const { t, language } = context;
  const tokens = (count: number): string => (count > 0 ? t.tokens(countText(count, language)) : '–');
  const rows =
    best.type === 'image_generation'
      ? [[t.sizes, best.sizes.join(', ')]]
      : [
          [t.context, tokens(best.contextTokens)],
          [t.maxOutput, tokens(best.maxOutput)],
        ];
  return html`<section class="${CARD}">
    ${cardTitle(t.details)}
    <dl class="mt-3 grid grid-cols-[auto_1fr] gap-x-6 gap-y-2">
      <dt class="text-ink-3">${t.kind}</dt>
      <dd>${t.kinds[best.type]}</dd>
      ${rows.map(
        ([label, value]) =>
          html`<dt class="text-ink-3">${label}</dt>
            <dd class="min-w-0 break-words tabular-nums">${value}</dd>`,
      )}
    </dl>
  </section>`;
}

function offerCard(context: PageContext, offer: ShownOffer): Markup {
  const { item, state } = offer;
  const name = html`<h2 class="flex flex-wrap items-center gap-x-2.5 text-base font-semibold tracking-tight">
    ${stateDot(item.unavailable === null ? state : 'down', context)}${item.endpointName}<code
      class="text-sm font-normal text-ink-3"
      >${item.endpoint}/${item.model}</code
    >
  </h2>`;
  return html`<section class="${CARD}">
    ${name}
    <div class="mt-4 grid gap-x-10 gap-y-6 lg:grid-cols-2">
      <div class="min-w-0">${priceBlock(context, offer)}</div>
      <div class="flex min-w-0 flex-col gap-6">
        ${speedBlock(context, offer)}${uptimeBlock(context, offer)}
      </div>
    </div>
  </section>`;
}

function heading(text: string): Markup {
  return html`<h3 class="mb-2 text-sm font-medium text-ink-3">${text}</h3>`;
}

function priceBlock(context: PageContext, { item, typicalUsd }: ShownOffer): Markup {
  const { t } = context;
  const lines = priceLines(item, context).map(([label, amount]) => ledgerLine(label, amount));
  return html`${heading(t.prices)}
    <dl class="flex flex-col gap-2">${lines}</dl>
    ${item.price.kind === 'tokens' && !item.free ? html`<p class="mt-2 text-sm text-ink-3">${t.pricesPer}</p>` : undefined}
    ${typicalBlock(context, item, typicalUsd)}`;
}

function typicalBlock(
  { t, language }: PageContext,
  item: ModelItem,
  typicalUsd: Usd | undefined,
): Markup | undefined {
  if (typicalUsd === undefined || item.free) return undefined;
  const [label, hint] = {
    chat_completion: [t.typicalChats, t.typicalChatsHint],
    embedding: [t.typicalTexts, t.typicalTextsHint],
    image_generation: [t.typicalImages, t.typicalImagesHint(item.sizes[0] ?? '')],
  }[item.type];
  return html`<dl class="mt-4 border-t border-line pt-3 text-lg font-semibold">
      ${ledgerLine(label ?? '', priceText(typicalUsd, language))}
    </dl>
    <p class="mt-1 text-sm text-ink-3">${hint}</p>`;
}

function speedBlock(context: PageContext, { item, figures }: ShownOffer): Markup | undefined {
  const { t, language } = context;
  if (item.type === 'embedding') return undefined;
  const wait = figures?.wait;
  const speed = item.type === 'chat_completion' ? figures?.speed : undefined;
  if (!wait && !speed)
    return html`<div>
      ${heading(t.speed)}
      <p>${t.notMeasured}</p>
      <p class="text-sm text-ink-3">${t.notMeasuredLead(LEAST_MEASURED)}</p>
    </div>`;
  const row = (label: string, found: Quantiles | undefined, text: (value: number) => string) =>
    html`<tr>
      <th scope="row" class="py-1 pr-4 text-left font-normal text-ink-2">${label}</th>
      ${[found?.p50, found?.p95].map((value) => html`<td class="py-1 pl-4 text-right tabular-nums">${value === undefined ? t.notMeasured : text(value)}</td>`)}
    </tr>`;
  const head = (label: string, hint: string) =>
    html`<th scope="col" class="py-1 pl-4 text-right text-xs font-medium text-ink-3">
      <abbr title="${hint}" class="no-underline">${label}</abbr>
    </th>`;
  return html`<div>
    ${heading(t.speed)}
    <table class="w-full border-collapse">
      <thead>
        <tr>
          <td></td>
          ${head(t.half, t.halfHint)}${head(t.most, t.mostHint)}
        </tr>
      </thead>
      <tbody>
        ${row(item.type === 'image_generation' ? t.imageReady : t.firstToken, wait, (ms) => secondsText(ms, language))}
        ${item.type === 'chat_completion' ? row(t.tokensPerSecond, speed, (value) => speedText(value, language)) : undefined}
      </tbody>
    </table>
    <p class="mt-1 text-sm text-ink-3">${t.speedLead}</p>
  </div>`;
}

function uptimeBlock(context: PageContext, { figures }: ShownOffer): Markup {
  const { t, language } = context;
  const share = figures?.uptime === undefined ? t.notMeasured : shareText(figures.uptime, language);
  return html`<div>
    ${heading(t.uptime)}
    <p class="mb-2 text-lg font-semibold tabular-nums">${share}</p>
    ${figures ? uptimeStrip(figures.days, context) : undefined}
    <p class="mt-1 text-sm text-ink-3">${t.uptimeLead}</p>
  </div>`;
}

/** One is open at a time, without a script. */
function snippetCard({ t, origin }: PageContext, best: ModelItem): Markup {
  const blocks = modelSnippets(best, origin).map(
    ({ name, code }, place) =>
      html`<details
        name="snippet"
        class="border-t border-line py-2 first:border-t-0"
        ${place === 0 ? html` open` : undefined}
      >
        <summary class="rounded-sm py-1 font-medium">${name}</summary>
        <pre
          tabindex="0"
          aria-label="${name}"
          class="thin-scroll mt-2 mb-2 overflow-x-auto rounded-md border border-line bg-sunken px-4 py-3.5 text-sm"
        ><code>${code}</code></pre>
      </details>`,
  );
  return html`<section class="${CARD}">
    ${cardTitle(t.snippets)}
    <p class="text-sm text-ink-3">${t.snippetsLead}</p>
    <div class="mt-3">${blocks}</div>
  </section>`;
}
