import type { PriceRow } from './rows.ts';
import {
  amountOf,
  costField,
  costParts,
  isBad,
  shownValue,
  withEdit,
  type PriceEdits,
  type PriceField,
} from './edits.ts';

/** Columns of a copied sheet, and headings that a pasted one may have, in any order. */
const HEADINGS = [
  'model',
  'input',
  'output',
  'cached_input',
  'image',
  'cost_input',
  'cost_output',
  'cost_image',
  'context',
  'max_output',
] as const;

type Heading = (typeof HEADINGS)[number];

interface PastedPrices {
  readonly edits: PriceEdits;
  readonly problems: readonly PasteProblem[];
}

export type PasteProblem =
  | { readonly kind: 'bad'; readonly line: number }
  | { readonly kind: 'unknown'; readonly line: number; readonly model: string };

/**
 * Lines of a name and amounts, in the order of the headings, or without them input, output and cached input, or the
 * price of an image. An empty cell changes nothing; a name counts in all its lists.
 */
export function pasted(edits: PriceEdits, rows: readonly PriceRow[], text: string): PastedPrices {
  const byModel = Map.groupBy(rows, ({ model }) => model);
  const lines = text.split('\n').map((line) => (line.trim() === '' ? [] : cellsOf(line)));
  const headings = headingsOf(lines[0] ?? []);
  const problems: PasteProblem[] = [];
  let next = edits;
  for (const [index, cells] of lines.entries()) {
    const line = index + 1;
    if (cells.length === 0 || (index === 0 && (headings || !cells.slice(1).some((cell) => /\d/.test(cell)))))
      continue;
    const model = cells[headings?.indexOf('model') ?? 0] ?? '';
    const found = byModel.get(model);
    const changes = (found ?? []).map((row) => [row, changeOf(row, cells, headings)] as const);
    if (!found && !hasAmounts(cells)) problems.push({ kind: 'bad', line });
    else if (!found) problems.push({ kind: 'unknown', line, model: model.slice(0, 200) });
    else if (changes.some(([, change]) => !change)) problems.push({ kind: 'bad', line });
    for (const [row, change] of changes) if (change) next = withEdit(next, row, change);
  }
  return { edits: next, problems };
}

function hasAmounts(cells: readonly string[]): boolean {
  return cells.slice(1).some((cell) => /\d/.test(cell));
}

function cellsOf(line: string): string[] {
  const separator = line.includes('\t') ? '\t' : line.includes(';') ? ';' : ',';
  return line.split(separator).map((cell) => cell.trim().replace(/^"(.*)"$/, '$1'));
}

function headingsOf(cells: readonly string[]): Heading[] | undefined {
  const names = cells.map((cell) => cell.toLowerCase().replaceAll(/[\s-]+/g, '_'));
  return names.includes('model') && names.every(isHeading) ? names : undefined;
}

function isHeading(name: string): name is Heading {
  return HEADINGS.some((heading) => heading === name);
}

/** `undefined`: a cell is not what its column is. */
function changeOf(
  row: PriceRow,
  cells: readonly string[],
  headings: readonly Heading[] | undefined,
): Partial<Record<PriceField, string>> | undefined {
  const usual: readonly Heading[] =
    row.input === null ? ['model', 'image'] : ['model', 'input', 'output', 'cached_input'];
  const change: Partial<Record<PriceField, string>> = {};
  for (const [index, heading] of (headings ?? usual).entries()) {
    const field = fieldOf(row, heading);
    const cell = cells[index] ?? '';
    if (!field || cell === '') continue;
    if (isBad(field, cell)) return undefined;
    change[field] = amountOf(cell) ?? cell;
  }
  if (headings) return change;
  const wanted = costParts(row).length;
  return Object.keys(change).length < wanted ? undefined : change;
}

/** Costs of a sheet are those of a model's only backend. */
function fieldOf(row: PriceRow, heading: Heading): PriceField | undefined {
  const backend = row.backends.length === 1 ? row.backends[0]?.name : undefined;
  switch (heading) {
    case 'model':
      return undefined;
    // A model is sold by the token or by the image; images that are priced by size are not in a sheet.
    case 'input':
    case 'output':
    case 'image':
      return row[heading] === null ? undefined : heading;
    case 'cached_input':
      return 'cachedInput';
    case 'max_output':
      return 'maxOutput';
    case 'cost_input':
    case 'cost_output':
    case 'cost_image':
      return backend === undefined ? undefined : costField(COST_PARTS[heading], backend);
    case 'context':
      return heading;
    default:
      return heading satisfies never;
  }
}

const COST_PARTS = { cost_input: 'input', cost_output: 'output', cost_image: 'image' } as const;

/** The rows as a spreadsheet takes them from the clipboard. */
export function sheetOf(rows: readonly PriceRow[], edits: PriceEdits): string {
  const lines = rows.map((row) =>
    HEADINGS.map((heading) => {
      if (heading === 'model') return row.model;
      const field = fieldOf(row, heading);
      return field ? shownValue(row, edits, field) : '';
    }),
  );
  return [HEADINGS, ...lines].map((cells) => cells.join('\t')).join('\n');
}
