import { expect, test } from 'bun:test';
import { resolve } from 'node:path';
import { countedNames, priceLabels } from '../../src/std/dimension-texts.ts';
import { PRICED_ITEMS, TOKEN_ROWS } from '../../src/std/price-dimensions.ts';
import { SRC, sourcesIn, WEB } from './source-graph.ts';

test('a dimension that is added to the table alone is read, held, billed, listed and exported', async () => {
  const probe = Bun.spawn([process.execPath, resolve(import.meta.dir, 'made-up-dimension.ts')], {
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [told, problems] = await Promise.all([
    new Response(probe.stdout).text(),
    new Response(probe.stderr).text(),
  ]);
  expect({ code: await probe.exited, problems }).toEqual({ code: 0, problems: '' });
  expect(JSON.parse(told)).toEqual({
    inTheFile: { videoOutput: 40_000_000_000 },
    fromAReport: { videoOutput: 30 },
    onTheBill: [
      ['input', 100],
      ['output', 20],
      ['video_output', 30],
    ],
    withoutAPrice: ['video_output'],
    heldWhereAsked: [200_000, 4_000_000],
    ofTheList: ['video_output', 40_000_000_000],
    ofTheExport: true,
    isRefusedInAnImageModel: true,
    isRefusedBeyondItsSide: true,
  });
});

/** Beside the table: where a request asks for it, and where reports and lists of others say it. */
const MOST_FILES = 6;

test.each(TOKEN_ROWS.flatMap((row) => ('hasColumn' in row ? [] : [[row.item, row] as const])))(
  'the dimension %s is named in few files',
  async (_, { price, used }) => {
    const names = new RegExp(String.raw`\b(?:${price}|${used})\b`);
    const sources = [...(await sourcesIn(SRC)), ...(await sourcesIn(WEB))];
    const named = sources
      .filter(({ file, text }) => !/\.test\.|testing\//.test(file) && names.test(codeOf(text)))
      .map(({ file }) => file);
    expect(named).toContain('std/price-dimensions.ts');
    expect({ named, tooMany: named.length > MOST_FILES }).toMatchObject({ tooMany: false });
  },
);

test('every dimension has its texts in each language, for prices and for receipts', () => {
  for (const language of ['en', 'de'] as const) {
    expect(Object.keys(priceLabels(language)).toSorted()).toEqual([...PRICED_ITEMS].toSorted());
    expect(Object.keys(countedNames(language))).toHaveLength(2 * PRICED_ITEMS.length);
  }
});

function codeOf(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '');
}
