import type { PriceRow, PriceValues } from './rows.ts';
import { addUsd } from '../../../lib/money.ts';
import type { DraftEdit } from '../draft/draft.ts';

const AMOUNTS = ['input', 'output', 'cachedInput', 'image'] as const;
const COUNTS = ['context', 'maxOutput'] as const;
export const FLAGS = ['vision', 'tools', 'reasoning', 'files'] as const;
type CostPart = 'input' | 'output' | 'image';

/** The fields of a model that can be edited. A cost belongs to one of its backends, an own price to a price group. */
export type PriceField =
  | (typeof AMOUNTS)[number]
  | (typeof COUNTS)[number]
  | (typeof FLAGS)[number]
  | `cost ${CostPart} ${string}`
  | `group ${GroupPart} ${string}`;

export const GROUP_PARTS = ['input', 'output'] as const;
type GroupPart = (typeof GROUP_PARTS)[number];

/** Texts as they are typed; empty: not known, or off. */
type Values = Readonly<Partial<Record<PriceField, string>>>;

/** The typed values by {@link rowKey}; an absent field stays as it is published. */
export type PriceEdits = ReadonlyMap<string, Values>;

export const NO_EDITS: PriceEdits = new Map();
const ON = 'yes';

export function rowKey({ list, model }: Pick<PriceRow, 'list' | 'model'>): string {
  return `${list}\n${model}`;
}

const AMOUNT = /^\d{1,5}(?:\.\d{1,9})?$/;

/** An amount as people type it; `undefined` if it is not one. */
export function amountOf(text: string): string | undefined {
  const amount = text.trim().replace(/^\$/, '').replace(',', '.');
  return AMOUNT.test(amount) ? amount : undefined;
}

/** `128k` and `1m` are read too. */
export function countOf(text: string): number | undefined {
  const [, digits, unit = ''] = /^(\d{1,8})\s*([km]?)$/i.exec(text.trim()) ?? [];
  if (digits === undefined) return undefined;
  const count = Number(digits) * ({ k: 1_000, m: 1_000_000 }[unit.toLowerCase()] ?? 1);
  return count >= 1 && count <= 10_000_000 ? count : undefined;
}

export function costField(part: CostPart, backend: string): PriceField {
  return `cost ${part} ${backend}`;
}

/** Empty: it follows from the list price. */
export function groupField(part: GroupPart, group: string): PriceField {
  return `group ${part} ${group}`;
}

type Described = PriceRow | PriceValues;

/** Thousands of rows are looked through with each letter that is typed. */
const known = new WeakMap<Described, Values>();

/** The values of a published or drafted model, as texts. */
function valuesOf(row: Described): Values {
  const before = known.get(row);
  if (before) return before;
  const texts: Partial<Record<PriceField, string>> = {};
  for (const field of AMOUNTS) texts[field] = row[field] ?? '';
  for (const field of COUNTS) texts[field] = row[field] === null ? '' : String(row[field]);
  for (const field of FLAGS) texts[field] = row[field] ? ON : '';
  for (const [backend, cost] of Object.entries(row.costs))
    for (const [part, amount] of Object.entries(cost ?? {}))
      texts[costField(part as CostPart, backend)] = amount;
  for (const [group, own] of Object.entries(row.groups))
    for (const part of GROUP_PARTS) texts[groupField(part, group)] = own[part] ?? '';
  known.set(row, texts);
  return texts;
}

function publishedValue(row: PriceRow, field: PriceField): string {
  return valuesOf(row.published ?? row)[field] ?? '';
}

/** The typed value, or else the published one. */
export function shownValue(row: PriceRow, edits: PriceEdits, field: PriceField): string {
  return edits.get(rowKey(row))?.[field] ?? publishedValue(row, field);
}

export function isOn(row: PriceRow, edits: PriceEdits, field: PriceField): boolean {
  return shownValue(row, edits, field) === ON;
}

export function toggled(row: PriceRow, edits: PriceEdits, field: PriceField): string {
  return isOn(row, edits, field) ? '' : ON;
}

