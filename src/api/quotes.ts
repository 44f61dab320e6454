import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { IncomingRequest } from '../http/router.ts';
import { json, rateHeaders } from '../http/response.ts';
import { holdFor } from '../ledger/decide.ts';
import type { Caller, Ceiling } from '../ledger/port.ts';
import { holdPrices, priceToText, type ImageCeiling } from '../ledger/price.ts';
import type { ImagePrice } from '../ledger/priced-parts.ts';
import { exactUsd } from '../ledger/receipt.ts';
import { heldQuote, identified, preferTokenError, requireModel, type HeldQuote } from '../relay/admission.ts';
import type { ImageCall, Quote, RelayParts, CallBase } from '../relay/call.ts';
import { quoteChatCall } from '../relay/chat.ts';
import { quoteImageCall } from '../relay/images.ts';
import { formatUsd, nanoUsd, type NanoUsd } from '../std/money.ts';
import { publicChatCall, publicChatSchema } from './chat-completions.ts';
import { takePictures } from './edit-body.ts';
import { QUOTE_ERRORS, OPENAI_ERRORS } from './errors.ts';
import { publicImageCall, publicImageSchema } from './images.ts';
import { callOf, work } from './inference.ts';
import type { ApiOperation, ApiParts } from './operation.ts';

const usd = z.string().describe('Dollars as a decimal');

const quoteAnswer = z.object({
  object: z.literal('quote'),
  endpoint: z.string(),
  model: z.string(),
  max_cost_usd: usd.describe(
    'What the request would hold now, and the most that it costs if it is sent now. As max_cost_usd of the request it is a bound at any time',
  ),
  max_tokens: z.int().optional().describe('The output cap that this pays for, for each choice'),
  covered: z
    .boolean()
    .describe('false: the account has too little for it now, and this is the cost of the whole request'),
  price_version: z.string().describe('Changes when the price of the model does'),
  lines: z.array(
    z.object({
      dimension: z.enum(['input', 'output', 'image', 'input_image', 'partial_image', 'fixed']),
      quantity: z.int().describe('The most that the request can use'),
      price: usd.describe('Per million tokens, per image, or once'),
      usd: usd.describe('Before rounding up'),
    }),
  ),
});

/** What the admission would hold for a request now. No backend is called, and nothing is held or charged. */
export const quotes: ApiOperation = {
  id: 'createQuote',
  method: 'POST',
  path: '/api/public/v1/quotes',
  tag: 'Inference',
  summary: 'Get the highest possible cost of a request',
  description:
    'Takes the body of a chat, of an image generation or of an edit in JSON. Nobody is called and nothing is charged.',
  token: 'required',
  request: {
    name: 'QuoteRequest',
    schema: z.union([publicChatSchema, publicImageSchema]),
    examples: {
      chat: {
        endpoint: 'svc_chat',
        model: 'house-guide',
        messages: [{ role: 'user', content: 'What is a hold?' }],
        max_tokens: 500,
      },
      image: { endpoint_code: 'svc_tgter', model: 'house-paint', prompt: 'a lighthouse at dusk' },
    },
  },
  answer: {
    description: 'The most that the request can cost',
    headers: 'rate',
    body: {
      name: 'Quote',
      schema: quoteAnswer,
      examples: {
        example: {
          object: 'quote',
          endpoint: 'svc_chat',
          model: 'house-guide',
          max_cost_usd: '0.000215',
          max_tokens: 500,
          covered: true,
          price_version: '3f8a1c0b9d2e4f67',
          lines: [
            { dimension: 'input', quantity: 150, price: '0.10', usd: '0.000015' },
            { dimension: 'output', quantity: 500, price: '0.40', usd: '0.0002' },
          ],
        },
      },
    },
  },
  errors: QUOTE_ERRORS,
  dialect: OPENAI_ERRORS,
  handle: work(answerQuote),
};

async function answerQuote(incoming: IncomingRequest, caller: Caller, parts: ApiParts): Promise<Response> {
  const { callerAuth, relay } = parts;
  const { rate } = await callerAuth.freeCaller(caller);
  const quoted = await preferTokenError({ caller, rate: 'chat' }, relay, async () => {
    const body = await incoming.body.json();
    return await quoteBody(callOf(incoming, caller, body), body.value, relay);
  });
  return json(quoteView(quoted), incoming.requestId, rateHeaders(rate));
}

