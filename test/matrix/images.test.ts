import { afterAll, beforeAll, expect, test } from 'bun:test';
import { IMAGE_BACKENDS, imageCases, imagePairs, imagePairwise } from './image-cases.ts';
import { ImageMatrix } from './image-matrix.ts';

/**
 * Whatever a backend answers with, a client gets what it asked for and pays for what it got. `npm run matrix -- --images`
 * runs all cases.
 */

const all = imageCases();
const chosen = imagePairwise(all);
let matrix: ImageMatrix;

beforeAll(async () => void (matrix = await ImageMatrix.start(chosen)));
afterAll(async () => expect(await matrix.stop()).toEqual([]));

test('the selection contains every pair of backend, wish, number, delivery, cause, format and way to wait', () => {
  expect(new Set(chosen.flatMap(imagePairs))).toEqual(new Set(all.flatMap(imagePairs)));
  expect(chosen.length).toBeLessThan(all.length / 3);
});

test.each(IMAGE_BACKENDS)('$name, which answers with $answers', async ({ name }) => {
  expect(await matrix.run(name)).toEqual([]);
});