/** A value that equals the published one is not a change. */
export function withEdit(edits: PriceEdits, row: PriceRow, change: Values): PriceEdits {
  const before = valuesOf(row.published ?? row);
  const merged = { ...edits.get(rowKey(row)), ...change };
  const kept = fieldsOf(merged).filter(([field, text]) => !isSame(field, text, before[field] ?? ''));
  const next = new Map(edits);
  if (kept.length === 0) next.delete(rowKey(row));
  else next.set(rowKey(row), Object.fromEntries(kept));
  return next;
}

function fieldsOf(values: Values): [PriceField, string][] {
  // The keys of a Values are fields.
  return Object.entries(values) as [PriceField, string][];
}

function isSame(field: PriceField, text: string, before: string): boolean {
  if (text.trim() === before) return true;
  if (isCount(field)) return before !== '' && countOf(text) === Number(before);
  const typed = amountOf(text);
  return typed !== undefined && before !== '' && /^-?0*(?:\.0*)?$/.test(addUsd(typed, `-${before}`));
}

function isCount(field: PriceField): boolean {
  return (COUNTS as readonly string[]).includes(field);
}

function isFlag(field: PriceField): boolean {
  return (FLAGS as readonly string[]).includes(field);
}

const REQUIRED: ReadonlySet<PriceField> = new Set(['input', 'output', 'image']);

/** Whether a text cannot be saved. An empty one is no price, but it may be a cost that nobody knows. */
export function isBad(field: PriceField, text: string): boolean {
  if (isFlag(field)) return false;
  if (text.trim() === '') return REQUIRED.has(field);
  return isCount(field) ? countOf(text) === undefined : amountOf(text) === undefined;
}

/** Half of a cost is wrong as well: it would be taken for the whole. */
export function isWrong(edits: PriceEdits): boolean {
  return [...edits.values()].some((values) => fieldsOf(values).some(([field, text]) => isBad(field, text)));
}

export function draftedEdits(rows: readonly PriceRow[]): PriceEdits {
  return rows.reduce<PriceEdits>(
    (edits, row) => (row.published ? withEdit(edits, row, draftedValues(row, row.published)) : edits),
    NO_EDITS,
  );
}

/** A cost that the draft removes is empty there, not absent. */
function draftedValues(row: PriceRow, published: PriceValues): Values {
  const empty = fieldsOf(valuesOf(published)).map(([field]) => [field, ''] as const);
  return { ...Object.fromEntries(empty), ...valuesOf(row) };
}

type GroupEdit = Extract<DraftEdit, { kind: 'group_price' }>;
type ModelEdit = Extract<DraftEdit, { kind: 'set_model' }>;

/** The changes to save in the draft: fields that are edited, or were before. What is not valid yet is left out. */
export function savedChanges(
  rows: readonly PriceRow[],
  before: PriceEdits,
  after: PriceEdits,
): (ModelEdit | GroupEdit)[] {
  return rows.flatMap((row) => {
    const [old, now] = [before.get(rowKey(row)), after.get(rowKey(row))];
    if (old === now) return [];
    const edit: ModelEdit = { kind: 'set_model', list: row.list, model: row.model };
    const changed = [...new Set(fieldsOf({ ...old, ...now }).map(([name]) => name))].filter(
      (field) => old?.[field] !== now?.[field],
    );
    for (const field of changed) setField(edit, row, { edits: after, field });
    const ofGroups = changed.flatMap((field) => groupEdits(row, { edits: after, field }));
    return [...(Object.keys(edit).length > 3 ? [edit] : []), ...ofGroups];
  });
}

/** At every endpoint that offers the model. */
function groupEdits(
  row: PriceRow,
  { edits, field }: { readonly edits: PriceEdits; readonly field: PriceField },
): GroupEdit[] {
  const [kind, name = '', ...rest] = field.split(' ');
  const part = GROUP_PARTS.find((one) => one === name);
  const text = shownValue(row, edits, field);
  if (kind !== 'group' || !part || isBad(field, text)) return [];
  const group = rest.join(' ');
  return row.endpoints.map(({ code }) => ({
    kind: 'group_price',
    group,
    endpoint: code,
    model: row.model,
    [part]: amountOf(text) ?? null,
  }));
}