/** The quote for the body of a chat or image request, on the caller's account as it is now. */
export async function quoteBody(
  base: CallBase,
  body: Record<string, unknown>,
  parts: RelayParts,
): Promise<HeldQuote> {
  const isImage = body['prompt'] !== undefined && body['messages'] === undefined;
  // First, because its price group decides which prices are quoted.
  const account = await identified(base.caller, parts);
  const quote = isImage
    ? await quoteImageCall(quotedImageCall(base, body), parts)
    : await quoteChatCall(publicChatCall(base, body), parts);
  requireModel(account, quote.route);
  return await heldQuote(quote, account, base.connection.signal);
}

/** Only the number of an edit's pictures matters here, so none of them is looked up. */
function quotedImageCall(base: CallBase, body: Record<string, unknown>): ImageCall {
  const { pictures, mask, value } = takePictures(body);
  const call = publicImageCall(base, value);
  if (pictures.length === 0) return call;
  const image = pictures.map(() => NO_PICTURE);
  return { ...call, request: { ...call.request, image, ...(mask && { mask: NO_PICTURE }) } };
}

const NO_PICTURE = { mime: 'image/png', load: () => Promise.resolve(undefined) };

/** A quote in the public API's words. */
export function quoteView({ quote, hold, isCovered }: HeldQuote): z.infer<typeof quoteAnswer> {
  const { route, ceiling, price } = quote;
  return {
    object: 'quote',
    endpoint: route.endpoint.code,
    model: route.model.id,
    max_cost_usd: formatUsd(hold),
    ...(ceiling.kind === 'tokens' && ceiling.output > 0 && { max_tokens: ceiling.output }),
    covered: isCovered,
    price_version: createHash('sha256').update(priceToText(price)).digest('hex').slice(0, VERSION_CHARACTERS),
    lines: linesOf(quote, ceiling),
  };
}

const VERSION_CHARACTERS = 16;

type QuoteLine = z.infer<typeof quoteAnswer>['lines'][number];

function linesOf(quote: Quote, ceiling: Ceiling): QuoteLine[] {
  const { price } = quote;
  if (price.kind === 'images') {
    const images = ceiling.kind === 'images' ? ceiling.images : 0;
    const others = ceiling.kind === 'images' ? pictureLines(price, ceiling) : [];
    const own = nanoUsd(holdFor(quote, 0) - others.reduce((sum, { amount }) => sum + amount, 0));
    const one = nanoUsd(Math.ceil(own / Math.max(1, images)));
    return [
      { dimension: 'image', quantity: images, price: formatUsd(one), usd: formatUsd(own) },
      ...others.map(({ line }) => line),
    ];
  }
  const { input, output, fixed } = holdPrices(price, ceiling);
  const outputTokens = ceiling.kind === 'tokens' ? ceiling.output * ceiling.choices : (ceiling.output ?? 0);
  return [
    tokenLine('input', ceiling.input ?? 0, input),
    ...(outputTokens > 0 ? [tokenLine('output', outputTokens, output)] : []),
    ...(fixed > 0 ? [fixedLine(fixed)] : []),
  ];
}

/** The lines of a quote beside the images themselves. */
function pictureLines({ extra }: ImagePrice, ceiling: ImageCeiling): { line: QuoteLine; amount: number }[] {
  const line = (dimension: 'input_image' | 'partial_image', quantity = 0, price = nanoUsd(0)) => {
    const amount = nanoUsd(quantity * price);
    if (amount === 0) return [];
    return [{ amount, line: { dimension, quantity, price: formatUsd(price), usd: formatUsd(amount) } }];
  };
  return [
    ...line('input_image', ceiling.inputImages, extra?.inputImage),
    ...line('partial_image', ceiling.partialImages, extra?.partialImage),
  ];
}

function tokenLine(dimension: 'input' | 'output', quantity: number, nanoPerMillion: number): QuoteLine {
  return {
    dimension,
    quantity,
    price: exactUsd(BigInt(nanoPerMillion), 9),
    usd: exactUsd(BigInt(quantity) * BigInt(nanoPerMillion), 15),
  };
}

/** What does not depend on tokens: the price of a request, and of the searches that it allows. */
function fixedLine(fixed: NanoUsd): QuoteLine {
  return { dimension: 'fixed', quantity: 1, price: formatUsd(fixed), usd: formatUsd(fixed) };
}
