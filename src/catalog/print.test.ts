import { expect, test } from 'bun:test';
import * as fc from 'fast-check';
import { stringify } from 'yaml';
import { NANO_PER_USD } from '../std/money.ts';
import { parseCatalog } from './parse.ts';

interface Sold {
  readonly id: string;
  readonly name: string;
  readonly input: number;
  readonly cached: number | undefined;
  readonly output: number;
  readonly context: number;
  readonly vision: boolean;
}

interface Painted {
  readonly id: string;
  readonly sizes: readonly string[];
  readonly prices: readonly number[];
  readonly otherwise: number | undefined;
}

const MAX_TOKEN_PRICE = 10_000 * NANO_PER_USD;
const price = (most: number): fc.Arbitrary<number> =>
  fc.oneof(fc.integer({ min: 1, max: 2000 }), fc.integer({ min: 1, max: most }));
/** Values that are hard in YAML: ids that look like numbers, booleans, null, flow and comment marks. */
const awkward = fc.constantFrom(
  'yes',
  'null',
  '1.0',
  '~',
  '0x10',
  'a/b',
  'a:b',
  "it's",
  '[x]',
  '{x}',
  'x#y',
  '-',
  '!t',
  '&a',
  '*a',
  '%',
  '@x',
);
const id = fc.oneof(
  awkward,
  fc.stringMatching(/^[!-~]{1,20}$/).filter((text) => !text.includes('${')),
);
const name = fc
  .oneof(awkward, fc.stringMatching(/^[A-Za-zäöü\u4e00-\u4e20"'#:{}[\],&*!|>%@` ]{0,30}[A-Za-z]$/))
  .map((text) => text.trim());
const size = fc
  .tuple(fc.integer({ min: 10, max: 9999 }), fc.integer({ min: 10, max: 9999 }))
  .filter(([width, height]) => width * height <= 50_000_000)
  .map(([width, height]) => `${width}x${height}`);

const sold: fc.Arbitrary<Sold> = fc.record({
  id,
  name,
  input: price(MAX_TOKEN_PRICE),
  cached: fc.option(price(MAX_TOKEN_PRICE), { nil: undefined }),
  output: price(MAX_TOKEN_PRICE),
  context: fc.integer({ min: 1, max: 10_000_000 }),
  vision: fc.boolean(),
});

const painted: fc.Arbitrary<Painted> = fc.uniqueArray(size, { minLength: 1, maxLength: 5 }).chain((sizes) =>
  fc.record({
    id,
    sizes: fc.constant(sizes),
    prices: fc.array(price(1000 * NANO_PER_USD), { minLength: sizes.length, maxLength: sizes.length }),
    otherwise: fc.option(price(1000 * NANO_PER_USD), { nil: undefined }),
  }),
);

/** Nano-USD as a person would write it: without trailing zeros, or with some. */
function usd(nano: number): string {
  const text = `${Math.floor(nano / NANO_PER_USD)}.${String(nano % NANO_PER_USD).padStart(9, '0')}`;
  return nano % 2 === 0 ? text.replace(/\.?0+$/, '') : text;
}

function soldEntry(model: Sold): object {
  return {
    model: model.id,
    display_name: model.name,
    input: usd(model.input),
    ...(model.cached !== undefined && { cached_input: usd(model.cached) }),
    output: usd(model.output),
    context: model.context,
    vision: model.vision,
  };
}

function paintedEntry(model: Painted): object {
  const bySize = Object.fromEntries(
    model.sizes.map((wanted, index) => [wanted, usd(model.prices[index] ?? 1)]),
  );
  return {
    model: model.id,
    sizes: model.sizes,
    image: { ...bySize, ...(model.otherwise !== undefined && { default: usd(model.otherwise) }) },
  };
}

/** Prices are printed without quotes, as people write them. */
function unquotePrices(text: string): string {
  return text.replace(/((?:input|output|\d+x\d+|default)"?: )"(\d+(?:\.\d+)?)"/g, '$1$2');
}

test('any catalog can be printed and read back in every style, exact to the nano-dollar', () => {
  const lists = fc.record({
    chat: fc.uniqueArray(sold, { minLength: 1, maxLength: 6, selector: (model) => model.id }),
    images: fc.uniqueArray(painted, { minLength: 1, maxLength: 4, selector: (model) => model.id }),
    style: fc.constantFrom('block', 'flow', 'json'),
    bare: fc.boolean(),
  });
  fc.assert(
    fc.property(lists, ({ chat, images, style, bare }) => {
      const plain = {
        upstreams: { house: { kind: 'house' } },
        lists: { chat_models: chat.map(soldEntry), image_models: images.map(paintedEntry) },
        endpoints: {
          chat: { name: 'Chat', type: 'chat_completion', lists: ['chat_models'], upstreams: ['house'] },
          images: { name: 'Images', type: 'image_generation', lists: ['image_models'], upstreams: ['house'] },
        },
      };
      const printed =
        style === 'json'
          ? JSON.stringify(plain, null, 1)
          : stringify(plain, {
              collectionStyle: style === 'flow' ? 'flow' : 'any',
              lineWidth: 0,
              defaultStringType: 'QUOTE_DOUBLE',
              defaultKeyType: 'PLAIN',
            });
      const catalog = parseCatalog(bare ? unquotePrices(printed) : printed, { fileName: 'printed', env: {} });
      const got = catalog.endpoints
        .get('chat')!
        .models.map((model) => [model.id, model.displayName, model.price, model.contextTokens, model.vision]);
      expect(got).toEqual(
        chat.map(({ id, name, input, cached, output, context, vision }) => [
          id,
          name,
          { kind: 'tokens', input, cachedInput: cached ?? input, output },
          context,
          vision,
        ]),
      );
      for (const [index, model] of catalog.endpoints.get('images')!.models.entries()) {
        const wanted = images[index]!;
        const bySize = new Map(wanted.sizes.map((each, place) => [each, wanted.prices[place]]));
        expect({ id: model.id, sizes: model.sizes, price: model.price }).toEqual({
          id: wanted.id,
          sizes: wanted.sizes,
          price: { kind: 'images', bySize, otherwise: wanted.otherwise },
        } as never);
      }
    }),
    { numRuns: 300 },
  );
});
