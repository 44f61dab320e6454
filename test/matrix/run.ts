#!/usr/bin/env bun
import { allCases, FEATURES, type MatrixCase } from './cases.ts';
import { runImageMatrix } from './image-matrix.ts';
import { Matrix, type MatrixOutcome } from './matrix.ts';
import { MATRIX_PROVIDERS } from './providers.ts';
import { DIFFERENCES, withRefusals } from './refusals.ts';

/**
 * Every case of the matrix: dialect × whole or streamed × what is asked × provider. Prints a table and a count; ends with 1
 * if a case is wrong, or refused otherwise than docs/clients/differences.md says. `--write` writes that page's table.
 * `--images` runs every case of the image matrix instead.
 */
if (process.argv.includes('--images')) process.exit(await runImageMatrix());
const names = MATRIX_PROVIDERS.map(({ name }) => name);
const results: { readonly one: MatrixCase; readonly outcome: MatrixOutcome }[] = [];
const matrix = await Matrix.start();
for (const one of allCases(names)) results.push({ one, outcome: await matrix.run(one) });
const breaches = await matrix.stop();

const WIDTH = 10;
const cellOf = (text: string): string => text.slice(0, WIDTH - 1).padEnd(WIDTH);
console.log(['', ...FEATURES].map((text) => cellOf(text)).join(''));
for (const name of names) {
  const cells = FEATURES.map((feature) => {
    const own = results.filter(({ one }) => one.provider === name && one.feature === feature);
    const count = (kind: MatrixOutcome['kind']) => own.filter(({ outcome }) => outcome.kind === kind).length;
    const refused = count('refused');
    const wrong = count('wrong');
    return `${count('served')}/${own.length}${refused ? ` r${refused}` : ''}${wrong ? ` !${wrong}` : ''}`;
  });
  console.log([name, ...cells].map((text) => cellOf(text)).join(''));
}
console.log('served / asked, r: refused with a reason, !: wrong\n');

const wrongs = results.flatMap(({ one, outcome }) =>
  outcome.kind === 'wrong' ? [{ ...one, why: outcome.why }] : [],
);
for (const { provider, feature, dialect, mode, why } of wrongs)
  console.log(`${provider}, ${feature}, ${dialect} ${mode}: ${why}`);
const refused = results.flatMap(({ one, outcome }) =>
  outcome.kind === 'refused' ? [{ ...one, reason: outcome.reason }] : [],
);
console.log(
  `${results.length} cases: ${results.length - wrongs.length - refused.length} served, ${refused.length} refused, ${wrongs.length} wrong; ${breaches.length} breaches in the books`,
);

const page = await Bun.file(DIFFERENCES).text();
const written = withRefusals(page, refused);
if (process.argv.includes('--write')) await Bun.write(DIFFERENCES, written);
else if (written !== page) console.log(`${DIFFERENCES} differs: run npm run matrix -- --write`);
const isTrue = written === page || process.argv.includes('--write');
process.exit(wrongs.length === 0 && breaches.length === 0 && isTrue ? 0 : 1);
