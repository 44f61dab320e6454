import { LEAST_MEASURED, type Quantiles } from '../../activity/model-figures.ts';
import type { Usd } from '../contract.ts';
import type { ModelItem } from '../models.ts';
import { html, type Markup } from './html.ts';
import { pageHref, type PageContent, type PageContext } from './page-frame.ts';
import {
  countText,
  momentText,
  priceText,
  secondsText,
  shareText,
  speedText,
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
import type { ShownOffer, SoldModel } from './sold-models.ts';

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

/** The playground; visitors who are not signed in are asked to, and return there. */
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
    ${typicalBlock(context, item, typicalUsd)}${nextBlock(context, item)}`;
}

/** The prices that are announced, and their date. */
function nextBlock(context: PageContext, item: ModelItem): Markup | undefined {
  const { t, language } = context;
  const { next } = item;
  if (!next) return undefined;
  const date = momentText(next.from, language);
  if (!next.price) return html`<p class="mt-4 border-t border-line pt-3 text-warn">${t.goneFrom(date)}</p>`;
  const lines = priceLines({ ...item, price: next.price, free: next.free }, context);
  return html`<div class="mt-4 border-t border-line pt-3">
    ${heading(t.pricesFrom(date))}
    <dl class="flex flex-col gap-2">${lines.map(([label, amount]) => ledgerLine(label, amount))}</dl>
  </div>`;
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
    moderation: [t.typicalTexts, t.typicalTextsHint],
    image_generation: [t.typicalImages, t.typicalImagesHint(item.sizes[0] ?? '')],
  }[item.type];
  return html`<dl class="mt-4 border-t border-line pt-3 text-lg font-semibold">
      ${ledgerLine(label ?? '', priceText(typicalUsd, language))}
    </dl>
    <p class="mt-1 text-sm text-ink-3">${hint}</p>`;
}

function speedBlock(context: PageContext, { item, figures }: ShownOffer): Markup | undefined {
  const { t, language } = context;
  if (item.type === 'embedding' || item.type === 'moderation') return undefined;
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

interface ModelSnippet {
  readonly name: string;
  readonly code: string;
}

/** How to call a model in three languages. Names come from the catalog, so each is written as a literal of its language. */
function modelSnippets(offer: ModelItem, origin: string): readonly ModelSnippet[] {
  const call = CALLS[offer.type];
  const model = JSON.stringify(`${offer.endpoint}/${offer.model}`);
  const base = JSON.stringify(`${origin}/v1`);
  const body = call.body.map((line) => line.replace('MODEL', () => model));
  return [
    {
      name: 'curl',
      code: `curl ${shellWord(`${origin}/v1/${call.path}`)} \\
  -H "Authorization: Bearer $TOLLGATE_TOKEN" \\
  -H "Content-Type: application/json" \\
  -d ${shellWord(`{\n    ${body.join(',\n    ')}\n  }`)}`,
    },
    {
      name: 'JavaScript',
      code: `import OpenAI from 'openai';

const client = new OpenAI({
  baseURL: ${base},
  apiKey: process.env.TOLLGATE_TOKEN,
});

const answer = await client.${call.method}({
  ${body.map((line) => line.replace(/^"(\w+)"/, '$1')).join(',\n  ')},
});
console.log(${call.javascript});`,
    },
    {
      name: 'Python',
      code: `import os
from openai import OpenAI

client = OpenAI(base_url=${base}, api_key=os.environ["TOLLGATE_TOKEN"])

answer = client.${call.method}(
    ${body.map((line) => line.replace(/^"(\w+)": /, '$1=')).join(',\n    ')},
)
print(${call.python})`,
    },
  ];
}

interface SnippetCall {
  readonly path: string;
  readonly method: string;
  readonly body: readonly string[];
  readonly javascript: string;
  readonly python: string;
}

const CALLS: Record<ModelItem['type'], SnippetCall> = {
  chat_completion: {
    path: 'chat/completions',
    method: 'chat.completions.create',
    body: ['"model": MODEL', '"messages": [{ "role": "user", "content": "Hello!" }]'],
    javascript: 'answer.choices[0].message.content',
    python: 'answer.choices[0].message.content',
  },
  image_generation: {
    path: 'images/generations',
    method: 'images.generate',
    body: ['"model": MODEL', '"prompt": "a toll gate at dawn"', '"response_format": "url"'],
    javascript: 'answer.data[0].url',
    python: 'answer.data[0].url',
  },
  embedding: {
    path: 'embeddings',
    method: 'embeddings.create',
    body: ['"model": MODEL', '"input": "Hello!"'],
    javascript: 'answer.data[0].embedding.length',
    python: 'len(answer.data[0].embedding)',
  },
  moderation: {
    path: 'moderations',
    method: 'moderations.create',
    body: ['"model": MODEL', '"input": "Hello!"'],
    javascript: 'answer.results[0].flagged',
    python: 'answer.results[0].flagged',
  },
};

/** One word of a shell, whatever is in it. */
function shellWord(text: string): string {
  return /^[\w./:-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** A model for search engines, in the words of schema.org: a product with its offers and every price. */
function productData(
  { id, path, best }: Pick<SoldModel, 'id' | 'path' | 'best'>,
  offers: readonly ShownOffer[],
  { origin, siteName }: { readonly origin: string; readonly siteName: string },
) {
  return {
    '@context': 'https://schema.org',
    '@type': 'Product',
    name: best.displayName,
    sku: id,
    category: CATEGORIES[best.type],
    url: `${origin}${path}`,
    brand: { '@type': 'Brand', name: siteName },
    offers: offers.map(({ item }) => ({
      '@type': 'Offer',
      name: item.endpointName,
      sku: `${item.endpoint}/${item.model}`,
      url: `${origin}${path}`,
      availability: `https://schema.org/${item.unavailable === null ? 'InStock' : 'OutOfStock'}`,
      seller: { '@type': 'Organization', name: siteName },
      priceSpecification: unitPrices(item),
    })),
  };
}

const CATEGORIES: Record<ModelItem['type'], string> = {
  chat_completion: 'Chat model',
  image_generation: 'Image model',
  embedding: 'Embedding model',
  moderation: 'Moderation model',
};

const MILLION = 1_000_000;

function unitPrices({ price, free }: ModelItem) {
  if (free) return [unitPrice('free', '0', 'request', 1)];
  const others = price.others.map(({ item, usd, per, quality }) =>
    unitPrice(quality === null ? item : `${item} ${quality}`, usd, per === 1 ? 'unit' : 'tokens', per),
  );
  if (price.kind === 'images')
    return [...price.bySize.map(({ size, imageUsd }) => unitPrice(size, imageUsd, 'image', 1)), ...others];
  return [
    unitPrice('input', price.inputUsd, 'tokens', MILLION),
    unitPrice('cached_input', price.cachedInputUsd, 'tokens', MILLION),
    unitPrice('output', price.outputUsd, 'tokens', MILLION),
    ...others,
  ];
}

// oxlint-disable-next-line max-params -- what, how much, and for how many
function unitPrice(name: string, price: string, unitText: string, value: number) {
  return {
    '@type': 'UnitPriceSpecification',
    name,
    price,
    priceCurrency: 'USD',
    referenceQuantity: { '@type': 'QuantitativeValue', value, unitText },
  };
}
