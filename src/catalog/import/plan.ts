import { formatUsd, nanoUsd } from '../../std/money.ts';
import { FACTOR_ONE, TOKEN_ROWS } from '../../std/price-dimensions.ts';
import type { Catalog, EndpointType, Model, TokenModelPrice, UpstreamConfig } from '../catalog.ts';
import {
  abilitiesOf,
  madeBy,
  type Abilities,
  type AssumedAbilities,
  type OfferedKind,
  type OfferedModel,
} from './abilities.ts';
import { markUp } from './markup.ts';
import type { ListedModel, PriceList, TokenAmounts } from './price-list.ts';

interface ImportQuestion {
  readonly catalog: Catalog;
  readonly upstream: UpstreamConfig;
  readonly offered: readonly OfferedModel[];
  readonly list: PriceList;
  /** The list's name of the provider; absent: the list does not know it. */
  readonly provider: string | undefined;
  /** In millionths; `undefined`: new models are sold at cost, and the prices of others stay. */
  readonly markup: number | undefined;
  /** What models are sold for that the list has no price for; kinds without one are not imported. */
  readonly ownPrices?: OwnPrices | undefined;
  /** Abilities of chat models that neither the backend nor the model's name tells. */
  readonly assumed?: AssumedAbilities | undefined;
  /** Whether a model is wanted at all, by the backend's name of it. */
  readonly isWanted: (model: string) => boolean;
}

/** What the operator says of prices and costs, by what a model makes. Amounts of images are for one. */
export type OwnPrices = { readonly [Kind in Exclude<OfferedKind, 'other'>]?: OwnPrice | undefined };

interface OwnPrice {
  readonly price: ModelAmounts;
  readonly cost?: ModelAmounts | undefined;
}

export type ModelAmounts = TokenAmounts | { readonly image: number };

/** What an import would do. Nothing is removed: another backend may serve a model, and an alias may name it. */
export interface ImportPlan {
  readonly added: readonly AddedModel[];
  /** Sold already, at another price than the list and the markup say. */
  readonly changed: readonly ChangedModel[];
  /** As `changed`, but they stay, because there is no markup that says what they should cost. */
  readonly differing: readonly ChangedModel[];
  /** Sold, and not offered any more. */
  readonly gone: readonly string[];
  /** Offered, and not imported. */
  readonly skipped: readonly { readonly model: string; readonly reason: string }[];
  /** How many are sold as the list says. */
  readonly same: number;
}

export interface AddedModel {
  readonly id: string;
  readonly name: string;
  readonly type: EndpointType;
  /** Absent: nobody knows. */
  readonly cost: ModelAmounts | undefined;
  readonly price: ModelAmounts;
  readonly contextTokens: number | undefined;
  readonly abilities: Abilities;
}

export interface ChangedModel {
  /** The catalog's own name, and the list that it is in. */
  readonly id: string;
  readonly list: string;
  /** The backend's name of it. */
  readonly offered: string;
  readonly before: TokenModelPrice;
  /** What the provider charges. */
  readonly cost: TokenAmounts;
  readonly hadCost: boolean;
  readonly price: TokenAmounts;
}

export function planImport(question: ImportQuestion): ImportPlan {
  const { catalog, upstream, offered, list, provider, isWanted } = question;
  const sold = soldThrough(catalog, upstream.name);
  const added: AddedModel[] = [];
  const compared: (ChangedModel | undefined)[] = [];
  const skipped: { model: string; reason: string }[] = [];
  for (const model of offered.filter(({ id }) => isWanted(id))) {
    const listed = provider === undefined ? undefined : list.find(provider, model.id);
    const problem = problemOf(model, listed);
    const known = sold.get(model.id);
    const kind = madeBy(model);
    const own = kind === 'other' ? undefined : question.ownPrices?.[kind];
    if (!known && own && (problem === NO_PRICE || problem === IS_IMAGE)) {
      added.push({ ...newModel(model, listed, question), cost: own.cost, price: own.price });
    } else if (problem !== undefined || !listed?.amounts) {
      if (!known) skipped.push({ model: model.id, reason: problem ?? NO_PRICE });
    } else if (known) compared.push(compare(known, { offered: model.id, amounts: listed.amounts }, question));
    else added.push(newModel(model, listed, question));
  }
  const names = new Set(offered.map(({ id }) => id));
  const different = compared.filter((one) => one !== undefined);
  return {
    added,
    changed: question.markup === undefined ? [] : different,
    differing: question.markup === undefined ? different : [],
    gone: [...sold.keys()].filter((id) => !names.has(id) && isWanted(id)),
    skipped,
    same: compared.length - different.length,
  };
}

/** Models that an upstream serves, by its own name of each. */
export function soldThrough({ endpoints }: Catalog, upstream: string): Map<string, Model> {
  const sold = new Map<string, Model>();
  for (const { places, models } of endpoints.values()) {
    if (!places.flat().some((place) => place.upstream === upstream)) continue;
    for (const model of models) sold.set(model.upstreamModels.get(upstream) ?? model.id, model);
  }
  return sold;
}

