import type { ModelItem } from '../models.ts';
import { escaped } from './html.ts';
import type { SoldModel } from './sold-models.ts';

/** What a sitemap may hold, by its protocol: https://www.sitemaps.org/protocol.html */
const MOST_URLS = 50_000;
const PAGES = ['/', '/models', '/status', '/docs'];

export function sitemapXml(sold: ReadonlyMap<string, SoldModel>, origin: string): string {
  const paths = [...PAGES, ...[...sold.values()].map(({ path }) => path)].slice(0, MOST_URLS);
  const urls = paths.map((path) => `<url><loc>${escaped(`${origin}${path}`)}</loc></url>\n`);
  return `<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
${urls.join('')}</urlset>
`;
}

/** Without an origin there is no sitemap. */
export function robotsText(origin: string | undefined): string {
  const sitemap = origin === undefined ? '' : `\nSitemap: ${origin}/sitemap.xml\n`;
  return `User-agent: *\nDisallow: /app\nDisallow: /admin\nDisallow: /receipt\nDisallow: /api\n${sitemap}`;
}

/** A language model reads all of it. */
const MOST_LISTED = 300;

/** What this server is and sells, for language models; see https://llmstxt.org */
export function llmsText(
  sold: ReadonlyMap<string, SoldModel>,
  { origin, siteName }: { readonly origin: string; readonly siteName: string },
): string {
  const models = [...sold.values()];
  const listed = models.slice(0, MOST_LISTED).map((model) => modelLine(model, origin));
  const more = models.length - listed.length;
  return `# ${oneLine(siteName)}

> One API in front of many AI models (chat, images, embeddings), prepaid, exact to the nano-dollar.

- OpenAI's clients: base URL ${origin}/v1, model "endpoint/model" (list: GET ${origin}/v1/models)
- Anthropic's clients: base URL ${origin} (POST /v1/messages)
- Gemini's clients: base URL ${origin} (POST /v1beta/models/{model}:generateContent)
- The service's own API: ${origin}/api/public/v1
- Authentication: Authorization: Bearer sk-… (or x-api-key)
- Errors: {"error":{"code","message","type","param"}}; 402 payment_required carries a reason and is not worth retrying unless Retry-After is set; 429 and 500 carry Retry-After
- Every answer has x-request-id; GET ${origin}/api/public/v1/requests/{id} is its receipt
- Idempotency-Key on POST: the same key and body is answered once and charged once

## Docs

- [Guides](${origin}/docs): getting started, chat, streaming, images, money, limits, errors
- [API reference](${origin}/docs/reference): every operation and field
- [OpenAPI 3.1](${origin}/api/public/v1/openapi.json): the same for programs
- [Models and prices](${origin}/models): searchable, with speed and uptime
- [Status](${origin}/status): state now and in the last 90 days ([JSON](${origin}/status.json))

## Models

Token prices are US dollars per million tokens (input / output); image prices are per image.

${listed.join('\n')}
${more > 0 ? `- … and ${more} more: ${origin}/models\n` : ''}`;
}

function modelLine({ best, offers, path }: SoldModel, origin: string): string {
  const names = offers.slice(0, 5).map(({ endpoint, model }) => oneLine(`${endpoint}/${model}`));
  const more = offers.length > names.length ? ` and ${offers.length - names.length} more` : '';
  const facts = [
    KINDS[best.type],
    priceFact(best),
    ...(best.contextTokens > 0 && best.type !== 'image_generation' ? [`context ${best.contextTokens}`] : []),
    ...(best.vision ? ['vision'] : []),
    ...(best.tools ? ['tools'] : []),
    ...(best.reasoning ? ['reasoning'] : []),
    ...(best.unavailable === null ? [] : ['not available now']),
  ];
  return `- [${oneLine(best.displayName)}](${origin}${path}): ${facts.join(', ')}; as ${names.join(', ')}${more}`;
}

const KINDS: Record<ModelItem['type'], string> = {
  chat_completion: 'chat',
  image_generation: 'images',
  embedding: 'embeddings',
  moderation: 'moderation',
};

function priceFact({ free, price }: ModelItem): string {
  if (free) return 'free';
  if (price.kind === 'tokens') return `$${price.inputUsd} / $${price.outputUsd}`;
  const [first] = price.bySize;
  return first ? `$${first.imageUsd} at ${first.size}` : 'images';
}

/** Names are the operator's or a provider's: they must not begin a line, a link or a heading of their own. */
function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').replaceAll(/[[\]()<>`]/g, ' ').trim(); // prettier-ignore
}
