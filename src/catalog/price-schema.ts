import { z } from 'zod';
import { parseUsd } from '../std/money.ts';
import {
  FACTOR_ONE,
  MAX_TOKEN_PRICE,
  ROWS,
  TOKEN_ROWS,
  type PricedItem,
  type TokenRow,
} from '../std/price-dimensions.ts';
import { strict } from './strict.ts';

/** 1,000 USD for one image, one request or one call of a tool: a larger one has a misplaced decimal point. */
const MAX_UNIT_PRICE = 1_000_000_000_000;
const MAX_FACTOR = 100;
const MAX_TIERS = 8;

export const size = z.string().regex(/^[1-9]\d{1,3}x[1-9]\d{1,3}$/, 'must be a size such as 1024x1024');
export const tokenPrice = price(MAX_TOKEN_PRICE, '10,000 USD per million tokens');
export const imagePrice = price(MAX_UNIT_PRICE, '1,000 USD per image');
const requestPrice = price(MAX_UNIT_PRICE, '1,000 USD per request');
const callPrice = price(MAX_UNIT_PRICE, '1,000 USD per call');
export const word = z.string().regex(/^[\w.-]{1,32}$/, 'must be 1 to 32 letters, digits, _, . or -');

/** By the table of dimensions, but for `reasoning`, which has two meanings where a model is described. */
type TokenPrices = {
  [Row in Exclude<TokenRow, { item: 'reasoning' }> as Row['key']]: z.ZodOptional<typeof tokenPrice>;
};

const TOKEN_PRICES = Object.fromEntries(
  TOKEN_ROWS.filter(({ item }) => item !== 'reasoning').map((row) => [
    row.key,
    tokenPrice.optional().describe(`USD per million ${row.means}${whenAbsent(row)}.`),
  ]),
) as TokenPrices;

function whenAbsent({ side, quartersOfSide }: (typeof TOKEN_ROWS)[number]): string {
  if (quartersOfSide === undefined) return '';
  return quartersOfSide === 4 ? `; ${side} when absent` : `; ${quartersOfSide / 4} × ${side} when absent`;
}

function besideText(item: PricedItem): string {
  return `USD per ${ROWS.find((row) => row.item === item)?.means ?? item}.`;
}

const reasoning = tokenPrice.optional().describe('USD per million reasoning tokens; output when absent.');

const byQuality = z.record(word, imagePrice);

/** Every key of a price but `reasoning`, which has two meanings where a model is described. */
export const PRICE_KEYS = {
  ...TOKEN_PRICES,
  above: z
    .record(
      z.string().regex(/^[1-9]\d{0,7}$/, 'must be a number of input tokens, such as 200000'),
      strict({ ...TOKEN_PRICES, reasoning }),
    )
    .refine((tiers) => Object.keys(tiers).length <= MAX_TIERS, `must have at most ${MAX_TIERS} tiers`)
    .optional()
    .describe(
      'Prices of all tokens of a request whose input has more than so many tokens. What a tier does not name stays as below it.',
    ),
  service_tiers: z
    .record(word, factor())
    .optional()
    .describe(
      'Factors of the token prices by the service tier that answered, such as { priority: 2, flex: 0.5 }.',
    ),
  image: z
    .union([
      imagePrice,
      strict({ per_megapixel: price(MAX_UNIT_PRICE, '1,000 USD per megapixel') }),
      z.record(z.union([z.literal('default'), size]), z.union([imagePrice, byQuality])),
    ])
    .optional()
    .describe(
      'USD per image: a number; a map by size with an optional `default` for sizes not named, each a number or a map by quality; or { per_megapixel }.',
    ),
  input_image: imagePrice.optional().describe(besideText('input_image')),
  partial_image: imagePrice.optional().describe(besideText('partial_image')),
  request: requestPrice.optional().describe(besideText('request')),
  tool_calls: strict({ web_search: callPrice.optional().describe(besideText('web_search')) })
    .optional()
    .describe('USD per call of a tool that the provider runs.'),
};

/** In millionths. */
export const markupFactor = factor();

export const dailyLimit = price(1_000_000_000_000_000, '1,000,000 USD a day');

/** What a provider charges. */
export const costPrices = strict({ ...PRICE_KEYS, reasoning });

export type PriceEntry = z.output<typeof costPrices>;

/** Dollars as written, in nano-USD. The reader passes decimals on as their source text, so no float is involved. */
function price(max: number, maxText: string) {
  return z
    .union([z.number().meta({ minimum: 0 }), z.string().meta({ pattern: String.raw`^\d+(\.\d{1,9})?$` })], {
      error: 'must be an amount of US dollars such as 0.25',
    })
    .transform((value, context) => {
      const amount = parseUsd(value);
      if (amount !== undefined && amount <= max) return amount;
      context.addIssue({ code: 'custom', message: priceProblem(String(value), maxText) });
      return z.NEVER;
    });
}

function priceProblem(value: string, maxText: string): string {
  if (value.startsWith('-')) return 'must not be negative';
  if (/^\d+\.\d{10,}$/.test(value)) return 'has more than nine decimals; round it';
  if (/^\d+(\.\d+)?$/.test(value)) return `must be at most ${maxText}`;
  return 'must be an amount of US dollars such as 0.25, as a plain decimal without sign or exponent';
}

/** In millionths. */
function factor() {
  const error = `must be a factor above 0 and up to ${MAX_FACTOR}, with at most six decimals`;
  return z
    .union([z.number().meta({ minimum: 0 }), z.string().meta({ pattern: String.raw`^\d+(\.\d{1,6})?$` })], {
      error,
    })
    .transform((value, context) => {
      const millionths = (parseUsd(value) ?? 0) / 1_000;
      if (Number.isInteger(millionths) && millionths > 0 && millionths <= MAX_FACTOR * FACTOR_ONE)
        return millionths;
      context.addIssue({ code: 'custom', message: error });
      return z.NEVER;
    });
}