function setField(
  edit: ModelEdit,
  row: PriceRow,
  { edits, field }: { readonly edits: PriceEdits; readonly field: PriceField },
): void {
  const text = shownValue(row, edits, field);
  if (isBad(field, text)) return;
  const amount = amountOf(text);
  switch (field) {
    case 'input':
    case 'output':
    case 'image':
      if (amount !== undefined) edit[field] = amount;
      return;
    case 'cachedInput':
      edit.cached_input = amount ?? null;
      return;
    case 'context':
      edit.context = countOf(text) ?? null;
      return;
    case 'maxOutput':
      edit.max_output = countOf(text) ?? null;
      return;
    case 'vision':
    case 'tools':
    case 'reasoning':
    case 'files':
      edit[field] = text === ON;
      return;
    default:
      if (field.startsWith('cost ')) setCost(edit, row, { edits, field });
  }
}

function setCost(
  edit: ModelEdit,
  row: PriceRow,
  { edits, field }: { readonly edits: PriceEdits; readonly field: PriceField },
): void {
  const backend = field.split(' ').slice(2).join(' ');
  const parts = costParts(row);
  const texts = parts.map((part) => shownValue(row, edits, costField(part, backend)).trim());
  const amounts = texts.map(amountOf);
  const isWhole = amounts.every((amount) => amount !== undefined);
  if (!isWhole && texts.some((text) => text !== '')) return;
  const [first = '0', second = '0'] = amounts.map((amount) => amount ?? '0');
  const cost = parts[0] === 'image' ? { image: first } : { input: first, output: second };
  edit.cost = { ...edit.cost, [backend]: isWhole ? cost : null };
}

/** Embeddings have no output, so they have no price for it. */
export function costParts(row: PriceRow): readonly CostPart[] {
  if (row.type === 'image_generation' && row.input === null) return ['image'];
  return row.type === 'embedding' ? ['input'] : ['input', 'output'];
}

/** The price of its most expensive backend; `undefined`: none is known. */
function costOf(row: PriceRow, edits: PriceEdits, part: CostPart): bigint | undefined {
  const known = row.backends.flatMap(({ name }) => {
    const amount = amountOf(shownValue(row, edits, costField(part, name)));
    return amount === undefined ? [] : [nanoOf(amount)];
  });
  return known.length === 0 ? undefined : known.reduce((most, cost) => (cost > most ? cost : most));
}

function nanoOf(usd: string): bigint {
  const [whole = '0', fraction = ''] = usd.split('.');
  return BigInt(whole + fraction.padEnd(9, '0').slice(0, 9));
}

interface PriceMargin {
  /** Parts of the price that are kept, such as 0.2; `undefined`: there is no price to keep a part of. */
  readonly shares: readonly (number | undefined)[];
  readonly isBelowCost: boolean;
}

/** `undefined` if the cost is not known, or what was typed is not an amount. */
export function marginOf(row: PriceRow, edits: PriceEdits): PriceMargin | undefined {
  return marginBy(row, edits, (part) => amountOf(shownValue(row, edits, part)));
}

function marginBy(
  row: PriceRow,
  edits: PriceEdits,
  priceOf: (part: CostPart) => string | undefined,
): PriceMargin | undefined {
  const parts = costParts(row).map((part) => {
    const price = priceOf(part);
    const cost = costOf(row, edits, part);
    return price === undefined || cost === undefined ? undefined : { price: nanoOf(price), cost };
  });
  if (parts.includes(undefined)) return undefined;
  const whole = parts.filter((part) => part !== undefined);
  return {
    shares: whole.map(({ price, cost }) =>
      price === 0n ? undefined : Number(((price - cost) * 10_000n) / price) / 10_000,
    ),
    isBelowCost: whole.some(({ price, cost }) => price < cost),
  };
}

