import type { ModelItem } from '../contract.ts';
import type { ShownOffer } from './shown-offer.ts';
import type { SoldModel } from './sold-models.ts';

/** A model for search engines, in the words of schema.org: a product with its offers and every price. */
export function productData(
  { id, path, best }: Pick<SoldModel, 'id' | 'path' | 'best'>,
  offers: readonly ShownOffer[],
  { origin, siteName }: { readonly origin: string; readonly siteName: string },
) {
  return {
    '@context': 'https://schema.org',
    '@type': 'Product',
    name: best.displayName,
    sku: id,
    category: CATEGORIES[best.type],
    url: `${origin}${path}`,
    brand: { '@type': 'Brand', name: siteName },
    offers: offers.map(({ item }) => ({
      '@type': 'Offer',
      name: item.endpointName,
      sku: `${item.endpoint}/${item.model}`,
      url: `${origin}${path}`,
      availability: `https://schema.org/${item.unavailable === null ? 'InStock' : 'OutOfStock'}`,
      seller: { '@type': 'Organization', name: siteName },
      priceSpecification: unitPrices(item),
    })),
  };
}

const CATEGORIES: Record<ModelItem['type'], string> = {
  chat_completion: 'Chat model',
  image_generation: 'Image model',
  embedding: 'Embedding model',
};

const MILLION = 1_000_000;

function unitPrices({ price, free }: ModelItem) {
  if (free) return [unitPrice('free', '0', 'request', 1)];
  const others = price.others.map(({ item, usd, per, quality }) =>
    unitPrice(quality === null ? item : `${item} ${quality}`, usd, per === 1 ? 'unit' : 'tokens', per),
  );
  if (price.kind === 'images')
    return [...price.bySize.map(({ size, imageUsd }) => unitPrice(size, imageUsd, 'image', 1)), ...others];
  return [
    unitPrice('input', price.inputUsd, 'tokens', MILLION),
    unitPrice('cached_input', price.cachedInputUsd, 'tokens', MILLION),
    unitPrice('output', price.outputUsd, 'tokens', MILLION),
    ...others,
  ];
}

// oxlint-disable-next-line max-params -- what, how much, and for how many
function unitPrice(name: string, price: string, unitText: string, value: number) {
  return {
    '@type': 'UnitPriceSpecification',
    name,
    price,
    priceCurrency: 'USD',
    referenceQuantity: { '@type': 'QuantitativeValue', value, unitText },
  };
}
