import type { AdminPriceRow } from '../../../../lib/answers.ts';
import { addUsd } from '../../../../lib/money.ts';

export type PriceSide = 'input' | 'output';
type Amounts = Readonly<Record<PriceSide, string>>;

/** The typed amounts by {@link rowKey}; an absent side keeps its price. */
export type PriceEdits = ReadonlyMap<string, Partial<Amounts>>;

export const NO_EDITS: PriceEdits = new Map();

export function rowKey({ list, model }: Pick<AdminPriceRow, 'list' | 'model'>): string {
  return `${list}\n${model}`;
}

const AMOUNT = /^\d{1,5}(?:\.\d{1,9})?$/;

/** An amount as people type it; `undefined` if it is not one. */
export function amountOf(text: string): string | undefined {
  const amount = text.trim().replace(/^\$/, '').replace(',', '.');
  return AMOUNT.test(amount) ? amount : undefined;
}

/** The amounts typed in a row, or else its prices. */
export function shownAmounts(row: AdminPriceRow, edits: PriceEdits): Amounts {
  return { input: row.input, output: row.output, ...edits.get(rowKey(row)) };
}

/** An amount that equals the price is not a change. */
export function withEdit(edits: PriceEdits, row: AdminPriceRow, change: Partial<Amounts>): PriceEdits {
  const merged = { ...edits.get(rowKey(row)), ...change };
  const kept = Object.entries(merged).filter(([side, text]) => !isSame(text, row[side as PriceSide]));
  const next = new Map(edits);
  if (kept.length === 0) next.delete(rowKey(row));
  else next.set(rowKey(row), Object.fromEntries(kept));
  return next;
}

function isSame(text: string, amount: string): boolean {
  const typed = amountOf(text);
  return typed !== undefined && /^-?0*(?:\.0*)?$/.test(addUsd(typed, `-${amount}`));
}

/** Sets each row to its cost plus a percentage, rounded up to a nano-dollar. Rows without a cost stay. */
export function markedUp(edits: PriceEdits, rows: readonly AdminPriceRow[], percent: number): PriceEdits {
  let next = edits;
  for (const row of rows) {
    if (!row.cost) continue;
    const { input, output } = row.cost;
    next = withEdit(next, row, { input: scaled(input, percent), output: scaled(output, percent) });
  }
  return next;
}

function scaled(usd: string, percent: number): string {
  const [whole = '0', fraction = ''] = usd.split('.');
  const nano = BigInt(whole + fraction.padEnd(9, '0').slice(0, 9));
  const factor = BigInt(Math.round((100 + percent) * 10_000));
  const product = (nano * factor + 999_999n) / 1_000_000n;
  const digits = product.toString().padStart(10, '0');
  const decimals = digits.slice(-9).replace(/0+$/, '');
  return decimals === '' ? digits.slice(0, -9) : `${digits.slice(0, -9)}.${decimals}`;
}

interface PastedPrices {
  readonly edits: PriceEdits;
  readonly problems: readonly PasteProblem[];
}

export type PasteProblem =
  | { readonly kind: 'bad'; readonly line: number }
  | { readonly kind: 'unknown'; readonly line: number; readonly model: string };

/** Lines of name, input and output. A first line without amounts is a heading; a name counts in all its lists. */
export function pasted(edits: PriceEdits, rows: readonly AdminPriceRow[], text: string): PastedPrices {
  const byModel = Map.groupBy(rows, ({ model }) => model);
  const problems: PasteProblem[] = [];
  let next = edits;
  for (const [index, given] of text.split('\n').entries()) {
    if (given.trim() === '') continue;
    const cells = given.split(given.includes('\t') ? '\t' : given.includes(';') ? ';' : ',').map(unquoted);
    const [model = '', ...amounts] = cells;
    const [input, output] = amounts.map(amountOf);
    const line = index + 1;
    if (input === undefined || output === undefined) {
      if (index > 0 || amounts.some((cell) => /\d/.test(cell))) problems.push({ kind: 'bad', line });
      continue;
    }
    const found = byModel.get(model);
    if (!found) problems.push({ kind: 'unknown', line, model: model.slice(0, 200) });
    for (const row of found ?? []) next = withEdit(next, row, { input, output });
  }
  return { edits: next, problems };
}

function unquoted(cell: string): string {
  return cell.trim().replace(/^"(.*)"$/, '$1');
}

export function draftedEdits(rows: readonly AdminPriceRow[]): PriceEdits {
  return rows.reduce<PriceEdits>(
    (edits, row) => (row.draft ? withEdit(edits, row, row.draft) : edits),
    NO_EDITS,
  );
}

export function isWrong(edits: PriceEdits): boolean {
  return [...edits.values()].some((sides) =>
    Object.values(sides).some((text) => amountOf(text) === undefined),
  );
}

type PriceChange = { list: string; model: string } & Amounts;

/** The changes to save in the draft: rows that are edited, or were before. Invalid amounts are left out. */
export function savedChanges(
  rows: readonly AdminPriceRow[],
  before: PriceEdits,
  after: PriceEdits,
): PriceChange[] {
  return rows.flatMap((row) => {
    const key = rowKey(row);
    if (before.get(key) === after.get(key)) return [];
    const shown = shownAmounts(row, after);
    const [input, output] = [amountOf(shown.input), amountOf(shown.output)];
    if (input === undefined || output === undefined) return [];
    return [{ list: row.list, model: row.model, input, output }];
  });
}

interface PriceMargin extends Amounts {
  readonly isBelowCost: boolean;
}

/** `undefined` if the cost is not known, or what was typed is not an amount. */
export function marginOf(row: AdminPriceRow, edits: PriceEdits): PriceMargin | undefined {
  const { input, output } = shownAmounts(row, edits);
  const [inputUsd, outputUsd] = [amountOf(input), amountOf(output)];
  if (!row.cost || inputUsd === undefined || outputUsd === undefined) return undefined;
  const margin = {
    input: addUsd(inputUsd, `-${row.cost.input}`),
    output: addUsd(outputUsd, `-${row.cost.output}`),
  };
  return { ...margin, isBelowCost: margin.input.startsWith('-') || margin.output.startsWith('-') };
}