const NO_PRICE = 'the list has no price for it';
const IS_IMAGE = 'it makes images, and the list has no price of an image';
/** The same rule as in the catalog's file. */
const MODEL_ID = /^[^\s\p{C}]{1,200}$/u;

function problemOf(model: OfferedModel, listed: ListedModel | undefined): string | undefined {
  if (!MODEL_ID.test(model.id)) return 'its name cannot be written in a catalog';
  if (madeBy(model) === 'image') return IS_IMAGE;
  if (madeBy(model) === 'other') return 'it makes neither text, embeddings nor images';
  if (!listed?.amounts) return NO_PRICE;
  if (listed.amounts.input === 0 && listed.amounts.output === 0)
    return 'the list says that it costs nothing; add it by hand with free: true, if that is meant';
  return undefined;
}

function newModel(
  model: OfferedModel,
  listed: ListedModel | undefined,
  { markup, list, assumed }: ImportQuestion,
): AddedModel {
  const cost = withoutUsual(listed?.amounts ?? { input: 0, output: 0 });
  const contextTokens = model.contextTokens ?? listed?.contextTokens ?? list.contextOf(model.id);
  const abilities = abilitiesOf(model, assumed);
  const maxOutput =
    abilities.maxOutput === undefined || contextTokens === undefined
      ? abilities.maxOutput
      : Math.min(abilities.maxOutput, contextTokens);
  return {
    id: model.id,
    name: model.name ?? listed?.name ?? model.id,
    type: TYPES[madeBy(model)],
    cost,
    price: markUp(cost, markup ?? FACTOR_ONE),
    contextTokens: contextTokens === undefined ? undefined : Math.min(contextTokens, MOST_TOKENS),
    abilities: { ...abilities, maxOutput },
  };
}

const MOST_TOKENS = 10_000_000;

const TYPES = {
  chat: 'chat_completion',
  embedding: 'embedding',
  image: 'image_generation',
  other: 'chat_completion',
} as const;

/** Thinking that costs what other output costs needs no price of its own. */
function withoutUsual(amounts: TokenAmounts): TokenAmounts {
  return { ...amounts, reasoning: amounts.reasoning === amounts.output ? undefined : amounts.reasoning };
}

/** `undefined`: it is sold as the list and the markup say. */
function compare(
  model: Model,
  { offered, amounts }: { readonly offered: string; readonly amounts: TokenAmounts },
  question: ImportQuestion,
): ChangedModel | undefined {
  // A price by the image has nothing to compare, and a free model is meant to be free.
  if (model.price.kind !== 'tokens' || model.free) return undefined;
  const cost = withoutUsual(amounts);
  const price = markUp(cost, question.markup ?? FACTOR_ONE);
  const { name } = question.upstream;
  const booked = model.costs.get(name);
  const hasCost = booked?.kind === 'tokens';
  const isSame = isPriced(model.price, price) && (!hasCost || isPriced(booked, cost));
  if (isSame) return undefined;
  return { id: model.id, list: model.list, offered, before: model.price, cost, hadCost: hasCost, price };
}

/** Whether a price of the catalog, with what follows from its absent parts, is what the amounts say. */
export function isPriced(price: TokenModelPrice, amounts: TokenAmounts): boolean {
  const { extra = {}, ...always } = price;
  const names = { ...extra, ...always };
  const wanted = { cached_input: amounts.input, ...withoutAbsent(amounts) };
  const isSame = TOKEN_ROWS.every(({ key, price: name, side, quartersOfSide = 4 }) => {
    const amount = wanted[key];
    return amount === undefined || amount === (names[name] ?? Math.ceil((always[side] * quartersOfSide) / 4));
  });
  const areTiersSame = Object.entries(amounts.above ?? {}).every(([tokens, tier]) => {
    const beyond = extra.above?.find(({ above }) => above === Number(tokens));
    return TOKEN_ROWS.every(({ key, price: name, isInEveryPrice }) => {
      const amount = tier[key];
      return !isInEveryPrice || amount === undefined || amount === (beyond?.[name] ?? names[name]);
    });
  });
  return isSame && areTiersSame;
}

function withoutAbsent(amounts: TokenAmounts): Partial<TokenAmounts> {
  return Object.fromEntries(Object.entries(amounts).filter(([, amount]) => amount !== undefined));
}

/** `0.25 in, 0.025 cached, 2.00 out` in USD per million tokens. */
export function amountsLabel(amounts: ModelAmounts): string {
  if ('image' in amounts) return `${formatUsd(nanoUsd(amounts.image))} an image`;
  const { input, cached_input: cached, output } = amounts;
  const [shownInput, shownCached, shownOutput] = [input, cached ?? input, output].map((amount) =>
    formatUsd(nanoUsd(amount)),
  );
  return `${shownInput} in, ${shownCached} cached, ${shownOutput} out`;
}
