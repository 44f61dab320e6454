import { formatUsd, nanoUsd } from '../std/money.ts';
import { FACTOR_ONE, ROWS } from '../std/price-dimensions.ts';
import type { Model } from './catalog.ts';
import { priceRows, serviceTiers, type PriceRow } from './price-rows.ts';

/** A model's price in plain language, for previews and summaries. */
export function priceLabel(model: Pick<Model, 'price' | 'free' | 'sizes'>): string {
  const { price, free } = model;
  if (free) return 'free';
  const rows = priceRows(model);
  const tiers = serviceTiers(model).map(([tier, factor]) => `${tier} × ${factor / FACTOR_ONE}`);
  if (price.kind === 'tokens') {
    const amounts = [price.input, price.cachedInput, price.output].map((amount) => usd(amount));
    const others = rows.filter(({ item, above }) => !ORDINARY.has(item) || above !== undefined);
    const ordinary = `${amounts[0]} in, ${amounts[1]} cached, ${amounts[2]} out`;
    return `${[ordinary, ...others.map(rowLabel), ...tiers].join(', ')} (USD per million tokens)`;
  }
  return `${imageLabels(model, rows).join(', ')} (USD per image)`;
}

const ORDINARY: ReadonlySet<string> = new Set(
  ROWS.filter(({ isInEveryPrice }) => isInEveryPrice).map(({ item }) => item),
);

function rowLabel({ item, amount, per, above }: PriceRow): string {
  const beyond = above === undefined ? '' : ` above ${above}`;
  return `${item}${beyond} ${usd(amount)}${per === 1 ? ' each' : ''}`;
}

/** One price for all sizes is told once. */
function imageLabels({ price }: Pick<Model, 'price'>, rows: readonly PriceRow[]): string[] {
  if (price.kind !== 'images') return [];
  const named = rows.filter(({ item, quality }) => price.bySize.has(item) || quality !== undefined);
  const sizes = named.map(({ item, quality, amount }) =>
    quality === undefined ? `${item}: ${usd(amount)}` : `${item} ${quality}: ${usd(amount)}`,
  );
  const isByPixel = price.extra?.megapixel !== undefined;
  const otherwise =
    price.otherwise === undefined || isByPixel || price.qualities?.has('default')
      ? []
      : [usd(price.otherwise)];
  const others = rows.flatMap(({ item, amount }) =>
    BESIDE[item] === undefined ? [] : [`${usd(amount)} per ${BESIDE[item]}`],
  );
  return [...sizes, ...otherwise, ...others];
}

const BESIDE: Readonly<Record<string, string | undefined>> = Object.fromEntries(
  ROWS.filter(({ soldIn, isInEveryPrice }) => soldIn !== 'tokens' && !isInEveryPrice).map(({ item }) => [
    item,
    item.replaceAll('_', ' '),
  ]),
);

function usd(amount: number): string {
  return formatUsd(nanoUsd(amount));
}
