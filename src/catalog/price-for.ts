import { Fault } from '../std/fault.ts';
import { nanoUsd } from '../std/money.ts';
import type { Model, ModelPrice, PriceSnapshot } from './catalog.ts';

/** Which image is meant; by default one in the model's first size, of a quality that the backend chooses. */
export interface WantedImage {
  readonly size?: string | undefined;
  readonly quality?: string | undefined;
}

/** The price of one request; for images, of one image. */
export function priceFor(model: Model, { size = model.sizes[0], quality }: WantedImage = {}): PriceSnapshot {
  if (model.price.kind === 'tokens') return model.price;
  const price =
    size !== undefined && model.sizes.includes(size)
      ? imageSnapshot(model.price, { size, quality })
      : undefined;
  if (price === undefined)
    throw new Fault('invalid_field', `size must be one of ${model.sizes.join(', ')}.`, { param: 'size' });
  return price;
}

/** What an upstream takes, where the catalog says so. */
export function costPriceFor(
  model: Model,
  upstream: string,
  image: WantedImage = {},
): PriceSnapshot | undefined {
  const price = model.costs.get(upstream);
  if (price?.kind !== 'images') return price;
  return imageSnapshot(price, { size: image.size ?? model.sizes[0] ?? '', quality: image.quality });
}

function imageSnapshot(
  price: ModelPrice & { kind: 'images' },
  { size, quality }: { size: string; quality: string | undefined },
): PriceSnapshot | undefined {
  const { bySize, otherwise, extra } = price;
  const image = bySize.get(size) ?? otherwise;
  if (image === undefined) return undefined;
  const qualities =
    price.qualities?.get(size) ?? (bySize.has(size) ? undefined : price.qualities?.get('default'));
  if (!qualities) return { kind: 'images', image, ...(extra && { extra }) };
  if (quality === undefined || quality === 'auto')
    return { kind: 'images', image, extra: { ...extra, qualities } };
  if (!Object.hasOwn(qualities, quality)) {
    const known = Object.keys(qualities).join(', ');
    throw new Fault('invalid_field', `quality must be one of ${known}.`, { param: 'quality' });
  }
  return { kind: 'images', image: nanoUsd(qualities[quality] ?? image), ...(extra && { extra }) };
}
