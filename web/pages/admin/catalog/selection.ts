import type { AdminCatalogImport } from '../../../lib/answers.ts';
import { addUsd, approximate } from '../../../lib/money.ts';

type AdminImportPrice = AdminCatalogImport['new'][number]['price'];

/** A model that can be ticked, by the backend's name for it. */
export interface ImportRow {
  readonly name: string;
  readonly model: string;
  readonly title: string;
  readonly kind: 'new' | 'changed';
  /** The provider's price for a new model, or the current price of a changed one; undefined if not known. */
  readonly from: PricePair | undefined;
  readonly to: PricePair;
  /** Parts of the prices that are kept, such as 0.2; only for a new model whose cost is known. */
  readonly margin: readonly (number | undefined)[] | undefined;
}

export interface PricePair {
  readonly input: string;
  readonly output: string;
}

export function importRows({ new: added, changed }: AdminCatalogImport): ImportRow[] {
  return [
    ...added.map((one): ImportRow => {
      const [from, to] = [one.cost ? pairOf(one.cost, one.type) : undefined, pairOf(one.price, one.type)];
      const margin = from && [
        shareKept(to.input, from.input),
        ...(to.output === '' ? [] : [shareKept(to.output, from.output)]),
      ];
      return { name: one.model, model: one.model, title: one.name, kind: 'new', from, to, margin };
    }),
    ...changed.map((one): ImportRow => ({
      name: one.offered,
      model: one.model,
      title: one.model,
      kind: 'changed',
      from: pairOf(one.before),
      to: pairOf(one.after),
      margin: undefined,
    })),
  ];
}

/** The models to ask the server for; `undefined` means all of them. */
export function wantedModels(rows: readonly ImportRow[], ticked: ReadonlySet<string>): string[] | undefined {
  const wanted = rows.filter((row) => ticked.has(row.name)).map((row) => row.name);
  return wanted.length === rows.length ? undefined : wanted;
}

/** 20 → `1.2`; `undefined` if it is not a percentage, `''` if the field is empty. */
export function markupOf(percent: string): string | undefined {
  const text = percent.trim().replace(',', '.');
  if (text === '') return '';
  if (!/^\d{1,4}(\.\d{1,4})?$/.test(text)) return undefined;
  return String(Math.round((100 + Number(text)) * 10_000) / 1_000_000);
}

/** An image has one price, and an embedding writes nothing: there is nothing beside it. */
function pairOf(price: AdminImportPrice, type?: AdminCatalogImport['new'][number]['type']): PricePair {
  if (price['image'] !== undefined) return { input: textOf(price['image']), output: '' };
  return { input: textOf(price['input']), output: type === 'embedding' ? '' : textOf(price['output']) };
}

function textOf(value: AdminImportPrice[string] | undefined): string {
  return typeof value === 'string' ? value : '0';
}

/** Undefined where nothing is charged. For showing: prices have few digits. */
function shareKept(price: string, cost: string): number | undefined {
  return Number(price) === 0 ? undefined : approximate(addUsd(price, `-${cost}`)) / approximate(price);
}
