import type { ModelFigures } from '../../activity/model-figures.ts';
import { modelsById, type Catalog } from '../../catalog/catalog.ts';
import { costOf, NO_USAGE } from '../../ledger/price.ts';
import { nanoUsd, parseUsd } from '../../std/money.ts';
import { usd } from '../amounts.ts';
import type { Usd } from '../contract.ts';
import { modelItems, type EndpointItem, type ModelItem } from '../models.ts';

/** One model, and the endpoints that offer it. */
export interface SoldModel {
  readonly id: string;
  /** The path of its page. */
  readonly path: string;
  /** The first offer that can be used now. */
  readonly best: ModelItem;
  readonly offers: readonly ModelItem[];
  /** The text that a search looks through, in lower case. */
  readonly searched: string;
}

const soldOf = new WeakMap<Catalog, ReadonlyMap<string, SoldModel>>();

/** Every model that is sold, by its id, in the order of the catalog. Made once for a catalog, not for every visitor. */
export function soldModels(catalog: Catalog): ReadonlyMap<string, SoldModel> {
  const known = soldOf.get(catalog);
  if (known) return known;
  const groups = Map.groupBy(modelItems(catalog), ({ model }) => model);
  const sold = new Map([...groups].flatMap(([id, offers]) => {
    const best = offers.find(({ unavailable }) => unavailable === null) ?? offers[0];
    return best ? [[id, { id, path: modelPath(id), best, offers, searched: searchedText(id, offers) }] as const] : [];
  })); // prettier-ignore
  soldOf.set(catalog, sold);
  return sold;
}

function searchedText(id: string, offers: readonly ModelItem[]): string {
  const names = offers.flatMap(({ displayName, endpoint, endpointName }) => [
    displayName,
    endpoint,
    endpointName,
  ]);
  return [...new Set([id, ...names])].join(' ').toLowerCase();
}

const MODELS = '/models/';

/** Slashes of an id stay as they are, unless the address would then mean something else. */
function modelPath(id: string): string {
  const parts = id.split('/');
  const isPlain = parts.every((part) => part !== '' && part !== '.' && part !== '..');
  return MODELS + (isPlain ? parts.map(encodedPart).join('/') : encodedPart(id));
}

/** Brackets too, so that the address can be a link in Markdown. */
function encodedPart(part: string): string {
  return encodeURIComponent(part).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`);
}

/** The model that a path names; `undefined`: the path is no page of a model. */
export function modelIdAt(path: string): string | undefined {
  if (!path.startsWith(MODELS)) return undefined;
  try {
    return decodeURIComponent(path.slice(MODELS.length));
  } catch {
    // A malformed escape names no model.
    return '';
  }
}

/** One endpoint's offer of a model, with what is known about it. */
export interface ShownOffer {
  readonly item: ModelItem;
  readonly state: EndpointItem['status'];
  readonly typicalUsd: Usd | undefined;
  /** `undefined`: the store cannot be read now. */
  readonly figures: ModelFigures | undefined;
}

/** The request that the texts call typical. */
const TYPICAL = { input: 500, output: 300, times: 1_000, images: 100 };

/** What many typical requests cost, each rounded as the ledger does; `undefined`: the price does not say. */
export function typicalCost(catalog: Catalog, offer: ModelItem): Usd | undefined {
  const { type, price } = offer;
  if (price.kind === 'images') {
    const each = parseUsd(price.bySize[0]?.imageUsd ?? '');
    return each === undefined ? undefined : usd(nanoUsd(each * TYPICAL.images));
  }
  const endpoint = catalog.endpoints.get(offer.endpoint);
  const sold = endpoint && modelsById(endpoint).get(offer.model)?.price;
  if (sold?.kind !== 'tokens' || type === 'image_generation') return undefined;
  const output = type === 'chat_completion' ? TYPICAL.output : 0;
  return usd(costOf(sold, { ...NO_USAGE, input: TYPICAL.input, output }) * TYPICAL.times);
}
