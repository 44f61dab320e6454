import { formatUsd, nanoUsd } from '../../std/money.ts';
import { FACTOR_ONE, TOKEN_ROWS, type LongInputPrices } from '../../std/price-dimensions.ts';
import type { TokenModelPrice } from '../../catalog/catalog.ts';
import type { AddedModel, ChangedModel, ModelAmounts } from '../../catalog/import/plan.ts';
import type { TokenAmounts } from '../../catalog/import/price-list.ts';
import type { ImportPreview } from './import-preview.ts';

/** Dollars by the keys of the catalog's file. */
interface ShownPrice {
  [key: string]: string | { [tokens: string]: ShownPrice };
}

/** A preview as JSON, for the command and the console's API. */
interface ShownImport {
  upstream: string;
  /** The bundled list and its version. */
  list: string;
  /** `1.2`; null: none, so that new models are sold at cost and the prices of others stay. */
  markup: string | null;
  new: ShownModel[];
  changed: ShownChange[];
  /** A price that differs from the list's stays: without a markup it is not known what it should be. */
  differing: ShownChange[];
  gone: string[];
  skipped: { model: string; reason: string }[];
  same: number;
}

interface ShownModel {
  model: string;
  name: string;
  type: string;
  price: ShownPrice;
  /** Null: not known. */
  cost: ShownPrice | null;
  context: number | null;
  max_output: number | null;
  abilities: string[];
}

interface ShownChange {
  model: string;
  list: string;
  /** The backend's name of it. */
  offered: string;
  before: ShownPrice;
  after: ShownPrice;
}

export function shownImport({ upstream, listVersion, markup, plan }: ImportPreview): ShownImport {
  return {
    upstream,
    list: listVersion,
    markup: markup === undefined ? null : factorText(markup),
    new: plan.added.map(shownModel),
    changed: plan.changed.map(shownChange),
    differing: plan.differing.map(shownChange),
    gone: [...plan.gone],
    skipped: plan.skipped.map(({ model, reason }) => ({ model, reason })),
    same: plan.same,
  };
}

function shownModel({ id, name, type, price, cost, contextTokens, abilities }: AddedModel): ShownModel {
  const { vision, tools, reasoning, maxOutput } = abilities;
  return {
    model: id,
    name,
    type,
    price: shownAmounts(price),
    cost: cost ? shownAmounts(cost) : null,
    context: contextTokens ?? null,
    max_output: maxOutput ?? null,
    abilities: [
      ...(vision ? ['vision'] : []),
      ...(tools ? ['tools'] : []),
      ...(reasoning === false ? [] : [reasoning === 'hidden' ? 'hidden reasoning' : 'reasoning']),
    ],
  };
}

function shownChange({ id, list, offered, before, price }: ChangedModel): ShownChange {
  return {
    model: id,
    list,
    offered,
    before: shownAmounts(catalogAmounts(before)),
    after: shownAmounts(price),
  };
}

function catalogAmounts({ extra = {}, ...always }: TokenModelPrice): TokenAmounts {
  const { input, output } = always;
  const tiers = (extra.above ?? []).map((tier) => [
    String(tier.above),
    { input, output, ...amountsOf(tier) },
  ]);
  return {
    input,
    output,
    ...amountsOf({ ...extra, ...always }),
    above: tiers.length === 0 ? undefined : Object.fromEntries(tiers),
  };
}

/** From the names in a price to the keys of the file. */
function amountsOf(prices: Omit<LongInputPrices, 'above'>): Partial<TokenAmounts> {
  return Object.fromEntries(
    TOKEN_ROWS.flatMap(({ key, price }) => (prices[price] === undefined ? [] : [[key, prices[price]]])),
  );
}

function shownAmounts(amounts: ModelAmounts): ShownPrice {
  if ('image' in amounts) return amountTexts(amounts);
  const { above, ...plain } = amounts;
  const shown: ShownPrice = amountTexts(plain);
  if (above)
    shown['above'] = Object.fromEntries(
      Object.entries(above).map(([tokens, tier]): [string, ShownPrice] => [tokens, amountTexts(tier)]),
    );
  return shown;
}

function amountTexts(amounts: object): ShownPrice {
  const entries = Object.entries(amounts as Record<string, number | undefined>);
  return Object.fromEntries(
    entries.flatMap(([key, nano]) => (nano === undefined ? [] : [[key, formatUsd(nanoUsd(nano))]])),
  );
}

/** 1200000 → `1.2` */
export function factorText(factor: number): string {
  return String(factor / FACTOR_ONE);
}
