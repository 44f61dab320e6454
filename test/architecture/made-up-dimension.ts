/** Loads the program with one more row in its table of dimensions, and tells what the program does with it. */
import { plugin } from 'bun';

const ROW = `{
  item: 'video_output', key: 'video_output', price: 'videoOutput', used: 'videoOutput', unit: 'token',
  soldIn: 'tokens', side: 'output', means: 'video tokens of the output', quartersOfSide: 4, isHeldIfAsked: true,
  reportedIn: ['completion_tokens_details', 'video_tokens'], isOnlyReported: true,
},`;

plugin({
  name: 'made-up dimension',
  setup(build) {
    build.onLoad({ filter: /std\/price-dimensions\.ts$/ }, async ({ path }) => {
      const text = await Bun.file(path).text();
      const [head, ...rest] = text.split("  {\n    item: 'web_search',");
      return { contents: `${head}${ROW}\n  {\n    item: 'web_search',${rest.join('')}`, loader: 'ts' };
    });
  },
});

const [
  { buildPrice },
  { costPrices },
  { checkModel },
  parts,
  price,
  { readUsage },
  { priceRows },
  { CSV_OWN },
] = await Promise.all([
  import('../../src/catalog/build-price.ts'),
  import('../../src/catalog/price-schema.ts'),
  import('../../src/catalog/model-check.ts'),
  import('../../src/ledger/priced-parts.ts'),
  import('../../src/ledger/price.ts'),
  import('../../src/relay/stream/reported-usage.ts'),
  import('../../src/catalog/price-rows.ts'),
  import('../../src/console/requests.ts'),
]);

const FILE = { input: 1, output: 2 };
const plain = buildPrice(costPrices.parse(FILE));
const priced = buildPrice(costPrices.parse({ ...FILE, video_output: 40 }));
if (plain.kind !== 'tokens' || priced.kind !== 'tokens') throw new Error('these are prices of tokens');
const usage = readUsage({
  prompt_tokens: 100,
  completion_tokens: 50,
  completion_tokens_details: { video_tokens: 30 },
});
if (!usage) throw new Error('the report was not read');
const held = (asked: object): number =>
  price.worstCase(priced, { kind: 'tokens', input: 0, output: 100, choices: 1, extra: asked }, 100);
const problems: string[] = [];
checkModel(
  // The fields that the check looks at.
  { ...FILE, video_output: 40, image: 1, reasoning: false, context: 1, free: false } as never,
  { addIssue: ({ path }: { path: string[] }) => problems.push(...path) },
);
console.log(
  JSON.stringify({
    inTheFile: priced.extra,
    fromAReport: usage.extra,
    onTheBill: parts.pricedParts(priced, usage).map(({ item, quantity }) => [item, quantity]),
    withoutAPrice: parts.unpricedKinds(plain, usage),
    heldWhereAsked: [held({ audioInput: true }), held({ videoOutput: true })],
    ofTheList: priceRows({ price: priced, sizes: [] })
      .filter(({ item }) => item === 'video_output')
      .flatMap(({ item, amount }) => [item, amount]),
    ofTheExport: CSV_OWN.some(([name]) => name === 'video_output_tokens'),
    isRefusedInAnImageModel: problems.includes('image'),
    isRefusedBeyondItsSide: !price.isUsage({ ...usage, output: 10 }),
  }),
);