/** The margin on a group's price; `undefined` if the price or the cost is not known. */
export function groupMargin(row: PriceRow, edits: PriceEdits, group: string): PriceMargin | undefined {
  const price = row.groupPrices[group];
  if (!price || price === 'hidden') return undefined;
  const amounts: Readonly<Partial<Record<CostPart, string>>> = price;
  return marginBy(row, edits, (part) => {
    const own = part === 'image' ? '' : shownValue(row, edits, groupField(part, group));
    return own.trim() === '' ? amounts[part] : amountOf(own);
  });
}

export const FILTERS = ['all', 'below', 'unknown', 'differs', 'changed', 'unsold'] as const;
export type PriceFilter = (typeof FILTERS)[number];

export function isInFilter(row: PriceRow, edits: PriceEdits, filter: PriceFilter): boolean {
  switch (filter) {
    case 'all':
      return true;
    case 'below':
      return (
        marginOf(row, edits)?.isBelowCost === true ||
        Object.keys(row.groupPrices).some((group) => groupMargin(row, edits, group)?.isBelowCost === true)
      );
    case 'unknown':
      return isCostUnknown(row, edits);
    case 'differs':
      return row.backends.some(({ differs }) => differs);
    case 'changed':
      return row.isNew || row.isRemoved || edits.has(rowKey(row));
    case 'unsold':
      return !isSold(row);
    default:
      return filter satisfies never;
  }
}

/** Whether its backends take something, and nobody has said what. */
export function isCostUnknown(row: PriceRow, edits: PriceEdits): boolean {
  const [part = 'input'] = costParts(row);
  return row.backends.some(
    ({ name, isBuiltIn }) =>
      !isBuiltIn && amountOf(shownValue(row, edits, costField(part, name))) === undefined,
  );
}

/** False for images that are sold by size. */
export function hasPrice(row: PriceRow): boolean {
  return row.input !== null || row.image !== null;
}

export function isSold({ endpoints, backends, isNew, isRemoved }: PriceRow): boolean {
  const isOffered = endpoints.some(({ unavailable }) => !unavailable);
  return (
    isOffered && !isNew && !isRemoved && (backends.length === 0 || backends.some(({ paused }) => !paused))
  );
}

/** Sets each row to its cost plus a percentage, rounded up to a nano-dollar. Rows without a cost stay. */
export function markedUp(edits: PriceEdits, rows: readonly PriceRow[], percent: number): PriceEdits {
  let next = edits;
  for (const row of rows) {
    const prices = costParts(row).map((part) => [part, costOf(row, edits, part)] as const);
    if (!hasPrice(row) || prices.some(([, cost]) => cost === undefined)) continue;
    next = withEdit(
      next,
      row,
      Object.fromEntries(prices.map(([part, cost]) => [part, scaled(cost ?? 0n, percent)])),
    );
  }
  return next;
}

function scaled(nano: bigint, percent: number): string {
  const factor = BigInt(Math.round((100 + percent) * 10_000));
  const product = (nano * factor + 999_999n) / 1_000_000n;
  const digits = product.toString().padStart(10, '0');
  const decimals = digits.slice(-9).replace(/0+$/, '');
  return decimals === '' ? digits.slice(0, -9) : `${digits.slice(0, -9)}.${decimals}`;
}

/** Fills in costs and context lengths that the public list has and the catalog has not. */
export function filledFromList(edits: PriceEdits, rows: readonly PriceRow[]): PriceEdits {
  let next = edits;
  for (const row of rows) {
    const change: Partial<Record<PriceField, string>> = {};
    for (const { name, listed } of row.backends) {
      if (!listed || row.input === null) continue;
      const isUnknown = costParts(row).every((part) => shownValue(row, next, costField(part, name)) === '');
      if (isUnknown)
        for (const part of costParts(row)) if (part !== 'image') change[costField(part, name)] = listed[part];
      if (listed.context !== null && shownValue(row, next, 'context') === '')
        change.context = String(listed.context);
    }
    next = withEdit(next, row, change);
  }
  return next;
}
