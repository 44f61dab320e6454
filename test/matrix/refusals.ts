import { join } from 'node:path';
import { allCases, DIALECT_NAMES, MODES, type MatrixCase } from './cases.ts';

/** The page that tells customers which requests a provider does not take; its last table is the matrix's. */
export const DIFFERENCES = join(import.meta.dir, '../../docs/clients/differences.md');

const BEGIN = '<!-- The table is written by `npm run matrix -- --write`. -->';
const HEAD = '| provider | what it does not take | asked as | the reason it gives |\n|---|---|---|---|';
const ANY_WAY = 'anything';

export interface RefusedCase extends MatrixCase {
  readonly reason: string;
}

export function withRefusals(page: string, refused: readonly RefusedCase[]): string {
  const at = page.indexOf(BEGIN);
  if (at < 0) throw new Error(`${DIFFERENCES} has no place for the table`);
  return `${page.slice(0, at)}${BEGIN}\n\n${HEAD}\n${rowsOf(refused).join('\n')}\n`;
}

/** One row for each provider and feature. */
function rowsOf(refused: readonly RefusedCase[]): string[] {
  const groups = Map.groupBy(refused, ({ provider, feature }) => `${provider} | ${feature}`);
  return [...groups].map(([key, cases]) => `| ${key} | ${waysOf(cases)} | ${cell(cases[0]?.reason ?? '')} |`);
}

/** In the fewest words: anything, a mode, dialects, or one by one. */
function waysOf(cases: readonly MatrixCase[]): string {
  const [first] = cases;
  const possible = allCases([first?.provider ?? '']).filter(({ feature }) => feature === first?.feature);
  const isAll = (of: (one: MatrixCase) => boolean) =>
    possible.filter(of).length === cases.length && cases.every(of);
  if (isAll(() => true)) return ANY_WAY;
  const mode = MODES.find((name) => isAll((one) => one.mode === name));
  if (mode) return mode;
  const dialects = DIALECT_NAMES.filter((name) => cases.some(({ dialect }) => dialect === name));
  if (isAll(({ dialect }) => dialects.includes(dialect))) return dialects.join(', ');
  return cases.map(({ dialect, mode: way }) => `${dialect} ${way}`).join(', ');
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll(/\s+/g, ' ').trim();
}

/** Whether the page says that a case is refused. */
export function listedIn(page: string): (one: MatrixCase) => boolean {
  const rows = page
    .slice(page.indexOf(BEGIN))
    .split('\n')
    .map((line) => line.slice(2).split(' | '));
  const listed = new Map(
    rows.map(([provider, feature, ways = '']): [string, string[]] => [
      `${provider}/${feature}`,
      ways.split(', '),
    ]),
  );
  return ({ provider, feature, dialect, mode }) => {
    const ways = listed.get(`${provider}/${feature}`) ?? [];
    return [ANY_WAY, mode, dialect, `${dialect} ${mode}`].some((way) => ways.includes(way));
  };
}
