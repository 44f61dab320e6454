import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { allCases, pairsOf, pairwise, type MatrixCase } from './cases.ts';
import { Matrix } from './matrix.ts';
import { MATRIX_PROVIDERS } from './providers.ts';
import { DIFFERENCES, listedIn } from './refusals.ts';

/**
 * What a client asks in any dialect is served by every provider as strict as the real one, charged as that one bills it,
 * or refused with a reason that the documentation names. `npm run matrix` runs all cases.
 */

const SEED = Number(process.env['MATRIX_SEED'] ?? Math.floor(Math.random() * 1_000_000));
const names = MATRIX_PROVIDERS.map(({ name }) => name);
const all = allCases(names);
const chosen = pairwise(all, SEED);
let matrix: Matrix;
let isListed: (one: MatrixCase) => boolean;

beforeAll(async () => {
  isListed = listedIn(await Bun.file(DIFFERENCES).text());
  matrix = await Matrix.start();
});
afterAll(async () => expect(await matrix.stop()).toEqual([]));

test('the selection contains every pair of provider, dialect, mode and feature', () => {
  expect(new Set(chosen.flatMap(pairsOf))).toEqual(new Set(all.flatMap(pairsOf)));
  expect(chosen.length).toBeLessThan(all.length / 3);
});

describe.each(names)(`%s, MATRIX_SEED=${SEED}`, (provider) => {
  test('is served, or refused as documented, and charged as billed', async () => {
    const found: string[] = [];
    for (const one of chosen.filter((each) => each.provider === provider)) {
      const outcome = await matrix.run(one);
      const label = `${one.feature}, ${one.dialect} ${one.mode}`;
      if (outcome.kind === 'wrong') found.push(`${label}: ${outcome.why}`);
      else if (isListed(one) !== (outcome.kind === 'refused')) {
        const reason = outcome.kind === 'refused' ? `: ${outcome.reason}` : '';
        found.push(`${label} is ${outcome.kind}, against ${DIFFERENCES}${reason}`);
      }
    }
    expect(found).toEqual([]);
  });
});
